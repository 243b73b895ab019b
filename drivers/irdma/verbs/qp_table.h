// SPDX-License-Identifier: GPL-2.0
/*
 * QPs of the kernel by number, for completions: a CQ that finds a QP number in
 * an entry looks the QP up here, without a lock of its own. The table knows
 * the CQs of each QP, so that the QP itself is touched only if it uses the CQ
 * that asks. Such a QP stays alive while that CQ holds its lock, because a QP
 * that goes away first leaves this table and then passes through the locks of
 * both its CQs (Cq::forget()). Any other may be gone at any moment.
 */
#ifndef IRDMA_VERBS_QP_TABLE_H
#define IRDMA_VERBS_QP_TABLE_H

#include "../base/memory.h"
#include "../base/result.h"

namespace irdma {

class Qp;

class QpTable {
public:
	/** Room for numbers 0 .. @limit - 1. May sleep. */
	Status create(u32 limit)
	{
		auto slots = Array<Slot>::create(limit);

		IRDMA_TRY(slots);
		slots_ = slots.take();
		return {};
	}

	/**
	 * The QP of a number if it uses the CQ of number @cq, whose lock the caller holds; else
	 * nullptr. Numbers beyond the table are nobody's.
	 */
	Qp *find(u32 id, u32 cq) const
	{
		if (id >= slots_.count())
			return nullptr;

		u64 cqs = __atomic_load_n(&slots_[id].cqs, __ATOMIC_ACQUIRE);

		if (cqs >> 32 != cq && static_cast<u32>(cqs) != cq)
			return nullptr;
		return __atomic_load_n(&slots_[id].qp, __ATOMIC_ACQUIRE);
	}

	/** Whether there is a QP of that number. It may be gone at any moment. */
	bool has(u32 id) const { return __atomic_load_n(&slots_[id].qp, __ATOMIC_ACQUIRE); }

	/** @id must be below the limit. */
	void insert(u32 id, Qp &qp, u32 send_cq, u32 recv_cq)
	{
		__atomic_store_n(&slots_[id].qp, &qp, __ATOMIC_RELEASE);
		__atomic_store_n(&slots_[id].cqs, u64{send_cq} << 32 | recv_cq, __ATOMIC_RELEASE);
	}
	void remove(u32 id)
	{
		__atomic_store_n(&slots_[id].cqs, 0, __ATOMIC_RELEASE);
		__atomic_store_n(&slots_[id].qp, nullptr, __ATOMIC_RELEASE);
	}

private:
	struct Slot {
		u64 cqs; /**< numbers of its CQs, that for sends in the upper half; 0: no QP */
		Qp *qp;
	};
	Array<Slot> slots_;
};

} // namespace irdma

#endif
