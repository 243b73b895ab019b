// SPDX-License-Identifier: GPL-2.0
/*
 * Completion queues that change their size while they are polled: one thread
 * sends by a queue pair that is connected to itself and polls, another resizes.
 * Each request must complete once, in order, and well.
 */
#define _GNU_SOURCE
#include "lib/profiles.h"

#include <errno.h>
#include <getopt.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define DEPTH 8
#define BYTES 4096

static struct vu_device dev;
static struct ibv_pd *pd;
static struct ibv_mr *mr;
static char area[2 * BYTES] __attribute__((aligned(4096)));
static atomic_bool stop;
static atomic_int failures;
static unsigned long completed, resized, refused;

static void fail(const char *what, int value)
{
	printf("%s: %d\n", what, value);
	failures++;
}

static int post(struct ibv_qp *qp, uint64_t id)
{
	struct ibv_sge sge = { (uintptr_t)area, BYTES, mr->lkey };
	struct ibv_send_wr wr = {
		.wr_id = id, .sg_list = &sge, .num_sge = 1, .opcode = IBV_WR_RDMA_WRITE,
		.send_flags = IBV_SEND_SIGNALED,
		.wr.rdma = { (uintptr_t)area + BYTES, mr->rkey },
	}, *bad;

	return ibv_post_send(qp, &wr, &bad);
}

/* Any size that holds what is outstanding. */
static void *resizer(void *arg)
{
	struct ibv_cq *cq = arg;
	unsigned int seed = 1;

	while (!stop) {
		int size = DEPTH + 1 + rand_r(&seed) % (rand_r(&seed) % 8 ? 100 : 20000);
		int err = ibv_resize_cq(cq, size);

		resized++;
		if (err == EBUSY)
			refused++;	/* the ring before the last is still being drained */
		else if (err)
			fail("ibv_resize_cq", err);
	}
	return NULL;
}

static void poll_and_post(struct ibv_qp *qp, struct ibv_cq *cq, double seconds)
{
	uint64_t next = 0, due = 0;
	struct timespec began, now;
	struct ibv_wc wc[DEPTH];

	clock_gettime(CLOCK_MONOTONIC, &began);
	do {
		int n = ibv_poll_cq(cq, DEPTH, wc);

		if (n < 0)
			fail("ibv_poll_cq", n);
		for (int i = 0; i < n; i++, due++) {
			if (wc[i].status)
				fail("status", (int)wc[i].status);
			if (wc[i].wr_id != due)
				fail("out of order", (int)(wc[i].wr_id - due));
		}
		clock_gettime(CLOCK_MONOTONIC, &now);
		if ((double)(now.tv_sec - began.tv_sec) > seconds)
			stop = true;
		while (!stop && next - due < DEPTH && !post(qp, next))
			next++;
		if ((double)(now.tv_sec - began.tv_sec) > seconds + 60) {
			fail("missing completions", (int)(next - due));
			break;
		}
	} while (!failures && (!stop || due < next));
	completed = due;
}

static void run(double seconds)
{
	struct qp_plan plans[PROFILE_MAX_PLANS];
	struct ibv_cq *cq = ibv_create_cq(dev.ctx, 2 * DEPTH, NULL, NULL, 0);
	struct ibv_qp_init_attr init = { .send_cq = cq, .recv_cq = cq, .qp_type = IBV_QPT_RC };
	struct ibv_qp *qp;
	pthread_t thread;

	if (profile_plans("generic", &dev, plans) < 0)
		exit(2);
	init.cap = plans[0].cap;
	qp = cq ? ibv_create_qp(pd, &init) : NULL;
	if (!qp) {
		fail("no queue pair", errno);
		return;
	}
	for (int i = 0; i < 3; i++) {
		struct ibv_qp_attr attr = plans[0].steps[i].attr;
		int mask = plans[0].steps[i].mask;
		int err;

		if (mask & IBV_QP_DEST_QPN)
			attr.dest_qp_num = qp->qp_num;
		if (mask & IBV_QP_ACCESS_FLAGS)
			attr.qp_access_flags = IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE;
		attr.sq_psn = attr.rq_psn = 0;
		err = ibv_modify_qp(qp, &attr, mask);
		if (err)
			fail("ibv_modify_qp", err);
	}
	if (!failures && !pthread_create(&thread, NULL, resizer, cq)) {
		poll_and_post(qp, cq, seconds);
		stop = true;
		pthread_join(thread, NULL);
	}
	ibv_destroy_qp(qp);
	ibv_destroy_cq(cq);
}

int main(int argc, char **argv)
{
	double seconds = argc == 2 ? atof(argv[1]) : 10;

	if (vu_open(&dev, NULL, -1, NULL))
		return 2;
	pd = ibv_alloc_pd(dev.ctx);
	mr = pd ? ibv_reg_mr(pd, area, sizeof(area),
			     IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE) : NULL;
	if (!mr)
		return 2;
	run(seconds);
	ibv_dereg_mr(mr);
	ibv_dealloc_pd(pd);
	vu_close(&dev);
	printf("%lu completions, resized %lu times, refused %lu times\n", completed,
	       resized - refused, refused);
	if (failures)
		printf("cq-resize: FAIL %d\n", failures);
	else
		printf("cq-resize: PASS\n");
	return failures ? 1 : 0;
}
