// SPDX-License-Identifier: GPL-2.0
/*
 * Completion queue: a ring that the device fills, and a shadow area in which
 * the host says how far it has read and when it wants an event.
 *
 *   ring    | CQE | CQE | extended CQE of the one before | CQE | ...
 *   shadow  consumer index; arm: next or next solicited, sequence number
 *
 * An entry is new when its valid bit is that of the current lap: 1 on the
 * first, toggling with each. The CQ of a process is read and armed by the
 * process; the driver only makes, moves and destroys it. The kernel's CQs are
 * read here: poll() walks the ring, finds the QP of an entry by its number
 * among the QPs that use this CQ, and has it turn the entry into a completion.
 *
 * When a QP is flushed the device gives one entry a queue. It stays at the
 * head of the ring until the QP has made a completion of it for each
 * outstanding request; what is posted later, the QP completes without the
 * device, and says so with generated().
 *
 * Locks: the CQ's lock is taken before those of a QP.
 */
#ifndef IRDMA_VERBS_CQ_H
#define IRDMA_VERBS_CQ_H

#include "../base/id_table.h"
#include "../base/list.h"
#include "../cqp/commands.h"
#include "../eq/event_queues.h"
#include "../hw/cqe.h"
#include "driver.h"
#include "ucontext.h"

struct shim_wc;

namespace irdma {

class Cq;
class Device;
class Qp;

/** What Qp::complete() made of an entry. */
enum class Completed : u8 {
	one,	 /**< a completion, and the entry is used up */
	more,	 /**< a completion, and the entry holds further ones (flush) */
	nothing, /**< no completion: the entry is none that this QP can have */
};

/**
 * A kernel QP's use of a CQ, for its SQ or its RQ: a member of the QP. The QP must have
 * Completed complete(const hw::Cqe &cqe, const hw::Cqe *extended, shim_wc &wc) and
 * bool generate(bool is_sq, shim_wc &wc), which makes one completion of what was posted to the
 * flushed SQ or RQ after the flush, if there is any; both are called with the CQ's lock held.
 */
class CqUse {
public:
	CqUse(Qp &qp, bool is_sq) : qp_(qp), is_sq_(is_sq) {}

private:
	friend class Cq;
	Qp &qp_;
	const bool is_sq_;
	ListNode<CqUse> user_{this}, generated_{this};
};

class Cq {
public:
	/** Make it known to the device. May sleep. */
	static Result<Owner<Cq>> create(Device &device, const irdma_cq_params &params);

	/** Not to be made but by create(). */
	Cq(Device &device, Id id, const irdma_cq_params &params);
	/** Destroys it in the device; memory that the device does not give back is buried. */
	~Cq();

	u32 number() const { return id_.value(); }
	/** The CEQ that tells of its completions. */
	u32 ceq() const { return ceq_; }
	/** Whether it is a process's. */
	bool user() const { return !ring_; }
	/** What the consumer may have outstanding. */
	u32 entries() const { return entries_; }
	/** Entries of the ring. */
	u32 ring_size() const { return size_; }

	/** Move a process's CQ to another ring. May sleep. */
	Status resize(u32 size, Ucontext &uctx, u64 user_buffer);

	/** Any context, as all below. From now on entries of @use's QP are completions. */
	void attach(CqUse &use);
	/** When it returns no completion of the QP's is or will be reported here. */
	void detach(CqUse &use);
	/** The QP has completions to generate; call it with no lock of the QP held. */
	void generated(CqUse &use);

	/** Up to @count completions to @wc; returns how many. */
	int poll(int count, shim_wc *wc);
	/**
	 * Ask for an event, SHIM_CQ_* flags.
	 *
	 * Return: 1 if missed completions are to be reported and there are some, else 0.
	 */
	int notify(u32 flags);

	/** From the CEQ: there is something. */
	void on_completion_event();
	/** From the AEQ: the CQ has overflowed or is broken. */
	void on_async_event(const AsyncEvent &event);

private:
	enum Armed : u32 { not_armed, for_solicited, for_any };

	Status make_kernel_ring(u32 entries);
	Status take_user_ring(u32 entries, Ucontext &uctx, u64 buffer, u64 shadow);
	Status create_in_device();
	u32 read_threshold() const;

	struct Entry {
		hw::Cqe *cqe, *extended;
	};
	bool peek(Entry &entry) const;
	void consume(const Entry &entry);
	bool complete(const Entry &entry, shim_wc &wc);
	int poll_generated(int count, shim_wc *wc);
	Qp *find(u32 number, bool is_sq);
	void forget_entries_of(u32 qp);

	static constexpr u32 buckets = 16;

	Device &device_;
	Id id_;
	void *const ib_;
	u32 ceq_ = 0;
	u32 entries_ = 0, size_ = 0;
	cmd::QueueMemory memory_ = {};
	u64 shadow_bus_ = 0;
	bool created_ = false;

	/* Of a process: its share in ring and shadow area. */
	UserMemoryRef user_ring_, user_shadow_;

	/* Of the kernel. */
	DmaBuffer ring_, shadow_;
	SpinLock lock_;
	u32 head_ = 0;
	bool polarity_ = true;
	Atomic<u32> armed_{not_armed};
	u32 arm_sequence_ = 0;
	List<CqUse> users_[buckets]; /**< by number of the QP */
	List<CqUse> generated_;
};

inline Cq *from_c(irdma_cq *c)
{
	return reinterpret_cast<Cq *>(c);
}
inline irdma_cq *to_c(Cq *c)
{
	return reinterpret_cast<irdma_cq *>(c);
}

} // namespace irdma

#endif
