// SPDX-License-Identifier: GPL-2.0
/*
 * Small pieces of coherent DMA memory: contexts of QPs and shadow areas. Sixteen
 * of them share a page, which would otherwise be allocated and zeroed for each.
 */
#ifndef IRDMA_BASE_DMA_POOL_H
#define IRDMA_BASE_DMA_POOL_H

#include "list.h"
#include "lock.h"
#include "memory.h"

namespace irdma {

class DmaPool;

/** Owner of one piece. */
class DmaSlot {
public:
	DmaSlot() = default;
	DmaSlot(DmaSlot &&other) { take(other); }
	DmaSlot &operator=(DmaSlot &&other)
	{
		if (this != &other) {
			reset();
			take(other);
		}
		return *this;
	}
	~DmaSlot() { reset(); }

	/** May sleep. */
	void reset();
	/** Never hand it out again: the device may still use it. The page stays with the pool. */
	void abandon() { page_ = nullptr; }

	explicit operator bool() const { return page_; }
	u64 bus() const { return bus_; }
	template <class T> T *as() const { return static_cast<T *>(cpu_); }

private:
	friend class DmaPool;
	struct Page; /* in dma_pool.cpp */

	void take(DmaSlot &other)
	{
		pool_ = other.pool_;
		page_ = exchange<Page *>(other.page_, nullptr);
		cpu_ = other.cpu_;
		bus_ = other.bus_;
	}

	DmaPool *pool_ = nullptr;
	Page *page_ = nullptr;
	void *cpu_ = nullptr;
	u64 bus_ = 0;
};

/** It outlives its pieces, and goes when the device has been stopped. */
class DmaPool {
public:
	/** Size of a piece, and its alignment. */
	static constexpr u32 slot_bytes = 256;

	explicit DmaPool(shim_device *dev) : dev_(dev) {}
	~DmaPool();

	/** A piece, zeroed. May sleep. Error::no_memory. */
	Result<DmaSlot> alloc();

private:
	friend class DmaSlot;
	using Page = DmaSlot::Page;

	void fill(Page &page, DmaSlot &slot);
	void put(Page &page, u64 bus);

	shim_device *const dev_;
	SpinLock lock_{SHIM_LOCK_DMA_POOL};
	List<Page> partial_; /**< pages with room, a page that is not used at all among them */
	List<Page> full_;
};

} // namespace irdma

#endif
