// SPDX-License-Identifier: GPL-2.0
/*
 * Lives of the objects that qp-bringup does not touch, one kind at a time and
 * always in the same order: completion queues and their resizing, memory
 * regions of every kind, address handles, memory windows, multicast groups,
 * errors, and a queue pair that waits for one. It is made for comparing what two drivers tell a device, so it
 * judges little: a step that fails is printed with its error number and the
 * program goes on. scripts/trace-diff runs it.
 */
#define _GNU_SOURCE
#include "lib/profiles.h"

#include <arpa/inet.h>
#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#define HUGE (2u << 20)
#define ALL_ACCESS (IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_READ | \
		    IBV_ACCESS_REMOTE_WRITE)
#define CQ_ERROR_TIMEOUT_MS 30000
#define REPORT_TIMEOUT_MS 3000	/* some reports come to nothing */

static struct vu_device dev;
static struct ibv_pd *pd;
static struct qp_plan plans[PROFILE_MAX_PLANS];
#define RC_PLAN (&plans[0])
#define UD_PLAN (&plans[1])

/* What was done, and how it ended: the same for both drivers if all is well. */
static void step(const char *what, int err)
{
	printf("%s: %s\n", what, err ? vu_errno_name(err) : "ok");
}

/* ---- completion queues ---- */

static struct ibv_cq *cq_of(int cqe, struct ibv_comp_channel *channel,
			    int vector)
{
	struct ibv_cq *cq = ibv_create_cq(dev.ctx, cqe, NULL, channel, vector);

	step("create CQ", cq ? 0 : errno);
	return cq;
}

static void resize(struct ibv_cq *cq, int cqe)
{
	step("resize CQ", ibv_resize_cq(cq, cqe));
}

static void life_cq(void)
{
	static const int sizes[] = { 1, 3, 100, 5000, 100000 };
	struct ibv_comp_channel *channel = ibv_create_comp_channel(dev.ctx);
	int last = dev.ctx->num_comp_vectors - 1;

	for (size_t i = 0; i < ARRAY_SIZE(sizes); i++) {
		struct ibv_cq *cq = cq_of(sizes[i], NULL, i % 2 ? last : 0);

		if (cq)
			step("destroy CQ", ibv_destroy_cq(cq));
	}

	struct ibv_cq *cq = cq_of(10, channel, last);

	if (cq) {
		step("arm", ibv_req_notify_cq(cq, 0));
		resize(cq, 2000);
		step("arm for solicited", ibv_req_notify_cq(cq, 1));
		resize(cq, 20);
		resize(cq, 5000);
		step("destroy CQ", ibv_destroy_cq(cq));
	}
	if (channel)
		ibv_destroy_comp_channel(channel);
}

/* ---- memory regions and windows ---- */

static void region(const char *what, void *addr, size_t size, int access)
{
	struct ibv_mr *mr = ibv_reg_mr(pd, addr, size, access);

	step(what, mr ? 0 : errno);
	if (mr)
		step("deregister", ibv_dereg_mr(mr));
}

/* Memory at the same place in each run, so that addresses can be compared. */
static char *memory(size_t size, int flags)
{
	static uintptr_t place = 0x10000000;
	void *at = mmap((void *)place, size, PROT_READ | PROT_WRITE,
			MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE |
			MAP_POPULATE | flags, -1, 0);

	place += (size + HUGE - 1) / HUGE * HUGE;
	step("memory", at == MAP_FAILED ? errno : 0);
	return at == MAP_FAILED ? NULL : at;
}

static void life_mr(void)
{
	static const int rights[] = {
		0, IBV_ACCESS_LOCAL_WRITE, IBV_ACCESS_REMOTE_READ,
		IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE,
		IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_MW_BIND, ALL_ACCESS,
		ALL_ACCESS | IBV_ACCESS_RELAXED_ORDERING,
		ALL_ACCESS | IBV_ACCESS_ZERO_BASED,
	};
	char *area = memory(8 * HUGE, 0);
	char *huge = memory(2 * HUGE, MAP_HUGETLB);

	for (size_t i = 0; area && i < ARRAY_SIZE(rights); i++)
		region("region of one page", area + 24, 1000, rights[i]);
	if (area) {
		region("region of two pages", area + 4000, 1000, ALL_ACCESS);
		region("region of 512 pages", area, HUGE, ALL_ACCESS);
		region("region of 513 pages", area + 4095, HUGE, ALL_ACCESS);
		region("region of 4096 pages", area, 8 * HUGE, ALL_ACCESS);
		munmap(area, 8 * HUGE);
	}
	if (huge) {
		region("huge page", huge, HUGE, ALL_ACCESS);
		region("part of a huge page", huge + 8192, 65536, ALL_ACCESS);
		munmap(huge, 2 * HUGE);
	}
	region("unmapped memory", (void *)0x10000, 4096, ALL_ACCESS);
}

static void life_mw(void)
{
	static const enum ibv_mw_type types[] = { IBV_MW_TYPE_1, IBV_MW_TYPE_2 };

	for (size_t i = 0; i < ARRAY_SIZE(types); i++) {
		struct ibv_mw *mw = ibv_alloc_mw(pd, types[i]);

		step("allocate window", mw ? 0 : errno);
		if (mw)
			step("free window", ibv_dealloc_mw(mw));
	}
}

/* ---- addresses ---- */

static void handle(const char *what, struct ibv_ah_attr attr)
{
	struct ibv_ah *ah = ibv_create_ah(pd, &attr);

	step(what, ah ? 0 : errno);
	if (ah)
		step("destroy AH", ibv_destroy_ah(ah));
}

static void life_ah(void)
{
	struct ibv_ah_attr attr = UD_PLAN->ah;
	struct ibv_ah *first, *second;

	handle("AH to the own address", attr);
	attr.grh.traffic_class = 0;
	attr.grh.flow_label = 0;
	attr.grh.hop_limit = 1;
	attr.sl = 0;
	handle("AH without extras", attr);

	vu_gid_from_ip("239.1.2.3", &attr.grh.dgid);
	handle("AH to a multicast address", attr);
	attr.port_num = 9;
	handle("AH of a wrong port", attr);
	attr.port_num = dev.port_num;

	/* Last: a driver may share one handle of the device for both. */
	first = ibv_create_ah(pd, &attr);
	step("AH", first ? 0 : errno);
	second = ibv_create_ah(pd, &attr);
	step("equal AH", second ? 0 : errno);
	if (first)
		step("destroy AH", ibv_destroy_ah(first));
	if (second)
		step("destroy equal AH", ibv_destroy_ah(second));
}

/* ---- queue pairs in a few states, for what follows ---- */

static struct ibv_qp *qp_of(const struct qp_plan *plan, struct ibv_cq *cq)
{
	struct ibv_qp_init_attr init = {
		.send_cq = cq, .recv_cq = cq,
		.cap = plan->cap, .qp_type = plan->type,
	};
	struct ibv_qp *qp = ibv_create_qp(pd, &init);

	step("create QP", qp ? 0 : errno);
	return qp;
}

static int go(struct ibv_qp *qp, const struct qp_plan *plan, int steps)
{
	for (int i = 0; i < steps; i++) {
		struct ibv_qp_attr attr = plan->steps[i].attr;
		int err;

		if (plan->steps[i].mask & IBV_QP_DEST_QPN)
			attr.dest_qp_num = qp->qp_num;
		err = ibv_modify_qp(qp, &attr, plan->steps[i].mask);
		step(vu_state_name(attr.qp_state), err);
		if (err)
			return err;
	}
	return 0;
}

static void state(struct ibv_qp *qp, enum ibv_qp_state to)
{
	struct ibv_qp_attr attr = { .qp_state = to };

	step(vu_state_name(to), ibv_modify_qp(qp, &attr, IBV_QP_STATE));
}

static void life_mcast(void)
{
	struct ibv_cq *cq = cq_of(16, NULL, 0);
	struct ibv_qp *one = cq ? qp_of(UD_PLAN, cq) : NULL;
	struct ibv_qp *two = cq ? qp_of(UD_PLAN, cq) : NULL;
	union ibv_gid group, group6 = { .raw = { 0xff, 0x0e, [15] = 9 } };

	vu_gid_from_ip("239.1.2.3", &group);
	if (one && two && !go(one, UD_PLAN, 3) && !go(two, UD_PLAN, 3)) {
		step("attach", ibv_attach_mcast(one, &group, 0));
		step("attach again", ibv_attach_mcast(one, &group, 0));
		step("attach a second", ibv_attach_mcast(two, &group, 0));
		step("attach IPv6", ibv_attach_mcast(one, &group6, 0));
		step("detach", ibv_detach_mcast(one, &group, 0));
		step("detach the second", ibv_detach_mcast(two, &group, 0));
		step("detach IPv6", ibv_detach_mcast(one, &group6, 0));
	}
	if (two)
		step("destroy QP", ibv_destroy_qp(two));
	if (one)
		step("destroy QP", ibv_destroy_qp(one));
	if (cq)
		step("destroy CQ", ibv_destroy_cq(cq));
}

/* ---- errors ---- */

/* Modifications that are refused: the device should not hear of any. */
static void refused(struct ibv_qp *qp, const struct qp_plan *plan)
{
	struct ibv_qp_attr attr = plan->steps[1].attr;
	int mask = plan->steps[1].mask;

	attr.dest_qp_num = qp->qp_num;
	attr.ah_attr.grh.sgid_index = 200;
	step("SGID index", ibv_modify_qp(qp, &attr, mask));
	attr = plan->steps[1].attr;
	attr.max_dest_rd_atomic = 255;
	step("IRD", ibv_modify_qp(qp, &attr, mask));
	attr = plan->steps[1].attr;
	step("missing attribute",
	     ibv_modify_qp(qp, &attr, mask & ~IBV_QP_RQ_PSN));
	state(qp, IBV_QPS_RTS);
}

static void post(struct ibv_qp *qp)
{
	struct ibv_recv_wr recv = { .wr_id = 1 }, *bad_recv;
	struct ibv_send_wr send = {
		.wr_id = 2, .opcode = IBV_WR_RDMA_WRITE,
		.send_flags = IBV_SEND_SIGNALED,
	}, *bad_send;

	step("post receive", ibv_post_recv(qp, &recv, &bad_recv));
	step("post send", ibv_post_send(qp, &send, &bad_send));
}

static void await_event(int timeout_ms)
{
	struct pollfd fd = { .fd = dev.ctx->async_fd, .events = POLLIN };
	struct ibv_async_event event;

	if (poll(&fd, 1, timeout_ms) != 1 ||
	    ibv_get_async_event(dev.ctx, &event)) {
		step("asynchronous event", ETIMEDOUT);
		return;
	}
	printf("event: %s\n", ibv_event_type_str(event.event_type));
	ibv_ack_async_event(&event);
}

/*
 * Refusals; a flush of sends and receives; then more flushed work than the
 * completion queue holds, of which an asynchronous event tells.
 */
static void life_errors(void)
{
	enum { MANY = 4 };
	struct ibv_cq *cq = cq_of(1, NULL, 0);
	struct ibv_qp *qps[MANY] = { NULL };

	if (!cq)
		return;
	for (int i = 0; i < MANY; i++) {
		qps[i] = qp_of(RC_PLAN, cq);
		if (!qps[i] || go(qps[i], RC_PLAN, 1))
			goto out;
	}
	refused(qps[0], RC_PLAN);
	for (int i = 0; i < MANY; i++) {
		if (go(qps[i], &(struct qp_plan){
				.steps = { RC_PLAN->steps[1],
					   RC_PLAN->steps[2] } }, 2))
			goto out;
		post(qps[i]);
	}
	for (int i = 0; i < MANY; i++)
		state(qps[i], IBV_QPS_ERR);
	await_event(CQ_ERROR_TIMEOUT_MS);
out:
	for (int i = 0; i < MANY; i++)
		if (qps[i])
			step("destroy QP", ibv_destroy_qp(qps[i]));
	step("destroy CQ", ibv_destroy_cq(cq));
}

/* A busy queue pair of which the device reports something: the host sees to that. */
static void life_event(void)
{
	struct ibv_cq *cq = cq_of(64, NULL, 0);
	struct ibv_qp *qp = cq ? qp_of(RC_PLAN, cq) : NULL;

	if (qp && !go(qp, RC_PLAN, 3)) {
		post(qp);
		printf("qp %u waits\n", qp->qp_num);
		await_event(REPORT_TIMEOUT_MS);
	}
	if (qp)
		step("destroy QP", ibv_destroy_qp(qp));
	if (cq)
		step("destroy CQ", ibv_destroy_cq(cq));
}

/* Queue pairs destroyed in each of their states. */
static void life_qp(void)
{
	struct ibv_cq *cq = cq_of(64, NULL, 0);

	for (int plan = 0; cq && plan < 2; plan++) {
		for (int steps = 0; steps <= 3; steps++) {
			struct ibv_qp *qp = qp_of(&plans[plan], cq);

			if (!qp)
				continue;
			go(qp, &plans[plan], steps);
			step("destroy QP", ibv_destroy_qp(qp));
		}
	}
	for (int steps = 0; cq && steps <= 3; steps++) {
		struct ibv_qp *qp = qp_of(RC_PLAN, cq);

		if (!qp)
			continue;
		go(qp, RC_PLAN, steps);
		state(qp, IBV_QPS_RESET);
		step("destroy QP", ibv_destroy_qp(qp));
	}
	if (cq)
		step("destroy CQ", ibv_destroy_cq(cq));
}

static const struct {
	const char *name;
	void (*run)(void);
} lives[] = {
	{ "cq", life_cq }, { "mr", life_mr }, { "mw", life_mw },
	{ "ah", life_ah }, { "qp", life_qp }, { "mcast", life_mcast },
	{ "errors", life_errors }, { "event", life_event },
};

static int usage(void)
{
	fprintf(stderr, "usage: verbs-lifecycle");
	for (size_t i = 0; i < ARRAY_SIZE(lives); i++)
		fprintf(stderr, "%s%s", i ? "|" : " ", lives[i].name);
	fprintf(stderr, "\n");
	return 2;
}

int main(int argc, char **argv)
{
	size_t i;

	setvbuf(stdout, NULL, _IOLBF, 0);
	for (i = 0; argc == 2 && i < ARRAY_SIZE(lives); i++)
		if (!strcmp(argv[1], lives[i].name))
			break;
	if (argc != 2 || i == ARRAY_SIZE(lives))
		return usage();
	if (vu_open(&dev, NULL, -1, NULL))
		return 2;
	if (profile_plans("generic", &dev, plans) < 0)
		return 2;
	pd = ibv_alloc_pd(dev.ctx);
	step("allocate PD", pd ? 0 : errno);
	if (pd) {
		lives[i].run();
		step("free PD", ibv_dealloc_pd(pd));
	}
	vu_close(&dev);
	printf("verbs-lifecycle: PASS\n");
	return 0;
}
