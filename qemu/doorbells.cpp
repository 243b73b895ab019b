// SPDX-License-Identifier: GPL-2.0
/* Doorbells and push pages; see doorbells.h. */
#include "doorbells.h"

#include "device.h"
#include "irdma/hw/regs.h"
#include "rdma.h"

namespace e810 {

namespace {

constexpr uint32_t registers_per_page = hw::reg::db_page_size / 4;
constexpr uint32_t first_push_register =
	hw::reg::push_area_offset + hw::reg::first_push_page * hw::reg::db_page_size;

} // namespace

Doorbells::Doorbells(Rdma &rdma) : rdma_(rdma)
{
	using namespace hw::reg;
	Registers &r = rdma.dev.registers;

	r.claim<nullptr, &Doorbells::write_wqealloc>(this, pfpe_wqealloc);
	r.claim<nullptr, &Doorbells::write_cqarm>(this, pfpe_cqarm);
	r.claim<nullptr, &Doorbells::write_cqack>(this, pfpe_cqack);
	r.claim<nullptr, &Doorbells::write_user_page>(this, db_page_offset, registers_per_page);
	r.claim<nullptr, &Doorbells::write_push>(this, first_push_register,
						 hw::max_push_pages * registers_per_page);
}

void Doorbells::work(const char *from, uint32_t qp)
{
	rdma_.dev.trace.event("doorbell").str("kind", "work").str("from", from).u64("qp", qp);
	rdma_.qps.doorbell(qp);
}

void Doorbells::arm(const char *from, uint32_t cq)
{
	rdma_.dev.trace.event("doorbell").str("kind", "arm").str("from", from).u64("cq", cq);
	rdma_.cqs.arm(cq);
}

void Doorbells::write_wqealloc(uint32_t, uint32_t qp)
{
	work("kernel", qp);
}

void Doorbells::write_cqarm(uint32_t, uint32_t cq)
{
	arm("kernel", cq);
}

void Doorbells::write_cqack(uint32_t, uint32_t cq)
{
	rdma_.dev.trace.event("doorbell").str("kind", "ack").str("from", "kernel").u64("cq", cq);
	rdma_.cqs.acknowledge(cq);
}

void Doorbells::write_user_page(uint32_t index, uint32_t value)
{
	if (index == hw::reg::db_wqealloc / 4)
		work("user", value);
	else if (index == hw::reg::db_cqarm / 4)
		arm("user", value);
	else
		rdma_.dev.guest_error("write to %#x of the doorbell page", index * 4);
}

void Doorbells::write_push(uint32_t index, uint32_t)
{
	if (!pages_[index / registers_per_page])
		rdma_.dev.guest_error("write to push page %u, which is free",
				      index / registers_per_page);
}

CqpResult Doorbells::manage_push_page(const hw::CqpWqe &wqe)
{
	using namespace hw::cqp_push;
	size_t index = wqe.get(page);

	if (wqe.get(hw::cqp_push::free)) {
		if (!pages_[index])
			return CqpResult::fail(hw::cqp_error::invalid_state);
		pages_.reset(index);
		return CqpResult::ok();
	}
	for (index = 0; index < pages_.size(); index++) {
		if (!pages_[index]) {
			pages_.set(index);
			return CqpResult::ok(static_cast<uint32_t>(index));
		}
	}
	return CqpResult::fail(refusal::exhausted);
}

} // namespace e810
