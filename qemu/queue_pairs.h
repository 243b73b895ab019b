// SPDX-License-Identifier: GPL-2.0
/*
 * Queue pairs: their contexts, states and flushing.
 *
 *	CREATE_QP  MODIFY_QP                     MODIFY_QP  MODIFY_QP (from any)
 *	   |      +---------+                     +-----+      |
 *	   v      |         v                     |     v      v
 *	 idle (RESET, INIT) -> rtr -> rts <-> sqd +   error -> FLUSH_WQES, DESTROY_QP
 *
 * A command points at a context in guest memory. The device takes a copy of what the command's
 * flags and the state call for, so what a guest changes afterwards is not seen. A refused command
 * changes nothing.
 *
 * Work: a doorbell makes the transport (roce.h) look at the send queue of an RTS queue pair. What the
 * transport has not completed when the queue pair goes to error stays outstanding until it is flushed.
 */
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "cqp_result.h"
#include "irdma/hw/ae_codes.h"
#include "irdma/hw/eq.h"
#include "irdma/hw/qp_context.h"
#include "roce_rc.h"
#include "roce_ud.h"
#include "work_queue.h"

namespace e810 {

/** One queue pair. Its context's fields are read with hw::qpc. */
struct QueuePair {
	uint32_t id = 0;
	hw::QpType type = hw::QpType::rc;
	hw::QpState state = hw::QpState::idle;
	bool suspended = false;
	bool draining = false; /* SQD was asked for, and requests are under way */
	bool virtual_queues = false;
	uint64_t shadow = 0;
	hw::QpContext context;
	WorkQueue sq;
	WorkQueue rq;

	/* Of the transport: one of the two is there, by type. */
	std::unique_ptr<RcTransport> rc;
	std::unique_ptr<UdTransport> ud;
	bool failed = false;  /* stopped by an error, which was reported */
	bool in_line = false; /* waits for its turn to send */
	int64_t next_cnp = 0; /* not before that time */

	uint64_t get(const hw::Field &field) const { return context.get(field); }
	/** Quanta from one receive WQE to the next. */
	uint32_t rq_stride() const { return 1u << get(hw::qpc::rq_wqe_size); }
	bool is_gsi() const { return id == 1; }
	uint32_t pd() const
	{
		return static_cast<uint32_t>(get(hw::qpc::pd_hi) << hw::qpc::pd.width() |
					     get(hw::qpc::pd));
	}
	/** Its partition; the default one until the context names another. */
	uint16_t pkey() const
	{
		auto key = static_cast<uint16_t>(get(hw::qpc::pkey));

		return key ? key : 0xffff;
	}
};

class QueuePairs {
public:
	explicit QueuePairs(Rdma &rdma);

	CqpResult create(const hw::CqpWqe &wqe);
	CqpResult modify(const hw::CqpWqe &wqe);
	CqpResult destroy(const hw::CqpWqe &wqe);
	CqpResult suspend(const hw::CqpWqe &wqe);
	CqpResult resume(const hw::CqpWqe &wqe);
	CqpResult upload_context(const hw::CqpWqe &wqe);
	CqpResult flush(const hw::CqpWqe &wqe);

	/** The queue pair with number @p id, or nullptr. */
	QueuePair *find(uint64_t id);

	/** Doorbell: work may have been posted to queue pair @p id. */
	void doorbell(uint32_t id);

	/** Reports @p code about @p qp. @p wqe_index is of the queue that @p source names. */
	void report(const QueuePair &qp, hw::AeCode code, hw::AeSource source, uint32_t wqe_index);

	/** The transport has completed all that it took from the send queue of @p qp. */
	void send_queue_idle(QueuePair &qp);

	/** Traces an entry for @p cq. */
	void trace_completion(uint32_t cq, const hw::Cqe &entry);

	uint32_t in_use() const;
	void reset();

private:
	bool load_context(const hw::CqpWqe &wqe, uint32_t id, hw::QpContext &context);
	CqpResult check_references(const hw::CqpWqe &wqe, hw::QpType type,
				   const hw::QpContext &context);
	void change_transport(QueuePair &qp, hw::QpState before);
	void save_psns(QueuePair &qp);
	bool flush_queue(QueuePair &qp, bool is_sq, uint64_t major, uint64_t minor);

	Rdma &rdma_;
	std::vector<std::unique_ptr<QueuePair>> qps_;
};

} // namespace e810
