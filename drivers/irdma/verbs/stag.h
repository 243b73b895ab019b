// SPDX-License-Identifier: GPL-2.0
/*
 * STag: the key of an MR or memory window, index << 8 | key. The index numbers
 * an object of the host memory cache in its low bits; the bits above, and the
 * key byte, are random, so that a peer cannot guess them.
 */
#ifndef IRDMA_VERBS_STAG_H
#define IRDMA_VERBS_STAG_H

#include "../device.h"

namespace irdma {

/** Owner of an STag. */
class Stag {
public:
	static Result<Stag> alloc(Device &device)
	{
		auto id = Id::alloc(device.stag_ids);
		Stag stag;
		u32 random = shim_random();
		/* Up to 24 bits of the index number MRs; then none above them is left. */
		u32 number_mask = static_cast<u32>((1ULL << device.stag_index_bits) - 1) << 8;

		IRDMA_TRY(id);
		stag.id_ = id.take();
		stag.value_ = (random & ~number_mask) | stag.id_.value() << 8;
		return move(stag);
	}

	u32 value() const { return value_; }
	/** Never use it again: the device may still know it. */
	void abandon() { id_.abandon(); }

private:
	Id id_;
	u32 value_ = 0;
};

} // namespace irdma

#endif
