// SPDX-License-Identifier: GPL-2.0
/*
 * Property "inject": faults and events that a driver has to live with, made while it runs.
 *
 *	inject=KIND[:NAME=VALUE,...][;...]
 *
 *	ae:code=C,source=S,id=I,wqe=W,n=N,burst=1
 *		N asynchronous events about a QP or CQ that need not exist. More than the AEQ holds
 *		follow as the driver returns entries; with burst=1 they are lost.
 *	cqe:cq=I,qp=Q,wqe=W,length=L,op=O,send=1,major=M,minor=M,n=N
 *		N completions in a CQ about what need not be: any QP, request, length. With major it
 *		is an error.
 *	ceqe:ceq=E,cq=I,n=N,batch=B,stale=1
 *		N entries in a CEQ for a CQ that need not exist; each time the driver enables the
 *		vector the next B of them. stale=1: with the valid bit of the lap before.
 *	irq:cause=CAUSE,n=N
 *		N interrupts without an event, the next one whenever the driver enables the vector.
 *	drop:cause=CAUSE,n=N
 *		The next N interrupts of the cause's vector get lost. CAUSE is aeq, ceq0, ceq1, ... or
 *		all, which means each of them.
 *	release:newest=1
 *		Gives the CQP's answers that property "fail" holds, the oldest (or newest) first.
 *	hmc-error, push-error, critical-error
 *		The engine's grave errors: causes of PFINT_OICR.
 *	core-reset, global-reset
 *		As if another function or firmware had asked for it.
 *	cqp-hang
 *		The CQP executes nothing any more, until it is created anew.
 *	send-hang
 *		Nothing leaves a queue pair any more, until the CQP is gone.
 *
 * Numbers are decimal or, after 0x, hexadecimal; all but code, cause and cq have a default. Reading
 * the property tells how much is still to come: events, entries, interrupts, held answers.
 */
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "event_queues.h"

namespace e810 {

class Rdma;

class Injections {
public:
	explicit Injections(Rdma &rdma) : rdma_(rdma) {}

	/** Does what @p text says. Returns nullptr, or what is wrong with it. */
	const char *inject(std::string_view text);

	/** What is still to come. */
	uint32_t left() const;

	/** How many there were, as long as there is the card. */
	uint64_t made() const { return made_; }

	/** The driver has returned entries of the AEQ. */
	void aeq_has_room();
	/** The driver has enabled @p vector, and nothing waits for that. */
	void vector_enabled(uint32_t vector);

	void reset();

private:
	class Item; /* one KIND with its values */

	/** Events that wait for room in the AEQ. */
	struct Events {
		AsyncEvent event;
		uint32_t left;
	};
	/** What comes whenever the driver enables a vector. */
	struct Repeat {
		uint32_t vector;
		bool spurious; /* else entries of a CEQ */
		uint32_t ceq;
		uint64_t context;
		bool stale;
		uint32_t batch;
		uint32_t left;
	};

	const char *inject_one(std::string_view text);
	const char *events(Item &item);
	const char *forged(Item &item);
	const char *completions(Item &item);
	const char *interrupts(Item &item);
	const char *drop(Item &item);
	void go_on(Repeat &repeat);

	Rdma &rdma_;
	uint64_t made_ = 0;
	std::vector<Events> events_;
	std::vector<Repeat> repeats_;
};

} // namespace e810
