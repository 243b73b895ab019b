// SPDX-License-Identifier: GPL-2.0
/*
 * Makes connected queue pairs with work outstanding, then tells what became of
 * them: for tests that let the device misbehave meanwhile.
 *
 * Each queue pair is in RTS, with receives and sends posted and both of its
 * CQs armed. Its peer is a number that nobody has, without a timeout, so that
 * by itself nothing ever happens. A line "qp NUMBER" for each, then "ready".
 * SIGUSR1 makes it report, one line a queue pair:
 *
 *	qp 7 state=ERR events=QP_FATAL send=12,5,5 recv=5,5,5 wakeups=1,1
 *
 * with the statuses of all completions (enum ibv_wc_status) and how often the
 * event channel named its send and its receive CQ; then, if there were any,
 * "device events=..." and the end line. Events of a CQ are given as CQ_ERR/send.
 * Before the end, work is posted to those in ERR, and must come back flushed.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <getopt.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "lib/verbs_util.h"

#define NOBODY 0xfffff0		/* number of the peer */
#define FLUSH_SECONDS 30

enum { SEND, RECV, QUEUES, WORK = 3, TEXT = 256 };

static const char *const queue_names[QUEUES] = { "send", "recv" };

/* One queue pair and what happened to it. */
struct watched {
	struct ibv_qp *qp;
	struct ibv_cq *cq[QUEUES];
	int wakeups[QUEUES];
	char events[TEXT];
};

struct watch {
	struct vu_device dev;
	struct ibv_pd *pd;
	struct ibv_mr *mr;
	struct ibv_comp_channel *channel;
	struct watched *qps;
	int count;
	char device_events[TEXT];
	char buffer[4096];
};

static const char *event_name(enum ibv_event_type type)
{
	switch (type) {
	case IBV_EVENT_CQ_ERR: return "CQ_ERR";
	case IBV_EVENT_QP_FATAL: return "QP_FATAL";
	case IBV_EVENT_QP_REQ_ERR: return "QP_REQ_ERR";
	case IBV_EVENT_QP_ACCESS_ERR: return "QP_ACCESS_ERR";
	case IBV_EVENT_SQ_DRAINED: return "SQ_DRAINED";
	case IBV_EVENT_DEVICE_FATAL: return "DEVICE_FATAL";
	case IBV_EVENT_PORT_ACTIVE: return "PORT_ACTIVE";
	case IBV_EVENT_PORT_ERR: return "PORT_ERR";
	default: return ibv_event_type_str(type);
	}
}

/* Add to a list of words; one that does not fit is left out. */
static void add(char *list, const char *word, const char *of)
{
	size_t used = strlen(list);

	snprintf(list + used, TEXT - used, "%s%s%s%s", used ? "," : "", word,
		 of ? "/" : "", of ? of : "");
}

static int post_work(struct watch *w, struct watched *q)
{
	struct ibv_sge sge = { .addr = (uintptr_t)w->buffer, .length = 64,
			       .lkey = w->mr->lkey };
	struct ibv_recv_wr recv = { .sg_list = &sge, .num_sge = 1 }, *bad_recv;
	struct ibv_send_wr send = { .sg_list = &sge, .num_sge = 1,
				    .opcode = IBV_WR_SEND,
				    .send_flags = IBV_SEND_SIGNALED }, *bad_send;

	for (int i = 0; i < WORK; i++) {
		recv.wr_id = send.wr_id = (uint64_t)i;
		if (ibv_post_recv(q->qp, &recv, &bad_recv) ||
		    ibv_post_send(q->qp, &send, &bad_send))
			return -1;
	}
	return 0;
}

static int to_rts(struct watch *w, struct ibv_qp *qp)
{
	struct ibv_qp_attr attr = {
		.qp_state = IBV_QPS_INIT, .port_num = w->dev.port_num,
		.path_mtu = IBV_MTU_1024, .dest_qp_num = NOBODY,
		.max_dest_rd_atomic = 1, .max_rd_atomic = 1, .min_rnr_timer = 12,
		.retry_cnt = 7, .rnr_retry = 7,
		.ah_attr = { .is_global = 1, .port_num = w->dev.port_num,
			     .grh = { .dgid = w->dev.peer, .hop_limit = 64,
				      .sgid_index = (uint8_t)w->dev.gid_index } },
	};

	if (ibv_modify_qp(qp, &attr, IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT |
			  IBV_QP_ACCESS_FLAGS))
		return -1;
	attr.qp_state = IBV_QPS_RTR;
	if (ibv_modify_qp(qp, &attr, IBV_QP_STATE | IBV_QP_AV | IBV_QP_PATH_MTU |
			  IBV_QP_DEST_QPN | IBV_QP_RQ_PSN |
			  IBV_QP_MAX_DEST_RD_ATOMIC | IBV_QP_MIN_RNR_TIMER))
		return -1;
	attr.qp_state = IBV_QPS_RTS;
	return ibv_modify_qp(qp, &attr, IBV_QP_STATE | IBV_QP_TIMEOUT | IBV_QP_RETRY_CNT |
			     IBV_QP_RNR_RETRY | IBV_QP_SQ_PSN |
			     IBV_QP_MAX_QP_RD_ATOMIC);
}

static int make_one(struct watch *w, int index)
{
	struct watched *q = &w->qps[index];
	struct ibv_qp_init_attr init = {
		.qp_type = IBV_QPT_RC, .qp_context = q,
		.cap = { .max_send_wr = 8, .max_recv_wr = 8, .max_send_sge = 1,
			 .max_recv_sge = 1 },
	};

	for (int i = 0; i < QUEUES; i++) {
		/* The vectors in turn. */
		int vector = index % w->dev.ctx->num_comp_vectors;

		q->cq[i] = ibv_create_cq(w->dev.ctx, 16, q, w->channel, vector);
		if (!q->cq[i] || ibv_req_notify_cq(q->cq[i], 0))
			return -1;
	}
	init.send_cq = q->cq[SEND];
	init.recv_cq = q->cq[RECV];
	q->qp = ibv_create_qp(w->pd, &init);
	if (!q->qp || to_rts(w, q->qp) || post_work(w, q))
		return -1;
	printf("qp %u\n", q->qp->qp_num);
	return 0;
}

static void nonblocking(int fd)
{
	fcntl(fd, F_SETFL, fcntl(fd, F_GETFL) | O_NONBLOCK);
}

static int make_all(struct watch *w)
{
	w->pd = ibv_alloc_pd(w->dev.ctx);
	w->channel = ibv_create_comp_channel(w->dev.ctx);
	if (!w->pd || !w->channel)
		return -1;
	w->mr = ibv_reg_mr(w->pd, w->buffer, sizeof(w->buffer), IBV_ACCESS_LOCAL_WRITE);
	w->qps = calloc((size_t)w->count, sizeof(*w->qps));
	if (!w->mr || !w->qps)
		return -1;
	nonblocking(w->dev.ctx->async_fd);
	nonblocking(w->channel->fd);
	for (int i = 0; i < w->count; i++)
		if (make_one(w, i))
			return -1;
	return 0;
}

/* Which of its queues a CQ serves. */
static int queue_of(const struct watched *q, const struct ibv_cq *cq)
{
	return cq == q->cq[SEND] ? SEND : RECV;
}

static void take_async(struct watch *w)
{
	struct ibv_async_event event;

	while (!ibv_get_async_event(w->dev.ctx, &event)) {
		const char *name = event_name(event.event_type);
		struct watched *q;

		switch (event.event_type) {
		case IBV_EVENT_QP_FATAL:
		case IBV_EVENT_QP_REQ_ERR:
		case IBV_EVENT_QP_ACCESS_ERR:
		case IBV_EVENT_SQ_DRAINED:
			q = event.element.qp->qp_context;
			add(q->events, name, NULL);
			break;
		case IBV_EVENT_CQ_ERR:
			q = event.element.cq->cq_context;
			add(q->events, name, queue_names[queue_of(q, event.element.cq)]);
			break;
		default:
			add(w->device_events, name, NULL);
		}
		ibv_ack_async_event(&event);
	}
}

static void take_wakeups(struct watch *w)
{
	struct ibv_cq *cq;
	void *context;

	while (!ibv_get_cq_event(w->channel, &cq, &context)) {
		struct watched *q = context;

		q->wakeups[queue_of(q, cq)]++;
		ibv_ack_cq_events(cq, 1);
	}
}

static void print_completions(struct watched *q, int queue)
{
	struct ibv_wc wc;
	char text[TEXT] = "";
	char status[16];

	while (ibv_poll_cq(q->cq[queue], 1, &wc) > 0) {
		snprintf(status, sizeof(status), "%d", wc.status);
		add(text, status, NULL);
	}
	printf(" %s=%s", queue_names[queue], text);
}

static void report(struct watch *w)
{
	take_async(w);
	take_wakeups(w);
	for (int i = 0; i < w->count; i++) {
		struct watched *q = &w->qps[i];
		struct ibv_qp_init_attr init;
		struct ibv_qp_attr attr;
		int err = ibv_query_qp(q->qp, &attr, IBV_QP_STATE, &init);

		printf("qp %u state=%s events=%s", q->qp->qp_num,
		       err ? vu_errno_name(err) : vu_state_name(attr.qp_state), q->events);
		print_completions(q, SEND);
		print_completions(q, RECV);
		printf(" wakeups=%d,%d\n", q->wakeups[SEND], q->wakeups[RECV]);
	}
	if (w->device_events[0])
		printf("device events=%s\n", w->device_events);
	fflush(stdout);
}

/*
 * The device has put the queue pair into ERR, and the library does not know: what is
 * posted now must come back flushed once the library is told by ibv_modify_qp().
 */
static int work_late(struct watch *w, struct watched *q)
{
	struct ibv_qp_attr attr = { .qp_state = IBV_QPS_ERR };
	time_t end = time(NULL) + FLUSH_SECONDS;
	struct ibv_wc wc;
	int flushed[QUEUES] = { 0 };

	if (post_work(w, q) || ibv_modify_qp(q->qp, &attr, IBV_QP_STATE)) {
		printf("QP %u: no work in ERR\n", q->qp->qp_num);
		return 1;
	}
	do {
		for (int i = 0; i < QUEUES; i++)
			while (ibv_poll_cq(q->cq[i], 1, &wc) > 0)
				flushed[i] += wc.status == IBV_WC_WR_FLUSH_ERR;
	} while ((flushed[SEND] < WORK || flushed[RECV] < WORK) && time(NULL) < end);
	if (flushed[SEND] == WORK && flushed[RECV] == WORK)
		return 0;
	printf("QP %u: of work posted in ERR, %d sends and %d receives were flushed\n",
	       q->qp->qp_num, flushed[SEND], flushed[RECV]);
	return 1;
}

static int all_work_late(struct watch *w)
{
	struct ibv_qp_init_attr init;
	struct ibv_qp_attr attr;
	int failed = 0;

	for (int i = 0; i < w->count && !w->device_events[0]; i++)
		if (!ibv_query_qp(w->qps[i].qp, &attr, IBV_QP_STATE, &init) &&
		    attr.qp_state == IBV_QPS_ERR)
			failed += work_late(w, &w->qps[i]);
	return failed;
}

static int destroy_all(struct watch *w)
{
	int failed = 0;

	for (int i = 0; i < w->count; i++) {
		struct watched *q = &w->qps[i];

		failed += ibv_destroy_qp(q->qp) != 0;
		failed += ibv_destroy_cq(q->cq[SEND]) != 0;
		failed += ibv_destroy_cq(q->cq[RECV]) != 0;
	}
	failed += ibv_dereg_mr(w->mr) != 0;
	failed += ibv_destroy_comp_channel(w->channel) != 0;
	failed += ibv_dealloc_pd(w->pd) != 0;
	return failed;
}

int main(int argc, char **argv)
{
	static struct watch w = { .count = 1 };
	const char *name = NULL;
	sigset_t signals;
	int option, got, failed;

	while ((option = getopt(argc, argv, "d:n:")) != -1) {
		if (option == 'd')
			name = optarg;
		else if (option == 'n')
			w.count = atoi(optarg);
		else
			return 2;
	}
	sigemptyset(&signals);
	sigaddset(&signals, SIGUSR1);
	sigprocmask(SIG_BLOCK, &signals, NULL);

	if (vu_open(&w.dev, name, -1, NULL))
		return 2;
	if (make_all(&w)) {
		fprintf(stderr, "ae-watch: setting up: %s\n", strerror(errno));
		return 2;
	}
	printf("ready\n");
	fflush(stdout);
	sigwait(&signals, &got);
	report(&w);
	failed = all_work_late(&w) + destroy_all(&w);
	vu_close(&w.dev);
	printf("ae-watch: %s %d\n", failed ? "FAIL" : "PASS", failed);
	return failed != 0;
}
