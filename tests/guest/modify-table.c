// SPDX-License-Identifier: GPL-2.0
/*
 * The whole table of modifications of RC and UD queue pairs: each pair of
 * states, legal and illegal; for a legal one each required attribute left out,
 * each optional one given, each foreign one given; and values out of range in
 * each state that takes the attribute. What is right is written down in
 * lib/qp_states.h, from the specification. After each refusal everything that
 * can be queried must be as before, after each success as it was set.
 *
 * Other modes serve the host, which looks at the device's trace: "access"
 * gives and takes rights, "failing" runs on a device that refuses commands.
 */
#define _GNU_SOURCE
#include "lib/verbs_util.h"
#include "lib/qp_states.h"

#include <errno.h>
#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static struct vu_device dev;
static struct ibv_pd *pd;
static struct ibv_cq *cq;
static bool verbose;
static int failures;
static int passed;

static const enum ibv_qp_type types[] = { [T_RC] = IBV_QPT_RC, [T_UD] = IBV_QPT_UD };

static void row(bool ok, const char *what, int err, const char *want, const char *remark)
{
	if (ok)
		passed++;
	else
		failures++;
	if (!ok || verbose)
		printf("%-4s %-60s %-10s want %s%s%s\n", ok ? "ok" : "FAIL", what,
		       vu_errno_name(err), want, remark ? ", " : "", remark ? remark : "");
}

/* ---- attributes ---- */

/*
 * Valid values for all attributes; another set for each @round, so that a
 * change is seen. Self-connected: the destination is the own address.
 */
static struct ibv_qp_attr values(uint32_t qpn, unsigned int round)
{
	struct ibv_qp_attr a = {
		.path_mtu = round ? IBV_MTU_512 : dev.port.active_mtu,
		.path_mig_state = IBV_MIG_MIGRATED,
		.qkey = 0x11220000 + round,
		.rq_psn = 0x123450 + round,
		.sq_psn = 0x654320 + round,
		.dest_qp_num = qpn,
		.qp_access_flags = round ? IBV_ACCESS_REMOTE_READ :
				   IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE,
		.cap = { .max_send_wr = 8, .max_recv_wr = 8, .max_send_sge = 1,
			 .max_recv_sge = 1 },
		.pkey_index = 0,
		.en_sqd_async_notify = round & 1,
		.max_rd_atomic = 3 + round,
		.max_dest_rd_atomic = 5 + round,
		.min_rnr_timer = 12 + round,
		.port_num = dev.port_num,
		.timeout = 14 + round,
		.retry_cnt = 6 - round,
		.rnr_retry = 5 - round,
		.alt_port_num = dev.port_num,
	};
	struct ibv_ah_attr *av = &a.ah_attr;

	av->grh.dgid = dev.peer;
	av->grh.flow_label = 0x12340 + round;
	av->grh.sgid_index = (uint8_t)dev.gid_index;
	av->grh.hop_limit = 61;
	av->grh.traffic_class = (uint8_t)(0x28 + 0x20 * round);
	av->sl = 2;
	av->is_global = 1;
	av->port_num = dev.port_num;
	a.alt_ah_attr = *av;
	return a;
}

static struct ibv_qp_attr snapshot(struct ibv_qp *qp)
{
	struct ibv_qp_init_attr init;
	struct ibv_qp_attr attr;

	memset(&attr, 0, sizeof(attr));
	if (ibv_query_qp(qp, &attr, -1, &init))
		memset(&attr, 0xff, sizeof(attr));
	return attr;
}

/* ---- queue pairs ---- */

/** struct subject - a queue pair with what it was told */
struct subject {
	struct ibv_qp *qp;
	int type;
	struct vu_expect expect;
};

/* Modify, and note what a success has set. */
static int modify(struct subject *s, struct ibv_qp_attr *attr, uint32_t mask)
{
	int err = ibv_modify_qp(s->qp, attr, (int)mask);

	if (!err)
		vu_expect_merge(&s->expect, attr, (int)mask);
	return err;
}

static int go(struct subject *s, int to)
{
	struct ibv_qp_attr attr = values(s->qp->qp_num, 0);

	attr.qp_state = (enum ibv_qp_state)to;
	return modify(s, &attr, qp_arrival_mask(to, s->type));
}

static int create(struct subject *s, int type)
{
	struct ibv_qp_init_attr init = {
		.send_cq = cq, .recv_cq = cq, .qp_type = types[type],
		.cap = { .max_send_wr = 8, .max_recv_wr = 8, .max_send_sge = 1,
			 .max_recv_sge = 1 },
	};

	memset(s, 0, sizeof(*s));
	s->type = type;
	s->qp = ibv_create_qp(pd, &init);
	s->expect.cap = init.cap;
	s->expect.mask = IBV_QP_STATE;
	return s->qp ? 0 : errno;
}

/* A new queue pair in state @state; false after a message if it does not get there. */
static bool create_in(struct subject *s, int type, int state)
{
	int err = create(s, type);

	for (int to = Q_INIT; !err && to <= state && to <= Q_SQD; to++)
		err = go(s, to);
	if (!err && state == Q_ERR)
		err = go(s, Q_ERR);
	if (!err)
		return true;
	printf("FAIL %s queue pair to %s: %s\n", vu_type_name(types[type]),
	       vu_state_name(state), vu_errno_name(err));
	failures++;
	if (s->qp)
		ibv_destroy_qp(s->qp);
	s->qp = NULL;
	return false;
}

/* A new one in the same state if this one was changed. */
static bool renew(struct subject *s, int state)
{
	int type = s->type;

	if (s->qp)
		ibv_destroy_qp(s->qp);
	return create_in(s, type, state);
}

/* ---- refusals and successes ---- */

/* @want: an errno, or -1 for any. The queue pair must stay as it is. */
static void must_refuse(struct subject *s, struct ibv_qp_attr *attr, uint32_t mask, int want,
			const char *what)
{
	struct ibv_qp_attr before = snapshot(s->qp), after;
	int err = modify(s, attr, mask);
	const char *changed;

	after = snapshot(s->qp);
	changed = err ? vu_attr_difference(&before, &after) : NULL;
	row((want < 0 ? err != 0 : err == want) && !changed, what, err,
	    want < 0 ? "any error" : vu_errno_name(want), changed);
}

static void must_accept(struct subject *s, struct ibv_qp_attr *attr, uint32_t mask,
			const char *what)
{
	int err = modify(s, attr, mask);
	int wrong = err ? 0 : vu_expect_check(s->qp, &s->expect, what);

	row(!err && !wrong, what, err, "0", wrong ? "other values are queried" : NULL);
}

/* ---- the table ---- */

/** struct pair - two states, as the subtests of one pair need them */
struct pair {
	int type, from, to;
	struct subject s;
};

static const char *name_of(const struct pair *p, const char *how, uint32_t bit)
{
	static char text[96];

	snprintf(text, sizeof(text), "%s %s->%s %s%s", vu_type_name(types[p->type]),
		 vu_state_name(p->from), vu_state_name(p->to), how,
		 bit ? qp_attribute_name(bit) : "");
	return text;
}

static struct ibv_qp_attr attr_to(const struct pair *p, unsigned int round)
{
	struct ibv_qp_attr attr = values(p->s.qp->qp_num, round);

	attr.qp_state = (enum ibv_qp_state)p->to;
	attr.cur_qp_state = (enum ibv_qp_state)p->from;
	return attr;
}

static void illegal_pair(struct pair *p)
{
	struct ibv_qp_attr attr = attr_to(p, 1);

	must_refuse(&p->s, &attr, A_STATE, EINVAL, name_of(p, "alone", 0));
	must_refuse(&p->s, &attr, qp_arrival_mask(p->to, p->type), EINVAL,
		    name_of(p, "with what it needs", 0));
}

/* Foreign and missing attributes: all of them refused, so one queue pair serves for all. */
static void refused_masks(struct pair *p, const struct qp_transition *t)
{
	uint32_t required = t->required[p->type], optional = t->optional[p->type];
	struct ibv_qp_attr attr = attr_to(p, 1);

	for (uint32_t bit = A_CUR_STATE; bit < 1u << A_BITS; bit <<= 1) {
		if (required & bit)
			must_refuse(&p->s, &attr, A_STATE | (required & ~bit), EINVAL,
				    name_of(p, "without ", bit));
		else if (!(optional & bit))
			must_refuse(&p->s, &attr, A_STATE | required | bit, EINVAL,
				    name_of(p, "with ", bit));
	}
	/* ib_core lets no alternate path through on RoCE, and the device has none. */
	if (optional & A_ALT_PATH)
		must_refuse(&p->s, &attr, A_STATE | required | A_ALT_PATH, EINVAL,
			    name_of(p, "with ", A_ALT_PATH));
	attr.path_mig_state = IBV_MIG_REARM;
	if (optional & A_MIG_STATE)
		must_refuse(&p->s, &attr, A_STATE | required | A_MIG_STATE, EOPNOTSUPP,
			    name_of(p, "rearmed by ", A_MIG_STATE));
	for (int state = Q_RESET; optional & A_CUR_STATE && state < Q_STATES; state++) {
		attr.cur_qp_state = (enum ibv_qp_state)state;
		if (state != p->from)
			must_refuse(&p->s, &attr, A_STATE | required | A_CUR_STATE, EINVAL,
				    name_of(p, "with another ", A_CUR_STATE));
	}
}

static bool accepted_mask(struct pair *p, uint32_t mask, const char *what)
{
	struct ibv_qp_attr attr;

	/* What stays in its state can be done again. */
	if (p->s.expect.attr.qp_state != (enum ibv_qp_state)p->from && !renew(&p->s, p->from))
		return false;
	attr = attr_to(p, 1);
	must_accept(&p->s, &attr, mask, what);
	return true;
}

static void accepted_masks(struct pair *p, const struct qp_transition *t)
{
	uint32_t required = t->required[p->type];
	uint32_t optional = t->optional[p->type] & ~A_ALT_PATH;

	if (!accepted_mask(p, A_STATE | required, name_of(p, "alone", 0)))
		return;
	for (uint32_t bit = A_CUR_STATE; bit < 1u << A_BITS; bit <<= 1)
		if (optional & bit &&
		    !accepted_mask(p, A_STATE | required | bit, name_of(p, "with ", bit)))
			return;
	if (optional)
		accepted_mask(p, A_STATE | required | optional,
			      name_of(p, "with all that may be given", 0));
	if (p->from == p->to && optional)
		accepted_mask(p, optional & ~A_CUR_STATE, name_of(p, "without STATE", 0));
}

static void test_table(int type)
{
	for (int from = Q_RESET; from <= Q_ERR; from++) {
		struct pair p = { .type = type, .from = from };

		if (from == Q_SQE || !create_in(&p.s, type, from))
			continue;
		for (p.to = Q_RESET; p.to < Q_STATES; p.to++) {
			const struct qp_transition *t = qp_transition_of(from, p.to);

			if (p.s.expect.attr.qp_state != (enum ibv_qp_state)from &&
			    !renew(&p.s, from))
				return;
			if (!t) {
				illegal_pair(&p);
				continue;
			}
			refused_masks(&p, t);
			accepted_masks(&p, t);
			if (!p.s.qp)
				return;
		}
		ibv_destroy_qp(p.s.qp);
	}
}

/* ---- values ---- */

/** struct bad_value - one attribute made invalid */
struct bad_value {
	const char *what;
	uint32_t bit;
	int want;
	void (*spoil)(struct ibv_qp_attr *attr);
};

#define SPOIL(name, statement) \
	static void name(struct ibv_qp_attr *attr) { statement; }

SPOIL(bad_access, attr->qp_access_flags = 1 << 15)
SPOIL(bad_pkey, attr->pkey_index = dev.port.pkey_tbl_len)
SPOIL(bad_pkey_max, attr->pkey_index = 0xffff)
SPOIL(bad_port, attr->port_num = dev.attr.phys_port_cnt + 1)
SPOIL(bad_port_0, attr->port_num = 0)
SPOIL(bad_av_port, attr->ah_attr.port_num = 7)
SPOIL(bad_av_grh, attr->ah_attr.is_global = 0)
SPOIL(bad_av_sgid, attr->ah_attr.grh.sgid_index = (uint8_t)dev.port.gid_tbl_len)
SPOIL(bad_av_unused_sgid, attr->ah_attr.grh.sgid_index = (uint8_t)(dev.port.gid_tbl_len - 1))
SPOIL(bad_av_route, vu_gid_from_ip("203.0.113.1", &attr->ah_attr.grh.dgid))
SPOIL(bad_av_group, vu_gid_from_ip("224.1.2.3", &attr->ah_attr.grh.dgid))
SPOIL(bad_av_zero, memset(&attr->ah_attr.grh.dgid, 0, 16))
SPOIL(bad_mtu_0, attr->path_mtu = 0)
SPOIL(bad_mtu_6, attr->path_mtu = 6)
SPOIL(bad_mtu_port, attr->path_mtu = dev.port.active_mtu + 1)
SPOIL(bad_timeout, attr->timeout = 32)
SPOIL(bad_retry, attr->retry_cnt = 8)
SPOIL(bad_rnr_retry, attr->rnr_retry = 8)
SPOIL(bad_timer, attr->min_rnr_timer = 32)
SPOIL(bad_ird, attr->max_dest_rd_atomic = (uint8_t)(dev.attr.max_qp_rd_atom + 1))
SPOIL(bad_ird_max, attr->max_dest_rd_atomic = 255)
SPOIL(bad_dest, attr->dest_qp_num = 1 << 24)
SPOIL(bad_dest_max, attr->dest_qp_num = UINT32_MAX)

/* The limit of ORD is 255: a byte has none above it. */
static const struct bad_value bad_values[] = {
	{ "unknown right", A_ACCESS, EINVAL, bad_access },
	{ "P_Key index at the table's end", A_PKEY, EINVAL, bad_pkey },
	{ "P_Key index 0xffff", A_PKEY, EINVAL, bad_pkey_max },
	{ "port 0", A_PORT, EINVAL, bad_port_0 },
	{ "port 2", A_PORT, EINVAL, bad_port },
	{ "AV of port 7", A_AV, EINVAL, bad_av_port },
	{ "AV without GRH", A_AV, EINVAL, bad_av_grh },
	{ "AV with a source GID beyond the table", A_AV, -1, bad_av_sgid },
	{ "AV with a source GID that is empty", A_AV, -1, bad_av_unused_sgid },
	{ "AV without a route", A_AV, -1, bad_av_route },
	{ "AV to a multicast group", A_AV, EINVAL, bad_av_group },
	{ "AV to no address", A_AV, -1, bad_av_zero },
	{ "path MTU 0", A_PATH_MTU, EINVAL, bad_mtu_0 },
	{ "path MTU code 6", A_PATH_MTU, EINVAL, bad_mtu_6 },
	{ "path MTU above the port's", A_PATH_MTU, EINVAL, bad_mtu_port },
	{ "timeout of six bits", A_TIMEOUT, EINVAL, bad_timeout },
	{ "retry_cnt of four bits", A_RETRY, EINVAL, bad_retry },
	{ "rnr_retry of four bits", A_RNR_RETRY, EINVAL, bad_rnr_retry },
	{ "min_rnr_timer of six bits", A_RNR_TIMER, EINVAL, bad_timer },
	{ "IRD above the limit", A_IRD, EINVAL, bad_ird },
	{ "IRD 255", A_IRD, EINVAL, bad_ird_max },
	{ "destination of 25 bits", A_DEST_QP, EINVAL, bad_dest },
	{ "destination of 32 bits", A_DEST_QP, EINVAL, bad_dest_max },
};

/* In each transition that takes the attribute; then the right value must be taken. */
static void test_values(int type)
{
	for (size_t i = 0; i < ARRAY_SIZE(qp_transitions); i++) {
		const struct qp_transition *t = &qp_transitions[i];
		uint32_t known = t->required[type] | t->optional[type];
		struct pair p = { .type = type, .from = t->from, .to = t->to };
		struct ibv_qp_attr attr;

		if (!(known & ~(A_CUR_STATE | A_SQD_NOTIFY)) || !create_in(&p.s, type, t->from))
			continue;
		for (size_t b = 0; b < ARRAY_SIZE(bad_values); b++) {
			char how[64];

			if (!(known & bad_values[b].bit))
				continue;
			attr = attr_to(&p, 1);
			bad_values[b].spoil(&attr);
			snprintf(how, sizeof(how), "with %s", bad_values[b].what);
			must_refuse(&p.s, &attr, A_STATE | t->required[type] | bad_values[b].bit,
				    bad_values[b].want, name_of(&p, how, 0));
		}
		attr = attr_to(&p, 1);
		must_accept(&p.s, &attr, A_STATE | t->required[type],
			    name_of(&p, "after all these", 0));
		ibv_destroy_qp(p.s.qp);
	}
}

/* ---- rights ---- */

#define RIGHTS 16	/* combinations of the four that IBA has */

static uint32_t right_bits(unsigned int combination)
{
	return (combination & 1 ? IBV_ACCESS_LOCAL_WRITE : 0) |
	       (combination & 2 ? IBV_ACCESS_REMOTE_WRITE : 0) |
	       (combination & 4 ? IBV_ACCESS_REMOTE_READ : 0) |
	       (combination & 8 ? IBV_ACCESS_REMOTE_ATOMIC : 0);
}

/* From each combination to each other one, in each state that takes them. */
static void test_rights(void)
{
	static const int states[] = { Q_INIT, Q_RTS, Q_SQD };

	for (size_t i = 0; i < ARRAY_SIZE(states); i++) {
		struct pair p = { .type = T_RC, .from = states[i], .to = states[i] };

		if (!create_in(&p.s, T_RC, states[i]))
			return;
		for (unsigned int step = 0; step < 2 * RIGHTS * RIGHTS; step++) {
			struct ibv_qp_attr attr = attr_to(&p, 0);
			unsigned int pair = step / 2;

			attr.qp_access_flags = right_bits(step & 1 ? pair % RIGHTS :
							  pair / RIGHTS);
			must_accept(&p.s, &attr, A_STATE | A_ACCESS,
				    name_of(&p, "with other rights", 0));
		}
		ibv_destroy_qp(p.s.qp);
	}
}

/*
 * For the host, which compares the contexts in the trace: rights given and
 * taken one by one, by a queue pair that does READs and by one that does not.
 */
static int access_walk(void)
{
	static const unsigned int walk[] = {
		0, IBV_ACCESS_REMOTE_WRITE, IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_READ,
		IBV_ACCESS_REMOTE_READ, 0,
	};

	for (uint8_t ord = 0; ord < 2; ord++) {
		struct subject s;
		struct ibv_qp_attr attr;

		if (!create_in(&s, T_RC, Q_RTR))
			return 1;
		attr = values(s.qp->qp_num, 0);
		attr.qp_state = IBV_QPS_RTS;
		attr.max_rd_atomic = ord;
		if (modify(&s, &attr, qp_arrival_mask(Q_RTS, T_RC)))
			return 1;
		printf("ORD %u queue pair %u\n", ord, s.qp->qp_num);
		for (size_t i = 0; i < ARRAY_SIZE(walk); i++) {
			attr.qp_access_flags = walk[i];
			must_accept(&s, &attr, A_STATE | A_ACCESS, "rights, for the trace");
		}
		ibv_destroy_qp(s.qp);
	}
	return 0;
}

/* ---- used again ---- */

static int post_receive(struct subject *s)
{
	struct ibv_recv_wr wr = { .wr_id = 1 }, *bad;

	return ibv_post_recv(s->qp, &wr, &bad);
}

/*
 * By RESET a queue pair begins anew, from each state. One whose rings were used
 * does not: the provider library never rewinds them, so a device that starts at
 * their beginning again would take old requests for new ones.
 */
static void test_reuse(int type)
{
	static const int states[] = { Q_RESET, Q_INIT, Q_RTR, Q_RTS, Q_SQD, Q_ERR };

	for (size_t i = 0; i < ARRAY_SIZE(states); i++) {
		struct pair p = { .type = type, .from = Q_RESET, .to = Q_INIT };
		struct ibv_qp_attr attr;
		int err = 0;

		if (!create_in(&p.s, type, states[i]))
			return;
		for (int state = Q_RESET; state <= Q_RTS && !err; state++)
			err = go(&p.s, state);
		row(!err && !vu_expect_check(p.s.qp, &p.s.expect, "used again"),
		    name_of(&p, "once more", 0), err, "0", vu_state_name(states[i]));
		err = post_receive(&p.s) ?: go(&p.s, Q_RESET);
		row(!err, name_of(&p, "receive posted, then RESET", 0), err, "0", NULL);
		attr = attr_to(&p, 0);
		must_refuse(&p.s, &attr, qp_arrival_mask(Q_INIT, type), EOPNOTSUPP,
			    name_of(&p, "with used rings", 0));
		ibv_destroy_qp(p.s.qp);
	}
}

/* ---- a device that refuses ---- */

static int refused_by_device;

/* Whatever fails here is the device's doing, and must leave no trace in what can be queried. */
static int attempt(struct subject *s, struct ibv_qp_attr *attr, uint32_t mask, const char *what)
{
	struct ibv_qp_attr before = snapshot(s->qp), after;
	int err = modify(s, attr, mask);
	const char *changed;

	if (!err) {
		row(!vu_expect_check(s->qp, &s->expect, what), what, 0, "0", NULL);
		return 0;
	}
	refused_by_device++;
	after = snapshot(s->qp);
	changed = vu_attr_difference(&before, &after);
	row(!changed && err != EINVAL, what, err, "an error of the device", changed);
	return err;
}

/* Until it works, but not for ever. */
static void insist(struct subject *s, struct ibv_qp_attr *attr, uint32_t mask, const char *what)
{
	for (int i = 0; i < 4; i++)
		if (!attempt(s, attr, mask, what))
			return;
	row(false, what, EAGAIN, "success in the end", NULL);
}

/*
 * In SQD paths to other neighbours, with other priorities, labels and rights,
 * each asked for once: what is refused must not shine through later.
 */
static void new_paths(struct subject *s, uint32_t first_host, uint32_t count)
{
	struct ibv_qp_attr attr = values(s->qp->qp_num, 0);

	attr.qp_state = IBV_QPS_SQD;
	for (uint32_t i = 0; i < count; i++) {
		attr.ah_attr.grh.dgid.raw[15] = (uint8_t)(first_host + i);
		attr.ah_attr.grh.traffic_class = (uint8_t)(i % 2 ? 0x10 : 0x00);
		attr.ah_attr.grh.flow_label = 0x777 + i;
		attr.qp_access_flags = i % 2 ? IBV_ACCESS_REMOTE_READ : IBV_ACCESS_REMOTE_WRITE;
		attempt(s, &attr, A_STATE | A_AV | A_ACCESS, "RC SQD->SQD to another host");
	}
}

/*
 * All transitions that need the device, some of them more than once. Before it
 * is destroyed a queue pair is in ERR, from where no command is needed.
 */
static int failing_device(void)
{
	for (uint32_t round = 0; round < 3; round++) {
		static const int path[] = { Q_INIT, Q_RTR, Q_RTS, Q_SQD };
		struct subject s;
		struct ibv_qp_attr attr;

		if (create(&s, T_RC))
			return 1;
		for (size_t i = 0; i < ARRAY_SIZE(path); i++) {
			attr = values(s.qp->qp_num, 0);
			attr.qp_state = (enum ibv_qp_state)path[i];
			insist(&s, &attr, qp_arrival_mask(path[i], T_RC),
			       vu_state_name(path[i]));
		}
		new_paths(&s, 100 + 5 * round, 3 + round);
		attr.qp_state = IBV_QPS_RTS;
		insist(&s, &attr, A_STATE, "RC SQD->RTS");
		attr.qp_state = round == 1 ? IBV_QPS_RESET : IBV_QPS_ERR;
		insist(&s, &attr, A_STATE, "RC to its end");
		ibv_destroy_qp(s.qp);
	}
	printf("%d modifications refused by the device\n", refused_by_device);
	return refused_by_device ? 0 : 1;
}

/* ---- main ---- */

static int run(const char *mode)
{
	if (!strcmp(mode, "access"))
		return access_walk();
	if (!strcmp(mode, "failing"))
		return failing_device();
	for (int type = T_RC; type <= T_UD; type++) {
		test_table(type);
		test_values(type);
		test_reuse(type);
	}
	test_rights();
	return 0;
}

int main(int argc, char **argv)
{
	const char *name = NULL;
	int gid_index = -1;
	int opt, status;

	while ((opt = getopt(argc, argv, "d:g:v")) != -1) {
		if (opt == 'd')
			name = optarg;
		else if (opt == 'g')
			gid_index = atoi(optarg);
		else if (opt == 'v')
			verbose = true;
		else
			return 2;
	}
	if (vu_open(&dev, name, gid_index, NULL))
		return 2;
	pd = ibv_alloc_pd(dev.ctx);
	cq = pd ? ibv_create_cq(dev.ctx, 64, NULL, NULL, 0) : NULL;
	if (!cq) {
		perror("PD and CQ");
		return 2;
	}
	status = run(optind < argc ? argv[optind] : "table");
	ibv_destroy_cq(cq);
	ibv_dealloc_pd(pd);
	vu_close(&dev);
	printf("%d checks passed\n", passed);
	if (status || failures) {
		printf("modify-table: FAIL %d\n", failures);
		return 1;
	}
	printf("modify-table: PASS\n");
	return 0;
}
