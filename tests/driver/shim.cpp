// SPDX-License-Identifier: GPL-2.0
/* The kernel's part for programs of one thread; see shim.h. */
#include "shim.h"

#include <cstring>

long shim_allocations;
long shim_allocations_left = -1;
int shim_warnings;

extern "C" {

void *shim_zalloc(u64 bytes)
{
	if (!shim_allocations_left)
		return nullptr;
	if (shim_allocations_left > 0)
		shim_allocations_left--;
	shim_allocations++;
	return std::calloc(1, bytes ? bytes : 1);
}

void shim_free(void *mem)
{
	shim_allocations -= mem != nullptr;
	std::free(mem);
}

void shim_mutex_init(shim_mutex *mutex, shim_lock_class)
{
	std::memset(mutex, 0, sizeof(*mutex));
}

void shim_mutex_destroy(shim_mutex *mutex)
{
	CHECK(!mutex->opaque[0]);
}

void shim_mutex_lock(shim_mutex *mutex)
{
	CHECK(!mutex->opaque[0]);
	mutex->opaque[0] = 1;
}

void shim_mutex_unlock(shim_mutex *mutex)
{
	CHECK(mutex->opaque[0]);
	mutex->opaque[0] = 0;
}

void shim_warn_once(const char *what)
{
	std::fprintf(stderr, "warning: %s\n", what);
	shim_warnings++;
}

void shim_dma_free(shim_device *, u64, void *, u64) {}

void shim_print(shim_text *, const char *, ...) {}

} /* extern "C" */
