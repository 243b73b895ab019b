// SPDX-License-Identifier: GPL-2.0
/*
 * Each CQP command of bring-up, of each verb that gives one, and of the way
 * down, each time with one of them answered in another manner: refused, late,
 * never, twice, about another command, with another's cookie, with the valid
 * bit of the lap before, not at all since the card is pulled out. A verb
 * succeeds or returns an errno; nothing is left; afterwards the device works,
 * or it is dead, said so once and asked for a reset once. The world and the
 * engine check all that is done meanwhile.
 *
 * Also each allocation of a life and of the way down, each event of each
 * object, and what a CEQ tells of a CQ that is gone.
 */
#include "eq/ae_table.h"
#include "fake/rig.h"
#include "hw/ae_codes.h"

using namespace irdma;
using namespace irdma::fake;
using namespace irdma::test;

namespace {

using hw::CqpOp;

/* ---- Manners ---- */

enum class Outcome : u8 { success, failure, death };

struct Manner {
	const char *name;
	Outcome outcome; /**< of the command */
	void (*spoil)(Answer &answer);
	bool pulls_out = false; /**< the card is off the bus from then on */
};

/* A second is when a waiter looks for itself; two are the deadline in a removal, ten else. */
constexpr Manner manners[] = {
	{"delayed", Outcome::success, [](Answer &a) { a.delay = 1200 * World::ms; }},
	{"answered without an interrupt", Outcome::success,
	 [](Answer &a) { a.no_interrupt = true; }},
	{"answered twice", Outcome::success, [](Answer &a) { a.copies = 2; }},
	{"refused", Outcome::failure, [](Answer &a) { a.fail(0xffff, 0x1111); }},
	{"refused in this state", Outcome::failure,
	 [](Answer &a) { a.fail(hw::cqp_error::command, hw::cqp_error::invalid_state); }},
	{"without memory", Outcome::failure,
	 [](Answer &a) { a.fail(hw::cqp_error::object_cache, 1); }},
	{"never carried out", Outcome::death,
	 [](Answer &a) {
		 a.carry_out = false;
		 a.silent = true;
	 }},
	{"never answered", Outcome::death, [](Answer &a) { a.silent = true; }},
	{"answered too late", Outcome::death, [](Answer &a) { a.delay = 11 * World::second; }},
	{"answered as another", Outcome::death, [](Answer &a) { a.index ^= 0x400; }},
	{"answered as none", Outcome::death, [](Answer &a) { a.index = 0x7fff; }},
	{"answered with another cookie", Outcome::death, [](Answer &a) { a.cookie_flip = 1; }},
	{"answered in the lap before", Outcome::death, [](Answer &a) { a.stale = true; }},
	{"in need of a reset", Outcome::death,
	 [](Answer &a) { a.fail(hw::cqp_error::command, hw::cqp_error::needs_reset); }},
	{"met by a card that is gone", Outcome::death, [](Answer &a) { a.carry_out = false; },
	 true},
};
constexpr u32 manner_count = array_size(manners);

/** One command, the @nth from now on, is spoilt. */
struct Fault {
	Engine &engine;
	u32 nth;
	const Manner *how;
	u32 seen = 0;
	CqpOp op = {};
	bool struck = false;
	bool without_ccq = false; /**< answered by a register, which cannot lie */

	Fault(Engine &e, u32 n, const Manner &m) : engine(e), nth(n), how(&m)
	{
		Fault *self = this;
		auto spoil = [self](const Command &c, Answer &a) { self->meet(c, a); };

		engine.on_command = spoil;
	}
	~Fault() { engine.on_command = {}; }
	Fault(const Fault &) = delete;
	Fault &operator=(const Fault &) = delete;

	void meet(const Command &c, Answer &a)
	{
		if (++seen != nth)
			return;
		struck = true;
		op = c.op;
		without_ccq = !engine.cq(hw::ccq_number).there;
		how->spoil(a);
		engine.gone = how->pulls_out;
	}
	/** To be said when something is wrong. */
	void blame(const char *what) const
	{
		FAIL("%s: command %u, %s, %s", what, nth, hw::cqp_layout(static_cast<u32>(op)).name,
		     how->name);
	}
};

/* How many commands of each kind have been spoilt. */
u32 spoilt[hw::cqp_opcodes];

/*
 * All of them if the suite runs alone; beside others some of each command and of each manner, and few
 * under a kernel that checks itself, where each device takes a second.
 */
bool chosen(u32 nth, u32 how)
{
	return (nth * manner_count + how) % bridge_stride() == 0;
}

/* Each manner for each of @commands commands; how many cases that are. */
template <class Case> u32 sweep(u32 commands, Case one)
{
	u32 cases = 0;

	for (u32 nth = 1; nth <= commands; nth++)
		for (u32 how = 0; how < manner_count; how++)
			if (chosen(nth, how)) {
				one(nth, manners[how]);
				cases++;
			}
	return cases;
}

/* Pages of a process: in a row up to 1 MiB, above it each far from the next. */
u64 page_of(u64 page)
{
	return ((page < 256 ? page : page * 2) << 12) + 0x100000000;
}

/** A machine on which it is spent: busy, since else devices are asked a million times in vain. */
struct Stage : Scene {
	explicit Stage(bool start = true) : Scene(false)
	{
		auto pages = [](u64 page) { return page_of(page); };

		world().least_sleep = 10 * World::ms;
		/* Few READs, and so fewer segments to be cleared each time. */
		set_count(hw::HmcObject::q1, 4096);
		set_count(hw::HmcObject::q1fl, 1024);
		if (start)
			ready = rig->start();
		engine().strict_memory = false; /* some rings are a process's */
		world().user_page = pages;
	}
	void set_count(hw::HmcObject kind, u32 count)
	{
		for (const hw::HmcObjectInfo &info : hw::hmc_object_info)
			if (info.object == kind)
				engine().fpm.qw[info.query_word].set(
					(engine().fpm.qw[info.query_word].get() &
					 ~hw::fpm_count.mask()) |
					count);
	}
};

/* ---- A life ---- */

/* Four classes of traffic, or as many as said, to which priorities belong in turn. */
void set_classes(World &world, u32 classes)
{
	world.qos.num_tc = static_cast<u8>(classes);
	for (u32 p = 0; p < SHIM_MAX_UP; p++)
		world.qos.up2tc[p] = static_cast<u8>(p % classes);
	for (u32 tc = 0; tc < classes; tc++)
		world.qos.tc[tc].relative_bw = static_cast<u8>(10 + tc);
}

/** All verbs that give commands, once or more; they go on when one of them has failed. */
struct Life {
	Rig &rig;
	const Fault *fault;
	irdma_pd *pd = nullptr;
	irdma_ucontext *uctx = nullptr;
	u32 pd_number = 0, failed = 0;

	explicit Life(Rig &r, const Fault *f = nullptr) : rig(r), fault(f)
	{
		EXPECT_EQ(irdma_pd_create(rig.c(), &pd, &pd_number), 0);
		EXPECT_EQ(irdma_ucontext_create(rig.c(), true, &uctx), 0);
	}
	~Life()
	{
		irdma_ucontext_destroy(uctx);
		irdma_pd_destroy(pd);
	}

	/** Whether a verb went well. It may fail only for the fault, and nobody waits for the dead. */
	template <class Verb> bool go(const char *name, Verb verb)
	{
		bool dead = rig.device().dead();
		u64 start = rig.world().now();
		int err = verb();

		bool excused = (fault && fault->struck) || rig.world().allocation_failed();

		failed += err != 0;
		if (err && (!excused || err > 0 || err < -4095))
			FAIL("%s: %d without a fault", name, err);
		if (fault && dead && rig.world().now() - start > 100 * World::ms)
			fault->blame(name);
		return !err;
	}
	/** An object of a process goes; what the device has refused once it is asked for again. */
	template <class Destroy> void end(const char *name, Destroy destroy)
	{
		if (!go(name, [&] { return destroy(true); }))
			EXPECT_EQ(destroy(false), 0);
	}

	int make(u64 start, u64 length, irdma_mr *&mr, irdma_mr_kind kind = IRDMA_MR_MEMORY,
		 s32 dmabuf = -1)
	{
		irdma_mr_params p = {};
		u32 pages = static_cast<u32>(length / 4096), lkey, rkey;

		p.kind = kind;
		p.start = p.va = start;
		p.length = length;
		p.access = SHIM_ACCESS_LOCAL_WRITE;
		p.pd = pd;
		p.uctx = uctx;
		p.dmabuf = dmabuf;
		p.cq_pages = pages;
		p.sq_pages = pages - 2;
		p.rq_pages = 1;
		return irdma_mr_register(rig.c(), &p, &mr, &lkey, &rkey);
	}
	void forget(irdma_mr *mr)
	{
		end("deregistration",
		    [&](bool may_fail) { return irdma_mr_deregister(mr, may_fail); });
	}

	void memory();
	void queues_of_a_process();
	void queue_pair();
	void groups();
	void handles();
};

void Life::memory()
{
	irdma_mr *mr = nullptr, *other = nullptr;
	irdma_mw *mw = nullptr;
	u32 lkey, rkey;
	constexpr u64 starts[] = {0x10000, 0x400000};

	for (u64 start : starts) {
		if (!go("registration", [&] { return make(start, 0x8000, mr); }))
			continue;
		irdma_mr_change change = {};

		change.pd = pd;
		change.access_given = true;
		change.access = SHIM_ACCESS_REMOTE_READ;
		if (go("registration anew",
		       [&] { return irdma_mr_reregister(mr, &change, &other, &lkey, &rkey); }))
			forget(other);
		forget(mr);
	}
	if (go("DMA-BUF", [&] { return make(0x600000, 0x4000, mr, IRDMA_MR_MEMORY, 5); }))
		forget(mr);
	if (go("DMA MR", [&] { return irdma_mr_dma(rig.c(), pd, 1, &mr, &lkey, &rkey); }))
		forget(mr);
	if (go("MR for fast registration",
	       [&] { return irdma_mr_alloc(rig.c(), pd, 600, &mr, &lkey, &rkey); }))
		forget(mr);
	for (u32 type = 1; type < 3; type++)
		if (go("window", [&] { return irdma_mw_create(rig.c(), pd, type, &mw, &rkey); }))
			end("end of a window", [&](bool f) { return irdma_mw_destroy(mw, f); });
}

void Life::queues_of_a_process()
{
	constexpr u64 at[] = {0x20000, 0x30000, 0x40000, 0x500000};
	irdma_mr *rings[4] = {};
	irdma_cq *cq = nullptr;
	irdma_qp *qp = nullptr;
	irdma_cq_params c = {};
	irdma_qp_params p = {};
	irdma_cq_result made;
	irdma_qp_result result;
	int ib_cq = 0, ib_qp = 0;
	u32 size;

	for (u32 i = 0; i < 4; i++)
		go("ring", [&] {
			return make(at[i],
				    i == 2   ? 0x6000
				    : i == 3 ? 0x2000
					     : 0x1000,
				    rings[i], i == 2 ? IRDMA_MR_QP : IRDMA_MR_CQ);
		});
	c.entries = 100;
	c.ib = &ib_cq;
	c.uctx = p.uctx = uctx;
	c.user_buffer = at[0];
	c.user_shadow = at[1];
	if (go("CQ", [&] { return irdma_cq_create(rig.c(), &c, &cq, &made); })) {
		p.type = SHIM_QPT_RC;
		p.max_send_wr = p.max_recv_wr = 16;
		p.max_send_sge = p.max_recv_sge = 1;
		p.ib = &ib_qp;
		p.pd = pd;
		p.send_cq = p.recv_cq = cq;
		p.user_queues = at[2];
		if (go("QP", [&] { return irdma_qp_create(rig.c(), &p, &qp, &result); })) {
			irdma_qp_change change = {};

			change.mask = SHIM_QP_STATE | SHIM_QP_PKEY_INDEX | SHIM_QP_PORT |
				      SHIM_QP_ACCESS_FLAGS;
			change.state = SHIM_QPS_INIT;
			change.port = 1;
			go("INIT", [&] { return irdma_qp_modify(qp, &change); });
			change.mask = SHIM_QP_STATE;
			change.state = SHIM_QPS_ERR;
			change.flush_sq = change.flush_rq = true;
			go("ERR", [&] { return irdma_qp_modify(qp, &change); });
			end("end of a QP", [&](bool f) { return irdma_qp_destroy(qp, f); });
		}
		go("resize", [&] { return irdma_cq_resize(cq, 200, uctx, at[3], &size); });
		end("end of a CQ", [&](bool f) { return irdma_cq_destroy(cq, f); });
	}
	for (irdma_mr *ring : rings)
		if (ring)
			EXPECT_EQ(irdma_mr_deregister(ring, false), 0);
}

/* Through all states, by the consumer and by an event; meanwhile traffic classes change. */
void Life::queue_pair()
{
	static u8 context[IRDMA_QP_CONTEXT_BYTES];
	u64 values[IRDMA_STATISTICS];
	KernelQp other(rig), qp(rig);

	/* Somebody else's, whose path it shares. */
	go("another QP", [&] { return other.bring_up(SHIM_QPS_RTS) ? 0 : -SHIM_EIO; });
	if (!go("CQ and QP", [&] { return qp.made ? 0 : -SHIM_EIO; }))
		return;
	for (u32 round = 0; round < 2; round++) {
		qp.path.tos_priority = static_cast<u8>(round * 2);
		for (u32 state = SHIM_QPS_INIT; state <= SHIM_QPS_RTS; state++)
			go("way to RTS", [&] { return qp.state() < state ? qp.modify(state) : 0; });
		if (!round) {
			go("context", [&] { return irdma_qp_upload(qp.qp, context); });
			go("SQD", [&] { return qp.modify(SHIM_QPS_SQD); });
			go("RTS", [&] { return qp.modify(SHIM_QPS_RTS); });
			irdma_before_tc_change(rig.c());
			set_classes(rig.world(), 2);
			irdma_after_tc_change(rig.c());
			go("statistics", [&] { return irdma_read_statistics(rig.c(), &values); });
			go("ERR", [&] { return qp.modify(SHIM_QPS_ERR); });
			go("RESET", [&] { return qp.modify(SHIM_QPS_RESET); });
		} else {
			rig.engine().event(0x50a, hw::AeSource::sq, qp.number());
			rig.world().settle();
		}
	}
}

void Life::groups()
{
	const u32 ip[4] = {0, 0, 0, 0xe0000105};
	const u8 mac[6] = {1, 0, 0x5e, 0, 1, 5};
	KernelQp one(rig, SHIM_QPT_UD), two(rig, SHIM_QPT_UD);
	KernelQp *const members[] = {&one, &two};
	bool in[2] = {};

	for (u32 i = 0; i < 2; i++) {
		KernelQp &qp = *members[i];

		in[i] = go("UD QP", [&] { return qp.made ? 0 : -SHIM_EIO; }) &&
			go("way to RTS",
			   [&] { return qp.bring_up(SHIM_QPS_RTS) ? 0 : -SHIM_EIO; }) &&
			go("attachment",
			   [&] { return irdma_mcast_attach(rig.c(), qp.qp, ip, true, mac); });
	}
	irdma_before_tc_change(rig.c());
	set_classes(rig.world(), 3);
	irdma_after_tc_change(rig.c());
	for (u32 i = 0; i < 2; i++)
		if (in[i])
			go("detachment",
			   [&] { return irdma_mcast_detach(rig.c(), members[i]->qp, ip, true); });
}

void Life::handles()
{
	irdma_path path = KernelQp::default_path();
	irdma_l2_address address = {};
	irdma_ah *ah = nullptr, *same = nullptr;
	KernelQp qp(rig); /* to a neighbour that changes */
	u32 number;

	go("QP", [&] { return qp.bring_up(SHIM_QPS_RTS) ? 0 : -SHIM_EIO; });
	for (u32 how = 0; how < 3; how++) {
		bool sleeps = how != 1, shared = how == 2;

		path.dest_ip[3] = path.next_hop[3] = 0x0a000010 + how;
		rig.world().interrupts += !sleeps;
		if (go("address handle", [&] {
			    return irdma_ah_create(rig.c(), pd, &path, sleeps, shared, &ah,
						   &number);
		    })) {
			if (shared && go("its share", [&] {
				    return irdma_ah_create(rig.c(), pd, &path, true, true, &same,
							   &number);
			    }))
				irdma_ah_destroy(same, true);
			irdma_ah_destroy(ah, sleeps);
		}
		rig.world().interrupts -= !sleeps;
	}
	address.ipv4 = true;
	address.ip[3] = 0x0a000099;
	address.vlan = SHIM_NO_VLAN;
	address.mac[5] = 9;
	irdma_own_address(rig.c(), &address, true);
	irdma_own_address(rig.c(), &address, false);
	address.ip[3] = 0x0a000002;
	address.mac[5] = 7;
	irdma_neighbour(rig.c(), &address);
	rig.world().settle();
}

/** The parts of a life; each begins on a device without objects. */
struct Part {
	const char *name;
	void (Life::*run)();
};

constexpr Part parts[] = {
	{"memory", &Life::memory},	   {"queues of a process", &Life::queues_of_a_process},
	{"queue pair", &Life::queue_pair}, {"groups", &Life::groups},
	{"handles", &Life::handles},
};

/* It works, or it is dead and asks for nothing any more but the reset that it gets. */
void check_afterwards(Stage &s, const Fault &fault)
{
	bool dead = s.rig->device().dead();
	KernelQp probe(*s.rig);

	if (dead != (fault.how->outcome == Outcome::death))
		fault.blame(dead ? "dead" : "not dead");
	if (s.world().fatal != dead || s.world().resets != (dead && !fault.how->pulls_out))
		fault.blame("told or reset another number of times");
	if (probe.bring_up(SHIM_QPS_RTS) == dead)
		fault.blame(dead ? "a dead device works" : "it does not work any more");
}

/* What the device was asked to make or to give up, and has not, as it says, or not in time. */
bool may_stay(const Fault &fault)
{
	switch (fault.op) {
	case CqpOp::destroy_qp:
	case CqpOp::destroy_cq:
	case CqpOp::destroy_ah:
	case CqpOp::destroy_mcast:
	case CqpOp::dealloc_stag:
	case CqpOp::work_sched_node:
		return fault.how->outcome == Outcome::failure;
	case CqpOp::create_ah:
		return fault.how->outcome == Outcome::success;
	default:
		return false;
	}
}

struct Totals {
	u32 commands, cases, failures, deaths;
};

/* A part of a life; how many commands that took. */
u32 live(Stage &s, const Part &part, Life &life)
{
	u32 before = s.engine().commands;

	(life.*part.run)();
	s.world().pass(15 * World::second); /* also for commands without a waiter */
	return s.engine().commands - before;
}

void begin(Stage &s)
{
	set_classes(s.world(), 4);
	irdma_after_tc_change(s.rig->c());
}

enum class After : u8 { as_before, other, untouched /**< the fault met no command */ };

/* The same with one fault; how the device is afterwards. */
After live_with_fault(Stage &s, const Part &part, u32 nth, const Manner &how, Totals &totals)
{
	begin(s);
	Fault fault(s.engine(), nth, how);
	{
		Life life(*s.rig, &fault);

		live(s, part, life);
		totals.failures += life.failed;
	}
	if (!fault.struck)
		return After::untouched;
	bool dead = s.rig->device().dead(), left = s.engine().objects();

	totals.cases++;
	totals.deaths += dead;
	spoilt[static_cast<u32>(fault.op)]++;
	check_afterwards(s, fault);
	if (!dead && left && !may_stay(fault))
		fault.blame("something is left");
	return dead || left ? After::other : After::as_before;
}

/* Each manner for one command; as long as nothing is left of the one before, on the same device. */
void each_manner(const Part &part, u32 nth, Totals &totals)
{
	for (u32 how = 0;;) {
		while (how < manner_count && !chosen(nth, how))
			how++;
		if (how == manner_count)
			return;
		Stage s;
		After after = After::as_before;
		bool fresh = true;

		REQUIRE(s.ready);
		s.rig->announce();
		for (; how < manner_count && after == After::as_before; how++) {
			if (!chosen(nth, how))
				continue;
			after = live_with_fault(s, part, nth, manners[how], totals);
			if (after == After::untouched && !fresh)
				break; /* once more on another */
			if (after == After::untouched)
				FAIL("%s: there is no command %u", part.name, nth);
			fresh = false;
		}
		s.engine().forget_objects();
		if (s.rig->device().dead())
			s.world().forget_qsets();
	}
}

void each_command_of_a_life()
{
	Totals totals = {};

	for (const Part &part : parts) {
		u32 commands;
		{
			Stage s;
			REQUIRE(s.ready);
			s.rig->announce();
			begin(s);
			Life life(*s.rig);
			commands = live(s, part, life);
			EXPECT_EQ(life.failed, 0);
		}
		totals.commands += commands;
		for (u32 nth = 1; nth <= commands; nth++)
			each_manner(part, nth, totals);
	}
	note("%u commands, %u manners, %u cases: %u verbs failed, %u devices died", totals.commands,
	     manner_count, totals.cases, totals.failures, totals.deaths);
}

void each_command_of_bring_up()
{
	u32 commands;
	{
		Stage s;
		REQUIRE(s.ready);
		commands = s.engine().commands;
	}
	u32 failures = 0;
	u32 *failed = &failures;
	u32 cases = sweep(commands, [failed](u32 nth, const Manner &how) {
		Stage s(false);
		{
			Fault fault(s.engine(), nth, how);
			int err = s.rig->try_start();

			spoilt[static_cast<u32>(fault.op)]++;
			*failed += err != 0;
			if (fault.without_ccq && !err ? how.outcome == Outcome::failure
						      : !err != (how.outcome == Outcome::success))
				fault.blame(err ? "bring-up failed" : "bring-up went well");
			if (err &&
			    (s.rig->up() || s.world().dma_buffers() || s.world().allocations() ||
			     (s.engine().has_cqp() && !how.pulls_out)))
				fault.blame("something is left");
			s.engine().gone = false;
			if (err)
				s.engine().reset();
		}
		if (!s.rig->up())
			EXPECT(s.rig->start()); /* the next try */
	});

	note("%u commands, %u cases: %u bring-ups failed", commands, cases, failures);
}

/**
 * The device goes, and with it what consumers have; then it is stopped. Returns how many commands
 * that took; the fault is meant for them, or fails their @allocation, if any.
 */
u32 take_down(Rig &rig, Fault &fault, u32 allocation = 0)
{
	const u32 ip[4] = {0, 0, 0, 0xe0000105};
	const u8 mac[6] = {1, 0, 0x5e, 0, 1, 5};
	irdma_path path = KernelQp::default_path();
	u32 lkey, rkey, number, before, nth = fault.nth;

	fault.nth = 0;
	{
		Life life(rig, &fault);
		KernelQp rc(rig), ud(rig, SHIM_QPT_UD);
		irdma_mr *mr = nullptr;
		irdma_mw *mw = nullptr;
		irdma_ah *ah = nullptr;

		EXPECT(rc.bring_up(SHIM_QPS_RTS) && ud.bring_up(SHIM_QPS_RTS));
		EXPECT_EQ(irdma_mr_dma(rig.c(), life.pd, 1, &mr, &lkey, &rkey), 0);
		EXPECT_EQ(irdma_mw_create(rig.c(), life.pd, 1, &mw, &rkey), 0);
		EXPECT_EQ(irdma_ah_create(rig.c(), life.pd, &path, true, false, &ah, &number), 0);
		EXPECT_EQ(irdma_mcast_attach(rig.c(), ud.qp, ip, true, mac), 0);
		before = rig.engine().commands;
		fault.nth = fault.seen + nth;
		rig.world().fail_allocation(allocation);
		irdma_device_registered(rig.c());
		EXPECT(irdma_device_removing(rig.c()));
		life.go("detachment", [&] { return irdma_mcast_detach(rig.c(), ud.qp, ip, true); });
		irdma_ah_destroy(ah, true);
		life.end("end of a window", [&](bool f) { return irdma_mw_destroy(mw, f); });
		life.forget(mr);
	}
	rig.stop();
	return rig.engine().commands - before;
}

void each_command_of_removal()
{
	u32 commands;
	{
		Stage s;
		REQUIRE(s.ready);
		Fault none(s.engine(), 0, manners[0]);
		commands = take_down(*s.rig, none);
	}
	u32 deaths = 0;
	u32 *died = &deaths;
	u32 cases = sweep(commands, [died](u32 nth, const Manner &how) {
		Stage s;
		REQUIRE(s.ready);
		Fault fault(s.engine(), nth, how);

		take_down(*s.rig, fault);
		if (!fault.struck)
			return FAIL("there is no command %u", nth);
		spoilt[static_cast<u32>(fault.op)]++;
		*died += s.world().said("device is given up");
		if (s.engine().has_cqp() && !how.pulls_out)
			fault.blame("the control QP is left");
		if (s.world().fatal || s.world().resets)
			fault.blame("a device that goes is reset");
		s.world().forget_qsets();
	});

	note("%u commands, %u cases: %u devices died", commands, cases, deaths);
}

/* None that the driver has a use for is missing above. */
void each_command_was_met()
{
	constexpr CqpOp used[] = {
		CqpOp::create_qp,	CqpOp::modify_qp,    CqpOp::destroy_qp,
		CqpOp::create_cq,	CqpOp::modify_cq,    CqpOp::destroy_cq,
		CqpOp::alloc_stag,	CqpOp::reg_mr,	     CqpOp::dealloc_stag,
		CqpOp::manage_arp,	CqpOp::create_ah,    CqpOp::query_rdma_features,
		CqpOp::upload_context,	CqpOp::create_ceq,   CqpOp::destroy_ceq,
		CqpOp::create_aeq,	CqpOp::destroy_aeq,  CqpOp::destroy_ah,
		CqpOp::update_pe_sds,	CqpOp::query_fpm,    CqpOp::commit_fpm,
		CqpOp::flush_wqes,	CqpOp::create_mcast, CqpOp::modify_mcast,
		CqpOp::destroy_mcast,	CqpOp::suspend_qp,   CqpOp::resume_qp,
		CqpOp::work_sched_node, CqpOp::gather_stats, CqpOp::shmc_pages_allocated,
	};
	u32 all = 0;

	for (u32 n : spoilt)
		all += n;
	if (!all || bridge_stride() > 1)
		return note("%u faults, only some of all", all);
	for (CqpOp op : used)
		if (spoilt[static_cast<u32>(op)] < manner_count)
			FAIL("%s was not met", hw::cqp_layout(static_cast<u32>(op)).name);
	note("%u kinds of commands, %u faults", static_cast<u32>(array_size(used)), all);
}

/* ---- Allocations ---- */

/* Beside others some of them where each takes its time: under a kernel that checks itself. */
u32 allocation_stride()
{
	return bridge_stride() > 5 ? bridge_stride() : 1;
}

/* Each allocation of a part of a life fails once: an errno or success, nothing is left, all works. */
void each_allocation_of_a_life()
{
	Totals totals = {};

	for (const Part &part : parts) {
		Stage s;
		bool any = true;

		REQUIRE(s.ready);
		s.rig->announce();
		for (u32 nth = 1; any; nth += allocation_stride()) {
			begin(s);
			{
				Life life(*s.rig);

				s.world().fail_allocation(nth);
				live(s, part, life);
				any = s.world().allocation_failed();
				totals.failures += life.failed;
			}
			s.world().fail_allocation(0);
			totals.cases += any;
			if (s.engine().objects())
				return FAIL("%s: something is left after allocation %u", part.name,
					    nth);
			KernelQp probe(*s.rig);
			if (s.rig->device().dead() || !probe.bring_up(SHIM_QPS_RTS))
				return FAIL("%s: it does not work after allocation %u", part.name,
					    nth);
		}
	}
	note("%u allocations failed, %u verbs with them", totals.cases, totals.failures);
	EXPECT(totals.failures != 0);
}

/* The same of the way down, where nobody can do anything about it. */
void each_allocation_of_removal()
{
	bool any = true;
	u32 cases = 0;

	for (u32 nth = 1; any; nth += allocation_stride()) {
		Stage s;
		REQUIRE(s.ready);
		Fault none(s.engine(), 0, manners[0]);

		take_down(*s.rig, none, nth);
		any = s.world().allocation_failed();
		cases += any;
		s.world().fail_allocation(0);
		EXPECT(!s.engine().has_cqp());
		EXPECT(!s.world().said("device is given up"));
	}
	note("%u allocations failed", cases);
}

/* ---- Events ---- */

/*
 * Each event that there is, and some that are none, from each source, of a QP and a CQ that live,
 * that are gone and that never were: others do not notice, and the device lives.
 */
void each_event_of_each_object()
{
	Scene s;
	REQUIRE(s.ready);
	KernelQp other(*s.rig);
	constexpr u32 unknown[] = {0, 0x7f7, 0xfff};
	constexpr u32 codes = array_size(hw::ae_names) + array_size(unknown);
	u32 gone_qp = 0, gone_cq = 0, events = 0, errors = 0;
	REQUIRE(other.bring_up(SHIM_QPS_RTS));

	for (u32 i = 0; i < codes; i++) {
		u32 code = i < array_size(hw::ae_names) ? static_cast<u32>(hw::ae_names[i].code)
							: unknown[i - array_size(hw::ae_names)];
		KernelQp qp(*s.rig);

		if (code == 0x701) /* the end of the device */
			continue;
		REQUIRE(qp.bring_up(SHIM_QPS_RTS));
		const u32 ids[] = {
			gone_qp, gone_cq, 250, 0x3ffff, qp.number(), 0x7ffff, qp.cq_result.number};
		for (u32 source = 0; source < 16; source++)
			for (u32 id : ids) {
				if (id == other.number() || id == other.cq_result.number)
					continue;
				s.engine().event(code, static_cast<hw::AeSource>(source), id);
				s.world().settle();
				events++;
			}
		const AeInfo &info = ae_info(code);
		bool stops = info.action == AeAction::qp_error,
		     breaks = info.action == AeAction::cq_error;

		errors += stops;
		EXPECT_EQ(qp.state(), stops ? SHIM_QPS_ERR : SHIM_QPS_RTS);
		EXPECT_EQ(other.state(), SHIM_QPS_RTS);
		EXPECT(!s.rig->device().dead());
		/* Whom it concerns is told, once; nobody else is told of anything. */
		EXPECT_EQ(s.world().times_told(&qp.ib_qp, info.qp_event), stops);
		EXPECT_EQ(s.world().times_told(&qp.ib_cq, SHIM_EVENT_CQ_ERR), breaks);
		EXPECT_EQ(s.world().told_count, stops + breaks);
		s.world().told_count = 0;
		gone_qp = qp.number();
		gone_cq = qp.cq_result.number;
	}
	EXPECT_EQ(s.engine().aeqes_given_back, events);
	note("%u codes, %u events, %u QPs stopped", codes, events, errors);
}

/* ---- A CQ that is gone ---- */

/* Entries of CEQs for it: as it goes, afterwards, and when another has its number. */
void completion_events_of_a_destroyed_cq()
{
	Scene s;
	REQUIRE(s.ready);
	int ib_old = 0, ib_new = 0;
	irdma_cq_params params = {};
	irdma_cq_result old = {}, next = {};
	irdma_cq *cq = nullptr;
	auto slow = [](const Command &, Answer &a) { a.delay = World::ms; };

	params.entries = 64;
	params.ib = &ib_old;
	REQUIRE(!irdma_cq_create(s.rig->c(), &params, &cq, &old));
	irdma_cq_notify(cq, SHIM_CQ_NEXT_COMP);
	irdma_cq_silence(cq); /* ib_core is about to free its own */
	s.engine().completion_event(0, old.number);
	s.world().settle();
	EXPECT_EQ(s.world().completions, 0);
	s.engine().on_command = slow;
	s.world().after(
		World::us * 500,
		[](void *e, u64 number) { static_cast<Engine *>(e)->completion_event(0, number); },
		&s.engine(), old.number);
	EXPECT_EQ(irdma_cq_destroy(cq, false), 0);
	s.obey();
	s.engine().completion_event(0, old.number);
	s.world().settle();
	EXPECT_EQ(s.world().completions, 0);
	params.ib = &ib_new;
	for (u32 i = 0; i < 200 && next.number != old.number; i++) {
		REQUIRE(!irdma_cq_create(s.rig->c(), &params, &cq, &next));
		s.engine().completion_event(0, old.number);
		s.world().settle();
		if (next.number != old.number)
			EXPECT_EQ(irdma_cq_destroy(cq, false), 0);
	}
	EXPECT_EQ(next.number, old.number);
	EXPECT_EQ(s.world().completions, 0); /* it was never armed */
	irdma_cq_notify(cq, SHIM_CQ_NEXT_COMP);
	s.engine().completion_event(0, next.number);
	s.world().settle();
	EXPECT_EQ(s.world().completions, 1);
	EXPECT_EQ(irdma_cq_destroy(cq, false), 0);
}

constexpr bridge_case cases[] = {
	TEST(each_command_of_bring_up),	 TEST(each_command_of_a_life),
	TEST(each_command_of_removal),	 TEST(each_command_was_met),
	TEST(each_allocation_of_a_life), TEST(each_allocation_of_removal),
	TEST(each_event_of_each_object), TEST(completion_events_of_a_destroyed_cq),
};

} // namespace

SUITE(sweep, cases)
