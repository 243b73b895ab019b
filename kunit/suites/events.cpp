// SPDX-License-Identifier: GPL-2.0
/*
 * Event queues: what each asynchronous event is taken for (as the stock
 * driver's irdma_process_aeq(), irdma_set_flush_fields() and
 * irdma_sc_get_next_aeqe() have it), and how entries find their object, or
 * nobody; budgets, laps, lost and endless interrupts, forged entries.
 */
#include "eq/ae_table.h"
#include "fake/rig.h"
#include "hw/regs.h"

using namespace irdma;
using namespace irdma::fake;
using namespace irdma::test;

namespace {

using hw::AeSource;

/* ---- The table ---- */

struct Expected {
	u16 code;
	AeAction action;
	u8 flush; /**< minor code of the request at fault */
	u8 event; /**< SHIM_EVENT_* */
};

constexpr AeAction error = AeAction::qp_error;
constexpr u8 fatal = SHIM_EVENT_QP_FATAL, access = SHIM_EVENT_QP_ACCESS_ERR,
	     request = SHIM_EVENT_QP_REQ_ERR;

/* Codes whose flush status is not just "flushed", and those that do not stop a QP. */
constexpr Expected special[] = {
	{0x0102, error, 2, access},
	{0x0103, error, 2, access},
	{0x0104, error, 2, access},
	{0x0105, error, 2, access},
	{0x0106, error, 2, access},
	{0x0107, error, 2, access},
	{0x0108, error, 2, access},
	{0x0109, error, 2, access},
	{0x010a, error, 2, access},
	{0x0112, error, 3, access},
	{0x0114, error, 9, access},
	{0x0118, error, 9, access},
	{0x0119, error, 9, access},
	{0x011b, error, 9, access},
	{0x011c, error, 2, access},
	{0x0132, error, 6, fatal},
	{0x0133, error, 4, fatal},
	{0x0134, error, 6, fatal},
	{0x0135, error, 6, fatal},
	{0x0208, error, 10, request},
	{0x020a, error, 4, fatal},
	{0x020d, error, 3, access},
	{0x020e, error, 5, fatal},
	{0x0303, error, 6, fatal},
	{0x0305, error, 6, fatal},
	{0x0316, error, 5, fatal},
	{0x0505, error, 5, fatal},
	{0x0507, error, 5, fatal},
	{0x050a, error, 8, fatal},
	{0x0700, error, 7, fatal},
	{0x0201, AeAction::report, 0, fatal},
	{0x0202, AeAction::report, 0, fatal},
	{0x0501, AeAction::report, 0, fatal},
	{0x0502, AeAction::report, 0, fatal},
	{0x0503, AeAction::report, 0, fatal},
	{0x0509, AeAction::report, 0, fatal},
	{0x0520, AeAction::report, 0, fatal},
	{0x0601, AeAction::report, 0, fatal},
	{0x0602, AeAction::report, 0, fatal},
	{0x050c, AeAction::ignore, 0, fatal},
	{0x050e, AeAction::ignore, 0, fatal},
	{0x0603, AeAction::ignore, 0, fatal},
	{0x0203, AeAction::cq_error, 0, fatal},
	{0x0702, AeAction::cq_error, 0, fatal},
	{0x0701, AeAction::device_fatal, 0, fatal},
	{0x0900, AeAction::sq_drained, 0, fatal},
};

const Expected *expected(u32 code)
{
	for (const Expected &e : special)
		if (e.code == code)
			return &e;
	return nullptr;
}

void table_is_the_stock_drivers()
{
	u32 known = 0;

	for (u32 code = 0; code < 0x1000; code++) {
		const AeInfo &info = ae_info(code);
		const Expected *e = expected(code);
		bool named = !same_text(hw::ae_name(code), "unknown");

		known += named;
		EXPECT(info.meaning && *info.meaning);
		if (e && !named)
			FAIL("event 0x%x is not known", code);
		if (!e) {
			/* All others, and codes that nobody knows, stop the QP: flushed, fatal. */
			if (info.action != error || info.sq_flush != hw::FlushCode::general ||
			    info.rq_flush != hw::FlushCode::general || info.qp_event != fatal)
				FAIL("event 0x%x, %s, is not a general error", code,
				     hw::ae_name(code));
			continue;
		}
		if (info.action != e->action)
			FAIL("event 0x%x has action %u, not %u", code,
			     static_cast<u32>(info.action), static_cast<u32>(e->action));
		if (e->action != error)
			continue;
		if (static_cast<u32>(info.sq_flush) != e->flush ||
		    static_cast<u32>(info.rq_flush) != e->flush || info.qp_event != e->event)
			FAIL("event 0x%x: flush %u, event %u, not %u, %u", code,
			     static_cast<u32>(info.sq_flush), static_cast<u32>(info.qp_event),
			     static_cast<u32>(e->flush), static_cast<u32>(e->event));
	}
	note("%u events are known", known);
}

/* Events whose number is a QP's whatever the source says, a CQ's, or nobody's. */
void objects_of_events()
{
	constexpr u32 of_qp[] = {0x11c, 0x132, 0x133, 0x134, 0x135, 0x201, 0x205, 0x206, 0x207,
				 0x208, 0x20a, 0x20d, 0x20e, 0x304, 0x305, 0x307, 0x308, 0x311,
				 0x312, 0x313, 0x314, 0x316, 0x380, 0x381, 0x382, 0x383, 0x401,
				 0x402, 0x403, 0x406, 0x505, 0x507, 0x50a, 0x50c, 0x50e, 0x601,
				 0x602, 0x603, 0x700, 0x900, 0x501, 0x502, 0x503, 0x508, 0x509};

	for (u32 code : of_qp)
		if (ae_info(code).object != AeObject::qp)
			FAIL("event 0x%x is not a QP's", code);
	EXPECT_EQ(ae_info(0x702).object, AeObject::cq);
	EXPECT_EQ(ae_info(0x203).object, AeObject::cq);
	EXPECT_EQ(ae_info(0x701).object, AeObject::device);
	EXPECT_EQ(ae_info(0x101).object, AeObject::by_source);
	EXPECT_EQ(ae_info(0xfff).object, AeObject::by_source);
}

void sources_have_names()
{
	constexpr const char *names[] = {
		"no queue", "receive queue",
		"CQ",	    "receive queue",
		"no queue", "send queue",
		"CQ",	    "send queue",
		"no queue", "request of the peer",
		"CQ",	    "request of the peer",
		"no queue", "READ response to the peer",
		"CQ",	    "READ response to the peer",
	};

	for (u32 i = 0; i < array_size(names); i++)
		if (!same_text(ae_source_name(i), names[i]))
			FAIL("source %u is called %s", i, ae_source_name(i));
}

/* ---- A device with a QP ---- */

/* Each code for a live QP and a live CQ, from each source: never more than that object. */
void each_event_of_a_live_object()
{
	for (const hw::AeName &name : hw::ae_names) {
		u32 code = static_cast<u32>(name.code);
		Scene s;
		if (code == 0x701)
			continue;
		REQUIRE(s.ready);
		KernelQp one(*s.rig), other(*s.rig);

		REQUIRE(one.bring_up(SHIM_QPS_RTS) && other.bring_up(SHIM_QPS_RTS));
		s.engine().event(code, AeSource::sq, one.number(), 3);
		s.world().settle();
		const AeInfo &info = ae_info(code);
		bool stops = info.action == error;
		if (info.object != AeObject::cq)
			EXPECT_EQ(one.state(), stops ? SHIM_QPS_ERR : SHIM_QPS_RTS);
		EXPECT_EQ(other.state(), SHIM_QPS_RTS);
		if (stops && info.object != AeObject::cq) {
			EXPECT_EQ(s.world().times_told(&one.ib_qp, info.qp_event), 1);
			EXPECT_EQ(s.engine().qp(one.number()).state, hw::QpState::error);
			const Command *flush = s.engine().last_of(hw::CqpOp::flush_wqes);
			if (EXPECT(flush != nullptr)) {
				EXPECT_EQ(flush->get(hw::cqp_flush::sq_minor), info.sq_flush);
				EXPECT_EQ(flush->get(hw::cqp_flush::sq_major), 1);
				EXPECT_EQ(flush->get(hw::cqp_flush::rq_minor), 1);
				EXPECT(flush->get(hw::cqp_flush::flush_sq));
				EXPECT(flush->get(hw::cqp_flush::flush_rq));
			}
			EXPECT(s.world().said(hw::ae_name(code)));
		} else {
			EXPECT(s.world().told_count <= 1);
			EXPECT(!s.engine().last_of(hw::CqpOp::flush_wqes));
		}
		EXPECT(!s.rig->device().dead());
		EXPECT_EQ(s.engine().aeqes_given_back, 1);
	}
}

/* Of the receive queue: its request is named to the device, and its flush code is the event's. */
void event_of_a_receive()
{
	Scene s;
	REQUIRE(s.ready);
	KernelQp qp(*s.rig);

	REQUIRE(qp.bring_up(SHIM_QPS_RTS));
	s.engine().event(0x303, AeSource::rq, qp.number(), 9);
	s.world().settle();
	const hw::QpContext &context = s.engine().qp(qp.number()).context;
	EXPECT_EQ(context.get(hw::qpc::err_rq_idx_valid), 1);
	EXPECT_EQ(context.get(hw::qpc::err_rq_idx), 9);
	const Command *flush = s.engine().last_of(hw::CqpOp::flush_wqes);
	REQUIRE(flush != nullptr);
	EXPECT_EQ(flush->get(hw::cqp_flush::rq_minor), 6);
	EXPECT_EQ(flush->get(hw::cqp_flush::sq_minor), 1);
	/* What follows is a consequence, and no news. */
	s.engine().event(0x50a, AeSource::sq, qp.number());
	s.engine().event(0x700, AeSource::sq, qp.number());
	s.world().settle();
	EXPECT_EQ(s.world().told_count, 1);
}

/* Numbers of QPs and CQs that were never made, are gone, or cannot be. */
void events_of_nobody()
{
	Scene s;
	REQUIRE(s.ready);
	u32 gone, commands;

	{
		KernelQp qp(*s.rig);

		REQUIRE(qp.bring_up(SHIM_QPS_RTS));
		gone = qp.number();
	}
	commands = s.engine().commands;
	const u32 numbers[] = {0, 1, gone, 63, 64, 65, 0x3ffff, 0x40000, 0x7ffff};
	constexpr AeSource sources[] = {AeSource::sq, AeSource::rq, AeSource::cq, AeSource::none};
	constexpr u32 codes[] = {0x50a, 0x203, 0x702, 0x101, 0x900, 0xabc};
	for (u32 number : numbers)
		for (AeSource source : sources)
			for (u32 code : codes) {
				s.engine().event(code, source, number);
				s.world().settle();
			}
	EXPECT_EQ(s.world().told_count, 0);
	EXPECT_EQ(s.engine().commands, commands);
	EXPECT_EQ(s.engine().aeqes_given_back, array_size(numbers) * 4 * 6);
	EXPECT(!s.rig->device().dead());
}

/* An event of a QP that waits for its work item when the QP goes. */
void event_of_a_qp_that_goes()
{
	Scene s;
	REQUIRE(s.ready);
	{
		KernelQp qp(*s.rig);

		REQUIRE(qp.bring_up(SHIM_QPS_RTS));
		s.engine().event(0x50a, AeSource::sq, qp.number());
		s.world().advance(s.world().now() + World::ms, false); /* interrupt, no work */
		EXPECT_EQ(s.world().work_waiting(SHIM_WORK_OBJECT) > 0, true);
	}
	s.world().settle();
	EXPECT_EQ(s.world().told_count, 0);
}

/* One that was in RESET since is another QP: what came before does not concern it. */
void event_of_a_life_before()
{
	Scene s;
	REQUIRE(s.ready);
	KernelQp qp(*s.rig);

	REQUIRE(qp.bring_up(SHIM_QPS_RTS));
	s.engine().event(0x50a, AeSource::sq, qp.number());
	s.world().advance(s.world().now() + World::ms, false);
	EXPECT_EQ(qp.modify(SHIM_QPS_RESET), 0);
	EXPECT_EQ(qp.modify(SHIM_QPS_INIT), 0);
	s.world().settle();
	EXPECT_EQ(qp.state(), SHIM_QPS_INIT);
	EXPECT_EQ(s.world().told_count, 0);
	/* An event of this life counts. */
	s.engine().event(0x50a, AeSource::sq, qp.number());
	s.world().settle();
	EXPECT_EQ(qp.state(), SHIM_QPS_ERR);
}

/* One that comes in RESET is of the life before, though its work may wait until the next. */
void event_in_reset()
{
	Scene s;
	REQUIRE(s.ready);
	KernelQp qp(*s.rig);

	REQUIRE(qp.bring_up(SHIM_QPS_RTS));
	EXPECT_EQ(qp.modify(SHIM_QPS_RESET), 0);
	s.engine().event(0x50a, AeSource::sq, qp.number());
	s.world().advance(s.world().now() + World::ms, false);
	EXPECT_EQ(qp.modify(SHIM_QPS_INIT), 0);
	s.world().settle();
	EXPECT_EQ(qp.state(), SHIM_QPS_INIT);
	EXPECT_EQ(s.world().told_count, 0);
}

/* A broken CQ is told to its consumer once. */
void broken_cq()
{
	constexpr u32 codes[] = {0x203, 0x702};

	for (u32 code : codes) {
		Scene s;
		REQUIRE(s.ready);
		KernelQp qp(*s.rig);

		REQUIRE(qp.made);
		for (u32 i = 0; i < 5; i++)
			s.engine().event(code, AeSource::cq, qp.cq_result.number);
		s.world().settle();
		EXPECT_EQ(s.world().times_told(&qp.ib_cq, SHIM_EVENT_CQ_ERR), 1);
		EXPECT_EQ(s.world().told_count, 1);
		/* An unknown event with a CQ's number is said, and nothing else. */
		s.world().forget_log();
		s.engine().event(0x123, AeSource::cq, qp.cq_result.number);
		s.world().settle();
		EXPECT_EQ(s.world().told_count, 1);
		EXPECT_EQ(s.world().lines(SHIM_WARN), 1);
	}
}

void damaged_function()
{
	Scene s;
	REQUIRE(s.ready);

	s.rig->announce();
	s.engine().event(0x701, AeSource::none, 0);
	s.world().settle();
	EXPECT(s.rig->device().dead());
	EXPECT(s.world().said("event 0x701"));
	/* More of them while it is reset are no news. */
	s.world().forget_log();
	for (u32 i = 0; i < 20; i++)
		s.engine().event(0x701, AeSource::none, 0);
	s.world().settle();
	EXPECT(!s.world().said("event 0x701"));
	EXPECT_EQ(s.world().fatal, 1);
	EXPECT_EQ(s.world().resets, 1);
}

void overflow_is_said()
{
	Scene s;
	REQUIRE(s.ready);

	s.engine().event(0x50c, AeSource::sq, 3, 0, true);
	s.world().settle();
	EXPECT(s.world().said("events were lost"));
}

/* ---- Rings and interrupts ---- */

/* Over several laps of the AEQ; entries are given back as they are taken. */
void aeq_over_many_laps()
{
	Scene s;
	REQUIRE(s.ready);
	KernelQp qp(*s.rig);
	u32 entries = 0;

	REQUIRE(qp.bring_up(SHIM_QPS_RTS));
	const Command *made = s.engine().last_of(hw::CqpOp::create_aeq);
	if (made)
		entries = static_cast<u32>(made->get(hw::cqp_aeq::size));
	EXPECT_EQ(entries, 64 + 128); /* one for each QP and CQ */
	u32 total = 5 * entries + 7;
	for (u32 i = 0; i < total; i++) {
		s.engine().event(0x201, AeSource::sq, qp.number(), i & 0x7fff);
		if (i % 5 == 0)
			s.world().settle();
	}
	s.world().settle();
	EXPECT_EQ(s.engine().aeqes_given_back, total);
	EXPECT_EQ(s.world().lines(SHIM_WARN), total);
	EXPECT_EQ(qp.state(), SHIM_QPS_RTS);
}

/* Memory for all entries is not to be had side by side, as on a machine that has run for long. */
void aeq_in_little_memory()
{
	constexpr u32 wanted = 128 + 256;
	Large<Rig> rig;
	auto refuse = [](u64 bytes) { return bytes == wanted * sizeof(hw::Aeqe); };

	rig->engine().offer(hw::HmcObject::qp, 128);
	rig->engine().offer(hw::HmcObject::cq, 256);
	rig->engine().offer(hw::HmcObject::q1, 1 << 16);
	rig->engine().fpm.set(hw::fpm_query::max_sds, 64);
	rig->world().refuse_dma = refuse;
	REQUIRE(rig->start());
	const Command *made = rig->engine().last_of(hw::CqpOp::create_aeq);
	REQUIRE(made);
	EXPECT_EQ(made->get(hw::cqp_aeq::size), 256);
	KernelQp qp(*rig);
	REQUIRE(qp.bring_up(SHIM_QPS_RTS));
	for (u32 i = 0; i < 600; i++) {
		rig->engine().event(0x201, AeSource::sq, qp.number(), i);
		rig->world().settle();
	}
	EXPECT_EQ(rig->engine().aeqes_given_back, 600);
}

/* A storm: what an interrupt does is bounded, the rest is work, and nothing is lost. */
void aeq_storm()
{
	Scene s;
	REQUIRE(s.ready);
	KernelQp qp(*s.rig);

	REQUIRE(qp.bring_up(SHIM_QPS_RTS));
	for (u32 i = 0; i < 150; i++)
		s.engine().quiet_event(0x201, AeSource::sq, qp.number());
	s.engine().event(0x201, AeSource::sq, qp.number());
	s.world().fire(0); /* at once, in this call */
	EXPECT(s.engine().aeqes_given_back <= 16);
	s.world().settle();
	EXPECT_EQ(s.engine().aeqes_given_back, 151);
}

/* An interrupt that got lost is made up for within a few seconds, and said. */
void lost_interrupts()
{
	Scene s;
	REQUIRE(s.ready);
	KernelQp qp(*s.rig);

	REQUIRE(qp.bring_up(SHIM_QPS_RTS));
	irdma_cq_notify(qp.cq, SHIM_CQ_NEXT_COMP);
	s.engine().quiet_event(0x50a, AeSource::sq, qp.number());
	s.engine().completion_event(0, qp.cq_result.number, false);
	s.world().settle();
	EXPECT_EQ(qp.state(), SHIM_QPS_RTS);
	s.world().pass(3 * World::second);
	EXPECT_EQ(qp.state(), SHIM_QPS_ERR);
	EXPECT(s.world().completions >= 1);
	EXPECT(s.world().said("did not come"));
}

/* Each armed CQ of its own CEQ; entries of a CQ that is gone, or on another CEQ, do nothing. */
void completion_events_find_their_cq()
{
	Scene s;
	REQUIRE(s.ready);
	KernelQp qp(*s.rig);
	static int told;
	auto count = [&qp](void *ib) { told += ib == &qp.ib_cq; };

	told = 0;
	REQUIRE(qp.made);
	EXPECT_EQ(s.rig->device().events.ceq_count(), 2); /* three vectors, two CPUs */
	s.world().on_completion = count;
	s.engine().completion_event(0, qp.cq_result.number); /* not armed: a leftover */
	s.world().settle();
	EXPECT_EQ(told, 0);
	irdma_cq_notify(qp.cq, SHIM_CQ_NEXT_COMP);
	const u64 strangers[] = {2, 127, 128, 511, 0x7fffffffffffffffULL, 1ULL << 32};
	for (u64 id : strangers)
		if (id != qp.cq_result.number)
			s.engine().completion_event(0, id);
	s.engine().completion_event(1, qp.cq_result.number); /* on the wrong CEQ */
	s.engine().completion_event(1, 0);		     /* the CCQ is CEQ 0's */
	s.world().settle();
	EXPECT_EQ(told, 0);
	EXPECT_EQ(s.world().completions, 0);
	s.engine().completion_event(0, qp.cq_result.number);
	s.world().settle();
	EXPECT_EQ(told, 1);
	s.engine().completion_event(0, qp.cq_result.number); /* one for each arming */
	s.world().settle();
	EXPECT_EQ(told, 1);
	s.world().on_completion = {};
}

/*
 * A CQ that goes: its consumer is told of nothing from the moment on that ib_core asks for silence
 * (kernels that end a CQ in steps), at the latest when the device is told; which it is once.
 */
void completion_events_of_a_cq_that_goes()
{
	for (u32 in_steps = 0; in_steps < 2; in_steps++) {
		Scene s;
		REQUIRE(s.ready);
		irdma_cq *cq = nullptr;
		irdma_cq_params params = {};
		irdma_cq_result result = {};

		params.entries = 64;
		REQUIRE(!irdma_cq_create(s.rig->c(), &params, &cq, &result));
		EXPECT_EQ(irdma_cq_notify(cq, SHIM_CQ_NEXT_COMP), 0);
		if (in_steps) {
			irdma_cq_silence(cq);
			s.engine().completion_event(0, result.number);
			s.world().settle();
			EXPECT_EQ(s.world().completions, 0);
			EXPECT_EQ(s.engine().count(hw::CqpOp::destroy_cq), 0);
		}
		Engine *engine = &s.engine();
		auto telling = [engine, number = result.number](const Command &c, Answer &) {
			if (c.op == hw::CqpOp::destroy_cq)
				engine->completion_event(0, number);
		};
		s.engine().on_command = telling;
		EXPECT_EQ(irdma_cq_destroy(cq, false), 0);
		s.world().settle();
		EXPECT_EQ(s.world().completions, 0);
		EXPECT_EQ(s.engine().count(hw::CqpOp::destroy_cq), 1);
		EXPECT(!s.engine().cq(result.number).there);
	}
}

void ceq_over_many_laps()
{
	Scene s;
	REQUIRE(s.ready);
	KernelQp qp(*s.rig);

	REQUIRE(qp.made);
	for (u32 i = 0; i < 1000; i++) { /* its ring has 128 entries */
		irdma_cq_notify(qp.cq, SHIM_CQ_NEXT_COMP);
		s.engine().completion_event(0, qp.cq_result.number);
		s.world().settle();
		if (!EXPECT_EQ(s.world().completions, i + 1))
			return;
	}
	/* A full ring of strangers at once. */
	for (u32 i = 0; i < 120; i++)
		s.engine().completion_event(0, 100, false);
	s.engine().completion_event(0, 100);
	s.world().settle();
	irdma_cq_notify(qp.cq, SHIM_CQ_NEXT_COMP);
	s.engine().completion_event(0, qp.cq_result.number);
	s.world().settle();
	EXPECT_EQ(s.world().completions, 1001);
}

/* An interrupt without end: after its share of the CPU's time it is left to work items. */
void endless_interrupts()
{
	Scene s;
	REQUIRE(s.ready);
	auto busy = [&s](void *) { s.world().advance(s.world().now() + 3 * World::ms, false); };
	KernelQp qp(*s.rig);

	REQUIRE(qp.made);
	irdma_cq_notify(qp.cq, SHIM_CQ_NEXT_COMP);
	s.world().on_completion = busy;
	s.engine().completion_event(0, qp.cq_result.number, false);
	s.world().fire(1); /* takes 3 ms of a window of 10 */
	s.world().on_completion = {};
	EXPECT_EQ(s.world().completions, 1);
	irdma_cq_notify(qp.cq, SHIM_CQ_NEXT_COMP);
	s.engine().completion_event(0, qp.cq_result.number, false);
	s.world().fire(1);
	EXPECT_EQ(s.world().completions, 1); /* not in interrupt context */
	s.world().settle();
	EXPECT_EQ(s.world().completions, 2);
}

/* With as many vectors as CPUs the AEQ shares the first; with one, all do. */
void few_vectors()
{
	for (u32 vectors = 1; vectors <= 4; vectors++) {
		Large<Rig> rig;

		rig->world().vectors = vectors;
		REQUIRE(rig->start());
		u32 ceqs = rig->device().events.ceq_count();
		EXPECT_EQ(ceqs, min(vectors, 2u));
		EXPECT(rig->engine().has_aeq());
		for (u32 i = 0; i < 4; i++)
			EXPECT_EQ(rig->engine().has_ceq(i), i < ceqs);
		KernelQp qp(*rig);
		REQUIRE(qp.bring_up(SHIM_QPS_RTS));
		rig->engine().event(0x50a, AeSource::sq, qp.number());
		rig->world().settle();
		EXPECT_EQ(qp.state(), SHIM_QPS_ERR);
	}
	/* The device may have fewer CEQs than there are vectors. */
	Large<Rig> rig;

	rig->world().vectors = 9;
	rig->world().cpus = 8;
	rig->engine().fpm.set(hw::fpm_query::max_ceqs, 1);
	REQUIRE(rig->start());
	EXPECT_EQ(rig->device().events.ceq_count(), 1);
}

/* An interrupt that cannot be had fails the bring-up, and is undone. */
void vectors_that_are_refused()
{
	for (u32 vectors = 1; vectors <= 3; vectors++) {
		Large<Rig> rig;

		rig->world().vectors = vectors;
		rig->world().irq_error = -SHIM_ENOSPC;
		EXPECT_EQ(rig->try_start(), -SHIM_ENOSPC);
		EXPECT_EQ(rig->engine().objects(), 0);
	}
}

/* CQs choose among the CEQs that there are. */
void vectors_of_cqs()
{
	Scene s;
	REQUIRE(s.ready);

	for (u32 vector = 0; vector < 4; vector++) {
		irdma_cq_params params = {};
		irdma_cq *cq = nullptr;
		irdma_cq_result result;

		params.entries = 10;
		params.comp_vector = vector;
		params.ib = &params;
		int err = irdma_cq_create(s.rig->c(), &params, &cq, &result);
		EXPECT_EQ(err, vector < 2 ? 0 : -SHIM_EINVAL);
		if (err)
			continue;
		EXPECT_EQ(s.engine().cq(result.number).ceq, vector);
		irdma_cq_notify(cq, SHIM_CQ_NEXT_COMP);
		u32 before = s.world().completions;
		s.engine().completion_event(vector, result.number);
		s.world().settle();
		EXPECT_EQ(s.world().completions, before + 1);
		irdma_cq_destroy(cq, false);
	}
}

constexpr bridge_case cases[] = {
	TEST(table_is_the_stock_drivers),
	TEST(objects_of_events),
	TEST(sources_have_names),
	TEST(each_event_of_a_live_object),
	TEST(event_of_a_receive),
	TEST(events_of_nobody),
	TEST(event_of_a_qp_that_goes),
	TEST(event_of_a_life_before),
	TEST(event_in_reset),
	TEST(broken_cq),
	TEST(damaged_function),
	TEST(overflow_is_said),
	TEST(aeq_over_many_laps),
	TEST(aeq_in_little_memory),
	TEST(aeq_storm),
	TEST(lost_interrupts),
	TEST(completion_events_find_their_cq),
	TEST(completion_events_of_a_cq_that_goes),
	TEST(ceq_over_many_laps),
	TEST(endless_interrupts),
	TEST(few_vectors),
	TEST(vectors_that_are_refused),
	TEST(vectors_of_cqs),
};

} // namespace

SUITE(events, cases)
