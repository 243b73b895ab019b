// SPDX-License-Identifier: GPL-2.0
/*
 * Work of the kernel's queue pairs: what is posted comes back flushed, once
 * and in order, from each state; or is forgotten by RESET, after which the
 * queue pair works again. Drained events, full queues, arming.
 */
#include <linux/delay.h>

#include "verbs_test.h"

#define SENDS 5
#define RECVS 7
#define LATE 1000	/* wr_id from which on requests were posted in ERR */
#define WAIT_MS 5000

/* All completions that are expected: in order, flushed, with their queue pair, no more. */
static void expect_flushed(struct vt_qp *q, struct ib_cq *cq, u64 first, int count,
			   const char *what)
{
	unsigned long end = jiffies + msecs_to_jiffies(WAIT_MS);
	struct ib_wc wc[3];
	int seen = 0, n, i;

	while (seen < count && time_before(jiffies, end)) {
		n = ib_poll_cq(cq, ARRAY_SIZE(wc), wc);
		for (i = 0; i < n; i++, seen++)
			CHECK(wc[i].wr_id == first + seen && wc[i].qp == q->qp &&
			      wc[i].status == IB_WC_WR_FLUSH_ERR,
			      "%s: request %llu with status %d, expected was %llu", what,
			      wc[i].wr_id, wc[i].status, first + seen);
		if (!n)
			usleep_range(500, 1000);
	}
	CHECK(seen == count, "%s: %d completions of %d", what, seen, count);
	CHECK(!ib_poll_cq(cq, 1, wc), "%s: a completion too many", what);
}

/* Datagrams are complete when they are sent, whoever gets them. */
static void expect_sent(struct vt_qp *q, u64 first, int count, const char *what)
{
	struct ib_wc wc;
	int i;

	for (i = 0; i < count; i++)
		CHECK(vt_take(q->send_cq, &wc) && !wc.status && wc.wr_id == first + i,
		      "%s: request %llu with status %d, expected was %llu", what, wc.wr_id,
		      wc.status, first + i);
}

static void expect_nothing(struct vt_qp *q, const char *what)
{
	struct ib_wc wc;

	CHECK(!ib_poll_cq(q->send_cq, 1, &wc), "%s: a completion of a send", what);
	CHECK(!ib_poll_cq(q->recv_cq, 1, &wc), "%s: a completion of a receive", what);
}

static void arm(struct vt_qp *q)
{
	CHECK(!ib_req_notify_cq(q->send_cq, IB_CQ_NEXT_COMP | IB_CQ_REPORT_MISSED_EVENTS) &&
	      !ib_req_notify_cq(q->recv_cq, IB_CQ_NEXT_COMP | IB_CQ_REPORT_MISSED_EVENTS),
	      "an empty CQ has missed completions");
}

/* Completion events since @before: at least @want, within a time. */
static void expect_events(struct vt_qp *q, int before, int want, const char *what)
{
	int ms;

	for (ms = 0; ms < WAIT_MS && atomic_read(&q->events) - before < want; ms++)
		usleep_range(900, 1100);
	CHECK(atomic_read(&q->events) - before >= want, "%s: %d completion events of %d", what,
	      atomic_read(&q->events) - before, want);
}

static struct ib_ah *handle_of(struct vt_qp *q)
{
	struct rdma_ah_attr path = vt_path();
	struct ib_ah *ah;

	if (q->type != T_UD)
		return NULL;
	ah = rdma_create_ah(vt.pd, &path, RDMA_CREATE_AH_SLEEPABLE);
	CHECK(!IS_ERR(ah), "no address handle: %ld", PTR_ERR(ah));
	return IS_ERR(ah) ? NULL : ah;
}

static void drop_handle(struct ib_ah *ah)
{
	if (ah)
		rdma_destroy_ah(ah, RDMA_DESTROY_AH_SLEEPABLE);
}

/* In ERR requests are taken and come back at once. */
static void post_late(struct vt_qp *q, struct ib_ah *ah)
{
	int before;

	arm(q);
	before = atomic_read(&q->events);
	CHECK(vt_post_sends(q, LATE, SENDS, ah) == SENDS, "a send in ERR is refused");
	CHECK(vt_post_recvs(q, LATE, RECVS) == RECVS, "a receive in ERR is refused");
	expect_events(q, before, 2, "posted in ERR");
	expect_flushed(q, q->send_cq, LATE, SENDS, "sends in ERR");
	expect_flushed(q, q->recv_cq, LATE, RECVS, "receives in ERR");
}

static void flush_from(struct vt_qp *q, int state, struct ib_ah *ah)
{
	int sends = state >= Q_RTS ? SENDS : 0, before;
	bool at_once = q->type == T_UD && state == Q_RTS;

	if (!CHECK(!vt_go(q, Q_RESET) && !vt_bring(q, state), "%s not to %s",
		   vt_type_name(q->type), vt_state_name(state)))
		return;
	CHECK(vt_post_recvs(q, 100, RECVS) == RECVS, "a receive in %s is refused",
	      vt_state_name(state));
	if (state < Q_RTS)
		CHECK(!vt_post_sends(q, 0, 1, ah), "a send in %s is taken", vt_state_name(state));
	else
		CHECK(vt_post_sends(q, 10, sends, ah) == sends, "a send in %s is refused",
		      vt_state_name(state));
	if (at_once)
		expect_sent(q, 10, sends, "datagrams");
	expect_nothing(q, "before ERR");
	arm(q);
	before = atomic_read(&q->events);
	CHECK(!vt_go(q, Q_ERR), "%s not to ERR", vt_state_name(state));
	expect_events(q, before, sends && !at_once ? 2 : 1, "flushed");
	expect_flushed(q, q->send_cq, 10, at_once ? 0 : sends, "sends");
	expect_flushed(q, q->recv_cq, 100, RECVS, "receives");
	CHECK(!vt_go(q, Q_ERR), "ERR to ERR");
	expect_nothing(q, "ERR again");
	post_late(q, ah);
	post_late(q, ah);
}

/** vt_test_flush() - everything outstanding comes back once and in order, from each state */
void vt_test_flush(void)
{
	static const int states[] = { Q_INIT, Q_RTR, Q_RTS, Q_SQD };
	int type, i;

	for (type = T_RC; type <= T_UD; type++) {
		struct ib_ah *ah;
		struct vt_qp q;

		if (!CHECK(!vt_create(&q, type, NULL), "no queue pair"))
			return;
		ah = handle_of(&q);
		for (i = 0; i < ARRAY_SIZE(states); i++)
			flush_from(&q, states[i], ah);
		vt_destroy(&q);
		drop_handle(ah);
	}
}

/* Posts, goes to ERR if that is on the way, and to RESET with completions not polled. */
static void reset_from(struct vt_qp *q, int state, struct ib_ah *ah)
{
	int by = state == Q_ERR ? Q_RTS : state;

	if (!CHECK(!vt_bring(q, by), "%s not to %s", vt_type_name(q->type), vt_state_name(by)))
		return;
	if (by >= Q_INIT)
		CHECK(vt_post_recvs(q, 1, RECVS) == RECVS, "receives are refused");
	else
		CHECK(!vt_post_recvs(q, 1, 1), "a receive in RESET is taken");
	CHECK(vt_post_sends(q, 1, SENDS, ah) == (by >= Q_RTS ? SENDS : 0), "sends in %s",
	      vt_state_name(by));
	if (state == Q_ERR)
		CHECK(!vt_go(q, Q_ERR), "not to ERR");
	CHECK(!vt_go(q, Q_RESET), "%s not to RESET", vt_state_name(state));
	expect_nothing(q, "after RESET");
	CHECK(vt_state(q) == Q_RESET, "not in RESET");

	/* And it works as a new one does. */
	CHECK(!vt_bring(q, Q_RTS), "from %s by RESET not to RTS again", vt_state_name(state));
	CHECK(vt_post_recvs(q, 50, RECVS) == RECVS && vt_post_sends(q, 60, SENDS, ah) == SENDS,
	      "after RESET requests are refused");
	if (q->type == T_UD)
		expect_sent(q, 60, SENDS, "datagrams after RESET");
	CHECK(!vt_go(q, Q_ERR), "not to ERR");
	expect_flushed(q, q->send_cq, 60, q->type == T_UD ? 0 : SENDS, "sends after RESET");
	expect_flushed(q, q->recv_cq, 50, RECVS, "receives after RESET");
	CHECK(!vt_go(q, Q_RESET), "not to RESET");
}

/** vt_test_reset() - RESET from each state forgets work, and the queue pair can begin again */
void vt_test_reset(void)
{
	static const int states[] = { Q_RESET, Q_INIT, Q_RTR, Q_RTS, Q_SQD, Q_ERR };
	int type, i;

	for (type = T_RC; type <= T_UD; type++) {
		struct ib_ah *ah;
		struct vt_qp q;

		if (!CHECK(!vt_create(&q, type, NULL), "no queue pair"))
			return;
		ah = handle_of(&q);
		for (i = 0; i < ARRAY_SIZE(states); i++)
			reset_from(&q, states[i], ah);
		vt_destroy(&q);
		drop_handle(ah);
	}
}

static int to_sqd(struct vt_qp *q, bool notify)
{
	struct ib_qp_attr attr = { .qp_state = IB_QPS_SQD, .en_sqd_async_notify = notify };

	return ib_modify_qp(q->qp, &attr, A_STATE | A_SQD_NOTIFY);
}

/** vt_test_sqd() - the drained event comes when it is asked for, and work goes on afterwards */
void vt_test_sqd(void)
{
	struct vt_qp q;
	struct ib_wc wc;
	int i;

	if (!CHECK(!vt_create(&q, T_RC, NULL) && !vt_connect(&q, q.qp->qp_num),
		   "no queue pair in RTS"))
		return;
	for (i = 1; i <= 3; i++) {
		CHECK(vt_post_recvs(&q, i, 1) == 1, "a receive is refused");
		CHECK(!to_sqd(&q, true), "not to SQD");
		CHECK(wait_for_completion_timeout(&q.drained_now, msecs_to_jiffies(WAIT_MS)),
		      "no drained event");
		CHECK(vt_post_sends(&q, i, 1, NULL) == 1, "a send in SQD is refused");
		msleep(20);
		expect_nothing(&q, "in SQD");
		CHECK(!vt_resume(&q), "SQD not to RTS");
		CHECK(vt_take(q.send_cq, &wc) && !wc.status && wc.wr_id == i &&
		      vt_take(q.recv_cq, &wc) && !wc.status && wc.wr_id == i,
		      "request %llu of SQD with status %d", wc.wr_id, wc.status);
		CHECK(!to_sqd(&q, false), "not to SQD");
		msleep(20);
		CHECK(atomic_read(&q.drained) == i, "%d drained events, asked for were %d",
		      atomic_read(&q.drained), i);
		CHECK(!vt_resume(&q), "SQD not to RTS");
	}
	CHECK(!atomic_read(&q.others), "%d events of other kinds", atomic_read(&q.others));
	vt_destroy(&q);
}

/* A chain that does not fit: what fits is taken, the first that does not is named. */
static void chain_too_long(struct vt_qp *q, int posted)
{
	struct ib_recv_wr more = { .wr_id = 3 }, last = { .wr_id = 2, .next = &more };
	const struct ib_recv_wr *bad = NULL;
	struct ib_sge sge[3] = {};
	int err;

	err = ib_post_recv(q->qp, &last, &bad);
	CHECK(err == -ENOMEM && bad == &last, "a receive too many: %d, %s", err,
	      bad == &last ? "named" : "another is named");
	CHECK(!vt_go(q, Q_ERR), "not to ERR");
	expect_flushed(q, q->recv_cq, 0, posted, "full receive queue");

	CHECK(vt_post_recvs(q, 0, posted - 1) == posted - 1, "not filled again");
	bad = NULL;
	err = ib_post_recv(q->qp, &last, &bad);
	CHECK(err == -ENOMEM && bad == &more, "the second of two: %d, %s", err,
	      bad == &more ? "named" : "another is named");

	more.sg_list = sge;
	more.num_sge = 1000;
	bad = NULL;
	err = ib_post_recv(q->qp, &more, &bad);
	CHECK(err == -EINVAL && bad == &more, "a receive of 1000 fragments: %d", err);
}

/** vt_test_full() - as many requests as were granted fit; then ENOMEM, and nothing is lost */
void vt_test_full(void)
{
	static const struct ib_qp_cap caps[] = {
		{ .max_send_wr = 1, .max_recv_wr = 1, .max_send_sge = 1, .max_recv_sge = 1 },
		{ .max_send_wr = 100, .max_recv_wr = 63, .max_send_sge = 3, .max_recv_sge = 4 },
		{ .max_send_wr = 1000, .max_recv_wr = 2000, .max_send_sge = 13,
		  .max_recv_sge = 13 },
	};
	int i, sent, received;

	for (i = 0; i < ARRAY_SIZE(caps); i++) {
		const struct ib_send_wr *bad = NULL;
		struct ib_send_wr more = { .opcode = IB_WR_SEND, .wr_id = 1 };
		struct vt_qp q;

		if (!CHECK(!vt_create(&q, T_RC, &caps[i]) && !vt_bring(&q, Q_RTS),
			   "no queue pair in RTS"))
			return;
		CHECK(q.cap.max_send_wr >= caps[i].max_send_wr &&
		      q.cap.max_recv_wr >= caps[i].max_recv_wr, "granted: %u and %u requests",
		      q.cap.max_send_wr, q.cap.max_recv_wr);
		sent = vt_post_sends(&q, 0, CQ_ENTRIES, NULL);
		received = vt_post_recvs(&q, 0, CQ_ENTRIES);
		CHECK(sent >= q.cap.max_send_wr && received >= q.cap.max_recv_wr,
		      "%d sends of %u and %d receives of %u fit", sent, q.cap.max_send_wr,
		      received, q.cap.max_recv_wr);
		if (sent < CQ_ENTRIES)
			CHECK(ib_post_send(q.qp, &more, &bad) == -ENOMEM && bad == &more,
			      "a send too many");
		if (received < CQ_ENTRIES)
			chain_too_long(&q, received);
		else
			vt_go(&q, Q_ERR);
		expect_flushed(&q, q.send_cq, 0, sent, "full send queue");
		vt_destroy(&q);
	}
}

/* Malformed sends, which must leave no trace. */
static void bad_sends(struct vt_qp *q)
{
	struct ib_sge sge[3] = { { .length = 8 }, { .length = 8 }, { .length = 8 } };
	static const struct {
		int opcode, flags, num_sge;
	} bad[] = {
		{ IB_WR_ATOMIC_CMP_AND_SWP, 0, 0 },
		{ IB_WR_SEND, 0, 1000 },
		{ IB_WR_RDMA_READ, IB_SEND_INLINE, 1 },
		{ 0x77, 0, 0 },
	};
	const struct ib_send_wr *refused;
	int i, err;

	for (i = 0; i < ARRAY_SIZE(bad); i++) {
		struct ib_rdma_wr wr = {
			.wr = { .opcode = bad[i].opcode, .send_flags = bad[i].flags,
				.sg_list = sge, .num_sge = bad[i].num_sge },
		};

		refused = NULL;
		err = ib_post_send(q->qp, &wr.wr, &refused);
		CHECK(err == -EINVAL && refused == &wr.wr, "send %d with opcode 0x%x: %d", i,
		      bad[i].opcode, err);
	}
}

/** vt_test_notify() - events come when asked for, once, and missed completions are told */
void vt_test_notify(void)
{
	int before, flags = IB_CQ_NEXT_COMP | IB_CQ_REPORT_MISSED_EVENTS;
	struct vt_qp q;
	struct ib_wc wc;

	if (!CHECK(!vt_create(&q, T_RC, NULL) && !vt_bring(&q, Q_RTS), "no queue pair in RTS"))
		return;
	bad_sends(&q);
	CHECK(vt_post_recvs(&q, 0, 4) == 4, "receives are refused");
	CHECK(!vt_go(&q, Q_ERR), "not to ERR");
	msleep(20);
	CHECK(!atomic_read(&q.events), "an event that nobody has asked for");
	CHECK(ib_req_notify_cq(q.recv_cq, flags) > 0, "completions are there, none is missed");
	CHECK(!ib_req_notify_cq(q.recv_cq, IB_CQ_SOLICITED), "missed ones, not asked for");
	CHECK(ib_req_notify_cq(q.send_cq, flags) == 0, "the CQ of sends is empty");
	expect_flushed(&q, q.recv_cq, 0, 4, "receives");

	msleep(20);
	CHECK(!ib_req_notify_cq(q.recv_cq, flags), "missed ones in an empty CQ");
	before = atomic_read(&q.events);
	CHECK(vt_post_recvs(&q, 4, 1) == 1, "a receive in ERR is refused");
	expect_events(&q, before, 1, "armed");
	before = atomic_read(&q.events);
	CHECK(vt_post_recvs(&q, 5, 1) == 1, "a receive in ERR is refused");
	msleep(20);
	CHECK(atomic_read(&q.events) == before, "an event without arming");
	CHECK(ib_req_notify_cq(q.recv_cq, flags) > 0, "flushed ones are not missed");
	CHECK(ib_poll_cq(q.recv_cq, 1, &wc) == 1 && wc.wr_id == 4, "not the oldest");
	expect_flushed(&q, q.recv_cq, 5, 1, "the last");
	vt_destroy(&q);
}
