// SPDX-License-Identifier: GPL-2.0
/*
 * QPs by number, for completions: a CQ that finds a QP number in an entry looks
 * the QP up here, without a lock of its own. What it finds stays alive while it
 * holds its lock, because a QP that goes away first leaves this table and then
 * passes through the locks of both its CQs (Cq::forget()).
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
		auto slots = Array<Qp *>::create(limit);

		IRDMA_TRY(slots);
		slots_ = slots.take();
		return {};
	}

	/**
	 * The QP of a number, or nullptr; numbers beyond the table are nobody's. The caller holds
	 * the lock of a CQ, and believes the QP only if it uses that CQ.
	 */
	Qp *find(u32 id) const
	{
		return id < slots_.count() ? __atomic_load_n(&slots_[id], __ATOMIC_ACQUIRE)
					   : nullptr;
	}

	/** @id must be below the limit. */
	void insert(u32 id, Qp &qp) { __atomic_store_n(&slots_[id], &qp, __ATOMIC_RELEASE); }
	void remove(u32 id) { __atomic_store_n(&slots_[id], nullptr, __ATOMIC_RELEASE); }

private:
	Array<Qp *> slots_;
};

} // namespace irdma

#endif
