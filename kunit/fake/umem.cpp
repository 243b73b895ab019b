// SPDX-License-Identifier: GPL-2.0
/*
 * Memory of a process in a test: 4 KiB pages, each with the bus address that
 * World::user_page gives it.
 */
#include "base/memory.h"
#include "hw/field.h"
#include "world.h"

using namespace irdma;
using irdma::fake::World;

/** Memory that the driver has pinned. */
struct shim_umem {
	World *world;
	u64 start, length, offset_in_page;
	u64 pages; /**< of 4 KiB */

	/** Bus address of 4 KiB page @i. */
	u64 page(u64 i) const
	{
		u64 number = (start >> 12) + i;

		return world->user_page ? world->user_page(number) : number << 12;
	}
};

namespace {

constexpr u64 page_bytes = 4096;

int pin(World &world, u64 start, u64 length, shim_umem **out)
{
	world.must_sleep("memory of a process is pinned");
	if (world.umem_error)
		return world.umem_error;
	EXPECT(length != 0);
	auto *umem = static_cast<shim_umem *>(bridge_alloc(sizeof(shim_umem), false));

	if (!umem)
		return -SHIM_ENOMEM;
	*umem = {&world, start, length, start % page_bytes,
		 (start % page_bytes + length + page_bytes - 1) / page_bytes};
	world.umems++;
	*out = umem;
	return 0;
}

} // namespace

extern "C" {

int shim_umem_get(shim_device *dev, u64 start, u64 length, u32, shim_umem **out)
{
	return pin(dev->world, start, length, out);
}

int shim_umem_get_dmabuf(shim_device *dev, u64 offset, u64 length, int, u32, shim_umem **out)
{
	return pin(dev->world, offset, length, out);
}

void shim_umem_put(shim_umem *umem)
{
	umem->world->must_sleep("memory of a process is given back");
	umem->world->umems--;
	bridge_free(umem, false);
}

/* As ib_core's ib_umem_find_best_pgsz() is described: runs may begin and end only at its multiples. */
u64 shim_umem_best_page(shim_umem *umem, u64 sizes, u64 va)
{
	for (u32 shift = 63; shift >= 12; shift--) {
		u64 size = 1ULL << shift;
		u64 first = umem->page(0) + umem->offset_in_page;
		bool fits = (sizes & size) && ((va ^ first) & (size - 1)) == 0;

		for (u64 i = 1; i < umem->pages && fits; i++)
			if (umem->page(i) != umem->page(i - 1) + page_bytes)
				fits = !((umem->page(i) | (umem->page(i - 1) + page_bytes)) &
					 (size - 1));
		if (fits)
			return size;
	}
	return 0;
}

u64 shim_umem_pages(shim_umem *umem, u64 page_size)
{
	u64 first = umem->page(0) + umem->offset_in_page;

	return (first % page_size + umem->length + page_size - 1) / page_size;
}

bool shim_umem_contiguous(shim_umem *umem)
{
	for (u64 i = 1; i < umem->pages; i++)
		if (umem->page(i) != umem->page(i - 1) + page_bytes)
			return false;
	return true;
}

u64 shim_umem_list(shim_umem *umem, u64 page_size, u64 count, shim_page_place place, void *list)
{
	hw::Le64 *to = nullptr;
	u64 listed = 0, room = 0;

	for (u64 i = 0; i < umem->pages && listed < count; i++) {
		u64 bus = umem->page(i) & ~(page_size - 1);

		if (i && umem->page(i) % page_size)
			continue;
		if (!room)
			to = static_cast<hw::Le64 *>(place(list, listed, &room));
		to++->set(bus);
		room--;
		listed++;
	}
	return listed;
}

int shim_umem_copy(shim_umem *umem, u64 offset, void *to, u64 bytes)
{
	__builtin_memset(to, 0, bytes);
	if (offset + bytes > umem->length)
		return -SHIM_EINVAL;
	if (umem->world->user_data)
		umem->world->user_data(offset, static_cast<u8 *>(to), bytes);
	return 0;
}

} /* extern "C" */
