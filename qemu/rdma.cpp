// SPDX-License-Identifier: GPL-2.0
/* The protocol engine as a whole; see rdma.h. */
#include "rdma.h"

#include <algorithm>
#include <array>

#include "device.h"
#include "irdma/hw/regs.h"

namespace e810 {

namespace {

constexpr uint64_t firmware_major = 1;
constexpr uint64_t firmware_minor = 52;

/* Entry types of QUERY_RDMA_FEATURES after the first, which is the firmware version. */
constexpr uint64_t feature_types[] = {1, 26};

} // namespace

Rdma::Rdma(Device &device)
	: dev(device), hmc(*this), events(*this), cqs(*this), qps(*this), regions(*this),
	  addresses(*this), stats(*this), doorbells(*this), roce(*this), cqp(*this),
	  injections(*this)
{
	using namespace hw::reg;
	Registers &r = dev.registers;

	r.claim<&Rdma::read_doorbell_size, nullptr>(this, glpci_lbarctrl);
	r.claim<&Rdma::read_cpu_status, nullptr>(this, glpe_cpustatus0, 3);
	r.claim<nullptr, &Rdma::write_page_invalidation>(this, pfhmc_pdinv);
}

void Rdma::reset(ResetKind kind)
{
	if (kind == ResetKind::power_on)
		refusals.restart();
	if (cqp.exists())
		trace_objects("rdma_reset");
	reset_objects();
	cqp.reset();
	injections.reset();
}

void Rdma::reset_objects()
{
	qps.reset();
	roce.reset();
	cqs.reset();
	events.reset();
	regions.reset();
	addresses.reset();
	scheduler.reset();
	stats.reset();
	doorbells.reset();
	hmc.reset();
}

bool Rdma::receive(std::span<const uint8_t> frame)
{
	return cqp.exists() && roce.receive(frame);
}

void Rdma::wire_ready()
{
	roce.wire_ready();
}

void Rdma::memory_error(const char *what)
{
	dev.guest_error("the protocol engine cannot reach memory: %s", what);
	dev.interrupts.raise_oicr(oicr::hmc_error);
}

void Rdma::trace_register(const char *name, uint32_t value)
{
	dev.trace.event("reg").str("name", name).u64("value", value);
}

void Rdma::trace_objects(const char *event)
{
	dev.trace.event(event)
		.u64("qps", qps.in_use())
		.u64("cqs", cqs.in_use())
		.u64("event_queues", events.in_use())
		.u64("stags", regions.in_use())
		.u64("ahs", addresses.handles_in_use())
		.u64("mcast_groups", addresses.groups_in_use())
		.u64("ws_nodes", scheduler.in_use())
		.u64("stats", stats.in_use())
		.u64("push_pages", doorbells.in_use())
		.u64("sds", hmc.segments());
}

uint32_t Rdma::read_doorbell_size(uint32_t)
{
	uint32_t size =
		refusals.ask("db-size").action == Refusals::Action::none ? hw::reg::db_size_8m : 0;

	return static_cast<uint32_t>(hw::reg::lbarctrl_db_size.put(size));
}

uint32_t Rdma::read_cpu_status(uint32_t)
{
	return refusals.ask("cpustatus").action == Refusals::Action::none ? hw::reg::cpustatus_ready
									  : 0;
}

/* Page descriptors are read anew at each use, so there is nothing to invalidate. */
void Rdma::write_page_invalidation(uint32_t, uint32_t value)
{
	trace_register("pdinv", value);
}

CqpResult Rdma::query_features(const hw::CqpWqe &wqe)
{
	using namespace hw::cqp_features;
	std::array<uint64_t, 1 + std::size(feature_types)> entries;
	size_t fit = wqe.get(length) / sizeof(uint64_t);

	entries[0] = entry_count.put(entries.size()) | fw_major.put(firmware_major) |
		     fw_minor.put(firmware_minor);
	for (size_t i = 0; i < std::size(feature_types); i++)
		entries[i + 1] = entry_type.put(feature_types[i]);
	if (!dev.memory.write64(wqe.get(addr),
				std::span(entries).first(std::min(fit, entries.size()))))
		return CqpResult::fail(refusal::memory_fault);
	return CqpResult::ok();
}

/* Traffic classes are not modelled: the map is seen in the trace. */
CqpResult Rdma::set_up_map(const hw::CqpWqe &)
{
	return CqpResult::ok();
}

CqpResult Rdma::nop(const hw::CqpWqe &)
{
	return CqpResult::ok();
}

} // namespace e810
