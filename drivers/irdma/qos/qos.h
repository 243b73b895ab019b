// SPDX-License-Identifier: GPL-2.0
/*
 * Quality of service: a list of QPs for each user priority, and the queue set
 * that each priority sends by.
 *
 *	QP --> priority --> traffic class --> leaf of the tree = queue set
 *
 * The port's settings (ice's, by DCB) say which traffic class a priority
 * belongs to. Each class in use has a leaf in the work-scheduler tree
 * (ws_tree.h), which comes with the first user and goes with the last.
 *
 * When traffic classes change, ice says so before and after. In between the
 * tree is down and no QP may send: all are suspended, and resumed on their new
 * queue sets. Whoever works on QPs or places holds a Qos::Use; the change waits
 * until there is none and keeps others out while it goes through the QPs. If
 * ice gives the change up it tells nobody, so it is over after some seconds in
 * any case.
 *
 * The VLAN tag of a QP or AH, with its priority, is that of the time when its
 * path was set.
 */
#ifndef IRDMA_QOS_QOS_H
#define IRDMA_QOS_QOS_H

#include "../base/list.h"
#include "../base/lock.h"
#include "../base/memory.h"
#include "../base/result.h"
#include "driver.h"

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
	~QosPlacement() { reset(); }

	/** Give the place back. */
	void reset();

	explicit operator bool() const { return qos_; }
	u8 priority() const { return priority_; }
	/** Handle of the queue set; 0 if a change of traffic classes left none. May sleep. */
	u16 qs_handle() const;
	/** The same, but a queue set that was lost is made anew. A Qos::Use is held. May sleep. */
	Result<u16> queue_set() const;

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

	/** Held, once, by those who work on QPs and places; keeps a change of classes waiting. */
	class Use {
	public:
		/** May sleep: while a change is under way. */
		explicit Use(Qos &qos) : qos_(qos) { qos_.enter(); }
		~Use() { qos_.leave(); }
		Use(const Use &) = delete;
		Use &operator=(const Use &) = delete;

	private:
		Qos &qos_;
	};

	/**
	 * A place in the queue set of @priority (0 to 7), made if need be. A Use is held. May sleep.
	 *
	 * Return: the error of a command or of ice.
	 */
	Result<QosPlacement> place(u8 priority);

	/** List a QP by its @node under @priority, or take it off. A Use is held. May sleep. */
	void link(ListNode<Qp> &node, u8 priority);
	void unlink(ListNode<Qp> &node);

	/**
	 * User priority of traffic with this ToS byte: in DSCP mode by the DSCP map alone; else
	 * @tos_priority (the kernel's mapping), which on a VLAN device is a socket priority for its
	 * egress map of 16. Any context.
	 */
	u8 priority_of(u8 tos, u8 tos_priority, const u8 *vlan_egress, bool vlan) const;

	/** Whether untagged traffic must carry a tag of VLAN 0, to show its priority. Any context. */
	bool priority_tagging() const;

	/** Around a change of traffic classes: suspend all QPs; rebuild, resume. May sleep. */
	void before_tc_change();
	void after_tc_change();
	/** No more of ice's events come: a change that is under way ends here. May sleep. */
	void on_removal();

	/** Classes, tree and QPs by priority, for debugfs. May sleep. */
	void show(shim_text *text);

	/** A QP that a change has suspended stands still. Any context. */
	void on_suspended();

private:
	friend class QosPlacement;
	struct State; /* in qos.cpp */
	void enter();
	void leave();
	void remove(u8 priority);
	u16 qs_handle(u8 priority) const;
	Result<u16> queue_set(u8 priority);

	Device &device_;
	Owner<State> state_;
};

} // namespace irdma

#endif
