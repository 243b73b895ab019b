// SPDX-License-Identifier: GPL-2.0
/* CEQs and AEQ; see event_queues.h. */
#include "event_queues.h"

#include <algorithm>

#include "device.h"
#include "irdma/hw/limits.h"
#include "irdma/hw/regs.h"
#include "rdma.h"
#include "rdma_trace.h"

namespace e810 {

EventQueues::EventQueues(Rdma &rdma) : rdma_(rdma)
{
	using namespace hw::reg;
	Registers &r = rdma.dev.registers;

	r.claim<nullptr, &EventQueues::write_aeqalloc>(this, pfpe_aeqalloc);
	r.claim<nullptr, &EventQueues::write_ceq_cause>(this, glint_ceqctl(0), Hmc::max_ceqs);
	r.claim<nullptr, &EventQueues::write_aeq_cause>(this, pfint_aeqctl);
}

void EventQueues::Ring::advance()
{
	if (++next == size) {
		next = 0;
		polarity = !polarity;
	}
}

CqpResult EventQueues::create_ceq(const hw::CqpWqe &wqe)
{
	using namespace hw::cqp_ceq;
	uint64_t id = wqe.get(ceq);
	uint64_t entries = wqe.get(size);

	if (id >= Hmc::max_ceqs)
		return CqpResult::fail(refusal::bad_index);
	if (ceqs_[id].size)
		return CqpResult::fail(hw::cqp_error::invalid_state);
	if (!entries || entries > hw::max_ceq_entries)
		return CqpResult::fail(refusal::bad_parameter);
	ceqs_[id] = Ring{};
	ceqs_[id].pages = PageList::of(wqe.get(virtual_map), wqe.get(addr),
				       static_cast<uint32_t>(wqe.get(first_pble)),
				       static_cast<uint32_t>(wqe.get(pbl_level)));
	ceqs_[id].size = static_cast<uint32_t>(entries);
	return CqpResult::ok();
}

CqpResult EventQueues::destroy_ceq(const hw::CqpWqe &wqe)
{
	uint32_t id = static_cast<uint32_t>(wqe.get(hw::cqp_ceq::ceq));

	if (!ceq_exists(id))
		return CqpResult::fail(hw::cqp_error::invalid_state);
	ceqs_[id].size = 0;
	return CqpResult::ok();
}

CqpResult EventQueues::create_aeq(const hw::CqpWqe &wqe)
{
	using namespace hw::cqp_aeq;
	uint64_t entries = wqe.get(size);

	if (aeq_.size)
		return CqpResult::fail(hw::cqp_error::invalid_state);
	if (!entries || entries > hw::max_aeq_entries)
		return CqpResult::fail(refusal::bad_parameter);
	aeq_ = Ring{};
	aeq_.pages = PageList::of(wqe.get(virtual_map), wqe.get(addr),
				  static_cast<uint32_t>(wqe.get(first_pble)),
				  static_cast<uint32_t>(wqe.get(pbl_level)));
	aeq_.size = static_cast<uint32_t>(entries);
	aeq_used_ = 0;
	aeq_overflow_ = false;
	return CqpResult::ok();
}

CqpResult EventQueues::destroy_aeq(const hw::CqpWqe &)
{
	if (!aeq_.size)
		return CqpResult::fail(hw::cqp_error::invalid_state);
	aeq_.size = 0;
	return CqpResult::ok();
}

void EventQueues::post_completion(uint32_t id, uint64_t context, bool stale)
{
	if (!ceq_exists(id))
		return;
	Ring &ring = ceqs_[id];
	auto address =
		rdma_.hmc.address(ring.pages, static_cast<uint64_t>(ring.next) * sizeof(hw::Ceqe));
	hw::Ceqe entry;

	entry.set(hw::ceqe::context, context);
	entry.set(hw::ceqe::valid, ring.polarity != stale);
	rdma_.dev.trace.event("ceqe")
		.u64("ceq", id)
		.u64("index", ring.next)
		.hex("context", context);
	if (!address || !rdma_.dev.memory.store(*address, entry))
		return rdma_.memory_error("CEQ entry");
	ring.advance();
	raise("ceq", hw::reg::glint_ceqctl(id), static_cast<int>(id));
}

void EventQueues::post(const AsyncEvent &event)
{
	using namespace hw::aeqe;
	hw::Aeqe entry;

	if (!aeq_.size)
		return;
	if (aeq_used_ == aeq_.size) {
		aeq_overflow_ = true;
		return rdma_.dev.guest_error("AEQ is full: event %#x of %u lost",
					     static_cast<unsigned>(event.code), event.id);
	}
	entry.set(completion_ctx, event.context);
	entry.set(id_low, event.id);
	entry.set(id_high, event.id >> id_low.width());
	entry.set(wqe_index, event.wqe_index);
	entry.set(overflow, aeq_overflow_);
	entry.set(code, static_cast<uint64_t>(event.code));
	entry.set(source, static_cast<uint64_t>(event.source));
	entry.set(qp_state, static_cast<uint64_t>(event.state));
	entry.set(valid, aeq_.polarity);

	{
		TraceEvent line = rdma_.dev.trace.event("aeqe");
		line.u64("index", aeq_.next);
		line.str("name", hw::ae_name(static_cast<uint32_t>(event.code)));
		decode(line, hw::layout("aeqe", fields), entry);
	}

	auto address =
		rdma_.hmc.address(aeq_.pages, static_cast<uint64_t>(aeq_.next) * sizeof(hw::Aeqe));
	/* The word with the valid bit after the other. */
	if (!address || !rdma_.dev.memory.store(*address, entry.qw[0]) ||
	    !rdma_.dev.memory.store(*address + 8, entry.qw[1]))
		return rdma_.memory_error("AEQ entry");
	aeq_overflow_ = false;
	aeq_used_++;
	aeq_.advance();
	raise("aeq", hw::reg::pfint_aeqctl, -1);
}

void EventQueues::write_aeqalloc(uint32_t, uint32_t count)
{
	rdma_.trace_register("aeqalloc", count);
	aeq_used_ -= std::min(aeq_used_, count);
	rdma_.injections.aeq_has_room();
}

void EventQueues::write_ceq_cause(uint32_t ceq, uint32_t value)
{
	set_cause("ceqctl", hw::reg::glint_ceqctl(ceq), value);
}

void EventQueues::write_aeq_cause(uint32_t, uint32_t value)
{
	set_cause("aeqctl", hw::reg::pfint_aeqctl, value);
}

/* The registers are as the driver wrote them; raise() reads them. */
void EventQueues::set_cause(const char *name, uint32_t control, uint32_t value)
{
	rdma_.trace_register(name, value);
	rdma_.dev.registers.set(control, value);
	if (hw::reg::cause_enable.take(value))
		vectors_.insert(static_cast<uint32_t>(hw::reg::cause_vector.take(value)));
}

void EventQueues::raise(const char *cause, uint32_t control, int ceq)
{
	uint32_t value = rdma_.dev.registers.get(control);
	TraceEvent line = rdma_.dev.trace.event("irq");

	line.str("cause", cause);
	if (ceq >= 0)
		line.i64("ceq", ceq);
	line.u64("vector", hw::reg::cause_vector.take(value));
	line.flag("enabled", hw::reg::cause_enable.take(value));
	rdma_.dev.interrupts.raise(Cause{control});
}

uint32_t EventQueues::in_use() const
{
	return static_cast<uint32_t>(std::count_if(ceqs_.begin(), ceqs_.end(),
						   [](const Ring &r) { return r.size != 0; })) +
	       (aeq_.size != 0);
}

void EventQueues::reset()
{
	ceqs_.fill(Ring{});
	aeq_ = Ring{};
	aeq_used_ = 0;
	aeq_overflow_ = false;
}

} // namespace e810
