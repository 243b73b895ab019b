// SPDX-License-Identifier: GPL-2.0
/*
 * Queue pairs on the fake engine: plans carried out, and undone when a step
 * fails; use after RESET; SQD; flush; what is left to the device and what is
 * given back when it refuses or does not answer.
 */
#include "fake/rig.h"
#include "hw/limits.h"
#include "hw/regs.h"
#include "verbs/ucontext.h"

using namespace irdma;
using namespace irdma::fake;
using namespace irdma::test;

namespace {

bool same(const hw::QpContext &a, const hw::QpContext &b)
{
	for (u32 i = 0; i < hw::QpContext::count; i++)
		if (a.qw[i].get() != b.qw[i].get())
			return false;
	return true;
}

/* ---- Life ---- */

/* What CREATE_QP shows: values of the stock driver for a new QP of the kernel. */
void context_of_a_new_qp()
{
	constexpr u32 types[] = {SHIM_QPT_RC, SHIM_QPT_UD, SHIM_QPT_GSI};

	for (u32 type : types) {
		Scene s;
		REQUIRE(s.ready);
		KernelQp qp(*s.rig, type);
		REQUIRE(qp.made);
		auto &shown = s.engine().qp(qp.number());
		const hw::QpContext &c = shown.context;

		EXPECT_EQ(qp.number(), type == SHIM_QPT_GSI ? 1 : 3);
		EXPECT_EQ(shown.type, type == SHIM_QPT_RC ? hw::QpType::rc : hw::QpType::ud);
		EXPECT_EQ(c.get(hw::qpc::pd), qp.pd_number);
		EXPECT_EQ(c.get(hw::qpc::send_cq), qp.cq_result.number);
		EXPECT_EQ(c.get(hw::qpc::recv_cq), qp.cq_result.number);
		EXPECT_EQ(c.get(hw::qpc::src_mac), 0x525400e81001);
		EXPECT_EQ(c.get(hw::qpc::src_port), 0xc000);
		EXPECT_EQ(c.get(hw::qpc::dest_port), 4791);
		EXPECT_EQ(c.get(hw::qpc::path_mtu), 1024); /* netdev MTU 1500 */
		EXPECT_EQ(c.get(hw::qpc::ord), 255);
		EXPECT_EQ(c.get(hw::qpc::ird_code), 4);
		EXPECT_EQ(c.get(hw::qpc::retry_count), 2);
		EXPECT_EQ(c.get(hw::qpc::rnr_retry), 2);
		EXPECT_EQ(c.get(hw::qpc::cwnd), 0x400);
		EXPECT_EQ(c.get(hw::qpc::ack_credits), 0x1e);
		EXPECT_EQ(c.get(hw::qpc::bind_enable), 1);
		EXPECT_EQ(c.get(hw::qpc::fastreg_enable), 1);
		EXPECT_EQ(c.get(hw::qpc::priv_enable), 1);
		/* 16 requests of 4 fragments, and 258 quanta: 512; 16 of 3 fragments: 64. */
		EXPECT_EQ(c.get(hw::qpc::sq_size), 7);
		EXPECT_EQ(c.get(hw::qpc::rq_size), 4);
		EXPECT_EQ(c.get(hw::qpc::rq_wqe_size), 1);
		EXPECT(c.get(hw::qpc::qs_handle) != 0);
		EXPECT_EQ(qp.qp_result.caps & 1, type == SHIM_QPT_RC);
		EXPECT_EQ(qp.qp_result.sq_size, 512 / 4);
	}
}

void second_gsi_is_refused()
{
	Scene s;
	REQUIRE(s.ready);
	KernelQp one(*s.rig, SHIM_QPT_GSI), two(*s.rig, SHIM_QPT_GSI);

	EXPECT(one.made && !two.made);
}

void sizes_that_are_refused()
{
	Scene s;
	REQUIRE(s.ready);
	KernelQp qp(*s.rig, SHIM_QPT_RC, 40000);

	EXPECT(!qp.made);
	EXPECT_EQ(s.world().lines(SHIM_WARN), 0); /* the caller's mistake, for who debugs it */
	EXPECT_EQ(s.world().lines(SHIM_DBG) > 0, true);
}

/* All numbers in use, then one comes back. */
void no_more_numbers()
{
	Scene s;
	REQUIRE(s.ready);
	constexpr u32 room = 61; /* 64 offered, 3 reserved */
	irdma_pd *pd;
	irdma_cq *cq;
	static irdma_qp *qps[room + 1];
	u32 pd_number, made = 0;
	irdma_cq_params cq_params = {};
	irdma_cq_result cq_result;
	irdma_qp_params params = {};
	irdma_qp_result result;

	cq_params.entries = 8;
	REQUIRE(!irdma_pd_create(s.rig->c(), &pd, &pd_number));
	REQUIRE(!irdma_cq_create(s.rig->c(), &cq_params, &cq, &cq_result));
	params.type = SHIM_QPT_RC;
	params.max_send_wr = params.max_recv_wr = params.max_send_sge = params.max_recv_sge = 1;
	params.pd = pd;
	params.send_cq = params.recv_cq = cq;
	while (made <= room && !irdma_qp_create(s.rig->c(), &params, &qps[made], &result))
		made++;
	EXPECT_EQ(made, room);
	EXPECT_EQ(irdma_qp_create(s.rig->c(), &params, &qps[made], &result), -SHIM_ENOSPC);
	irdma_qp_destroy(qps[0], false);
	EXPECT_EQ(irdma_qp_create(s.rig->c(), &params, &qps[0], &result), 0);
	while (made)
		irdma_qp_destroy(qps[--made], false);
	irdma_cq_destroy(cq, false);
	irdma_pd_destroy(pd);
}

/* Each type through all states, by the kernel. */
void all_states()
{
	constexpr u32 types[] = {SHIM_QPT_RC, SHIM_QPT_UD, SHIM_QPT_GSI};

	for (u32 type : types) {
		Scene s;
		REQUIRE(s.ready);
		KernelQp qp(*s.rig, type);

		REQUIRE(qp.bring_up(SHIM_QPS_RTS));
		EXPECT_EQ(s.engine().qp(qp.number()).state, hw::QpState::rts);
		EXPECT_EQ(qp.modify(SHIM_QPS_SQD), 0);
		EXPECT_EQ(s.engine().qp(qp.number()).state, hw::QpState::sqd);
		EXPECT_EQ(qp.modify(SHIM_QPS_RTS) == 0 || type != SHIM_QPT_RC, true);
		EXPECT_EQ(qp.modify(SHIM_QPS_ERR), 0);
		EXPECT_EQ(s.engine().qp(qp.number()).state, hw::QpState::error);
		EXPECT_EQ(s.engine().count(hw::CqpOp::flush_wqes), 1);
		EXPECT_EQ(qp.modify(SHIM_QPS_RESET), 0);
		EXPECT_EQ(qp.state(), SHIM_QPS_RESET);
		/* Again: made anew. */
		EXPECT(qp.bring_up(SHIM_QPS_RTS));
		EXPECT_EQ(s.engine().count(hw::CqpOp::create_qp), 2);
		EXPECT_EQ(s.world().lines(SHIM_WARN), 0);
	}
}

void refusals_are_said()
{
	Scene s;
	REQUIRE(s.ready);
	KernelQp qp(*s.rig);
	REQUIRE(qp.made);
	u32 commands = s.engine().commands;

	EXPECT_EQ(qp.modify(SHIM_QPS_RTR), -SHIM_EINVAL);
	EXPECT(s.world().said("RESET to RTR"));
	EXPECT_EQ(qp.modify(SHIM_QPS_INIT, SHIM_QP_QKEY), -SHIM_EINVAL);
	EXPECT(s.world().said("qkey"));
	irdma_qp_change change = qp.change_to(77);
	EXPECT_EQ(irdma_qp_modify(qp.qp, &change), -SHIM_EINVAL);
	EXPECT(s.world().said("unknown state"));
	EXPECT_EQ(qp.state(), SHIM_QPS_RESET);
	EXPECT_EQ(s.engine().commands, commands);
}

/* What query_qp tells is what was set. */
void query()
{
	Scene s;
	REQUIRE(s.ready);
	KernelQp qp(*s.rig);
	irdma_qp_state now;

	REQUIRE(qp.bring_up(SHIM_QPS_RTS));
	irdma_qp_query(qp.qp, &now);
	EXPECT_EQ(now.attr.dest_qp, 0x123);
	EXPECT_EQ(now.attr.path_mtu, 1024);
	EXPECT_EQ(now.attr.timeout, 14);
	EXPECT_EQ(now.attr.retry_cnt, 7);
	EXPECT_EQ(now.attr.min_rnr_timer, 12);
	EXPECT_EQ(now.attr.path.hop_limit, 64);
	EXPECT_EQ(now.cap.max_send_sge, 3);
	EXPECT(!now.sq_draining);
}

/* ---- What fails changes nothing ---- */

/* Each command of RTR and RTS refused: state, attributes, context and shares as before. */
void failed_changes_leave_no_trace()
{
	constexpr hw::CqpOp ops[] = {hw::CqpOp::modify_qp, hw::CqpOp::manage_arp,
				     hw::CqpOp::work_sched_node};

	for (hw::CqpOp op : ops) {
		Scene s;
		REQUIRE(s.ready);
		for (u32 p = 0; p < SHIM_MAX_UP; p++)
			s.world().qos.up2tc[p] = static_cast<u8>(p / 4);
		s.world().qos.num_tc = 2;
		irdma_after_tc_change(s.rig->c()); /* learn them */
		KernelQp qp(*s.rig);

		REQUIRE(qp.bring_up(SHIM_QPS_INIT));
		qp.path.tos_priority = 5; /* of the other traffic class */
		irdma_qp_details before, after;
		irdma_qp_describe(qp.qp, &before);
		hw::QpContext context = s.engine().qp(qp.number()).context;
		u32 objects = s.engine().objects(), qsets = s.world().qsets;
		s.refuse(op);
		EXPECT_EQ(qp.modify(SHIM_QPS_RTR), -SHIM_EIO);
		EXPECT_EQ(qp.state(), SHIM_QPS_INIT);
		irdma_qp_describe(qp.qp, &after);
		EXPECT_EQ(after.arp_index, 0);
		EXPECT_EQ(after.priority, before.priority);
		EXPECT_EQ(after.src_port, before.src_port);
		EXPECT_EQ(after.qs_handle, before.qs_handle);
		s.obey();
		/* The device has what it had, but for nodes that it refused to delete. */
		if (op != hw::CqpOp::work_sched_node) {
			EXPECT_EQ(s.engine().objects(), objects);
			EXPECT_EQ(s.world().qsets, qsets);
		}
		EXPECT_EQ(qp.modify(SHIM_QPS_RTR), 0);
		EXPECT_EQ(qp.modify(SHIM_QPS_RTS), 0);
		EXPECT_EQ(s.engine().qp(qp.number()).context.get(hw::qpc::psn_next), 0);
		EXPECT(!same(context, s.engine().qp(qp.number()).context));
		irdma_qp_describe(qp.qp, &after);
		EXPECT_EQ(after.priority, 5);
		/* Another path in SQD, which fails. */
		EXPECT_EQ(qp.modify(SHIM_QPS_SQD), 0);
		context = s.engine().qp(qp.number()).context;
		qp.path.dest_ip[3]++;
		s.refuse(hw::CqpOp::modify_qp);
		EXPECT_EQ(qp.modify(SHIM_QPS_SQD, SHIM_QP_AV), -SHIM_EIO);
		s.obey();
		EXPECT_EQ(qp.modify(SHIM_QPS_RTS), 0);
		EXPECT_EQ(s.engine().qp(qp.number()).context.get(hw::qpc::dest_ip3), 0x0a000002);
	}
}

/* Creation fails at each of its commands: nothing is left. */
void creation_that_fails()
{
	constexpr hw::CqpOp ops[] = {hw::CqpOp::create_qp, hw::CqpOp::work_sched_node};

	for (hw::CqpOp op : ops) {
		Scene s;
		REQUIRE(s.ready);
		s.refuse(op);
		KernelQp qp(*s.rig);

		EXPECT(!qp.made);
		s.obey();
		KernelQp again(*s.rig);
		EXPECT(again.made);
	}
	Scene s;
	REQUIRE(s.ready);
	s.world().qset_error = -SHIM_ENOMEM; /* ice has no queue set */
	KernelQp qp(*s.rig);
	EXPECT(!qp.made);
	EXPECT_EQ(s.engine().objects(), 1); /* the CQ */
	s.world().qset_error = 0;
}

/* The device refuses to destroy it: its memory is kept, its number not used again. */
void destruction_that_fails()
{
	Scene s;
	REQUIRE(s.ready);
	u32 number, buffers;
	u64 context, ring;

	{
		KernelQp qp(*s.rig);

		REQUIRE(qp.bring_up(SHIM_QPS_RTS));
		number = qp.number();
		context = s.engine().qp(number).context_bus;
		ring = s.engine().qp(number).context.get(hw::qpc::sq_addr);
		buffers = s.world().dma_buffers();
		s.refuse(hw::CqpOp::destroy_qp);
		irdma_qp_destroy(qp.qp, false);
		qp.qp = nullptr;
		s.obey();
		s.engine().qp(number).there = false; /* for the checks of the CQ */
		EXPECT(s.world().find_dma(context, 256) != nullptr);
		EXPECT(s.world().find_dma(ring, 512 * 32) != nullptr);
		EXPECT_EQ(s.world().dma_buffers(), buffers);
	}
	for (u32 i = 0; i < 60; i++) {
		KernelQp qp(*s.rig);

		REQUIRE(qp.made);
		EXPECT(qp.number() != number);
	}
}

/* A process is told of it, and may try again; its QP has stopped, and events find it. */
void destruction_that_may_fail()
{
	Scene s;
	REQUIRE(s.ready);
	KernelQp qp(*s.rig);

	REQUIRE(qp.bring_up(SHIM_QPS_RTS));
	s.refuse(hw::CqpOp::destroy_cq);
	EXPECT_EQ(irdma_cq_destroy(qp.cq, true), -SHIM_EIO);
	s.obey();
	irdma_cq_notify(qp.cq, SHIM_CQ_NEXT_COMP);
	s.engine().completion_event(0, qp.cq_result.number);
	s.world().settle();
	EXPECT(s.world().completions != 0);
}

/* A device that died: objects go at once, and nothing is asked of it. */
void objects_go_with_a_dead_device()
{
	Scene s;
	REQUIRE(s.ready);
	KernelQp qp(*s.rig);

	REQUIRE(qp.bring_up(SHIM_QPS_RTS));
	s.rig->device().declare_dead("for a test");
	u32 commands = s.engine().commands;
	EXPECT_EQ(qp.modify(SHIM_QPS_RTS, SHIM_QP_MIN_RNR_TIMER), 0); /* needs no command */
	EXPECT_EQ(qp.modify(SHIM_QPS_SQD), -SHIM_ENODEV);
	EXPECT_EQ(qp.modify(SHIM_QPS_ERR), 0); /* which it is in already */
	EXPECT_EQ(s.engine().commands, commands);
}

/* Creation that is never answered: the device may have made it, so its memory is kept. */
void creation_that_is_never_answered()
{
	Scene s;
	REQUIRE(s.ready);
	auto silent = [](const Command &c, Answer &a) { a.silent = c.op == hw::CqpOp::create_qp; };
	u32 buffers;

	s.engine().on_command = silent;
	{
		KernelQp qp(*s.rig);

		EXPECT(!qp.made);
		EXPECT(s.rig->device().dead());
		EXPECT(s.world().find_dma(s.engine().qp(3).context_bus, 256) != nullptr);
		buffers = s.world().dma_buffers();
	}
	EXPECT(s.world().dma_buffers() <= buffers + 2);
}

/* ---- SQD ---- */

/* RTS waits until the SQ has drained; the consumer is told if it asked for it. */
void drain()
{
	for (u32 notify = 0; notify < 2; notify++) {
		Scene s;
		REQUIRE(s.ready);
		KernelQp qp(*s.rig);
		irdma_qp_state now;

		REQUIRE(qp.bring_up(SHIM_QPS_RTS));
		s.engine().suspends = false;
		irdma_qp_change change = qp.change_to(SHIM_QPS_SQD);
		change.mask |= SHIM_QP_EN_SQD_ASYNC_NOTIFY;
		change.sqd_async_notify = notify;
		EXPECT_EQ(irdma_qp_modify(qp.qp, &change), 0);
		irdma_qp_query(qp.qp, &now);
		EXPECT(now.sq_draining);
		u64 start = s.world().now();
		EXPECT_EQ(qp.modify(SHIM_QPS_RTS), -SHIM_EBUSY);
		EXPECT(s.world().now() - start >= 5 * World::second);
		EXPECT_EQ(qp.state(), SHIM_QPS_SQD);
		s.engine().event(0x900, hw::AeSource::sq, qp.number());
		s.world().settle();
		irdma_qp_query(qp.qp, &now);
		EXPECT(!now.sq_draining);
		EXPECT_EQ(s.world().times_told(&qp.ib_qp, SHIM_EVENT_SQ_DRAINED), notify);
		EXPECT_EQ(qp.modify(SHIM_QPS_RTS), 0);
		/* Work posted meanwhile gets its doorbell. */
		EXPECT_EQ(s.engine().last_doorbell, qp.number());
		/* A second one, that nobody waits for. */
		s.engine().event(0x900, hw::AeSource::sq, qp.number());
		s.world().settle();
		EXPECT_EQ(s.world().told_count, notify);
	}
}

void drain_that_fails()
{
	Scene s;
	REQUIRE(s.ready);
	KernelQp qp(*s.rig);
	irdma_qp_state now;

	REQUIRE(qp.bring_up(SHIM_QPS_RTS));
	s.refuse(hw::CqpOp::modify_qp);
	EXPECT_EQ(qp.modify(SHIM_QPS_SQD), -SHIM_EIO);
	irdma_qp_query(qp.qp, &now);
	EXPECT_EQ(now.attr.state, SHIM_QPS_RTS);
	EXPECT(!now.sq_draining);
	s.obey();
	/* An error while it drains: it will not drain any more. */
	s.engine().suspends = false;
	EXPECT_EQ(qp.modify(SHIM_QPS_SQD), 0);
	s.engine().event(0x50a, hw::AeSource::sq, qp.number());
	EXPECT_EQ(qp.modify(SHIM_QPS_RTS), -SHIM_EIO);
	s.world().settle();
	EXPECT_EQ(qp.state(), SHIM_QPS_ERR);
}

/*
 * The event is being dealt with when another thread, which takes the QP's mutex first, waits for the
 * end of the draining: that will not come, and is not waited for.
 */
void event_beside_a_wait_for_the_drain()
{
	Scene s;
	REQUIRE(s.ready);
	KernelQp qp(*s.rig);
	struct Thread {
		World &world;
		KernelQp &qp;
		int result = 0;
		u64 took = 0;
	} thread{s.world(), qp};
	auto rts = [t = &thread] {
		u64 start = t->world.now();

		t->result = t->qp.modify(SHIM_QPS_RTS);
		t->took = t->world.now() - start;
	};

	REQUIRE(qp.bring_up(SHIM_QPS_RTS));
	s.engine().suspends = false;
	EXPECT_EQ(qp.modify(SHIM_QPS_SQD), 0);
	s.engine().event(0x50a, hw::AeSource::sq, qp.number());
	s.world().on_mutex = rts; /* the next one is taken by the QP's work item */
	s.world().settle();
	EXPECT_EQ(thread.result, -SHIM_EIO);
	EXPECT(thread.took < World::second);
	EXPECT_EQ(qp.state(), SHIM_QPS_ERR);
	EXPECT_EQ(s.world().told_count, 1);
}

/* ---- ERR ---- */

/* The device has stopped it a moment before: its refusal is as good as success. */
void qp_that_has_stopped_by_itself()
{
	Scene s;
	REQUIRE(s.ready);
	KernelQp qp(*s.rig);

	REQUIRE(qp.bring_up(SHIM_QPS_RTS));
	s.refuse(hw::CqpOp::modify_qp, 0x8002);
	EXPECT_EQ(qp.modify(SHIM_QPS_ERR), 0);
	EXPECT_EQ(qp.state(), SHIM_QPS_ERR);
	EXPECT_EQ(s.engine().count(hw::CqpOp::flush_wqes), 1);
}

void flushes_that_fail()
{
	Scene s;
	REQUIRE(s.ready);
	{
		KernelQp qp(*s.rig);

		REQUIRE(qp.bring_up(SHIM_QPS_RTS));
		s.refuse(hw::CqpOp::flush_wqes, 0x8006); /* nothing to flush */
		EXPECT_EQ(qp.modify(SHIM_QPS_ERR), 0);
		EXPECT_EQ(s.world().lines(SHIM_WARN), 0);
	}
	KernelQp qp(*s.rig);

	s.obey();
	REQUIRE(qp.bring_up(SHIM_QPS_RTS));
	s.refuse(hw::CqpOp::flush_wqes);
	EXPECT_EQ(qp.modify(SHIM_QPS_ERR), 0);
	EXPECT(s.world().said("flush failed"));
}

/* The device does not take it to error after an event: said, and it counts as stopped. */
void stop_that_fails_after_an_event()
{
	Scene s;
	REQUIRE(s.ready);
	KernelQp qp(*s.rig);

	REQUIRE(qp.bring_up(SHIM_QPS_RTS));
	s.refuse(hw::CqpOp::modify_qp);
	s.engine().event(0x50a, hw::AeSource::sq, qp.number());
	s.world().settle();
	EXPECT_EQ(qp.state(), SHIM_QPS_ERR);
	EXPECT(s.world().said("does not take it to error"));
	s.world().forget_log();
}

void destruction_of_one_that_does_not_stop()
{
	constexpr u16 minors[] = {0x1111, 0x8002};

	for (u16 minor : minors) {
		Scene s;
		REQUIRE(s.ready);
		{
			KernelQp qp(*s.rig);

			REQUIRE(qp.bring_up(SHIM_QPS_RTS));
			s.refuse(hw::CqpOp::modify_qp, minor);
		}
		EXPECT_EQ(s.world().said("does not stop"), minor == 0x1111);
		EXPECT(!s.engine().qp(3).there);
	}
}

/* ---- Details ---- */

void what_administrators_see()
{
	Scene s;
	REQUIRE(s.ready);
	KernelQp qp(*s.rig);
	irdma_qp_details details;
	static u8 raw[IRDMA_QP_CONTEXT_BYTES];
	irdma_cq_details cq_details;

	constexpr const char *names[] = {"idle", "idle", "RTR", "RTS", "SQD"};
	REQUIRE(qp.made);
	for (u32 state = 0; state < array_size(names); state++) {
		if (state)
			EXPECT_EQ(qp.modify(state), 0);
		irdma_qp_describe(qp.qp, &details);
		if (!same_text(details.hw_state, names[state]))
			FAIL("state %u is called %s", state, details.hw_state);
	}
	EXPECT_EQ(details.sq_quanta, 512);
	EXPECT_EQ(details.src_port, 0xd234);
	EXPECT(details.arp_index != 0);
	EXPECT_EQ(irdma_qp_upload(qp.qp, raw), 0);
	EXPECT(same(*reinterpret_cast<hw::QpContext *>(raw), s.engine().qp(qp.number()).context));
	s.refuse(hw::CqpOp::upload_context);
	EXPECT_EQ(irdma_qp_upload(qp.qp, raw), -SHIM_EIO);
	s.obey();
	EXPECT_EQ(qp.modify(SHIM_QPS_ERR), 0);
	irdma_qp_describe(qp.qp, &details);
	EXPECT(same_text(details.hw_state, "error"));
	irdma_cq_describe(qp.cq, &cq_details);
	EXPECT_EQ(cq_details.ring_size, qp.cq_result.ring_size);
	s.rig->device().declare_dead("for a test");
	EXPECT_EQ(irdma_qp_upload(qp.qp, raw), -SHIM_ENODEV);
}

/* ---- Allocations ---- */

/* Each allocation of a QP's life fails once: an errno or success, and nothing leaks. */
void allocations_that_fail()
{
	bool any = true;

	for (u32 nth = 1; any && nth < 200; nth++) {
		Scene s;
		REQUIRE(s.ready);
		s.world().fail_allocation(nth);
		{
			KernelQp qp(*s.rig);

			if (qp.made)
				(void)qp.bring_up(SHIM_QPS_RTS);
		}
		any = s.world().allocation_failed();
		s.world().fail_allocation(0);
	}
	EXPECT(!any);
}

constexpr bridge_case cases[] = {
	TEST(context_of_a_new_qp),
	TEST(second_gsi_is_refused),
	TEST(sizes_that_are_refused),
	TEST(no_more_numbers),
	TEST(all_states),
	TEST(refusals_are_said),
	TEST(query),
	TEST(failed_changes_leave_no_trace),
	TEST(creation_that_fails),
	TEST(destruction_that_fails),
	TEST(destruction_that_may_fail),
	TEST(objects_go_with_a_dead_device),
	TEST(creation_that_is_never_answered),
	TEST(drain),
	TEST(drain_that_fails),
	TEST(event_beside_a_wait_for_the_drain),
	TEST(qp_that_has_stopped_by_itself),
	TEST(flushes_that_fail),
	TEST(stop_that_fails_after_an_event),
	TEST(destruction_of_one_that_does_not_stop),
	TEST(what_administrators_see),
	TEST(allocations_that_fail),
};

} // namespace

SUITE(qp, cases)
