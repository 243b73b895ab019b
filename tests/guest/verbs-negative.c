// SPDX-License-Identifier: GPL-2.0
/*
 * Asks for everything that a RoCE device must refuse, as far as libibverbs lets
 * it through, and checks the error number. A refused modification must leave
 * the queue pair as it was: every attribute is queried before and after. What
 * is right comes from the InfiniBand specification and ib_core, not from what
 * some driver does. Runs on any RoCE device.
 */
#define _GNU_SOURCE
#include "lib/profiles.h"

#include <errno.h>
#include <getopt.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#define MAX_ERRORS 5
#define ANY 10000	/* stands for each error number */

static struct vu_device dev;
static bool verbose;
static int failures;
static int passed;

/* The queue pair that all modifications start from: RC or UD, ready to go. */
static struct qp_plan plans[PROFILE_MAX_PLANS];
#define RC_PLAN (&plans[0])
#define UD_PLAN (&plans[1])

/* ---- table of results ---- */

/** struct errors - error numbers that are right, ended by -1; 0 is success */
struct errors {
	int of[MAX_ERRORS];
};

#define ERRORS(...) ((struct errors){ { __VA_ARGS__, -1 } })
#define REFUSED ERRORS(EINVAL)
#define ANY_ERROR ERRORS(ANY)
#define ALLOWED ERRORS(0)
#define UNSUPPORTED ERRORS(EOPNOTSUPP, ENOSYS, EINVAL)

static bool is_among(int err, const struct errors *want)
{
	for (int i = 0; i < MAX_ERRORS && want->of[i] >= 0; i++)
		if (err == want->of[i] || (err && want->of[i] == ANY))
			return true;
	return false;
}

/* One row: what was tried, what came of it, what was right. */
static void result(const char *what, int err, struct errors want,
		   const char *changed)
{
	bool ok = is_among(err, &want) && !changed;
	char list[64] = "";

	if (ok)
		passed++;
	else
		failures++;
	if (ok && !verbose)
		return;
	for (int i = 0; i < MAX_ERRORS && want.of[i] >= 0; i++) {
		strncat(list, i ? " " : "", sizeof(list) - strlen(list) - 1);
		strncat(list, want.of[i] == ANY ? "any error" :
			vu_errno_name(want.of[i]),
			sizeof(list) - strlen(list) - 1);
	}
	printf("%-4s %-58s %-12s want %s%s%s\n", ok ? "ok" : "FAIL", what,
	       vu_errno_name(err), list, changed ? ", changed " : "",
	       changed ? changed : "");
}

/* ---- queue pairs in a given state ---- */

static struct ibv_pd *pd;
static struct ibv_cq *cq;

static struct ibv_qp *create_qp(const struct qp_plan *plan)
{
	struct ibv_qp_init_attr init = {
		.send_cq = cq, .recv_cq = cq,
		.cap = plan->cap, .qp_type = plan->type,
	};

	return ibv_create_qp(pd, &init);
}

/* The modification that leads from the state before to @state. */
static struct qp_step step_to(const struct qp_plan *plan,
			      enum ibv_qp_state state, uint32_t qpn)
{
	struct qp_step step = { .attr.qp_state = state, .mask = IBV_QP_STATE };

	if (state >= IBV_QPS_INIT && state <= IBV_QPS_RTS)
		step = plan->steps[state - IBV_QPS_INIT];
	step.attr.dest_qp_num = qpn;
	return step;
}

/* A new queue pair brought to @state; NULL after a message if it fails. */
static struct ibv_qp *qp_in(const struct qp_plan *plan, enum ibv_qp_state state)
{
	/* ERR can be entered from INIT on, all others in their order. */
	enum ibv_qp_state last = state == IBV_QPS_ERR ? IBV_QPS_RTS : state;
	struct ibv_qp *qp = create_qp(plan);
	int err = qp ? 0 : errno;
	struct qp_step step;

	for (int s = IBV_QPS_INIT; !err && s <= (int)last; s++) {
		step = step_to(plan, s, qp->qp_num);
		err = ibv_modify_qp(qp, &step.attr, step.mask);
	}
	if (!err && state == IBV_QPS_ERR) {
		step = step_to(plan, IBV_QPS_ERR, 0);
		err = ibv_modify_qp(qp, &step.attr, step.mask);
	}
	if (!err)
		return qp;
	printf("FAIL %s queue pair to %s: %s\n", vu_type_name(plan->type),
	       vu_state_name(state), vu_errno_name(err));
	failures++;
	if (qp)
		ibv_destroy_qp(qp);
	return NULL;
}

/* ---- nothing may change when a modification is refused ---- */

static struct ibv_qp_attr snapshot(struct ibv_qp *qp)
{
	struct ibv_qp_init_attr init;
	struct ibv_qp_attr attr;

	memset(&attr, 0, sizeof(attr));
	ibv_query_qp(qp, &attr, -1, &init);
	return attr;
}

/* Try a modification; if it was refused, nothing may have changed. */
static int try_modify(const char *what, struct ibv_qp *qp,
		      struct qp_step step, struct errors want)
{
	struct ibv_qp_attr before = snapshot(qp), after;
	int err = ibv_modify_qp(qp, &step.attr, step.mask);

	after = snapshot(qp);
	result(what, err, want, err ? vu_attr_difference(&before, &after) : NULL);
	return err;
}

/* ---- transitions ---- */

/*
 * The states that the specification lets follow each other, as ib_core's
 * qp_state_table has them. SQE is entered by hardware only.
 */
static bool transition_is_legal(enum ibv_qp_state from, enum ibv_qp_state to)
{
	static const uint8_t next[] = {
		[IBV_QPS_RESET] = 1 << IBV_QPS_RESET | 1 << IBV_QPS_INIT,
		[IBV_QPS_INIT] = 1 << IBV_QPS_RESET | 1 << IBV_QPS_ERR |
				 1 << IBV_QPS_INIT | 1 << IBV_QPS_RTR,
		[IBV_QPS_RTR] = 1 << IBV_QPS_RESET | 1 << IBV_QPS_ERR |
				1 << IBV_QPS_RTS,
		[IBV_QPS_RTS] = 1 << IBV_QPS_RESET | 1 << IBV_QPS_ERR |
				1 << IBV_QPS_RTS | 1 << IBV_QPS_SQD,
		[IBV_QPS_SQD] = 1 << IBV_QPS_RESET | 1 << IBV_QPS_ERR |
				1 << IBV_QPS_RTS | 1 << IBV_QPS_SQD,
		[IBV_QPS_ERR] = 1 << IBV_QPS_RESET | 1 << IBV_QPS_ERR,
	};

	return next[from] >> to & 1;
}

/*
 * Every pair of states. An illegal one is asked for with the attributes that
 * its target would need, so that only the transition itself can be at fault; a
 * legal one that stays in its state, or leaves SQD, needs the state alone.
 */
static void test_transitions(const struct qp_plan *plan)
{
	static const enum ibv_qp_state reachable[] = {
		IBV_QPS_RESET, IBV_QPS_INIT, IBV_QPS_RTR, IBV_QPS_RTS,
		IBV_QPS_SQD, IBV_QPS_ERR,
	};

	for (size_t f = 0; f < ARRAY_SIZE(reachable); f++) {
		enum ibv_qp_state from = reachable[f];

		for (int to = IBV_QPS_RESET; to <= IBV_QPS_ERR; to++) {
			bool legal = transition_is_legal(from, to);
			struct ibv_qp *qp = qp_in(plan, from);
			struct qp_step step;
			char what[64];

			if (!qp)
				break;
			step = step_to(plan, to, qp->qp_num);
			if (legal && (to == (int)from || from == IBV_QPS_SQD))
				step.mask = IBV_QP_STATE;
			snprintf(what, sizeof(what), "%s %s->%s",
				 vu_type_name(plan->type), vu_state_name(from),
				 vu_state_name(to));
			try_modify(what, qp, step, legal ? ALLOWED : REFUSED);
			ibv_destroy_qp(qp);
		}
	}
}

static void test_bad_states(void)
{
	static const int states[] = { IBV_QPS_ERR + 1, 100, 255 };
	struct ibv_qp *qp = qp_in(RC_PLAN, IBV_QPS_INIT);

	for (size_t i = 0; qp && i < ARRAY_SIZE(states); i++) {
		struct qp_step step = { .mask = IBV_QP_STATE };
		char what[64];

		step.attr.qp_state = (enum ibv_qp_state)states[i];
		snprintf(what, sizeof(what), "RC INIT->state %d", states[i]);
		try_modify(what, qp, step, REFUSED);
	}
	if (qp)
		ibv_destroy_qp(qp);
}

/* ---- masks ---- */

static const struct {
	int bit;
	const char *name;
} mask_names[] = {
	{ IBV_QP_CUR_STATE, "CUR_STATE" },
	{ IBV_QP_ACCESS_FLAGS, "ACCESS_FLAGS" },
	{ IBV_QP_PKEY_INDEX, "PKEY_INDEX" }, { IBV_QP_PORT, "PORT" },
	{ IBV_QP_QKEY, "QKEY" }, { IBV_QP_AV, "AV" },
	{ IBV_QP_PATH_MTU, "PATH_MTU" }, { IBV_QP_TIMEOUT, "TIMEOUT" },
	{ IBV_QP_RETRY_CNT, "RETRY_CNT" }, { IBV_QP_RNR_RETRY, "RNR_RETRY" },
	{ IBV_QP_RQ_PSN, "RQ_PSN" },
	{ IBV_QP_MAX_QP_RD_ATOMIC, "MAX_QP_RD_ATOMIC" },
	{ IBV_QP_ALT_PATH, "ALT_PATH" },
	{ IBV_QP_MIN_RNR_TIMER, "MIN_RNR_TIMER" }, { IBV_QP_SQ_PSN, "SQ_PSN" },
	{ IBV_QP_MAX_DEST_RD_ATOMIC, "MAX_DEST_RD_ATOMIC" },
	{ IBV_QP_PATH_MIG_STATE, "PATH_MIG_STATE" },
	{ IBV_QP_CAP, "CAP" }, { IBV_QP_DEST_QPN, "DEST_QPN" },
};

/* Attributes that may be given to a transition without being required. */
static int optional_attrs(enum ibv_qp_type type, enum ibv_qp_state to)
{
	bool rc = type == IBV_QPT_RC;

	switch (to) {
	case IBV_QPS_RTR:
		return rc ? IBV_QP_ALT_PATH | IBV_QP_ACCESS_FLAGS |
			    IBV_QP_PKEY_INDEX :
			    IBV_QP_PKEY_INDEX | IBV_QP_QKEY;
	case IBV_QPS_RTS:
		return rc ? IBV_QP_CUR_STATE | IBV_QP_ALT_PATH |
			    IBV_QP_ACCESS_FLAGS | IBV_QP_MIN_RNR_TIMER |
			    IBV_QP_PATH_MIG_STATE :
			    IBV_QP_CUR_STATE | IBV_QP_QKEY;
	default:
		return 0;
	}
}

/* All attributes valid, so that only the mask can be at fault. */
static struct ibv_qp_attr whole_attr(const struct qp_plan *plan, uint32_t qpn)
{
	struct ibv_qp_attr attr = RC_PLAN->steps[1].attr;
	const struct ibv_qp_attr *rts = &RC_PLAN->steps[2].attr;

	attr.dest_qp_num = qpn;
	attr.port_num = dev.port_num;
	attr.qp_access_flags = RC_PLAN->steps[0].attr.qp_access_flags;
	attr.qkey = UD_PLAN->steps[0].attr.qkey;
	attr.sq_psn = rts->sq_psn;
	attr.timeout = rts->timeout;
	attr.retry_cnt = rts->retry_cnt;
	attr.rnr_retry = rts->rnr_retry;
	attr.max_rd_atomic = rts->max_rd_atomic;
	attr.path_mig_state = IBV_MIG_MIGRATED;
	attr.cap = plan->cap;
	attr.alt_ah_attr = attr.ah_attr;
	attr.alt_port_num = dev.port_num;
	return attr;
}

/*
 * Alternate paths are refused on RoCE even where the table of transitions has
 * them (ib_core), resizing a queue pair is in nobody's table.
 */
static void test_masks(const struct qp_plan *plan)
{
	for (int to = IBV_QPS_INIT; to <= IBV_QPS_RTS; to++) {
		for (size_t i = 0; i < ARRAY_SIZE(mask_names); i++) {
			int bit = mask_names[i].bit;
			struct ibv_qp *qp = qp_in(plan, to - 1);
			struct qp_step step;
			bool needed;
			char what[64];

			if (!qp)
				return;
			step = step_to(plan, to, qp->qp_num);
			needed = step.mask & bit;
			step.attr = whole_attr(plan, qp->qp_num);
			step.attr.qp_state = to;
			step.attr.cur_qp_state = to - 1;
			step.mask ^= bit;
			snprintf(what, sizeof(what), "%s ->%s %s %s",
				 vu_type_name(plan->type), vu_state_name(to),
				 needed ? "without" : "with",
				 mask_names[i].name);
			if (needed || bit == IBV_QP_ALT_PATH ||
			    !(optional_attrs(plan->type, to) & bit))
				try_modify(what, qp, step, REFUSED);
			ibv_destroy_qp(qp);
		}
	}
}

/* ---- values ---- */

/** struct bad_value - a change of one attribute that makes it invalid */
struct bad_value {
	const char *what;
	enum ibv_qp_state to;
	bool (*spoil)(struct ibv_qp_attr *attr);	/* false: cannot be */
	struct errors want;
};

#define SPOIL_IF(name, possible, statement)			\
	static bool name(struct ibv_qp_attr *attr)		\
	{							\
		statement;					\
		return possible;				\
	}
#define SPOIL(name, statement) SPOIL_IF(name, true, statement)

/* A limit of 255 leaves no value above it in a byte. */
#define IRD_LIMIT (dev.attr.max_qp_rd_atom)
#define ORD_LIMIT (dev.attr.max_qp_init_rd_atom)

SPOIL(port_zero, attr->port_num = 0)
SPOIL(port_above, attr->port_num = dev.attr.phys_port_cnt + 1)
SPOIL(port_255, attr->port_num = 255)
SPOIL(pkey_above, attr->pkey_index = dev.port.pkey_tbl_len)
SPOIL(pkey_ffff, attr->pkey_index = 0xffff)
SPOIL(access_unknown, attr->qp_access_flags |= 1U << 15)
SPOIL(av_port_zero, attr->ah_attr.port_num = 0)
SPOIL(av_port_above, attr->ah_attr.port_num = dev.attr.phys_port_cnt + 1)
SPOIL(av_no_grh, attr->ah_attr.is_global = 0)
SPOIL(av_sgid_255, attr->ah_attr.grh.sgid_index = 255)
SPOIL(av_no_route, vu_gid_from_ip("203.0.113.1", &attr->ah_attr.grh.dgid))
SPOIL(mtu_zero, attr->path_mtu = 0)
SPOIL(mtu_unknown, attr->path_mtu = 6)
SPOIL(mtu_255, attr->path_mtu = 255)
SPOIL(mtu_above, attr->path_mtu = dev.port.active_mtu + 1)
SPOIL_IF(ird_above, IRD_LIMIT < 255, attr->max_dest_rd_atomic = IRD_LIMIT + 1)
SPOIL_IF(ird_255, IRD_LIMIT < 255, attr->max_dest_rd_atomic = 255)
SPOIL_IF(ord_above, ORD_LIMIT < 255, attr->max_rd_atomic = ORD_LIMIT + 1)
SPOIL_IF(ord_255, ORD_LIMIT < 255, attr->max_rd_atomic = 255)
SPOIL(rnr_timer_above, attr->min_rnr_timer = 32)
SPOIL(timeout_above, attr->timeout = 32)
SPOIL(retry_above, attr->retry_cnt = 8)
SPOIL(rnr_retry_above, attr->rnr_retry = 8)

static const struct bad_value bad_values[] = {
	{ "RC INIT port 0", IBV_QPS_INIT, port_zero, REFUSED },
	{ "RC INIT port above the last", IBV_QPS_INIT, port_above, REFUSED },
	{ "RC INIT port 255", IBV_QPS_INIT, port_255, REFUSED },
	{ "RC INIT P_Key index at the table's end", IBV_QPS_INIT, pkey_above,
	  REFUSED },
	{ "RC INIT P_Key index 0xffff", IBV_QPS_INIT, pkey_ffff, REFUSED },
	{ "RC INIT unknown access flag", IBV_QPS_INIT, access_unknown,
	  REFUSED },
	{ "RC RTR AV port 0", IBV_QPS_RTR, av_port_zero, REFUSED },
	{ "RC RTR AV port above the last", IBV_QPS_RTR, av_port_above,
	  REFUSED },
	{ "RC RTR AV without GRH", IBV_QPS_RTR, av_no_grh, REFUSED },
	{ "RC RTR AV source GID index 255", IBV_QPS_RTR, av_sgid_255,
	  ERRORS(EINVAL, ENODATA) },
	{ "RC RTR AV destination without a route", IBV_QPS_RTR, av_no_route,
	  ERRORS(ENETUNREACH, EHOSTUNREACH, ETIMEDOUT) },
	{ "RC RTR path MTU 0", IBV_QPS_RTR, mtu_zero, REFUSED },
	{ "RC RTR path MTU code 6", IBV_QPS_RTR, mtu_unknown, REFUSED },
	{ "RC RTR path MTU code 255", IBV_QPS_RTR, mtu_255, REFUSED },
	{ "RC RTR path MTU above the port's", IBV_QPS_RTR, mtu_above, REFUSED },
	{ "RC RTR max_dest_rd_atomic above the limit", IBV_QPS_RTR, ird_above,
	  REFUSED },
	{ "RC RTR max_dest_rd_atomic 255", IBV_QPS_RTR, ird_255, REFUSED },
	{ "RC RTR min_rnr_timer of 6 bits", IBV_QPS_RTR, rnr_timer_above,
	  REFUSED },
	{ "RC RTS max_rd_atomic above the limit", IBV_QPS_RTS, ord_above,
	  REFUSED },
	{ "RC RTS max_rd_atomic 255", IBV_QPS_RTS, ord_255, REFUSED },
	{ "RC RTS timeout of 6 bits", IBV_QPS_RTS, timeout_above, REFUSED },
	{ "RC RTS retry_cnt of 4 bits", IBV_QPS_RTS, retry_above, REFUSED },
	{ "RC RTS rnr_retry of 4 bits", IBV_QPS_RTS, rnr_retry_above, REFUSED },
};

/*
 * Each bad value, and after it the good one on the same queue pair: a refusal
 * must not stand in the way of a correct try.
 */
static void test_values(void)
{
	for (size_t i = 0; i < ARRAY_SIZE(bad_values); i++) {
		const struct bad_value *bad = &bad_values[i];
		struct ibv_qp *qp = qp_in(RC_PLAN, bad->to - 1);
		struct qp_step step;
		char what[80];

		if (!qp)
			return;
		step = step_to(RC_PLAN, bad->to, qp->qp_num);
		if (bad->spoil(&step.attr) &&
		    try_modify(bad->what, qp, step, bad->want)) {
			snprintf(what, sizeof(what), "%s, then right",
				 bad->what);
			step = step_to(RC_PLAN, bad->to, qp->qp_num);
			try_modify(what, qp, step, ALLOWED);
		}
		ibv_destroy_qp(qp);
	}
}

/* ---- creation ---- */

static bool granted(const struct ibv_qp_cap *got, const struct ibv_qp_cap *want)
{
	return got->max_send_wr >= want->max_send_wr &&
	       got->max_recv_wr >= want->max_recv_wr &&
	       got->max_send_sge >= want->max_send_sge &&
	       got->max_recv_sge >= want->max_recv_sge &&
	       got->max_inline_data >= want->max_inline_data;
}

/*
 * Try to create a queue pair beyond the limits. A device may have more than it
 * tells (UCX asks for 4096 receives where an E810 tells of 4063), but whatever
 * it accepts, it has to grant in full.
 */
static void try_create_qp(const char *what, enum ibv_qp_type type,
			  struct ibv_qp_cap cap, struct errors want)
{
	struct ibv_qp_init_attr init = {
		.send_cq = cq, .recv_cq = cq, .cap = cap, .qp_type = type,
	};
	struct ibv_qp *qp = ibv_create_qp(pd, &init);
	int err = qp ? 0 : errno;

	result(what, err, qp && granted(&init.cap, &cap) ? ALLOWED : want,
	       NULL);
	if (qp)
		ibv_destroy_qp(qp);
}

/*
 * Far above any limit, but not so far that libirdma, which adds to it and
 * multiplies before it looks, would wrap around and ask for a few.
 */
#define FAR_ABOVE (1U << 24)

/* Each capability just above the device's limit, and far above it. */
static void test_create_qp(void)
{
	static const enum ibv_qp_type types[] = { IBV_QPT_RC, IBV_QPT_UD };
	const struct {
		const char *name;
		size_t offset;
		uint32_t above;
	} caps[] = {
		{ "max_send_wr", offsetof(struct ibv_qp_cap, max_send_wr),
		  (uint32_t)dev.attr.max_qp_wr + 1 },
		{ "max_recv_wr", offsetof(struct ibv_qp_cap, max_recv_wr),
		  (uint32_t)dev.attr.max_qp_wr + 1 },
		{ "max_send_sge", offsetof(struct ibv_qp_cap, max_send_sge),
		  (uint32_t)dev.attr.max_sge + 1 },
		{ "max_recv_sge", offsetof(struct ibv_qp_cap, max_recv_sge),
		  (uint32_t)dev.attr.max_sge + 1 },
		/* No attribute tells this limit. */
		{ "max_inline_data",
		  offsetof(struct ibv_qp_cap, max_inline_data), 65535 },
	};

	for (size_t t = 0; t < ARRAY_SIZE(types); t++) {
		for (size_t i = 0; i < 2 * ARRAY_SIZE(caps); i++) {
			size_t c = i / 2;
			uint32_t value = i % 2 ? FAR_ABOVE : caps[c].above;
			struct ibv_qp_cap cap = RC_PLAN->cap;
			char what[64];

			memcpy((char *)&cap + caps[c].offset, &value,
			       sizeof(value));
			snprintf(what, sizeof(what), "create %s, %s %u",
				 vu_type_name(types[t]), caps[c].name, value);
			try_create_qp(what, types[t], cap, REFUSED);
		}
	}
	try_create_qp("create QP of unknown type 99", (enum ibv_qp_type)99,
		      RC_PLAN->cap, UNSUPPORTED);
}

static void try_create_cq(const char *what, int cqe, int vector)
{
	struct ibv_cq *new_cq = ibv_create_cq(dev.ctx, cqe, NULL, NULL, vector);

	result(what, new_cq ? 0 : errno, REFUSED, NULL);
	if (new_cq)
		ibv_destroy_cq(new_cq);
}

static void test_create_cq(void)
{
	try_create_cq("create CQ of 0", 0, 0);
	try_create_cq("create CQ of -1", -1, 0);
	try_create_cq("create CQ above the limit", dev.attr.max_cqe + 1, 0);
	try_create_cq("create CQ of 2^31 - 1", INT32_MAX, 0);
	try_create_cq("create CQ, vector above the last", 16,
		      dev.ctx->num_comp_vectors);
	try_create_cq("create CQ, vector -1", 16, -1);
	/* A library may make the least possible size of it. */
	result("resize CQ to 0", ibv_resize_cq(cq, 0), ERRORS(EINVAL, 0), NULL);
	result("resize CQ above the limit",
	       ibv_resize_cq(cq, dev.attr.max_cqe + 1), REFUSED, NULL);
}

static void test_create_srq(void)
{
	struct ibv_srq_init_attr init = { .attr = { .max_wr = 16,
						    .max_sge = 1 } };
	struct ibv_srq *srq;

	if (dev.attr.max_srq)
		return;
	srq = ibv_create_srq(pd, &init);
	result("create SRQ on a device without", srq ? 0 : errno, UNSUPPORTED,
	       NULL);
	if (srq)
		ibv_destroy_srq(srq);
}

/* ---- memory regions ---- */

static void try_reg_mr(const char *what, void *addr, size_t length,
		       int access, struct errors want)
{
	struct ibv_mr *mr = ibv_reg_mr(pd, addr, length, access);

	result(what, mr ? 0 : errno, want, NULL);
	if (mr)
		ibv_dereg_mr(mr);
}

/*
 * A region of no length must never reach the device: length 0 is how the
 * E810 is told that a region spans all memory.
 */
static void test_reg_mr(void)
{
	const int rw = IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE;
	const size_t size = 16 * 4096;
	char *area = mmap(NULL, size, PROT_READ | PROT_WRITE,
			  MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	char *last = (char *)(UINTPTR_MAX & ~(uintptr_t)4095);

	if (area == MAP_FAILED) {
		perror("mmap");
		failures++;
		return;
	}
	munmap(area + 8 * 4096, 4 * 4096);
	mprotect(area + 4 * 4096, 4096, PROT_READ);
	mprotect(area + 6 * 4096, 4096, PROT_NONE);

	try_reg_mr("MR of 0 bytes, page aligned", area, 0, rw, REFUSED);
	try_reg_mr("MR of 0 bytes, unaligned", area + 100, 0, rw, REFUSED);
	try_reg_mr("MR of unmapped memory", area + 8 * 4096, 4096, rw,
		   ERRORS(EFAULT));
	try_reg_mr("MR whose end is unmapped", area + 7 * 4096, 2 * 4096, rw,
		   ERRORS(EFAULT));
	try_reg_mr("MR of address 0", NULL, 4096, rw, ERRORS(EFAULT));
	try_reg_mr("MR of inaccessible memory", area + 6 * 4096, 4096, rw,
		   ERRORS(EFAULT));
	try_reg_mr("MR of read-only memory to write", area + 4 * 4096, 4096,
		   rw, ERRORS(EFAULT));
	try_reg_mr("MR that wraps around", last, 8192, rw,
		   ERRORS(EINVAL, EFAULT));
	try_reg_mr("MR of 2^64 - 1 bytes", area, SIZE_MAX, rw,
		   ERRORS(EINVAL, EFAULT, ENOMEM));
	try_reg_mr("MR above the device's size limit", area,
		   dev.attr.max_mr_size + 1, rw,
		   ERRORS(EINVAL, EFAULT, ENOMEM));
	try_reg_mr("MR of kernel addresses", (void *)(UINTPTR_MAX << 47), 4096,
		   rw, ERRORS(EFAULT));
	try_reg_mr("MR remote write without local write", area, 4096,
		   IBV_ACCESS_REMOTE_WRITE, REFUSED);
	try_reg_mr("MR remote atomic without local write", area, 4096,
		   IBV_ACCESS_REMOTE_ATOMIC, REFUSED);
	try_reg_mr("MR unknown access flag 1 << 12", area, 4096,
		   IBV_ACCESS_LOCAL_WRITE | 1 << 12, REFUSED);
	try_reg_mr("MR unknown access flag 1 << 30", area, 4096,
		   IBV_ACCESS_LOCAL_WRITE | 1 << 30, REFUSED);
	try_reg_mr("MR on demand", area, 4096,
		   IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_ON_DEMAND, UNSUPPORTED);
	munmap(area, size);
}

/* ---- address handles and multicast ---- */

static void try_create_ah(const char *what, struct ibv_ah_attr attr,
			  struct errors want)
{
	struct ibv_ah *ah = ibv_create_ah(pd, &attr);

	result(what, ah ? 0 : errno, want, NULL);
	if (ah)
		ibv_destroy_ah(ah);
}

/* libirdma looks the source GID up itself; its error number says nothing. */
static void test_create_ah(void)
{
	struct ibv_ah_attr good = RC_PLAN->steps[1].attr.ah_attr, bad;

	try_create_ah("create AH, all right", good, ALLOWED);
	bad = good;
	bad.port_num = 0;
	try_create_ah("create AH, port 0", bad, ANY_ERROR);
	bad.port_num = dev.attr.phys_port_cnt + 1;
	try_create_ah("create AH, port above the last", bad, ANY_ERROR);
	bad = good;
	bad.is_global = 0;
	try_create_ah("create AH without GRH", bad, ANY_ERROR);
	bad = good;
	bad.grh.sgid_index = 255;
	try_create_ah("create AH, source GID index 255", bad, ANY_ERROR);
}

static void test_multicast(void)
{
	struct ibv_qp *ud = qp_in(UD_PLAN, IBV_QPS_RTS);
	struct ibv_qp *rc = qp_in(RC_PLAN, IBV_QPS_RTS);
	union ibv_gid group;

	vu_gid_from_ip("239.1.2.3", &group);
	if (ud)
		result("attach a unicast GID", ibv_attach_mcast(ud, &dev.gid, 0),
		       REFUSED, NULL);
	if (rc)
		result("attach an RC QP", ibv_attach_mcast(rc, &group, 0),
		       REFUSED, NULL);
	if (ud)
		ibv_destroy_qp(ud);
	if (rc)
		ibv_destroy_qp(rc);
}

static void test_query(void)
{
	struct ibv_port_attr attr;

	result("query port 0", ibv_query_port(dev.ctx, 0, &attr), REFUSED,
	       NULL);
	result("query port above the last",
	       ibv_query_port(dev.ctx, dev.attr.phys_port_cnt + 1, &attr),
	       REFUSED, NULL);
}

/* ---- destruction ---- */

/*
 * What is in use cannot be destroyed, and stays usable. The objects here are
 * the test's own, so that a driver that lets go too early harms no other test.
 */
static void test_busy(void)
{
	struct ibv_pd *own_pd = ibv_alloc_pd(dev.ctx);
	struct ibv_comp_channel *channel = ibv_create_comp_channel(dev.ctx);
	struct ibv_cq *own_cq = ibv_create_cq(dev.ctx, 16, NULL, channel, 0);
	struct ibv_qp_init_attr init = {
		.send_cq = own_cq, .recv_cq = own_cq,
		.cap = RC_PLAN->cap, .qp_type = IBV_QPT_RC,
	};
	struct ibv_qp *qp = own_pd && own_cq ? ibv_create_qp(own_pd, &init) :
					       NULL;
	struct qp_step step;
	struct ibv_mr *mr;
	static char page[4096];

	if (!qp) {
		result("objects for the busy test", errno, ALLOWED, NULL);
		return;
	}
	result("dealloc PD with a QP", ibv_dealloc_pd(own_pd), ERRORS(EBUSY),
	       NULL);
	result("destroy CQ with a QP", ibv_destroy_cq(own_cq), ERRORS(EBUSY),
	       NULL);
	result("destroy channel with a CQ", ibv_destroy_comp_channel(channel),
	       ERRORS(EBUSY), NULL);
	step = step_to(RC_PLAN, IBV_QPS_INIT, qp->qp_num);
	try_modify("RC INIT after refused destruction", qp, step, ALLOWED);
	result("arm CQ after refused destruction",
	       ibv_req_notify_cq(own_cq, 0), ALLOWED, NULL);
	result("destroy QP", ibv_destroy_qp(qp), ALLOWED, NULL);

	mr = ibv_reg_mr(own_pd, page, sizeof(page), IBV_ACCESS_LOCAL_WRITE);
	result("MR in the same PD", mr ? 0 : errno, ALLOWED, NULL);
	result("dealloc PD with an MR", ibv_dealloc_pd(own_pd), ERRORS(EBUSY),
	       NULL);
	result("dereg MR", mr ? ibv_dereg_mr(mr) : EINVAL, ALLOWED, NULL);
	result("destroy CQ", ibv_destroy_cq(own_cq), ALLOWED, NULL);
	result("destroy channel", ibv_destroy_comp_channel(channel), ALLOWED,
	       NULL);
	result("dealloc PD", ibv_dealloc_pd(own_pd), ALLOWED, NULL);
}

/* ---- */

static int run(void)
{
	pd = ibv_alloc_pd(dev.ctx);
	cq = ibv_create_cq(dev.ctx, 256, NULL, NULL, 0);
	if (!pd || !cq) {
		perror("allocating a PD and a CQ");
		return -1;
	}
	test_transitions(RC_PLAN);
	test_transitions(UD_PLAN);
	test_bad_states();
	test_masks(RC_PLAN);
	test_masks(UD_PLAN);
	test_values();
	test_create_qp();
	test_create_cq();
	test_create_srq();
	test_reg_mr();
	test_create_ah();
	test_multicast();
	test_query();
	test_busy();
	result("dealloc the first PD last", ibv_destroy_cq(cq) ? errno :
	       ibv_dealloc_pd(pd), ALLOWED, NULL);
	return 0;
}

int main(int argc, char **argv)
{
	static const char usage[] =
		"usage: verbs-negative [-d DEVICE] [-g GID_INDEX] [-p PEER_IP] [-v]\n"
		"  -v  print also the rows that are right\n";
	const char *device = NULL, *peer = NULL;
	int gid_index = -1;
	int c;

	setvbuf(stdout, NULL, _IOLBF, 0);
	while ((c = getopt(argc, argv, "d:g:p:vh")) >= 0) {
		switch (c) {
		case 'd':
			device = optarg;
			break;
		case 'g':
			gid_index = atoi(optarg);
			break;
		case 'p':
			peer = optarg;
			break;
		case 'v':
			verbose = true;
			break;
		default:
			fputs(usage, c == 'h' ? stdout : stderr);
			return c == 'h' ? 0 : 2;
		}
	}
	if (vu_open(&dev, device, gid_index, peer))
		return 2;
	if (profile_plans("generic", &dev, plans) < 0 || run())
		return 2;
	vu_close(&dev);
	printf("%d refusals and permissions right\n", passed);
	if (failures)
		printf("verbs-negative: FAIL %d\n", failures);
	else
		printf("verbs-negative: PASS\n");
	return failures ? 1 : 0;
}
