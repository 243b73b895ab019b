// SPDX-License-Identifier: GPL-2.0
/*
 * PBLE pool: page lists of MRs and rings. A PBLE is one bus address in the
 * PBLE object of the HMC; the pool adds a 2 MiB segment when it runs out.
 */
#ifndef IRDMA_HMC_PBLE_H
#define IRDMA_HMC_PBLE_H

#include "../base/lock.h"
#include "../base/memory.h"
#include "../base/result.h"
#include "../hw/cqp.h"
#include "../hw/field.h"

namespace irdma {

class Device;
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

class PblePool {
public:
	explicit PblePool(Device &device);
	~PblePool();

	/** After Hmc::allocate(). May sleep. */
	Status create();
	/** Runs that are not back by now are void. May sleep. */
	void destroy();

	/**
	 * @count adjacent PBLEs; Error::no_memory when the HMC has no more. May sleep.
	 * A run never crosses a segment: at most 262144.
	 */
	Result<PbleRun> alloc(u32 count);

private:
	friend class PbleRun;
	void free(u32 first, u32 count);
	Status grow();

	Device &device_;
	struct Segment; /* in pble.cpp */
	struct State;
	Owner<State> state_;
};

} // namespace irdma

#endif
