// SPDX-License-Identifier: GPL-2.0
/*
 * Quality of service: a list of QPs for each user priority, and the
 * work-scheduler tree that gives each priority a queue set.
 *
 *	root --- VSI node --- leaf of traffic class 0   <- priorities 0, 1, 2
 *	                 \--- leaf of traffic class 3   <- priorities 3 ... 7
 *
 * A priority belongs to a traffic class, by ice's table. Each traffic class in
 * use has a leaf, whose queue-set handle goes into QP contexts and which is
 * registered with ice. Nodes come with the first user and go with the last.
 *
 * When traffic classes change, ice says so before and after. In between the
 * tree is down and no QP may send: all are suspended, and resumed on their new
 * queue sets. Whoever works on a QP holds a Qos::Use; the change waits until
 * there is none and keeps others out while it goes through the QPs.
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
	/** For the QP context and push pages. May sleep. */
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

	/** Held by those who work on a QP; keeps a change of traffic classes waiting. */
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
	 * A place in the queue set of @priority (0 to 7), made if need be. May sleep.
	 *
	 * Return: Error::busy while traffic classes change; else the error of a command or of ice.
	 */
	Result<QosPlacement> place(u8 priority);

	/** List a QP by its @node under @priority, or take it off its list. May sleep. */
	void link(ListNode<Qp> &node, u8 priority);
	void unlink(ListNode<Qp> &node);

	/**
	 * User priority of traffic with this ToS byte: by the DSCP map in DSCP mode, else
	 * @tos_priority (the kernel's mapping). A VLAN device maps that once more, by its egress
	 * map of 16 socket priorities.
	 */
	u8 priority_of(u8 tos, u8 tos_priority, const u8 *vlan_egress, bool vlan) const;

	/** Whether untagged traffic must carry a tag of VLAN 0, to show its priority. */
	bool priority_tagging() const;

	/** Around a change of traffic classes: suspend all QPs; rebuild, resume. May sleep. */
	void before_tc_change();
	void after_tc_change();
	/** No more of ice's events come: nobody waits any longer for the end of a change. */
	void on_removal();

	/** A QP that a change has suspended stands still. Any context. */
	void on_suspended();

private:
	friend class QosPlacement;
	struct State; /* in qos.cpp */
	void enter();
	void leave();
	void remove(u8 priority);
	u16 qs_handle(u8 priority) const;

	Device &device_;
	Owner<State> state_;
};

} // namespace irdma

#endif
