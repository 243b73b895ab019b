// SPDX-License-Identifier: GPL-2.0
/*
 * Address handles.
 */
#include "ah.h"

#include "../device.h"
#include "../hw/limits.h"

namespace irdma {

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

static cmd::AhWords words_of(const Qos &qos, const Pd &pd, const ArpEntry &arp,
			     const irdma_path &path)
{
	u16 tag;
	bool tagged = vlan_tag(qos, path, tag);
	cmd::AhWords words = {
		.ah = 0,
		.pd = pd.number(),
		.src_mac = mac_number(path.smac),
		.dest_ip = {},
		.src_ip = {},
		.ipv4 = path.ipv4,
		.arp_index = arp.index(),
		.traffic_class = path.traffic_class,
		.hop_limit = path.hop_limit,
		.flow_label = path.flow_label,
		.insert_vlan = tagged,
		.vlan_tag = tagged ? tag : u16{0},
		.loopback = is_loopback(path),
	};

	for (int i = 0; i < 4; i++) {
		words.dest_ip[i] = path.dest_ip[i];
		words.src_ip[i] = path.src_ip[i];
	}
	return words;
}

/* Whether two handles are the same but for their numbers. */
static bool same_words(const cmd::AhWords &a, const cmd::AhWords &b)
{
	for (int i = 0; i < 4; i++)
		if (a.dest_ip[i] != b.dest_ip[i] || a.src_ip[i] != b.src_ip[i])
			return false;
	return a.pd == b.pd && a.src_mac == b.src_mac && a.ipv4 == b.ipv4 &&
	       a.arp_index == b.arp_index && a.traffic_class == b.traffic_class &&
	       a.hop_limit == b.hop_limit && a.flow_label == b.flow_label &&
	       a.insert_vlan == b.insert_vlan && a.vlan_tag == b.vlan_tag &&
	       a.loopback == b.loopback;
}

/* ---- Life ---- */

Ah::Ah(Device &device, Pd &pd, ArpEntry arp, const irdma_path &path)
	: device_(device), pd_(pd), arp_(move(arp)), words_(words_of(device.qos, pd, arp_, path))
{
}

/* With its ARP entry, but not yet in the device. */
static Result<Owner<Ah>> new_ah(Device &device, Pd &pd, const irdma_path &path, bool may_sleep)
{
	auto arp = device.arp.get(path, may_sleep);

	IRDMA_TRY(arp);
	void *room = may_sleep ? shim_zalloc(sizeof(Ah)) : shim_zalloc_atomic(sizeof(Ah));
	if (!room)
		return Error::no_memory;
	return Owner<Ah>(new (room) Ah(device, pd, arp.take(), path));
}

Result<Ah *> Ah::create(Device &device, Pd &pd, const irdma_path &path, bool may_sleep)
{
	auto ah = new_ah(device, pd, path, may_sleep);

	IRDMA_TRY(ah);
	IRDMA_TRY(ah.value()->make(may_sleep));
	return ah.value().release();
}

Status Ah::make(bool may_sleep)
{
	auto id = Id::alloc(device_.ah_ids);
	IRDMA_TRY(id);
	id_ = id.take();
	words_.ah = id_.value();

	const cmd::CreateAh command{words_};
	Status made =
		(may_sleep ? device_.cqp.run(command) : device_.cqp.run_atomic(command)).status();

	if (!made.ok() && (device_.dead() || made.is(Error::timed_out)))
		id_.abandon(); /* it may have been made all the same */
	return made;
}

void Ah::on_destroyed(void *arg, const CqpOutcome &outcome)
{
	Ah *ah = static_cast<Ah *>(arg);

	if (!outcome.status.ok())
		ah->id_.abandon();
	destroy(ah);
}

/* The ARP entry goes last: the device may look at it until the handle is gone. */
void Ah::release(bool may_sleep)
{
	const cmd::DestroyAh command{words_};

	if (!may_sleep) {
		Status posted = device_.cqp.post(command, on_destroyed, this);

		if (posted.ok())
			return;
		if (posted.is(Error::again))
			return device_.late_ahs.add(*this);
		id_.abandon();
	} else if (!device_.cqp.run(command).ok()) {
		pd_.keep_number();
		id_.abandon();
	}
	destroy(this);
}

/* The PD may be gone. */
void Ah::release_late()
{
	const cmd::DestroyAh command{words_};

	if (!device_.cqp.run(command).ok())
		id_.abandon();
	destroy(this);
}

void LateAhs::add(Ah &ah)
{
	{
		SpinGuard guard(lock_);

		ahs_.push_back(ah.node_);
	}
	work_.queue(device_.shim);
}

Ah *LateAhs::take()
{
	SpinGuard guard(lock_);

	return ahs_.pop_front();
}

void LateAhs::run(void *arg)
{
	LateAhs &late = *static_cast<LateAhs *>(arg);

	while (Ah *ah = late.take())
		ah->release_late();
}

void LateAhs::finish()
{
	work_.cancel();
	run(this);
}

/* ---- Sharing ---- */

SharedAhs::Bucket &SharedAhs::bucket_of(const Ah &ah)
{
	const u32(&ip)[4] = ah.words_.dest_ip;
	u32 mix = ip[0] ^ ip[1] ^ ip[2] ^ ip[3] ^ ah.words_.pd;

	/* Fibonacci hashing: the upper bits depend on all bits. */
	return buckets_[(mix * 0x9e3779b1u >> 24) % array_size(buckets_)];
}

Result<Ah *> SharedAhs::get(Pd &pd, const irdma_path &path)
{
	auto made = new_ah(device_, pd, path, true);

	IRDMA_TRY(made);
	Ah &ah = *made.value();
	Bucket &bucket = bucket_of(ah);
	MutexGuard guard(bucket.mutex);

	for (Ah &other : bucket.ahs) {
		if (!same_words(other.words_, ah.words_))
			continue;
		other.users_++;
		return &other;
	}
	IRDMA_TRY(ah.make(true));
	ah.users_ = 1;
	bucket.ahs.push_back(ah.node_);
	return made.value().release();
}

void SharedAhs::release(Ah &ah)
{
	MutexGuard guard(bucket_of(ah).mutex);

	if (--ah.users_)
		return;
	ah.node_.unlink();
	ah.release(true);
}

} // namespace irdma

using namespace irdma;

/**
 * irdma_ah_create() - make an address handle
 * @device: the device
 * @pd: its protection domain
 * @path: where to
 * @may_sleep: otherwise any context
 * @shared: others of that PD with the same path may have the same one; only if @may_sleep
 * @out: gets it
 * @number: gets what sends name it by
 *
 * Return: 0; -ENOMEM; -ENOSPC if there are no more handles or ARP entries; -ENODEV or -ETIMEDOUT if
 * the device does not answer; what the device's error stands for.
 */
int irdma_ah_create(irdma_device *device, irdma_pd *pd, const irdma_path *path, bool may_sleep,
		    bool shared, irdma_ah **out, u32 *number)
{
	Device &d = *from_c(device);
	auto ah = shared ? d.shared_ahs.get(*from_c(pd), *path)
			 : Ah::create(d, *from_c(pd), *path, may_sleep);

	if (!ah.ok())
		return ah.code();
	*number = ah.value()->number();
	*out = to_c(ah.value());
	return 0;
}

/**
 * irdma_ah_destroy() - destroy an address handle, or give a share in it back
 * @ah: the handle
 * @may_sleep: otherwise any context; not for those of processes
 */
void irdma_ah_destroy(irdma_ah *ah, bool may_sleep)
{
	Ah &a = *from_c(ah);

	if (a.shared())
		a.device().shared_ahs.release(a);
	else
		a.release(may_sleep);
}
