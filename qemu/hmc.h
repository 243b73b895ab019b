// SPDX-License-Identifier: GPL-2.0
/*
 * Host memory cache of the protocol engine.
 *
 * The driver gives the engine memory for its objects: it asks what the engine could use
 * (QUERY_FPM), says how many of each kind it wants (COMMIT_FPM) and is told where each kind begins
 * in the function's private memory, a linear space of the engine's own:
 *
 *	private memory address [.. 21] -> segment descriptor -> 2 MiB page                 (direct)
 *	                                                     -> table of 512 pages, [20:12] (paged)
 *
 * The model keeps QPs, CQs and so on in tables of its own and never writes to that memory, but it
 * refuses an object that has none, where the real engine would fault. Page lists (PBLEs) are read
 * through it. Called by the CQP for its commands and by all blocks that own objects or rings.
 */
#pragma once

#include <array>
#include <cstdint>
#include <optional>

#include "cqp_result.h"
#include "glue.h"
#include "irdma/hw/hmc.h"

namespace e810 {

class Rdma;

/** Where a ring of 4 KiB pages lies: one run of bus addresses, or a list of PBLEs. */
struct PageList {
	uint64_t base = 0; /* bus address, if contiguous */
	uint32_t first_pble = 0;
	hw::PblLevel level = hw::PblLevel::contiguous;

	/** For commands with a flag "virtual": a page list of @p level, else the address. */
	static PageList of(bool is_virtual, uint64_t address, uint32_t first_pble, uint32_t level);
};

class Hmc {
public:
	explicit Hmc(Rdma &rdma) : rdma_(rdma) {}

	CqpResult query_fpm(const hw::CqpWqe &wqe);
	CqpResult commit_fpm(const hw::CqpWqe &wqe);
	CqpResult update_sds(const hw::CqpWqe &wqe);
	CqpResult pages_allocated(const hw::CqpWqe &wqe);

	/** Committed number of objects of a kind; 0 before COMMIT_FPM. */
	uint32_t count(hw::HmcObject kind) const
	{
		return objects_[static_cast<unsigned>(kind)].count;
	}

	/** Largest number of objects of a kind that QUERY_FPM offers. */
	static uint32_t limit(hw::HmcObject kind);

	/** Is there memory for object @p index, which is below count()? */
	bool backed(hw::HmcObject kind, uint32_t index) const;

	/** Checks number and memory of an object that a command is about to create. */
	CqpResult check(hw::HmcObject kind, uint32_t index) const;

	/** Value of PBLE @p index. */
	std::optional<uint64_t> pble(uint32_t index) const;

	/** The bus address of byte @p offset of a ring. */
	std::optional<uint64_t> address(const PageList &list, uint64_t offset) const;

	/** Page @p page of a list of pages, through one or two levels. Not for contiguous ones. */
	std::optional<uint64_t> page(const PageList &list, uint64_t page) const;

	/** Does the engine have all PBLEs of a list of @p pages pages? Those of contiguous ones, none. */
	bool has_list(const PageList &list, uint64_t pages) const;

	/** Valid segment descriptors, for the trace. */
	uint32_t segments() const;

	void reset();

	static constexpr uint32_t max_segments = 256;
	static constexpr uint32_t max_ceqs = E810_MAX_CEQS;

private:
	struct Objects {
		uint32_t count = 0;
		uint32_t bytes = 0; /* of one */
		uint64_t base = 0;  /* in private memory */
	};
	struct Segment {
		bool valid = false;
		bool direct = false;
		uint64_t address = 0;
	};

	std::optional<uint64_t> translate(uint64_t private_address) const;
	bool has_pbles(uint64_t first, uint64_t number) const;
	bool update_segment(uint64_t command, uint64_t data);

	Rdma &rdma_;
	std::array<Objects, hw::hmc_objects> objects_{};
	std::array<Segment, max_segments> segments_{};
};

} // namespace e810
