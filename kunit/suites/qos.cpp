// SPDX-License-Identifier: GPL-2.0
/*
 * Quality of service: priorities by ToS, VLAN and DSCP; queue sets that come
 * with their first user and go with their last, in the order in which the
 * work-scheduler tree can be built; and changes of traffic classes under QPs.
 */
#include "fake/rig.h"
#include "hw/limits.h"

using namespace irdma;
using namespace irdma::fake;
using namespace irdma::test;

namespace {

struct QosScene : Scene {
	/** @classes traffic classes, to which priorities belong in turn. */
	explicit QosScene(u32 classes = 4) : Scene(false)
	{
		set(classes);
		ready = rig->start();
	}
	void set(u32 classes, u32 shift = 0)
	{
		world().qos.num_tc = static_cast<u8>(classes);
		for (u32 p = 0; p < SHIM_MAX_UP; p++)
			world().qos.up2tc[p] = static_cast<u8>((p + shift) % classes);
		for (u32 tc = 0; tc < classes; tc++)
			world().qos.tc[tc].relative_bw = static_cast<u8>(10 + tc);
	}
	Qos &qos() { return rig->device().qos; }
	void obey() { engine().on_command = {}; }
	u32 handle(u32 qp)
	{
		return static_cast<u32>(engine().qp(qp).context.get(hw::qpc::qs_handle));
	}
};

/* ---- Priorities ---- */

void priorities_by_tos_and_vlan()
{
	QosScene s;
	REQUIRE(s.ready);
	u8 egress[16];

	for (u32 i = 0; i < 16; i++)
		egress[i] = static_cast<u8>(15 - i);
	for (u32 tos = 0; tos < 256; tos++)
		for (u32 priority = 0; priority < 16; priority++) {
			u8 t = static_cast<u8>(tos), p = static_cast<u8>(priority);

			EXPECT_EQ(s.qos().priority_of(t, p, egress, false), priority & 7);
			EXPECT_EQ(s.qos().priority_of(t, p, egress, true), (15 - priority) & 7);
		}
	EXPECT(s.qos().priority_tagging());
}

void priorities_by_dscp()
{
	Large<Rig> rig;
	u8 egress[16] = {};

	rig->world().qos.dscp_mode = true;
	rig->world().qos.num_tc = 3;
	for (u32 dscp = 0; dscp < 64; dscp++)
		rig->world().qos.dscp2up[dscp] = static_cast<u8>(dscp * 5);
	REQUIRE(rig->start());
	for (u32 tos = 0; tos < 256; tos++)
		for (u32 vlan = 0; vlan < 2; vlan++)
			EXPECT_EQ(rig->device().qos.priority_of(static_cast<u8>(tos), 6, egress,
								vlan),
				  (tos >> 2) * 5 % 8);
	EXPECT(!rig->device().qos.priority_tagging()); /* the DSCP tells */
}

/* One class: nothing to show, so no tag. */
void one_class_needs_no_tags()
{
	QosScene s(1);
	REQUIRE(s.ready);

	EXPECT(!s.qos().priority_tagging());
}

/* ---- The tree ---- */

/* Root, VSI node, leaf, in that order; each class once; backwards when users go. */
void queue_sets_come_and_go()
{
	QosScene s;
	REQUIRE(s.ready);
	u32 nodes = s.engine().count(hw::CqpOp::work_sched_node);

	EXPECT_EQ(nodes, 0);
	{
		auto a = s.qos().place(0);
		REQUIRE(a.ok());
		/* Root, VSI node, leaf: added, then the leaf enabled once ice has it. */
		EXPECT_EQ(s.engine().count(hw::CqpOp::work_sched_node), 4);
		EXPECT_EQ(s.world().qsets, 1);
		const Command &modify = s.engine().last(0), &leaf = s.engine().last(1),
			      &vsi = s.engine().last(2), &root = s.engine().last(3);
		EXPECT_EQ(root.get(hw::cqp_ws::node), 0);
		EXPECT_EQ(root.get(hw::cqp_ws::leaf), 0);
		EXPECT_EQ(vsi.get(hw::cqp_ws::parent), 0);
		EXPECT_EQ(vsi.get(hw::cqp_ws::leaf), 0);
		EXPECT_EQ(leaf.get(hw::cqp_ws::parent), vsi.get(hw::cqp_ws::node));
		EXPECT_EQ(leaf.get(hw::cqp_ws::leaf), 1);
		EXPECT_EQ(leaf.get(hw::cqp_ws::enable), 0);
		EXPECT_EQ(leaf.get(hw::cqp_ws::weight), 10);
		EXPECT_EQ(leaf.get(hw::cqp_ws::traffic_class), 0);
		EXPECT_EQ(modify.get(hw::cqp_ws::node_op), 1);
		EXPECT_EQ(modify.get(hw::cqp_ws::enable), 1);
		EXPECT_EQ(a.value().qs_handle(), leaf.get(hw::cqp_ws::node));
		/* Priority 4 is of the same class. */
		auto b = s.qos().place(4);
		EXPECT_EQ(s.engine().count(hw::CqpOp::work_sched_node), 4);
		EXPECT_EQ(b.value().qs_handle(), a.value().qs_handle());
		auto c = s.qos().place(1);
		EXPECT_EQ(s.engine().count(hw::CqpOp::work_sched_node), 6);
		EXPECT_EQ(s.world().qsets, 2);
		EXPECT(c.value().qs_handle() != a.value().qs_handle());
		EXPECT_EQ(c.value().queue_set().value(), c.value().qs_handle());
		a = QosPlacement();
		EXPECT_EQ(s.world().qsets, 2); /* b still uses it */
		QosPlacement moved = b.take();
		EXPECT(!b.value());
		EXPECT_EQ(b.value().qs_handle(), 0);
		EXPECT(!b.value().queue_set().ok());
		moved = c.take();
		EXPECT_EQ(s.world().qsets, 1);
		EXPECT_EQ(moved.priority(), 1);
	}
	EXPECT_EQ(s.world().qsets, 0);
	EXPECT_EQ(s.engine().objects(), 0);
}

/* Placements at random, against a count of users of each class. */
void tree_against_a_reference()
{
	QosScene s;
	REQUIRE(s.ready);
	Many<QosPlacement, 24> held;
	Random random(2);

	for (u32 i = 0; i < 1500; i++) {
		u32 at = random.below(24);
		u32 classes = 0;
		bool used[4] = {};

		if (random.below(3)) {
			auto place = s.qos().place(static_cast<u8>(random.below(8)));

			if (!EXPECT(place.ok()))
				return;
			held[at] = place.take();
		} else {
			held[at].reset();
		}
		for (QosPlacement &p : held)
			if (p && !exchange(used[p.priority() % 4], true))
				classes++;
		if (!EXPECT_EQ(s.world().qsets, classes))
			return;
		EXPECT_EQ(s.engine().objects(), classes ? 2 + classes : 0);
	}
	for (QosPlacement &p : held)
		p.reset();
	EXPECT_EQ(s.engine().objects(), 0);
}

/* The n-th command of the scheduler fails, for each n: an error, and what was made is undone. */
void nodes_that_fail()
{
	for (u32 nth = 1; nth <= 4; nth++) {
		QosScene s;
		REQUIRE(s.ready);
		Engine *engine = &s.engine();
		auto failing = [engine, nth](const Command &c, Answer &a) {
			if (c.op == hw::CqpOp::work_sched_node &&
			    engine->count(hw::CqpOp::work_sched_node) == nth)
				a.fail(0xffff, 0x1111);
		};

		s.engine().on_command = failing;
		EXPECT_EQ(s.qos().place(2).code(), -SHIM_EIO);
		EXPECT_EQ(s.engine().objects(), 0);
		EXPECT_EQ(s.world().qsets, 0);
		s.obey();
		EXPECT(s.qos().place(2).ok());
	}
	QosScene s;
	REQUIRE(s.ready);
	s.world().qset_error = -SHIM_ENOSPC;
	EXPECT_EQ(s.qos().place(2).code(), -SHIM_ENOSPC);
	EXPECT_EQ(s.engine().objects(), 0);
	s.world().qset_error = 0;
}

/* A node that the device does not delete stays, with all that it hangs on. */
void nodes_that_stay()
{
	for (u32 which = 0; which < 3; which++) { /* leaf, VSI node, root */
		QosScene s;
		REQUIRE(s.ready);
		u32 deleted = 0;
		u32 *n = &deleted;
		auto failing = [n, which](const Command &c, Answer &a) {
			if (c.op == hw::CqpOp::work_sched_node && c.get(hw::cqp_ws::node_op) == 2 &&
			    (*n)++ == which)
				a.fail(0xffff, 0x1111);
		};

		{
			auto place = s.qos().place(0);
			REQUIRE(place.ok());
			s.engine().on_command = failing;
		}
		s.obey();
		EXPECT(s.world().said("stays"));
		EXPECT_EQ(s.world().qsets, 0);
		EXPECT_EQ(s.engine().objects(), which == 0 ? 3 : which == 1 ? 2 : 1);
		{
			auto again = s.qos().place(0); /* what stayed is not added anew */

			EXPECT(again.ok());
		}
		s.engine().forget_nodes();
	}
}

/* ---- Changes of traffic classes ---- */

/* Each QP that runs is suspended, and goes on with the queue set of its new class. */
void change_under_queue_pairs()
{
	QosScene s;
	REQUIRE(s.ready);
	KernelQp running(*s.rig), quiet(*s.rig);

	running.path.tos_priority = 1;
	REQUIRE(running.bring_up(SHIM_QPS_RTS) && quiet.bring_up(SHIM_QPS_INIT));
	irdma_before_tc_change(s.rig->c());
	EXPECT_EQ(s.engine().count(hw::CqpOp::suspend_qp), 1);
	EXPECT_EQ(s.world().qsets, 0);
	s.set(2, 1);
	irdma_after_tc_change(s.rig->c());
	EXPECT_EQ(s.engine().count(hw::CqpOp::resume_qp), 1);
	const Command &resume = *s.engine().last_of(hw::CqpOp::resume_qp);
	EXPECT_EQ(resume.get(hw::cqp_suspend::qp), running.number());
	EXPECT(resume.get(hw::cqp_suspend::qs_handle) != 0);
	EXPECT_EQ(s.world().qsets, 2); /* priority 1 is class 0, priority 0 class 1 */
	EXPECT_EQ(running.state(), SHIM_QPS_RTS);
	/* What the device is told next has the new handle. */
	running.access = SHIM_ACCESS_REMOTE_READ;
	EXPECT_EQ(running.modify(SHIM_QPS_RTS, SHIM_QP_ACCESS_FLAGS), 0);
	EXPECT_EQ(s.handle(running.number()), resume.get(hw::cqp_suspend::qs_handle));
	EXPECT_EQ(quiet.modify(SHIM_QPS_RTR), 0);
	s.world().pass(20 * World::second); /* no second end */
	EXPECT_EQ(s.engine().count(hw::CqpOp::resume_qp), 1);
}

/* ice gives a change up and tells nobody: after ten seconds it is over. */
void change_that_is_given_up()
{
	QosScene s;
	REQUIRE(s.ready);
	KernelQp qp(*s.rig);
	REQUIRE(qp.bring_up(SHIM_QPS_RTS));

	irdma_before_tc_change(s.rig->c());
	irdma_before_tc_change(s.rig->c()); /* announced twice */
	EXPECT_EQ(s.engine().count(hw::CqpOp::suspend_qp), 1);
	s.world().pass(11 * World::second);
	EXPECT_EQ(s.engine().count(hw::CqpOp::resume_qp), 1);
	EXPECT_EQ(qp.modify(SHIM_QPS_RTS, SHIM_QP_ACCESS_FLAGS), 0);
	/* Its end all the same comes: that is another change. */
	irdma_after_tc_change(s.rig->c());
	EXPECT_EQ(s.engine().count(hw::CqpOp::resume_qp), 2);
	/* Removal ends one that is under way. */
	irdma_before_tc_change(s.rig->c());
	EXPECT(irdma_device_removing(s.rig->c()));
	EXPECT_EQ(s.engine().count(hw::CqpOp::resume_qp), 3);
}

/*
 * Whoever waits for a change that was given up ends it: he may be what the workqueue waits for before
 * it runs the item that does so. That item does not end the next change when it comes.
 */
void change_that_is_ended_by_who_waits()
{
	QosScene s;
	REQUIRE(s.ready);
	KernelQp qp(*s.rig);
	REQUIRE(qp.bring_up(SHIM_QPS_RTS));
	u64 start = s.world().now();

	irdma_before_tc_change(s.rig->c());
	EXPECT_EQ(qp.modify(SHIM_QPS_RTS, SHIM_QP_ACCESS_FLAGS), 0); /* no item runs meanwhile */
	EXPECT(s.world().now() - start >= 10 * World::second);
	EXPECT(s.world().now() - start <= 11 * World::second);
	EXPECT_EQ(s.engine().count(hw::CqpOp::resume_qp), 1);
	irdma_before_tc_change(s.rig->c());
	EXPECT_EQ(s.engine().count(hw::CqpOp::suspend_qp), 2);
	s.world().pass(9 * World::second);
	EXPECT_EQ(s.engine().count(hw::CqpOp::resume_qp), 1);
	s.world().pass(2 * World::second);
	EXPECT_EQ(s.engine().count(hw::CqpOp::resume_qp), 2);
}

/* An event is noted when the change finds that the QP cannot go on: the first of the two counts. */
void first_of_two_errors()
{
	QosScene s;
	REQUIRE(s.ready);
	KernelQp qp(*s.rig);
	REQUIRE(qp.bring_up(SHIM_QPS_RTS));

	irdma_before_tc_change(s.rig->c());
	s.engine().event(0x20d, hw::AeSource::sq, qp.number());
	s.refuse(hw::CqpOp::resume_qp);
	irdma_after_tc_change(s.rig->c());
	s.obey();
	s.world().settle();
	EXPECT_EQ(qp.state(), SHIM_QPS_ERR);
	EXPECT(s.world().said("event 0x20d"));
	EXPECT(!s.world().said("cannot go on"));
	EXPECT_EQ(s.world().told_count, 1);
}

/* A QP that does not stand still within five seconds is not waited for. */
void queue_pair_that_does_not_stand_still()
{
	QosScene s;
	REQUIRE(s.ready);
	KernelQp qp(*s.rig);
	REQUIRE(qp.bring_up(SHIM_QPS_RTS));
	u64 start = s.world().now();

	s.engine().suspends = false;
	irdma_before_tc_change(s.rig->c());
	EXPECT(s.world().now() - start >= 5 * World::second);
	EXPECT(s.world().said("not all QPs stand still"));
	irdma_after_tc_change(s.rig->c());
	EXPECT_EQ(qp.state(), SHIM_QPS_RTS);
	s.engine().event(0x900, hw::AeSource::sq, qp.number()); /* too late: counts for nothing */
	s.world().settle();
	EXPECT_EQ(qp.state(), SHIM_QPS_RTS);
}

/* One that cannot be suspended or resumed, or has no queue set any more, goes to ERR. */
void queue_pairs_that_cannot_go_on()
{
	for (u32 how = 0; how < 3; how++) {
		QosScene s;
		REQUIRE(s.ready);
		KernelQp qp(*s.rig);
		REQUIRE(qp.bring_up(SHIM_QPS_RTS));

		if (how == 0)
			s.refuse(hw::CqpOp::suspend_qp);
		irdma_before_tc_change(s.rig->c());
		s.obey();
		if (how == 1)
			s.refuse(hw::CqpOp::resume_qp);
		if (how == 2)
			s.world().qset_error = -SHIM_ENOSPC;
		irdma_after_tc_change(s.rig->c());
		s.obey();
		s.world().qset_error = 0;
		s.world().settle();
		/* Not suspended, but resumed on a new queue set: it goes on. */
		EXPECT_EQ(qp.state(), how == 0 ? SHIM_QPS_RTS : SHIM_QPS_ERR);
		if (how) {
			EXPECT(s.world().said("cannot go on"));
			EXPECT_EQ(s.world().times_told(&qp.ib_qp, SHIM_EVENT_QP_FATAL), 1);
		}
		if (how == 2)
			EXPECT(s.world().said("no queue set for priority 0"));
	}
}

/* Nobody waits for a device that dies in the middle. */
void change_of_a_dead_device()
{
	QosScene s;
	REQUIRE(s.ready);
	KernelQp qp(*s.rig);
	REQUIRE(qp.bring_up(SHIM_QPS_RTS));
	u64 start = s.world().now();
	auto die = [](void *d, u64) { static_cast<Device *>(d)->declare_dead("for a test"); };

	s.engine().suspends = false;
	s.world().after(World::second, die, &s.rig->device());
	irdma_before_tc_change(s.rig->c());
	EXPECT(s.world().now() - start <= 2 * World::second);
	irdma_after_tc_change(s.rig->c());
	s.world().settle();
	s.engine().forget_nodes();
	s.world().forget_qsets();
}

/* Multicast groups send by their first member's queue set, and follow it. */
void groups_follow_their_queue_set()
{
	QosScene s;
	REQUIRE(s.ready);
	KernelQp qp(*s.rig, SHIM_QPT_UD);
	u32 ip[4] = {0, 0, 0, 0xe0000105};
	const u8 mac[6] = {1, 0, 0x5e, 0, 1, 5};
	REQUIRE(qp.bring_up(SHIM_QPS_RTS));

	EXPECT_EQ(irdma_mcast_attach(s.rig->c(), qp.qp, ip, true, mac), 0);
	for (u32 refused = 0; refused < 2; refused++) {
		irdma_before_tc_change(s.rig->c());
		s.set(2 + refused, 1);
		if (refused)
			s.refuse(hw::CqpOp::modify_mcast);
		irdma_after_tc_change(s.rig->c());
		s.obey();
		const Command *modify = s.engine().last_of(hw::CqpOp::modify_mcast);
		if (EXPECT(modify != nullptr))
			EXPECT_EQ(modify->get(hw::cqp_mcast::qs_handle),
				  s.engine()
					  .last_of(hw::CqpOp::resume_qp)
					  ->get(hw::cqp_suspend::qs_handle));
	}
	EXPECT(s.world().said("keeps its old queue set"));
	EXPECT_EQ(irdma_mcast_detach(s.rig->c(), qp.qp, ip, true), 0);
}

/* A path of another priority moves the QP to that queue set. */
void paths_choose_queue_sets()
{
	QosScene s;
	REQUIRE(s.ready);
	KernelQp qp(*s.rig);
	irdma_qp_details details;

	qp.path.tos_priority = 6;
	REQUIRE(qp.bring_up(SHIM_QPS_RTS));
	irdma_qp_describe(qp.qp, &details);
	EXPECT_EQ(details.priority, 6);
	EXPECT_EQ(s.handle(qp.number()), details.qs_handle);
	EXPECT_EQ(s.world().qsets, 1); /* that of priority 0 is gone */
	EXPECT_EQ(qp.modify(SHIM_QPS_ERR), 0);
	EXPECT_EQ(qp.modify(SHIM_QPS_RESET), 0);
	irdma_qp_describe(qp.qp, &details);
	EXPECT_EQ(details.priority, 0);
	EXPECT_EQ(s.world().qsets, 1);
	/* No place in priority 0 to be had: it keeps its own. */
	EXPECT(qp.bring_up(SHIM_QPS_RTS));
	s.refuse(hw::CqpOp::work_sched_node);
	EXPECT_EQ(qp.modify(SHIM_QPS_RESET), 0);
	s.obey();
	irdma_qp_describe(qp.qp, &details);
	EXPECT_EQ(details.priority, 6);
}

constexpr bridge_case cases[] = {
	TEST(priorities_by_tos_and_vlan),
	TEST(priorities_by_dscp),
	TEST(one_class_needs_no_tags),
	TEST(queue_sets_come_and_go),
	TEST(tree_against_a_reference),
	TEST(nodes_that_fail),
	TEST(nodes_that_stay),
	TEST(change_under_queue_pairs),
	TEST(change_that_is_given_up),
	TEST(change_that_is_ended_by_who_waits),
	TEST(first_of_two_errors),
	TEST(queue_pair_that_does_not_stand_still),
	TEST(queue_pairs_that_cannot_go_on),
	TEST(change_of_a_dead_device),
	TEST(groups_follow_their_queue_set),
	TEST(paths_choose_queue_sets),
};

} // namespace

SUITE(qos, cases)
