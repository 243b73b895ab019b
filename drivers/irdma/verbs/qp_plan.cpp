// SPDX-License-Identifier: GPL-2.0
/* Plans of modifications; see qp_plan.h. */
#include "qp_plan.h"

#include "../base/net.h"
#include "../hw/limits.h"

namespace irdma {

namespace {

constexpr u32 psn_mask = 0xffffff;
constexpr u32 qpn_mask = 0xffffff;
constexpr u32 flow_label_mask = 0xfffff;
constexpr u32 max_retries = 7;	  /* 3-bit fields of IBA */
constexpr u32 max_time_code = 31; /* 5-bit fields of IBA */
constexpr u16 full_member_pkey = 0xffff;
constexpr u32 vlan_priority_shift = 13;
constexpr u32 max_vlan = 4095;

/* Access flags that IBA and ib_core know, those that are hints included. */
constexpr u32 known_access = SHIM_ACCESS_LOCAL_WRITE | SHIM_ACCESS_REMOTE_WRITE |
			     SHIM_ACCESS_REMOTE_READ | SHIM_ACCESS_REMOTE_ATOMIC |
			     SHIM_ACCESS_MW_BIND | SHIM_ACCESS_ZERO_BASED | SHIM_ACCESS_ON_DEMAND |
			     SHIM_ACCESS_HUGETLB | 0x3ff00000;

/** What a plan is made from. */
struct Input {
	const QpNow &now;
	const QpFacts &facts;
	const irdma_qp_change &change;

	bool has(u32 attributes) const { return change.mask & attributes; }
	u32 from() const { return now.attr->state; }
	u32 to() const { return next_state(*now.attr, change); }
};

Status refuse(QpRefusal &refusal, Error error, const char *attribute, u64 value)
{
	refusal = {attribute, value};
	return error;
}

/* Attributes that fit the transition, but that the device does not have. */
Status check_supported(const Input &in, QpRefusal &refusal)
{
	static constexpr struct {
		u32 bit;
		const char *name;
	} unsupported[] = {
		{SHIM_QP_ALT_PATH, "alternate path"},
		{SHIM_QP_CAP, "cap"},
		{SHIM_QP_RATE_LIMIT, "rate_limit"},
	};

	for (const auto &u : unsupported)
		if (in.has(u.bit))
			return refuse(refusal, Error::not_supported, u.name, 1);
	/* Without alternate paths a QP is, and stays, migrated. */
	if (in.has(SHIM_QP_PATH_MIG_STATE) && in.change.path_mig_state != SHIM_MIG_MIGRATED)
		return refuse(refusal, Error::not_supported, "path_mig_state",
			      in.change.path_mig_state);
	return {};
}

/* For one that must not be given here, or must. */
const char *attribute_name(u32 attribute)
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

	for (u32 i = 0; i < array_size(names); i++)
		if (attribute == 1u << i)
			return names[i];
	return "attr_mask";
}

Status check_transition(const Input &in, QpRefusal &refusal)
{
	if (in.has(SHIM_QP_CUR_STATE) && in.change.cur_state != in.from())
		return refuse(refusal, Error::invalid, "cur_qp_state", in.change.cur_state);
	if (in.to() > SHIM_QPS_ERR)
		return refuse(refusal, Error::invalid, "qp_state", in.to());
	if (in.facts.transition_ok)
		return {};
	/* The states do not follow each other, or several attributes are missing or too much. */
	if (!in.facts.attribute_at_fault)
		return refuse(refusal, Error::invalid, "these states or attr_mask", in.change.mask);
	refusal.attribute = attribute_name(in.facts.attribute_at_fault);
	refusal.value = in.facts.attribute_at_fault;
	refusal.remark =
		in.has(in.facts.attribute_at_fault) ? " of attr_mask" : " missing in attr_mask";
	return Error::invalid;
}

/* Attributes that are plain numbers with an upper limit. */
Status check_numbers(const Input &in, QpRefusal &refusal)
{
	const irdma_qp_change &c = in.change;
	const struct {
		u32 bit;
		const char *name;
		u32 value, limit;
	} numbers[] = {
		{SHIM_QP_PKEY_INDEX, "pkey_index", c.pkey_index, 0},
		{SHIM_QP_TIMEOUT, "timeout", c.timeout, max_time_code},
		{SHIM_QP_MIN_RNR_TIMER, "min_rnr_timer", c.min_rnr_timer, max_time_code},
		{SHIM_QP_RETRY_CNT, "retry_cnt", c.retry_cnt, max_retries},
		{SHIM_QP_RNR_RETRY, "rnr_retry", c.rnr_retry, max_retries},
		{SHIM_QP_MAX_QP_RD_ATOMIC, "max_rd_atomic", c.max_rd_atomic, hw::max_ord},
		{SHIM_QP_MAX_DEST_RD_ATOMIC, "max_dest_rd_atomic", c.max_dest_rd_atomic,
		 hw::max_ird},
		{SHIM_QP_DEST_QPN, "dest_qp_num", c.dest_qp, qpn_mask},
	};

	for (const auto &n : numbers)
		if (in.has(n.bit) && n.value > n.limit)
			return refuse(refusal, Error::invalid, n.name, n.value);
	if (in.has(SHIM_QP_PORT) && c.port != 1)
		return refuse(refusal, Error::invalid, "port_num", c.port);
	if (in.has(SHIM_QP_ACCESS_FLAGS) && c.access & ~known_access)
		return refuse(refusal, Error::invalid, "qp_access_flags", c.access);
	if (in.has(SHIM_QP_PATH_MTU) && (!is_power_of_two(c.path_mtu) || c.path_mtu < 256 ||
					 c.path_mtu > path_mtu_limit(in.facts.netdev_mtu)))
		return refuse(refusal, Error::invalid, "path_mtu", c.path_mtu);
	return {};
}

/* A path of a connected QP. */
Status check_path(const Input &in, QpRefusal &refusal)
{
	const irdma_path &path = in.change.path;

	if (!in.has(SHIM_QP_AV))
		return {};
	if (!path.grh)
		return refuse(refusal, Error::invalid, "ah_attr.ah_flags (no GRH)", 0);
	if (path.port != 1)
		return refuse(refusal, Error::invalid, "ah_attr.port_num", path.port);
	if (!path.hop_limit)
		return refuse(refusal, Error::invalid, "ah_attr.grh.hop_limit", path.hop_limit);
	if (path.multicast)
		return refuse(refusal, Error::invalid, "ah_attr.grh.dgid (multicast)",
			      path.ipv4 ? path.dest_ip[3] : path.dest_ip[0]);
	if (path.vlan != SHIM_NO_VLAN && path.vlan > max_vlan)
		return refuse(refusal, Error::invalid, "VLAN", path.vlan);
	return {};
}

/*
 * RESET to INIT of a QP that has been in use: there is no way to take the device's indexes back
 * to the first entry but to make the QP anew.
 */
bool must_recreate(const Input &in)
{
	return in.from() == SHIM_QPS_RESET && in.to() == SHIM_QPS_INIT &&
	       in.now.hw_state != hw::QpState::idle;
}

/*
 * A QP that is made anew needs rings that begin anew. The kernel's do. Those of a process are the
 * provider library's, and libirdma never rewinds them, so this works only as long as nothing was
 * posted. Afterwards the process has to make another QP.
 */
Status check_reuse(const Input &in, QpRefusal &refusal)
{
	if (must_recreate(in) && in.now.user && !in.facts.rings_blank)
		return refuse(refusal, Error::not_supported,
			      "qp_state (rings of a process cannot begin anew)", in.change.state);
	return {};
}

/* The path as it is kept, with what belongs to it. */
void adopt_path(irdma_qp_change &attr, const Input &in)
{
	attr.path = in.change.path;
	attr.path.flow_label &= flow_label_mask;
	attr.udp_src_port_hint = in.change.udp_src_port_hint;
	if (attr.path.vlan == SHIM_NO_VLAN && in.facts.priority_tagging)
		attr.path.vlan = 0;
}

/* Attributes after the change. */
void adopt(irdma_qp_change &attr, const Input &in)
{
	const irdma_qp_change &c = in.change;

	if (in.to() == SHIM_QPS_RESET) {
		attr = {};
		return;
	}
	const struct {
		u32 bit;
		u32 irdma_qp_change::*member;
	} members[] = {
		{SHIM_QP_ACCESS_FLAGS, &irdma_qp_change::access},
		{SHIM_QP_PKEY_INDEX, &irdma_qp_change::pkey_index},
		{SHIM_QP_PORT, &irdma_qp_change::port},
		{SHIM_QP_QKEY, &irdma_qp_change::qkey},
		{SHIM_QP_PATH_MTU, &irdma_qp_change::path_mtu},
		{SHIM_QP_TIMEOUT, &irdma_qp_change::timeout},
		{SHIM_QP_RETRY_CNT, &irdma_qp_change::retry_cnt},
		{SHIM_QP_RNR_RETRY, &irdma_qp_change::rnr_retry},
		{SHIM_QP_MAX_QP_RD_ATOMIC, &irdma_qp_change::max_rd_atomic},
		{SHIM_QP_MAX_DEST_RD_ATOMIC, &irdma_qp_change::max_dest_rd_atomic},
		{SHIM_QP_MIN_RNR_TIMER, &irdma_qp_change::min_rnr_timer},
		{SHIM_QP_DEST_QPN, &irdma_qp_change::dest_qp},
	};

	for (const auto &m : members)
		if (in.has(m.bit))
			attr.*m.member = c.*m.member;
	if (in.has(SHIM_QP_RQ_PSN))
		attr.rq_psn = c.rq_psn & psn_mask;
	if (in.has(SHIM_QP_SQ_PSN))
		attr.sq_psn = c.sq_psn & psn_mask;
	if (in.has(SHIM_QP_AV))
		adopt_path(attr, in);
	attr.sqd_async_notify = in.has(SHIM_QP_EN_SQD_ASYNC_NOTIFY) && c.sqd_async_notify;
	attr.state = in.to();
	attr.mask |= c.mask;
}

void write_path(hw::QpContext &context, const irdma_qp_change &attr, u8 priority)
{
	using namespace hw::qpc;
	const irdma_path &path = attr.path;
	bool tagged = path.vlan != SHIM_NO_VLAN;

	context.set(ipv4, path.ipv4);
	context.set(ttl, path.hop_limit);
	context.set(tos, path.traffic_class);
	context.set(flow_label, path.flow_label);
	context.set(src_port, attr.udp_src_port_hint);
	context.set(src_mac, mac_number(path.smac));
	context.set(insert_vlan, tagged);
	context.set(vlan_tag, tagged ? path.vlan | priority << vlan_priority_shift : 0);
	context.set(dest_ip0, path.dest_ip[0]);
	context.set(dest_ip1, path.dest_ip[1]);
	context.set(dest_ip2, path.dest_ip[2]);
	context.set(dest_ip3, path.dest_ip[3]);
	context.set(local_ip0, path.src_ip[0]);
	context.set(local_ip1, path.src_ip[1]);
	context.set(local_ip2, path.src_ip[2]);
	context.set(local_ip3, path.src_ip[3]);
}

/*
 * The rights of the peer. The device has one bit for two things: the peer may WRITE, and
 * responses to our own READs, which arrive as writes, are let in. So the bit is set if the peer
 * may WRITE, and also if we may READ, which is so once max_rd_atomic (ORD) is given and not 0.
 * It is clear only for a QP that allows no WRITE and does no READs. Where it is set for our own
 * READs alone, a WRITE of the peer still needs an MR or window with the right to it.
 *
 * Binding windows is always let through: IBA has no QP right for it that applications would ask
 * for, MRs have. Atomics do not exist here; the right is kept for query_qp only.
 */
void write_rights(hw::QpContext &context, const irdma_qp_change &attr)
{
	context.set(hw::qpc::rd_ok, (attr.access & SHIM_ACCESS_REMOTE_READ) != 0);
	context.set(hw::qpc::wr_rdresp_ok,
		    (attr.access & SHIM_ACCESS_REMOTE_WRITE) || attr.max_rd_atomic);
}

/* Attributes without a field of their own: timeout and min_rnr_timer, which the device chooses. */
void write_context(hw::QpContext &context, const Input &in, const irdma_qp_change &attr,
		   u8 priority)
{
	using namespace hw::qpc;

	if (in.has(SHIM_QP_AV))
		write_path(context, attr, priority);
	if (in.has(SHIM_QP_PKEY_INDEX))
		context.set(hw::qpc::pkey, full_member_pkey);
	if (in.has(SHIM_QP_QKEY))
		context.set(hw::qpc::qkey, attr.qkey);
	if (in.has(SHIM_QP_PATH_MTU))
		context.set(hw::qpc::path_mtu, attr.path_mtu);
	if (in.has(SHIM_QP_DEST_QPN))
		context.set(hw::qpc::dest_qp, attr.dest_qp);
	if (in.has(SHIM_QP_RETRY_CNT))
		context.set(hw::qpc::retry_count, attr.retry_cnt);
	if (in.has(SHIM_QP_RNR_RETRY))
		context.set(hw::qpc::rnr_retry, attr.rnr_retry);
	if (in.has(SHIM_QP_MAX_QP_RD_ATOMIC))
		context.set(hw::qpc::ord, attr.max_rd_atomic);
	if (in.has(SHIM_QP_MAX_DEST_RD_ATOMIC))
		context.set(hw::qpc::ird_code, hw::ird_encode(attr.max_dest_rd_atomic));
	if (in.has(SHIM_QP_RQ_PSN))
		context.set(expected_psn, attr.rq_psn);
	if (in.has(SHIM_QP_SQ_PSN)) {
		context.set(psn_next, attr.sq_psn);
		context.set(psn_una, attr.sq_psn);
		context.set(psn_max, attr.sq_psn);
		context.set(lsn, 0xffff);
	}
	if (in.has(SHIM_QP_ACCESS_FLAGS | SHIM_QP_MAX_QP_RD_ATOMIC))
		write_rights(context, attr);
}

bool same_context(const hw::QpContext &a, const hw::QpContext &b)
{
	for (unsigned i = 0; i < hw::QpContext::count; i++)
		if (a.qw[i].get() != b.qw[i].get())
			return false;
	return true;
}

/* The device's state for a verbs state. */
hw::QpState hw_state_of(u32 state, hw::QpState now)
{
	switch (state) {
	case SHIM_QPS_INIT:
		return hw::QpState::idle;
	case SHIM_QPS_RTR:
		return hw::QpState::rtr;
	case SHIM_QPS_RTS:
		return hw::QpState::rts;
	case SHIM_QPS_SQD:
		return hw::QpState::sqd;
	case SHIM_QPS_ERR:
		return hw::QpState::error;
	default:
		return now;
	}
}

/* RTR, RTS, SQD, and changes that stay in one of them. */
void plan_running(QpPlan &plan, const Input &in)
{
	bool enters = in.to() != in.from();
	bool drains = enters && in.to() == SHIM_QPS_SQD;

	plan.modify = enters || in.has(SHIM_QP_AV) || !same_context(plan.context, *in.now.context);
	plan.cq_num_valid = !drains;
	plan.arp_valid = !drains; /* of UD as well, whose ARP index is 0 */
	plan.ord_valid = in.to() == SHIM_QPS_RTS || in.has(SHIM_QP_MAX_QP_RD_ATOMIC);
	plan.await_drained = in.from() == SHIM_QPS_SQD && in.to() == SHIM_QPS_RTS;
}

/*
 * ERR completes all work. A process may ask for it again, for what it has posted since: the device
 * flushes only what there is at the time. Its library may name the queue; if the QP went to ERR by
 * an event the library does not know of it and names none, which stands for both. RESET takes the
 * work of a kernel QP back without completions; what a process has posted is flushed, since its
 * library counts on it.
 */
void plan_stop(QpPlan &plan, const Input &in)
{
	bool reset = in.to() == SHIM_QPS_RESET;
	bool stops =
		in.now.hw_state != hw::QpState::error && in.now.hw_state != hw::QpState::invalid;

	if (in.from() == SHIM_QPS_RESET)
		return;
	if (stops) {
		plan.hw_state = hw::QpState::error;
		plan.modify = true;
		plan.flush_sq = plan.flush_rq = !reset || in.now.user;
	} else if (in.now.user) {
		bool none_named = !in.change.flush_sq && !in.change.flush_rq;

		plan.flush_sq = in.change.flush_sq || (none_named && !reset);
		plan.flush_rq = in.change.flush_rq || (none_named && !reset);
	}
	plan.forget_work = reset && !in.now.user;
	plan.drop_path = reset;
}

} // namespace

Status plan_modify(const QpNow &now, const QpFacts &facts, const irdma_qp_change &change,
		   QpPlan &plan, QpRefusal &refusal)
{
	const Input in{now, facts, change};

	IRDMA_TRY(check_transition(in, refusal));
	IRDMA_TRY(check_supported(in, refusal));
	IRDMA_TRY(check_numbers(in, refusal));
	IRDMA_TRY(check_path(in, refusal));
	IRDMA_TRY(check_reuse(in, refusal));

	plan = {};
	plan.attr = *now.attr;
	plan.context = *now.context;
	plan.hw_state = hw_state_of(in.to(), now.hw_state);
	plan.priority = facts.priority;
	plan.new_path = in.has(SHIM_QP_AV);
	adopt(plan.attr, in);
	write_context(plan.context, in, plan.attr, facts.priority);
	plan.mac_valid = plan.context.get(hw::qpc::src_mac) != now.context->get(hw::qpc::src_mac);

	switch (in.to()) {
	case SHIM_QPS_INIT:
		/*
		 * The device learns nothing of INIT: its state is idle from creation on, P_Key,
		 * PD and rights are in the context that it reads at RTR, as at every
		 * modification, and before RTR it neither sends nor receives. So INIT, and
		 * INIT to INIT, need no command.
		 */
		plan.recreate = must_recreate(in);
		break;
	case SHIM_QPS_ERR:
	case SHIM_QPS_RESET:
		plan_stop(plan, in);
		break;
	default:
		plan_running(plan, in);
	}
	return {};
}

} // namespace irdma
