// SPDX-License-Identifier: GPL-2.0
/*
 * Data of the kernel's queue pairs, each connected to itself: fast registration
 * with page lists of all lengths, invalidation by both sides, the order of
 * registration, use and invalidation; rings of the largest size, round and round.
 */
#include <linux/delay.h>
#include <linux/dma-mapping.h>
#include <linux/random.h>
#include <linux/slab.h>

#include "verbs_test.h"

#define WAIT_MS 30000
#define PAGES 700		/* that lie scattered; longer lists name them again and again */
#define PROBE 8192		/* bytes of the other end of each transfer */
#define RIGHTS (IB_ACCESS_LOCAL_WRITE | IB_ACCESS_REMOTE_READ | IB_ACCESS_REMOTE_WRITE)

/* The other end of all transfers. */
static u8 *probe;
static u64 probe_bus;

/* ---- Queue pairs ---- */

static int connect_to_itself(struct vt_qp *q)
{
	struct ib_qp_attr attr = vt_values(q->qp->qp_num, 0);
	int to, err = 0;

	attr.sq_psn = attr.rq_psn;
	attr.qp_access_flags = RIGHTS;
	for (to = Q_INIT; !err && to <= Q_RTS; to++) {
		attr.qp_state = to;
		err = ib_modify_qp(q->qp, &attr, qp_arrival_mask(to, T_RC));
	}
	return err;
}

static void drop_completions(struct ib_cq *cq)
{
	struct ib_wc wc;

	while (ib_poll_cq(cq, 1, &wc) > 0)
		;
}

/* The status of the next completion; a queue pair that has failed is connected anew. */
static int status_of(struct vt_qp *q, struct ib_cq *cq, struct ib_wc *wc)
{
	unsigned long end = jiffies + msecs_to_jiffies(WAIT_MS);
	int status;

	while (ib_poll_cq(cq, 1, wc) <= 0) {
		if (!CHECK(time_before(jiffies, end), "no completion"))
			return -ETIMEDOUT;
		usleep_range(50, 100);
	}
	status = wc->status;
	if (status) {
		vt_go(q, Q_ERR);
		drop_completions(q->send_cq);
		drop_completions(q->recv_cq);
		CHECK(!vt_go(q, Q_RESET) && !connect_to_itself(q), "not connected anew");
	}
	return status;
}

static int post(struct vt_qp *q, struct ib_send_wr *wr)
{
	const struct ib_send_wr *bad;
	struct ib_wc wc;

	wr->send_flags |= IB_SEND_SIGNALED;
	if (!CHECK(!ib_post_send(q->qp, wr, &bad), "a request is refused"))
		return -EINVAL;
	return status_of(q, q->send_cq, &wc);
}

static int rdma(struct vt_qp *q, enum ib_wr_opcode opcode, u64 remote, u32 rkey, u32 bytes)
{
	struct ib_sge sge = { probe_bus, bytes, vt.pd->local_dma_lkey };
	struct ib_rdma_wr wr = {
		.wr = { .opcode = opcode, .sg_list = &sge, .num_sge = 1 },
		.remote_addr = remote,
		.rkey = rkey,
	};

	return post(q, &wr.wr);
}

/* It is both ends, so the refusal by the one may flush the request of the other first. */
static bool refused(int status)
{
	return status > IB_WC_SUCCESS;
}

/* ---- Fast registration ---- */

/**
 * struct region - a region for fast registration, and what it maps
 * @mr: the region
 * @pages: pages of the machine
 * @sg: list of them, again and again
 * @mapped: entries of @sg that are mapped for DMA
 */
struct region {
	struct ib_mr *mr;
	struct page *pages[PAGES];
	struct scatterlist *sg;
	int mapped;
};

static struct ib_reg_wr next_registration(struct region *r)
{
	ib_update_fast_reg_key(r->mr, ib_inc_rkey(r->mr->rkey));
	return (struct ib_reg_wr){
		.wr = { .opcode = IB_WR_REG_MR },
		.mr = r->mr,
		.key = r->mr->rkey,
		.access = RIGHTS,
	};
}

static int fast_register(struct vt_qp *q, struct region *r)
{
	struct ib_reg_wr wr = next_registration(r);

	return post(q, &wr.wr);
}

static int invalidate(struct vt_qp *q, struct region *r)
{
	struct ib_send_wr wr = { .opcode = IB_WR_LOCAL_INV, .ex.invalidate_rkey = r->mr->rkey };

	return post(q, &wr);
}

/* Compare @bytes of the probe with those of the region from byte @at on. */
static bool same(struct region *r, u64 at, u32 bytes)
{
	u32 done, part;

	for (done = 0; done < bytes; done += part) {
		u8 *page = page_address(r->pages[(at + done) / PAGE_SIZE % PAGES]);
		u32 in_page = (at + done) % PAGE_SIZE;

		part = min_t(u32, bytes - done, PAGE_SIZE - in_page);
		if (memcmp(page + in_page, probe + done, part))
			return false;
	}
	return true;
}

static void check_data(struct vt_qp *q, struct region *r, u64 at, u32 bytes)
{
	get_random_bytes(probe, bytes);
	CHECK(!rdma(q, IB_WR_RDMA_WRITE, r->mr->iova + at, r->mr->rkey, bytes),
	      "not written at %llu", at);
	CHECK(same(r, at, bytes), "written elsewhere than at %llu", at);
	memset(probe, 0, bytes);
	CHECK(!rdma(q, IB_WR_RDMA_READ, r->mr->iova + at, r->mr->rkey, bytes),
	      "not read at %llu", at);
	CHECK(same(r, at, bytes), "read from elsewhere than %llu", at);
}

static int map_region(struct region *r, int entries)
{
	int i, n;

	r->sg = kvcalloc(entries, sizeof(*r->sg), GFP_KERNEL);
	if (!r->sg)
		return -ENOMEM;
	sg_init_table(r->sg, entries);
	for (i = 0; i < entries; i++)
		sg_set_page(&r->sg[i], r->pages[i % PAGES], PAGE_SIZE, 0);
	/* Each page once: the kernel's check of DMA mappings takes no more. */
	r->mapped = min(entries, PAGES);
	n = ib_dma_map_sg(vt.ib, r->sg, r->mapped, DMA_BIDIRECTIONAL);
	if (!CHECK(n == r->mapped, "%d entries are mapped for DMA", n))
		return -EIO;
	for (i = PAGES; i < entries; i++) {
		sg_dma_address(&r->sg[i]) = sg_dma_address(&r->sg[i % PAGES]);
		sg_dma_len(&r->sg[i]) = PAGE_SIZE;
	}
	n = ib_map_mr_sg(r->mr, r->sg, entries, NULL, PAGE_SIZE);
	return CHECK(n == entries, "%d of %d entries are mapped", n, entries) ? 0 : -EIO;
}

static void drop_region(struct region *r)
{
	int i;

	if (r->sg)
		ib_dma_unmap_sg(vt.ib, r->sg, r->mapped, DMA_BIDIRECTIONAL);
	kvfree(r->sg);
	if (!IS_ERR(r->mr))
		CHECK(!ib_dereg_mr(r->mr), "the region stays");
	for (i = 0; i < PAGES; i++)
		if (r->pages[i])
			__free_page(r->pages[i]);
	kfree(r);
}

/* The pages lie in no order that would be one. */
static struct region *make_region(int entries)
{
	struct region *r = kzalloc(sizeof(*r), GFP_KERNEL);
	int i;

	if (!r)
		return NULL;
	for (i = 0; i < PAGES; i++) {
		int with = get_random_u32() % (i + 1);

		r->pages[i] = alloc_page(GFP_KERNEL | __GFP_ZERO);
		swap(r->pages[i], r->pages[with]);
	}
	r->mr = ib_alloc_mr(vt.pd, IB_MR_TYPE_MEM_REG, entries);
	if (CHECK(!IS_ERR(r->mr), "a region of %d pages: %ld", entries, PTR_ERR(r->mr)) &&
	    !map_region(r, entries))
		return r;
	drop_region(r);
	return NULL;
}

static void check_keys(struct vt_qp *q, struct region *r)
{
	u32 old = r->mr->rkey;

	CHECK(!invalidate(q, r), "not invalidated");
	CHECK(refused(rdma(q, IB_WR_RDMA_WRITE, r->mr->iova, old, 8)),
	      "an invalid key");
	/* At another address than ib_map_mr_sg() has chosen, as rpcrdma does it. */
	r->mr->iova ^= 0x1234567800000000;
	CHECK(!fast_register(q, r) && r->mr->rkey != old, "not registered again");
	CHECK(refused(rdma(q, IB_WR_RDMA_WRITE, r->mr->iova, old, 8)),
	      "the key before");
	check_data(q, r, 0, 8);
}

/* The peer invalidates with its answer. */
static void check_remote_invalidate(struct vt_qp *q, struct region *r)
{
	struct ib_send_wr wr = { .opcode = IB_WR_SEND_WITH_INV,
				 .ex.invalidate_rkey = r->mr->rkey };
	struct ib_wc wc = {};

	CHECK(vt_post_recvs(q, 1, 1) == 1 && !post(q, &wr), "not sent");
	CHECK(!status_of(q, q->recv_cq, &wc) && wc.wc_flags & IB_WC_WITH_INVALIDATE &&
	      wc.ex.invalidate_rkey == r->mr->rkey, "flags 0x%x, key 0x%x", wc.wc_flags,
	      wc.ex.invalidate_rkey);
	CHECK(refused(rdma(q, IB_WR_RDMA_READ, r->mr->iova, r->mr->rkey, 8)),
	      "a key that the peer has invalidated");
}

/* Registered, read into, and invalidated when that is done: posted at once. */
static void check_order(struct vt_qp *q, struct region *r)
{
	struct ib_reg_wr first = next_registration(r);
	struct ib_sge sge = { r->mr->iova + 100, PROBE, r->mr->lkey };
	struct ib_rdma_wr read = {
		.wr = { .opcode = IB_WR_RDMA_READ, .sg_list = &sge, .num_sge = 1 },
		.remote_addr = probe_bus,
		.rkey = vt.pd->unsafe_global_rkey,
	};
	struct ib_send_wr last = { .opcode = IB_WR_LOCAL_INV, .send_flags = IB_SEND_FENCE,
				   .ex.invalidate_rkey = r->mr->rkey };

	first.wr.next = &read.wr;
	read.wr.next = &last;
	get_random_bytes(probe, PROBE);
	last.send_flags |= IB_SEND_SIGNALED;
	CHECK(!post(q, &first.wr), "a chain of three, the first");
	CHECK(!status_of(q, q->send_cq, &(struct ib_wc){}), "a chain of three, the last");
	CHECK(same(r, 100, PROBE), "the data has not come before the invalidation");
}

static void one_length(struct vt_qp *q, int entries)
{
	struct region *r = make_region(entries);
	u64 bytes = (u64)entries * PAGE_SIZE;
	u32 n = min_t(u64, bytes, PROBE);
	int i;

	if (!r)
		return;
	CHECK(!fast_register(q, r), "%d pages are not registered", entries);
	check_data(q, r, 0, n);
	check_data(q, r, bytes - n, n);
	for (i = 0; i < 8; i++)
		check_data(q, r, get_random_u64() % (bytes - n + 1), n);
	CHECK(refused(rdma(q, IB_WR_RDMA_WRITE, r->mr->iova + bytes, r->mr->rkey, 1)), "beyond the end");
	check_keys(q, r);
	check_remote_invalidate(q, r);
	if (entries > PROBE / PAGE_SIZE)
		check_order(q, r);
	else
		CHECK(!fast_register(q, r), "not registered for the last time");
	drop_region(r);
}

/** vt_test_fastreg() - fast registration of one page to as many as the device takes, with data */
void vt_test_fastreg(void)
{
	const int lengths[] = { 1, 2, 3, 511, 513, 5000,
				vt.ib->attrs.max_fast_reg_page_list_len };
	struct ib_pd *before = vt.pd;
	struct vt_qp q;
	int i;

	probe = dma_alloc_coherent(vt.ib->dma_device, PROBE, &probe_bus, GFP_KERNEL);
	vt.pd = ib_alloc_pd(vt.ib, IB_PD_UNSAFE_GLOBAL_RKEY);
	if (CHECK(probe && !IS_ERR(vt.pd), "no memory and PD") &&
	    CHECK(!vt_create(&q, T_RC, NULL), "no queue pair")) {
		CHECK(!connect_to_itself(&q), "not connected");
		for (i = 0; i < ARRAY_SIZE(lengths); i++)
			one_length(&q, lengths[i]);
		vt_destroy(&q);
	}
	if (!IS_ERR(vt.pd))
		ib_dealloc_pd(vt.pd);
	vt.pd = before;
	if (probe)
		dma_free_coherent(vt.ib->dma_device, PROBE, probe, probe_bus);
}

/* ---- Rings ---- */

/* @count messages to itself: completions of both sides, each once and in order. */
static void send_round(struct vt_qp *q, int round, int count)
{
	unsigned long end = jiffies + msecs_to_jiffies(WAIT_MS);
	u64 first = (u64)round * count;
	int sent = 0, received = 0;
	struct ib_wc wc;

	if (!CHECK(vt_post_recvs(q, first, count) == count &&
		   vt_post_sends(q, first, count, NULL) == count, "round %d is refused", round))
		return;
	while ((sent < count || received < count) && time_before(jiffies, end)) {
		if (ib_poll_cq(q->send_cq, 1, &wc) > 0) {
			CHECK(!wc.status && wc.wr_id == first + sent, "send %llu: status %d, after %d",
			      wc.wr_id, wc.status, sent);
			sent++;
		} else if (ib_poll_cq(q->recv_cq, 1, &wc) > 0) {
			CHECK(!wc.status && wc.wr_id == first + received,
			      "receive %llu: status %d, after %d", wc.wr_id, wc.status, received);
			received++;
		} else {
			usleep_range(50, 100);
		}
	}
	CHECK(sent == count && received == count, "%d sent and %d received of %d", sent, received,
	      count);
}

/** vt_test_rings() - rings of the smallest and the largest size, several times round */
void vt_test_rings(void)
{
	const struct ib_device_attr *limit = &vt.ib->attrs;
	const struct {
		struct ib_qp_cap cap;
		int count;
	} sizes[] = {
		{ { .max_send_wr = 8, .max_recv_wr = 8, .max_send_sge = 1, .max_recv_sge = 1 }, 8 },
		{ { .max_send_wr = 3000, .max_recv_wr = 3000, .max_send_sge = 1,
		    .max_recv_sge = 1 }, 3000 },
		{ { .max_send_wr = limit->max_qp_wr, .max_recv_wr = limit->max_qp_wr,
		    .max_send_sge = limit->max_send_sge, .max_recv_sge = limit->max_recv_sge },
		  CQ_ENTRIES - 100 },
	};
	struct vt_qp q;
	int i, round;

	for (i = 0; i < ARRAY_SIZE(sizes); i++) {
		if (!CHECK(!vt_create(&q, T_RC, &sizes[i].cap), "no queue pair"))
			return;
		if (CHECK(!connect_to_itself(&q), "not connected"))
			for (round = 0; round < 5; round++)
				send_round(&q, round, sizes[i].count);
		vt_destroy(&q);
	}
}
