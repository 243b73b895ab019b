// SPDX-License-Identifier: GPL-2.0
/*
 * Many threads at the same queue pairs: modified, queried, posted to and polled
 * at once, and made and destroyed between. Whoever succeeds last decides what
 * is queried in the end; nothing hangs, nothing is lost.
 */
#include <linux/delay.h>
#include <linux/kthread.h>
#include <linux/random.h>
#include <linux/sched/task.h>

#include "verbs_test.h"

#define SHARED 3	/* queue pairs that all use */
#define ROUNDS 1500
#define SETTERS 2

static struct vt_qp shared[SHARED];
static struct rw_semaphore shared_lock[SHARED];	/* written: it is made anew */
static struct ib_qp *set_qp;
static u32 last_value[SETTERS];
static atomic_t running;
static struct completion all_ended;

/** vt_thread_ended() - the last a thread of vt_run_threads() does */
void vt_thread_ended(void)
{
	if (atomic_dec_and_test(&running))
		complete(&all_ended);
}

/**
 * vt_run_threads() - run functions at once, until all have returned
 * @functions: what they run, with 0, 1, ... as argument
 * @count: how many, at most VT_THREADS
 */
void vt_run_threads(int (*const *functions)(void *), long count)
{
	struct task_struct *task[VT_THREADS];
	long i;

	init_completion(&all_ended);
	atomic_set(&running, count);
	for (i = 0; i < count; i++) {
		task[i] = kthread_create(functions[i], (void *)i, "verbs-test/%ld", i);
		if (!CHECK(!IS_ERR(task[i]), "no thread"))
			vt_thread_ended();
		else
			wake_up_process(get_task_struct(task[i]));
	}
	CHECK(wait_for_completion_timeout(&all_ended, 120 * HZ), "the threads hang");
	for (i = 0; i < count; i++) {
		if (IS_ERR(task[i]))
			continue;
		/* It is out of this module's code then. */
		kthread_stop(task[i]);
		put_task_struct(task[i]);
	}
}

/* ---- Everything at once ---- */

static void poll_all(struct vt_qp *q)
{
	struct ib_wc wc[4];

	while (ib_poll_cq(q->send_cq, ARRAY_SIZE(wc), wc) > 0)
		;
	while (ib_poll_cq(q->recv_cq, ARRAY_SIZE(wc), wc) > 0)
		;
}

/* One operation; others do the like to the same queue pair. Refusals are no failures here. */
static void something(struct vt_qp *q, u32 dice)
{
	struct ib_qp_attr attr = vt_values(q->qp->qp_num, dice & 1);
	static const u8 to[] = { Q_RESET, Q_INIT, Q_RTR, Q_RTS, Q_RTS, Q_SQD, Q_RTS, Q_ERR };
	int state;

	switch (dice >> 8 & 3) {
	case 0:
		vt_post_sends(q, dice, 3, NULL);
		vt_post_recvs(q, dice, 3);
		poll_all(q);
		break;
	case 1:
		state = vt_state(q);
		CHECK(state >= Q_RESET && state <= Q_ERR && state != Q_SQE, "state %d", state);
		ib_req_notify_cq(q->recv_cq, IB_CQ_NEXT_COMP);
		break;
	default:
		attr.qp_state = to[dice >> 16 & 7];
		ib_modify_qp(q->qp, &attr, dice & 2 ? A_STATE : qp_arrival_mask(attr.qp_state, T_RC));
	}
}

/* With the device's events, at least until one of them has arrived. */
static bool goes_on(int round)
{
	return round < ROUNDS ||
	       (vt_events && !atomic_read(&vt_errors) && round < 100 * ROUNDS);
}

static int worker(void *unused)
{
	int i;

	for (i = 0; goes_on(i); i++) {
		u32 dice = get_random_u32();
		int n = dice % SHARED;

		if ((dice >> 24) < 4) {
			down_write(&shared_lock[n]);
			vt_destroy(&shared[n]);
			CHECK(!vt_create(&shared[n], T_RC, NULL), "no queue pair");
			up_write(&shared_lock[n]);
			continue;
		}
		down_read(&shared_lock[n]);
		something(&shared[n], dice);
		up_read(&shared_lock[n]);
	}
	vt_thread_ended();
	return 0;
}

/* An error of the device may come between; then once more. */
static bool begin_again(struct vt_qp *q)
{
	int tries = vt_events ? 20 : 1;

	while (tries--)
		if (!vt_go(q, Q_RESET) && !vt_bring(q, Q_RTS))
			return true;
	return false;
}

static void all_at_once(void)
{
	static int (*const workers[])(void *) = { worker, worker, worker, worker, worker, worker };
	int i;

	for (i = 0; i < SHARED; i++) {
		init_rwsem(&shared_lock[i]);
		if (!CHECK(!vt_create(&shared[i], T_RC, NULL), "no queue pair"))
			return;
	}
	vt_run_threads(workers, ARRAY_SIZE(workers));
	/* Each can still begin again. */
	for (i = 0; i < SHARED; i++) {
		CHECK(begin_again(&shared[i]), "not to RTS afterwards");
		poll_all(&shared[i]);
		vt_destroy(&shared[i]);
	}
}

/* ---- No update is lost ---- */

/* Each sets an attribute of its own on the same queue pair, by RTS to RTS. */
static int setter(void *arg)
{
	long which = (long)arg;
	u32 i;

	for (i = 1; i <= ROUNDS; i++) {
		struct ib_qp_attr attr = { .qp_state = IB_QPS_RTS };
		u32 value = which ? i % 32 : (i & 1 ? IB_ACCESS_REMOTE_READ :
					      IB_ACCESS_REMOTE_WRITE | IB_ACCESS_REMOTE_READ);
		int err;

		attr.min_rnr_timer = value;
		attr.qp_access_flags = value;
		err = ib_modify_qp(set_qp, &attr, A_STATE | (which ? A_RNR_TIMER : A_ACCESS));
		if (CHECK(!err, "setter %ld: %d", which, err))
			last_value[which] = value;
	}
	vt_thread_ended();
	return 0;
}

static void no_update_lost(void)
{
	static int (*const setters[SETTERS])(void *) = { setter, setter };
	struct ib_qp_init_attr init;
	struct ib_qp_attr attr;
	struct vt_qp q;

	if (!CHECK(!vt_create(&q, T_RC, NULL) && !vt_bring(&q, Q_RTS), "no queue pair in RTS"))
		return;
	set_qp = q.qp;
	vt_run_threads(setters, SETTERS);
	CHECK(!ib_query_qp(q.qp, &attr, -1, &init) && attr.qp_access_flags == last_value[0] &&
	      attr.min_rnr_timer == last_value[1], "rights 0x%x and timer %u, set last were 0x%x and %u",
	      attr.qp_access_flags, attr.min_rnr_timer, last_value[0], last_value[1]);
	vt_destroy(&q);
}

/** vt_test_threads() - concurrent use of queue pairs */
void vt_test_threads(void)
{
	if (!vt_events)
		no_update_lost();
	all_at_once();
	/* Without the device's, a slow machine has one when a request has waited for too long. */
	if (vt_events)
		CHECK(atomic_read(&vt_errors), "no error of a queue pair was told");
}
