// SPDX-License-Identifier: GPL-2.0
/*
 * Address handles.
 */
#include "ah.h"

#include "../device.h"
#include "../hw/limits.h"

namespace irdma {

static constexpr u32 poll_us = 10;
static constexpr u32 poll_limit_us = 100 * 1000;

/* ---- What the device is told ---- */

/* Traffic for ourselves and for groups that we may be in comes back. */
static bool is_loopback(const irdma_path &path)
{
	for (int i = 0; i < 4; i++)
		if (path.dest_ip[i] != path.src_ip[i])
			return path.multicast;
	return true;
}

/* The tag that frames carry; priority tagging gives VLAN 0 to those without one. */
static bool vlan_tag(const Qos &qos, const irdma_path &path, u16 &tag)
{
	bool in_vlan = path.vlan != SHIM_NO_VLAN;
	u32 priority =
		qos.priority_of(path.traffic_class, path.tos_priority, path.vlan_egress, in_vlan);

	tag = static_cast<u16>((in_vlan ? path.vlan : 0) | priority << 13);
	return in_vlan || qos.priority_tagging();
}

void Ah::fill_words(const Pd &pd)
{
	u16 tag;
	bool tagged = vlan_tag(device_.qos, path_, tag);

	words_ = {
		.ah = number(),
		.pd = pd.number(),
		.src_mac = mac_number(path_.smac),
		.dest_ip = {},
		.src_ip = {},
		.ipv4 = path_.ipv4,
		.arp_index = arp_.index(),
		.traffic_class = path_.traffic_class,
		.hop_limit = path_.hop_limit,
		.flow_label = path_.flow_label,
		.insert_vlan = tagged,
		.vlan_tag = tagged ? tag : u16{0},
		.loopback = is_loopback(path_),
	};
	for (int i = 0; i < 4; i++) {
		words_.dest_ip[i] = path_.dest_ip[i];
		words_.src_ip[i] = path_.src_ip[i];
	}
}

/* ---- Life ---- */

void Ah::put()
{
	if (!shares_.sub(1))
		destroy(this);
}

Result<Ah *> Ah::create(Device &device, const Pd &pd, const irdma_path &path, bool may_sleep)
{
	auto id = Id::alloc(device.ah_ids);
	IRDMA_TRY(id);
	auto arp = device.arp.get(arp_key(path), mac_number(path.dmac), may_sleep);
	IRDMA_TRY(arp);

	void *room = may_sleep ? shim_zalloc(sizeof(Ah)) : shim_zalloc_atomic(sizeof(Ah));
	if (!room)
		return Error::no_memory;
	Ah *ah = new (room) Ah(device, id.take(), arp.take(), path);
	ah->fill_words(pd);

	Status made = may_sleep ? ah->create_waiting() : ah->create_polling();
	if (!made.ok()) {
		ah->arp_ = ArpEntry();
		ah->put();
		return made;
	}
	return ah;
}

Status Ah::create_waiting()
{
	auto made = device_.cqp.run(cmd::CreateAh{words_});

	if (!made.ok() && device_.dead())
		id_.abandon(); /* it may have been made all the same */
	return made.status();
}

void Ah::on_created(void *arg, const CqpOutcome &outcome)
{
	Ah *ah = static_cast<Ah *>(arg);

	ah->outcome_.store(outcome.status.ok() ? done : failed);
	ah->put();
}

Status Ah::create_polling()
{
	shares_.add(1);
	Status posted = device_.cqp.post(cmd::CreateAh{words_}, on_created, this);
	if (!posted.ok()) {
		shares_.sub(1);
		return posted;
	}

	for (u32 us = 0; outcome_.load() == running && us < poll_limit_us; us += poll_us) {
		shim_udelay(poll_us);
		device_.cqp.on_ccq_event();
	}
	if (outcome_.load() == done)
		return {};
	if (outcome_.load() == failed && !device_.dead())
		return Error::io;
	id_.abandon(); /* it may have been made all the same */
	return Error::timed_out;
}

void Ah::on_destroyed(void *arg, const CqpOutcome &outcome)
{
	Ah *ah = static_cast<Ah *>(arg);

	if (!outcome.status.ok())
		ah->id_.abandon();
	ah->put();
}

void Ah::release(bool may_sleep)
{
	/* Goes last: the device may look at it until the handle is gone. */
	ArpEntry arp = move(arp_);

	if (!may_sleep) {
		if (device_.cqp.post(cmd::DestroyAh{words_}, on_destroyed, this).ok())
			return;
		id_.abandon();
	} else if (!device_.cqp.run(cmd::DestroyAh{words_}).ok()) {
		id_.abandon();
	}
	put();
}

} // namespace irdma

using namespace irdma;

/**
 * irdma_ah_create() - make an address handle
 * @device: the device
 * @pd: its protection domain
 * @path: where to
 * @may_sleep: otherwise any context
 * @out: gets it
 * @number: gets what sends name it by
 *
 * Return: 0; -ENOMEM; -ENOSPC if there are no more handles or ARP entries; -ENODEV or -ETIMEDOUT if
 * the device does not answer; what the device's error stands for.
 */
int irdma_ah_create(irdma_device *device, irdma_pd *pd, const irdma_path *path, bool may_sleep,
		    irdma_ah **out, u32 *number)
{
	auto ah = Ah::create(*from_c(device), *from_c(pd), *path, may_sleep);

	if (!ah.ok())
		return ah.code();
	*number = ah.value()->number();
	*out = to_c(ah.value());
	return 0;
}

/**
 * irdma_ah_destroy() - destroy an address handle
 * @ah: the handle
 * @may_sleep: otherwise any context
 */
void irdma_ah_destroy(irdma_ah *ah, bool may_sleep)
{
	from_c(ah)->release(may_sleep);
}

/**
 * irdma_ah_query() - what an address handle was made with
 * @ah: the handle
 * @path: gets it
 *
 * Any context.
 */
void irdma_ah_query(irdma_ah *ah, irdma_path *path)
{
	*path = from_c(ah)->path();
}
