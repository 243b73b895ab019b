// SPDX-License-Identifier: GPL-2.0
/*
 * Statistics of the protocol engine: instances of 128 counters each, the first being the
 * function's.
 *
 * MANAGE_STATS hands out further instances for VSIs, GATHER_STATS copies one to guest memory. The
 * transport counts with count(), in the instance that a queue pair's context names.
 */
#pragma once

#include <array>
#include <bitset>
#include <cstdint>

#include "cqp_result.h"
#include "irdma/hw/qp_context.h"
#include "rdma_counters.h"

namespace e810 {

class Rdma;

class RdmaStats {
public:
	explicit RdmaStats(Rdma &rdma) : rdma_(rdma) {}

	CqpResult manage(const hw::CqpWqe &wqe);
	CqpResult gather(const hw::CqpWqe &wqe);

	/** Adds @p more to counter @p which of the function (instance 0). */
	void count(const hw::Field &which, uint64_t more = 1) { add(0, which, more); }
	/** The same, in the instance of the queue pair with that context. */
	void count(const hw::QpContext &qp, const hw::Field &which, uint64_t more = 1);

	/** Instances handed out. */
	uint32_t in_use() const { return static_cast<uint32_t>(instances_.count()); }
	void reset();

private:
	static constexpr size_t max_instances = 128;
	static_assert(sizeof(hw::Statistics) == hw::cqp_stats::gather_bytes);

	void add(size_t instance, const hw::Field &which, uint64_t more);

	Rdma &rdma_;
	std::bitset<max_instances> instances_;
	std::array<hw::Statistics, max_instances> counters_{};
};

} // namespace e810
