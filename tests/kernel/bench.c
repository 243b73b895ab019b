// SPDX-License-Identifier: GPL-2.0
/*
 * What verbs cost a consumer in the kernel, in executed instructions, for
 * scripts/bench: posting, polling, a message with its event, a queue pair's
 * life, a fast registration. The log gets the lines of tests/guest/verbs-bench.c
 * behind "verbs-bench: ". One CPU, and the model's device "instruction-counter".
 */
#include <linux/delay.h>
#include <linux/mm.h>
#include <linux/wait_bit.h>

#include "meter.h"
#include "verbs_test.h"

#define BATCH 24	/* of 32 requests that fit */
#define BATCHES 40
#define LIVES 200
#define HELD 128	/* objects, for the memory that one takes */
#define HELD_MRS 1024
#define WRITE_BYTES 4096
#define SETTLE_MS 1200	/* work put off has been done */

static void cost(const char *name, struct meter *meter)
{
	pr_info("verbs-bench: cost %s %u\n", name, meter_mean(meter));
}

static u64 span_begin(void)
{
	msleep(SETTLE_MS);
	return meter_time();
}

static void span_end(const char *name, int count, u64 begin)
{
	msleep(SETTLE_MS);
	pr_info("verbs-bench: span %s %d %llu %llu\n", name, count, begin, meter_time());
}

/* ---- Data ---- */

/* A WRITE of @bytes from a to b, where it lands at the same place. */
static struct ib_rdma_wr write_of(struct vt_pair *p, struct ib_sge *sge, u32 bytes, u32 rkey)
{
	struct ib_rdma_wr wr = {
		.wr = { .opcode = IB_WR_RDMA_WRITE, .send_flags = IB_SEND_SIGNALED,
			.sg_list = sge, .num_sge = 1 },
		.remote_addr = p->dma[1],
		.rkey = rkey,
	};

	sge->addr = p->dma[0];
	sge->length = bytes;
	sge->lkey = vt.pd->local_dma_lkey;
	return wr;
}

static bool post(struct vt_pair *p, const struct ib_send_wr *wr)
{
	const struct ib_send_wr *bad;

	return CHECK(!ib_post_send(p->a.qp, wr, &bad), "a request is refused");
}

/* A look at the CQ; those that find nothing count by themselves. -1: a request has failed. */
static int poll_once(struct vt_pair *p, struct meter *one, struct meter *none)
{
	u32 since = meter_now();
	struct ib_wc wc;
	int n = ib_poll_cq(p->a.send_cq, 1, &wc);

	meter_add(n ? one : none, &since);
	return n && !CHECK(!wc.status, "status %d", wc.status) ? -1 : n;
}

/* All completions of a batch, and a look that finds no more. */
static bool poll_batch(struct vt_pair *p, struct meter *one, struct meter *none)
{
	int found = 0, tries, n;

	for (tries = 0; found < BATCH && tries < 1000; tries++) {
		n = poll_once(p, one, none);
		if (n < 0)
			return false;
		found += n;
		if (!n)
			msleep(20);
	}
	return CHECK(found == BATCH && !poll_once(p, one, none), "%d completions", found);
}

static void bench_data(struct vt_pair *p, struct meter *m, u32 rkey)
{
	struct ib_sge sge;
	struct ib_rdma_wr wr = write_of(p, &sge, WRITE_BYTES, rkey);
	u64 begin = span_begin();
	int i, k;

	for (i = 0; i < BATCHES; i++) {
		u32 since = meter_now();

		for (k = 0; k < BATCH; k++) {
			if (!post(p, &wr.wr))
				return;
			meter_add(&m[0], &since);
		}
		msleep(20);
		if (!poll_batch(p, &m[1], &m[2]))
			return;
	}
	span_end("post-send", BATCH * BATCHES, begin);
	cost("post-send", &m[0]);
	cost("poll-cq", &m[1]);
	cost("poll-empty", &m[2]);
}

static void bench_inline(struct vt_pair *p, struct meter *m, u32 rkey)
{
	struct ib_sge sge;
	struct ib_rdma_wr wr = write_of(p, &sge, 48, rkey);
	int i, k;
	u32 since;

	sge.addr = (uintptr_t)p->mem[0];
	wr.wr.send_flags |= IB_SEND_INLINE;
	for (i = 0; i < BATCHES; i++) {
		since = meter_now();
		for (k = 0; k < BATCH; k++) {
			if (!post(p, &wr.wr))
				return;
			meter_add(m, &since);
		}
		if (!poll_batch(p, &m[1], &m[2]))
			return;
	}
	cost("post-inline", m);
	m[1].count = m[2].count = 0;
}

static void bench_recv(struct vt_pair *p, struct meter *m)
{
	u32 since;
	int i;

	since = meter_now();
	for (i = 0; i < BATCH; i++) {
		if (!CHECK(!vt_post_buffer(p, i, 0, WRITE_BYTES, 1), "a receive is refused"))
			return;
		meter_add(m, &since);
	}
	cost("post-recv", m);
}

/* From the post to the completion, which an event announces. */
static void bench_event(struct vt_pair *p, struct meter *m, u32 rkey)
{
	struct ib_sge sge;
	struct ib_rdma_wr wr = write_of(p, &sge, WRITE_BYTES, rkey);
	u64 begin = span_begin();
	struct ib_wc wc;
	u32 since;
	int i, before;

	for (i = 0; i < BATCH * BATCHES; i++) {
		before = atomic_read(&p->a.events);
		since = meter_now();
		ib_req_notify_cq(p->a.send_cq, IB_CQ_NEXT_COMP);
		if (!post(p, &wr.wr))
			return;
		wait_var_event_timeout(&p->a.events, atomic_read(&p->a.events) != before, HZ);
		if (!CHECK(ib_poll_cq(p->a.send_cq, 1, &wc) == 1 && !wc.status, "message %d", i))
			return;
		meter_add(m, &since);
	}
	span_end("message", BATCH * BATCHES, begin);
	cost("message", m);
}

/* ---- Objects ---- */

static void bench_lives(struct meter *m)
{
	static const char *const names[] = {
		"kernel-qp-create", "kernel-qp-init", "kernel-qp-rtr", "kernel-qp-rts",
		"kernel-qp-destroy",
	};
	struct ib_cq_init_attr cq_init = { .cqe = 64 };
	struct ib_cq *cq = ib_create_cq(vt.ib, NULL, NULL, NULL, &cq_init);
	struct ib_qp_init_attr init = {
		.send_cq = cq, .recv_cq = cq, .qp_type = IB_QPT_RC,
		.cap = { .max_send_wr = 16, .max_recv_wr = 16, .max_send_sge = 1,
			 .max_recv_sge = 1 },
	};
	struct vt_qp q = { .type = T_RC };
	u64 begin = span_begin();
	u32 since;
	int i, state;

	for (i = 0; i < LIVES; i++) {
		since = meter_now();
		q.qp = ib_create_qp(vt.pd, &init);
		if (!CHECK(!IS_ERR(q.qp), "no queue pair"))
			break;
		meter_add(&m[0], &since);
		for (state = Q_INIT; state <= Q_RTS; state++) {
			CHECK(!vt_go(&q, state), "state %d", state);
			meter_add(&m[state], &since);
		}
		ib_destroy_qp(q.qp);
		meter_add(&m[4], &since);
	}
	span_end("kernel-qp", LIVES, begin);
	for (i = 0; i < ARRAY_SIZE(names); i++)
		cost(names[i], &m[i]);
	ib_destroy_cq(cq);
}

/* Free pages, with those that the CPU keeps for itself. */
static unsigned long free_pages_now(void)
{
	unsigned long pages = 0;
	struct zone *zone = NODE_DATA(0)->node_zones;
	int i;

	msleep(SETTLE_MS);
	for (i = 0; i < MAX_NR_ZONES; i++, zone++)
		if (populated_zone(zone))
			pages += zone_page_state_snapshot(zone, NR_FREE_PAGES) +
				 per_cpu_ptr(zone->per_cpu_pageset, 0)->count;
	return pages;
}

static void tell_memory(const char *name, unsigned long before, int count)
{
	long pages = before - free_pages_now();

	pr_info("verbs-bench: memory %s %ld\n", name, pages * (long)PAGE_SIZE / count);
}

/* The first half of the objects uses up what is free in the slabs, and is not counted. */
static void bench_memory(void)
{
	static struct ib_cq *cqs[2 * HELD];
	static struct ib_qp *qps[2 * HELD];
	static struct ib_mr *mrs[2 * HELD_MRS];
	struct ib_cq_init_attr cq_init = { .cqe = 64 };
	struct ib_qp_init_attr init = {
		.qp_type = IB_QPT_RC,
		.cap = { .max_send_wr = 16, .max_recv_wr = 16, .max_send_sge = 1,
			 .max_recv_sge = 1 },
	};
	unsigned long before = 0;
	int i;

	for (i = 0; i < 2 * HELD; i++) {
		if (i == HELD)
			before = free_pages_now();
		cqs[i] = ib_create_cq(vt.ib, NULL, NULL, NULL, &cq_init);
	}
	tell_memory("kernel-cq", before, HELD);
	if (IS_ERR(cqs[0]))
		return;
	init.send_cq = init.recv_cq = cqs[0];
	for (i = 0; i < 2 * HELD; i++) {
		if (i == HELD)
			before = free_pages_now();
		qps[i] = ib_create_qp(vt.pd, &init);
	}
	tell_memory("kernel-qp", before, HELD);
	for (i = 0; i < 2 * HELD_MRS; i++) {
		if (i == HELD_MRS)
			before = free_pages_now();
		mrs[i] = ib_alloc_mr(vt.pd, IB_MR_TYPE_MEM_REG, 256);
	}
	tell_memory("kernel-mr", before, HELD_MRS);
	for (i = 0; i < 2 * HELD_MRS; i++)
		if (!IS_ERR(mrs[i]))
			ib_dereg_mr(mrs[i]);
	for (i = 0; i < 2 * HELD; i++)
		if (!IS_ERR(qps[i]))
			ib_destroy_qp(qps[i]);
	for (i = 0; i < 2 * HELD; i++)
		if (!IS_ERR(cqs[i]))
			ib_destroy_cq(cqs[i]);
}

/** vt_bench() - all of it; nothing else may run meanwhile */
void vt_bench(void)
{
	struct ib_mr *mr = ib_alloc_mr(vt.pd, IB_MR_TYPE_MEM_REG, VT_BYTES / PAGE_SIZE);
	struct meter *m = kcalloc(5, sizeof(*m), GFP_KERNEL);
	struct vt_pair p;

	if (!CHECK(m && !IS_ERR(mr), "no memory or MR") || !vt_pair_create(&p, T_RC))
		goto out;
	if (vt_register(&p, mr)) {
		bench_data(&p, m, mr->rkey);
		bench_inline(&p, m, mr->rkey);
		bench_recv(&p, m);
		bench_event(&p, m, mr->rkey);
	}
	vt_pair_destroy(&p);
	ib_dereg_mr(mr);
	bench_lives(m);
	bench_memory();
out:
	kfree(m);
}
