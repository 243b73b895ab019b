// SPDX-License-Identifier: GPL-2.0
/*
 * The table of modifications for queue pairs of the kernel: as
 * tests/guest/modify-table.c does it for processes. And the GSI queue pair,
 * which the MAD layer owns: its rules are tried as far as it stays usable.
 */
#include <rdma/ib_mad.h>

#include "verbs_test.h"

/* What a refusal must not change. Addresses of paths differ by their references only. */
static bool same(const struct ib_qp_attr *a, const struct ib_qp_attr *b)
{
	return a->qp_state == b->qp_state && a->path_mtu == b->path_mtu && a->qkey == b->qkey &&
	       a->rq_psn == b->rq_psn && a->sq_psn == b->sq_psn &&
	       a->dest_qp_num == b->dest_qp_num && a->qp_access_flags == b->qp_access_flags &&
	       a->pkey_index == b->pkey_index && a->max_rd_atomic == b->max_rd_atomic &&
	       a->max_dest_rd_atomic == b->max_dest_rd_atomic &&
	       a->min_rnr_timer == b->min_rnr_timer && a->port_num == b->port_num &&
	       a->timeout == b->timeout && a->retry_cnt == b->retry_cnt &&
	       a->rnr_retry == b->rnr_retry &&
	       a->en_sqd_async_notify == b->en_sqd_async_notify &&
	       a->sq_draining == b->sq_draining &&
	       !memcmp(&a->ah_attr.grh.dgid, &b->ah_attr.grh.dgid, sizeof(union ib_gid)) &&
	       a->ah_attr.grh.traffic_class == b->ah_attr.grh.traffic_class &&
	       a->ah_attr.grh.hop_limit == b->ah_attr.grh.hop_limit &&
	       a->ah_attr.grh.flow_label == b->ah_attr.grh.flow_label &&
	       !memcmp(a->ah_attr.roce.dmac, b->ah_attr.roce.dmac, ETH_ALEN);
}

static struct ib_qp_attr query(struct ib_qp *qp)
{
	struct ib_qp_init_attr init;
	struct ib_qp_attr attr;

	CHECK(!ib_query_qp(qp, &attr, -1, &init), "a queue pair cannot be queried");
	return attr;
}

static void refused(struct ib_qp *qp, struct ib_qp_attr *attr, u32 mask, int want,
		    const char *what)
{
	struct ib_qp_attr before = query(qp), after;
	int err = ib_modify_qp(qp, attr, mask);

	after = query(qp);
	CHECK(err == want, "%s to %s, mask 0x%x: %d, expected was %d (%s)",
	      vt_state_name(before.qp_state), vt_state_name(attr->qp_state), mask, err, want,
	      what);
	CHECK(same(&before, &after), "%s to %s, mask 0x%x: refused, but something has changed",
	      vt_state_name(before.qp_state), vt_state_name(attr->qp_state), mask);
}

static void refuse_masks(struct ib_qp *qp, int type, const struct qp_transition *t)
{
	struct ib_qp_attr attr = vt_values(qp->qp_num, 1);
	u32 required = t->required[type], bit;

	attr.qp_state = t->to;
	attr.cur_qp_state = t->from;
	for (bit = A_CUR_STATE; bit < 1u << A_BITS; bit <<= 1) {
		if (required & bit)
			refused(qp, &attr, A_STATE | (required & ~bit), -EINVAL, "missing");
		else if (!(t->optional[type] & bit))
			refused(qp, &attr, A_STATE | required | bit, -EINVAL, "foreign");
	}
}

/* What was set is queried: as far as these tests give it a value of its own. */
static void check_set(struct ib_qp *qp, const struct ib_qp_attr *set, u32 mask)
{
	struct ib_qp_attr got = query(qp);

	CHECK(got.qp_state == set->qp_state, "state %s, set was %s", vt_state_name(got.qp_state),
	      vt_state_name(set->qp_state));
	if (set->qp_state == IB_QPS_RESET)
		return;
#define SAME(bit, member)							\
	CHECK(!(mask & (bit)) || got.member == set->member,			\
	      #member " is 0x%x, set was 0x%x", (u32)got.member, (u32)set->member)
	SAME(A_ACCESS, qp_access_flags);
	SAME(A_PORT, port_num);
	SAME(A_QKEY, qkey);
	SAME(A_AV, ah_attr.grh.hop_limit);
	SAME(A_AV, ah_attr.grh.traffic_class);
	SAME(A_AV, ah_attr.grh.flow_label);
	SAME(A_AV, ah_attr.grh.sgid_index);
	SAME(A_PATH_MTU, path_mtu);
	SAME(A_TIMEOUT, timeout);
	SAME(A_RETRY, retry_cnt);
	SAME(A_RNR_RETRY, rnr_retry);
	SAME(A_RQ_PSN, rq_psn);
	SAME(A_ORD, max_rd_atomic);
	SAME(A_RNR_TIMER, min_rnr_timer);
	SAME(A_SQ_PSN, sq_psn);
	SAME(A_IRD, max_dest_rd_atomic);
	SAME(A_DEST_QP, dest_qp_num);
#undef SAME
}

/* A queue pair of the kernel can be brought back by way of RESET, always. */
static bool back_to(struct vt_qp *q, int state)
{
	int err = vt_state(q) == state ? 0 : vt_go(q, Q_RESET) ?: vt_bring(q, state);

	return CHECK(!err, "%s by RESET back to %s: %d", vt_type_name(q->type),
		     vt_state_name(state), err);
}

static void accepted(struct vt_qp *q, const struct qp_transition *t, u32 mask)
{
	struct ib_qp_attr attr = vt_values(q->qp->qp_num, 1);
	int err;

	if (!back_to(q, t->from))
		return;
	attr.qp_state = t->to;
	attr.cur_qp_state = t->from;
	err = ib_modify_qp(q->qp, &attr, mask);
	if (CHECK(!err, "%s %s to %s, mask 0x%x: %d", vt_type_name(q->type),
		  vt_state_name(t->from), vt_state_name(t->to), mask, err))
		check_set(q->qp, &attr, mask);
}

static void accept_masks(struct vt_qp *q, const struct qp_transition *t)
{
	u32 required = t->required[q->type], bit;
	u32 optional = t->optional[q->type] & ~A_ALT_PATH;

	accepted(q, t, A_STATE | required);
	for (bit = A_CUR_STATE; bit < 1u << A_BITS; bit <<= 1)
		if (optional & bit)
			accepted(q, t, A_STATE | required | bit);
	accepted(q, t, A_STATE | required | optional);
}

static void pair(struct vt_qp *q, int from, int to)
{
	const struct qp_transition *t = qp_transition_of(from, to);
	struct ib_qp_attr attr = vt_values(q->qp->qp_num, 1);

	if (!back_to(q, from))
		return;
	attr.qp_state = to;
	if (t) {
		refuse_masks(q->qp, q->type, t);
		accept_masks(q, t);
	} else {
		refused(q->qp, &attr, A_STATE, -EINVAL, "illegal");
		refused(q->qp, &attr, qp_arrival_mask(to, q->type), -EINVAL, "illegal");
	}
}

/** vt_test_table() - each pair of states and each attribute, for RC and UD */
void vt_test_table(void)
{
	int type, from, to, err;
	struct vt_qp q;

	for (type = T_RC; type <= T_UD; type++) {
		err = vt_create(&q, type, NULL);
		if (!CHECK(!err, "no queue pair: %d", err))
			return;
		for (from = Q_RESET; from < Q_STATES; from++)
			for (to = Q_RESET; to < Q_STATES && from != Q_SQE; to++)
				pair(&q, from, to);
		vt_destroy(&q);
	}
}

/* ---- GSI ---- */

static void on_sent(struct ib_mad_agent *agent, struct ib_mad_send_wc *wc)
{
}

static void gsi_rules(struct ib_qp *qp)
{
	struct ib_qp_attr attr = vt_values(1, 0), before = query(qp);
	int to;

	CHECK(qp->qp_num == 1 && qp->qp_type == IB_QPT_GSI, "GSI has number %u and type %d",
	      qp->qp_num, qp->qp_type);
	CHECK(before.qp_state == IB_QPS_RTS, "GSI is in %s", vt_state_name(before.qp_state));
	for (to = Q_RESET; to < Q_STATES; to++) {
		attr.qp_state = to;
		attr.cur_qp_state = IB_QPS_RTS;
		if (!qp_transition_of(Q_RTS, to))
			refused(qp, &attr, A_STATE, -EINVAL, "GSI, illegal");
		else
			refuse_masks(qp, T_GSI, qp_transition_of(Q_RTS, to));
	}
	attr.qkey = before.qkey;
	attr.qp_state = IB_QPS_RTS;
	CHECK(!ib_modify_qp(qp, &attr, A_STATE | A_CUR_STATE | A_QKEY), "GSI: RTS to RTS");
	attr.qp_state = IB_QPS_SQD;
	CHECK(!ib_modify_qp(qp, &attr, A_STATE), "GSI: RTS to SQD");
	CHECK(!ib_modify_qp(qp, &attr, A_STATE | A_PKEY | A_QKEY), "GSI: SQD to SQD");
	attr.qp_state = IB_QPS_RTS;
	CHECK(!ib_modify_qp(qp, &attr, A_STATE | A_QKEY), "GSI: SQD to RTS");
	attr = query(qp);
	CHECK(attr.qp_state == IB_QPS_RTS && attr.qkey == before.qkey, "GSI is not as it was");
}

/** vt_test_gsi() - the MAD layer's queue pair is there, obeys the table, and is the only one */
void vt_test_gsi(void)
{
	struct ib_qp_init_attr init = {
		.qp_type = IB_QPT_GSI,
		.cap = { .max_send_wr = 8, .max_recv_wr = 8, .max_send_sge = 1,
			 .max_recv_sge = 1 },
	};
	struct ib_mad_agent *agent;
	struct ib_qp *second;
	struct vt_qp q;

	agent = ib_register_mad_agent(vt.ib, 1, IB_QPT_GSI, NULL, 0, on_sent, NULL, NULL, 0);
	if (!CHECK(!IS_ERR(agent), "no MAD agent: %ld", PTR_ERR(agent)))
		return;
	gsi_rules(agent->qp);

	if (!CHECK(!vt_create(&q, T_UD, NULL), "no queue pair"))
		goto out;
	init.send_cq = q.send_cq;
	init.recv_cq = q.recv_cq;
	second = ib_create_qp(vt.pd, &init);
	if (!CHECK(IS_ERR(second), "a second GSI queue pair was made"))
		ib_destroy_qp(second);
	CHECK(query(agent->qp).qp_state == IB_QPS_RTS, "GSI is not as it was");
	vt_destroy(&q);
out:
	ib_unregister_mad_agent(agent);
}
