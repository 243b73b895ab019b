// SPDX-License-Identifier: GPL-2.0
/*
 * PBLE pool: page lists of MRs and rings. A PBLE is a word in the PBLE object of
 * the HMC: the bus address of a page, or in a list of two levels the index of a
 * leaf. The pool adds a 2 MiB segment when it runs out.
 */
#ifndef IRDMA_HMC_PBLE_H
#define IRDMA_HMC_PBLE_H

#include "../base/lock.h"
#include "../base/memory.h"
#include "../base/result.h"
#include "../hw/cqp.h"
#include "../hw/field.h"

namespace irdma {

class Hmc;
class PblePool;

/** Owner of a run of adjacent PBLEs. */
class PbleRun {
public:
	PbleRun() = default;
	PbleRun(PbleRun &&other);
	PbleRun &operator=(PbleRun &&other);
	~PbleRun();

	explicit operator bool() const { return pool_; }
	/** Index of the first, as commands take it. */
	u32 first() const { return first_; }
	u32 count() const { return count_; }
	/** The entries themselves, to be written by the owner. */
	hw::Le64 *entries() const { return entries_; }
	/** Never hand them out again: the device may still read them. */
	void abandon() { pool_ = nullptr; }

private:
	friend class PblePool;
	PblePool *pool_ = nullptr;
	u32 first_ = 0, count_ = 0;
	hw::Le64 *entries_ = nullptr;
};

/**
 * Owner of a list of pages, as commands name one:
 *
 *	level one    first -> | page | page | page | ...             one run
 *	level two    first -> | leaf | leaf | ...                    a run of indexes
 *	                          |      `-> | page | page | ...     of runs of 512;
 *	                          `-> | page | page | page | ...     the last may be shorter
 */
class PbleList {
public:
	static constexpr u32 leaf_pages = 512;

	PbleList() = default;
	PbleList(PbleList &&) = default;
	PbleList &operator=(PbleList &&other);
	~PbleList() { reset(); }

	explicit operator bool() const { return static_cast<bool>(root_); }
	hw::PblLevel level() const
	{
		return leaves_.count() ? hw::PblLevel::two : hw::PblLevel::one;
	}
	/** Index of the PBLE that commands name. */
	u32 first() const { return root_.first(); }
	/** The entry of page @i, to be written by the owner, and how many follow it side by side. */
	hw::Le64 *entry(u64 i, u64 &room) const;
	u64 page(u64 i) const
	{
		u64 room;

		return entry(i, room)->get();
	}
	/** As PbleRun::abandon(). */
	void abandon();

private:
	friend class PblePool;
	void reset();

	PbleRun root_;		/**< level one: the list itself */
	Array<PbleRun> leaves_; /**< level two only */
};

class PblePool {
public:
	/** Pages of the longest list of one level: the PBLEs of a segment. */
	static constexpr u32 max_run = 262144;

	explicit PblePool(Hmc &hmc);
	~PblePool();

	/** After Hmc::allocate(). May sleep. */
	Status create();
	/** Runs that are not back by now are void. May sleep. */
	void destroy();

	/** @count adjacent PBLEs; Error::no_memory when the HMC has no more. May sleep. */
	Result<PbleRun> alloc(u32 count);

	/**
	 * A list for @pages pages: of one level, or of two if there are not so many PBLEs side
	 * by side. May sleep.
	 *
	 * Return: Error::no_memory when the HMC has no more.
	 */
	Result<PbleList> alloc_list(u64 pages);
	/** The same, of one level. */
	Result<PbleList> alloc_run(u32 pages);

	/** PBLEs in use, those that are kept for alignment included. May sleep. */
	u64 used();
	/** Memory of the pool, bytes. May sleep. */
	u64 backed_bytes();
	/** Segments and what is free in them, for debugfs. May sleep. */
	void show(shim_text *text);

private:
	friend class PbleRun;
	struct Segment; /* in pble.cpp */
	struct State;

	bool can_hold(u64 count) const;
	bool find_run(u32 count, PbleRun &run);
	bool find_two_levels(u64 pages, PbleList &list);
	void free(u32 first, u32 count);
	void put(u32 first, u32 count);
	void put(PbleRun &run);
	Status grow();

	Hmc &hmc_;
	Owner<State> state_;
};

} // namespace irdma

#endif
