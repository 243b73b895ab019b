// SPDX-License-Identifier: GPL-2.0
/* Control QP: its life and its ring; see cqp.h. */
#include "cqp.h"

#include <algorithm>
#include <optional>
#include <string_view>
#include <utility>

#include "device.h"
#include "irdma/hw/cqe.h"
#include "irdma/hw/regs.h"
#include "rdma.h"
#include "rdma_trace.h"

namespace e810 {

namespace {

const char *op_name(uint64_t opcode)
{
	const hw::Layout layout = hw::cqp_layout(static_cast<uint32_t>(opcode));

	return layout.count ? layout.name : "unknown";
}

std::optional<uint64_t> field_of(const hw::Layout &layout, const hw::CqpWqe &wqe,
				 std::string_view name)
{
	for (unsigned i = 0; i < layout.count; i++)
		if (name == layout.fields[i].name)
			return wqe.get(layout.fields[i]);
	return std::nullopt;
}

} // namespace

Cqp::Cqp(Rdma &rdma) : rdma_(rdma), due_(rdma.dev, callback<&Cqp::give_due>, this)
{
	using namespace hw::reg;
	Registers &r = rdma.dev.registers;

	r.claim<&Cqp::read_tail, &Cqp::write_tail>(this, pfpe_cqptail);
	r.claim<nullptr, &Cqp::write_doorbell>(this, pfpe_cqpdb);
	r.claim<&Cqp::read_status, &Cqp::write_status>(this, pfpe_ccqpstatus);
	r.claim<nullptr, &Cqp::write_low>(this, pfpe_ccqplow);
	r.claim<&Cqp::read_error, nullptr>(this, pfpe_cqperrcodes);
}

uint32_t Cqp::read_tail(uint32_t)
{
	return static_cast<uint32_t>(hw::reg::cqptail_index.put(tail_) |
				     hw::reg::cqptail_error.put(stopped_ || failed_));
}

/* Drivers clear the index before they create a CQP; a running one's is the device's. */
void Cqp::write_tail(uint32_t, uint32_t value)
{
	rdma_.trace_register("cqptail", value);
	if (exists())
		rdma_.dev.guest_error("CQPTAIL written while the CQP runs");
}

uint32_t Cqp::read_status(uint32_t)
{
	return static_cast<uint32_t>(hw::reg::ccqpstatus_done.put(status_done_) |
				     hw::reg::ccqpstatus_error.put(status_error_));
}

void Cqp::write_status(uint32_t, uint32_t value)
{
	rdma_.trace_register("ccqpstatus", value);
	if (!exists())
		status_done_ = status_error_ = false;
}

void Cqp::write_low(uint32_t, uint32_t low)
{
	uint64_t high = rdma_.dev.registers.get(hw::reg::pfpe_ccqphigh);
	uint64_t address = high << 32 | low;

	rdma_.dev.registers.set(hw::reg::pfpe_ccqplow, low);
	rdma_.dev.trace.event("reg").str("name", "ccqp").hex("value", address);
	if (address)
		create(address);
	else
		destroy();
}

void Cqp::refuse(uint16_t minor)
{
	status_error_ = true;
	error_codes_ =
		static_cast<uint32_t>(hw::reg::cqperrcodes_major.put(hw::cqp_error::command) |
				      hw::reg::cqperrcodes_minor.put(minor));
	rdma_.dev.guest_error("no CQP: code %#x", minor);
}

void Cqp::create(uint64_t context_address)
{
	Refusals::Verdict verdict = rdma_.refusals.ask("cqp-create");

	if (verdict.action == Refusals::Action::mute)
		return;
	if (verdict.action == Refusals::Action::refuse)
		return refuse(verdict.minor);
	if (exists())
		return refuse(hw::cqp_error::invalid_state);
	if (!load_context(context_address))
		return refuse(refusal::bad_parameter);
	next_ = tail_ = 0;
	polarity_ = true;
	stopped_ = failed_ = hung_ = false;
	error_codes_ = 0;
	status_done_ = true;
	status_error_ = false;
}

bool Cqp::load_context(uint64_t address)
{
	constexpr uint64_t max_size_code = irdma::log2_floor(hw::cqp_ring_entries / 4) + 1;
	auto context = rdma_.dev.memory.load<hw::Words<8>>(address);

	if (!context)
		return false;
	TraceEvent line = rdma_.dev.trace.event("cqp_ctx");
	decode(line, hw::layout("cqp_ctx", hw::cqp_context::fields), *context);

	uint64_t size_code = context->get(hw::cqp_context::sq_size);
	uint64_t ring = context->get(hw::cqp_context::sq_addr);
	if (!size_code || size_code > max_size_code || !ring || ring % hw::cqp_ring_align)
		return false;
	ring_ = ring;
	cookie_ = context->get(hw::cqp_context::cookie);
	entries_ = 4u << (size_code - 1);
	return true;
}

void Cqp::destroy()
{
	if (!exists())
		return rdma_.dev.guest_error("there is no CQP to destroy");
	if (rdma_.refusals.ask("cqp-destroy").action != Refusals::Action::none)
		return; /* stuck: it and all objects stay until a reset */
	/* What the driver left behind: nothing, if it cleaned up. */
	rdma_.trace_objects("cqp_destroy");
	rdma_.reset_objects();
	reset();
}

void Cqp::reset()
{
	ring_ = cookie_ = 0;
	entries_ = next_ = tail_ = error_codes_ = 0;
	polarity_ = true;
	status_done_ = status_error_ = stopped_ = failed_ = hung_ = false;
	held_.clear();
	due_.cancel();
}

void Cqp::stop(uint16_t minor)
{
	stopped_ = true;
	error_codes_ =
		static_cast<uint32_t>(hw::reg::cqperrcodes_major.put(hw::cqp_error::command) |
				      hw::reg::cqperrcodes_minor.put(minor));
	rdma_.dev.guest_error("CQP stops at WQE %u: code %#x", next_, minor);
}

void Cqp::write_doorbell(uint32_t, uint32_t producer)
{
	rdma_.dev.registers.set(hw::reg::pfpe_cqpdb, producer);
	rdma_.trace_register("cqpdb", producer);
	if (!exists() || hung_)
		return;
	if (producer >= entries_)
		return stop(refusal::bad_index);
	/* At most one lap: next_ meets the producer's index within it. */
	while (!stopped_ && exists() && next_ != producer)
		if (!step())
			return;
}

/* Executes one WQE. Returns false if the CQP cannot go on. */
bool Cqp::step()
{
	uint32_t index = next_;
	auto wqe = rdma_.dev.memory.load<hw::CqpWqe>(ring_ + index * sizeof(hw::CqpWqe));

	if (!wqe || wqe->get(hw::cqp::valid) != polarity_) {
		stop(wqe ? refusal::bad_parameter : refusal::memory_fault);
		return false;
	}
	if (++next_ == entries_) {
		next_ = 0;
		polarity_ = !polarity_;
	}

	uint64_t opcode = wqe->get(hw::cqp::opcode);
	const char *name = op_name(opcode);
	const hw::Layout layout = hw::cqp_layout(static_cast<uint32_t>(opcode));
	Refusals::Verdict verdict = rdma_.refusals.ask(
		name, [&](std::string_view field) { return field_of(layout, *wqe, field); });
	{
		TraceEvent line = rdma_.dev.trace.event("cqp");
		line.str("op", name).u64("wqe", index);
		decode(line, layout, *wqe);
	}
	if (verdict.action == Refusals::Action::mute) {
		rdma_.dev.trace.event("cqp_mute").str("op", name).u64("wqe", index);
		return true;
	}
	answer(index, opcode, execute(*wqe, verdict), verdict);
	return true;
}

/* Now, or later if property "fail" says so. */
void Cqp::answer(uint32_t index, uint64_t opcode, const CqpResult &result,
		 const Refusals::Verdict &verdict)
{
	constexpr int64_t ns_per_ms = 1000000;
	Held later = {index, opcode, result, INT64_MAX};

	if (verdict.answer != Refusals::Answer::hold && verdict.answer != Refusals::Answer::delay)
		return complete(index, opcode, result, verdict.answer);
	rdma_.dev.trace.event("cqp_hold").str("op", op_name(opcode)).u64("wqe", index);
	if (verdict.answer == Refusals::Answer::delay)
		later.due = e810_now() + verdict.delay_ms * ns_per_ms;
	held_.push_back(later);
	if (verdict.answer == Refusals::Answer::delay)
		give_due();
}

/* Gives the answers whose time has come, and sees to it that the next will be given. */
void Cqp::give_due()
{
	int64_t now = e810_now();
	int64_t next = INT64_MAX;

	for (const Held &held : std::exchange(held_, {}))
		if (held.due <= now) {
			complete(held.index, held.opcode, held.result);
		} else {
			held_.push_back(held);
			next = std::min(next, held.due);
		}
	if (next != INT64_MAX)
		due_.arm_in(next - now);
}

void Cqp::release(bool newest_first)
{
	std::vector<Held> answers = std::exchange(held_, {});

	if (newest_first)
		std::reverse(answers.begin(), answers.end());
	for (const Held &held : answers)
		complete(held.index, held.opcode, held.result);
}

CqpResult Cqp::execute(const hw::CqpWqe &wqe, Refusals::Verdict verdict)
{
	const CqpCommand *command = find_command(wqe.get(hw::cqp::opcode));

	if (verdict.action == Refusals::Action::refuse)
		return {true, verdict.major, verdict.minor, 0};
	if (!command)
		return CqpResult::fail(refusal::unknown_opcode);
	return command->run(rdma_, wqe);
}

void Cqp::complete(uint32_t index, uint64_t opcode, const CqpResult &result, Refusals::Answer how)
{
	{
		TraceEvent line = rdma_.dev.trace.event("cqp_done");

		line.str("op", op_name(opcode)).u64("wqe", index).u64("value", result.value);
		line.flag("error", result.error);
		if (result.major || result.minor)
			line.hex("major", result.major).hex("minor", result.minor);
	}
	failed_ = result.error;
	if (result.error)
		error_codes_ = static_cast<uint32_t>(hw::reg::cqperrcodes_major.put(result.major) |
						     hw::reg::cqperrcodes_minor.put(result.minor));
	tail_ = next_;
	post_completion(index, result, how);
	if (how == Refusals::Answer::twice)
		post_completion(index, result, how);
}

void Cqp::post_completion(uint32_t index, const CqpResult &result, Refusals::Answer how)
{
	using namespace hw::ccqe;
	constexpr uint32_t ccq = 0;
	hw::Cqe entry;

	if (!rdma_.cqs.exists(ccq))
		return;
	/* A cookie, or an index, of nobody. */
	entry.set(cookie, cookie_ ^ (how == Refusals::Answer::wrong_cookie));
	entry.set(return_value, result.value);
	entry.set(minor_error, result.minor);
	entry.set(major_error, result.major);
	entry.set(wqe_index, how == Refusals::Answer::wrong_index ? (index + 1) % entries_ : index);
	entry.set(error, result.error);
	{
		TraceEvent line = rdma_.dev.trace.event("ccqe");
		decode(line, hw::layout("ccqe", fields), entry);
	}
	rdma_.cqs.post(ccq, entry, true, how == Refusals::Answer::wrong_polarity);
}

} // namespace e810
