// SPDX-License-Identifier: GPL-2.0
/*
 * Host memory cache: how many objects of each kind there are, where they lie
 * in the device's linear space (FPM), and the segments that back it.
 */
#ifndef IRDMA_HMC_HMC_H
#define IRDMA_HMC_HMC_H

#include "../base/memory.h"
#include "../base/result.h"
#include "../hw/hmc.h"

namespace irdma {

class Device;

namespace cmd {
struct SdEntry;
} // namespace cmd

class Hmc {
public:
	explicit Hmc(Device &device);
	~Hmc();

	/** Ask the device what it offers (QUERY_FPM); nonsense is refused. May sleep. */
	Status query();
	/** Choose the counts, tell the device (COMMIT_FPM), check what it answers. May sleep. */
	Status commit();
	/** Back all objects but the PBLEs with segments, and tell the device so. May sleep. */
	Status allocate();
	/** Take the segments away from the device; their memory stays until the end. May sleep. */
	void release();

	/** Number of objects of a kind, as committed. */
	u32 count(hw::HmcObject kind) const { return object_[static_cast<u8>(kind)].count; }
	/** Where a kind begins in the FPM, bytes. */
	u64 base(hw::HmcObject kind) const { return object_[static_cast<u8>(kind)].base; }
	/** CEQs that the device has. */
	u32 max_ceqs() const { return max_ceqs_; }
	/** Memory behind segments, bytes. */
	u64 backed_bytes() const { return backed_bytes_; }

	/** Objects and segments, for debugfs. Any context. */
	void show(shim_text *text) const;

	/**
	 * Memory of segment @sd, backed now if it is not yet. For the PBLE pool. May sleep.
	 */
	Result<u8 *> back_segment(u32 sd);

private:
	struct Object {
		u32 max_count, count;
		u32 bytes; /**< of one object; for free lists, of one entry */
		u32 block; /**< objects per block, free lists only */
		u64 base;

		u64 size() const { return static_cast<u64>(count) * bytes; }
		u64 end() const { return base + size(); }
	};
	struct Wish;
	struct SdBatch;

	Object &object(hw::HmcObject kind) { return object_[static_cast<u8>(kind)]; }
	Status read_query(const hw::FpmBuffer &answer);
	Status read_commit(const hw::FpmBuffer &answer);
	void set_counts(const Wish &wish);
	Status choose_counts();
	u64 segments_needed() const;
	u32 q1_count(u32 qps) const;
	bool holds_static(u32 sd) const;
	Status add_memory(u32 sd);
	cmd::SdEntry set_entry(u32 sd) const;

	Device &device_;
	Object object_[hw::hmc_objects] = {};
	u32 first_sd_ = 0, max_sds_ = 0, max_ceqs_ = 0;
	u32 hash_multiplier_ = 0, timer_bucket_ = 0;
	u64 backed_bytes_ = 0;
	Array<DmaBuffer> segments_; /**< by number; empty ones are not backed */
};

} // namespace irdma

#endif
