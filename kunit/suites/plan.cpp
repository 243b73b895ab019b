// SPDX-License-Identifier: GPL-2.0
/*
 * The plan of modify_qp: each pair of states, each attribute and each value,
 * against what IBA (vol. 1, 10.3.1 and 11.2.5.2), ib_core's table and the
 * stock driver's contexts say. A plan is pure, so all of it is tried here
 * without a device.
 */
#include "base/net.h"
#include "fake/rig.h"
#include "hw/limits.h"
#include "verbs/qp_plan.h"

using namespace irdma;
using namespace irdma::fake;
using namespace irdma::test;

namespace {

constexpr u32 states = 7;
constexpr u32 bits = 21; /* SHIM_QP_STATE .. SHIM_QP_DEST_QPN */
constexpr u32 types[] = {SHIM_QPT_RC, SHIM_QPT_UD, SHIM_QPT_GSI};

/** Everything that a plan is made from and gives; large, so not on the stack. */
struct Table {
	irdma_qp_change attr, change;
	hw::QpContext context;
	QpNow now;
	QpFacts facts;
	QpPlan plan;
	QpRefusal refusal;

	Status run()
	{
		refusal = {};
		return plan_modify(now, facts, change, plan, refusal);
	}

	/** A QP of @type in @state, as the device has it then, and no change yet. */
	void set(u32 type, u32 state)
	{
		constexpr hw::QpState hw[] = {
			hw::QpState::idle, hw::QpState::idle, hw::QpState::rtr,	 hw::QpState::rts,
			hw::QpState::sqd,  hw::QpState::rts,  hw::QpState::error};

		attr = {};
		attr.state = state;
		change = {};
		context.clear();
		context.set(hw::qpc::src_mac, 0x525400e81001);
		now = {.type = type,
		       .user = false,
		       .attr = &attr,
		       .context = &context,
		       .hw_state = hw[state]};
		facts = {.transition_ok = true,
			 .attribute_at_fault = 0,
			 .rings_blank = true,
			 .netdev_mtu = 9000,
			 .priority = 0,
			 .priority_tagging = false};
		change.path = KernelQp::default_path();
		change.path_mtu = 1024;
		change.port = 1;
	}

	/** Ask for @to with all attributes of @mask. */
	void ask(u32 to, u32 mask)
	{
		change.mask = mask;
		change.state = to;
		if (to != attr.state)
			change.mask |= SHIM_QP_STATE;
	}
};

Table &table()
{
	static Table t;

	return t;
}

/* ---- The table of states ---- */

/*
 * IBA's transitions, which are the same for RC and UD but for SQE: to the next state, from any
 * to RESET, from any but RESET to ERR, and within INIT, RTS and SQD.
 */
bool iba_allows(u32 from, u32 to)
{
	if (to == SHIM_QPS_RESET || (to == SHIM_QPS_ERR && from != SHIM_QPS_RESET))
		return true;
	switch (from) {
	case SHIM_QPS_RESET:
		return to == SHIM_QPS_INIT;
	case SHIM_QPS_INIT:
		return to == SHIM_QPS_INIT || to == SHIM_QPS_RTR;
	case SHIM_QPS_RTR:
		return to == SHIM_QPS_RTS;
	case SHIM_QPS_RTS:
		return to == SHIM_QPS_RTS || to == SHIM_QPS_SQD;
	case SHIM_QPS_SQD:
		return to == SHIM_QPS_RTS || to == SHIM_QPS_SQD;
	case SHIM_QPS_SQE:
		return to == SHIM_QPS_RTS;
	default:
		return false;
	}
}

/** What a transition needs (IBA table 91, and ib_core). */
u32 required(u32 type, u32 from, u32 to)
{
	bool rc = type == SHIM_QPT_RC, gsi = type == SHIM_QPT_GSI;

	if (from == SHIM_QPS_RESET && to == SHIM_QPS_INIT)
		return SHIM_QP_PKEY_INDEX | (rc	   ? SHIM_QP_PORT | SHIM_QP_ACCESS_FLAGS
					     : gsi ? SHIM_QP_QKEY
						   : SHIM_QP_PORT | SHIM_QP_QKEY);
	if (from == SHIM_QPS_INIT && to == SHIM_QPS_RTR && rc)
		return SHIM_QP_AV | SHIM_QP_PATH_MTU | SHIM_QP_DEST_QPN | SHIM_QP_RQ_PSN |
		       SHIM_QP_MAX_DEST_RD_ATOMIC | SHIM_QP_MIN_RNR_TIMER;
	if (from == SHIM_QPS_RTR && to == SHIM_QPS_RTS)
		return SHIM_QP_SQ_PSN |
		       (rc ? SHIM_QP_TIMEOUT | SHIM_QP_RETRY_CNT | SHIM_QP_RNR_RETRY |
					SHIM_QP_MAX_QP_RD_ATOMIC
			   : 0);
	return 0;
}

/* The kernel's table, which the driver asks, is IBA's; what it lacks the driver must not do. */
void transitions_are_ibas()
{
	for (u32 type : types)
		for (u32 from = 0; from < states; from++)
			for (u32 to = 0; to < states; to++) {
				u32 mask = required(type, from, to);
				bool ok =
					shim_modify_qp_is_ok(from, to, type, mask | SHIM_QP_STATE);
				bool sqe_of_rc = from == SHIM_QPS_SQE && type == SHIM_QPT_RC;

				if (!sqe_of_rc && ok != iba_allows(from, to))
					FAIL("type %u, %u to %u: %u", type, from, to, ok);
				for (u32 bit = 0; bit < bits; bit++)
					if (mask >> bit & 1 &&
					    shim_modify_qp_is_ok(from, to, type,
								 (mask & ~(1u << bit)) | 1))
						FAIL("type %u, %u to %u without attribute %u", type,
						     from, to, bit);
			}
}

/* What ib_core refuses is refused, with the attribute, whatever else is asked for. */
void refused_transitions_say_what_is_at_fault()
{
	static constexpr const char *names[] = {
		"qp_state",
		"cur_qp_state",
		"en_sqd_async_notify",
		"qp_access_flags",
		"pkey_index",
		"port_num",
		"qkey",
		"ah_attr",
		"path_mtu",
		"timeout",
		"retry_cnt",
		"rnr_retry",
		"rq_psn",
		"max_rd_atomic",
		"alt_ah_attr",
		"min_rnr_timer",
		"sq_psn",
		"max_dest_rd_atomic",
		"path_mig_state",
		"cap",
		"dest_qp_num",
	};
	Table &t = table();

	for (u32 bit = 0; bit < bits; bit++)
		for (u32 present = 0; present < 2; present++) {
			t.set(SHIM_QPT_RC, SHIM_QPS_RTR);
			t.ask(SHIM_QPS_RTS, 0);
			t.facts.transition_ok = false;
			t.facts.attribute_at_fault = 1u << bit;
			if (present)
				t.change.mask |= 1u << bit;
			else
				t.change.mask &= ~(1u << bit);
			if (bit == 1)
				t.change.cur_state = SHIM_QPS_RTR;
			if (bit == 0 && !present)
				t.attr.state = SHIM_QPS_RTR;
			EXPECT_EQ(t.run().code(), -SHIM_EINVAL);
			if (!same_text(t.refusal.attribute, names[bit]))
				FAIL("attribute %u is said to be %s", bit, t.refusal.attribute);
			EXPECT_EQ(t.refusal.value, 1u << bit);
			EXPECT(contains(t.refusal.remark,
					present ? "of attr_mask" : "missing in attr_mask"));
		}
	t.set(SHIM_QPT_RC, SHIM_QPS_RESET);
	t.ask(SHIM_QPS_RTS, 0);
	t.facts.transition_ok = false;
	EXPECT_EQ(t.run().code(), -SHIM_EINVAL);
	EXPECT(contains(t.refusal.attribute, "states"));
	t.facts.attribute_at_fault = 1u << 25; /* one that has no name here */
	EXPECT_EQ(t.run().code(), -SHIM_EINVAL);
	EXPECT(same_text(t.refusal.attribute, "attr_mask"));
}

void states_that_are_none()
{
	Table &t = table();
	constexpr u32 none[] = {7, 8, 255, ~0u};

	for (u32 to : none) {
		t.set(SHIM_QPT_RC, SHIM_QPS_RTS);
		t.ask(to, 0);
		EXPECT_EQ(t.run().code(), -SHIM_EINVAL);
		EXPECT(same_text(t.refusal.attribute, "qp_state"));
		EXPECT_EQ(t.refusal.value, to);
	}
	for (u32 claimed = 0; claimed < states; claimed++) {
		t.set(SHIM_QPT_RC, SHIM_QPS_RTS);
		t.ask(SHIM_QPS_SQD, SHIM_QP_CUR_STATE);
		t.change.cur_state = claimed;
		Status status = t.run();
		EXPECT_EQ(status.code(), claimed == SHIM_QPS_RTS ? 0 : -SHIM_EINVAL);
		if (!status.ok())
			EXPECT(same_text(t.refusal.attribute, "cur_qp_state"));
	}
}

/* What the device is told at each transition that IBA has. */
void each_pair_of_states()
{
	Table &t = table();
	u32 pairs = 0;

	for (u32 type : types)
		for (u32 user = 0; user < 2; user++)
			for (u32 from = 0; from < states; from++)
				for (u32 to = 0; to < states; to++) {
					if (!iba_allows(from, to) || from == SHIM_QPS_SQE)
						continue;
					pairs++;
					t.set(type, from);
					t.now.user = user;
					t.ask(to, required(type, from, to));
					if (!EXPECT(t.run().ok()))
						return FAIL("type %u, %u to %u: %s", type, from, to,
							    t.refusal.attribute);
					const QpPlan &p = t.plan;
					bool enters = from != to;
					bool stops = to == SHIM_QPS_RESET || to == SHIM_QPS_ERR;
					bool worked = from >= SHIM_QPS_INIT && from != SHIM_QPS_ERR;

					EXPECT_EQ(p.attr.state, to);
					/* INIT is idle, as RESET: nothing to tell. */
					if (to == SHIM_QPS_INIT) {
						EXPECT(!p.modify);
						EXPECT_EQ(p.hw_state, hw::QpState::idle);
					}
					if (to == SHIM_QPS_RTR)
						EXPECT(p.modify && p.hw_state == hw::QpState::rtr);
					if (to == SHIM_QPS_RTS && enters)
						EXPECT(p.modify && p.hw_state == hw::QpState::rts &&
						       p.ord_valid);
					if (to == SHIM_QPS_SQD && enters)
						EXPECT(p.modify && p.hw_state == hw::QpState::sqd &&
						       !p.cq_num_valid && !p.arp_valid);
					if (!stops && p.modify && !(to == SHIM_QPS_SQD && enters))
						EXPECT(p.cq_num_valid && p.arp_valid);
					EXPECT_EQ(p.await_drained,
						  from == SHIM_QPS_SQD && to == SHIM_QPS_RTS);
					if (stops && worked) {
						EXPECT(p.modify &&
						       p.hw_state == hw::QpState::error);
						EXPECT_EQ(p.flush_sq, to == SHIM_QPS_ERR || user);
						EXPECT_EQ(p.flush_rq, to == SHIM_QPS_ERR || user);
					}
					if (stops && !worked) {
						bool again = user && from == SHIM_QPS_ERR &&
							     to == SHIM_QPS_ERR;

						EXPECT(!p.modify);
						EXPECT_EQ(p.flush_sq, again);
						EXPECT_EQ(p.flush_rq, again);
					}
					EXPECT_EQ(p.drop_path,
						  to == SHIM_QPS_RESET && from != SHIM_QPS_RESET);
					EXPECT_EQ(p.forget_work, to == SHIM_QPS_RESET && !user &&
									 from != SHIM_QPS_RESET);
					EXPECT(!p.recreate);
				}
	note("%u transitions", pairs);
}

/* ---- Values ---- */

struct Limit {
	u32 bit;
	const char *name;
	u32 irdma_qp_change::*member;
	u32 low, high;
};

/* Limits of IBA's fields, and of the device (IRD 127, ORD 255). */
constexpr Limit limits[] = {
	{SHIM_QP_PKEY_INDEX, "pkey_index", &irdma_qp_change::pkey_index, 0, 0},
	{SHIM_QP_TIMEOUT, "timeout", &irdma_qp_change::timeout, 0, 31},
	{SHIM_QP_MIN_RNR_TIMER, "min_rnr_timer", &irdma_qp_change::min_rnr_timer, 0, 31},
	{SHIM_QP_RETRY_CNT, "retry_cnt", &irdma_qp_change::retry_cnt, 0, 7},
	{SHIM_QP_RNR_RETRY, "rnr_retry", &irdma_qp_change::rnr_retry, 0, 7},
	{SHIM_QP_MAX_QP_RD_ATOMIC, "max_rd_atomic", &irdma_qp_change::max_rd_atomic, 0, 255},
	{SHIM_QP_MAX_DEST_RD_ATOMIC, "max_dest_rd_atomic", &irdma_qp_change::max_dest_rd_atomic, 0,
	 127},
	{SHIM_QP_DEST_QPN, "dest_qp_num", &irdma_qp_change::dest_qp, 0, 0xffffff},
	{SHIM_QP_PORT, "port_num", &irdma_qp_change::port, 1, 1},
};

void numbers_have_limits()
{
	Table &t = table();

	for (const Limit &l : limits) {
		const u32 values[] = {l.low, l.high, l.high + 1, 0xffffffff, l.low - 1};

		for (u32 value : values) {
			bool fits = value >= l.low && value <= l.high;

			t.set(SHIM_QPT_RC, SHIM_QPS_RTR);
			t.ask(SHIM_QPS_RTS, l.bit);
			t.change.*l.member = value;
			Status status = t.run();
			if (status.ok() != fits)
				FAIL("%s of %u: %d", l.name, value, status.code());
			if (!status.ok()) {
				EXPECT_EQ(status.code(), -SHIM_EINVAL);
				EXPECT(same_text(t.refusal.attribute, l.name));
				EXPECT_EQ(t.refusal.value, value);
			} else {
				EXPECT_EQ(t.plan.attr.*l.member, value);
			}
			/* Without its bit the value is not looked at, and not taken. */
			t.set(SHIM_QPT_RC, SHIM_QPS_RTR);
			t.ask(SHIM_QPS_RTS, 0);
			t.change.*l.member = value;
			EXPECT(t.run().ok());
			EXPECT_EQ(t.plan.attr.*l.member, 0);
		}
	}
}

/* PSNs have 24 bits and wrap; the kernel does not cut them. */
void psns_are_cut()
{
	Table &t = table();

	t.set(SHIM_QPT_RC, SHIM_QPS_RTR);
	t.ask(SHIM_QPS_RTS, SHIM_QP_SQ_PSN | SHIM_QP_RQ_PSN);
	t.change.sq_psn = 0xab123456;
	t.change.rq_psn = 0xffffffff;
	EXPECT(t.run().ok());
	EXPECT_EQ(t.plan.attr.sq_psn, 0x123456);
	EXPECT_EQ(t.plan.attr.rq_psn, 0xffffff);
	EXPECT_EQ(t.plan.context.get(hw::qpc::psn_next), 0x123456);
	EXPECT_EQ(t.plan.context.get(hw::qpc::psn_una), 0x123456);
	EXPECT_EQ(t.plan.context.get(hw::qpc::psn_max), 0x123456);
	EXPECT_EQ(t.plan.context.get(hw::qpc::lsn), 0xffff);
	EXPECT_EQ(t.plan.context.get(hw::qpc::expected_psn), 0xffffff);
}

/* The kernel counts 96 bytes of headers (iboe_get_mtu()). */
void path_mtu_by_netdev_mtu()
{
	constexpr struct {
		u32 netdev, limit;
	} mtus[] = {{0, 0},	  {351, 0},	{352, 256},   {607, 256},   {608, 512},
		    {1119, 512},  {1120, 1024}, {1500, 1024}, {2143, 1024}, {2144, 2048},
		    {4191, 2048}, {4192, 4096}, {9702, 4096}, {65536, 4096}};
	Table &t = table();

	for (const auto &m : mtus) {
		EXPECT_EQ(path_mtu_limit(m.netdev), m.limit);
		for (u32 mtu = 128; mtu <= 8192; mtu *= 2) {
			t.set(SHIM_QPT_RC, SHIM_QPS_INIT);
			t.ask(SHIM_QPS_RTR, SHIM_QP_PATH_MTU);
			t.facts.netdev_mtu = m.netdev;
			t.change.path_mtu = mtu;
			EXPECT_EQ(t.run().ok(), mtu >= 256 && mtu <= m.limit);
			if (mtu >= 256 && mtu <= m.limit)
				EXPECT_EQ(t.plan.context.get(hw::qpc::path_mtu), mtu);
		}
	}
	constexpr u32 none[] = {0, 1, 1000, ~0u};
	for (u32 mtu : none) {
		t.set(SHIM_QPT_RC, SHIM_QPS_INIT);
		t.ask(SHIM_QPS_RTR, SHIM_QP_PATH_MTU);
		t.change.path_mtu = mtu;
		EXPECT(!t.run().ok());
		EXPECT(same_text(t.refusal.attribute, "path_mtu"));
	}
}

/* READs that a QP may have out: given again while it is drained. */
void reads_of_a_drained_qp()
{
	Table &t = table();

	t.set(SHIM_QPT_RC, SHIM_QPS_SQD);
	t.change.mask = SHIM_QP_MAX_QP_RD_ATOMIC;
	t.change.max_rd_atomic = 3;
	EXPECT(t.run().ok());
	EXPECT(t.plan.modify && t.plan.ord_valid);
}

void attributes_that_the_device_lacks()
{
	constexpr u32 lacking[] = {SHIM_QP_ALT_PATH, SHIM_QP_CAP, SHIM_QP_RATE_LIMIT};
	Table &t = table();

	for (u32 bit : lacking) {
		t.set(SHIM_QPT_RC, SHIM_QPS_RTR);
		t.ask(SHIM_QPS_RTS, bit);
		EXPECT_EQ(t.run().code(), -SHIM_EOPNOTSUPP);
	}
	/* IB_MIG_MIGRATED, REARM, ARMED; the first is what all are. */
	for (u32 state = 0; state < 3; state++) {
		t.set(SHIM_QPT_RC, SHIM_QPS_RTR);
		t.ask(SHIM_QPS_RTS, SHIM_QP_PATH_MIG_STATE);
		t.change.path_mig_state = state;
		EXPECT_EQ(t.run().code(), state ? -SHIM_EOPNOTSUPP : 0);
	}
}

/* ---- Rights ---- */

/* Each set of rights with each ORD: what the peer may, and whether own READs are answered. */
void rights_of_the_peer()
{
	Table &t = table();

	for (u32 access = 0; access < 32; access++)
		for (u32 given = 0; given < 2; given++)
			for (u32 ord = 0; ord < 2; ord++) {
				t.set(SHIM_QPT_RC, SHIM_QPS_RTR);
				t.ask(SHIM_QPS_RTS, SHIM_QP_ACCESS_FLAGS |
							    (given ? SHIM_QP_MAX_QP_RD_ATOMIC : 0));
				t.change.access = access;
				t.change.max_rd_atomic = ord;
				EXPECT(t.run().ok());
				EXPECT_EQ(t.plan.context.get(hw::qpc::rd_ok),
					  (access & SHIM_ACCESS_REMOTE_READ) != 0);
				EXPECT_EQ(t.plan.context.get(hw::qpc::wr_rdresp_ok),
					  (access & SHIM_ACCESS_REMOTE_WRITE) != 0 ||
						  (given && ord));
				EXPECT_EQ(t.plan.attr.access, access);
			}
	/* Taken away again. */
	t.set(SHIM_QPT_RC, SHIM_QPS_RTS);
	t.attr.access = SHIM_ACCESS_REMOTE_READ | SHIM_ACCESS_REMOTE_WRITE;
	t.context.set(hw::qpc::rd_ok, 1);
	t.context.set(hw::qpc::wr_rdresp_ok, 1);
	t.ask(SHIM_QPS_RTS, SHIM_QP_ACCESS_FLAGS);
	EXPECT(t.run().ok());
	EXPECT(t.plan.modify);
	EXPECT_EQ(t.plan.context.get(hw::qpc::rd_ok), 0);
	EXPECT_EQ(t.plan.context.get(hw::qpc::wr_rdresp_ok), 0);
}

void unknown_rights_are_refused()
{
	Table &t = table();

	for (u32 bit = 0; bit < 32; bit++) {
		/* Bits 0 to 7 are defined, 20 to 29 are hints. */
		bool known = bit < 8 || (bit >= 20 && bit < 30);

		t.set(SHIM_QPT_RC, SHIM_QPS_RTR);
		t.ask(SHIM_QPS_RTS, SHIM_QP_ACCESS_FLAGS);
		t.change.access = 1u << bit;
		if (t.run().ok() != known)
			FAIL("access flag %u", bit);
	}
}

/* ---- Paths ---- */

void paths_that_cannot_be()
{
	Table &t = table();
	struct {
		const char *name;
		void (*spoil)(irdma_path &);
	} const bad[] = {
		{"ah_flags", [](irdma_path &p) { p.grh = false; }},
		{"port_num", [](irdma_path &p) { p.port = 2; }},
		{"port_num", [](irdma_path &p) { p.port = 0; }},
		{"hop_limit", [](irdma_path &p) { p.hop_limit = 0; }},
		{"multicast", [](irdma_path &p) { p.multicast = true; }},
		{"multicast",
		 [](irdma_path &p) {
			 p.multicast = true;
			 p.ipv4 = false;
			 p.dest_ip[0] = 0xff020000;
		 }},
		{"VLAN", [](irdma_path &p) { p.vlan = 4096; }},
		{"VLAN", [](irdma_path &p) { p.vlan = 0xfffe; }},
	};

	for (const auto &b : bad) {
		t.set(SHIM_QPT_RC, SHIM_QPS_INIT);
		t.ask(SHIM_QPS_RTR, SHIM_QP_AV);
		b.spoil(t.change.path);
		EXPECT_EQ(t.run().code(), -SHIM_EINVAL);
		if (!t.refusal.attribute || !contains(t.refusal.attribute, b.name))
			FAIL("%s is not said", b.name);
		/* Not looked at without its bit. */
		t.change.mask &= ~static_cast<u32>(SHIM_QP_AV);
		EXPECT(t.run().ok());
		EXPECT(!t.plan.new_path);
	}
}

void path_in_the_context()
{
	Table &t = table();

	for (u32 ipv4 = 0; ipv4 < 2; ipv4++)
		for (u32 vlan = 0; vlan < 3; vlan++)
			for (u32 tagging = 0; tagging < 2; tagging++) {
				constexpr u16 vlans[] = {SHIM_NO_VLAN, 5, 4095};
				t.set(SHIM_QPT_RC, SHIM_QPS_INIT);
				t.ask(SHIM_QPS_RTR, SHIM_QP_AV);
				irdma_path &p = t.change.path;

				p.ipv4 = ipv4;
				for (u32 i = 0; i < 4; i++) {
					p.dest_ip[i] = ipv4 && i < 3 ? 0 : 0x20010db8 + i;
					p.src_ip[i] = ipv4 && i < 3 ? 0 : 0xfe800000 + i;
				}
				p.hop_limit = 77;
				p.traffic_class = 0x60;
				p.flow_label = 0xfff12345;
				p.vlan = vlans[vlan];
				t.change.udp_src_port_hint = 0xc123;
				t.facts.priority = 5;
				t.facts.priority_tagging = tagging;
				EXPECT(t.run().ok());
				const hw::QpContext &c = t.plan.context;
				bool tagged = vlan || tagging;

				EXPECT(t.plan.new_path);
				EXPECT_EQ(t.plan.priority, 5);
				EXPECT_EQ(c.get(hw::qpc::ipv4), ipv4);
				EXPECT_EQ(c.get(hw::qpc::ttl), 77);
				EXPECT_EQ(c.get(hw::qpc::tos), 0x60);
				EXPECT_EQ(c.get(hw::qpc::flow_label), 0x12345);
				EXPECT_EQ(c.get(hw::qpc::src_port), 0xc123);
				EXPECT_EQ(c.get(hw::qpc::src_mac), 0x525400e81001);
				EXPECT_EQ(c.get(hw::qpc::insert_vlan), tagged);
				EXPECT_EQ(c.get(hw::qpc::vlan_tag),
					  tagged ? (vlan ? vlans[vlan] : 0) | 5u << 13 : 0);
				EXPECT_EQ(c.get(hw::qpc::dest_ip0), p.dest_ip[0]);
				EXPECT_EQ(c.get(hw::qpc::dest_ip1), p.dest_ip[1]);
				EXPECT_EQ(c.get(hw::qpc::dest_ip2), p.dest_ip[2]);
				EXPECT_EQ(c.get(hw::qpc::dest_ip3), p.dest_ip[3]);
				EXPECT_EQ(c.get(hw::qpc::local_ip0), p.src_ip[0]);
				EXPECT_EQ(c.get(hw::qpc::local_ip3), p.src_ip[3]);
				EXPECT(!t.plan.mac_valid); /* the MAC is that of before */
				EXPECT_EQ(t.plan.attr.path.flow_label, 0x12345);
			}
	/* Another source MAC must be told. */
	t.set(SHIM_QPT_RC, SHIM_QPS_INIT);
	t.ask(SHIM_QPS_RTR, SHIM_QP_AV);
	t.change.path.smac[5] = 9;
	EXPECT(t.run().ok());
	EXPECT(t.plan.mac_valid);
}

/* What is not in the mask stays, in attributes and context. */
void what_is_not_asked_for_stays()
{
	Table &t = table();

	for (u32 bit = 3; bit < bits; bit++) {
		u32 mask = 1u << bit;

		if (mask & (SHIM_QP_ALT_PATH | SHIM_QP_CAP | SHIM_QP_PATH_MIG_STATE))
			continue;
		t.set(SHIM_QPT_RC, SHIM_QPS_RTS);
		t.attr.qkey = t.attr.dest_qp = t.attr.timeout = 3;
		t.attr.path.hop_limit = 9;
		for (u32 w = 0; w < hw::QpContext::count; w++)
			t.context.qw[w].set(0x5555555555555555ULL);
		t.ask(SHIM_QPS_RTS, mask);
		t.change.qkey = 0x77;
		if (!EXPECT(t.run().ok()))
			continue;
		EXPECT_EQ(t.plan.attr.qkey, mask == SHIM_QP_QKEY ? 0x77 : 3);
		EXPECT_EQ(t.plan.attr.path.hop_limit, mask == SHIM_QP_AV ? 64 : 9);
		EXPECT_EQ(t.plan.context.get(hw::qpc::sq_addr), 0x5555555555555555ULL);
		EXPECT_EQ(t.plan.context.get(hw::qpc::completion_ctx), 0x5555555555555555ULL);
		EXPECT_EQ(t.plan.context.get(hw::qpc::ttl), mask == SHIM_QP_AV ? 64 : 0x55);
		EXPECT_EQ(t.plan.context.get(hw::qpc::qkey),
			  mask == SHIM_QP_QKEY ? 0x77 : 0x55555555);
	}
	/* Nothing that the device would see: no command. */
	t.set(SHIM_QPT_RC, SHIM_QPS_RTS);
	t.ask(SHIM_QPS_RTS, SHIM_QP_MIN_RNR_TIMER);
	EXPECT(t.run().ok());
	EXPECT(!t.plan.modify);
	t.set(SHIM_QPT_RC, SHIM_QPS_RTS);
	t.ask(SHIM_QPS_RTS, SHIM_QP_MAX_QP_RD_ATOMIC);
	t.change.max_rd_atomic = 4;
	EXPECT(t.run().ok());
	EXPECT(t.plan.modify && t.plan.ord_valid);
	EXPECT_EQ(t.plan.context.get(hw::qpc::ord), 4);
}

void values_in_the_context()
{
	Table &t = table();

	t.set(SHIM_QPT_UD, SHIM_QPS_RESET);
	t.ask(SHIM_QPS_INIT, SHIM_QP_PKEY_INDEX | SHIM_QP_PORT | SHIM_QP_QKEY);
	t.change.qkey = 0x80010000;
	EXPECT(t.run().ok());
	EXPECT_EQ(t.plan.context.get(hw::qpc::pkey), 0xffff);
	EXPECT_EQ(t.plan.context.get(hw::qpc::qkey), 0x80010000);

	t.set(SHIM_QPT_RC, SHIM_QPS_INIT);
	t.ask(SHIM_QPS_RTR, required(SHIM_QPT_RC, SHIM_QPS_INIT, SHIM_QPS_RTR));
	t.change.dest_qp = 0xabcdef;
	t.change.max_dest_rd_atomic = 16;
	EXPECT(t.run().ok());
	EXPECT_EQ(t.plan.context.get(hw::qpc::dest_qp), 0xabcdef);
	EXPECT_EQ(t.plan.context.get(hw::qpc::ird_code), 2); /* 32 entries: 64 */

	t.set(SHIM_QPT_RC, SHIM_QPS_RTR);
	t.ask(SHIM_QPS_RTS, required(SHIM_QPT_RC, SHIM_QPS_RTR, SHIM_QPS_RTS));
	t.change.retry_cnt = 7;
	t.change.rnr_retry = 6;
	t.change.max_rd_atomic = 255;
	EXPECT(t.run().ok());
	EXPECT_EQ(t.plan.context.get(hw::qpc::retry_count), 7);
	EXPECT_EQ(t.plan.context.get(hw::qpc::rnr_retry), 6);
	EXPECT_EQ(t.plan.context.get(hw::qpc::ord), 255);
	EXPECT_EQ(t.plan.attr.mask & required(SHIM_QPT_RC, SHIM_QPS_RTR, SHIM_QPS_RTS),
		  required(SHIM_QPT_RC, SHIM_QPS_RTR, SHIM_QPS_RTS));
}

/* ---- Ends and beginnings ---- */

void sqd_notification()
{
	Table &t = table();

	for (u32 asked = 0; asked < 2; asked++)
		for (u32 value = 0; value < 2; value++) {
			t.set(SHIM_QPT_RC, SHIM_QPS_RTS);
			t.ask(SHIM_QPS_SQD, asked ? SHIM_QP_EN_SQD_ASYNC_NOTIFY : 0);
			t.change.sqd_async_notify = value;
			EXPECT(t.run().ok());
			EXPECT_EQ(t.plan.attr.sqd_async_notify, asked && value);
		}
}

/* ERR to ERR: a process may have posted meanwhile, and says which queues, or none: then both. */
void flush_again()
{
	Table &t = table();

	for (u32 user = 0; user < 2; user++)
		for (u32 queues = 0; queues < 4; queues++) {
			t.set(SHIM_QPT_RC, SHIM_QPS_ERR);
			t.now.user = user;
			t.ask(SHIM_QPS_ERR, SHIM_QP_STATE);
			t.change.flush_sq = queues & 1;
			t.change.flush_rq = queues & 2;
			EXPECT(t.run().ok());
			EXPECT(!t.plan.modify);
			EXPECT_EQ(t.plan.flush_sq, user && (queues & 1 || !queues));
			EXPECT_EQ(t.plan.flush_rq, user && (queues & 2 || !queues));
			/* To RESET, only what is named. */
			t.ask(SHIM_QPS_RESET, SHIM_QP_STATE);
			EXPECT(t.run().ok());
			EXPECT_EQ(t.plan.flush_sq, user && queues & 1);
			EXPECT_EQ(t.plan.flush_rq, user && queues & 2);
		}
	/* The device does not have it: nothing to stop. */
	t.set(SHIM_QPT_RC, SHIM_QPS_RTS);
	t.now.hw_state = hw::QpState::invalid;
	t.ask(SHIM_QPS_ERR, SHIM_QP_STATE);
	EXPECT(t.run().ok());
	EXPECT(!t.plan.modify && !t.plan.flush_sq);
}

/* A QP that was in use is made anew at INIT; the rings of a process must be blank for it. */
void use_after_reset()
{
	Table &t = table();

	for (u32 user = 0; user < 2; user++)
		for (u32 blank = 0; blank < 2; blank++)
			for (u32 used = 0; used < 2; used++) {
				t.set(SHIM_QPT_RC, SHIM_QPS_RESET);
				t.now.user = user;
				t.facts.rings_blank = blank;
				if (used)
					t.now.hw_state = hw::QpState::error;
				t.ask(SHIM_QPS_INIT, 0);
				Status status = t.run();
				bool fits = !used || !user || blank;

				EXPECT_EQ(status.code(), fits ? 0 : -SHIM_EOPNOTSUPP);
				if (!fits)
					EXPECT(contains(t.refusal.attribute, "rings"));
				else
					EXPECT_EQ(t.plan.recreate, used);
			}
}

/* RESET forgets all that was set. */
void reset_forgets()
{
	Table &t = table();

	t.set(SHIM_QPT_RC, SHIM_QPS_RTS);
	t.attr.qkey = 1;
	t.attr.mask = ~0u;
	t.ask(SHIM_QPS_RESET, SHIM_QP_STATE);
	EXPECT(t.run().ok());
	EXPECT_EQ(t.plan.attr.qkey, 0);
	EXPECT_EQ(t.plan.attr.mask, 0);
	EXPECT_EQ(t.plan.attr.state, SHIM_QPS_RESET);
}

/* Random changes: a refusal leaves no trace, and a plan is in keeping with what was asked. */
void random_changes()
{
	Table &t = table();
	Random random(3);
	u32 accepted = 0;

	for (u32 i = 0; i < 20000; i++) {
		u32 type = types[random.below(3)], from = random.below(states);

		t.set(type, from);
		t.now.user = random.below(2);
		u32 next = random.below(random.below(4) ? states : 9);
		u32 mask = required(type, from, next);
		if (random.below(3) == 0) /* one too many, or one missing */
			mask ^= 1u << random.below(bits);
		t.ask(next, mask | (random.below(4) ? 0 : SHIM_QP_CUR_STATE));
		t.change.cur_state = random.below(2) ? from : random.below(8);
		t.change.access = random.below(64);
		t.change.pkey_index = random.below(8) == 0;
		t.change.timeout = random.below(40);
		t.change.retry_cnt = random.below(9);
		t.change.max_rd_atomic = random.below(300);
		t.change.max_dest_rd_atomic = random.below(150);
		t.change.path_mig_state = random.below(3);
		u32 to = next_state(t.attr, t.change);
		t.facts.transition_ok =
			to < states && shim_modify_qp_is_ok(from, to, type, t.change.mask);
		Status status = t.run();
		if (!status.ok()) {
			EXPECT(t.refusal.attribute != nullptr);
			EXPECT(status.is(Error::invalid) || status.is(Error::not_supported));
			EXPECT_EQ(t.attr.state, from);
			continue;
		}
		accepted++;
		EXPECT(t.facts.transition_ok);
		EXPECT_EQ(t.plan.attr.state, to);
		EXPECT(!(t.change.mask & SHIM_QP_MAX_QP_RD_ATOMIC) ||
		       t.change.max_rd_atomic <= 255);
		EXPECT_EQ(t.plan.new_path, (t.change.mask & SHIM_QP_AV) != 0);
	}
	EXPECT(accepted > 100);
	note("%u of 20000 accepted", accepted);
}

constexpr bridge_case cases[] = {
	TEST(transitions_are_ibas),
	TEST(refused_transitions_say_what_is_at_fault),
	TEST(states_that_are_none),
	TEST(each_pair_of_states),
	TEST(numbers_have_limits),
	TEST(psns_are_cut),
	TEST(path_mtu_by_netdev_mtu),
	TEST(reads_of_a_drained_qp),
	TEST(attributes_that_the_device_lacks),
	TEST(rights_of_the_peer),
	TEST(unknown_rights_are_refused),
	TEST(paths_that_cannot_be),
	TEST(path_in_the_context),
	TEST(what_is_not_asked_for_stays),
	TEST(values_in_the_context),
	TEST(sqd_notification),
	TEST(flush_again),
	TEST(use_after_reset),
	TEST(reset_forgets),
	TEST(random_changes),
};

} // namespace

SUITE(plan, cases)
