// SPDX-License-Identifier: GPL-2.0
/* The device's ARP table; see arp.h. */
#include "arp.h"

#include "../base/trace.h"
#include "../cqp/commands.h"
#include "../device.h"
#include "../hw/limits.h"

namespace irdma {

namespace {

constexpr u32 buckets = 256; /* a power of two */
constexpr u16 none = 0;	     /* index 0 is not used: contexts have it while they name no entry */

u32 bucket_of(const ArpKey &key)
{
	const u32(&word)[4] = key.ip.word;
	u32 mix = word[0] ^ word[1] ^ word[2] ^ word[3] ^ key.vlan;

	/* Fibonacci hashing: the upper bits depend on all bits of the address. */
	return mix * 0x9e3779b1u >> 24 & (buckets - 1);
}

} // namespace

/** One entry; in the chain of its bucket while it holds an address. */
struct ArpSlot {
	ArpKey key;
	u64 mac;
	u32 shares;
	u16 next;	/**< in the chain, or none */
	bool occupied;	/**< holds an address */
	bool in_device; /**< the device is known to have this address and MAC */
	bool own;	/**< one of the shares is that of an own address */
	bool followed;	/**< the MAC is or was a neighbour's */

	/** Take @now for its MAC; whether the device is known to have that. */
	bool hold(u64 now)
	{
		in_device = in_device && mac == now;
		mac = now;
		return in_device;
	}
};

struct ArpTable::State {
	SpinLock lock{SHIM_LOCK_ARP};
	Array<ArpSlot> slots;
	u16 bucket[buckets] = {};
	u32 hand = 0; /**< where the search for a slot goes on */

	u16 find(const ArpKey &key) const;
	u16 vacant(bool yield);
	u16 take(const ArpKey &key);
	void drop(u16 index);
};

u16 ArpTable::State::find(const ArpKey &key) const
{
	for (u16 i = bucket[bucket_of(key)]; i != none; i = slots[i].next)
		if (slots[i].key == key)
			return i;
	return none;
}

/* Take the slot out of its chain. */
void ArpTable::State::drop(u16 index)
{
	u16 *link = &bucket[bucket_of(slots[index].key)];

	while (*link != index)
		link = &slots[*link].next;
	*link = slots[index].next;
	slots[index] = {};
}

/* A slot that is free or that nobody uses; with @yield also one that only an own address keeps. */
u16 ArpTable::State::vacant(bool yield)
{
	for (u32 tries = 1; tries < slots.count(); tries++) {
		u16 i = static_cast<u16>(1 + hand++ % (slots.count() - 1));

		if (slots[i].shares == (yield && slots[i].own ? 1u : 0u))
			return i;
	}
	return none;
}

/*
 * A slot for an address that has none. A machine may have more own addresses than the table has
 * entries; these must not keep it from talking to others.
 */
u16 ArpTable::State::take(const ArpKey &key)
{
	u16 &head = bucket[bucket_of(key)];
	u16 i = vacant(false);

	if (i == none)
		i = vacant(true);
	if (i == none)
		return none;
	if (slots[i].occupied)
		drop(i);
	slots[i].key = key;
	slots[i].occupied = true;
	slots[i].next = head;
	head = i;
	return i;
}

ArpEntry::ArpEntry(ArpEntry &&other)
	: table_(exchange<ArpTable *>(other.table_, nullptr)), index_(other.index_)
{
}

ArpEntry &ArpEntry::operator=(ArpEntry &&other)
{
	if (this != &other) {
		reset();
		table_ = exchange<ArpTable *>(other.table_, nullptr);
		index_ = other.index_;
	}
	return *this;
}

void ArpEntry::reset()
{
	if (table_)
		exchange<ArpTable *>(table_, nullptr)->put(index_);
}

ArpTable::ArpTable(Device &device) : device_(device) {}

ArpTable::~ArpTable() = default;

Status ArpTable::create()
{
	auto state = make<State>();

	if (!state)
		return Error::no_memory;
	auto slots = Array<ArpSlot>::create(
		min(device_.hmc.count(hw::HmcObject::arp), hw::max_arp_entries));
	IRDMA_TRY(slots);
	if (slots.value().count() < 2)
		return Error::no_space;
	state->slots = slots.take();
	state_ = move(state);
	return {};
}

void ArpTable::destroy()
{
	state_ = {};
}

/* The caller has a share, so the address stays. */
void ArpTable::trace(u16 index, u64 mac, Status written) const
{
	const ArpKey &key = state_->slots[index].key;
	shim_traced_arp entry = {
		.index = index,
		.ip = {key.ip.word[0], key.ip.word[1], key.ip.word[2], key.ip.word[3]},
		.ipv4 = key.ip.ipv4,
		.vlan = key.vlan,
		.error = written.code()};

	for (u32 i = 0; i < array_size(entry.mac); i++)
		entry.mac[i] = static_cast<u8>(mac >> (40 - 8 * i));
	shim_trace_arp(device_.shim, &entry);
}

Status ArpTable::write_entry(u16 index, u64 mac, bool may_sleep)
{
	const cmd::ManageArp command{.index = index, .valid = true, .mac = mac};

	Status written =
		(may_sleep ? device_.cqp.run(command) : device_.cqp.run_atomic(command)).status();

	if (tracing(SHIM_TRACE_ARP))
		trace(index, mac, written);
	return written;
}

/* The lock is held, also in what follows. */
ArpEntry ArpTable::share(const ArpKey &key)
{
	State &s = *state_;
	u16 i = s.find(key);
	ArpEntry entry;

	if (i == none)
		i = s.take(key);
	if (i != none) {
		s.slots[i].shares++;
		entry.table_ = this;
		entry.index_ = i;
	}
	return entry;
}

/* Groups have no neighbours: their MAC is made of the address. */
u64 ArpTable::mac_for(ArpSlot &slot, const irdma_path &path) const
{
	u8 mac[6];

	if (slot.own)
		return slot.mac;
	if (path.multicast)
		return mac_number(path.dmac);
	if (shim_neighbour_mac(device_.shim, path.ifindex, path.next_hop, path.next_hop_ipv4,
			       mac)) {
		slot.followed = true;
		return mac_number(mac);
	}
	return slot.followed ? slot.mac : mac_number(path.dmac);
}

Status ArpTable::no_space() const
{
	shim_log_limited(device_.shim, SHIM_WARN, "all %llu entries of the ARP table are in use",
			 static_cast<u64>(state_->slots.count() - 1));
	return Error::no_space;
}

Result<ArpEntry> ArpTable::get(const irdma_path &path, bool may_sleep)
{
	State &s = *state_;
	bool known = false;
	ArpEntry entry;

	{
		SpinGuard guard(s.lock);

		entry = share(arp_key(path));
		if (entry)
			known = s.slots[entry.index()].hold(mac_for(s.slots[entry.index()], path));
	}
	if (!entry)
		return no_space();
	if (!known)
		IRDMA_TRY(bring_up_to_date(entry.index(), may_sleep));
	return move(entry);
}

/*
 * Tell the device what the slot holds, until it is what the device was told last: the MAC may
 * change meanwhile. What the device has after a failure is not known for sure, so it is told again
 * when the entry is wanted next.
 */
Status ArpTable::bring_up_to_date(u16 index, bool may_sleep)
{
	SpinLock &lock = state_->lock;
	ArpSlot &slot = state_->slots[index];
	Status written;
	u64 mac;

	for (;;) {
		{
			SpinGuard guard(lock);

			mac = slot.mac;
		}
		written = write_entry(index, mac, may_sleep);

		SpinGuard guard(lock);
		if (slot.mac != mac)
			continue;
		slot.in_device = written.ok();
		return written;
	}
}

void ArpTable::put(u16 index)
{
	SpinGuard guard(state_->lock);
	ArpSlot &slot = state_->slots[index];

	if (!--slot.shares && !slot.in_device)
		state_->drop(index);
}

void ArpTable::neighbour_changed(const ArpKey &key, u64 mac)
{
	State &s = *state_;
	ArpEntry entry;

	{
		SpinGuard guard(s.lock);
		u16 i = s.find(key);

		if (i == none || s.slots[i].own)
			return;
		s.slots[i].followed = true;
		if (s.slots[i].hold(mac))
			return;
		entry = share(key);
	}
	Status written = bring_up_to_date(entry.index(), true);
	if (!written.ok() && !device_.dead())
		shim_log_limited(device_.shim, SHIM_WARN,
				 "ARP entry %u does not follow its neighbour, error %d",
				 static_cast<u32>(entry.index()), written.code());
}

void ArpTable::own_address(const ArpKey &key, u64 mac, bool present)
{
	State &s = *state_;
	bool known = true;
	ArpEntry entry;

	{
		SpinGuard guard(s.lock);
		u16 i = s.find(key);

		if (present) {
			entry = share(key);
		} else if (i != none && exchange(s.slots[i].own, false)) {
			entry.table_ = this; /* the share that the slot has kept */
			entry.index_ = i;
		}
		if (present && entry)
			known = s.slots[entry.index()].hold(mac);
	}
	if (!present)
		return;
	/* Only sending to ourselves needs it, and then it is tried again. */
	if (!entry)
		return (void)no_space();
	if (!known && !bring_up_to_date(entry.index(), true).ok())
		return;
	SpinGuard guard(s.lock);

	if (!exchange(s.slots[entry.index()].own, true))
		entry.table_ = nullptr; /* the slot keeps the share */
}

/** Entry by entry, so that the lock is never held for long. */
void ArpTable::show(shim_text *text) const
{
	State &s = *state_;

	shim_print(text, "entries %llu\n", static_cast<u64>(s.slots.count() - 1));
	shim_print(text, "%-5s %-40s %5s %-17s %6s %s\n", "index", "address", "vlan", "mac",
		   "shares", "state");
	for (u32 i = 1; i < s.slots.count(); i++) {
		ArpSlot slot;
		{
			SpinGuard guard(s.lock);

			slot = s.slots[i];
		}
		if (!slot.occupied)
			continue;
		const u32(&word)[4] = slot.key.ip.word;
		const bool ipv4 = slot.key.ip.ipv4;
		const u32 shown[4] = {__builtin_bswap32(word[0]), __builtin_bswap32(word[1]),
				      __builtin_bswap32(ipv4 ? 0xffff : word[2]),
				      __builtin_bswap32(word[3])};
		const u64 mac = __builtin_bswap64(slot.mac << 16);

		shim_print(text, "%-5u %-40pI6c %5u %pM %6u%s%s%s\n", i,
			   static_cast<const void *>(shown), static_cast<u32>(slot.key.vlan),
			   static_cast<const void *>(&mac), slot.shares,
			   slot.in_device ? " in_device" : "", slot.own ? " own" : "",
			   slot.followed ? " neighbour" : "");
	}
}

} // namespace irdma

using namespace irdma;

/**
 * irdma_own_address() - an address of the port's netdevs came or went
 * @device: the device
 * @address: the address; its MAC is that of its netdev
 * @present: which of the two
 *
 * May sleep.
 */
void irdma_own_address(irdma_device *device, const irdma_l2_address *address, bool present)
{
	from_c(device)->arp.own_address(arp_key(address->ip, address->ipv4, address->vlan),
					mac_number(address->mac), present);
}

/**
 * irdma_neighbour() - the MAC of a neighbour is known, or has changed
 * @device: the device
 * @address: the neighbour's
 *
 * May sleep.
 */
void irdma_neighbour(irdma_device *device, const irdma_l2_address *address)
{
	from_c(device)->arp.neighbour_changed(arp_key(address->ip, address->ipv4, address->vlan),
					      mac_number(address->mac));
}
