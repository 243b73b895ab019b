// SPDX-License-Identifier: GPL-2.0
/*
 * Quality of service: a list of QPs for each user priority, and the
 * work-scheduler tree (VSI, traffic-class and leaf nodes) that gives each
 * priority a queue set. Nodes come with the first user and go with the last;
 * leaves are registered with ice.
 */
#ifndef IRDMA_QOS_QOS_H
#define IRDMA_QOS_QOS_H

#include "../base/list.h"
#include "../base/lock.h"
#include "../base/memory.h"
#include "../base/result.h"

namespace irdma {

class Device;
class Qos;
class Qp;

/** Owner of a QP's place in the queue set of a priority. */
class QosPlacement {
public:
	QosPlacement() = default;
	QosPlacement(QosPlacement &&other);
	QosPlacement &operator=(QosPlacement &&other);
	/** May sleep: the last one removes the nodes. */
	~QosPlacement();

	explicit operator bool() const { return qos_; }
	u8 priority() const { return priority_; }
	/** For the QP context and push pages. */
	u16 qs_handle() const;

private:
	friend class Qos;
	Qos *qos_ = nullptr;
	u8 priority_ = 0;
};

class Qos {
public:
	explicit Qos(Device &device);
	~Qos();

	/** Learn the traffic classes from ice. May sleep. */
	Status create();
	/** All placements must be back. */
	void destroy();

	/** A place in the queue set of @priority (0 to 7), made if need be. May sleep. */
	Result<QosPlacement> place(u8 priority);

	/** List @qp under its placement's priority, or take it off its list. */
	void link(Qp &qp, ListNode<Qp> &node, u8 priority);
	void unlink(ListNode<Qp> &node);

	/**
	 * User priority of traffic with this ToS byte: by the DSCP map in DSCP mode, else
	 * @tos_priority (the kernel's mapping), and the VLAN's egress map above both.
	 */
	u8 priority_of(u8 tos, u8 tos_priority, const u8 *vlan_egress, bool vlan) const;

	/** Whether untagged traffic must carry a tag of VLAN 0, to show its priority. */
	bool priority_tagging() const { return priority_tagging_; }

	/** Around a change of traffic classes: suspend all QPs; rebuild, resume. May sleep. */
	void before_tc_change();
	void after_tc_change();

private:
	friend class QosPlacement;
	void remove(u8 priority);
	u16 qs_handle(u8 priority) const;

	Device &device_;
	bool priority_tagging_ = false;
	struct State; /* in qos.cpp */
	Owner<State> state_;
};

} // namespace irdma

#endif
