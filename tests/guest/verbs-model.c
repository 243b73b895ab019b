// SPDX-License-Identifier: GPL-2.0
/*
 * Random but legal sequences of verbs, from a seed, with a model of what must be
 * beside them: which object is in use by which other, in which state each queue
 * pair is and with which attributes, which completions are due and in which order,
 * and what the memory holds. Every answer of the verbs is compared with the model.
 * Sequences of one seed are the same on each driver. Runs on any RoCE device.
 *
 * Each step waits until all that it must bring about has come, so the model need
 * not know of time. A connected pair is of two queue pairs of this process.
 */
#define _GNU_SOURCE
#include "lib/raw_mr.h"
#include "lib/verbs_util.h"
#include "lib/qp_states.h"

#include <errno.h>
#include <fcntl.h>
#include <getopt.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#define PDS 2
#define CQS 4
#define MRS 16
#define MWS 3
#define AHS 3
#define QPS 8
#define DEPTH 16		/* requests of each queue */
#define CQ_ENTRIES (2 * DEPTH * QPS)
#define WANTS (2 * DEPTH * QPS)
#define BURST 4
#define TRIES 16		/* to find an object that will do */
#define AREA (1UL << 20)	/* the lower half is read from, the upper one written to */
#define MOST 9000UL		/* bytes of a message: several packets */
#define WAIT_SECONDS 60
#define IS_RECEIVE (1ull << 63)	/* in wr_id: a completion in error has no opcode */
#define REMOTE (IBV_ACCESS_REMOTE_READ | IBV_ACCESS_REMOTE_WRITE)

struct pd {
	struct ibv_pd *ibv;
	int users;
};

struct cq {
	struct ibv_cq *ibv;
	int users;
};

struct mr {
	struct ibv_mr *ibv;
	struct pd *pd;
	char *addr;
	size_t length;
	int access;
	int receives;		/* posted, that will write here */
};

struct mw {
	struct ibv_mw *ibv;
	struct pd *pd;
};

struct ah {
	struct ibv_ah *ibv;
	struct pd *pd;
};

/* Receives in the order in which they were posted. */
struct receive {
	uint64_t id;
	struct mr *mr;
	char *addr;
	uint32_t length;
};

struct qp {
	struct ibv_qp *ibv;
	struct pd *pd;
	struct cq *send_cq, *recv_cq;
	struct vu_expect told;
	struct qp *peer;	/* the other of a pair in RTS */
	bool is_ud, posted;
	struct receive receives[DEPTH];
	int waiting;		/* of them */
};

/* A completion that is due. Those of one queue come in the order of the list. */
struct want {
	uint32_t qp;
	uint64_t id;
	int status;
	uint32_t length;
};

static struct vu_device dev;
static struct pd pds[PDS];
static struct cq cqs[CQS];
static struct mr mrs[MRS];
static struct mw mws[MWS];
static struct ah ahs[AHS];
static struct qp qps[QPS];
static struct want wants[WANTS];
static int wanted;
static char *area, *shadow;
static uint64_t seed = 1, random_state, next_id;
static unsigned long step, steps = 2000;
static unsigned long errors;

static uint32_t below(uint64_t limit)
{
	return (uint32_t)((vu_random(&random_state) >> 20) % limit);
}

static bool one_in(uint32_t n)
{
	return !below(n);
}

__attribute__((format(printf, 1, 2)))
static void disagree(const char *format, ...)
{
	va_list args;

	errors++;
	printf("step %lu: ", step);
	va_start(args, format);
	vprintf(format, args);
	va_end(args);
	putchar('\n');
}

static void judge(const char *what, int err, int right)
{
	if (err != right)
		disagree("%s: %s, not %s", what, vu_errno_name(err), vu_errno_name(right));
}

/* A call that makes an object and must succeed; not every library sets errno. */
#define MADE(what, call) ({						\
	errno = 0;							\
	__auto_type _made = (call);					\
	if (!_made)							\
		judge(what, errno ? errno : EIO, 0);			\
	_made;								\
})

static enum ibv_qp_state state_of(const struct qp *qp)
{
	return qp->told.attr.qp_state;
}

/* ---- completions ---- */

static void want(const struct qp *qp, uint64_t id, int status, uint32_t length)
{
	wants[wanted++] = (struct want){ qp->ibv->qp_num, id, status, length };
}

/* The oldest that is due of a queue. */
static struct want *first_want(uint32_t qp, bool receive)
{
	for (int i = 0; i < wanted; i++)
		if (wants[i].qp == qp && !!(wants[i].id & IS_RECEIVE) == receive)
			return &wants[i];
	return NULL;
}

static void take(const struct ibv_wc *wc)
{
	bool receive = wc->wr_id & IS_RECEIVE;
	struct want *due = first_want(wc->qp_num, receive);

	if (!due || due->id != wc->wr_id) {
		disagree("QP %u: completion of request %llx (%s), which is not due", wc->qp_num,
			 (unsigned long long)wc->wr_id, ibv_wc_status_str(wc->status));
		return;
	}
	if ((int)wc->status != due->status)
		disagree("QP %u: %s ended with \"%s\", not \"%s\"", wc->qp_num,
			 receive ? "receive" : "request", ibv_wc_status_str(wc->status),
			 ibv_wc_status_str((enum ibv_wc_status)due->status));
	if (wc->status == IBV_WC_SUCCESS && receive && wc->byte_len != due->length)
		disagree("QP %u: received %u bytes, not %u", wc->qp_num, wc->byte_len,
			 due->length);
	memmove(due, due + 1, (size_t)(wants + --wanted - due) * sizeof(*due));
}

static void poll_all(void)
{
	struct ibv_wc wc;

	for (int i = 0; i < CQS; i++)
		while (cqs[i].ibv && ibv_poll_cq(cqs[i].ibv, 1, &wc) > 0)
			take(&wc);
}

/* Wait until nothing is due any more; nothing else may come. */
static void collect(void)
{
	time_t end = time(NULL) + WAIT_SECONDS;

	for (poll_all(); wanted && time(NULL) < end; poll_all())
		nanosleep(&(struct timespec){ .tv_nsec = 100000 }, NULL);
	for (int i = 0; i < wanted; i++)
		disagree("QP %u: request %llx does not end", wants[i].qp,
			 (unsigned long long)wants[i].id);
	wanted = 0;
}

static void take_events(void)
{
	struct ibv_async_event event;

	while (!ibv_get_async_event(dev.ctx, &event))
		ibv_ack_async_event(&event);
}

/* ---- memory ---- */

static void check_memory(const char *what)
{
	if (!memcmp(area, shadow, AREA))
		return;
	for (size_t i = 0; i < AREA; i++)
		if (area[i] != shadow[i]) {
			disagree("%s: byte %zu is %02x, not %02x", what, i, area[i] & 255,
				 shadow[i] & 255);
			break;
		}
	memcpy(shadow, area, AREA);
}

static void copied(const char *to, const char *from, size_t length)
{
	memcpy(shadow + (to - area), shadow + (from - area), length);
}

/* ---- PD, CQ, MR, MW, AH ---- */

static struct pd *some_pd(void)
{
	struct pd *pd = &pds[below(PDS)];

	return pd->ibv ? pd : NULL;
}

static void on_pd(void)
{
	struct pd *pd = &pds[below(PDS)];
	int err;

	if (!pd->ibv) {
		pd->ibv = MADE("ibv_alloc_pd", ibv_alloc_pd(dev.ctx));
		return;
	}
	err = ibv_dealloc_pd(pd->ibv);
	judge("ibv_dealloc_pd", err, pd->users ? EBUSY : 0);
	if (!err)
		pd->ibv = NULL;
}

static void on_cq(void)
{
	struct cq *cq = &cqs[below(CQS)];
	int entries = CQ_ENTRIES + (int)below(1000), err;

	if (!cq->ibv) {
		cq->ibv = MADE("ibv_create_cq",
			       ibv_create_cq(dev.ctx, entries, NULL, NULL,
					     (int)below((uint32_t)dev.ctx->num_comp_vectors)));
		if (cq->ibv && cq->ibv->cqe < entries)
			disagree("CQ with %d entries, not %d", cq->ibv->cqe, entries);
		return;
	}
	if (one_in(2)) {
		judge("ibv_resize_cq", ibv_resize_cq(cq->ibv, entries), 0);
		if (cq->ibv->cqe < entries)
			disagree("CQ resized to %d entries, not %d", cq->ibv->cqe, entries);
		return;
	}
	err = ibv_destroy_cq(cq->ibv);
	judge("ibv_destroy_cq", err, cq->users ? EBUSY : 0);
	if (!err)
		cq->ibv = NULL;
}

static int some_access(void)
{
	static const int all[] = {
		0, IBV_ACCESS_LOCAL_WRITE, IBV_ACCESS_REMOTE_READ,
		IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_READ,
		IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE,
		IBV_ACCESS_LOCAL_WRITE | REMOTE,
		IBV_ACCESS_LOCAL_WRITE | REMOTE,
		IBV_ACCESS_LOCAL_WRITE | REMOTE,
	};

	return all[below(ARRAY_SIZE(all))];
}

static void some_range(struct mr *mr)
{
	size_t half = below(2) * (AREA / 2);

	mr->length = 1 + below(AREA / 4);
	mr->addr = area + half + below(AREA / 2 - mr->length + 1);
}

static void rereg(struct mr *mr)
{
	struct mr next = *mr;
	int flags = 0;
	int err;

	if (one_in(2)) {
		flags |= IBV_REREG_MR_CHANGE_TRANSLATION;
		some_range(&next);
	}
	if (one_in(2)) {
		flags |= IBV_REREG_MR_CHANGE_ACCESS;
		next.access = some_access();
	}
	next.pd = some_pd();
	if (next.pd && one_in(2))
		flags |= IBV_REREG_MR_CHANGE_PD;
	else
		next.pd = mr->pd;
	if (!flags)
		return;
	err = raw_rereg_mr(mr->ibv, flags, next.pd->ibv, next.addr, next.length,
			   (uintptr_t)next.addr, next.access);
	judge("rereg_mr", err, 0);
	if (err)
		return;
	mr->pd->users--;
	next.pd->users++;
	*mr = next;
}

static void on_mr(void)
{
	struct mr *mr = &mrs[below(MRS)];

	if (mr->receives)
		return;
	if (!mr->ibv) {
		mr->pd = some_pd();
		if (!mr->pd)
			return;
		some_range(mr);
		mr->access = some_access();
		mr->ibv = MADE("ibv_reg_mr",
			       ibv_reg_mr(mr->pd->ibv, mr->addr, mr->length, mr->access));
		mr->pd->users += !!mr->ibv;
	} else if (one_in(2)) {
		rereg(mr);
	} else {
		judge("ibv_dereg_mr", ibv_dereg_mr(mr->ibv), 0);
		mr->pd->users--;
		mr->ibv = NULL;
	}
}

static void on_mw(void)
{
	struct mw *mw = &mws[below(MWS)];

	if (mw->ibv) {
		judge("ibv_dealloc_mw", ibv_dealloc_mw(mw->ibv), 0);
		mw->pd->users--;
		mw->ibv = NULL;
		return;
	}
	mw->pd = some_pd();
	if (!mw->pd)
		return;
	mw->ibv = MADE("ibv_alloc_mw", ibv_alloc_mw(mw->pd->ibv, IBV_MW_TYPE_1));
	mw->pd->users += !!mw->ibv;
}

static struct ibv_ah_attr some_path(void)
{
	return (struct ibv_ah_attr){
		.is_global = 1,
		.port_num = dev.port_num,
		.sl = (uint8_t)below(8),
		.grh = { .dgid = dev.gid, .sgid_index = (uint8_t)dev.gid_index,
			 .hop_limit = 64, .traffic_class = (uint8_t)(below(64) << 2),
			 .flow_label = below(1 << 20) },
	};
}

static void on_ah(void)
{
	struct ibv_ah_attr path = some_path();
	struct ah *ah = &ahs[below(AHS)];

	if (ah->ibv) {
		judge("ibv_destroy_ah", ibv_destroy_ah(ah->ibv), 0);
		ah->pd->users--;
		ah->ibv = NULL;
		return;
	}
	ah->pd = some_pd();
	if (!ah->pd)
		return;
	ah->ibv = MADE("ibv_create_ah", ibv_create_ah(ah->pd->ibv, &path));
	ah->pd->users += !!ah->ibv;
}

/* ---- queue pairs ---- */

static void part(struct qp *qp)
{
	if (qp->peer)
		qp->peer->peer = NULL;
	qp->peer = NULL;
}

static struct receive pop_receive(struct qp *qp)
{
	struct receive first = qp->receives[0];

	memmove(qp->receives, qp->receives + 1, (size_t)--qp->waiting * sizeof(first));
	first.mr->receives--;
	return first;
}

/* Outstanding receives are flushed, or, with the queue pair, forgotten. */
static void end_receives(struct qp *qp, bool flushed)
{
	while (qp->waiting) {
		struct receive receive = pop_receive(qp);

		if (flushed)
			want(qp, receive.id, IBV_WC_WR_FLUSH_ERR, 0);
	}
}

static void create_qp(struct qp *qp)
{
	struct cq *send = &cqs[below(CQS)], *recv = &cqs[below(CQS)];
	struct pd *pd = some_pd();
	struct ibv_qp_init_attr init = {
		.send_cq = send->ibv, .recv_cq = recv->ibv,
		.qp_type = one_in(4) ? IBV_QPT_UD : IBV_QPT_RC,
		.cap = { .max_send_wr = DEPTH, .max_recv_wr = DEPTH,
			 .max_send_sge = 1 + below(4), .max_recv_sge = 1 + below(4),
			 .max_inline_data = below(65) },
	};

	if (!pd || !send->ibv || !recv->ibv)
		return;
	*qp = (struct qp){ .pd = pd, .send_cq = send, .recv_cq = recv,
			   .is_ud = init.qp_type == IBV_QPT_UD };
	qp->ibv = MADE("ibv_create_qp", ibv_create_qp(pd->ibv, &init));
	if (!qp->ibv)
		return;
	qp->told.cap = init.cap;
	pd->users++;
	send->users++;
	recv->users++;
}

static void destroy_qp(struct qp *qp)
{
	end_receives(qp, false);
	part(qp);
	judge("ibv_destroy_qp", ibv_destroy_qp(qp->ibv), 0);
	qp->ibv = NULL;
	qp->pd->users--;
	qp->send_cq->users--;
	qp->recv_cq->users--;
}

static void on_qp(void)
{
	struct qp *qp = &qps[below(QPS)];

	if (!qp->ibv)
		create_qp(qp);
	else if (one_in(qp->peer ? 16 : 4))	/* most live long enough to work */
		destroy_qp(qp);
}

static void query(struct qp *qp)
{
	char label[32];

	snprintf(label, sizeof(label), "step %lu: QP %u", step, qp->ibv->qp_num);
	errors += (unsigned long)vu_expect_check(qp->ibv, &qp->told, label);
}

static void on_query(void)
{
	struct qp *qp = &qps[below(QPS)];

	if (qp->ibv)
		query(qp);
}

/* A value of each attribute that is right. */
static struct ibv_qp_attr some_attributes(const struct qp *qp, int to)
{
	return (struct ibv_qp_attr){
		.qp_state = (enum ibv_qp_state)to,
		.cur_qp_state = state_of(qp),
		.path_mtu = (enum ibv_mtu)(1 + below(dev.port.active_mtu)),
		.path_mig_state = IBV_MIG_MIGRATED,
		.qkey = below(1u << 31),
		.rq_psn = below(1 << 24),
		.sq_psn = below(1 << 24),
		.dest_qp_num = below(1 << 24),
		.qp_access_flags = some_access(),
		.ah_attr = some_path(),
		.port_num = dev.port_num,
		.max_rd_atomic = (uint8_t)below(1 + (uint32_t)dev.attr.max_qp_init_rd_atom),
		.max_dest_rd_atomic = (uint8_t)below(1 + (uint32_t)dev.attr.max_qp_rd_atom),
		.min_rnr_timer = (uint8_t)below(32),
		.timeout = (uint8_t)below(32),
		.retry_cnt = (uint8_t)below(8),
		.rnr_retry = (uint8_t)below(8),
	};
}

/* Rings that have been used cannot be taken back to their first request (verbs.rst). */
static int right_answer(const struct qp *qp, int to)
{
	return state_of(qp) == IBV_QPS_RESET && to == IBV_QPS_INIT && qp->posted ?
	       EOPNOTSUPP : 0;
}

static int modify(struct qp *qp, struct ibv_qp_attr *attr, int mask)
{
	int right = right_answer(qp, attr->qp_state);
	int err = ibv_modify_qp(qp->ibv, attr, mask);

	if (err != right)
		disagree("QP %u, %s to %s, attributes 0x%x: %s, not %s", qp->ibv->qp_num,
			 vu_state_name(state_of(qp)), vu_state_name(attr->qp_state), mask,
			 vu_errno_name(err), vu_errno_name(right));
	if (err)
		return err;
	vu_expect_merge(&qp->told, attr, mask);
	if (attr->qp_state == IBV_QPS_ERR || attr->qp_state == IBV_QPS_RESET) {
		end_receives(qp, true);
		part(qp);
	}
	return 0;
}

static uint32_t some_bits(uint32_t of)
{
	return of & (uint32_t)vu_random(&random_state) & (uint32_t)vu_random(&random_state);
}

/* Any legal modification. A pair is left together, or parted by ERR and RESET. */
static void on_modify(void)
{
	struct qp *qp = &qps[below(QPS)];
	int to = (int)below(Q_STATES), type = qp->is_ud ? T_UD : T_RC;
	const struct qp_transition *legal;
	struct ibv_qp_attr attr;
	uint32_t mask;

	if (!qp->ibv || (qp->peer && !one_in(16)))
		return;
	legal = qp_transition_of((int)state_of(qp), to);
	if (!legal || (qp->peer && to != Q_ERR && to != Q_RESET))
		return;
	attr = some_attributes(qp, to);
	mask = legal->optional[type] & ~(uint32_t)(A_ALT_PATH | A_SQD_NOTIFY);
	mask = A_STATE | legal->required[type] | some_bits(mask);
	modify(qp, &attr, (int)mask);
	query(qp);
}

/* Give a queue pair what it needs for the next state, so that it works with another. */
static int step_to(struct qp *qp, struct qp *peer, int to)
{
	struct ibv_qp_attr attr = some_attributes(qp, to);
	uint32_t mask = qp_transition_of(to - 1, to)->required[T_RC];

	attr.qp_access_flags = IBV_ACCESS_LOCAL_WRITE | REMOTE;
	attr.path_mtu = dev.port.active_mtu;
	attr.dest_qp_num = peer->ibv->qp_num;
	attr.max_rd_atomic = attr.max_dest_rd_atomic = 4;
	attr.min_rnr_timer = 1;
	attr.timeout = 18;
	attr.retry_cnt = attr.rnr_retry = 7;
	attr.rq_psn = peer->ibv->qp_num * 77 & 0xffffff;
	attr.sq_psn = qp->ibv->qp_num * 77 & 0xffffff;
	return modify(qp, &attr, (int)(A_STATE | mask));
}

static struct qp *some_fresh_qp(const struct qp *other)
{
	for (int i = 0; i < TRIES; i++) {
		struct qp *qp = &qps[below(QPS)];

		if (qp != other && qp->ibv && !qp->is_ud && !qp->posted &&
		    state_of(qp) == IBV_QPS_RESET)
			return qp;
	}
	return NULL;
}

static void on_connect(void)
{
	struct qp *a = some_fresh_qp(NULL), *b = some_fresh_qp(a);

	if (!a || !b)
		return;
	for (int to = Q_INIT; to <= Q_RTS; to++)
		if (step_to(a, b, to) || step_to(b, a, to))
			return;
	a->peer = b;
	b->peer = a;
	query(a);
	query(b);
}

/* ---- data ---- */

static struct mr *some_mr(const struct pd *pd, int access, bool upper)
{
	for (int i = 0; i < TRIES; i++) {
		struct mr *mr = &mrs[below(MRS)];

		if (mr->ibv && mr->pd == pd && (mr->access & access) == access &&
		    (mr->addr >= area + AREA / 2) == upper)
			return mr;
	}
	return NULL;
}

static size_t least(size_t a, size_t b)
{
	return a < b ? a : b;
}

static struct qp *some_pair(void)
{
	for (int i = 0; i < TRIES; i++) {
		struct qp *qp = &qps[below(QPS)];

		if (qp->ibv && qp->peer)
			return qp;
	}
	return NULL;
}

static void on_receive(void)
{
	struct qp *pair = some_pair(), *qp = pair && !one_in(8) ? pair : &qps[below(QPS)];
	struct mr *mr = some_mr(qp->pd, IBV_ACCESS_LOCAL_WRITE, true);
	struct ibv_recv_wr wr = { .num_sge = 1 }, *bad;
	struct receive *receive = &qp->receives[qp->waiting];
	struct ibv_sge sge;

	if (!qp->ibv || !mr || qp->waiting == DEPTH || state_of(qp) == IBV_QPS_RESET ||
	    state_of(qp) == IBV_QPS_ERR)
		return;
	*receive = (struct receive){ .id = ++next_id | IS_RECEIVE, .mr = mr };
	receive->length = 1 + below(least(MOST, mr->length));
	receive->addr = mr->addr + below(mr->length - receive->length + 1);
	sge = (struct ibv_sge){ (uintptr_t)receive->addr, receive->length, mr->ibv->lkey };
	wr.sg_list = &sge;
	wr.wr_id = receive->id;
	judge("ibv_post_recv", ibv_post_recv(qp->ibv, &wr, &bad), 0);
	qp->posted = true;
	qp->waiting++;
	mr->receives++;
}

/* Both in ERR: the one by its own doing, the other since it told it so or was told. */
static void broken(struct qp *qp)
{
	time_t end = time(NULL) + WAIT_SECONDS;
	struct ibv_qp_init_attr init;
	struct ibv_qp_attr attr = {};

	do {
		if (ibv_query_qp(qp->ibv, &attr, IBV_QP_STATE, &init))
			break;
	} while (attr.qp_state != IBV_QPS_ERR && time(NULL) < end &&
		 !nanosleep(&(struct timespec){ .tv_nsec = 100000 }, NULL));
	if (attr.qp_state != IBV_QPS_ERR)
		disagree("QP %u is in %s, not in ERR", qp->ibv->qp_num,
			 vu_state_name(attr.qp_state));
	qp->told.attr.qp_state = qp->told.attr.cur_qp_state = IBV_QPS_ERR;
	end_receives(qp, true);
}

static void post(struct qp *qp, struct ibv_send_wr *wr)
{
	struct ibv_send_wr *bad;

	qp->posted = true;
	judge("ibv_post_send", ibv_post_send(qp->ibv, wr, &bad), 0);
}

/*
 * SENDs in one chain, some unsignalled; the last may be longer than the receive. Then all are
 * signalled: the library gives the error to the first that it has no completion of (verbs.rst).
 */
static void on_send(void)
{
	struct ibv_send_wr wr[BURST] = {};
	struct ibv_sge sge[BURST];
	struct qp *qp = some_pair(), *peer = qp ? qp->peer : NULL;
	struct mr *mr = qp ? some_mr(qp->pd, 0, false) : NULL;
	int n = 1 + (int)below(BURST);
	bool fails = one_in(8), too_long = false;

	if (!mr || peer->waiting < n)
		return;
	for (int i = 0; i < n; i++) {
		struct receive receive = pop_receive(peer);
		size_t length = 1 + below(least(receive.length, mr->length));
		char *from = mr->addr + below(mr->length - length + 1);

		too_long = i == n - 1 && receive.length < mr->length && fails;
		if (too_long) {
			length = receive.length + 1;
			from = mr->addr;
		}
		sge[i] = (struct ibv_sge){ (uintptr_t)from, (uint32_t)length, mr->ibv->lkey };
		wr[i] = (struct ibv_send_wr){
			.wr_id = ++next_id, .sg_list = &sge[i], .num_sge = 1,
			.next = i < n - 1 ? &wr[i + 1] : NULL,
			.opcode = one_in(2) ? IBV_WR_SEND : IBV_WR_SEND_WITH_IMM,
			.send_flags = i == n - 1 || fails || one_in(2) ? IBV_SEND_SIGNALED : 0,
		};
		if (wr[i].send_flags)
			want(qp, wr[i].wr_id,
			     too_long ? IBV_WC_REM_INV_REQ_ERR : IBV_WC_SUCCESS, 0);
		want(peer, receive.id, too_long ? IBV_WC_LOC_LEN_ERR : IBV_WC_SUCCESS,
		     (uint32_t)length);
		if (!too_long)
			copied(receive.addr, from, length);
	}
	post(qp, wr);
	if (too_long) {
		broken(qp);
		broken(peer);
		part(qp);
	}
	collect();
	if (too_long)		/* what of it was written is nobody's business */
		memcpy(shadow, area, AREA);
	check_memory("SEND");
}

/* WRITE or READ of memory that the peer may or may not give. */
static void on_rdma(void)
{
	struct qp *qp = some_pair(), *peer = qp ? qp->peer : NULL;
	bool is_read = one_in(2);
	struct mr *local = qp ? some_mr(qp->pd, is_read ? IBV_ACCESS_LOCAL_WRITE : 0, is_read) :
		NULL;
	struct mr *remote = &mrs[below(MRS)];
	int needed = is_read ? IBV_ACCESS_REMOTE_READ : IBV_ACCESS_REMOTE_WRITE;
	struct ibv_send_wr wr = { .num_sge = 1, .send_flags = IBV_SEND_SIGNALED };
	struct ibv_sge sge;
	size_t length;
	char *here, *there;
	bool beyond, right;

	if (!local || !remote->ibv || (remote->addr >= area + AREA / 2) == is_read)
		return;
	length = 1 + below(least(MOST, least(local->length, remote->length)));
	here = local->addr + below(local->length - length + 1);
	there = remote->addr + below(remote->length - length + 1);
	beyond = one_in(8);
	if (beyond)
		there = remote->addr + remote->length - length + 1;
	right = !beyond && remote->pd == peer->pd && remote->access & needed;
	if (!right && !one_in(4))	/* an error ends the pair */
		return;

	sge = (struct ibv_sge){ (uintptr_t)here, (uint32_t)length, local->ibv->lkey };
	wr.wr_id = ++next_id;
	wr.sg_list = &sge;
	wr.opcode = is_read ? IBV_WR_RDMA_READ : IBV_WR_RDMA_WRITE;
	wr.wr.rdma.remote_addr = (uintptr_t)there;
	wr.wr.rdma.rkey = remote->ibv->rkey;
	want(qp, wr.wr_id, right ? IBV_WC_SUCCESS : IBV_WC_REM_ACCESS_ERR, 0);
	post(qp, &wr);
	if (!right) {
		broken(qp);
		broken(peer);
		part(qp);
	} else if (is_read) {
		copied(here, there, length);
	} else {
		copied(there, here, length);
	}
	collect();
	check_memory(is_read ? "READ" : "WRITE");
}

/* New contents of what is sent from. */
static void on_fill(void)
{
	size_t length = 1 + below(AREA / 4), at = below(AREA / 2 - length + 1);

	for (size_t i = 0; i < length; i++)
		area[at + i] = (char)vu_random(&random_state);
	memcpy(shadow + at, area + at, length);
}

/* ---- the run ---- */

static void end_all(void)
{
	for (int i = 0; i < QPS; i++)
		if (qps[i].ibv)
			destroy_qp(&qps[i]);
	for (int i = 0; i < AHS; i++)
		if (ahs[i].ibv)
			judge("ibv_destroy_ah at the end", ibv_destroy_ah(ahs[i].ibv), 0);
	for (int i = 0; i < MWS; i++)
		if (mws[i].ibv)
			judge("ibv_dealloc_mw at the end", ibv_dealloc_mw(mws[i].ibv), 0);
	for (int i = 0; i < MRS; i++)
		if (mrs[i].ibv)
			judge("ibv_dereg_mr at the end", ibv_dereg_mr(mrs[i].ibv), 0);
	for (int i = 0; i < CQS; i++)
		if (cqs[i].ibv)
			judge("ibv_destroy_cq at the end", ibv_destroy_cq(cqs[i].ibv), 0);
	for (int i = 0; i < PDS; i++)
		if (pds[i].ibv)
			judge("ibv_dealloc_pd at the end", ibv_dealloc_pd(pds[i].ibv), 0);
}

static void run(void)
{
	static const struct {
		void (*go)(void);
		uint32_t weight;
	} operations[] = {
		{ on_pd, 2 }, { on_cq, 2 }, { on_mr, 6 }, { on_mw, 2 }, { on_ah, 2 }, { on_qp, 6 },
		{ on_query, 2 }, { on_modify, 10 }, { on_connect, 10 }, { on_receive, 20 },
		{ on_send, 10 }, { on_rdma, 20 }, { on_fill, 1 },
	};
	uint32_t total = 0, pick;
	size_t i;

	for (i = 0; i < ARRAY_SIZE(operations); i++)
		total += operations[i].weight;
	for (step = 1; step <= steps && errors < 20; step++) {
		pick = below(total);
		for (i = 0; pick >= operations[i].weight; i++)
			pick -= operations[i].weight;
		operations[i].go();
		collect();
		take_events();
	}
	end_all();
}

static int parse(int argc, char **argv, const char **device)
{
	int c;

	while ((c = getopt(argc, argv, "d:s:n:h")) >= 0) {
		if (c == 'd')
			*device = optarg;
		else if (c == 's')
			seed = strtoull(optarg, NULL, 0);
		else if (c == 'n')
			steps = strtoul(optarg, NULL, 0);
		else
			return -1;
	}
	return seed && steps && optind == argc ? 0 : -1;
}

int main(int argc, char **argv)
{
	const char *device = NULL;

	setvbuf(stdout, NULL, _IOLBF, 0);
	if (parse(argc, argv, &device)) {
		fprintf(stderr, "usage: verbs-model [-d DEVICE] [-s SEED] [-n STEPS]\n"
			"  seed 1 and 2000 steps by default\n");
		return 2;
	}
	area = mmap(NULL, AREA, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	shadow = calloc(1, AREA);
	if (area == MAP_FAILED || !shadow || vu_open(&dev, device, -1, NULL))
		return 1;
	fcntl(dev.ctx->async_fd, F_SETFL, O_NONBLOCK);
	random_state = seed;
	run();
	printf("verbs-model: seed %llu, %lu steps, %llu requests: %s %lu\n",
	       (unsigned long long)seed, step - 1, (unsigned long long)next_id,
	       errors ? "FAIL" : "PASS", errors);
	vu_close(&dev);
	return errors ? 1 : 0;
}
