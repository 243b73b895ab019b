// SPDX-License-Identifier: GPL-2.0
/*
 * Completion queues, CQ 0 (the CCQ of the control QP) among them.
 *
 * A CQ is a ring of 32-byte entries in guest memory, physically contiguous or through a page list,
 * and a shadow area in which the host keeps its consumer index and how the CQ is armed. To write an
 * entry:
 *
 *	words 0 to 2, then word 3 with the valid bit (1 on the first lap, toggling)
 *	armed? -> CEQ entry, once: the arm is used up
 *
 * Arming: the host writes the shadow area's arm word, then the CQ number to a doorbell. If it has
 * not consumed all there is by then, the event comes at once. Between a CEQ entry and PFPE_CQACK
 * for it a CQ posts no other; an event that falls due is kept until then.
 *
 * An entry that would overwrite one the host has not consumed is not written: the CQ is broken from
 * then on and an asynchronous event tells so, if the CQ was created with the check.
 */
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "cqp_result.h"
#include "hmc.h"
#include "irdma/hw/cqe.h"

namespace e810 {

class CompletionQueues {
public:
	explicit CompletionQueues(Rdma &rdma);

	CqpResult create(const hw::CqpWqe &wqe);
	CqpResult modify(const hw::CqpWqe &wqe);
	CqpResult destroy(const hw::CqpWqe &wqe);

	bool exists(uint32_t cq) const { return cq < cqs_.size() && cqs_[cq].exists; }

	/**
	 * Writes one entry, setting its valid bit. @p solicited: it also wakes a host that waits
	 * for solicited completions only. @p stale: with the valid bit of the lap before, which a
	 * device never does. Returns false if there was no place for it.
	 */
	bool post(uint32_t cq, const hw::Cqe &entry, bool solicited, bool stale = false);

	/** The same for an entry and the one that extends it, which follows it in the ring. */
	bool post(uint32_t cq, const hw::Cqe &entry, const hw::Cqe &extension, bool solicited);

	/** What CEQ entries of @p cq carry; its number if it does not exist. */
	uint64_t event_context(uint32_t cq) const { return exists(cq) ? cqs_[cq].context : cq; }

	/** Doorbell: the host arms @p cq. */
	void arm(uint32_t cq);

	/** PFPE_CQACK: the host has taken the CEQ entry of @p cq. */
	void acknowledge(uint32_t cq);

	uint32_t in_use() const;
	void reset();

private:
	enum class Armed { no, solicited, next };
	struct Queue {
		bool exists = false;
		bool broken = false;
		bool check_overflow = false;
		bool has_ceq = false;
		bool polarity = true;
		bool resized = false; /* the shadow's consumer index may still be of the old ring */
		bool event_posted = false; /* CEQ entry not acknowledged */
		bool event_due = false;
		Armed armed = Armed::no;
		uint32_t ceq = 0;
		uint32_t size = 0;
		uint32_t producer = 0;
		uint32_t told = 0; /* the producer's index at the last event */
		uint64_t context = 0;
		uint64_t shadow = 0;
		PageList pages;
	};

	static bool set_ring(Queue &cq, const hw::CqpWqe &wqe);
	bool full(Queue &cq, uint32_t wanted) const;
	bool post(uint32_t id, std::span<const hw::Cqe> entries, bool solicited, bool stale);
	bool write(Queue &cq, hw::Cqe entry, bool stale);
	void overflow(uint32_t id);
	void signal(Queue &cq);

	Rdma &rdma_;
	std::vector<Queue> cqs_;
};

} // namespace e810
