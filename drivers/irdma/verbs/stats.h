// SPDX-License-Identifier: GPL-2.0
/*
 * Statistics of the function, as administrators see them. The device's
 * counters have 24 to 56 bits; here they are continued to 64.
 *
 * They are gathered by one command: at each read, and once a minute, so that
 * no counter wraps unseen.
 */
#ifndef IRDMA_VERBS_STATS_H
#define IRDMA_VERBS_STATS_H

#include "../base/lock.h"
#include "../base/memory.h"
#include "../base/result.h"
#include "../hw/stats.h"
#include "driver.h"

namespace irdma {

class Device;

class Statistics {
public:
	static constexpr u32 count = array_size(hw::statistics);
	static_assert(count == IRDMA_STATISTICS);

	explicit Statistics(Device &device) : device_(device) {}

	/** From now on counters are followed. May sleep. */
	Status create();
	void destroy();

	/**
	 * Gather, and copy all to @values, in the order of hw::statistics. May sleep.
	 *
	 * Return: the command's error.
	 */
	Status read(u64 (&values)[count]);

private:
	Status gather();
	static void once_a_minute(void *statistics);

	Device &device_;
	Mutex mutex_{SHIM_MUTEX_STATISTICS}; /**< all below; one gathers at a time */
	DmaBuffer buffer_;
	u64 last_[count] = {}; /**< as the device had them */
	u64 total_[count] = {};
	Work work_{once_a_minute, this};
};

} // namespace irdma

#endif
