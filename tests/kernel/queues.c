// SPDX-License-Identifier: GPL-2.0
/*
 * Queues with messages in them: chains of requests, full queues, drain, errors,
 * solicited events, several threads. Each request completes once, in order, and
 * each message arrives once, with its content.
 */
#include <linux/delay.h>
#include <linux/sched.h>

#include "verbs_test.h"

#define SLOT 64			/* bytes of a message */
#define SLOTS (VT_BYTES / SLOT)
#define CHAIN 16
#define MOST 512		/* requests that a queue of 32 cannot have */

static void fill_slot(struct vt_pair *p, u32 n)
{
	u8 *slot = p->mem[0] + n % SLOTS * SLOT;
	int i;

	for (i = 0; i < SLOT; i++)
		slot[i] = vt_pattern(n, i);
}

static bool slot_is(struct vt_pair *p, u32 at, u32 n)
{
	const u8 *slot = p->mem[1] + at % SLOTS * SLOT;
	int i;

	for (i = 0; i < SLOT; i++)
		if (slot[i] != vt_pattern(n, i))
			return false;
	return true;
}

static int post_slot_receive(struct vt_pair *p, u32 n)
{
	return vt_post_buffer(p, n, n % SLOTS * SLOT, SLOT, 1 + n % 2);
}

/* Chain of @count SENDs of messages @first on; returns how many were taken, @err how it ended. */
static int post_chain(struct vt_pair *p, u32 first, int count, bool all_signalled, int *err)
{
	struct ib_send_wr wr[CHAIN] = {};
	struct ib_sge sge[CHAIN][3];
	const struct ib_send_wr *bad = NULL;
	int i;

	for (i = 0; i < count; i++) {
		fill_slot(p, first + i);
		wr[i].wr_id = first + i;
		wr[i].opcode = IB_WR_SEND;
		wr[i].sg_list = sge[i];
		wr[i].num_sge = vt_pieces(p, 0, (first + i) % SLOTS * SLOT, SLOT, 1 + i % 3,
					  sge[i]);
		if (all_signalled || i == count - 1)
			wr[i].send_flags = IB_SEND_SIGNALED;
		if (i < count - 1)
			wr[i].next = &wr[i + 1];
	}
	*err = ib_post_send(p->a.qp, wr, &bad);
	if (!*err)
		return count;
	return CHECK(bad >= wr && bad < wr + count, "the refused request is none of the chain") ?
	       bad - wr : 0;
}

/* The next @count completions are of @first, ... in order. */
static void expect_good(struct vt_qp *q, struct ib_cq *cq, u64 first, int count, int opcode)
{
	struct ib_wc wc;
	int i;

	for (i = 0; i < count; i++) {
		if (!CHECK(vt_take(cq, &wc), "%d completions of %d", i, count))
			return;
		CHECK(!wc.status && wc.wr_id == first + i && wc.opcode == opcode && wc.qp == q->qp,
		      "request %llu with status %d, expected was %llu", wc.wr_id, wc.status,
		      first + i);
	}
}

static void expect_none(struct ib_cq *cq, const char *what)
{
	struct ib_wc wc;

	CHECK(!ib_poll_cq(cq, 1, &wc), "%s: request %llu too many, status %d", what, wc.wr_id,
	      wc.status);
}

/** vt_test_chain() - a chain in one call, of which only the last is signalled */
void vt_test_chain(void)
{
	struct vt_pair p;
	int round, i, err;

	if (!vt_pair_create(&p, T_RC))
		return;
	for (round = 0; round < 40; round++) {
		u32 first = round * CHAIN;

		for (i = 0; i < CHAIN; i++)
			CHECK(!post_slot_receive(&p, first + i), "a receive is refused");
		CHECK(post_chain(&p, first, CHAIN, false, &err) == CHAIN, "the chain is cut: %d",
		      err);
		expect_good(&p.b, p.b.recv_cq, first, CHAIN, IB_WC_RECV);
		expect_good(&p.a, p.a.send_cq, first + CHAIN - 1, 1, IB_WC_SEND);
		for (i = 0; i < CHAIN; i++)
			CHECK(slot_is(&p, first + i, first + i), "message %d differs", first + i);
	}
	expect_none(p.a.send_cq, "chain");
	vt_pair_destroy(&p);
}

/* Fill the send queue, at the end with the smallest; returns how many requests it has taken. */
static int fill_queue(struct vt_pair *p, u32 first)
{
	int posted = 0, chain, err;

	for (chain = 3; chain > 0; chain -= 2)
		do {
			posted += post_chain(p, first + posted, chain, true, &err);
		} while (!err && posted < MOST);
	CHECK(err == -ENOMEM && posted >= p->a.cap.max_send_wr, "full after %d of %u: %d", posted,
	      p->a.cap.max_send_wr, err);
	CHECK(!post_chain(p, first + posted, 1, true, &err) && err == -ENOMEM,
	      "a full queue has taken a request: %d", err);
	return posted;
}

/** vt_test_overfull() - what a full queue refuses leaves nothing behind; the rest arrives */
void vt_test_overfull(void)
{
	struct vt_pair p;
	u32 first = 0;
	int round, i, posted;

	if (!vt_pair_create(&p, T_RC))
		return;
	for (round = 0; round < 5; round++, first += posted) {
		/* The peer has no receives yet, so that nothing completes meanwhile. */
		posted = fill_queue(&p, first);
		for (i = 0; i < posted; i++) {
			CHECK(!post_slot_receive(&p, first + i), "a receive is refused");
			expect_good(&p.b, p.b.recv_cq, first + i, 1, IB_WC_RECV);
			CHECK(slot_is(&p, first + i, first + i), "message %d differs", first + i);
		}
		expect_good(&p.a, p.a.send_cq, first, posted, IB_WC_SEND);
		expect_none(p.a.send_cq, "full queue");
		expect_none(p.b.recv_cq, "full queue");
	}
	vt_pair_destroy(&p);
}

/* ---- Errors ---- */

/** struct mistake - a request that fails, and how
 * @name: for the output
 * @opcode: what is posted
 * @bad_lkey: its own memory has no such key
 * @bad_rkey: nor has the peer's
 * @length: bytes; receives have SLOT
 * @sent: status of the request
 * @received: of the first receive of the peer
 */
static const struct mistake {
	const char *name;
	enum ib_wr_opcode opcode;
	bool bad_lkey, bad_rkey;
	u32 length;
	enum ib_wc_status sent, received;
} mistakes[] = {
	{ "WRITE with a wrong rkey", IB_WR_RDMA_WRITE, false, true, SLOT, IB_WC_REM_ACCESS_ERR,
	  IB_WC_WR_FLUSH_ERR },
	{ "READ with a wrong rkey", IB_WR_RDMA_READ, false, true, SLOT, IB_WC_REM_ACCESS_ERR,
	  IB_WC_WR_FLUSH_ERR },
	{ "WRITE beyond the region", IB_WR_RDMA_WRITE, false, false, VT_BYTES, IB_WC_REM_ACCESS_ERR,
	  IB_WC_WR_FLUSH_ERR },
	{ "SEND longer than the receive", IB_WR_SEND, false, false, 2 * SLOT,
	  IB_WC_REM_INV_REQ_ERR, IB_WC_LOC_LEN_ERR },
	{ "SEND with a wrong lkey", IB_WR_SEND, true, false, SLOT, IB_WC_LOC_PROT_ERR, 0 },
};

/* First @status, then flushed: each once and in order. */
static void expect_failed(struct vt_qp *q, struct ib_cq *cq, u64 first, int count,
			  enum ib_wc_status status, const char *what)
{
	struct ib_wc wc;
	int i;

	for (i = 0; i < count; i++) {
		if (!CHECK(vt_take(cq, &wc), "%s: %d completions of %d", what, i, count))
			return;
		CHECK(wc.wr_id == first + i && wc.qp == q->qp &&
		      wc.status == (i ? IB_WC_WR_FLUSH_ERR : status),
		      "%s: request %llu with status %d, expected was %llu with %d", what, wc.wr_id,
		      wc.status, first + i, i ? IB_WC_WR_FLUSH_ERR : status);
	}
	expect_none(cq, what);
}

static void make_mistake(struct vt_pair *p, struct ib_mr *mr, const struct mistake *m)
{
	struct ib_sge sge = { .addr = p->dma[0], .length = m->length,
			      .lkey = m->bad_lkey ? 0x7fff01 : vt.pd->local_dma_lkey };
	struct ib_rdma_wr wr = {
		.wr = { .wr_id = 1, .opcode = m->opcode, .sg_list = &sge, .num_sge = 1,
			.send_flags = IB_SEND_SIGNALED },
		.remote_addr = mr->iova + SLOT,
		.rkey = m->bad_rkey ? mr->rkey + 1 : mr->rkey,
	};
	const struct ib_send_wr *bad;
	int i, err, ms, others = atomic_read(&p->a.others);

	for (i = 0; i < 4; i++)
		CHECK(!post_slot_receive(p, 20 + i), "a receive is refused");
	CHECK(!ib_post_send(p->a.qp, &wr.wr, &bad), "%s is refused", m->name);
	/* Those behind it must not be carried out, whenever they are posted. */
	CHECK(post_chain(p, 2, 4, true, &err) == 4, "requests behind it are refused: %d", err);
	expect_failed(&p->a, p->a.send_cq, 1, 5, m->sent, m->name);
	if (!m->received)	/* the peer has not seen anything */
		CHECK(!vt_go(&p->b, Q_ERR), "the peer not to ERR");
	expect_failed(&p->b, p->b.recv_cq, 20, 4, m->received ?: IB_WC_WR_FLUSH_ERR, m->name);
	for (ms = 0; ms < 5000 && atomic_read(&p->a.others) == others; ms++)
		usleep_range(900, 1100);
	CHECK(atomic_read(&p->a.others) == others + 1, "%s: %d events", m->name,
	      atomic_read(&p->a.others) - others);
	CHECK(vt_state(&p->a) == Q_ERR && vt_state(&p->b) == Q_ERR, "%s: states %d and %d", m->name,
	      vt_state(&p->a), vt_state(&p->b));
}

/** vt_test_mistakes() - the status of what fails, and the flush of what is behind it */
void vt_test_mistakes(void)
{
	struct ib_mr *mr = ib_alloc_mr(vt.pd, IB_MR_TYPE_MEM_REG, VT_BYTES / PAGE_SIZE);
	struct vt_pair p;
	int i;

	if (!CHECK(!IS_ERR(mr), "no MR") || !vt_pair_create(&p, T_RC))
		return;
	if (!vt_register(&p, mr))
		return;
	for (i = 0; i < ARRAY_SIZE(mistakes); i++) {
		make_mistake(&p, mr, &mistakes[i]);
		if (!CHECK(!vt_reconnect(&p), "not to RTS again after: %s", mistakes[i].name))
			break;
	}
	vt_pair_destroy(&p);
	ib_dereg_mr(mr);
}

/* ---- Drain ---- */

struct drained {
	struct ib_cqe cqe;
	int done, flushed;
};

static void on_drained_request(struct ib_cq *cq, struct ib_wc *wc)
{
	struct drained *d = container_of(wc->wr_cqe, struct drained, cqe);

	d->done++;
	d->flushed += wc->status == IB_WC_WR_FLUSH_ERR;
}

/** vt_test_drain() - ib_drain_qp() returns when all that was posted has come back */
void vt_test_drain(void)
{
	struct drained sends = { .cqe.done = on_drained_request }, receives = sends;
	struct ib_send_wr send = { .wr_cqe = &sends.cqe, .opcode = IB_WR_SEND,
				   .send_flags = IB_SEND_SIGNALED };
	struct ib_recv_wr receive = { .wr_cqe = &receives.cqe };
	struct ib_qp_init_attr init = {
		.sq_sig_type = IB_SIGNAL_REQ_WR,
		.qp_type = IB_QPT_RC,
		.cap = { .max_send_wr = 32, .max_recv_wr = 32, .max_send_sge = 1,
			 .max_recv_sge = 1 },
	};
	const struct ib_send_wr *bad;
	const struct ib_recv_wr *bad_receive;
	struct vt_qp q = { .type = T_RC };
	int i;

	init.send_cq = ib_alloc_cq(vt.ib, NULL, 128, 0, IB_POLL_WORKQUEUE);
	if (!CHECK(!IS_ERR(init.send_cq), "no CQ"))
		return;
	init.recv_cq = init.send_cq;
	q.qp = ib_create_qp(vt.pd, &init);
	if (!CHECK(!IS_ERR(q.qp), "no queue pair") ||
	    !CHECK(!vt_connect(&q, q.qp->qp_num), "not to RTS"))
		return;
	/* More sends than receives: some complete, others wait for the receiver. */
	for (i = 0; i < 8; i++)
		CHECK(!ib_post_recv(q.qp, &receive, &bad_receive), "a receive is refused");
	for (i = 0; i < 20; i++)
		CHECK(!ib_post_send(q.qp, &send, &bad), "a send is refused");
	msleep(50);
	ib_drain_qp(q.qp);
	CHECK(sends.done == 20 && sends.flushed == 12, "%d sends, %d of them flushed", sends.done,
	      sends.flushed);
	CHECK(receives.done == 8 && !receives.flushed, "%d receives, %d of them flushed",
	      receives.done, receives.flushed);
	CHECK(!ib_destroy_qp(q.qp), "the queue pair is not destroyed");
	ib_free_cq(init.send_cq);
}

/* ---- Solicited events ---- */

static void send_one(struct vt_pair *p, u32 n, int flags)
{
	struct ib_sge sge[3];
	struct ib_send_wr wr = { .wr_id = n, .opcode = IB_WR_SEND, .sg_list = sge,
				 .send_flags = IB_SEND_SIGNALED | flags };
	const struct ib_send_wr *bad;

	fill_slot(p, n);
	wr.num_sge = vt_pieces(p, 0, n % SLOTS * SLOT, SLOT, 1, sge);
	CHECK(!post_slot_receive(p, n) && !ib_post_send(p->a.qp, &wr, &bad), "work is refused");
	expect_good(&p->a, p->a.send_cq, n, 1, IB_WC_SEND);
}

/** vt_test_solicited() - only a solicited message gives an event if no other was asked for */
void vt_test_solicited(void)
{
	struct vt_pair p;
	int ms;

	if (!vt_pair_create(&p, T_RC))
		return;
	CHECK(!ib_req_notify_cq(p.b.recv_cq, IB_CQ_SOLICITED), "the CQ is not armed");
	send_one(&p, 0, 0);
	msleep(20);
	CHECK(!atomic_read(&p.b.events), "an event for a message that is not solicited");
	send_one(&p, 1, IB_SEND_SOLICITED);
	for (ms = 0; ms < 5000 && !atomic_read(&p.b.events); ms++)
		usleep_range(900, 1100);
	CHECK(atomic_read(&p.b.events) == 1, "%d events for a solicited message",
	      atomic_read(&p.b.events));
	expect_good(&p.b, p.b.recv_cq, 0, 2, IB_WC_RECV);
	vt_pair_destroy(&p);
}

/* ---- Threads ---- */

#define SENDERS 3
#define POLLERS 2
#define EACH 400

static struct vt_pair shared;
static u8 completed[SENDERS * EACH];
static atomic_t left;		/* sends not completed */

/* Message n of a sender is sender * EACH + n, which its completion names. */
static int sender(void *arg)
{
	u32 id = (long)arg * EACH, end = id + EACH;
	unsigned long until = jiffies + 60 * HZ;

	while (id < end && time_before(jiffies, until)) {
		struct ib_sge sge = { .addr = shared.dma[0] + id % SLOTS * SLOT, .length = SLOT,
				      .lkey = vt.pd->local_dma_lkey };
		struct ib_send_wr wr = { .wr_id = id, .opcode = IB_WR_SEND_WITH_IMM,
					 .sg_list = &sge, .num_sge = 1,
					 .send_flags = IB_SEND_SIGNALED,
					 .ex.imm_data = cpu_to_be32(id) };
		const struct ib_send_wr *bad;
		int err = ib_post_send(shared.a.qp, &wr, &bad);

		if (!err)
			id++;
		else if (!CHECK(err == -ENOMEM, "a send: %d", err))
			break;
		else
			usleep_range(20, 50);
	}
	CHECK(id == end, "%u sends were not posted", end - id);
	vt_thread_ended();
	return 0;
}

static int poller(void *unused)
{
	unsigned long until = jiffies + 60 * HZ;

	while (atomic_read(&left) > 0 && time_before(jiffies, until)) {
		struct ib_wc wc[3];
		int n = ib_poll_cq(shared.a.send_cq, ARRAY_SIZE(wc), wc), i;

		for (i = 0; i < n; i++) {
			CHECK(!wc[i].status && wc[i].wr_id < SENDERS * EACH &&
			      !xchg(&completed[wc[i].wr_id], 1), "request %llu with status %d",
			      wc[i].wr_id, wc[i].status);
			atomic_dec(&left);
		}
		if (n <= 0)
			usleep_range(20, 50);
	}
	vt_thread_ended();
	return 0;
}

/* Takes all messages, as those of each sender come in order. */
static int receiver(void *unused)
{
	u32 next[SENDERS] = {}, posted = 0, got = 0, id;
	struct ib_wc wc;

	while (posted < 24)
		CHECK(!post_slot_receive(&shared, posted++), "a receive is refused");
	for (; got < SENDERS * EACH; got++) {
		if (!CHECK(vt_take(shared.b.recv_cq, &wc), "%u messages have come", got))
			break;
		id = be32_to_cpu(wc.ex.imm_data);
		if (!CHECK(!wc.status && wc.wr_id == got && id < SENDERS * EACH,
			   "receive %llu with status %d, message %u", wc.wr_id, wc.status, id))
			break;
		CHECK(id % EACH == next[id / EACH]++, "message %u is out of order", id);
		CHECK(slot_is(&shared, got, id % SLOTS), "message %u differs", id);
		if (posted < SENDERS * EACH)
			CHECK(!post_slot_receive(&shared, posted++), "a receive is refused");
	}
	vt_thread_ended();
	return 0;
}

/** vt_test_senders() - threads that post to, poll and receive from the same queues */
void vt_test_senders(void)
{
	static int (*const threads[])(void *) = { sender, sender, sender, poller, poller,
						  receiver };
	u32 i;

	BUILD_BUG_ON(ARRAY_SIZE(threads) != SENDERS + POLLERS + 1);
	if (!vt_pair_create(&shared, T_RC))
		return;
	for (i = 0; i < SLOTS; i++)
		fill_slot(&shared, i);
	memset(completed, 0, sizeof(completed));
	atomic_set(&left, SENDERS * EACH);
	vt_run_threads(threads, ARRAY_SIZE(threads));
	CHECK(!atomic_read(&left), "%d sends have not completed", atomic_read(&left));
	expect_none(shared.a.send_cq, "threads");
	expect_none(shared.b.recv_cq, "threads");
	vt_pair_destroy(&shared);
}
