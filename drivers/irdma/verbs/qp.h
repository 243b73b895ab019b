// SPDX-License-Identifier: GPL-2.0
/*
 * Queue pairs: RC, UD and GSI, of processes and of the kernel.
 *
 * Life. irdma_qp_create() gives the device a context and the rings; changes go
 * through a plan (qp_plan.h) that is carried out step by step, and undone if a
 * step fails; irdma_qp_destroy() fails only if the caller can try again. Asynchronous events of the
 * device arrive in interrupt context and are acted on by a work item
 * (qp_events.cpp). Posting and completing requests of the kernel: qp_post.cpp.
 *
 * Locks, outermost first: a Qos::Use, the QP's mutex, locks of QoS and ARP. The
 * rings (work_queue.h) have a lock each for those who post; whoever takes
 * completions holds the lock of the CQ.
 *
 * Flush. In ERROR the device completes the oldest request of each queue with an
 * error; that entry stands for all. From then on a queue is in the list of
 * flushed queues of its CQ, which, once it has taken what its ring has held at
 * that time, takes completions from Qp::take_flushed(): so every request
 * completes once, in order, those posted later as well.
 *
 * What Cq (cq.h) offers to Qp: number(); lock(); add_flushed(FlushedQueue &),
 * with the lock held, to be walked by poll after the ring; wake(), which tells
 * the consumer of an armed CQ that flushed completions can be taken; forget(u32
 * qp), which takes the lock and drops the entries of that QP that nobody has
 * polled yet. What poll does with an entry: find its QP in Device::qps, then
 * Qp::complete().
 */
#ifndef IRDMA_VERBS_QP_H
#define IRDMA_VERBS_QP_H

#include "../base/atomic.h"
#include "../base/dma_pool.h"
#include "../base/id_table.h"
#include "../base/list.h"
#include "../base/lock.h"
#include "../base/memory.h"
#include "../cqp/commands.h"
#include "../eq/event_queues.h"
#include "../hw/cqe.h"
#include "../qos/qos.h"
#include "arp.h"
#include "driver.h"
#include "qp_plan.h"
#include "qp_sizes.h"
#include "ucontext.h"
#include "work_queue.h"
#include "work_request.h"

namespace irdma {

class Cq;
class Device;
class Pd;
class Qp;

/** One queue of a QP as its CQ sees it once the queue is flushed. */
struct FlushedQueue {
	FlushedQueue(Qp &q, bool sq) : qp(q), is_sq(sq), node(this) {}

	Qp &qp;
	const bool is_sq;
	ListNode<FlushedQueue> node; /**< in the CQ's list, under the CQ's lock */
	/** Why the oldest request failed; all others are just flushed. Under the CQ's lock. */
	hw::FlushCode code = hw::FlushCode::general;
	u32 status = 0; /**< SHIM_WC_* of it that no code stands for; 0: by the code */
	u64 turn = 0;	/**< how many entries the CQ takes from its ring before; the CQ's own */
};

/** Whether a QP in that state sends, or answers. */
constexpr bool runs(hw::QpState state)
{
	return state == hw::QpState::rtr || state == hw::QpState::rts || state == hw::QpState::sqd;
}

/** Name of a verbs state, SHIM_QPS_*. */
const char *state_name(u32 state);

class Qp {
public:
	Qp(Device &device, const irdma_qp_params &params);

	/** Make it, with the device and for event delivery. May sleep. */
	Status create(irdma_qp_result &result);
	/** Carry out a change, or leave everything as it was. May sleep. */
	Status modify(const irdma_qp_change &change);
	/** What was set. May sleep. */
	void query(irdma_qp_state &state);
	/**
	 * Take it from the device, also if create() has failed. What the device does not give back
	 * is buried, unless the caller @may_fail: then an error leaves the QP there, in ERR if it
	 * was running. May sleep.
	 */
	Status destroy(bool may_fail);

	/** What administrators see. May sleep. */
	void details(irdma_qp_details &details);
	/** The context as the device has it. May sleep. */
	Status upload(hw::QpContext &to);

	u32 number() const { return number_; }
	bool user() const { return user_; }
	/** Whether it is RC; otherwise it is UD or GSI. */
	bool connected() const { return params_.type == SHIM_QPT_RC; }
	/** User priority of its traffic. */
	u8 priority() const { return placement_.priority(); }
	bool uses(const Cq &cq) const { return &cq == &send_cq_ || &cq == &recv_cq_; }

	/** From the AEQ, in interrupt context, with its table's lock held. */
	void on_async_event(const AsyncEvent &event);

	/**
	 * Make a completion of an entry that @cq holds; @cq's lock is held. @extended: the entry
	 * that follows, or nullptr.
	 *
	 * Return: whether @wc is filled in. An entry that does not fit to outstanding work of
	 * this QP on this CQ is dropped.
	 */
	bool complete(const Cq &cq, const hw::Cqe &cqe, const hw::Cqe *extended, shim_wc &wc);
	/** The oldest outstanding request of a flushed queue as a completion; false: none left. */
	bool take_flushed(bool sq, shim_wc &wc);
	/** Whether a flushed queue has requests that are not yet completed. */
	bool has_flushed(bool sq) const { return sq ? sq_.outstanding() : rq_.outstanding(); }

	/** Post a chain; 0, or a negative errno with *bad the first that was not posted. */
	int post_send(const shim_send_wr *wr, const shim_send_wr **bad);
	int post_recv(const shim_recv_wr *wr, const shim_recv_wr **bad);

private:
	friend class Qos;

	/* qp.cpp */
	Status allocate();
	Status allocate_kernel_rings();
	Status allocate_joined_rings();
	Status take_user_rings();
	void write_first_context();
	Status create_command();
	Status destroy_command();
	QpFacts facts_of(const irdma_qp_change &change);
	bool user_rings_blank();
	Status carry_out(QpPlan &plan);
	Status prepare(const QpPlan &plan);
	Status await_drained();
	Status run_command(const QpPlan &plan);
	void adopt(const QpPlan &plan);
	void set_post_state(u32 state);
	void flush(bool sq, bool rq, hw::FlushCode sq_code, hw::FlushCode rq_code,
		   u32 sq_status = 0);
	void set_flush_code(Cq &cq, FlushedQueue &queue, hw::FlushCode code, u32 status);
	void mark_flushed(Cq &cq, FlushedQueue &queue);
	void forget_work();
	void forget_completions();
	void stop();
	void stay();
	void bury();
	void say_refused(const QpRefusal &refusal, const irdma_qp_change &change, Status why);
	/* qp_details.cpp */
	void trace_state(u32 from, u32 to, const char *cause, Status status) const;
	void trace_refused(const QpRefusal &refusal, u32 to, Status why) const;
	void trace_path();

	hw::QpType hw_type() const { return connected() ? hw::QpType::rc : hw::QpType::ud; }
	void ring_doorbell();

	/* qp_events.cpp */
	static void run_events(void *qp);
	void handle_error();
	void note_error(const AsyncEvent &event);
	bool enter_error(const AsyncEvent &event, u64 word);
	void say_event(const AsyncEvent &event) const;
	void wake_flushed();
	bool suspend();
	void resume(u16 qs_handle);

	/* qp_post.cpp */
	Status post_request(const shim_send_wr &wr, bool flushed);
	Status post_data(const shim_send_wr &wr, bool flushed);
	Status post_fast_register(const shim_reg_wr &wr, bool flushed);
	Status post_invalidate(const shim_send_wr &wr, bool flushed);
	Status put(const SendEntry &entry, u64 header, const u64 (&words)[3], bool flushed);
	u64 common_header(const shim_send_wr &wr) const;
	bool complete_send(const hw::Cqe &cqe, shim_wc &wc);
	bool complete_receive(const hw::Cqe &cqe, const hw::Cqe *extended, shim_wc &wc);
	void fill(shim_wc &wc, const SendEntry &entry) const;
	void fill(shim_wc &wc, const ReceiveEntry &entry) const;

	Device &device_;
	const irdma_qp_params params_;
	const bool user_;
	Pd &pd_;
	Cq &send_cq_;
	Cq &recv_cq_;

	u32 number_ = 0;
	Id id_; /**< owner of the number; GSI has a fixed one */
	QpSizes sizes_ = {};

	/* What modifications change, under the mutex. */
	Mutex mutex_{SHIM_MUTEX_QP};
	irdma_qp_change attr_ = {};
	hw::QpState hw_state_ = hw::QpState::invalid; /**< invalid: the device does not have it */
	QosPlacement placement_;
	ListNode<Qp> qos_node_{this};
	ArpEntry arp_;

	/* What the device reads. */
	DmaSlot context_memory_;
	KernelRing ring_memory_; /**< SQ, and RQ if that has none of its own */
	KernelRing rq_ring_;
	DmaSlot shadow_;
	QpRing user_rings_;
	cmd::QueueMemory sq_memory_ = {}, rq_memory_ = {};
	u64 shadow_bus_ = 0;
	hw::QpContext &context() { return *context_memory_.as<hw::QpContext>(); }

	/* Rings of the kernel. */
	SpinLock sq_lock_{SHIM_LOCK_QP_SQ};
	SpinLock rq_lock_{SHIM_LOCK_QP_RQ};
	SendQueue sq_;
	ReceiveQueue rq_;
	FlushedQueue flushed_sq_{*this, true};
	FlushedQueue flushed_rq_{*this, false};
	Atomic<u32> post_state_{SHIM_QPS_RESET}; /**< verbs state, for those who post */

	/* Events. */
	Work work_{run_events, this};
	bool listed_ = false;	  /**< in the tables that bring events and completions */
	Atomic<u32> life_{0};	  /**< how often it was in RESET: old events do not concern it */
	Atomic<u64> error_{0};	  /**< the event to be acted on, see qp_events.cpp; 0: none */
	Atomic<u32> draining_{0}; /**< between SQD and the event that it is reached */
	Atomic<u32> notify_drained_{0};
	Atomic<u32> drained_event_{0};
	Completion drained_;
	Atomic<u32> suspending_{0}; /**< between SUSPEND_QP and the event that it stands still */
	bool suspended_ = false;    /**< by a change of traffic classes */
	Atomic<u32> wake_cqs_{0};   /**< work was posted to a flushed queue */
};

inline Qp *from_c(irdma_qp *qp)
{
	return reinterpret_cast<Qp *>(qp);
}
inline irdma_qp *to_c(Qp *qp)
{
	return reinterpret_cast<irdma_qp *>(qp);
}

} // namespace irdma

#endif
