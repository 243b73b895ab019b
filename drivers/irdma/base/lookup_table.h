// SPDX-License-Identifier: GPL-2.0
/*
 * From the number of a hardware object to the object. An interrupt that finds
 * a number in a queue of the device looks it up here and uses the object with
 * the table's lock held; removing an object takes the same lock, so after
 * remove() no interrupt can hold it any more.
 */
#ifndef IRDMA_BASE_LOOKUP_TABLE_H
#define IRDMA_BASE_LOOKUP_TABLE_H

#include "lock.h"
#include "memory.h"
#include "result.h"

namespace irdma {

/** Objects by number. All but create() in any context. */
template <class T> class LookupTable {
public:
	explicit LookupTable(shim_lock_class cls) : lock_(cls) {}

	/** Room for numbers 0 .. @limit - 1. May sleep. */
	Status create(u32 limit)
	{
		auto slots = Array<T *>::create(limit);

		IRDMA_TRY(slots);
		slots_ = slots.take();
		return {};
	}

	/** @id must be below the limit. */
	void insert(u32 id, T &object)
	{
		SpinGuard guard(lock_);

		slots_[id] = &object;
	}

	void remove(u32 id)
	{
		SpinGuard guard(lock_);

		slots_[id] = nullptr;
	}

	/**
	 * Call @use(T &) with the lock held, if there is an object of that number.
	 * Numbers beyond the table are nobody's.
	 *
	 * Return: whether there was one.
	 */
	template <class F> bool with(u32 id, F use)
	{
		SpinGuard guard(lock_);

		if (id >= slots_.count() || !slots_[id])
			return false;
		use(*slots_[id]);
		return true;
	}

	/** Call @use(T &) for each object, with the lock held. */
	template <class F> void for_each(F use)
	{
		SpinGuard guard(lock_);

		for (usize i = 0; i < slots_.count(); i++)
			if (slots_[i])
				use(*slots_[i]);
	}

private:
	SpinLock lock_;
	Array<T *> slots_;
};

} // namespace irdma

#endif
