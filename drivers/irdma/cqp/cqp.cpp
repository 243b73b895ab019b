// SPDX-License-Identifier: GPL-2.0
/*
 * The control QP; see cqp.h.
 *
 *            head: next command          a command's slot is taken from
 *              v                         here ...
 *   ring  | in flight | free | free | in flight | ...    2048 entries
 *                                        ... until the CCQ answers it
 *   CCQ   | answer: index in the ring, cookie, codes | ...    2049 entries
 *
 * Answers come in any order. The ring is full when the slot at head is still
 * taken, or all but one are: the device takes an equal producer and consumer
 * index for an empty ring. Then waiters queue in the backlog, and whoever takes
 * an answer posts for the first of them.
 *
 * One lock guards it all. It is held for a few memory accesses and a doorbell.
 */
#include "cqp.h"

#include "../base/atomic.h"
#include "../base/list.h"
#include "../base/trace.h"
#include "../device.h"
#include "../hw/cqe.h"
#include "../hw/limits.h"
#include "../hw/regs.h"
#include "commands.h"

namespace irdma {

namespace {

namespace reg = hw::reg;

/* The engine answers within a millisecond; what takes this long does not come any more. */
constexpr u32 deadline_ms = 10000;
/* The same while the device is being removed, when somebody waits for each object's end. */
constexpr u32 removal_deadline_ms = 2000;
/* A waiter looks this often whether there still is a control QP. */
constexpr u32 presence_ms = 500;
/* It looks at the CCQ itself after this time, in case that an interrupt was lost. */
constexpr u32 look_ms = 1000;
/* How a caller that may not sleep looks for the answer. */
constexpr u32 atomic_poll_us = 10;
constexpr u32 atomic_limit_us = 100 * 1000;
/* How long creating and destroying the control QP itself may take. */
constexpr u32 settle_ms = 1000;

constexpr u64 ns_per_us = 1000;
constexpr u64 ns_per_ms = 1000 * ns_per_us;

/* Comes back in each entry of the CCQ. */
constexpr u64 cookie = 0x4931524443515000;

/* In the page that holds what is small. */
constexpr u32 context_offset = 0;
constexpr u32 shadow_offset = 512;
constexpr u32 page_bytes = hw::page_size;

constexpr u32 ccq_shadow_threshold = 16;

/** What an error of the device means. */
struct ErrorCode {
	u16 major;
	u16 minor;
	bool any_minor;
	Error error;
	bool expected; /**< a race that callers know, or a matter of course */
	const char *name;
};

constexpr ErrorCode error_codes[] = {
	{hw::cqp_error::command, hw::cqp_error::invalid_state, false, Error::busy, true,
	 "object is in another state"},
	{hw::cqp_error::command, hw::cqp_error::no_wqe_to_flush, false, Error::no_entry, true,
	 "nothing to flush"},
	{hw::cqp_error::command, hw::cqp_error::bad_close, false, Error::io, true,
	 "connection was closed badly"},
	{hw::cqp_error::command, hw::cqp_error::connection_closed, false, Error::io, true,
	 "connection is closed"},
	{hw::cqp_error::command, hw::cqp_error::reset_not_sent, false, Error::io, true,
	 "reset was not sent"},
	{hw::cqp_error::command, hw::cqp_error::stag_invalid, false, Error::io, false,
	 "STag is not valid"},
	{hw::cqp_error::command, hw::cqp_error::suspend_pending, false, Error::busy, false,
	 "QP is being suspended"},
	{hw::cqp_error::command, hw::cqp_error::needs_reset, false, Error::io, false,
	 "engine needs a reset"},
	{hw::cqp_error::object_cache, 0, true, Error::no_memory, false,
	 "object has no memory behind it"},
	{hw::cqp_error::context_cache, 0, true, Error::no_memory, false,
	 "context has no memory behind it"},
};
constexpr ErrorCode unknown_error = {0, 0, true, Error::io, false, "unknown error"};

const ErrorCode &error_code(u16 major, u16 minor)
{
	for (const ErrorCode &code : error_codes)
		if (code.major == major && (code.any_minor || code.minor == minor))
			return code;
	return unknown_error;
}

/** A caller that waits, on its own stack; known to its slot, or in the backlog. */
struct Waiter {
	Waiter(hw::CqpOp o, const hw::CqpWqe &w) : op(o), wqe(w), node(this) {}

	const hw::CqpOp op;
	const hw::CqpWqe &wqe;
	CqpOutcome outcome = {};
	Completion done;
	ListNode<Waiter> node;
	bool posted = false;
	u64 posted_ns = 0;
};

/** One entry of the ring, while its command is in flight. */
struct Slot {
	bool taken = false;
	hw::CqpOp op = {};
	Waiter *waiter = nullptr; /**< null: nobody waits, or no more */
	CqpCallback callback = nullptr;
	void *arg = nullptr;
	u64 posted_ns = 0;
};

enum class Mode : u8 {
	none,	    /**< there is no control QP */
	registers,  /**< answers show in CQPTAIL */
	polling,    /**< answers are in the CCQ, without an interrupt */
	interrupts, /**< answers are announced by CEQ 0 */
};

} // namespace

struct Cqp::State {
	explicit State(Device &d) : device(d), watchdog(watch, this, SHIM_WORK_EVENTS) {}

	Status allocate();
	Status start_engine();
	Status stop_engine();

	bool room() const;
	bool forsake(u32 index, Waiter &me);
	Result<u32> result_of(const Waiter &me);
	void post(const hw::CqpWqe &wqe, const Slot &slot);
	void post_for(Waiter &waiter);
	void drain_backlog();
	Slot release(u32 index);

	bool take_answer(Slot &ended, CqpOutcome &outcome);
	u32 reap();
	void arm();

	void end_by_registers(Waiter &me, bool error);
	void wait_registers(Waiter &me, u32 tail);
	void wait_polling(Waiter &me);
	void wait_interrupt(Waiter &me);
	bool lost();
	bool time_is_up(const Waiter &me, u32 ms);
	void give_up(hw::CqpOp op);
	u32 check_unattended();

	void end(const Slot &slot, const CqpOutcome &outcome);
	CqpOutcome outcome_of(u16 major, u16 minor, u32 return_value, bool error) const;
	void log_error(hw::CqpOp op, const CqpOutcome &outcome);
	shim_traced_command describe(u32 index) const;
	void trace_end(u32 index, const CqpOutcome &outcome) const;
	static void watch(void *state);

	Device &device;
	SpinLock lock{SHIM_LOCK_CQP};
	DmaBuffer ring, ccq, page;
	Array<Slot> slots;
	List<Waiter> backlog;
	u32 backlog_length = 0;
	Mode mode = Mode::none;
	bool failed = false;
	Atomic<u32> deadline{deadline_ms};
	u32 head = 0, in_flight = 0;
	bool lap = true; /* valid bit of the entry at head */
	u32 ccq_next = 0;
	bool ccq_lap = true; /* valid bit of a new entry */
	u32 arm_sequence = 0;
	bool ccq_answers = false; /* it has held an entry */
	bool lost_interrupt_told = false;
	Work watchdog;
};

Cqp::Cqp(Device &device) : device_(device) {}
Cqp::~Cqp() = default;

const char *cqp_error_name(u16 major, u16 minor)
{
	return error_code(major, minor).name;
}

/* ---- The control QP itself ---- */

Status Cqp::State::allocate()
{
	auto new_slots = Array<Slot>::create(hw::cqp_ring_entries);
	auto new_ring = DmaBuffer::create(device.shim, hw::cqp_ring_entries * sizeof(hw::CqpWqe));
	auto new_page = DmaBuffer::create(device.shim, page_bytes);

	IRDMA_TRY(new_slots);
	IRDMA_TRY(new_ring);
	IRDMA_TRY(new_page);
	slots = new_slots.take();
	ring = new_ring.take();
	page = new_page.take();
	return {};
}

/* Hand the context to the engine and wait until it has taken it. */
Status Cqp::State::start_engine()
{
	namespace ctx = hw::cqp_context;
	auto &context = *page.as<hw::Words<8>>(context_offset);
	u64 bus = page.bus() + context_offset;

	context.set(ctx::sq_size, log2_floor(hw::cqp_ring_entries / 4) + 1);
	context.set(ctx::protocol, ctx::protocol_roce_only);
	context.set(ctx::sq_addr, ring.bus());
	context.set(ctx::hmc_profile, ctx::hmc_profile_default);
	context.set(ctx::cookie, cookie);
	context.set(ctx::major_version, ctx::major_version_gen2);

	device.write(reg::pfpe_cqptail, 0);
	device.write(reg::pfpe_cqpdb, 0);
	device.write(reg::pfpe_ccqpstatus, 0);
	dma_write_barrier();
	device.write(reg::pfpe_ccqphigh, static_cast<u32>(bus >> 32));
	device.write(reg::pfpe_ccqplow, static_cast<u32>(bus));

	for (u64 start = shim_now_ms();; shim_sleep_us(10)) {
		u32 status = device.read(reg::pfpe_ccqpstatus);

		if (reg::ccqpstatus_error.take(status)) {
			u32 codes = device.read(reg::pfpe_cqperrcodes);

			shim_log(device.shim, SHIM_ERR, "engine refuses the control QP: error %#x",
				 codes);
			return Error::io;
		}
		if (reg::ccqpstatus_done.take(status))
			return {};
		if (shim_now_ms() - start > settle_ms)
			return Error::timed_out;
	}
}

Status Cqp::State::stop_engine()
{
	device.write(reg::pfpe_ccqphigh, 0);
	device.write(reg::pfpe_ccqplow, 0);

	for (u64 start = shim_now_ms();; shim_sleep_us(10)) {
		u32 status = device.read(reg::pfpe_ccqpstatus);

		if (!reg::ccqpstatus_done.take(status) || status == ~0u)
			return {};
		if (shim_now_ms() - start > settle_ms)
			return Error::timed_out;
	}
}

Status Cqp::create()
{
	auto state = make<State>(device_);

	if (!state)
		return Error::no_memory;
	IRDMA_TRY(state->allocate());
	Status started = state->start_engine();
	state_ = move(state);
	if (started.ok())
		state_->mode = Mode::registers;
	else
		destroy();
	return started;
}

void Cqp::destroy()
{
	state_->watchdog.cancel();
	state_->mode = Mode::none;
	if (state_->stop_engine().ok()) {
		state_ = Owner<State>();
		return;
	}
	shim_log(
		device_.shim, SHIM_WARN,
		"engine does not let go of the control QP: memory that it may use stays allocated");
	device_.keep_memory();
}

bool Cqp::exists() const
{
	u32 status = device_.read(reg::pfpe_ccqpstatus);

	return status != ~0u && reg::ccqpstatus_done.take(status);
}

/* ---- CCQ ---- */

Status Cqp::create_ccq()
{
	auto ring = DmaBuffer::create(device_.shim, hw::ccq_entries * sizeof(hw::CcqEntry));

	IRDMA_TRY(ring);
	state_->ccq = ring.take();
	state_->mode = Mode::polling; /* its own creation is the first that it answers */

	auto created = run(cmd::CreateCq{
		.cq = hw::ccq_number,
		.ceq = 0,
		.entries = hw::ccq_entries,
		.context = hw::ccq_number,
		.memory = {.addr = state_->ccq.bus()},
		.shadow = state_->page.bus() + shadow_offset,
		.shadow_read_threshold = ccq_shadow_threshold,
		.vsi = device_.port.vsi,
		.check_overflow = true,
		.ceqe_mask = false,
	});
	if (!created.ok())
		state_->mode = Mode::registers;
	return created.status();
}

void Cqp::destroy_ccq()
{
	state_->mode = Mode::registers;
	auto destroyed = run(cmd::DestroyCq{
		.cq = hw::ccq_number,
		.ceq = 0,
		.entries = hw::ccq_entries,
		.context = hw::ccq_number,
		.memory = {.addr = state_->ccq.bus()},
		.shadow = state_->page.bus() + shadow_offset,
		.ceqe_mask = false,
	});
	if (!destroyed.ok())
		device_.graveyard.bury(move(state_->ccq));
}

void Cqp::start_interrupts()
{
	{
		SpinGuard guard(state_->lock);

		state_->mode = Mode::interrupts;
	}
	state_->arm();
}

void Cqp::stop_interrupts()
{
	SpinGuard guard(state_->lock);

	state_->mode = Mode::polling;
}

/** Have the next entry announced; at once if there is one already. */
void Cqp::State::arm()
{
	namespace shadow = hw::cq_shadow;
	SpinGuard guard(lock);
	auto &area = *page.as<hw::CqShadow>(shadow_offset);

	arm_sequence++;
	area.qw[shadow::arm_next.word].write_once(shadow::arm_next.put(1) |
						  shadow::arm_sequence.put(arm_sequence));
	dma_write_barrier();
	device.write(reg::pfpe_cqarm, hw::ccq_number);
}

void Cqp::on_ccq_event()
{
	state_->reap();
	state_->arm();
}

/* ---- Posting; the lock is held ---- */

bool Cqp::State::room() const
{
	return !slots[head].taken && in_flight < hw::cqp_ring_entries - 1;
}

void Cqp::State::post(const hw::CqpWqe &wqe, const Slot &slot)
{
	auto &entry = ring.as<hw::CqpWqe>()[head];
	constexpr unsigned header = hw::cqp::opcode.word;

	for (unsigned i = 0; i < hw::CqpWqe::count; i++)
		if (i != header)
			entry.qw[i] = wqe.qw[i];
	dma_write_barrier();
	entry.qw[header].write_once(wqe.qw[header].get() |
				    hw::cqp::opcode.put(static_cast<u64>(slot.op)) |
				    hw::cqp::valid.put(lap));

	slots[head] = slot;
	slots[head].taken = true;
	in_flight++;
	if (tracing(SHIM_TRACE_CQP_POST)) {
		const shim_traced_command command = describe(head);

		shim_trace_cqp_post(device.shim, &command);
	}
	if (++head == hw::cqp_ring_entries) {
		head = 0;
		lap = !lap;
	}
	dma_write_barrier();
	device.write(reg::pfpe_cqpdb, head);
}

void Cqp::State::post_for(Waiter &waiter)
{
	waiter.posted = true;
	waiter.posted_ns = shim_now_ns();
	post(waiter.wqe, {.op = waiter.op, .waiter = &waiter, .posted_ns = waiter.posted_ns});
}

void Cqp::State::drain_backlog()
{
	while (!backlog.empty() && room()) {
		backlog_length--;
		post_for(*backlog.pop_front());
	}
}

/** Free the slot of a command that has been answered; what it was. */
Slot Cqp::State::release(u32 index)
{
	Slot slot = slots[index];

	slots[index] = {};
	in_flight--;
	return slot;
}

Status Cqp::submit(hw::CqpOp op, hw::CqpWqe &wqe, CqpCallback done, void *arg)
{
	State &s = *state_;
	{
		SpinGuard guard(s.lock);

		if (s.failed || s.mode != Mode::interrupts)
			return Error::no_device;
		/* Those who wait come first. */
		if (!s.backlog.empty() || !s.room())
			return Error::again;
		s.post(wqe, {.op = op, .callback = done, .arg = arg, .posted_ns = shim_now_ns()});
	}
	s.watchdog.queue_ms(device_.shim, deadline_ms);
	return {};
}

Result<u32> Cqp::execute(hw::CqpOp op, hw::CqpWqe &wqe)
{
	State &s = *state_;
	Waiter me(op, wqe);
	u32 tail = 0;
	Mode mode;
	{
		SpinGuard guard(s.lock);

		mode = s.mode;
		if (s.failed || mode == Mode::none)
			return Error::no_device;
		if (mode == Mode::registers)
			tail = device_.read(reg::pfpe_cqptail);
		if (s.backlog.empty() && s.room()) {
			s.post_for(me);
		} else {
			s.backlog_length++;
			s.backlog.push_back(me.node);
		}
	}
	switch (mode) {
	case Mode::none:
	case Mode::registers:
		s.wait_registers(me, tail);
		break;
	case Mode::polling:
		s.wait_polling(me);
		break;
	case Mode::interrupts:
		s.wait_interrupt(me);
		break;
	}
	return s.result_of(me);
}

Result<u32> Cqp::State::result_of(const Waiter &me)
{
	if (!me.outcome.status.ok()) {
		log_error(me.op, me.outcome);
		return me.outcome.status;
	}
	return me.outcome.return_value;
}

Result<u32> Cqp::execute_atomic(hw::CqpOp op, hw::CqpWqe &wqe)
{
	State &s = *state_;
	Waiter me(op, wqe);
	u32 index;
	{
		SpinGuard guard(s.lock);

		if (s.failed || s.mode != Mode::interrupts)
			return Error::no_device;
		/* Those who wait come first. */
		if (!s.backlog.empty() || !s.room())
			return Error::again;
		index = s.head;
		s.post_for(me);
	}
	for (u32 us = 0; us < atomic_limit_us; us += atomic_poll_us) {
		shim_udelay(atomic_poll_us);
		/* Not armed: the event of its answer does that, whoever has taken the answer. */
		s.reap();
		if (me.done.try_wait())
			return s.result_of(me);
	}
	if (!s.forsake(index, me))
		return s.result_of(me);
	s.watchdog.queue_ms(device_.shim, deadline_ms);
	return Error::timed_out;
}

/** Nobody waits for the command of @me any more; false if it has just ended. */
bool Cqp::State::forsake(u32 index, Waiter &me)
{
	SpinGuard guard(lock);

	if (me.done.try_wait())
		return false;
	slots[index].waiter = nullptr;
	return true;
}

/* ---- Answers ---- */

CqpOutcome Cqp::State::outcome_of(u16 major, u16 minor, u32 return_value, bool error) const
{
	if (!error)
		return {.return_value = return_value, .minor = minor};
	return {.status = error_code(major, minor).error,
		.return_value = return_value,
		.major = major,
		.minor = minor};
}

/** The command in a slot that is taken. The lock is held. */
shim_traced_command Cqp::State::describe(u32 index) const
{
	const Slot &slot = slots[index];
	const hw::Field *object = hw::cqp_object(slot.op);

	return {.name = hw::cqp_layout(static_cast<u32>(slot.op)).name,
		.object = object ? object->name : "-",
		.number = object ? static_cast<u32>(ring.as<hw::CqpWqe>()[index].get(*object)) : 0,
		.slot = index,
		.in_flight = in_flight};
}

/** Tell listeners of the end of a command, whose slot is still taken. The lock is held. */
void Cqp::State::trace_end(u32 index, const CqpOutcome &outcome) const
{
	if (!tracing(SHIM_TRACE_CQP_DONE))
		return;
	shim_traced_command command = describe(index);

	command.us = (shim_now_ns() - slots[index].posted_ns) / ns_per_us;
	command.error = outcome.status.code();
	command.major = outcome.major;
	command.minor = outcome.minor;
	command.value = outcome.return_value;
	if (outcome.status.ok())
		command.result = "ok";
	else if (outcome.status.is(Error::no_device))
		command.result = "no answer";
	else
		command.result = cqp_error_name(outcome.major, outcome.minor);
	shim_trace_cqp_done(device.shim, &command);
}

/** Wake who waits for the command of @slot. The lock is held; callbacks are the caller's. */
void Cqp::State::end(const Slot &slot, const CqpOutcome &outcome)
{
	if (!slot.waiter)
		return;
	slot.waiter->outcome = outcome;
	slot.waiter->done.complete();
}

/**
 * Take one entry of the CCQ. The lock is held.
 *
 * Return: whether there was one; @ended is not taken if the entry answers no command.
 */
bool Cqp::State::take_answer(Slot &ended, CqpOutcome &outcome)
{
	namespace f = hw::ccqe;

	if (mode != Mode::polling && mode != Mode::interrupts)
		return false;

	auto &entry = ccq.as<hw::CcqEntry>()[ccq_next];
	u64 last = entry.qw[f::valid.word].read_once();

	if (f::valid.take(last) != ccq_lap)
		return false;
	dma_read_barrier();
	u64 entry_cookie = entry.get(f::cookie);
	u32 return_value = static_cast<u32>(entry.get(f::return_value));
	u32 index = static_cast<u32>(f::wqe_index.take(last));

	ccq_answers = true;
	if (++ccq_next == hw::ccq_entries) {
		ccq_next = 0;
		ccq_lap = !ccq_lap;
	}
	page.as<hw::CqShadow>(shadow_offset)->qw[0].write_once(ccq_next);

	if (entry_cookie != cookie || index >= hw::cqp_ring_entries || !slots[index].taken) {
		shim_log_limited(device.shim, SHIM_WARN,
				 "dropped an answer of the control QP: %s (index %u, cookie %#llx)",
				 entry_cookie != cookie ? "it is another's"
							: "no such command is in flight",
				 index, entry_cookie);
		ended = {};
		return true;
	}
	outcome = outcome_of(static_cast<u16>(f::major_error.take(last)),
			     static_cast<u16>(f::minor_error.take(last)), return_value,
			     f::error.take(last));
	trace_end(index, outcome);
	ended = release(index);
	end(ended, outcome);
	drain_backlog();
	return true;
}

/** Take what the CCQ holds, one ring of it at most; how many entries. Any context. */
u32 Cqp::State::reap()
{
	u32 taken = 0;
	bool fatal = false;

	Calling calling(device.cqp);
	for (; taken < hw::cqp_ring_entries; taken++) {
		CqpOutcome outcome = {};
		Slot ended = {};
		{
			SpinGuard guard(lock);

			if (!take_answer(ended, outcome))
				break;
		}
		if (!outcome.status.ok() && outcome.major == hw::cqp_error::command &&
		    outcome.minor == hw::cqp_error::needs_reset)
			fatal = true;
		if (ended.waiter || !ended.taken)
			continue;
		if (!outcome.status.ok())
			log_error(ended.op, outcome);
		if (ended.callback)
			ended.callback(ended.arg, outcome);
	}
	if (fatal)
		device.declare_dead("the engine asks for a reset");
	return taken;
}

void Cqp::State::log_error(hw::CqpOp op, const CqpOutcome &outcome)
{
	const ErrorCode &code = error_code(outcome.major, outcome.minor);
	const char *name = hw::cqp_layout(static_cast<u32>(op)).name;

	if (outcome.status.code() == -static_cast<int>(Error::no_device))
		return; /* said once, when the device was declared dead */
	shim_log_limited(device.shim, code.expected ? SHIM_DBG : SHIM_WARN,
			 "command %s failed: %s (major %#x, minor %#x)", name, code.name,
			 outcome.major, outcome.minor);
}

/* ---- Waiting ---- */

void Cqp::State::give_up(hw::CqpOp op)
{
	shim_log(device.shim, SHIM_ERR, "command %s was not answered within %u s",
		 hw::cqp_layout(static_cast<u32>(op)).name, deadline.load() / 1000);
	device.declare_dead("the control QP has stopped");
}

/** Whether the control QP is gone without our doing; then all commands have ended. */
bool Cqp::State::lost()
{
	if (device.cqp.exists())
		return false;
	device.on_lost();
	return true;
}

/** The command of @me, posted last, has ended. */
void Cqp::State::end_by_registers(Waiter &me, bool error)
{
	u32 codes = error ? device.read(reg::pfpe_cqperrcodes) : 0;
	SpinGuard guard(lock);
	u32 index = (head + hw::cqp_ring_entries - 1) % hw::cqp_ring_entries;

	me.outcome = outcome_of(static_cast<u16>(reg::cqperrcodes_major.take(codes)),
				static_cast<u16>(reg::cqperrcodes_minor.take(codes)), 0, error);
	trace_end(index, me.outcome);
	release(index);
}

/** Before the CCQ: the command has ended when the consumer index is no longer @tail. */
void Cqp::State::wait_registers(Waiter &me, u32 tail)
{
	for (u64 start = shim_now_ms(); !me.done.try_wait(); shim_sleep_us(10)) {
		u32 now = device.read(reg::pfpe_cqptail);
		bool error = reg::cqptail_error.take(now);

		u64 ms = shim_now_ms() - start;

		if ((now == ~0u || ms > presence_ms) && lost()) {
			me.done.wait();
			return;
		}
		if (ms > deadline.load()) {
			give_up(me.op); /* completes it */
			me.done.wait();
			return;
		}
		if (!error && reg::cqptail_index.take(now) == reg::cqptail_index.take(tail))
			continue;

		return end_by_registers(me, error);
	}
}

/** The CCQ has no interrupt yet, or no more. */
void Cqp::State::wait_polling(Waiter &me)
{
	for (u64 start = shim_now_ms();; shim_sleep_us(10)) {
		reap();
		if (me.done.try_wait())
			return;
		u32 tail = device.read(reg::pfpe_cqptail);
		if (!ccq_answers && tail != ~0u && reg::cqptail_error.take(tail))
			return end_by_registers(me, true); /* there is no CCQ to say so */
		u64 ms = shim_now_ms() - start;
		if (ms <= deadline.load() && (ms <= presence_ms || !lost()))
			continue;
		if (ms > deadline.load())
			give_up(me.op);
		me.done.wait();
		return;
	}
}

/** Whether the command of @me was posted @ms ago or longer; not while it is in the backlog. */
bool Cqp::State::time_is_up(const Waiter &me, u32 ms)
{
	SpinGuard guard(lock);

	return me.posted && shim_now_ns() - me.posted_ns >= ms * ns_per_ms;
}

void Cqp::State::wait_interrupt(Waiter &me)
{
	while (!me.done.wait_ms(presence_ms)) {
		if (lost()) {
			me.done.wait();
			return;
		}
		if (!time_is_up(me, look_ms))
			continue;
		if (reap() && !exchange(lost_interrupt_told, true))
			shim_log(device.shim, SHIM_INFO,
				 "a command was completed without an interrupt");
		if (me.done.try_wait())
			return;
		arm();
		if (time_is_up(me, deadline.load())) {
			give_up(me.op); /* completes it */
			me.done.wait();
			return;
		}
	}
}

/**
 * Commands without a waiter have a deadline as well.
 *
 * Return: milliseconds until the oldest of them has none left; 0: there is no such command.
 */
u32 Cqp::State::check_unattended()
{
	hw::CqpOp oldest = {};
	u64 age = 0;
	bool unattended = false;

	reap();
	{
		SpinGuard guard(lock);
		u64 now = shim_now_ns();

		for (u32 i = 0; i < hw::cqp_ring_entries && !failed; i++) {
			const Slot &slot = slots[i];

			if (!slot.taken || slot.waiter)
				continue;
			u64 slot_age = (now - slot.posted_ns) / ns_per_ms;
			if (!unattended || slot_age > age) {
				oldest = slot.op;
				age = slot_age;
			}
			unattended = true;
		}
	}
	u32 limit = deadline.load();
	if (unattended && age < limit)
		return static_cast<u32>(limit - age);
	if (unattended)
		give_up(oldest);
	return 0;
}

void Cqp::State::watch(void *arg)
{
	State &s = *static_cast<State *>(arg);

	if (u32 ms = s.check_unattended())
		s.watchdog.queue_ms(s.device.shim, ms);
}

/* ---- What administrators see ---- */

static const char *mode_name(Mode mode)
{
	switch (mode) {
	case Mode::none:
		return "none";
	case Mode::registers:
		return "registers";
	case Mode::polling:
		return "polling";
	case Mode::interrupts:
		return "interrupts";
	}
	return "unknown";
}

/** Slot by slot, so that the lock is never held for long. */
void Cqp::show(shim_text *text) const
{
	State &s = *state_;

	{
		SpinGuard guard(s.lock);

		shim_print(text, "entries %u\nhead %u\nin_flight %u\nbacklog %u\nanswers_by %s\n",
			   hw::cqp_ring_entries, s.head, s.in_flight, s.backlog_length,
			   s.failed ? "none, the device is dead" : mode_name(s.mode));
	}
	shim_print(text, "%-5s %-20s %-10s %10s %s\n", "slot", "command", "object", "age_us",
		   "who");
	for (u32 i = 0; i < hw::cqp_ring_entries; i++) {
		shim_traced_command command;
		Slot slot;
		{
			SpinGuard guard(s.lock);

			slot = s.slots[i];
			if (slot.taken)
				command = s.describe(i);
		}
		if (!slot.taken)
			continue;
		shim_print(text, "%-5u %-20s %-5s %-4u %10llu %s\n", i, command.name,
			   command.object, command.number,
			   (shim_now_ns() - slot.posted_ns) / ns_per_us,
			   slot.waiter	   ? "waits"
			   : slot.callback ? "will be called"
					   : "nobody");
	}
}

void Cqp::drain()
{
	while (state_->check_unattended() || calling_.load())
		shim_sleep_us(100);
}

void Cqp::hurry()
{
	state_->deadline.store(removal_deadline_ms);
}

void Cqp::fail_all()
{
	const CqpOutcome gone = {.status = Error::no_device};

	if (!state_)
		return;
	State &s = *state_;
	Calling calling(*this);
	{
		SpinGuard guard(s.lock);

		s.failed = true;
		s.backlog_length = 0;
		while (Waiter *waiter = s.backlog.pop_front()) {
			waiter->outcome = gone;
			waiter->done.complete();
		}
	}
	/* The slots stay taken: the device may still answer, but to nobody. */
	for (u32 i = 0; i < hw::cqp_ring_entries; i++) {
		Slot slot;
		{
			SpinGuard guard(s.lock);

			slot = s.slots[i];
			if (slot.taken)
				s.trace_end(i, gone);
			s.end(slot, gone);
			s.slots[i].waiter = nullptr;
			s.slots[i].callback = nullptr;
		}
		if (slot.callback)
			slot.callback(slot.arg, gone);
	}
}

} // namespace irdma
