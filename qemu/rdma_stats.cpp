// SPDX-License-Identifier: GPL-2.0
/* Statistics of the protocol engine; see rdma_stats.h. */
#include "rdma_stats.h"

#include "device.h"
#include "rdma.h"

namespace e810 {

CqpResult RdmaStats::manage(const hw::CqpWqe &wqe)
{
	using namespace hw::cqp_stats;
	size_t index = wqe.get(instance);

	if (!wqe.get(alloc)) {
		if (!instances_[index])
			return CqpResult::fail(hw::cqp_error::invalid_state);
		instances_.reset(index);
		return CqpResult::ok();
	}
	/* Instance 0 is the function's own and not for hire. */
	for (index = 1; index < max_instances; index++) {
		if (!instances_[index]) {
			instances_.set(index);
			counters_[index] = {};
			return CqpResult::ok(static_cast<uint32_t>(index));
		}
	}
	return CqpResult::fail(refusal::exhausted);
}

CqpResult RdmaStats::gather(const hw::CqpWqe &wqe)
{
	using namespace hw::cqp_stats;
	size_t index = wqe.get(use_instance) ? wqe.get(instance) : 0;

	if (index && !instances_[index])
		return CqpResult::fail(refusal::bad_index);
	if (!rdma_.dev.memory.store(wqe.get(addr), counters_[index]))
		return CqpResult::fail(refusal::memory_fault);
	return CqpResult::ok();
}

void RdmaStats::count(const hw::QpContext &qp, const hw::Field &which, uint64_t more)
{
	size_t instance = qp.get(hw::qpc::use_stats_instance) ? qp.get(hw::qpc::stats_index) : 0;

	add(instances_[instance] ? instance : 0, which, more);
}

/* Counters wrap within their width. */
void RdmaStats::add(size_t instance, const hw::Field &which, uint64_t more)
{
	hw::Statistics &counters = counters_[instance];

	counters.set(which, counters.get(which) + more);
}

void RdmaStats::reset()
{
	instances_.reset();
	counters_ = {};
}

} // namespace e810
