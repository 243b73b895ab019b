// SPDX-License-Identifier: GPL-2.0
/*
 * Event queues: CEQs tell that a CQ has something, the AEQ tells what happened
 * to a QP or CQ.
 *
 * Each CEQ has a vector of its own. The AEQ has one too if there are more vectors
 * than CPUs; else it shares the first, since events of that kind are rare and
 * each CPU is worth a CEQ. Entries name objects by number; a number is looked up
 * under the queue's lock, and an object that leaves takes the same lock, so an
 * entry of an object that is gone is dropped. What a handler does in interrupt
 * context is bounded: after a budget of entries, or a share of the CPU's time, the
 * rest goes to a work item. Interrupts that got lost are made up for after a second.
 */
#ifndef IRDMA_EQ_EVENT_QUEUES_H
#define IRDMA_EQ_EVENT_QUEUES_H

#include "../base/memory.h"
#include "../base/result.h"
#include "ae_table.h"

namespace irdma {

class Device;
class Cq;
class Qp;

/** An asynchronous event as it is handed to a QP or CQ. */
struct AsyncEvent {
	u16 code;
	u8 source; /**< hw::AeSource */
	u32 wqe_index;
	const AeInfo *info; /**< never null: unknown codes have an entry of their own */
};

class EventQueues {
public:
	explicit EventQueues(Device &device);
	~EventQueues();

	/** Choose the number of CEQs by vectors lent, CPUs and what the device has. */
	Status plan();
	/** CEQ 0 with its interrupt; carries the CCQ. May sleep. */
	Status create_ceq0();
	/** The other CEQs, one a vector. May sleep. */
	Status create_ceqs();
	Status create_aeq();
	void destroy_aeq();
	void destroy_ceqs();
	void destroy_ceq0();

	/** CEQs that CQs may use: comp_vector is below this. */
	u32 ceq_count() const { return ceq_count_; }

	/** From now on events of @cq (of its number, on its CEQ) reach Cq::on_completion_event(). */
	void add_cq(Cq &cq);
	/** When it returns no handler runs for @cq any more. */
	void remove_cq(Cq &cq);

	/** From now on events of @qp reach Qp::on_async_event(). */
	void add_qp(Qp &qp);
	void remove_qp(Qp &qp);

	/** Call @use(Qp &) for each QP, with the table's lock held. */
	void for_each_qp(void (*use)(void *arg, Qp &qp), void *arg);

	/** Vectors and rings, for debugfs. Any context. */
	void show(shim_text *text) const;

private:
	struct Ceq; /* in event_queues.cpp */
	struct Aeq;
	struct CqSlot;
	struct Vector;
	struct State;

	Status create_ceq(u32 number);
	void destroy_ceq(u32 number);

	Device &device_;
	u32 ceq_count_ = 0;
	Owner<State> state_;
};

} // namespace irdma

#endif
