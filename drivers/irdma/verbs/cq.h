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
 * read here: poll() walks the ring, finds the QP of an entry by its number in
 * Device::qps, and if that QP uses this CQ has it turn the entry into a
 * completion (Qp::complete()). Behind the entries that the ring has held when a
 * queue was flushed come the completions that the QP makes of it without the
 * device (Qp::take_flushed()); they do not wait for what other QPs of the CQ
 * complete later, which might be without end.
 *
 * Locks: the CQ's lock is taken before those of a QP. Who holds it may use a
 * QP found in Device::qps: a QP that goes away leaves that table and then
 * calls forget().
 */
#ifndef IRDMA_VERBS_CQ_H
#define IRDMA_VERBS_CQ_H

#include "../base/dma_pool.h"
#include "../base/id_table.h"
#include "../base/list.h"
#include "../cqp/commands.h"
#include "../eq/event_queues.h"
#include "../hw/cqe.h"
#include "../hw/limits.h"
#include "driver.h"
#include "kernel_ring.h"
#include "ucontext.h"

struct shim_wc;

namespace irdma {

class Device;
class Qp;
struct FlushedQueue;

class Cq {
public:
	/** Entries that a consumer can ask for. */
	static constexpr u32 max_entries = hw::max_cq_entries / 2 - 1;

	/** Make it known to the device. May sleep. */
	static Result<Owner<Cq>> create(Device &device, const irdma_cq_params &params);

	/** Not to be made but by create(). */
	Cq(Device &device, Id id, const irdma_cq_params &params);

	/** When it returns its consumer is told of nothing any more. May sleep. */
	void silence();
	/**
	 * Destroy it in the device. Memory that the device does not give back is buried, unless the
	 * caller @may_fail: then an error leaves everything as it was. May sleep.
	 */
	Status destroy(bool may_fail);

	u32 number() const { return id_.value(); }
	/** The CEQ that tells of its completions. */
	u32 ceq() const { return ceq_; }
	/** Whether it is a process's. */
	bool user() const { return !ring_; }
	/** What the consumer may have outstanding. */
	u32 entries() const { return entries_; }
	/** Entries of the ring. */
	u32 ring_size() const { return size_; }

	/** What administrators see. */
	irdma_cq_details details() const { return {size_, ceq_}; }

	/** Move a process's CQ to another ring. May sleep. */
	Status resize(u32 size, Ucontext &uctx, u64 user_buffer);

	/** Held by poll(), and by a QP that adds flushed queues. */
	SpinLock &lock() { return lock_; }
	/** From now on poll() takes completions from @queue as well; the lock is held. */
	void add_flushed(FlushedQueue &queue);
	/** Tell the consumer, if it waits for it, that flushed completions are there. No lock held. */
	void wake() { on_completion_event(); }
	/** Drop what the ring holds of a QP that is going away. Takes the lock. */
	void forget(u32 qp);

	/** Up to @count completions to @wc; returns how many. Any context, as the rest. */
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
	void bury();
	Result<u32> waiting(u32 most);
	Status check_shrink(u32 new_size);

	struct Entry {
		hw::Cqe *cqe, *extended; /**< the second is null if there is none */
	};
	hw::Cqe &entry(u32 index) const { return ring_.view<hw::Cqe>(0)[index]; }
	bool next(u32 &at, bool &lap, Entry &found) const;
	Qp *user_of(const hw::Cqe &cqe) const;
	int poll_flushed(int count, shim_wc *wc);
	bool has_completions() const;

	Device &device_;
	Id id_;
	void *const ib_;
	u32 ceq_ = 0;
	u32 entries_ = 0, size_ = 0;
	u32 head_ = 0;
	bool lap_ = true;	     /**< valid bit of new entries */
	u64 taken_ = 0;		     /**< entries so far, each with its extended one */
	Atomic<bool> broken_{false}; /**< an error event has come */
	Atomic<u32> armed_{not_armed};
	u32 arm_sequence_ = 0;
	SpinLock lock_;
	cmd::QueueMemory memory_ = {};
	u64 shadow_bus_ = 0;

	/* Of a process. */
	RingClaim user_ring_, user_shadow_;

	/* Of the kernel. */
	KernelRing ring_;
	DmaSlot shadow_;
	List<FlushedQueue> flushed_;
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
