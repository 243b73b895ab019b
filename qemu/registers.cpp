// SPDX-License-Identifier: GPL-2.0
/* Register storage and dispatch; see registers.h. */
#include "registers.h"

#include <sys/mman.h>

#include <algorithm>
#include <cstdlib>

#include "glue.h"

namespace e810 {

Registers::Registers()
{
	void *map = mmap(nullptr, E810_BAR0_SIZE, PROT_READ | PROT_WRITE,
			 MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	if (map == MAP_FAILED)
		std::abort();
	values_.reset(static_cast<uint32_t *>(map));
}

void Registers::Release::operator()(uint32_t *values) const
{
	munmap(values, E810_BAR0_SIZE);
}

void Registers::clear()
{
	/* For a private anonymous mapping this gives the pages back; they read 0 from then on. */
	madvise(values_.get(), E810_BAR0_SIZE, MADV_DONTNEED);
}

void Registers::constant(uint32_t offset, uint32_t value)
{
	/* The value takes the place of the block. */
	claims_.push_back({offset, 1, reinterpret_cast<void *>(uintptr_t{value}),
			   [](void *v, uint32_t) {
				   return static_cast<uint32_t>(reinterpret_cast<uintptr_t>(v));
			   },
			   [](void *, uint32_t, uint32_t) {}});
}

bool Registers::seal()
{
	std::sort(claims_.begin(), claims_.end(),
		  [](const Claim &a, const Claim &b) { return a.first < b.first; });
	return std::adjacent_find(claims_.begin(), claims_.end(),
				  [](const Claim &a, const Claim &b) {
					  return a.first + a.count * 4 > b.first;
				  }) == claims_.end();
}

const Registers::Claim *Registers::find(uint32_t offset) const
{
	auto next = std::upper_bound(claims_.begin(), claims_.end(), offset,
				     [](uint32_t o, const Claim &c) { return o < c.first; });

	if (next == claims_.begin())
		return nullptr;
	const Claim &claim = *std::prev(next);
	return (offset - claim.first) / 4 < claim.count ? &claim : nullptr;
}

uint32_t Registers::read(uint32_t offset)
{
	const Claim *claim = find(offset);

	if (claim && claim->read)
		return claim->read(claim->block, (offset - claim->first) / 4);
	return get(offset);
}

void Registers::write(uint32_t offset, uint32_t value)
{
	const Claim *claim = find(offset);

	if (claim && claim->write)
		claim->write(claim->block, (offset - claim->first) / 4, value);
	else
		set(offset, value);
}

} // namespace e810
