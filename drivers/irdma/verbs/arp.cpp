// SPDX-License-Identifier: GPL-2.0
/* The device's ARP table; see arp.h. */
#include "arp.h"

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
};

struct ArpTable::State {
	SpinLock lock{SHIM_LOCK_ARP};
	Array<ArpSlot> slots;
	u16 bucket[buckets] = {};
	u32 hand = 0; /**< where the search for a slot goes on */

	u16 find(const ArpKey &key) const;
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

/* A slot for an address that has none: a free one, or one that nobody uses. */
u16 ArpTable::State::take(const ArpKey &key)
{
	u16 &head = bucket[bucket_of(key)];

	for (u32 tries = 1; tries < slots.count(); tries++) {
		u16 i = static_cast<u16>(1 + hand++ % (slots.count() - 1));
		ArpSlot &slot = slots[i];

		if (slot.shares)
			continue;
		if (slot.occupied)
			drop(i);
		slot.key = key;
		slot.occupied = true;
		slot.next = head;
		head = i;
		return i;
	}
	return none;
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

/* Tell the device. Waits for the answer if it may sleep. */
Status ArpTable::write_entry(u16 index, u64 mac, bool may_sleep)
{
	const cmd::ManageArp command{.index = index, .valid = true, .mac = mac};

	if (may_sleep)
		return device_.cqp.run(command).status();
	return device_.cqp.post(command);
}

Result<ArpEntry> ArpTable::get(const ArpKey &key, u64 mac, bool may_sleep)
{
	State &s = *state_;
	bool known = false;
	ArpSlot before = {};
	ArpEntry entry;

	{
		SpinGuard guard(s.lock);
		u16 i = s.find(key);

		if (i == none)
			i = s.take(key);
		if (i != none) {
			ArpSlot &slot = s.slots[i];

			before = slot;
			known = slot.in_device && slot.mac == mac;
			slot.mac = mac;
			slot.in_device = known;
			slot.shares++;
			entry.table_ = this;
			entry.index_ = i;
		}
	}
	if (!entry) {
		shim_log_limited(device_.shim, SHIM_WARN,
				 "all %llu entries of the ARP table are in use",
				 static_cast<u64>(s.slots.count() - 1));
		return Error::no_space;
	}
	if (!known)
		IRDMA_TRY(bring_up_to_date(entry.index(), before, may_sleep));
	return move(entry);
}

/*
 * Tell the device what the slot holds, until it is what the device was told last: the MAC may
 * change meanwhile. On failure the slot becomes what it was @before.
 */
Status ArpTable::bring_up_to_date(u16 index, const ArpSlot &before, bool may_sleep)
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
		if (!written.ok() && before.in_device) {
			slot.mac = before.mac;
			slot.in_device = true;
		}
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
	ArpSlot before;
	ArpEntry entry;

	{
		SpinGuard guard(s.lock);
		u16 i = s.find(key);

		if (i == none || s.slots[i].own || s.slots[i].mac == mac)
			return;
		before = s.slots[i];
		s.slots[i].mac = mac;
		s.slots[i].in_device = false;
		s.slots[i].shares++;
		entry.table_ = this;
		entry.index_ = i;
	}
	Status written = bring_up_to_date(entry.index(), before, true);
	if (!written.ok() && !device_.dead())
		shim_log_limited(device_.shim, SHIM_WARN,
				 "ARP entry %u does not follow its neighbour, error %d",
				 static_cast<u32>(entry.index()), written.code());
}

void ArpTable::own_address(const ArpKey &key, u64 mac, bool present)
{
	State &s = *state_;

	if (present) {
		auto entry = get(key, mac);

		/* Only sending to ourselves needs it, and then it is tried again. */
		if (!entry.ok())
			return;
		SpinGuard guard(s.lock);
		ArpEntry &share = entry.value();
		ArpSlot &slot = s.slots[share.index()];

		if (!exchange(slot.own, true))
			share.table_ = nullptr; /* the slot keeps the share */
		return;
	}

	ArpEntry share;
	{
		SpinGuard guard(s.lock);
		u16 i = s.find(key);

		if (i == none || !exchange(s.slots[i].own, false))
			return;
		share.table_ = this;
		share.index_ = i;
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
