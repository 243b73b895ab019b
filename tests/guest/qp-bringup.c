// SPDX-License-Identifier: GPL-2.0
/*
 * Takes queue pairs RESET, INIT, RTR, RTS, (SQD, RTS,) ERR, RESET and destroys
 * them, with the attribute values of real applications (lib/profiles.c). After
 * each step ibv_query_qp() must give back what was set. In ERR every posted
 * receive must come back flushed, announced by a completion event, which no
 * driver can deliver whose interrupts do not work. Runs on any RoCE device.
 */
#define _GNU_SOURCE
#include "lib/profiles.h"

#include <errno.h>
#include <fcntl.h>
#include <getopt.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

/* Any queue pair number that is not our own; nothing is sent to it. */
#define REMOTE_QPN 0x00beef
/* An emulated machine is slow; a flush that never comes ends the wait. */
#define FLUSH_TIMEOUT_MS 30000
#define BUFFER_SIZE 65536
#define LATE_SEND_ID UINT64_MAX

struct options {
	const char *device;
	const char *profile;
	const char *peer;
	int gid_index;
	int count;
	bool lenient;
	bool verbose;
	bool sqd;
	bool reuse;
};

static struct options opt = {
	.profile = "generic", .gid_index = -1, .count = 1,
};

static int failures;
static int mismatches;

/** struct rig - one queue pair and all it needs */
struct rig {
	const struct vu_device *dev;
	const struct qp_plan *plan;
	struct ibv_pd *pd;
	struct ibv_comp_channel *channel[2];
	struct ibv_cq *send_cq;
	struct ibv_cq *recv_cq;
	struct ibv_mr *mr;
	struct ibv_qp *qp;
	struct ibv_ah *ah;
	void *buffer;
	struct vu_expect expect;
	int events[2];		/* received for the send and the receive CQ */
};

static void fail(const struct rig *rig, const char *what, int err)
{
	printf("%s %s failed: %s\n", rig->plan->name, what, vu_errno_name(err));
	failures++;
}

static long now_ms(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return ts.tv_sec * 1000L + ts.tv_nsec / 1000000;
}

static struct ibv_cq *create_cq(struct rig *rig, int cqe,
				struct ibv_comp_channel *channel)
{
	struct ibv_cq_init_attr_ex attr = {
		.cqe = (uint32_t)cqe, .channel = channel,
		.comp_vector = (uint32_t)rig->plan->vector,
	};
	struct ibv_cq_ex *ex;

	if (!rig->plan->cq_ex)
		return ibv_create_cq(rig->dev->ctx, cqe, NULL, channel,
				     rig->plan->vector);
	ex = ibv_create_cq_ex(rig->dev->ctx, &attr);
	return ex ? ibv_cq_ex_to_cq(ex) : NULL;
}

/* A channel that never blocks, as applications with an event loop use it. */
static struct ibv_comp_channel *create_channel(struct rig *rig)
{
	struct ibv_comp_channel *channel;

	channel = ibv_create_comp_channel(rig->dev->ctx);
	if (channel && fcntl(channel->fd, F_SETFL, O_NONBLOCK)) {
		ibv_destroy_comp_channel(channel);
		channel = NULL;
	}
	return channel;
}

static int arm(struct rig *rig)
{
	int err = ibv_req_notify_cq(rig->send_cq, 0);

	if (!err && rig->recv_cq != rig->send_cq)
		err = ibv_req_notify_cq(rig->recv_cq, 0);
	if (err)
		fail(rig, "ibv_req_notify_cq", err);
	return err;
}

static int create_cqs(struct rig *rig)
{
	const struct qp_plan *plan = rig->plan;
	int n = plan->channel == CHANNEL_NONE ? 0 :
		plan->channel == CHANNEL_SHARED ? 1 : 2;

	for (int i = 0; i < n; i++) {
		rig->channel[i] = create_channel(rig);
		if (!rig->channel[i]) {
			fail(rig, "ibv_create_comp_channel", errno);
			return -1;
		}
	}
	rig->send_cq = create_cq(rig, plan->send_cqe, rig->channel[0]);
	rig->recv_cq = rig->send_cq;
	if (rig->send_cq && plan->recv_cqe)
		rig->recv_cq = create_cq(rig, plan->recv_cqe,
					 rig->channel[n > 1 ? 1 : 0]);
	if (!rig->send_cq || !rig->recv_cq) {
		fail(rig, "ibv_create_cq", errno);
		return -1;
	}
	if (opt.verbose)
		printf("%s CQs of %d and %d entries for %d and %d asked\n",
		       plan->name, rig->send_cq->cqe, rig->recv_cq->cqe,
		       plan->send_cqe, plan->recv_cqe);
	return n ? arm(rig) : 0;
}

/* Sizes and offsets that end on, before and after page and huge page limits. */
static int register_memory(struct rig *rig)
{
	static const struct {
		size_t offset;
		size_t size;
	} regions[] = {
		{ 0, 4096 }, { 1, 1 }, { 100, 8000 }, { 4095, 2 },
		{ 0, 2 << 20 }, { 12345, 5 << 20 },
	};
	char *area = aligned_alloc(4096, 8 << 20);

	if (!area) {
		fail(rig, "aligned_alloc", ENOMEM);
		return -1;
	}
	for (size_t i = 0; i < ARRAY_SIZE(regions); i++) {
		struct ibv_mr *mr = ibv_reg_mr(rig->pd,
					       area + regions[i].offset,
					       regions[i].size,
					       rig->plan->mr_access);
		int err = mr ? ibv_dereg_mr(mr) : errno;

		if (err)
			fail(rig, mr ? "ibv_dereg_mr" : "ibv_reg_mr", err);
	}
	free(area);
	printf("%s MRs of %zu sizes ok\n", rig->plan->name,
	       ARRAY_SIZE(regions));

	rig->buffer = aligned_alloc(4096, BUFFER_SIZE);
	if (rig->buffer)
		rig->mr = ibv_reg_mr(rig->pd, rig->buffer, BUFFER_SIZE,
				     rig->plan->mr_access);
	if (!rig->mr) {
		fail(rig, "ibv_reg_mr", errno);
		return -1;
	}
	return 0;
}

static void check(const struct rig *rig, const char *step)
{
	char label[96];

	snprintf(label, sizeof(label), "%s %s qp %u %s", rig->plan->name,
		 vu_type_name(rig->plan->type), rig->qp->qp_num, step);
	mismatches += vu_expect_check(rig->qp, &rig->expect, label);
}

static int create_qp(struct rig *rig)
{
	struct ibv_qp_init_attr init = {
		.send_cq = rig->send_cq, .recv_cq = rig->recv_cq,
		.cap = rig->plan->cap, .qp_type = rig->plan->type,
	};
	const struct ibv_qp_cap *want = &rig->plan->cap;
	const struct ibv_qp_cap *got = &init.cap;

	rig->qp = ibv_create_qp(rig->pd, &init);
	if (!rig->qp) {
		fail(rig, "ibv_create_qp", errno);
		return -1;
	}
	rig->expect.cap = init.cap;
	rig->expect.attr.qp_state = IBV_QPS_RESET;
	rig->expect.mask = IBV_QP_STATE;
	printf("%s qp %u create ok\n", vu_type_name(rig->plan->type),
	       rig->qp->qp_num);
	if (opt.verbose)
		printf("  send %u/%u recv %u/%u sge %u/%u %u/%u inline %u/%u (got/asked)\n",
		       got->max_send_wr, want->max_send_wr,
		       got->max_recv_wr, want->max_recv_wr,
		       got->max_send_sge, want->max_send_sge,
		       got->max_recv_sge, want->max_recv_sge,
		       got->max_inline_data, want->max_inline_data);
	if (got->max_send_wr < want->max_send_wr ||
	    got->max_recv_wr < want->max_recv_wr ||
	    got->max_send_sge < want->max_send_sge ||
	    got->max_recv_sge < want->max_recv_sge ||
	    got->max_inline_data < want->max_inline_data)
		fail(rig, "capabilities: fewer than asked", 0);
	check(rig, "RESET");
	return 0;
}

static int modify(struct rig *rig, const struct ibv_qp_attr *attr, int mask)
{
	int from = rig->expect.attr.qp_state;
	struct ibv_qp_attr copy = *attr;
	char step[32];
	int err;

	snprintf(step, sizeof(step), "%s->%s", vu_state_name(from),
		 vu_state_name(attr->qp_state));
	err = ibv_modify_qp(rig->qp, &copy, mask);
	printf("%s qp %u %s %s\n", vu_type_name(rig->plan->type),
	       rig->qp->qp_num, step, err ? vu_errno_name(err) : "ok");
	if (err) {
		failures++;
		return err;
	}
	vu_expect_merge(&rig->expect, attr, mask);
	check(rig, step);
	return 0;
}

static int modify_state(struct rig *rig, enum ibv_qp_state state)
{
	struct ibv_qp_attr attr = { .qp_state = state };

	return modify(rig, &attr, IBV_QP_STATE);
}

static int post_receives(struct rig *rig)
{
	struct ibv_sge sge = {
		.addr = (uintptr_t)rig->buffer, .length = 4096,
		.lkey = rig->mr->lkey,
	};
	struct ibv_recv_wr wr = { .sg_list = &sge, .num_sge = 1 };
	struct ibv_recv_wr *bad;

	for (int i = 0; i < rig->plan->receives; i++) {
		int err;

		wr.wr_id = (uint64_t)i;
		err = ibv_post_recv(rig->qp, &wr, &bad);
		if (err) {
			printf("receive %d of %d: ", i, rig->plan->receives);
			fail(rig, "ibv_post_recv", err);
			return -1;
		}
	}
	return 0;
}

static int post_late_send(struct rig *rig)
{
	struct ibv_send_wr wr = {
		.wr_id = LATE_SEND_ID, .opcode = IBV_WR_SEND,
		.send_flags = IBV_SEND_SIGNALED,
	};
	struct ibv_send_wr *bad;
	int err;

	/* A datagram needs an address to be well formed even if flushed. */
	if (rig->plan->type == IBV_QPT_UD) {
		wr.wr.ud.ah = rig->ah;
		wr.wr.ud.remote_qpn = REMOTE_QPN;
		wr.wr.ud.remote_qkey = rig->expect.attr.qkey;
	}
	err = ibv_post_send(rig->qp, &wr, &bad);
	if (err)
		fail(rig, "ibv_post_send in ERR", err);
	return err;
}

/* Take pending events off one channel, count them by completion queue. */
static void take_events(struct rig *rig, struct ibv_comp_channel *channel)
{
	struct ibv_cq *cq;
	void *context;

	while (!ibv_get_cq_event(channel, &cq, &context)) {
		rig->events[cq == rig->recv_cq]++;
		ibv_ack_cq_events(cq, 1);
	}
}

/*
 * Sleep until a channel has an event, or, where the application polls, for a
 * moment. That nothing is polled before the first event is what makes the
 * event, and so the interrupt, necessary.
 */
static void wait_event(struct rig *rig, int timeout_ms)
{
	struct pollfd fds[2];
	int n = 0;

	for (int i = 0; i < 2; i++)
		if (rig->channel[i])
			fds[n++] = (struct pollfd){
				.fd = rig->channel[i]->fd, .events = POLLIN,
			};
	poll(fds, (nfds_t)n, n ? timeout_ms : 1);
	for (int i = 0; i < 2; i++)
		if (rig->channel[i])
			take_events(rig, rig->channel[i]);
}

/** struct drained - what came out of the completion queues */
struct drained {
	int receives;
	int sends;
	int wrong;		/* other status, or out of order */
};

static void drain_cq(struct rig *rig, struct ibv_cq *cq, struct drained *out)
{
	struct ibv_wc wc[32];
	int n;

	while ((n = ibv_poll_cq(cq, ARRAY_SIZE(wc), wc)) > 0) {
		for (int i = 0; i < n; i++) {
			bool send = wc[i].wr_id == LATE_SEND_ID;

			if (wc[i].status != IBV_WC_WR_FLUSH_ERR ||
			    wc[i].qp_num != rig->qp->qp_num ||
			    (!send && wc[i].wr_id != (uint64_t)out->receives)) {
				if (!out->wrong++)
					printf("completion %llu: %s, qp %u, due was receive %d\n",
					       (unsigned long long)wc[i].wr_id,
					       ibv_wc_status_str(wc[i].status),
					       wc[i].qp_num, out->receives);
			}
			if (send)
				out->sends++;
			else
				out->receives++;
		}
	}
	if (n < 0)
		fail(rig, "ibv_poll_cq", errno);
}

static void drain(struct rig *rig, struct drained *out)
{
	drain_cq(rig, rig->recv_cq, out);
	if (rig->send_cq != rig->recv_cq)
		drain_cq(rig, rig->send_cq, out);
}

/*
 * Wait for the flush of @receives and @sends work requests, and for an event of
 * the completion queue of each.
 */
static void expect_flush(struct rig *rig, int receives, int sends)
{
	long end = now_ms() + FLUSH_TIMEOUT_MS;
	struct drained out = { 0 };
	int sends_at = rig->send_cq == rig->recv_cq;
	bool silent, bad;

	rig->events[0] = 0;
	rig->events[1] = 0;
	while (out.receives < receives || out.sends < sends) {
		long left = end - now_ms();

		if (left <= 0)
			break;
		wait_event(rig, (int)left);
		/*
		 * Empty before arming, or the device tells at once of what is
		 * there already; and after, or what came meanwhile stays.
		 */
		drain(rig, &out);
		if (rig->channel[0] && arm(rig))
			break;
		drain(rig, &out);
	}
	silent = (receives && !rig->events[1]) ||
		 (sends && !rig->events[sends_at]);
	bad = out.receives != receives || out.sends != sends || out.wrong ||
	      (silent && rig->plan->channel != CHANNEL_NONE);
	printf("%s qp %u flushed %d of %d receives, %d of %d sends, %d events %s\n",
	       vu_type_name(rig->plan->type), rig->qp->qp_num,
	       out.receives, receives, out.sends, sends,
	       rig->events[0] + rig->events[1], bad ? "FAIL" : "ok");
	failures += bad;
}

/* Moving to ERR on request is no error: no fatal event may tell of it. */
static void check_async_events(struct rig *rig)
{
	struct ibv_async_event event;
	struct pollfd fd = { .fd = rig->dev->ctx->async_fd, .events = POLLIN };

	while (poll(&fd, 1, 0) > 0 &&
	       !ibv_get_async_event(rig->dev->ctx, &event)) {
		printf("asynchronous event: %s\n",
		       ibv_event_type_str(event.event_type));
		switch (event.event_type) {
		case IBV_EVENT_CQ_ERR:
		case IBV_EVENT_QP_FATAL:
		case IBV_EVENT_QP_REQ_ERR:
		case IBV_EVENT_QP_ACCESS_ERR:
		case IBV_EVENT_DEVICE_FATAL:
			failures++;
			break;
		default:
			break;
		}
		ibv_ack_async_event(&event);
	}
}

static int bring_to_rts(struct rig *rig)
{
	const struct qp_plan *plan = rig->plan;
	bool own = plan->to_self || !memcmp(&rig->dev->peer, &rig->dev->gid,
					    sizeof(rig->dev->gid));

	for (size_t i = 0; i < ARRAY_SIZE(plan->steps); i++) {
		struct ibv_qp_attr attr = plan->steps[i].attr;

		if (plan->steps[i].mask & IBV_QP_DEST_QPN)
			attr.dest_qp_num = own ? rig->qp->qp_num : REMOTE_QPN;
		if (modify(rig, &attr, plan->steps[i].mask))
			return -1;
		if (attr.qp_state == IBV_QPS_INIT && post_receives(rig))
			return -1;
	}
	return 0;
}

static int create_ah(struct rig *rig)
{
	struct ibv_ah_attr attr = rig->plan->ah;

	if (!attr.is_global)
		return 0;
	rig->ah = ibv_create_ah(rig->pd, &attr);
	if (!rig->ah) {
		fail(rig, "ibv_create_ah", errno);
		return -1;
	}
	printf("%s qp %u create AH ok\n", vu_type_name(rig->plan->type),
	       rig->qp->qp_num);
	return 0;
}

/* The life of one queue pair after its creation. */
static void walk(struct rig *rig)
{
	if (bring_to_rts(rig) || create_ah(rig))
		return;
	if (opt.sqd && (modify_state(rig, IBV_QPS_SQD) ||
			modify_state(rig, IBV_QPS_RTS)))
		return;
	if (modify_state(rig, IBV_QPS_ERR))
		return;
	expect_flush(rig, rig->plan->receives, 0);
	if (rig->plan->late_send && !post_late_send(rig))
		expect_flush(rig, 0, 1);
	check_async_events(rig);
	if (modify_state(rig, IBV_QPS_RESET))
		return;
	if (opt.reuse && !bring_to_rts(rig))
		modify_state(rig, IBV_QPS_RESET);
}

#define DESTROY(rig, object, call)				\
	do {							\
		int err_ = (object) ? call(object) : 0;		\
		if (err_)					\
			fail(rig, #call, err_);			\
	} while (0)

static void tear_down(struct rig *rig)
{
	DESTROY(rig, rig->ah, ibv_destroy_ah);
	if (rig->qp) {
		uint32_t qpn = rig->qp->qp_num;
		int err = ibv_destroy_qp(rig->qp);

		printf("%s qp %u destroy %s\n", vu_type_name(rig->plan->type),
		       qpn, err ? vu_errno_name(err) : "ok");
		failures += !!err;
	}
	if (rig->recv_cq != rig->send_cq)
		DESTROY(rig, rig->recv_cq, ibv_destroy_cq);
	DESTROY(rig, rig->send_cq, ibv_destroy_cq);
	DESTROY(rig, rig->channel[0], ibv_destroy_comp_channel);
	DESTROY(rig, rig->channel[1], ibv_destroy_comp_channel);
	DESTROY(rig, rig->mr, ibv_dereg_mr);
	DESTROY(rig, rig->pd, ibv_dealloc_pd);
	free(rig->buffer);
}

static void run_plan(const struct vu_device *dev, const struct qp_plan *plan)
{
	struct rig rig = { .dev = dev, .plan = plan };

	rig.pd = ibv_alloc_pd(dev->ctx);
	if (!rig.pd)
		fail(&rig, "ibv_alloc_pd", errno);
	else if (!register_memory(&rig) && !create_cqs(&rig) &&
		 !create_qp(&rig))
		walk(&rig);
	tear_down(&rig);
}

static void usage(FILE *out)
{
	fprintf(out,
		"usage: qp-bringup [options]\n"
		"  -d, --device NAME   RDMA device (default: the first)\n"
		"  -g, --gid INDEX     GID index (default: first RoCE v2 GID with an IPv4 address)\n"
		"  -p, --profile NAME  generic, ceph, ucx-rc, ucx-ud, nccl (default: generic)\n"
		"      --peer IP       destination; its neighbour must resolve (default: own address)\n"
		"  -n, --count N       do it N times (default: 1)\n"
		"      --sqd           also RTS->SQD->RTS\n"
		"      --reuse         after RESET bring the queue pair to RTS once more\n"
		"      --lenient       attributes that query does not return are only reported\n"
		"  -v, --verbose       also print sizes\n");
}

static int parse(int argc, char **argv)
{
	enum { PEER = 256, SQD, REUSE, LENIENT };
	static const struct option longs[] = {
		{ "device", required_argument, NULL, 'd' },
		{ "gid", required_argument, NULL, 'g' },
		{ "profile", required_argument, NULL, 'p' },
		{ "peer", required_argument, NULL, PEER },
		{ "count", required_argument, NULL, 'n' },
		{ "sqd", no_argument, NULL, SQD },
		{ "reuse", no_argument, NULL, REUSE },
		{ "lenient", no_argument, NULL, LENIENT },
		{ "verbose", no_argument, NULL, 'v' },
		{ "help", no_argument, NULL, 'h' },
		{ 0 },
	};
	int c;

	while ((c = getopt_long(argc, argv, "d:g:p:n:vh", longs, NULL)) >= 0) {
		switch (c) {
		case 'd':
			opt.device = optarg;
			break;
		case 'g':
			opt.gid_index = atoi(optarg);
			break;
		case 'p':
			opt.profile = optarg;
			break;
		case 'n':
			opt.count = atoi(optarg);
			break;
		case 'v':
			opt.verbose = true;
			break;
		case PEER:
			opt.peer = optarg;
			break;
		case SQD:
			opt.sqd = true;
			break;
		case REUSE:
			opt.reuse = true;
			break;
		case LENIENT:
			opt.lenient = true;
			break;
		case 'h':
			usage(stdout);
			exit(0);
		default:
			return -1;
		}
	}
	return optind == argc ? 0 : -1;
}

int main(int argc, char **argv)
{
	struct qp_plan plans[PROFILE_MAX_PLANS];
	struct vu_device dev;
	int n;

	setvbuf(stdout, NULL, _IOLBF, 0);
	if (parse(argc, argv)) {
		usage(stderr);
		return 2;
	}
	if (vu_open(&dev, opt.device, opt.gid_index, opt.peer))
		return 2;
	n = profile_plans(opt.profile, &dev, plans);
	if (n < 0) {
		fprintf(stderr, "unknown profile %s\n", opt.profile);
		vu_close(&dev);
		return 2;
	}
	for (int i = 0; i < opt.count; i++)
		for (int p = 0; p < n; p++)
			run_plan(&dev, &plans[p]);
	vu_close(&dev);
	if (mismatches)
		printf("%d attributes not given back%s\n", mismatches,
		       opt.lenient ? " (lenient)" : "");
	if (!opt.lenient)
		failures += mismatches;
	if (failures)
		printf("qp-bringup: FAIL %d\n", failures);
	else
		printf("qp-bringup: PASS\n");
	return failures ? 1 : 0;
}
