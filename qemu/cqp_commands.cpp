// SPDX-License-Identifier: GPL-2.0
/* The commands of the control QP and who carries them out. */
#include "cqp.h"
#include "device.h"
#include "rdma.h"

namespace e810 {

namespace {

/* run<&Rdma::qps, &QueuePairs::create>: the handler is a member of a block of the engine. */
template <auto Block, auto Handler> CqpResult run(Rdma &rdma, const hw::CqpWqe &wqe)
{
	return (rdma.*Block.*Handler)(wqe);
}

template <auto Handler> CqpResult engine(Rdma &rdma, const hw::CqpWqe &wqe)
{
	return (rdma.*Handler)(wqe);
}

/* For virtual functions, which the model has none of. */
CqpResult unsupported(Rdma &, const hw::CqpWqe &)
{
	return CqpResult::fail(refusal::unsupported);
}

constexpr CqpCommand commands[] = {
	{hw::CqpOp::create_qp, run<&Rdma::qps, &QueuePairs::create>},
	{hw::CqpOp::modify_qp, run<&Rdma::qps, &QueuePairs::modify>},
	{hw::CqpOp::destroy_qp, run<&Rdma::qps, &QueuePairs::destroy>},
	{hw::CqpOp::create_cq, run<&Rdma::cqs, &CompletionQueues::create>},
	{hw::CqpOp::modify_cq, run<&Rdma::cqs, &CompletionQueues::modify>},
	{hw::CqpOp::destroy_cq, run<&Rdma::cqs, &CompletionQueues::destroy>},
	{hw::CqpOp::alloc_stag, run<&Rdma::regions, &MemoryRegions::alloc>},
	{hw::CqpOp::reg_mr, run<&Rdma::regions, &MemoryRegions::reg>},
	{hw::CqpOp::query_stag, run<&Rdma::regions, &MemoryRegions::query>},
	{hw::CqpOp::reg_shared_mr, run<&Rdma::regions, &MemoryRegions::reg_shared>},
	{hw::CqpOp::dealloc_stag, run<&Rdma::regions, &MemoryRegions::dealloc>},
	{hw::CqpOp::manage_loc_mac, run<&Rdma::addresses, &AddressTables::manage_loc_mac>},
	{hw::CqpOp::manage_arp, run<&Rdma::addresses, &AddressTables::manage_arp>},
	{hw::CqpOp::manage_vf_pble_bp, unsupported},
	{hw::CqpOp::manage_push_page, run<&Rdma::doorbells, &Doorbells::manage_push_page>},
	{hw::CqpOp::query_rdma_features, engine<&Rdma::query_features>},
	{hw::CqpOp::upload_context, run<&Rdma::qps, &QueuePairs::upload_context>},
	{hw::CqpOp::alloc_loc_mac, run<&Rdma::addresses, &AddressTables::alloc_loc_mac>},
	{hw::CqpOp::manage_hmc_pm_func, unsupported},
	{hw::CqpOp::create_ceq, run<&Rdma::events, &EventQueues::create_ceq>},
	{hw::CqpOp::destroy_ceq, run<&Rdma::events, &EventQueues::destroy_ceq>},
	{hw::CqpOp::create_aeq, run<&Rdma::events, &EventQueues::create_aeq>},
	{hw::CqpOp::destroy_aeq, run<&Rdma::events, &EventQueues::destroy_aeq>},
	{hw::CqpOp::create_ah, run<&Rdma::addresses, &AddressTables::create_ah>},
	{hw::CqpOp::modify_ah, run<&Rdma::addresses, &AddressTables::modify_ah>},
	{hw::CqpOp::destroy_ah, run<&Rdma::addresses, &AddressTables::destroy_ah>},
	{hw::CqpOp::update_pe_sds, run<&Rdma::hmc, &Hmc::update_sds>},
	{hw::CqpOp::query_fpm, run<&Rdma::hmc, &Hmc::query_fpm>},
	{hw::CqpOp::commit_fpm, run<&Rdma::hmc, &Hmc::commit_fpm>},
	{hw::CqpOp::flush_wqes, run<&Rdma::qps, &QueuePairs::flush>},
	{hw::CqpOp::manage_apbvt, run<&Rdma::addresses, &AddressTables::manage_apbvt>},
	{hw::CqpOp::nop, engine<&Rdma::nop>},
	{hw::CqpOp::manage_qhash, run<&Rdma::addresses, &AddressTables::manage_qhash>},
	{hw::CqpOp::create_mcast, run<&Rdma::addresses, &AddressTables::create_mcast>},
	{hw::CqpOp::modify_mcast, run<&Rdma::addresses, &AddressTables::modify_mcast>},
	{hw::CqpOp::destroy_mcast, run<&Rdma::addresses, &AddressTables::destroy_mcast>},
	{hw::CqpOp::suspend_qp, run<&Rdma::qps, &QueuePairs::suspend>},
	{hw::CqpOp::resume_qp, run<&Rdma::qps, &QueuePairs::resume>},
	{hw::CqpOp::shmc_pages_allocated, run<&Rdma::hmc, &Hmc::pages_allocated>},
	{hw::CqpOp::work_sched_node, run<&Rdma::scheduler, &WorkScheduler::command>},
	{hw::CqpOp::manage_stats, run<&Rdma::stats, &RdmaStats::manage>},
	{hw::CqpOp::gather_stats, run<&Rdma::stats, &RdmaStats::gather>},
	{hw::CqpOp::up_map, engine<&Rdma::set_up_map>},
};

} // namespace

const CqpCommand *find_command(uint64_t opcode)
{
	for (const CqpCommand &command : commands)
		if (static_cast<uint64_t>(command.op) == opcode)
			return &command;
	return nullptr;
}

} // namespace e810
