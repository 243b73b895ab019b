// SPDX-License-Identifier: GPL-2.0
/*
 * Makes queue pairs, each connected to itself, and keeps them while the test
 * changes what is below them (traffic classes, MTU). Used by tests/test_qos.py,
 * which watches the device's trace and speaks by signals:
 *
 *	USR1	report: state of each queue pair, and events about it
 *	USR2	take those that are on their way on to RTS
 *	TERM	take all to ERR; every request must complete, exactly once
 */
#define _GNU_SOURCE
#include "lib/verbs_util.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define QPS_MAX 64
#define DEPTH 8
#define BUFFER_SIZE 4096
/* An emulated machine is slow. */
#define FLUSH_SECONDS 30

/** struct held - a queue pair as it was asked for, and what has become of it */
struct held {
	enum ibv_qp_type type;
	union ibv_gid from;
	uint8_t traffic_class;
	int state;
	struct ibv_qp *qp;
	int sends;		/* outstanding */
	int receives;
	int fatal;		/* events */
	bool failed;		/* a request: nothing is posted any more */
};

static struct held held[QPS_MAX];
static int count;
static struct {
	struct vu_device dev;
	struct ibv_pd *pd;
	struct ibv_cq *cq;
	struct ibv_mr *mr;
} rig;
static char buffer[BUFFER_SIZE];
static int failures;

static void fail(const struct held *h, const char *what, int err)
{
	printf("qp %u %s: %s\n", h->qp ? h->qp->qp_num : 0, what,
	       vu_errno_name(err));
	failures++;
}

/* The RoCE v2 GID of an address. */
static int find_gid(const union ibv_gid *gid)
{
	struct ibv_gid_entry entry;

	for (int i = 0; i < rig.dev.port.gid_tbl_len; i++)
		if (!ibv_query_gid_ex(rig.dev.ctx, 1, (uint32_t)i, &entry, 0) &&
		    entry.gid_type == IBV_GID_TYPE_ROCE_V2 &&
		    !memcmp(&entry.gid, gid, sizeof(*gid)))
			return i;
	return -1;
}

static int to_init(struct held *h)
{
	struct ibv_qp_attr attr = { .qp_state = IBV_QPS_INIT, .port_num = 1,
				    .qkey = 0x11111111 };
	int mask = IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT;

	mask |= h->type == IBV_QPT_RC ? IBV_QP_ACCESS_FLAGS : IBV_QP_QKEY;
	return ibv_modify_qp(h->qp, &attr, mask);
}

static int to_rtr(struct held *h)
{
	struct ibv_qp_attr attr = {
		.qp_state = IBV_QPS_RTR, .path_mtu = IBV_MTU_1024,
		.dest_qp_num = h->qp->qp_num, .min_rnr_timer = 12,
		.ah_attr = { .is_global = 1, .port_num = 1,
			     .grh = { .dgid = h->from, .hop_limit = 64,
				      .traffic_class = h->traffic_class,
				      .sgid_index =
					(uint8_t)find_gid(&h->from) } },
	};
	int mask = IBV_QP_STATE;

	if (h->type == IBV_QPT_RC)
		mask |= IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_DEST_QPN |
			IBV_QP_RQ_PSN | IBV_QP_MAX_DEST_RD_ATOMIC |
			IBV_QP_MIN_RNR_TIMER;
	return ibv_modify_qp(h->qp, &attr, mask);
}

static int to_rts(struct held *h)
{
	struct ibv_qp_attr attr = { .qp_state = IBV_QPS_RTS, .timeout = 18,
				    .retry_cnt = 7, .rnr_retry = 7 };
	int mask = IBV_QP_STATE | IBV_QP_SQ_PSN;

	if (h->type == IBV_QPT_RC)
		mask |= IBV_QP_TIMEOUT | IBV_QP_RETRY_CNT | IBV_QP_RNR_RETRY |
			IBV_QP_MAX_QP_RD_ATOMIC;
	return ibv_modify_qp(h->qp, &attr, mask);
}

static int to_sqd(struct held *h)
{
	struct ibv_qp_attr attr = { .qp_state = IBV_QPS_SQD };

	return ibv_modify_qp(h->qp, &attr, IBV_QP_STATE);
}

/* Go from one state to another by all those between. */
static void advance(struct held *h, int from, int to)
{
	static int (*const steps[])(struct held *h) = {
		[IBV_QPS_INIT] = to_init, [IBV_QPS_RTR] = to_rtr,
		[IBV_QPS_RTS] = to_rts, [IBV_QPS_SQD] = to_sqd,
	};
	int err;

	for (int state = from + 1; state <= to; state++) {
		err = steps[state](h);
		if (err) {
			fail(h, vu_state_name(state), err);
			return;
		}
	}
}

/* From where it is held on to RTS. */
static void go_on(struct held *h)
{
	struct ibv_qp_attr attr = { .qp_state = IBV_QPS_RTS };
	int err;

	if (h->state == IBV_QPS_SQD) {
		err = ibv_modify_qp(h->qp, &attr, IBV_QP_STATE);
		if (err)
			fail(h, "SQD to RTS", err);
	} else {
		advance(h, h->state, IBV_QPS_RTS);
	}
	h->state = IBV_QPS_RTS;
}

static void post(struct held *h, int index)
{
	struct ibv_sge sge = { (uintptr_t)buffer, 64, rig.mr->lkey };
	struct ibv_recv_wr recv = { .wr_id = (uint64_t)index, .sg_list = &sge,
				    .num_sge = 1 };
	struct ibv_send_wr send = { .wr_id = (uint64_t)index, .sg_list = &sge,
				    .num_sge = 1, .opcode = IBV_WR_SEND,
				    .send_flags = IBV_SEND_SIGNALED };
	struct ibv_recv_wr *bad_recv;
	struct ibv_send_wr *bad_send;
	int err;

	while (h->receives < DEPTH) {
		err = ibv_post_recv(h->qp, &recv, &bad_recv);
		if (err) {
			fail(h, "post receive", err);
			return;
		}
		h->receives++;
	}
	if (h->type != IBV_QPT_RC || h->state != IBV_QPS_RTS)
		return;
	while (h->sends < DEPTH) {
		err = ibv_post_send(h->qp, &send, &bad_send);
		if (err) {
			fail(h, "post send", err);
			return;
		}
		h->sends++;
	}
}

static int make(struct held *h, int index)
{
	struct ibv_qp_init_attr init = {
		.send_cq = rig.cq, .recv_cq = rig.cq, .qp_type = h->type,
		.cap = { .max_send_wr = DEPTH, .max_recv_wr = DEPTH,
			 .max_send_sge = 1, .max_recv_sge = 1 },
	};

	if (find_gid(&h->from) < 0) {
		fprintf(stderr, "no GID with the address of queue pair %d\n",
			index);
		return -1;
	}
	h->qp = ibv_create_qp(rig.pd, &init);
	if (!h->qp) {
		fail(h, "create", errno);
		return 0;
	}
	advance(h, IBV_QPS_RESET, h->state);
	if (h->state >= IBV_QPS_INIT)
		post(h, index);
	printf("qp %u\n", h->qp->qp_num);
	return 0;
}

/* Take completions; the requests that they complete must have been there. */
static void poll_cq(void)
{
	struct ibv_wc wc;
	struct held *h;
	int *left;

	while (ibv_poll_cq(rig.cq, 1, &wc) > 0) {
		h = &held[wc.wr_id];
		/* The opcode of a completion in error is not valid. */
		left = wc.status == IBV_WC_SUCCESS ?
			(wc.opcode & IBV_WC_RECV ? &h->receives : &h->sends) :
			(h->sends ? &h->sends : &h->receives);
		h->failed |= wc.status != IBV_WC_SUCCESS;
		if (wc.status != IBV_WC_SUCCESS && !h->fatal &&
		    wc.status != IBV_WC_WR_FLUSH_ERR)
			fail(h, ibv_wc_status_str(wc.status), 0);
		if (--*left < 0)
			fail(h, "completion of nothing", 0);
	}
}

static void take_events(void)
{
	struct ibv_async_event event;

	while (!ibv_get_async_event(rig.dev.ctx, &event)) {
		for (int i = 0; i < count; i++)
			if (event.event_type == IBV_EVENT_QP_FATAL &&
			    held[i].qp == event.element.qp)
				held[i].fatal++;
		ibv_ack_async_event(&event);
	}
}

static void report(void)
{
	struct ibv_qp_init_attr init;
	struct ibv_qp_attr attr;
	int err;

	take_events();
	for (int i = 0; i < count; i++) {
		err = ibv_query_qp(held[i].qp, &attr, IBV_QP_STATE, &init);
		if (err)
			fail(&held[i], "query", err);
		else
			printf("state %u %s fatal %d\n", held[i].qp->qp_num,
			       vu_state_name(attr.qp_state), held[i].fatal);
	}
	printf("reported\n");
}

static void finish(void)
{
	struct ibv_qp_attr attr = { .qp_state = IBV_QPS_ERR };
	time_t end = time(NULL) + FLUSH_SECONDS;
	int left, err;

	for (int i = 0; i < count; i++) {
		err = ibv_modify_qp(held[i].qp, &attr, IBV_QP_STATE);
		if (err)
			fail(&held[i], "ERR", err);
	}
	take_events();
	do {
		poll_cq();
		left = 0;
		for (int i = 0; i < count; i++)
			left += held[i].sends + held[i].receives;
	} while (left && time(NULL) < end);
	if (left) {
		printf("%d requests did not complete\n", left);
		failures++;
	}
	for (int i = 0; i < count; i++) {
		err = ibv_destroy_qp(held[i].qp);
		if (err)
			fail(&held[i], "destroy", err);
	}
}

/* Work until told to end: what completes is posted again. */
static void serve(const sigset_t *signals)
{
	const struct timespec pause = { .tv_nsec = 5000000 };

	for (;;) {
		switch (sigtimedwait(signals, NULL, &pause)) {
		case SIGUSR1:
			report();
			break;
		case SIGUSR2:
			for (int i = 0; i < count; i++)
				if (!held[i].fatal)
					go_on(&held[i]);
			printf("advanced\n");
			break;
		case SIGTERM:
			return;
		default:
			poll_cq();
			take_events();
			for (int i = 0; i < count; i++)
				if (held[i].state == IBV_QPS_RTS &&
				    !held[i].failed && !held[i].fatal)
					post(&held[i], i);
		}
		fflush(stdout);
	}
}

/* TYPE:STATE:TRAFFIC_CLASS:ADDRESS, with the number of such queue pairs in front of an x if not 1 */
static int parse(const char *text)
{
	static const char *const states[] = { "reset", "init", "rtr", "rts",
					      "sqd" };
	char type[8], state[8], from[INET_ADDRSTRLEN];
	int n = 1, skip = 0;
	struct held h = { .state = -1 };
	unsigned int tc;

	if (sscanf(text, "%dx%n", &n, &skip) == 1 && skip)
		text += skip;
	else
		n = 1;
	if (sscanf(text, "%7[a-z]:%7[a-z]:%u:%15[0-9.]", type, state, &tc,
		   from) != 4 || vu_gid_from_ip(from, &h.from))
		return -1;
	h.type = !strcmp(type, "ud") ? IBV_QPT_UD : IBV_QPT_RC;
	h.traffic_class = (uint8_t)tc;
	for (int i = 0; i < (int)ARRAY_SIZE(states); i++)
		if (!strcmp(state, states[i]))
			h.state = i;
	if (h.state < 0)
		return -1;
	for (; n > 0 && count < QPS_MAX; n--)
		held[count++] = h;
	return n;
}

static int set_up(void)
{
	if (vu_open(&rig.dev, NULL, -1, NULL))
		return -1;
	fcntl(rig.dev.ctx->async_fd, F_SETFL, O_NONBLOCK);
	rig.pd = ibv_alloc_pd(rig.dev.ctx);
	rig.cq = ibv_create_cq(rig.dev.ctx, 2 * DEPTH * QPS_MAX, NULL, NULL, 0);
	if (!rig.pd || !rig.cq)
		return -1;
	rig.mr = ibv_reg_mr(rig.pd, buffer, sizeof(buffer),
			    IBV_ACCESS_LOCAL_WRITE);
	return rig.mr ? 0 : -1;
}

int main(int argc, char **argv)
{
	sigset_t signals;

	sigemptyset(&signals);
	sigaddset(&signals, SIGUSR1);
	sigaddset(&signals, SIGUSR2);
	sigaddset(&signals, SIGTERM);
	sigprocmask(SIG_BLOCK, &signals, NULL);
	for (int i = 1; i < argc; i++)
		if (parse(argv[i])) {
			fprintf(stderr, "usage: qp-hold [Nx]rc|ud:reset|init|rtr|rts|sqd:TRAFFIC_CLASS:ADDRESS ...\n");
			return 2;
		}
	if (set_up())
		return 2;
	for (int i = 0; i < count; i++)
		if (make(&held[i], i))
			return 2;
	printf("held\n");
	fflush(stdout);
	serve(&signals);
	finish();
	ibv_dereg_mr(rig.mr);
	ibv_destroy_cq(rig.cq);
	ibv_dealloc_pd(rig.pd);
	vu_close(&rig.dev);
	printf("qp-hold: %s\n", failures ? "FAIL" : "PASS");
	return failures ? 1 : 0;
}
