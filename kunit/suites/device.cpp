// SPDX-License-Identifier: GPL-2.0
/*
 * The device as a whole: bring-up that fails at each step is undone, whatever
 * fails; death is told once, and resets that do not help end; removal;
 * statistics; limits that consumers and libraries are told.
 */
#include "fake/rig.h"
#include "hw/limits.h"
#include "hw/regs.h"

using namespace irdma;
using namespace irdma::fake;
using namespace irdma::test;

namespace {

/* ---- Bring-up ---- */

/* The order of the stock driver's commands, which the firmware is used to. */
void order_of_bring_up()
{
	Large<Rig> rig;
	static hw::CqpOp seen[64];
	static u32 count;
	auto note_op = [](const Command &c, Answer &) {
		if (count < 64 && (!count || seen[count - 1] != c.op))
			seen[count++] = c.op;
	};
	constexpr hw::CqpOp wanted[] = {
		hw::CqpOp::query_fpm,	  hw::CqpOp::commit_fpm,
		hw::CqpOp::update_pe_sds, hw::CqpOp::shmc_pages_allocated,
		hw::CqpOp::create_cq,	  hw::CqpOp::query_rdma_features,
		hw::CqpOp::create_ceq,	  hw::CqpOp::create_aeq,
	};

	count = 0;
	rig->engine().on_command = note_op;
	REQUIRE(rig->start());
	u32 at = 0;
	for (u32 i = 0; i < count && at < array_size(wanted); i++)
		at += seen[i] == wanted[at];
	EXPECT_EQ(at, array_size(wanted));
	EXPECT_EQ(rig->device().fw_major, 1);
	EXPECT_EQ(rig->device().fw_minor, 52);
}

void engine_that_is_not_ready()
{
	{
		Large<Rig> rig;

		rig->engine().cpu_status = 0x40;
		u64 start = rig->world().now();
		EXPECT_EQ(rig->try_start(), -SHIM_ETIMEDOUT);
		EXPECT(rig->world().now() - start >= 15 * World::second);
		EXPECT(rig->world().said("not ready"));
		EXPECT_EQ(rig->engine().commands, 0);
	}
	{
		Large<Rig> rig; /* it becomes so */
		auto ready = [](void *e, u64) { static_cast<Engine *>(e)->cpu_status = 0x80; };

		rig->engine().cpu_status = 0;
		rig->world().after(7 * World::second, ready, &rig->engine());
		EXPECT(rig->start());
	}
	Large<Rig> rig;

	rig->engine().gone = true;
	EXPECT_EQ(rig->try_start(), -SHIM_ENODEV);
	EXPECT(rig->world().said("off the bus"));
}

void doorbells()
{
	for (u32 code = 0; code < 4; code++) {
		Large<Rig> rig;

		rig->engine().doorbell_code = code;
		EXPECT_EQ(rig->try_start(), code == 1 || code == 2 ? 0 : -SHIM_ENODEV);
	}
}

void features_that_cannot_be()
{
	for (u32 how = 0; how < 3; how++) {
		Large<Rig> rig;
		hw::Le64 &first = rig->engine().features[0];

		if (how == 0)
			first.set(0);
		else if (how == 1)
			first.set(hw::cqp_features::entry_count.put(1));
		else
			first.set(first.get() | hw::cqp_features::entry_type.put(7));
		EXPECT_EQ(rig->try_start(), -SHIM_EPROTO);
		EXPECT(!rig->up());
	}
}

/* Each command of bring-up fails in turn: an errno, all undone, and the next try goes well. */
void each_command_fails()
{
	u32 total = 0;

	{
		Large<Rig> rig;

		REQUIRE(rig->start());
		total = rig->engine().commands;
	}
	for (u32 nth = 1; nth <= total; nth++) {
		Large<Rig> rig;
		Engine *engine = &rig->engine();
		auto failing = [engine, nth](const Command &, Answer &a) {
			if (engine->commands == nth)
				a.fail(0xffff, 0x1111);
		};

		engine->on_command = failing;
		int err = rig->try_start();
		EXPECT_EQ(err, -SHIM_EIO);
		EXPECT(rig->world().said("bring-up failed at"));
		EXPECT_EQ(rig->engine().objects(), 0);
		EXPECT(!rig->engine().has_cqp());
		EXPECT_EQ(rig->world().dma_buffers(), 0);
		EXPECT_EQ(rig->world().allocations(), 0);
		engine->reset();
		rig->engine().on_command = {};
		EXPECT(rig->start());
	}
	note("%u commands", total);
}

/* Each command of the way down fails in turn: nothing leaks, nothing is freed in use. */
void each_command_of_the_end_fails()
{
	u32 before, after;

	{
		Large<Rig> rig;

		REQUIRE(rig->start());
		before = rig->engine().commands;
		rig->stop();
		after = rig->engine().commands;
	}
	for (u32 nth = before + 1; nth <= after; nth++)
		for (u32 how = 0; how < 2; how++) {
			Large<Rig> rig;
			Engine *engine = &rig->engine();
			auto failing = [engine, nth, how](const Command &, Answer &a) {
				if (engine->commands != nth)
					return;
				if (how)
					a.silent = true;
				else
					a.fail(0xffff, 0x1111);
			};

			rig->world().least_sleep = World::ms;
			REQUIRE(rig->start());
			engine->on_command = failing;
			rig->stop();
			EXPECT(!rig->engine().has_cqp());
		}
	note("%u commands", after - before);
}

/* Each allocation of bring-up fails in turn. */
void each_allocation_fails()
{
	bool any = true;
	u32 nth = 1;

	for (; any && nth < 500; nth++) {
		Large<Rig> rig;

		rig->world().fail_allocation(nth);
		int err = rig->try_start();
		any = rig->world().allocation_failed();
		EXPECT_EQ(err, any ? -SHIM_ENOMEM : 0);
		rig->world().fail_allocation(0);
	}
	EXPECT(!any);
	note("%u allocations", nth - 2);
}

/* ---- Death ---- */

void death_is_told_once()
{
	Large<Rig> rig;
	REQUIRE(rig->start());

	rig->announce();
	rig->device().declare_dead("first");
	rig->device().declare_dead("second");
	rig->device().on_lost();
	rig->world().settle();
	EXPECT(rig->world().said("first"));
	EXPECT(!rig->world().said("second"));
	EXPECT_EQ(rig->world().fatal, 1);
	EXPECT_EQ(rig->world().resets, 1);
}

/* Before there are consumers nothing is told or reset; they are told when they come. */
void death_before_consumers()
{
	Large<Rig> rig;
	REQUIRE(rig->start());

	rig->device().declare_dead("early");
	rig->world().settle();
	EXPECT_EQ(rig->world().fatal, 0);
	EXPECT_EQ(rig->world().resets, 0);
	rig->announce();
	rig->world().settle();
	EXPECT_EQ(rig->world().fatal, 1);
	EXPECT_EQ(rig->world().resets, 1);
}

/* Resets one after the other: later each time, and then no more. After ten good minutes anew. */
void resets_that_do_not_help()
{
	constexpr u64 delays_ms[] = {100, 1000, 5000, 20000};
	shim_history history = {};
	u64 now_ms = 0;

	for (u32 n = 0; n < 6; n++) {
		Large<Rig> rig;

		rig->world().history = history;
		if (n)
			rig->world().history.last_reset_ms =
				rig->world().now() / World::ms - now_ms;
		REQUIRE(rig->start());
		rig->announce();
		rig->device().declare_dead("again");
		if (n < 4) {
			rig->world().pass((delays_ms[n] - 50) * World::ms);
			EXPECT_EQ(rig->world().resets, 0);
			rig->world().pass(World::second);
			EXPECT_EQ(rig->world().resets, 1);
			EXPECT_EQ(rig->world().history.resets, n + 1);
		} else {
			rig->world().pass(100 * World::second);
			EXPECT_EQ(rig->world().resets, 0);
			EXPECT(rig->world().said("have not helped"));
		}
		history = rig->world().history;
		now_ms = 1000; /* it died a second after the last reset */
	}
	Large<Rig> rig;

	rig->world().history = history;
	rig->world().history.last_reset_ms = rig->world().now() / World::ms - 601 * 1000;
	REQUIRE(rig->start());
	rig->announce();
	rig->device().declare_dead("after a while");
	rig->world().settle();
	EXPECT_EQ(rig->world().resets, 1);
}

void resets_that_are_refused()
{
	constexpr int errors[] = {-SHIM_EBUSY, -SHIM_EIO};

	for (int error : errors) {
		Large<Rig> rig;

		rig->world().reset_error = error;
		REQUIRE(rig->start());
		rig->announce();
		rig->device().declare_dead("for a test");
		rig->world().settle();
		EXPECT_EQ(rig->world().history.resets, 0);
		EXPECT_EQ(rig->world().said("refuses to reset"), error != -SHIM_EBUSY);
	}
}

/* While ice cannot be asked it is asked again, until the device goes. */
void resets_that_must_wait()
{
	for (u32 goes = 0; goes < 2; goes++) {
		Large<Rig> rig;

		rig->world().reset_error = -SHIM_EAGAIN;
		REQUIRE(rig->start());
		rig->announce();
		rig->device().declare_dead("for a test");
		rig->world().pass(5 * World::second);
		EXPECT_EQ(rig->world().history.resets, 0);
		EXPECT_EQ(rig->world().lines(SHIM_WARN), 0);
		rig->world().reset_error = 0;
		if (goes)
			rig->stop();
		rig->world().pass(World::second);
		EXPECT_EQ(rig->world().resets, !goes);
	}
}

/* Causes that ice hands over. */
void critical_errors()
{
	const struct {
		u32 oicr, criterr;
		bool dies;
	} causes[] = {
		{1u << 26, 0, true},	    {1u << 27, 0, true},  {1u << 28, 0x1234, true},
		{1u << 28, 0x1024d, false}, {1u << 20, 0, false},
	};

	for (const auto &c : causes) {
		Large<Rig> rig;

		REQUIRE(rig->start());
		rig->engine().critical_error = c.criterr;
		irdma_critical_error(rig->c(), c.oicr);
		EXPECT_EQ(rig->device().dead(), c.dies);
	}
}

void mtu()
{
	Large<Rig> rig;
	REQUIRE(rig->start());

	irdma_mtu_changed(rig->c(), 9000);
	EXPECT_EQ(rig->device().port.mtu, 9000);
	EXPECT_EQ(rig->world().lines(SHIM_WARN), 0);
	irdma_mtu_changed(rig->c(), 1279);
	EXPECT(rig->world().said("over IPv6"));
	irdma_mtu_changed(rig->c(), 575);
	EXPECT(rig->world().said("over IP"));
	KernelQp qp(*rig);
	REQUIRE(qp.made);
	EXPECT_EQ(rig->engine().qp(qp.number()).context.get(hw::qpc::path_mtu), 256);
}

/* ---- Removal ---- */

void removal()
{
	for (u32 how = 0; how < 4; how++) {
		Large<Rig> rig;

		REQUIRE(rig->start());
		rig->announce();
		if (how == 1)
			rig->engine().resetting = true;
		else if (how == 2)
			rig->engine().gone = true;
		else if (how == 3)
			rig->engine().reset();
		EXPECT_EQ(irdma_device_removing(rig->c()), how == 0);
		EXPECT_EQ(rig->device().dead(), how != 0);
		rig->world().settle();
		EXPECT_EQ(rig->world().fatal, 0); /* consumers go, they know */
		EXPECT_EQ(rig->world().resets, 0);
	}
}

/* ---- Graveyard ---- */

void graveyard_without_memory()
{
	Large<World> world;
	Large<Engine> engine(*world);
	{
		Graveyard graveyard;
		auto one = DmaBuffer::create(world->shim(), 100);
		auto two = DmaBuffer::create(world->shim(), 100);

		REQUIRE(one.ok() && two.ok());
		graveyard.bury(one.take());
		graveyard.bury(DmaBuffer()); /* nothing */
		EXPECT_EQ(world->dma_buffers(), 2);
		world->fail_allocation(1);
		graveyard.bury(two.take()); /* lost rather than written to */
	}
	EXPECT_EQ(world->dma_buffers(), 1);
	world->abandon();
}

/* ---- Statistics ---- */

void statistics_go_on_over_wraps()
{
	Large<Rig> rig;
	static u64 values[IRDMA_STATISTICS];
	static u64 total[IRDMA_STATISTICS];
	Random random(4);
	REQUIRE(rig->start());

	for (u64 &t : total)
		t = 0;
	for (u32 round = 0; round < 50; round++) {
		for (u32 i = 0; i < IRDMA_STATISTICS; i++) {
			const hw::Field &counter = hw::statistics[i];
			u64 step = random.next64() & counter.max() &
				   (counter.max() >> random.below(9));

			rig->engine().statistics.set(counter,
						     rig->engine().statistics.get(counter) + step);
			total[i] += step;
		}
		EXPECT_EQ(irdma_read_statistics(rig->c(), &values), 0);
		for (u32 i = 0; i < IRDMA_STATISTICS; i++)
			if (values[i] != total[i])
				return FAIL("%s is %llu, not %llu", irdma_statistic_name(i),
					    values[i], total[i]);
	}
	/* Once a minute without being asked; not when the device is dead. */
	u32 gathered = rig->engine().count(hw::CqpOp::gather_stats);
	rig->world().pass(125 * World::second);
	EXPECT_EQ(rig->engine().count(hw::CqpOp::gather_stats), gathered + 2);
	rig->device().declare_dead("for a test");
	EXPECT_EQ(irdma_read_statistics(rig->c(), &values), -SHIM_ENODEV);
	rig->world().pass(125 * World::second);
	EXPECT_EQ(rig->engine().count(hw::CqpOp::gather_stats), gathered + 2);
}

/* ---- Limits ---- */

void limits_that_are_told()
{
	Large<Rig> rig;
	irdma_device_attr attr;
	irdma_uk_attr uk;
	REQUIRE(rig->start());

	irdma_query_device(rig->c(), &attr);
	EXPECT_EQ(attr.max_qp, 61);
	EXPECT_EQ(attr.max_cq, 127);
	EXPECT_EQ(attr.max_sge, 13);
	EXPECT_EQ(attr.max_ird, 127);
	EXPECT_EQ(attr.max_ord, 255);
	EXPECT_EQ(attr.max_inline, 101);
	EXPECT_EQ(attr.max_mcast_qp_attach, 8);
	EXPECT_EQ(attr.comp_vectors, 2);
	EXPECT_EQ(attr.fw_major, 1);
	EXPECT_EQ(attr.max_qp_wr, (32768 - 258) / 8);
	EXPECT_EQ(attr.page_size_cap, 0x40201000);
	irdma_get_uk_attr(rig->c(), &uk);
	EXPECT_EQ(uk.hw_rev, 2);
	EXPECT_EQ(uk.max_sq_quanta, 32768);
	EXPECT_EQ(uk.max_frags, 13);
	EXPECT_EQ(uk.db_page_offset, 0x7f0000);
	EXPECT_EQ(uk.min_wq_size, 8);
	/* What is told can be had. */
	KernelQp qp(*rig, SHIM_QPT_RC, attr.max_qp_wr);
	EXPECT(qp.made);
}

void protection_domains()
{
	Large<Rig> rig;
	irdma_pd *one, *two;
	u32 a, b;
	REQUIRE(rig->start());

	EXPECT_EQ(irdma_pd_create(rig->c(), &one, &a), 0);
	EXPECT_EQ(irdma_pd_create(rig->c(), &two, &b), 0);
	EXPECT(a && b && a != b);
	irdma_pd_destroy(one);
	irdma_pd_destroy(two);
	rig->world().fail_allocation(1);
	EXPECT_EQ(irdma_pd_create(rig->c(), &one, &a), -SHIM_ENOMEM);
}

/* Nothing is traced that nobody listens to. */
void no_tracepoints()
{
	Large<Rig> rig;
	u32 traced = 0;

	shim_tracing = 0;
	{
		REQUIRE(rig->start());
		KernelQp qp(*rig);
		irdma_mr *mr = nullptr;
		u32 lkey, rkey;

		REQUIRE(qp.bring_up(SHIM_QPS_RTS));
		EXPECT(qp.modify(SHIM_QPS_INIT) != 0); /* refused */
		rig->engine().event(0x501, hw::AeSource::sq, qp.number());
		rig->world().settle();
		EXPECT_EQ(irdma_mr_dma(rig->c(), qp.pd, 1, &mr, &lkey, &rkey), 0);
		irdma_mr_deregister(mr, false);
	}
	rig->stop();
	for (u32 i = 0; i <= SHIM_TRACE_RESET; i++)
		traced += rig->world().traced(static_cast<shim_tracepoint>(i));
	EXPECT_EQ(traced, 0);
}

/* What debugfs shows is there, of a device at rest, at work, and dead; and no trace is missing. */
void views_and_tracepoints()
{
	constexpr struct {
		irdma_view view;
		const char *part;
	} views[] = {
		{IRDMA_VIEW_CQP, "gather_stats"}, {IRDMA_VIEW_HMC, "QP"},
		{IRDMA_VIEW_PAGE_LISTS, ""},	  {IRDMA_VIEW_QOS, ""},
		{IRDMA_VIEW_ARP, "address"},	  {IRDMA_VIEW_VECTORS, "ceq"},
	};
	Large<Rig> rig;
	Large<shim_text> text;
	REQUIRE(rig->start());

	for (u32 at_work = 0; at_work < 2; at_work++) {
		KernelQp qp(*rig);
		auto silent = [](const Command &, Answer &a) { a.silent = true; };
		auto memory = DmaBuffer::create(rig->world().shim(), 1024);

		REQUIRE(memory.ok());
		if (at_work) {
			REQUIRE(qp.bring_up(SHIM_QPS_RTS));
			rig->engine().on_command = silent;
			EXPECT(rig->device()
				       .cqp.post(cmd::GatherStats{.buffer = memory.value().bus()})
				       .ok());
			rig->world().settle();
		}
		for (const auto &v : views) {
			*text = {};
			irdma_show(rig->c(), v.view, &*text);
			EXPECT(text->length != 0);
			if (at_work && !contains(text->text, v.part))
				FAIL("view %u has no %s: %s", static_cast<u32>(v.view), v.part,
				     text->text);
		}
		if (at_work)
			rig->device().declare_dead("for a test");
	}
	*text = {};
	irdma_show(rig->c(), IRDMA_VIEW_CQP, &*text);
	EXPECT(text->length != 0);
	constexpr shim_tracepoint points[] = {SHIM_TRACE_CQP_POST, SHIM_TRACE_CQP_DONE,
					      SHIM_TRACE_QP_STATE, SHIM_TRACE_QP_PATH,
					      SHIM_TRACE_ARP};
	for (shim_tracepoint point : points)
		EXPECT(rig->world().traced(point) != 0);
}

constexpr bridge_case cases[] = {
	TEST(order_of_bring_up),
	TEST(engine_that_is_not_ready),
	TEST(doorbells),
	TEST(features_that_cannot_be),
	TEST(each_command_fails),
	TEST(each_command_of_the_end_fails),
	TEST(each_allocation_fails),
	TEST(death_is_told_once),
	TEST(death_before_consumers),
	TEST(resets_that_do_not_help),
	TEST(resets_that_are_refused),
	TEST(resets_that_must_wait),
	TEST(critical_errors),
	TEST(mtu),
	TEST(removal),
	TEST(graveyard_without_memory),
	TEST(statistics_go_on_over_wraps),
	TEST(limits_that_are_told),
	TEST(protection_domains),
	TEST(no_tracepoints),
	TEST(views_and_tracepoints),
};

} // namespace

SUITE(device, cases)
