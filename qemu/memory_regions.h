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

namespace e810 {

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
