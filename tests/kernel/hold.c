// SPDX-License-Identifier: GPL-2.0
/*
 * A consumer that lives through what happens to its device, as nvme-rdma and
 * others do. A thread holds queue pairs with work outstanding, CQs that a
 * workqueue polls, an MR and an AH, and makes and destroys queue pairs all the
 * time, so that a command is in flight whenever something happens. When ib_core
 * takes the device away, each queue pair is drained and all is given back; each
 * request must have come back once, as flushed, and nothing may take long. The
 * next device is used in the same way. Parameter hold=1 of the module.
 */
#include <linux/delay.h>
#include <linux/kthread.h>
#include <linux/ktime.h>

#include "verbs_test.h"

#define HELD 3		/* queue pairs */
#define RECVS 8		/* outstanding in each */
#define LIMIT_MS 15000	/* for any step: the driver's deadline, and more */

/** struct held_qp - a queue pair with work outstanding
 * @qp: the queue pair, or NULL
 * @cq: of both queues
 * @cqe: told of each receive
 * @flushed: receives that have come back as flushed
 */
struct held_qp {
	struct ib_qp *qp;
	struct ib_cq *cq;
	struct ib_cqe cqe;
	atomic_t flushed;
};

static struct {
	struct task_struct *task;
	struct ib_event_handler handler;
	atomic_t fatal;		/* events that the device is lost */
	struct held_qp qps[HELD];
	struct ib_mr *mr;
	struct ib_ah *ah;
	bool held;
	u64 rounds, refused;
	s64 slowest_ms;
} hold;

static void on_event(struct ib_event_handler *handler, struct ib_event *event)
{
	if (event->event == IB_EVENT_DEVICE_FATAL)
		atomic_inc(&hold.fatal);
}

static void on_receive(struct ib_cq *cq, struct ib_wc *wc)
{
	struct held_qp *h = container_of(wc->wr_cqe, struct held_qp, cqe);

	CHECK(wc->status == IB_WC_WR_FLUSH_ERR, "a receive ends with status %d", wc->status);
	atomic_inc(&h->flushed);
}

/* ---- What is held ---- */

static int to_rts(struct ib_qp *qp)
{
	struct vt_qp q = { .qp = qp, .type = T_RC };

	return vt_bring(&q, Q_RTS);
}

static int hold_qp(struct held_qp *h)
{
	struct ib_qp_init_attr init = {
		.sq_sig_type = IB_SIGNAL_ALL_WR,
		.qp_type = IB_QPT_RC,
		/* One request more in each direction, to drain with. */
		.cap = { .max_send_wr = 4, .max_recv_wr = RECVS + 1, .max_send_sge = 1,
			 .max_recv_sge = 1 },
	};
	struct ib_recv_wr wr = { .wr_cqe = &h->cqe };
	int i, err;

	atomic_set(&h->flushed, 0);
	h->cqe.done = on_receive;
	h->cq = ib_alloc_cq(vt.ib, h, 2 * RECVS, 0, IB_POLL_WORKQUEUE);
	if (IS_ERR(h->cq))
		return PTR_ERR(h->cq);
	init.send_cq = h->cq;
	init.recv_cq = h->cq;
	h->qp = ib_create_qp(vt.pd, &init);
	if (IS_ERR(h->qp)) {
		err = PTR_ERR(h->qp);
		h->qp = NULL;
		ib_free_cq(h->cq);
		return err;
	}
	err = to_rts(h->qp);
	for (i = 0; !err && i < RECVS; i++)
		err = ib_post_recv(h->qp, &wr, NULL);
	return err;
}

static void give_back_qp(struct held_qp *h)
{
	if (!h->qp)
		return;
	ib_drain_qp(h->qp);
	CHECK(!hold.held || atomic_read(&h->flushed) == RECVS, "%d receives of %d came back",
	      atomic_read(&h->flushed), RECVS);
	CHECK(!ib_destroy_qp(h->qp), "the queue pair is not destroyed");
	ib_free_cq(h->cq);
	h->qp = NULL;
}

/* All that there is; also what an unfinished set_up() has left. */
static void give_back(void)
{
	int i;

	for (i = 0; i < HELD; i++)
		give_back_qp(&hold.qps[i]);
	if (!IS_ERR_OR_NULL(hold.ah))
		rdma_destroy_ah(hold.ah, RDMA_DESTROY_AH_SLEEPABLE);
	if (!IS_ERR_OR_NULL(hold.mr))
		CHECK(!ib_dereg_mr(hold.mr), "the MR stays");
	if (!IS_ERR_OR_NULL(vt.pd))
		ib_dealloc_pd(vt.pd);
	vt.pd = NULL;
	hold.ah = NULL;
	hold.mr = NULL;
	hold.held = false;
}

/* A new device may still be without addresses, or be lost at once; then later. */
static bool set_up(void)
{
	struct rdma_ah_attr path;
	int i;

	if (vt_find_gid())
		return false;
	path = vt_path();
	vt.pd = ib_alloc_pd(vt.ib, 0);
	if (IS_ERR(vt.pd))
		return false;
	hold.mr = ib_alloc_mr(vt.pd, IB_MR_TYPE_MEM_REG, 16);
	hold.ah = rdma_create_ah(vt.pd, &path, RDMA_CREATE_AH_SLEEPABLE);
	if (IS_ERR(hold.mr) || IS_ERR(hold.ah))
		return false;
	for (i = 0; i < HELD; i++)
		if (hold_qp(&hold.qps[i]))
			return false;
	return true;
}

/* ---- The thread ---- */

static void took(ktime_t since, const char *what)
{
	s64 ms = ktime_ms_delta(ktime_get(), since);

	hold.slowest_ms = max(hold.slowest_ms, ms);
	CHECK(ms < LIMIT_MS, "%s took %lld ms", what, ms);
}

/* Whether these succeed is not the question: that they return is. */
static void churn(void)
{
	ktime_t since = ktime_get();
	struct vt_qp q;
	int err;

	err = vt_create(&q, T_RC, NULL);
	took(since, "creation");
	hold.rounds++;
	if (err) {
		hold.refused++;
		msleep(20);
		return;
	}
	since = ktime_get();
	if (!vt_bring(&q, Q_RTS))
		vt_post_recvs(&q, 0, RECVS);
	took(since, "modification");
	since = ktime_get();
	vt_destroy(&q);
	took(since, "destruction");
}

static int holder(void *unused)
{
	while (!kthread_should_stop()) {
		if (hold.held) {
			churn();
			continue;
		}
		hold.held = set_up();
		if (hold.held) {
			pr_info("verbs-test: holding\n");
			continue;
		}
		give_back();
		msleep(50);
	}
	return 0;
}

/**
 * vt_hold_begin() - begin to use the device
 *
 * Return: 0 or a negative errno.
 */
int vt_hold_begin(void)
{
	hold.rounds = 0;
	hold.refused = 0;
	hold.slowest_ms = 0;
	atomic_set(&hold.fatal, 0);
	INIT_IB_EVENT_HANDLER(&hold.handler, vt.ib, on_event);
	ib_register_event_handler(&hold.handler);
	hold.task = kthread_run(holder, NULL, "verbs-test/hold");
	if (!IS_ERR(hold.task))
		return 0;
	ib_unregister_event_handler(&hold.handler);
	return PTR_ERR(hold.task);
}

/** vt_hold_end() - the device goes: give back all that is held, and say what was seen */
void vt_hold_end(void)
{
	bool held;
	ktime_t since;

	kthread_stop(hold.task);
	held = hold.held;
	since = ktime_get();
	give_back();
	took(since, "giving back");
	ib_unregister_event_handler(&hold.handler);
	pr_info("verbs-test: given back: held %d, fatal %d, rounds %llu, refused %llu, slowest %lld ms\n",
		held, atomic_read(&hold.fatal), hold.rounds, hold.refused, hold.slowest_ms);
}
