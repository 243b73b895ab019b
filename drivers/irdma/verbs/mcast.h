// SPDX-License-Identifier: GPL-2.0
/*
 * Multicast groups: up to eight QPs that get a copy of what is sent to an
 * address. A group is made with its first member and goes with its last.
 */
#ifndef IRDMA_VERBS_MCAST_H
#define IRDMA_VERBS_MCAST_H

#include "../base/id_table.h"
#include "../base/list.h"
#include "../base/lock.h"
#include "../base/memory.h"
#include "../base/net.h"

namespace irdma {

class Device;
class Qp;

class McastGroups {
public:
	explicit McastGroups(Device &device) : device_(device), mutex_(SHIM_MUTEX_MCAST) {}
	~McastGroups();

	/**
	 * Have @qp get what is sent to @ip. A Qos::Use is held. May sleep; so with all of these.
	 *
	 * Return: Error::no_space if the group has all members it can have, or if there are
	 * all groups that there can be.
	 */
	Status attach(Qp &qp, const IpAddress &ip, u64 mac);
	Status detach(Qp &qp, const IpAddress &ip);
	/** @qp is about to be destroyed: take it out of all groups. */
	void forget(Qp &qp);
	/** Traffic classes have changed: tell the device of new queue sets. */
	void follow_queue_sets();

private:
	struct Group;
	Group *find(const IpAddress &ip);
	Status make_group(Qp &qp, const IpAddress &ip, u64 mac);
	Status add_member(Group &group, u32 qp);
	void remove_member(Group &group, u32 qp);
	void bury(Owner<Group> group);

	Device &device_;
	Mutex mutex_;
	List<Group> groups_;
};

} // namespace irdma

#endif
