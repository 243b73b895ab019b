// SPDX-License-Identifier: GPL-2.0
/*
 * Ring memory of the kernel's queue pairs and CQs. A small ring is one piece of
 * DMA memory. A large one would ask for more than the kernel has side by side, so
 * it is made of pieces, which a list of PBLEs joins for the device, as it does
 * with the scattered pages of a process's ring, and a RingView for the CPU.
 */
#ifndef IRDMA_VERBS_KERNEL_RING_H
#define IRDMA_VERBS_KERNEL_RING_H

#include "../base/memory.h"
#include "../base/result.h"
#include "../cqp/commands.h"
#include "../hmc/pble.h"
#include "../hw/limits.h"

namespace irdma {

class Device;

/** A part of a ring as an array of T, of which none lies across the end of a piece. */
template <class T> class RingView {
public:
	RingView() = default;
	RingView(u8 *const *pieces, u32 shift, u64 offset)
		: pieces_(pieces), shift_(shift), offset_(offset)
	{
	}

	T &operator[](u32 i) const
	{
		u64 at = offset_ + u64{i} * sizeof(T);

		return *reinterpret_cast<T *>(pieces_[at >> shift_] +
					      (at & ((1ULL << shift_) - 1)));
	}

	/** Zero the first @count. */
	void clear(u32 count) const
	{
		constexpr u32 step = hw::page_size / sizeof(T);

		for (u32 i = 0; i < count; i += step)
			shim_memset(&(*this)[i], 0, min(step, count - i) * sizeof(T));
	}

private:
	u8 *const *pieces_ = nullptr;
	u32 shift_ = 0;
	u64 offset_ = 0;
};

/** Owner of ring memory: zeroed, seen by the device in one of two ways. */
class KernelRing {
public:
	/** What parts of a ring of @bytes in all have to begin at a multiple of. */
	static constexpr u64 alignment(u64 bytes) { return bytes > max_whole ? piece_bytes : 1; }

	/** May sleep. Error::no_memory. */
	static Result<KernelRing> create(Device &device, u64 bytes);

	KernelRing() = default;
	KernelRing(KernelRing &&) = default;
	KernelRing &operator=(KernelRing &&other);
	~KernelRing() { reset(); }

	explicit operator bool() const { return dma_.count(); }

	/** The part from @offset on, for commands. */
	cmd::QueueMemory memory(u64 offset) const;
	/** Bus address of the byte at @offset. */
	u64 bus(u64 offset) const;
	/** The part from @offset on, for the CPU. It does not outlive the ring. */
	template <class T> RingView<T> view(u64 offset) const
	{
		return {cpu_.data(), shift_, offset};
	}

	/** The device may still use it: keep it until that is stopped. May sleep. */
	void bury(Device &device);

private:
	static constexpr u64 max_whole = 128 << 10;
	static constexpr u32 piece_shift = 16;
	static constexpr u64 piece_bytes = 1 << piece_shift;
	static constexpr u32 whole_shift = 32;

	Status make_pieces(Device &device, u64 bytes);
	void reset();

	Array<DmaBuffer> dma_;
	Array<u8 *> cpu_;
	PbleRun pbles_; /**< a ring in pieces only */
	u32 shift_ = 0;
};

} // namespace irdma

#endif
