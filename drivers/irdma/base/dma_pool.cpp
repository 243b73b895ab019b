// SPDX-License-Identifier: GPL-2.0
/* Small pieces of coherent DMA memory; see dma_pool.h. */
#include "dma_pool.h"

namespace irdma {

namespace {

constexpr u32 page_bytes = 4096;
constexpr u32 slots_per_page = page_bytes / DmaPool::slot_bytes;
constexpr u32 all_slots = (1u << slots_per_page) - 1;

} // namespace

struct DmaSlot::Page {
	explicit Page(DmaBuffer m) : memory(move(m)), node(this) {}

	DmaBuffer memory;
	u32 used = 0; /**< a bit for each slot */
	ListNode<Page> node;
};

void DmaSlot::reset()
{
	if (page_)
		pool_->put(*exchange<Page *>(page_, nullptr), bus_);
}

DmaPool::~DmaPool()
{
	while (Page *page = partial_.pop_front())
		destroy(page);
	while (Page *page = full_.pop_front())
		destroy(page);
}

/* Take the first free slot of a page that has one; the lock is held. */
void DmaPool::fill(Page &page, DmaSlot &slot)
{
	u32 index = static_cast<u32>(__builtin_ctz(~page.used));
	u64 offset = u64{index} * slot_bytes;

	page.used |= 1u << index;
	(page.used == all_slots ? full_ : partial_).push_back(page.node);
	slot.pool_ = this;
	slot.page_ = &page;
	slot.cpu_ = page.memory.as<u8>(offset);
	slot.bus_ = page.memory.bus() + offset;
}

Result<DmaSlot> DmaPool::alloc()
{
	DmaSlot slot;

	{
		SpinGuard guard(lock_);

		if (Page *page = partial_.front())
			fill(*page, slot);
	}
	if (!slot) {
		auto memory = DmaBuffer::create(dev_, page_bytes);
		IRDMA_TRY(memory);
		auto page = make<Page>(memory.take());
		if (!page)
			return Error::no_memory;
		SpinGuard guard(lock_);

		fill(*page.release(), slot);
	}
	shim_memset(slot.cpu_, 0, slot_bytes);
	return move(slot);
}

/* One page is kept for the next that comes. */
void DmaPool::put(Page &page, u64 bus)
{
	Page *unused = nullptr;

	{
		SpinGuard guard(lock_);

		page.used &= ~(1u << ((bus - page.memory.bus()) / slot_bytes));
		page.node.unlink();
		if (page.used || partial_.empty())
			partial_.push_back(page.node);
		else
			unused = &page;
	}
	destroy(unused);
}

} // namespace irdma
