// SPDX-License-Identifier: GPL-2.0
/*
 * Event queues: up to 16 completion event queues (CEQ) and the asynchronous event queue (AEQ).
 *
 * A CEQ entry says that an armed CQ has something; an AEQ entry that something happened to a QP or
 * CQ outside the order of its work. Both are rings in guest memory whose entries carry a valid bit
 * that toggles with each lap, and each has an interrupt cause.
 *
 * No CEQ can overflow: it has as many entries as CQs that use it, and a CQ gets its next entry only
 * after PFPE_CQACK (see CompletionQueues). The AEQ can: the driver returns entries through
 * PFPE_AEQALLOC, and while none is free events are lost, which the next entry tells with its
 * overflow bit.
 */
#pragma once

#include <array>
#include <cstdint>
#include <set>

#include "cqp_result.h"
#include "hmc.h"
#include "irdma/hw/ae_codes.h"
#include "irdma/hw/eq.h"
#include "irdma/hw/qp_context.h"

namespace e810 {

/** What an AEQ entry says. */
struct AsyncEvent {
	hw::AeCode code;
	hw::AeSource source;
	uint32_t id = 0;      /* QP number, or CQ number if the source is a CQ */
	uint64_t context = 0; /* of that QP or CQ */
	uint32_t wqe_index = 0;
	hw::QpState state = hw::QpState::invalid;
};

class EventQueues {
public:
	explicit EventQueues(Rdma &rdma);

	CqpResult create_ceq(const hw::CqpWqe &wqe);
	CqpResult destroy_ceq(const hw::CqpWqe &wqe);
	CqpResult create_aeq(const hw::CqpWqe &wqe);
	CqpResult destroy_aeq(const hw::CqpWqe &wqe);

	bool ceq_exists(uint32_t ceq) const { return ceq < Hmc::max_ceqs && ceqs_[ceq].size; }

	/**
	 * Writes an entry for the CQ with context @p context, and interrupts. @p stale: with the
	 * valid bit of the lap before, which a device never does.
	 */
	void post_completion(uint32_t ceq, uint64_t context, bool stale = false);

	void post(const AsyncEvent &event);

	/** Whether a cause register has ever named this vector. */
	bool uses_vector(uint32_t vector) const { return vectors_.contains(vector); }

	/** Entries of a CEQ, 0 if it does not exist; entries of the AEQ that are free. */
	uint32_t ceq_size(uint32_t ceq) const { return ceq_exists(ceq) ? ceqs_[ceq].size : 0; }
	uint32_t aeq_room() const { return aeq_.size - aeq_used_; }

	/** Queues that exist, AEQ included, for the trace. */
	uint32_t in_use() const;
	void reset();

private:
	struct Ring {
		PageList pages;
		uint32_t size = 0; /* entries; 0: does not exist */
		uint32_t next = 0; /* index of the next entry to write */
		bool polarity = true;

		void advance();
	};

	void write_aeqalloc(uint32_t, uint32_t count);
	void write_ceq_cause(uint32_t ceq, uint32_t value);
	void write_aeq_cause(uint32_t, uint32_t value);
	void set_cause(const char *name, uint32_t control, uint32_t value);
	void raise(const char *cause, uint32_t control, int ceq);

	Rdma &rdma_;
	std::array<Ring, Hmc::max_ceqs> ceqs_;
	Ring aeq_;

	/* That a cause register has named. */
	std::set<uint32_t> vectors_;
	uint32_t aeq_used_ = 0;	    /* entries that the driver has not returned */
	bool aeq_overflow_ = false; /* an event was lost since the last entry */
};

} // namespace e810
