// SPDX-License-Identifier: GPL-2.0
/*
 * Numbers of hardware objects: handed out in a circle, so that a number comes
 * back as late as possible and a late event of a dead object meets nobody.
 */
#ifndef IRDMA_BASE_ID_TABLE_H
#define IRDMA_BASE_ID_TABLE_H

#include "lock.h"
#include "memory.h"
#include "result.h"

namespace irdma {

/** Numbers first .. limit - 1. Any context but create(). */
class IdTable {
public:
	IdTable() : lock_(SHIM_LOCK_IDS) {}

	/** May sleep. Error::invalid if the device offers less than what it reserves. */
	Status create(u32 first, u32 limit)
	{
		if (limit < first)
			return Error::invalid;

		auto words = Array<u64>::create(div_round_up(limit, 64));

		IRDMA_TRY(words);
		words_ = words.take();
		first_ = next_ = first;
		limit_ = limit;
		return {};
	}

	/** A free number; Error::no_space if there is none. */
	Result<u32> alloc()
	{
		SpinGuard guard(lock_);
		u32 id;

		if (!find(next_, limit_, id) && !find(first_, next_, id))
			return Error::no_space;
		words_[id / 64] |= bit(id);
		next_ = id + 1 < limit_ ? id + 1 : first_;
		used_++;
		return id;
	}

	void free(u32 id)
	{
		SpinGuard guard(lock_);

		if (id < first_ || id >= limit_ || !(words_[id / 64] & bit(id))) {
			shim_warn_once("irdma: a number is given back that was not handed out");
			return;
		}
		words_[id / 64] &= ~bit(id);
		used_--;
	}

	u32 used() const { return used_; }
	u32 limit() const { return limit_; }
	/** Numbers in all. */
	u32 capacity() const { return limit_ - first_; }

private:
	static constexpr u64 bit(u32 id) { return 1ULL << (id % 64); }

	/* The lowest free number in from .. to - 1. */
	bool find(u32 from, u32 to, u32 &id) const
	{
		for (u32 at = from; at < to; at = (at / 64 + 1) * 64) {
			u64 free = ~words_[at / 64] & (~0ULL << (at % 64));

			if (!free)
				continue;
			id = at / 64 * 64 + static_cast<u32>(__builtin_ctzll(free));
			return id < to;
		}
		return false;
	}

	SpinLock lock_;
	Array<u64> words_;
	u32 first_ = 0, limit_ = 0, next_ = 0, used_ = 0;
};

/** Owner of a number out of a table. */
class Id {
public:
	Id() = default;
	Id(Id &&other) : table_(exchange<IdTable *>(other.table_, nullptr)), id_(other.id_) {}
	Id &operator=(Id &&other)
	{
		if (this != &other) {
			reset();
			table_ = exchange<IdTable *>(other.table_, nullptr);
			id_ = other.id_;
		}
		return *this;
	}
	~Id() { reset(); }

	static Result<Id> alloc(IdTable &table)
	{
		auto number = table.alloc();
		Id id;

		IRDMA_TRY(number);
		id.table_ = &table;
		id.id_ = number.value();
		return move(id);
	}

	void reset()
	{
		if (table_)
			exchange<IdTable *>(table_, nullptr)->free(id_);
	}

	/** Never hand it out again: the device may still use it. */
	void abandon() { table_ = nullptr; }

	explicit operator bool() const { return table_; }
	u32 value() const { return id_; }

private:
	IdTable *table_ = nullptr;
	u32 id_ = 0;
};

} // namespace irdma

#endif
