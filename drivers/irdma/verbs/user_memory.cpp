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
	if (memory->pbles_)
		memory->pbles_.abandon();

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

Result<UserMemoryRef> UserMemory::pin(Device &device, const UserRange &range, u64 page_sizes)
{
	auto umem = get_umem(device, range);

	IRDMA_TRY(umem);
	auto memory = make<UserMemory>(device, umem.value());
	if (!memory) {
		shim_umem_put(umem.value());
		return Error::no_memory;
	}
	memory->page_size_ = shim_umem_best_page(umem.value(), page_sizes, range.va);
	if (!memory->page_size_)
		return Error::not_supported;
	memory->pages_ = shim_umem_pages(umem.value(), memory->page_size_);
	IRDMA_TRY(memory->list_pages());
	return UserMemoryRef(memory.release());
}

/* The list is written where the device will read it; if it is one run, it is given back. */
Status UserMemory::list_pages()
{
	hw::Le64 single;

	if (pages_ == 1) {
		if (shim_umem_list(umem_, page_size_, 1, &single) != 1)
			return Error::fault;
		first_page_ = single.get();
		return {};
	}
	if (pages_ > max_list)
		return Error::no_memory;

	auto pbles = device_.pbles.alloc(static_cast<u32>(pages_));
	IRDMA_TRY(pbles);
	pbles_ = pbles.take();
	if (shim_umem_list(umem_, page_size_, pages_, pbles_.entries()) != pages_)
		return Error::fault;
	first_page_ = pbles_.entries()[0].get();
	if (one_run(0, pages_))
		pbles_ = PbleRun();
	return {};
}

bool UserMemory::one_run(u64 first, u64 count) const
{
	u64 start = page(first);

	if (contiguous())
		return true;
	for (u64 i = 1; i < count; i++)
		if (page(first + i) != start + i * page_size_)
			return false;
	return true;
}

} // namespace irdma
