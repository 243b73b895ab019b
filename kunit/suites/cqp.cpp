// SPDX-License-Identifier: GPL-2.0
/*
 * The control QP on an engine that is obedient, slow, failing or lying. What
 * is asked of the driver: each command ends once, with what its own answer
 * said; a late or made-up answer meets nobody; an engine that stops is given
 * up within the deadline, once, and nobody waits for it any more.
 */
#include "cqp/commands.h"
#include "fake/rig.h"
#include "hw/regs.h"

using namespace irdma;
using namespace irdma::fake;
using namespace irdma::test;

namespace {

constexpr u64 deadline = 10 * World::second;

/** Runs a command that needs no object; its status. */
Result<u32> gather(Rig &rig, DmaBuffer &buffer)
{
	return rig.device().cqp.run(cmd::GatherStats{.buffer = buffer.bus()});
}

/** A rig that is up, with a buffer for commands. */
struct CqpScene : Scene {
	DmaBuffer buffer;

	CqpScene()
	{
		if (!ready)
			return;
		auto memory = DmaBuffer::create(rig->world().shim(), 1024);
		ready = memory.ok();
		buffer = memory.take();
	}
	Result<u32> run() { return gather(*rig, buffer); }
};

/* What callbacks have seen. */
struct Seen {
	u32 calls = 0;
	int code = 1;
	u16 major = 0, minor = 0;

	static void call(void *arg, const CqpOutcome &outcome)
	{
		Seen &seen = *static_cast<Seen *>(arg);

		seen.calls++;
		seen.code = outcome.status.code();
		seen.major = outcome.major;
		seen.minor = outcome.minor;
	}
};

/* ---- Obedient ---- */

/* Over more than two laps of both rings, which have different sizes. */
void answers_over_many_laps()
{
	CqpScene s;
	REQUIRE(s.ready);
	auto value = [](const Command &c, Answer &a) { a.value = c.index * 3 + 1; };

	s.engine().on_command = value;
	for (u32 i = 0; i < 5000; i++) {
		u32 index = (s.engine().last().index + 1) % 2048;
		auto done = s.run();

		if (!EXPECT(done.ok()) || !EXPECT_EQ(done.value(), index * 3 + 1))
			return;
	}
	EXPECT_EQ(s.world().lines(SHIM_WARN), 0);
}

/* The ring holds one command less than it has entries; those beyond are refused, not lost. */
void ring_fills_up()
{
	CqpScene s;
	REQUIRE(s.ready);
	u64 n = 0;
	auto slow = [&n](const Command &, Answer &a) {
		a.delay = World::second + n++ * 10 * World::us;
	};
	static Seen seen[2100];
	u32 posted = 0;

	for (Seen &one : seen)
		one = {};
	s.engine().on_command = slow;
	while (posted < 2100 &&
	       s.rig->device()
		       .cqp
		       .post(cmd::GatherStats{.buffer = s.buffer.bus()}, Seen::call, &seen[posted])
		       .ok())
		posted++;
	EXPECT_EQ(posted, 2047);
	EXPECT_EQ(s.rig->device().cqp.post(cmd::GatherStats{.buffer = s.buffer.bus()}).code(),
		  -SHIM_EAGAIN);
	EXPECT_EQ(s.rig->device().cqp.run_atomic(cmd::GatherStats{.buffer = s.buffer.bus()}).code(),
		  -SHIM_EAGAIN);
	/* Those that may wait queue behind them. */
	auto another = [](void *scene, u64) { EXPECT(static_cast<CqpScene *>(scene)->run().ok()); };
	s.world().after(World::ms, another, &s);
	EXPECT(s.run().ok());
	s.world().pass(3 * World::second);
	for (u32 i = 0; i < posted; i++)
		if (seen[i].calls != 1 || seen[i].code)
			return FAIL("command %u was told %u times, %d", i, seen[i].calls,
				    seen[i].code);
	EXPECT_EQ(seen[posted].calls, 0);
}

/* Each answer goes to its own command, in whatever order they come. */
void answers_in_any_order()
{
	CqpScene s;
	REQUIRE(s.ready);
	static Seen seen[64];
	auto shuffled = [](const Command &c, Answer &a) {
		a.delay = (1 + c.index * 37 % 64) * World::ms;
		a.error = c.index % 2;
		a.major = 0xffff;
		a.minor = static_cast<u16>(0x100 + c.index);
	};

	for (Seen &one : seen)
		one = {};
	s.engine().on_command = shuffled;
	u32 first = (s.engine().last().index + 1) % 2048;
	for (Seen &one : seen)
		EXPECT(s.rig->device()
			       .cqp
			       .post(cmd::GatherStats{.buffer = s.buffer.bus()}, Seen::call, &one)
			       .ok());
	s.world().pass(World::second);
	for (u32 i = 0; i < 64; i++) {
		u32 index = first + i;

		EXPECT_EQ(seen[i].calls, 1);
		EXPECT_EQ(seen[i].code, index % 2 ? -SHIM_EIO : 0);
		EXPECT_EQ(seen[i].minor, 0x100 + index);
	}
}

/* ---- Failing ---- */

struct Code {
	u16 major, minor;
	int error;
	bool warned;
};

/* What each error of the device is to the caller, and whether it is worth a line. */
constexpr Code codes[] = {
	{0xffff, 0x8002, -SHIM_EBUSY, false}, {0xffff, 0x8006, -SHIM_ENOENT, false},
	{0xffff, 0x8007, -SHIM_EIO, false},   {0xffff, 0x8009, -SHIM_EIO, false},
	{0xffff, 0x800a, -SHIM_EIO, false},   {0xffff, 0x0001, -SHIM_EIO, true},
	{0xffff, 0x0005, -SHIM_EBUSY, true},  {0xf000, 0x0000, -SHIM_ENOMEM, true},
	{0xf000, 0x1234, -SHIM_ENOMEM, true}, {0xf001, 0x0007, -SHIM_ENOMEM, true},
	{0xffff, 0x7777, -SHIM_EIO, true},    {0x0000, 0x0000, -SHIM_EIO, true},
	{0x1234, 0x8002, -SHIM_EIO, true},
};

void errors_of_the_device()
{
	CqpScene s;
	REQUIRE(s.ready);

	for (const Code &c : codes) {
		auto failing = [&c](const Command &, Answer &a) { a.fail(c.major, c.minor); };

		s.engine().on_command = failing;
		s.world().forget_log();
		auto done = s.run();
		if (done.code() != c.error)
			FAIL("%x/%x is %d, not %d", c.major, c.minor, done.code(), c.error);
		EXPECT_EQ(s.world().lines(SHIM_WARN), c.warned);
		EXPECT(s.world().said("gather_stats"));
		EXPECT(*cqp_error_name(c.major, c.minor));
	}
	EXPECT(!s.rig->device().dead());
	s.engine().on_command = {};
	EXPECT(s.run().ok());
}

/* The same for commands that nobody waits for. */
void errors_without_a_waiter()
{
	CqpScene s;
	REQUIRE(s.ready);
	Seen seen;
	auto failing = [](const Command &, Answer &a) { a.fail(0xffff, 1); };

	s.engine().on_command = failing;
	EXPECT(s.rig->device()
		       .cqp.post(cmd::GatherStats{.buffer = s.buffer.bus()}, Seen::call, &seen)
		       .ok());
	EXPECT(s.rig->device().cqp.post(cmd::GatherStats{.buffer = s.buffer.bus()}).ok());
	s.world().settle();
	EXPECT_EQ(seen.calls, 1);
	EXPECT_EQ(seen.code, -SHIM_EIO);
	EXPECT_EQ(s.world().lines(SHIM_WARN), 2);
}

void engine_that_asks_for_a_reset()
{
	CqpScene s;
	REQUIRE(s.ready);
	auto failing = [](const Command &, Answer &a) { a.fail(0xffff, 0x8029); };

	s.rig->announce();
	s.engine().on_command = failing;
	EXPECT_EQ(s.run().code(), -SHIM_EIO);
	EXPECT(s.rig->device().dead());
	EXPECT_EQ(s.run().code(), -SHIM_ENODEV);
	s.world().settle();
	EXPECT_EQ(s.world().fatal, 1);
	EXPECT_EQ(s.world().resets, 1);
}

/* ---- Slow ---- */

/* Nine seconds are not ten. */
void slow_answers_are_waited_for()
{
	CqpScene s;
	REQUIRE(s.ready);
	auto slow = [](const Command &, Answer &a) {
		a.delay = 9 * World::second;
		a.value = 77;
	};

	s.engine().on_command = slow;
	auto done = s.run();
	EXPECT(done.ok());
	EXPECT_EQ(done.value(), 77);
	EXPECT(!s.rig->device().dead());
}

void silence_is_given_up()
{
	CqpScene s;
	REQUIRE(s.ready);
	auto silent = [](const Command &, Answer &a) { a.silent = true; };
	u64 start = s.world().now();

	s.rig->announce();
	s.engine().on_command = silent;
	EXPECT_EQ(s.run().code(), -SHIM_ENODEV);
	EXPECT(s.world().now() - start >= deadline);
	EXPECT(s.world().now() - start <= deadline + 2 * World::second);
	EXPECT(s.rig->device().dead());
	EXPECT(s.world().said("gather_stats was not answered"));
	EXPECT_EQ(s.world().fatal, 1);

	/* Nobody waits any more, and nothing is written to the device. */
	u32 commands = s.engine().commands;
	start = s.world().now();
	EXPECT_EQ(s.run().code(), -SHIM_ENODEV);
	EXPECT_EQ(s.rig->device().cqp.post(cmd::GatherStats{.buffer = s.buffer.bus()}).code(),
		  -SHIM_ENODEV);
	EXPECT_EQ(s.world().now(), start);
	EXPECT_EQ(s.engine().commands, commands);
}

/* Commands without a waiter have the same deadline, and their callback is called. */
void silence_without_a_waiter()
{
	CqpScene s;
	REQUIRE(s.ready);
	auto silent = [](const Command &, Answer &a) { a.silent = true; };
	Seen seen, later;

	s.engine().on_command = silent;
	EXPECT(s.rig->device()
		       .cqp.post(cmd::GatherStats{.buffer = s.buffer.bus()}, Seen::call, &seen)
		       .ok());
	s.world().pass(6 * World::second);
	EXPECT(s.rig->device()
		       .cqp.post(cmd::GatherStats{.buffer = s.buffer.bus()}, Seen::call, &later)
		       .ok());
	EXPECT_EQ(seen.calls, 0);
	s.world().pass(5 * World::second);
	EXPECT_EQ(seen.calls, 1);
	EXPECT_EQ(seen.code, -SHIM_ENODEV);
	EXPECT_EQ(later.calls, 1);
	EXPECT(s.rig->device().dead());
}

/* The watchdog goes by the oldest that is still out. */
void watchdog_follows_the_oldest()
{
	CqpScene s;
	REQUIRE(s.ready);
	Seen seen;
	u32 n = 0;
	auto slow = [&n](const Command &, Answer &a) {
		a.delay = ++n == 1 ? 8 * World::second : 9 * World::second;
	};

	s.engine().on_command = slow;
	EXPECT(s.rig->device()
		       .cqp.post(cmd::GatherStats{.buffer = s.buffer.bus()}, Seen::call, &seen)
		       .ok());
	s.world().pass(7 * World::second);
	EXPECT(s.rig->device().cqp.post(cmd::GatherStats{.buffer = s.buffer.bus()}).ok());
	s.world().pass(8 * World::second); /* the second is 8 s old at 15 s */
	EXPECT_EQ(seen.calls, 1);
	EXPECT(!s.rig->device().dead());
	s.world().pass(20 * World::second);
	EXPECT(!s.rig->device().dead());
}

/* An answer that comes after its command was given up meets nobody. */
void late_answers_meet_nobody()
{
	CqpScene s;
	REQUIRE(s.ready);
	auto late = [](const Command &, Answer &a) { a.delay = 30 * World::second; };
	Seen seen;

	s.engine().on_command = late;
	EXPECT(s.rig->device()
		       .cqp.post(cmd::GatherStats{.buffer = s.buffer.bus()}, Seen::call, &seen)
		       .ok());
	EXPECT_EQ(s.run().code(), -SHIM_ENODEV);
	EXPECT_EQ(seen.calls, 1);
	s.world().pass(60 * World::second);
	EXPECT_EQ(seen.calls, 1);
}

/* Who waits in the backlog is told of the end as well. */
void backlog_ends_with_the_device()
{
	CqpScene s;
	REQUIRE(s.ready);
	auto silent = [](const Command &, Answer &a) { a.silent = true; };

	s.engine().on_command = silent;
	while (s.rig->device().cqp.post(cmd::GatherStats{.buffer = s.buffer.bus()}).ok())
		;
	EXPECT_EQ(s.run().code(), -SHIM_ENODEV); /* queued; the watchdog gives up */
	EXPECT(s.rig->device().dead());
}

/* ---- Lost interrupts, lost devices ---- */

void answers_without_an_interrupt()
{
	CqpScene s;
	REQUIRE(s.ready);
	auto quiet = [](const Command &, Answer &a) { a.no_interrupt = true; };

	s.engine().on_command = quiet;
	s.world().forget_log();
	for (u32 i = 0; i < 3; i++) {
		u64 start = s.world().now();

		EXPECT(s.run().ok());
		EXPECT(s.world().now() - start <= 2 * World::second);
	}
	EXPECT_EQ(s.world().lines(SHIM_INFO), 1); /* said once */
	s.engine().on_command = {};
	u64 start = s.world().now();
	EXPECT(s.run().ok());
	EXPECT(s.world().now() - start < World::second);
}

void device_off_the_bus()
{
	CqpScene s;
	REQUIRE(s.ready);
	u64 start = s.world().now();
	u32 resets = s.world().resets;

	s.rig->announce();
	s.engine().gone = true;
	EXPECT_EQ(s.run().code(), -SHIM_ENODEV);
	EXPECT(s.world().now() - start <= 2 * World::second);
	EXPECT(s.rig->device().dead());
	s.world().pass(World::second);
	EXPECT_EQ(s.world().resets, resets); /* nothing to reset */
	EXPECT_EQ(s.world().fatal, 1);
}

void device_reset_by_others()
{
	CqpScene s;
	REQUIRE(s.ready);
	auto reset = [&s](const Command &, Answer &a) {
		a.silent = true;
		s.world().after(
			World::us, [](void *e, u64) { static_cast<Engine *>(e)->reset(); },
			&s.engine());
	};

	s.engine().on_command = reset;
	EXPECT_EQ(s.run().code(), -SHIM_ENODEV);
	EXPECT(s.rig->device().dead());
	EXPECT(s.world().said("was reset or is off the bus"));
}

/* ---- Lying ---- */

/* Each answer twice: the second is of no command, and is dropped with a word. */
void answers_twice()
{
	CqpScene s;
	REQUIRE(s.ready);
	auto twice = [](const Command &c, Answer &a) {
		a.copies = 2;
		a.value = c.index;
	};

	s.engine().on_command = twice;
	for (u32 i = 0; i < 40; i++) {
		u32 index = (s.engine().last().index + 1) % 2048;
		auto done = s.run();

		EXPECT(done.ok());
		EXPECT_EQ(done.value(), index);
		s.world().settle();
	}
	EXPECT(s.world().said("no such command is in flight"));
	EXPECT(!s.rig->device().dead());
}

/* An answer to another index: never mistaken for one's own; the real one counts. */
void answers_with_a_wrong_index()
{
	CqpScene s;
	REQUIRE(s.ready);
	Seen seen;

	constexpr u32 indexes[] = {2048, 0x7fff, 5, 2047};

	for (u32 index : indexes) {
		auto wrong = [index](const Command &, Answer &a) {
			a.index = index;
			a.delay = World::us;
		};
		s.engine().on_command = wrong;
		EXPECT(s.rig->device()
			       .cqp
			       .post(cmd::GatherStats{.buffer = s.buffer.bus()}, Seen::call, &seen)
			       .ok());
		u32 own = (s.engine().last().index + 1) % 2048;
		s.world().settle();
		EXPECT_EQ(seen.calls, 0);
		EXPECT(s.world().said("no such command is in flight"));
		s.engine().stray_answer(own, 0);
		s.world().settle();
		EXPECT_EQ(seen.calls, 1);
		seen = {};
	}
}

void answers_with_another_cookie()
{
	CqpScene s;
	REQUIRE(s.ready);
	Seen seen;

	for (u32 bit = 0; bit < 64; bit += 7) {
		s.engine().stray_answer(3, 1ULL << bit);
		s.engine().interrupt_ceq(0);
		s.world().settle();
	}
	auto wrong = [](const Command &, Answer &a) { a.cookie_flip = 1; };
	s.engine().on_command = wrong;
	EXPECT_EQ(s.run().code(), -SHIM_ENODEV); /* as good as no answer */
	EXPECT(s.world().said("it is another's"));
}

/* A CCQ whose every entry looks new: one ring of it is looked at, not more. */
void ccq_that_never_ends()
{
	CqpScene s;
	REQUIRE(s.ready);
	auto &ring = s.engine().cq(0).ring;
	auto *ccq = static_cast<hw::CcqEntry *>(s.world().dma(ring.bus, 2049 * 32));
	auto *shadow = s.world().dma_as<hw::CqShadow>(s.engine().cq(0).shadow_bus);

	REQUIRE(ccq && shadow);
	for (u32 i = 0; i < 2049; i++)
		ccq[i].set(hw::ccqe::valid, i < ring.next ? !ring.lap : ring.lap);
	/* So far has the engine come, then. */
	ring.next += 2048;
	if (ring.next >= 2049) {
		ring.next -= 2049;
		ring.lap = !ring.lap;
	}
	s.rig->device().cqp.on_ccq_event();
	EXPECT_EQ(shadow->get(hw::cq_shadow::consumer_index), ring.next);
	EXPECT(s.world().said("it is another's"));
	EXPECT(!s.rig->device().dead());
	EXPECT(s.run().ok());
}

/* Polarity: an entry of the lap before is none. */
void entries_of_the_lap_before()
{
	CqpScene s;
	REQUIRE(s.ready);
	auto &ccq = s.engine().cq(0).ring;
	auto *entry = static_cast<hw::CcqEntry *>(s.world().dma(ccq.bus, 2049 * 32));
	Seen seen;
	auto silent = [](const Command &, Answer &a) { a.silent = true; };

	REQUIRE(entry != nullptr);
	s.engine().on_command = silent;
	u32 own = (s.engine().last().index + 1) % 2048;
	EXPECT(s.rig->device()
		       .cqp.post(cmd::GatherStats{.buffer = s.buffer.bus()}, Seen::call, &seen)
		       .ok());
	s.world().settle();
	hw::CcqEntry &next = entry[ccq.next];
	next.set(hw::ccqe::cookie, 0x4931524443515000);
	next.set(hw::ccqe::wqe_index, own);
	next.set(hw::ccqe::valid, !ccq.lap);
	s.rig->device().cqp.on_ccq_event();
	EXPECT_EQ(seen.calls, 0);
	next.set(hw::ccqe::valid, ccq.lap);
	ccq.next++;
	s.rig->device().cqp.on_ccq_event();
	EXPECT_EQ(seen.calls, 1);
}

/* The end waits for what was posted, be it late; what has no answer ends without. */
void end_with_commands_posted()
{
	constexpr bool ways[] = {true, false};

	for (bool answered : ways) {
		CqpScene s;
		REQUIRE(s.ready);
		s.world().least_sleep = World::ms;
		Seen seen;
		auto late = [answered](const Command &c, Answer &a) {
			if (c.op != hw::CqpOp::gather_stats)
				return;
			a.silent = !answered;
			a.delay = 300 * World::ms;
		};
		s.engine().on_command = late;
		EXPECT(s.rig->device()
			       .cqp
			       .post(cmd::GatherStats{.buffer = s.buffer.bus()}, Seen::call, &seen)
			       .ok());
		EXPECT_EQ(seen.calls, 0);
		s.rig->stop();
		EXPECT_EQ(seen.calls, 1);
		EXPECT_EQ(seen.code, answered ? 0 : -SHIM_ENODEV);
		EXPECT_EQ(s.world().said("was not answered"), !answered);
	}
}

/* Another CPU calls what was posted, or has just found the device dead: the end waits for it. */
void end_while_another_is_calling()
{
	alignas(Cqp::Calling) static u8 room[sizeof(Cqp::Calling)];
	CqpScene s;
	REQUIRE(s.ready);
	auto through = [](void *calling, u64) { static_cast<Cqp::Calling *>(calling)->~Calling(); };

	s.world().after(300 * World::ms, through, new (room) Cqp::Calling(s.rig->device().cqp));
	s.buffer.reset();
	u64 start = s.world().now();
	s.rig->stop();
	EXPECT(s.world().now() - start >= 300 * World::ms);
}

/* An interrupt that comes when the CCQ is on its way out finds nothing there. */
void interrupt_as_the_ccq_goes()
{
	CqpScene s;
	REQUIRE(s.ready);
	Cqp *cqp = &s.rig->device().cqp;
	auto interrupting = [cqp](const Command &c, Answer &) {
		if (c.op == hw::CqpOp::destroy_cq && !c.get(hw::cqp_cq::cq))
			cqp->on_ccq_event();
	};

	s.engine().on_command = interrupting;
	s.rig->stop();
	EXPECT(!s.world().said("dropped an answer"));
}

/* ---- A ring that is not free in order ---- */

/** Commands that nobody waits for, the first of which the engine swallows. */
struct Swallowed {
	CqpScene s;
	Seen seen;
	u32 index = 0;

	/** Posts the silent one at @at, or where the ring is if that is ~0. */
	bool post(u32 at = ~0u)
	{
		while (at != ~0u && s.engine().last().index != (at + 2047) % 2048)
			if (!s.run().ok())
				return false;
		auto silent = [](const Command &, Answer &a) { a.silent = true; };
		s.engine().on_command = silent;
		bool posted = gather_later(&seen).ok();
		s.world().settle();
		s.engine().on_command = {};
		index = s.engine().last().index;
		return posted;
	}
	Status gather_later(Seen *told)
	{
		return s.rig->device().cqp.post(cmd::GatherStats{.buffer = s.buffer.bus()},
						told ? Seen::call : nullptr, told);
	}
	Result<u32> gather_atomic()
	{
		return s.rig->device().cqp.run_atomic(cmd::GatherStats{.buffer = s.buffer.bus()});
	}
};

/* A lap later its slot is still taken: others wait for it, whatever else is answered. */
void slot_that_is_not_free()
{
	Swallowed one;
	CqpScene &s = one.s;
	REQUIRE(s.ready && one.post());
	u32 refused = 0;
	bool inner = false;

	for (u32 i = 0; i < 2046; i++)
		if (!EXPECT(s.run().ok()))
			return;
	auto slow = [](const Command &, Answer &a) { a.delay = 500 * World::ms; };
	s.engine().on_command = slow;
	EXPECT(one.gather_later(nullptr).ok()); /* answered while others wait */
	s.world().settle();
	s.engine().on_command = {};
	EXPECT_EQ(one.gather_later(nullptr).code(), -SHIM_EAGAIN);
	EXPECT_EQ(one.gather_atomic().code(), -SHIM_EAGAIN);
	struct Others {
		Swallowed &one;
		u32 &refused;
		bool &inner;
	} others{one, refused, inner};
	auto meanwhile = [](void *arg, u64) {
		Others &o = *static_cast<Others *>(arg);

		/* Those that wait come first. */
		o.refused += o.one.gather_later(nullptr).is(Error::again);
		o.refused += o.one.gather_atomic().code() == -SHIM_EAGAIN;
		o.inner = o.one.s.run().ok();
	};
	auto answer = [](void *arg, u64) {
		Others &o = *static_cast<Others *>(arg);

		o.one.s.engine().stray_answer(o.one.index, 0);
	};
	s.world().after(World::ms, meanwhile, &others);
	s.world().after(2 * World::second, answer, &others);
	EXPECT(s.run().ok());
	EXPECT(inner);
	EXPECT_EQ(refused, 2);
	Large<shim_text> text;
	EXPECT(one.gather_later(&one.seen).ok());
	s.rig->device().cqp.show(&*text);
	EXPECT(contains(text->text, "interrupts") && contains(text->text, "will be called"));
	s.world().settle();
	EXPECT_EQ(one.seen.calls, 2);
	EXPECT_EQ(one.seen.code, 0);
	EXPECT(!s.rig->device().dead());
}

/* The oldest is not the first in the ring. */
void watchdog_over_the_end_of_the_ring()
{
	Swallowed one;
	CqpScene &s = one.s;
	Seen later;
	REQUIRE(s.ready && one.post(2047));
	auto silent = [](const Command &, Answer &a) { a.silent = true; };

	EXPECT_EQ(one.index, 2047);
	s.world().pass(2 * World::second);
	s.engine().on_command = silent;
	EXPECT(one.gather_later(&later).ok()); /* 0 */
	s.world().pass(7 * World::second);
	EXPECT(!s.rig->device().dead());
	s.world().pass(World::second + 100 * World::ms);
	EXPECT(s.rig->device().dead());
	EXPECT_EQ(one.seen.code, -SHIM_ENODEV);
	EXPECT_EQ(later.calls, 1);
}

/* All have failed before it looks. */
void watchdog_without_commands()
{
	Swallowed one;
	REQUIRE(one.s.ready && one.post());

	one.s.rig->device().cqp.fail_all();
	EXPECT_EQ(one.seen.calls, 1);
	one.s.world().pass(20 * World::second);
	EXPECT_EQ(one.seen.calls, 1);
	one.s.rig->device().declare_dead("for a test");
}

/* It looks while the CCQ is being taken down. */
void watchdog_at_the_end()
{
	Swallowed one;
	CqpScene &s = one.s;
	REQUIRE(s.ready && one.post());
	auto slow = [](const Command &c, Answer &a) {
		if (c.op == hw::CqpOp::destroy_cq)
			a.delay = World::second;
	};

	s.world().pass(9 * World::second + 500 * World::ms);
	s.buffer.reset();
	s.engine().on_command = slow;
	s.rig->stop();
	EXPECT_EQ(one.seen.calls, 1);
	EXPECT_EQ(one.seen.code, -SHIM_ENODEV);
}

/* One that may not sleep is answered at the very last moment. */
void answered_when_given_up()
{
	u32 locks = 0, last = 0;

	for (u32 round = 0; round < 2; round++) {
		Swallowed one;
		CqpScene &s = one.s;
		REQUIRE(s.ready);
		u32 own = (s.engine().last().index + 1) % 2048;
		auto silent = [](const Command &, Answer &a) { a.silent = true; };
		auto faster = [&s, &locks, &last, own]() {
			if (++locks != last)
				return;
			s.engine().stray_answer(own, 0);
			s.rig->device().cqp.on_ccq_event();
		};

		s.engine().on_command = silent;
		locks = 0;
		s.world().on_lock = faster;
		Result<u32> done = one.gather_atomic();
		s.world().on_lock = {};
		EXPECT_EQ(done.code(), round ? 0 : -SHIM_ETIMEDOUT);
		last = locks;
		s.engine().on_command = {};
		if (!round)
			s.engine().stray_answer(own, 0);
		s.world().settle();
		EXPECT(!s.rig->device().dead());
	}
}

/* ---- Its own life ---- */

/* Before there are interrupts, and after the end, there is no posting. */
void no_posting_without_interrupts()
{
	Large<World> world;
	Large<Engine> engine(*world);
	Owner<Device> device = make<Device>(world->shim());
	auto buffer = DmaBuffer::create(world->shim(), 1024);
	auto silent = [](const Command &, Answer &a) { a.silent = true; };

	REQUIRE(device && buffer.ok());
	const cmd::GatherStats gather{.buffer = buffer.value().bus()};
	Large<shim_text> text;
	auto shows = [&](const Cqp &cqp, const char *part) {
		*text = {};
		cqp.show(&*text);
		return contains(text->text, part);
	};
	device->cqp.fail_all(); /* of none */
	REQUIRE(device->cqp.create().ok());
	EXPECT_EQ(device->cqp.post(gather).code(), -SHIM_ENODEV);
	EXPECT_EQ(device->cqp.run_atomic(gather).code(), -SHIM_ENODEV);
	EXPECT(device->cqp.run(gather).ok());
	EXPECT(shows(device->cqp, "registers"));
	REQUIRE(device->cqp.create_ccq().ok());
	EXPECT_EQ(device->cqp.post(gather).code(), -SHIM_ENODEV);
	bool waits = false;
	auto look = [&](const Command &, Answer &) { waits = shows(device->cqp, " waits"); };
	engine->on_command = look;
	EXPECT(device->cqp.run(gather).ok());
	EXPECT(waits);
	EXPECT(shows(device->cqp, "polling"));
	engine->on_command = {};
	device->cqp.destroy_ccq();
	/* Others end what is waited for. */
	engine->on_command = silent;
	world->after(
		World::ms, [](void *d, u64) { static_cast<Device *>(d)->cqp.fail_all(); },
		&*device);
	EXPECT_EQ(device->cqp.run(gather).code(), -SHIM_ENODEV);
	EXPECT_EQ(device->cqp.run(gather).code(), -SHIM_ENODEV);
	device->cqp.destroy();

	Owner<Device> other = make<Device>(world->shim());
	REQUIRE(other && other->cqp.create().ok());
	engine->stays_up = true;
	other->cqp.destroy();
	EXPECT_EQ(other->cqp.run(gather).code(), -SHIM_ENODEV);
	EXPECT(shows(other->cqp, "none"));
	world->abandon();
}

void control_qp_that_does_not_come()
{
	constexpr Engine::Start starts[] = {Engine::Start::never, Engine::Start::refused};

	for (Engine::Start start : starts) {
		Large<Rig> rig;

		rig->engine().start = start;
		EXPECT_EQ(rig->try_start(),
			  start == Engine::Start::never ? -SHIM_ETIMEDOUT : -SHIM_EIO);
		EXPECT(!rig->up());
		EXPECT(rig->world().said("control QP"));
		EXPECT_EQ(rig->engine().commands, 0);
	}
}

/* Its memory is then kept for ever, rather than given to others while the device uses it. */
void control_qp_that_does_not_go()
{
	Large<Rig> rig;

	REQUIRE(rig->start());
	rig->engine().stays_up = true;
	rig->stop();
	EXPECT(rig->world().said("does not let go"));
	EXPECT(rig->world().dma_buffers() != 0);
	EXPECT(rig->world().find_dma(rig->engine().cqp_ring(), 2048 * 64) != nullptr);
	rig->world().abandon();
}

/* Before the CCQ exists, answers show in a register; errors and silence do too. */
void before_the_ccq()
{
	constexpr hw::CqpOp ops[] = {
		hw::CqpOp::query_fpm,	  hw::CqpOp::commit_fpm,
		hw::CqpOp::update_pe_sds, hw::CqpOp::shmc_pages_allocated,
		hw::CqpOp::create_cq,	  hw::CqpOp::query_rdma_features,
		hw::CqpOp::create_ceq,	  hw::CqpOp::create_aeq,
	};

	for (hw::CqpOp op : ops) {
		for (u32 how = 0; how < 4; how++) {
			Large<Rig> rig;
			auto bad = [&](const Command &c, Answer &a) {
				if (c.op != op)
					return;
				if (how == 0)
					a.fail(0xffff, 0x1111);
				else if (how == 1)
					a.silent = true;
				else if (how == 2)
					a.delay = 5 * World::second;
				else
					rig->engine().gone = true;
			};
			const int wanted[] = {-SHIM_EIO, -SHIM_ENODEV, 0, -SHIM_ENODEV};

			rig->world().least_sleep = World::ms;
			rig->engine().on_command = bad;
			int err = rig->try_start();
			if (err != wanted[how])
				FAIL("command 0x%x, way %u: %d, not %d", static_cast<u32>(op), how,
				     err, wanted[how]);
			EXPECT_EQ(rig->up(), !err);
			EXPECT_EQ(rig->world().fatal, 0); /* there is no ib_device yet */
			EXPECT_EQ(rig->world().resets, 0);
			rig->stop();
			if (how != 3)
				EXPECT_EQ(rig->engine().objects(), 0);
		}
	}
}

/* Removal: what is not answered soon is not waited for. */
void removal_hurries()
{
	CqpScene s;
	REQUIRE(s.ready);
	auto silent = [](const Command &, Answer &a) { a.silent = true; };
	u64 start = s.world().now();

	EXPECT(irdma_device_removing(s.rig->c()));
	s.engine().on_command = silent;
	EXPECT_EQ(s.run().code(), -SHIM_ENODEV);
	EXPECT(s.world().now() - start <= 4 * World::second);
}

/* The words of each command, as the stock driver fills them: those that are constant. */
void constant_words_of_commands()
{
	hw::CqpWqe w;

	cmd::CreateQp{.qp = 5,
		      .type = hw::QpType::rc,
		      .virtual_queues = false,
		      .context = 0x1000,
		      .shadow = 0x2000}
		.encode(w);
	EXPECT_EQ(w.qw[2].get(), 0x1000);
	EXPECT_EQ(w.qw[5].get(), 0x2000);
	/* cq_num_valid, type 3, mac_valid, next state 1 */
	EXPECT_EQ(w.qw[3].get(), 5 | 1ULL << 47 | 3ULL << 48 | 1ULL << 51 | 1ULL << 60);

	w = {};
	cmd::DestroyQp{.qp = 5, .type = hw::QpType::ud, .context = 0, .shadow = 0}.encode(w);
	EXPECT_EQ(w.qw[3].get(), 5 | 4ULL << 48 | 1ULL << 55);

	w = {};
	cmd::FlushWqes{.qp = 9,
		       .sq = true,
		       .rq = false,
		       .sq_major = 1,
		       .sq_minor = 8,
		       .rq_major = 1,
		       .rq_minor = 1}
		.encode(w);
	EXPECT_EQ(w.qw[2].get(), 0x0001000800000000ULL);
	EXPECT_EQ(w.qw[3].get(), 9 | 1ULL << 60 | 1ULL << 61);

	w = {};
	cmd::RegMr{.stag = 0xabcd12,
		   .pd = 3,
		   .va = 0x7000,
		   .length = 0x3000,
		   .access = 0x9,
		   .zero_based = false,
		   .pages = {hw::PblLevel::one, hw::HostPage::size_2m, 0x5555, 77}}
		.encode(w);
	EXPECT_EQ(w.qw[1].get(), 0x3000 | 3ULL << 46);
	EXPECT_EQ(w.qw[2].get(), 0xabcd12);
	EXPECT_EQ(w.qw[3].get(),
		  1ULL << 43 | 1ULL << 44 | 1ULL << 46 | 9ULL << 48 | 1ULL << 53 | 1ULL << 59);
	EXPECT_EQ(w.qw[4].get(), 0); /* the list has the addresses */
	EXPECT_EQ(w.qw[6].get(), 77);

	w = {};
	cmd::ManageArp{.index = 3, .valid = true, .mac = 0x525400e81002}.encode(w);
	EXPECT_EQ(w.qw[2].get(), 0x525400e81002);
	EXPECT_EQ(w.qw[3].get(), 3 | 1ULL << 42 | 1ULL << 43);
	w = {};
	cmd::ManageArp{.index = 3, .valid = false, .mac = 0x525400e81002}.encode(w);
	EXPECT_EQ(w.qw[2].get(), 0);
	EXPECT_EQ(w.qw[3].get(), 3);
}

constexpr bridge_case cases[] = {
	TEST(answers_over_many_laps),
	TEST(ring_fills_up),
	TEST(answers_in_any_order),
	TEST(errors_of_the_device),
	TEST(errors_without_a_waiter),
	TEST(engine_that_asks_for_a_reset),
	TEST(slow_answers_are_waited_for),
	TEST(silence_is_given_up),
	TEST(silence_without_a_waiter),
	TEST(watchdog_follows_the_oldest),
	TEST(late_answers_meet_nobody),
	TEST(backlog_ends_with_the_device),
	TEST(answers_without_an_interrupt),
	TEST(device_off_the_bus),
	TEST(device_reset_by_others),
	TEST(answers_twice),
	TEST(answers_with_a_wrong_index),
	TEST(answers_with_another_cookie),
	TEST(ccq_that_never_ends),
	TEST(entries_of_the_lap_before),
	TEST(end_with_commands_posted),
	TEST(end_while_another_is_calling),
	TEST(interrupt_as_the_ccq_goes),
	TEST(slot_that_is_not_free),
	TEST(watchdog_over_the_end_of_the_ring),
	TEST(watchdog_without_commands),
	TEST(watchdog_at_the_end),
	TEST(answered_when_given_up),
	TEST(no_posting_without_interrupts),
	TEST(control_qp_that_does_not_come),
	TEST(control_qp_that_does_not_go),
	TEST(before_the_ccq),
	TEST(removal_hurries),
	TEST(constant_words_of_commands),
};

} // namespace

SUITE(cqp, cases)
