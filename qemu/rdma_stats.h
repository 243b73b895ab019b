// SPDX-License-Identifier: GPL-2.0
/*
 * Statistics of the protocol engine: instances of 128 counters each, the first being the
 * function's.
 *
 * MANAGE_STATS hands out further instances for VSIs, GATHER_STATS copies one to guest memory.
 */
#pragma once

#include <array>
#include <bitset>
#include <cstdint>

#include "cqp_result.h"

namespace e810 {

class Rdma;

class RdmaStats {
public:
	explicit RdmaStats(Rdma &rdma) : rdma_(rdma) {}

	CqpResult manage(const hw::CqpWqe &wqe);
	CqpResult gather(const hw::CqpWqe &wqe);

	/** Instances handed out. */
	uint32_t in_use() const { return static_cast<uint32_t>(instances_.count()); }
	void reset();

private:
	static constexpr size_t max_instances = 128;
	using Counters = std::array<uint64_t, hw::cqp_stats::gather_bytes / sizeof(uint64_t)>;

	Rdma &rdma_;
	std::bitset<max_instances> instances_;
	std::array<Counters, max_instances> counters_{};
};

} // namespace e810
