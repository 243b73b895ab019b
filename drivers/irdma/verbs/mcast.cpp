// SPDX-License-Identifier: GPL-2.0
/*
 * Multicast groups: the table of groups, and the eight member words that each
 * shows to the device. A command that changes a group makes the device read
 * them anew; a member is believed only when that has gone well.
 */
#include "mcast.h"

#include "../device.h"
#include "../hw/limits.h"
#include "driver.h"
#include "qp.h"

namespace irdma {

struct McastGroups::Group {
	static constexpr unsigned capacity = hw::mcast_members_per_group;

	/** One that is attached several times, by other LIDs, is as often detached. */
	struct Member {
		u32 qp; /**< number, 0: free */
		u32 uses;
	};

	Id id;
	DmaBuffer words;	      /**< the members, as the device reads them */
	cmd::McastWords command = {}; /**< that made it */
	IpAddress ip;
	QosPlacement placement; /**< as that of its first member */
	Member members[capacity] = {};
	ListNode<Group> node{this};

	Member *find(u32 qp)
	{
		for (Member &member : members)
			if (member.qp == qp)
				return &member;
		return nullptr;
	}

	bool empty() const
	{
		for (const Member &member : members)
			if (member.qp)
				return false;
		return true;
	}

	/* Valid ones first, as the device expects them; RoCE members leave the port 0. */
	void write_words()
	{
		hw::Le64 *word = words.as<hw::Le64>();
		unsigned n = 0;

		for (const Member &member : members)
			if (member.qp)
				word[n++].set(hw::cqp_mcast::member_qp.put(member.qp) |
					      hw::cqp_mcast::member_valid.put(1));
		while (n < capacity)
			word[n++].set(0);
	}
};

McastGroups::~McastGroups()
{
	while (Group *group = groups_.pop_front())
		irdma::destroy(group);
}

McastGroups::Group *McastGroups::find(const IpAddress &ip)
{
	for (Group &group : groups_)
		if (group.ip == ip)
			return &group;
	return nullptr;
}

/* ---- Commands ---- */

/* What the device may still read or keep stays taken. */
void McastGroups::bury(Owner<Group> group)
{
	group->id.abandon();
	device_.graveyard.bury(move(group->words));
}

Status McastGroups::make_group(Qp &qp, const IpAddress &ip, u64 mac)
{
	auto group = make<Group>();
	if (!group)
		return Error::no_memory;
	auto id = Id::alloc(device_.mcast_ids);
	IRDMA_TRY(id);
	auto words = DmaBuffer::create(device_.shim, Group::capacity * sizeof(hw::Le64));
	IRDMA_TRY(words);
	auto placement = device_.qos.place(qp.priority());
	IRDMA_TRY(placement);

	group->placement = placement.take();
	group->id = id.take();
	group->words = words.take();
	group->ip = ip;
	group->members[0] = {qp.number(), 1};
	group->write_words();
	group->command = {
		.group = group->id.value(),
		.mac = mac,
		.dest_ip = {ip.word[0], ip.word[1], ip.word[2], ip.word[3]},
		.ipv4 = ip.ipv4,
		.qs_handle = group->placement.qs_handle(),
		.vlan_valid = false,
		.vlan = 0,
		.members = group->words.bus(),
		.hmc_fn = device_.port.pf_id,
	};
	auto made = device_.cqp.run(cmd::CreateMcast{group->command});
	if (made.ok())
		groups_.push_back(group.release()->node);
	else if (device_.dead())
		bury(move(group));
	return made.status();
}

Status McastGroups::add_member(Group &group, u32 qp)
{
	Group::Member *free = group.find(0);

	if (!free)
		return Error::no_space;
	*free = {qp, 1};
	group.write_words();
	auto changed = device_.cqp.run(cmd::ModifyMcast{group.command});
	if (!changed.ok()) {
		*free = {};
		group.write_words();
	}
	return changed.status();
}

/* The member goes, whatever the device says. */
void McastGroups::remove_member(Group &group, u32 qp)
{
	*group.find(qp) = {};
	group.write_words();
	if (!group.empty()) {
		(void)device_.cqp.run(cmd::ModifyMcast{group.command}).ok();
		return;
	}
	group.node.unlink();
	Owner<Group> last(&group);
	if (!device_.cqp.run(cmd::DestroyMcast{group.command}).ok())
		bury(move(last));
}

/* ---- Members ---- */

Status McastGroups::attach(Qp &qp, const IpAddress &ip, u64 mac)
{
	MutexGuard guard(mutex_);
	Group *group = find(ip);

	if (!group)
		return make_group(qp, ip, mac);
	if (Group::Member *member = group->find(qp.number())) {
		member->uses++;
		return {};
	}
	return add_member(*group, qp.number());
}

Status McastGroups::detach(Qp &qp, const IpAddress &ip)
{
	MutexGuard guard(mutex_);
	Group *group = find(ip);
	Group::Member *member = group ? group->find(qp.number()) : nullptr;

	if (!member)
		return Error::invalid;
	if (!--member->uses)
		remove_member(*group, qp.number());
	return {};
}

void McastGroups::forget(Qp &qp)
{
	MutexGuard guard(mutex_);

	for (auto at = groups_.begin(); at != groups_.end();) {
		Group &group = *at;

		++at; /* the group may go */
		if (group.find(qp.number()))
			remove_member(group, qp.number());
	}
}

void McastGroups::follow_queue_sets()
{
	MutexGuard guard(mutex_);

	for (Group &group : groups_) {
		u16 handle = group.placement.qs_handle();

		if (handle == group.command.qs_handle)
			continue;
		group.command.qs_handle = handle;
		if (!device_.cqp.run(cmd::ModifyMcast{group.command}).ok() && !device_.dead())
			shim_log_limited(device_.shim, SHIM_WARN,
					 "multicast group %u keeps its old queue set",
					 group.id.value());
	}
}

} // namespace irdma

using namespace irdma;

static IpAddress address(const u32 ip[4], bool ipv4)
{
	return {{ip[0], ip[1], ip[2], ip[3]}, ipv4};
}

/**
 * irdma_mcast_attach() - have a QP get what is sent to a multicast address
 * @device: the device
 * @qp: the QP, UD
 * @ip: the address, in CPU order; IPv4 in ip[3]
 * @ipv4: whether it is IPv4
 * @mac: the address's MAC
 *
 * May sleep. Return: 0, also if it was attached before, and is then to be detached as often;
 * -ENOMEM; -ENOSPC if the group is full or there are no more groups; -ENODEV if the device does not
 * answer.
 */
int irdma_mcast_attach(irdma_device *device, irdma_qp *qp, const u32 ip[4], bool ipv4,
		       const u8 mac[6])
{
	Device &d = *from_c(device);
	Qos::Use use(d.qos);

	return d.mcast.attach(*from_c(qp), address(ip, ipv4), mac_number(mac)).code();
}

/**
 * irdma_mcast_detach() - undo irdma_mcast_attach()
 * @device: the device
 * @qp: the QP
 * @ip: the address
 * @ipv4: whether it is IPv4
 *
 * May sleep. Return: 0, or -EINVAL if it is not attached.
 */
int irdma_mcast_detach(irdma_device *device, irdma_qp *qp, const u32 ip[4], bool ipv4)
{
	Device &d = *from_c(device);
	Qos::Use use(d.qos);

	return d.mcast.detach(*from_c(qp), address(ip, ipv4)).code();
}
