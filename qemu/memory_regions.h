// SPDX-License-Identifier: GPL-2.0
/*
 * STags: memory regions and windows, by which work names memory.
 *
 * A key is index << 8 | key byte. Drivers put random bits above the number of the region in the
 * 24-bit index, so the table is looked up by the low bits and the whole index is compared.
 */
#pragma once

#include <cstdint>
#include <vector>

#include "cqp_result.h"
#include "hmc.h"
#include "irdma/hw/limits.h"

namespace e810 {

constexpr uint64_t bytes_of(hw::HostPage size)
{
	switch (size) {
	case hw::HostPage::size_2m:
		return hw::large_page_size;
	case hw::HostPage::size_1g:
		return hw::huge_page_size;
	case hw::HostPage::size_4k:
		break;
	}
	return hw::page_size;
}

/** State of one STag, as the transport will check and translate with it. */
struct MemoryRegion {
	bool exists = false;
	bool valid = false; /* false: allocated, to be made valid by fast register or bind */
	bool is_window = false;
	bool window_type2 = false;
	bool va_based = false;
	bool remote_access = false;
	uint8_t key = 0;
	uint32_t index = 0; /* all 24 bits */
	uint32_t pd = 0;
	uint32_t rights = 0; /* hw::access */
	hw::HostPage page_size = hw::HostPage::size_4k;
	uint64_t va = 0;     /* of the first byte, or its offset in the first page */
	uint64_t length = 0; /* 0 on a valid region: all memory */
	PageList pages;
	uint32_t parent = 0; /* index of the region that a valid window is bound to */

	/** Pages that its list has, or should have. */
	uint64_t page_count() const
	{
		uint64_t page = bytes_of(page_size);

		return irdma::div_round_up((va & (page - 1)) + length, page);
	}
};

class MemoryRegions {
public:
	explicit MemoryRegions(Rdma &rdma);

	CqpResult alloc(const hw::CqpWqe &wqe);
	CqpResult reg(const hw::CqpWqe &wqe);
	CqpResult reg_shared(const hw::CqpWqe &wqe);
	CqpResult query(const hw::CqpWqe &wqe);
	CqpResult dealloc(const hw::CqpWqe &wqe);

	/** The region with this 24-bit index, or nullptr. */
	MemoryRegion *find(uint64_t index);

	uint32_t in_use() const;
	void reset();

private:
	uint32_t slot(uint64_t index) const;
	CqpResult prepare(const hw::CqpWqe &wqe, MemoryRegion &region);

	Rdma &rdma_;
	std::vector<MemoryRegion> regions_;
};

} // namespace e810
