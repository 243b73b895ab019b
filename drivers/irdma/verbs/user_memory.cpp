// SPDX-License-Identifier: GPL-2.0
/*
 * Process memory: pinning, page lists, and what is kept of it for a device
 * that does not answer.
 */
#include "user_memory.h"

#include "../device.h"
#include "../hw/limits.h"

namespace irdma {

/* ---- Shares ---- */

UserMemoryRef UserMemoryRef::share() const
{
	memory_->refs_.add(1);
	return UserMemoryRef(memory_);
}

void UserMemoryRef::reset()
{
	UserMemory *memory = release();

	if (memory && !memory->refs_.sub(1))
		destroy(memory);
}

void UserMemoryRef::bury()
{
	if (memory_)
		memory_->device_.buried_memory.bury(move(*this));
}

void BuriedMemory::bury(UserMemoryRef memory)
{
	/* The pool is gone before the dead are: the list stays where the device finds it. */
	memory->list_.abandon();

	SpinGuard guard(lock_);

	/* Buried by each of its owners; one share is enough. */
	if (!memory->grave_.linked())
		list_.push_back(memory.release()->grave_);
}

BuriedMemory::~BuriedMemory()
{
	while (UserMemory *memory = list_.pop_front())
		UserMemoryRef(memory).reset();
}

/* ---- Pinning ---- */

static Result<shim_umem *> get_umem(Device &device, const UserRange &range)
{
	shim_umem *umem = nullptr;
	int err;

	if (range.dmabuf >= 0)
		err = shim_umem_get_dmabuf(device.shim, range.start, range.length, range.dmabuf,
					   range.access, &umem);
	else
		err = shim_umem_get(device.shim, range.start, range.length, range.access, &umem);
	IRDMA_TRY(Status::from(err));
	return umem;
}

Result<UserMemoryRef> UserMemory::pin(Device &device, const UserRange &range, u64 page_sizes,
				      Levels levels)
{
	auto umem = get_umem(device, range);

	IRDMA_TRY(umem);
	auto memory = make<UserMemory>(device, range, umem.value());
	if (!memory) {
		shim_umem_put(umem.value());
		return Error::no_memory;
	}
	u64 page_size = shim_umem_best_page(umem.value(), page_sizes, range.va);
	if (!page_size)
		return Error::not_supported;
	memory->page_shift_ = log2_floor(page_size);
	IRDMA_TRY(memory->list_pages(levels));
	return UserMemoryRef(memory.release());
}

static void *place_of_first(void *first, u64, u64 *room)
{
	*room = 1;
	return first;
}

static void *place_in_list(void *list, u64 page, u64 *room)
{
	return static_cast<PbleList *>(list)->entry(page, *room);
}

/* The list is written where the device will read it. */
Status UserMemory::list_pages(Levels levels)
{
	const u64 count = pages();
	hw::Le64 first;

	if (shim_umem_list(umem_, page_size(), 1, place_of_first, &first) != 1)
		return Error::fault;
	first_page_ = first.get();
	if (count == 1 || shim_umem_contiguous(umem_))
		return {};
	if (levels == Levels::one && count > PblePool::max_run)
		return Error::no_memory;

	auto list = levels == Levels::one ? device_.pbles.alloc_run(static_cast<u32>(count))
					  : device_.pbles.alloc_list(count);
	IRDMA_TRY(list);
	list_ = list.take();
	if (shim_umem_list(umem_, page_size(), count, place_in_list, &list_) != count)
		return Error::fault;
	return {};
}

bool UserMemory::one_run(u64 first, u64 count) const
{
	u64 start = page(first);

	if (contiguous())
		return true;
	for (u64 i = 1; i < count; i++)
		if (page(first + i) != start + i * page_size())
			return false;
	return true;
}

} // namespace irdma
