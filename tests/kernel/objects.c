// SPDX-License-Identifier: GPL-2.0
/*
 * Objects of the kernel: attributes of device and port, and that creation
 * grants what they promise; PD, CQ, MR, MW, AH and multicast, and destruction
 * in all orders.
 */
#include <linux/dma-mapping.h>
#include <linux/etherdevice.h>
#include <linux/inet.h>
#include <linux/slab.h>

#include "verbs_test.h"

/* ---- Attributes ---- */

/* A queue pair with just these capabilities must be made, and have them. */
static void granted(int type, struct ib_qp_cap cap, const char *what)
{
	struct vt_qp q;
	int err = vt_create(&q, type, &cap);

	if (!CHECK(!err, "%s, %s: %d", vt_type_name(type), what, err))
		return;
	CHECK(q.cap.max_send_wr >= cap.max_send_wr && q.cap.max_recv_wr >= cap.max_recv_wr &&
	      q.cap.max_send_sge >= cap.max_send_sge &&
	      q.cap.max_recv_sge >= cap.max_recv_sge &&
	      q.cap.max_inline_data >= cap.max_inline_data, "%s, %s: less is granted",
	      vt_type_name(type), what);
	CHECK(!vt_bring(&q, Q_RTS), "%s, %s: not to RTS", vt_type_name(type), what);
	vt_destroy(&q);
}

static void not_granted(int type, struct ib_qp_cap cap, const char *what)
{
	struct vt_qp q;
	int err = vt_create(&q, type, &cap);

	if (!CHECK(err == -EINVAL, "%s, %s: %d", vt_type_name(type), what, err) && !err)
		vt_destroy(&q);
}

static void qp_limits(void)
{
	const struct ib_device_attr *limit = &vt.ib->attrs;
	struct ib_qp_cap least = { .max_send_wr = 1, .max_recv_wr = 1, .max_send_sge = 1,
				   .max_recv_sge = 1 }, cap;
	int type;

	for (type = T_RC; type <= T_UD; type++) {
		cap = least;
		cap.max_send_wr = limit->max_qp_wr;
		granted(type, cap, "max_qp_wr sends");
		cap = least;
		cap.max_recv_wr = limit->max_qp_wr;
		granted(type, cap, "max_qp_wr receives");
		cap.max_send_wr = limit->max_qp_wr;
		cap.max_send_sge = limit->max_send_sge;
		cap.max_recv_sge = limit->max_recv_sge;
		granted(type, cap, "all limits");

		cap = least;
		cap.max_send_sge = limit->max_send_sge + 1;
		not_granted(type, cap, "max_send_sge + 1");
		cap = least;
		cap.max_recv_sge = limit->max_recv_sge + 1;
		not_granted(type, cap, "max_recv_sge + 1");
		cap = least;
		cap.max_send_wr = U32_MAX;
		not_granted(type, cap, "U32_MAX sends");
		cap = least;
		cap.max_recv_wr = U32_MAX;
		not_granted(type, cap, "U32_MAX receives");
		cap = least;
		cap.max_inline_data = 4096;
		not_granted(type, cap, "inline data of a page");
	}
}

static void port_values(void)
{
	struct ib_port_attr port;
	u16 pkey = 0;

	if (!CHECK(!ib_query_port(vt.ib, 1, &port), "the port cannot be queried"))
		return;
	CHECK(port.state == IB_PORT_ACTIVE && port.phys_state == IB_PORT_PHYS_STATE_LINK_UP,
	      "state %d, physical state %d", port.state, port.phys_state);
	CHECK(port.max_mtu == IB_MTU_4096 && port.active_mtu == IB_MTU_1024,
	      "MTU codes %d and %d with a netdev of 1500", port.max_mtu, port.active_mtu);
	CHECK(port.lid == 0, "LID %u, but RoCE has none", port.lid);
	CHECK(port.gid_tbl_len && port.pkey_tbl_len == 1 && port.max_msg_sz, "sizes of tables");
	CHECK(port.active_speed && port.active_width, "speed %u, width %u", port.active_speed,
	      port.active_width);
	CHECK(!ib_query_pkey(vt.ib, 1, 0, &pkey) && pkey == 0xffff, "P_Key 0x%x", pkey);
	CHECK(ib_query_pkey(vt.ib, 1, port.pkey_tbl_len, &pkey) == -EINVAL, "a second P_Key");
	CHECK(ib_query_port(vt.ib, 2, &port) == -EINVAL, "a second port");
}

/** vt_test_attributes() - what device and port promise is granted */
void vt_test_attributes(void)
{
	const struct ib_device_attr *limit = &vt.ib->attrs;

	CHECK(limit->max_qp > 0 && limit->max_cq > 0 && limit->max_mr > 0 && limit->max_pd > 0 &&
	      limit->max_ah > 0 && limit->max_mw > 0, "a limit is 0");
	CHECK(limit->max_qp_rd_atom > 0 && limit->max_qp_init_rd_atom > 0, "no READs");
	CHECK(limit->vendor_id == 0x8086, "vendor 0x%x", limit->vendor_id);
	CHECK(limit->max_fast_reg_page_list_len > 0, "no fast registration");
	CHECK(limit->kernel_cap_flags & IBK_LOCAL_DMA_LKEY, "no lkey for all memory");
	port_values();
	qp_limits();
}

/* ---- CQ and order of destruction ---- */

static void cq_sizes(void)
{
	static const struct {
		int cqe, vector, want;
	} sizes[] = {
		{ 1, 0, 0 }, { 2, 0, 0 }, { 1000, 0, 0 }, { 30000, 0, 0 }, { 0, 0, -EINVAL },
		{ -1, 0, -EINVAL }, { INT_MAX, 0, -EINVAL }, { 1, 10000, -EINVAL },
	};
	struct ib_cq_init_attr attr = {};
	struct ib_cq *cq;
	int i, err;

	for (i = 0; i < ARRAY_SIZE(sizes); i++) {
		attr.cqe = sizes[i].cqe;
		attr.comp_vector = sizes[i].vector;
		cq = ib_create_cq(vt.ib, NULL, NULL, NULL, &attr);
		err = PTR_ERR_OR_ZERO(cq);
		CHECK(err == sizes[i].want, "CQ of %d entries, vector %d: %d", sizes[i].cqe,
		      sizes[i].vector, err);
		if (err)
			continue;
		CHECK(cq->cqe >= sizes[i].cqe, "CQ of %d entries has %d", sizes[i].cqe, cq->cqe);
		err = ib_resize_cq(cq, sizes[i].cqe + 10);
		CHECK(err == -EOPNOTSUPP || (!err && cq->cqe >= sizes[i].cqe + 10),
		      "resizing: %d", err);
		ib_destroy_cq(cq);
	}
	/* More than the kernel has in one piece. */
	attr = (struct ib_cq_init_attr){ .cqe = vt.ib->attrs.max_cqe };
	cq = ib_create_cq(vt.ib, NULL, NULL, NULL, &attr);
	if (CHECK(!IS_ERR(cq), "CQ of max_cqe %d: %ld", attr.cqe, PTR_ERR(cq)))
		ib_destroy_cq(cq);
	attr.cqe++;
	cq = ib_create_cq(vt.ib, NULL, NULL, NULL, &attr);
	CHECK(PTR_ERR_OR_ZERO(cq) == -EINVAL, "CQ of max_cqe + 1");
	for (i = 0; i < vt.ib->num_comp_vectors; i++) {
		attr.cqe = 16;
		attr.comp_vector = i;
		cq = ib_create_cq(vt.ib, NULL, NULL, NULL, &attr);
		if (CHECK(!IS_ERR(cq), "CQ on vector %d: %ld", i, PTR_ERR(cq)))
			ib_destroy_cq(cq);
	}
}

/* ib_core keeps what is in use; whatever it lets go must be gone for good. */
static void destroy_orders(void)
{
	struct ib_cq_init_attr attr = { .cqe = 64 };
	struct ib_qp_init_attr init = {
		.qp_type = IB_QPT_RC,
		.cap = { .max_send_wr = 4, .max_recv_wr = 4, .max_send_sge = 1,
			 .max_recv_sge = 1 },
	};
	struct ib_qp *a, *b;
	struct ib_cq *cq;
	struct ib_pd *pd;
	int i;

	for (i = 0; i < 4; i++) {
		pd = ib_alloc_pd(vt.ib, 0);
		cq = ib_create_cq(vt.ib, NULL, NULL, NULL, &attr);
		if (!CHECK(!IS_ERR(pd) && !IS_ERR(cq), "no PD and CQ"))
			return;
		init.send_cq = cq;
		init.recv_cq = cq;
		a = ib_create_qp(pd, &init);
		b = ib_create_qp(pd, &init);
		if (!CHECK(!IS_ERR(a) && !IS_ERR(b), "no queue pairs"))
			return;
		CHECK(a->qp_num != b->qp_num, "two queue pairs of one number");
		ib_destroy_qp(i & 1 ? a : b);
		ib_destroy_qp(i & 1 ? b : a);
		if (i & 2)
			ib_destroy_cq(cq);
		ib_dealloc_pd(pd);
		if (!(i & 2))
			ib_destroy_cq(cq);
	}
}

/** vt_test_objects() - PDs, CQs, queue pairs that cannot be, orders of destruction */
void vt_test_objects(void)
{
	struct ib_qp_init_attr init = {
		.qp_type = IB_QPT_UC,
		.cap = { .max_send_wr = 4, .max_recv_wr = 4, .max_send_sge = 1,
			 .max_recv_sge = 1 },
	};
	struct ib_qp *qp;
	struct vt_qp q;

	cq_sizes();
	destroy_orders();
	if (!CHECK(!vt_create(&q, T_RC, NULL), "no queue pair"))
		return;
	init.send_cq = q.send_cq;
	init.recv_cq = q.recv_cq;
	qp = ib_create_qp(vt.pd, &init);
	CHECK(PTR_ERR_OR_ZERO(qp) == -EOPNOTSUPP, "a UC queue pair");
	init.qp_type = IB_QPT_RC;
	init.create_flags = IB_QP_CREATE_NETIF_QP;
	qp = ib_create_qp(vt.pd, &init);
	CHECK(PTR_ERR_OR_ZERO(qp) == -EOPNOTSUPP, "a queue pair with flags");
	vt_destroy(&q);
}

/* ---- Memory ---- */

#define PAGES 8

/* @count pages of @sg, the first from @first_offset on; returns what ib_map_mr_sg() says. */
static int map(struct ib_mr *mr, struct scatterlist *sg, struct page **pages, int count,
	       unsigned int first_offset)
{
	int i, n;

	sg_init_table(sg, count);
	for (i = 0; i < count; i++)
		sg_set_page(&sg[i], pages[i], PAGE_SIZE - (i ? 0 : first_offset),
			    i ? 0 : first_offset);
	n = ib_dma_map_sg(vt.ib, sg, count, DMA_BIDIRECTIONAL);
	if (!CHECK(n == count, "%d entries are mapped for DMA", n))
		return -EIO;
	n = ib_map_mr_sg(mr, sg, count, NULL, PAGE_SIZE);
	ib_dma_unmap_sg(vt.ib, sg, count, DMA_BIDIRECTIONAL);
	return n;
}

static void map_pages(struct page **pages)
{
	struct ib_mr *mr = ib_alloc_mr(vt.pd, IB_MR_TYPE_MEM_REG, PAGES / 2);
	LIST_HEAD(pool);
	struct scatterlist sg[PAGES];
	int n;

	if (!CHECK(!IS_ERR(mr), "no MR: %ld", PTR_ERR(mr)))
		return;
	n = map(mr, sg, pages, PAGES / 2, 0);
	CHECK(n == PAGES / 2 && mr->length == PAGES / 2 * PAGE_SIZE, "%d pages, length %llu", n,
	      mr->length);
	n = map(mr, sg, pages, 1, 100);
	CHECK(n == 1 && mr->length == PAGE_SIZE - 100, "from 100: %d, length %llu", n,
	      mr->length);
	n = map(mr, sg, pages, PAGES, 0);
	CHECK(n == PAGES / 2 || n < 0, "%d entries in an MR of %d pages", n, PAGES / 2);
	/* As it comes out of a pool, the list of which shares room with a process's object. */
	list_add(&mr->qp_entry, &pool);
	list_del(&mr->qp_entry);
	ib_dereg_mr(mr);
}

static void fast_registration(void)
{
	u32 most = vt.ib->attrs.max_fast_reg_page_list_len;
	struct page *pages[PAGES] = {};
	struct ib_mr *mr;
	int i;

	mr = ib_alloc_mr(vt.pd, IB_MR_TYPE_MEM_REG, most);
	if (CHECK(!IS_ERR(mr), "an MR of %u pages: %ld", most, PTR_ERR(mr)))
		ib_dereg_mr(mr);
	mr = ib_alloc_mr(vt.pd, IB_MR_TYPE_MEM_REG, most + 1);
	if (!CHECK(PTR_ERR_OR_ZERO(mr) == -EINVAL, "an MR of %u pages: %ld", most + 1,
		   PTR_ERR(mr)) && !IS_ERR(mr))
		ib_dereg_mr(mr);
	mr = ib_alloc_mr(vt.pd, IB_MR_TYPE_SG_GAPS, 4);
	CHECK(IS_ERR(mr), "an MR with gaps");

	for (i = 0; i < PAGES; i++)
		pages[i] = alloc_page(GFP_KERNEL);
	if (pages[PAGES - 1])
		map_pages(pages);
	for (i = 0; i < PAGES; i++)
		if (pages[i])
			__free_page(pages[i]);
}

/* ib_core has windows for processes only; the driver's part is the same. */
static void windows(void)
{
	static const int types[] = { IB_MW_TYPE_1, IB_MW_TYPE_2, 77 };
	struct ib_mw *mw;
	int i, err;

	for (i = 0; i < ARRAY_SIZE(types); i++) {
		mw = rdma_zalloc_drv_obj(vt.ib, ib_mw);
		if (!mw)
			return;
		mw->device = vt.ib;
		mw->pd = vt.pd;
		mw->type = types[i];
		err = vt.ib->ops.alloc_mw(mw, NULL);
		CHECK(err == (types[i] == 77 ? -EINVAL : 0), "window of type %d: %d", types[i],
		      err);
		if (!err)
			CHECK(!vt.ib->ops.dealloc_mw(mw), "a window stays");
		kfree(mw);
	}
}

/** vt_test_memory() - regions of all memory and for fast registration, windows */
void vt_test_memory(void)
{
	struct ib_pd *pd = ib_alloc_pd(vt.ib, IB_PD_UNSAFE_GLOBAL_RKEY);

	/* This makes the region of all memory, which is get_dma_mr(). */
	if (CHECK(!IS_ERR(pd), "no PD with a global rkey: %ld", PTR_ERR(pd))) {
		CHECK(pd->unsafe_global_rkey, "the global rkey is 0");
		ib_dealloc_pd(pd);
	}
	fast_registration();
	windows();
}

/* ---- Address handles, multicast ---- */

#define HANDLES 16

/** vt_test_ah() - address handles from threads and from where nothing may sleep */
void vt_test_ah(void)
{
	struct rdma_ah_attr path = vt_path(), got;
	struct ib_ah *ah[HANDLES];
	static DEFINE_SPINLOCK(lock);
	unsigned long flags;
	int i;

	for (i = 0; i < HANDLES; i++) {
		ah[i] = rdma_create_ah(vt.pd, &path, RDMA_CREATE_AH_SLEEPABLE);
		CHECK(!IS_ERR(ah[i]), "sleepable: %ld", PTR_ERR(ah[i]));
	}
	CHECK(!rdma_query_ah(ah[0], &got) &&
	      got.grh.traffic_class == path.grh.traffic_class &&
	      got.grh.hop_limit == path.grh.hop_limit &&
	      got.grh.flow_label == path.grh.flow_label &&
	      !memcmp(&got.grh.dgid, &path.grh.dgid, sizeof(got.grh.dgid)),
	      "another path is queried");
	for (i = 0; i < HANDLES; i++)
		if (!IS_ERR(ah[i]))
			rdma_destroy_ah(ah[i], RDMA_DESTROY_AH_SLEEPABLE);

	spin_lock_irqsave(&lock, flags);
	for (i = 0; i < HANDLES; i++)
		ah[i] = rdma_create_ah(vt.pd, &path, 0);
	spin_unlock_irqrestore(&lock, flags);
	for (i = 0; i < HANDLES; i++)
		CHECK(!IS_ERR(ah[i]), "atomic: %ld", PTR_ERR(ah[i]));
	spin_lock_irqsave(&lock, flags);
	for (i = 0; i < HANDLES; i += 2)
		if (!IS_ERR(ah[i]))
			rdma_destroy_ah(ah[i], 0);
	spin_unlock_irqrestore(&lock, flags);
	for (i = 1; i < HANDLES; i += 2)
		if (!IS_ERR(ah[i]))
			rdma_destroy_ah(ah[i], RDMA_DESTROY_AH_SLEEPABLE);

	rdma_ah_set_ah_flags(&path, 0);
	ah[0] = rdma_create_ah(vt.pd, &path, RDMA_CREATE_AH_SLEEPABLE);
	CHECK(IS_ERR(ah[0]), "a handle without GRH");
}

static struct ib_ah *atomic_ah(struct rdma_ah_attr *path)
{
	static DEFINE_SPINLOCK(lock);
	unsigned long flags;
	struct ib_ah *ah;

	spin_lock_irqsave(&lock, flags);
	ah = rdma_create_ah(vt.pd, path, 0);
	spin_unlock_irqrestore(&lock, flags);
	return ah;
}

/**
 * vt_test_dmac() - handles to a neighbour, with a MAC from long ago
 *
 * The device's trace tells which MAC they got.
 */
void vt_test_dmac(void)
{
	static const u8 stale[ETH_ALEN] = { 2, 0xde, 0xad, 0, 0, 1 };
	struct rdma_ah_attr path = vt_path();
	struct ib_ah *ah;

	if (!*vt_neighbour)
		return;
	if (!CHECK(in4_pton(vt_neighbour, -1, path.grh.dgid.raw + 12, -1, NULL),
		   "%s is no address", vt_neighbour))
		return;
	ether_addr_copy(path.roce.dmac, stale);
	if (vt_refused) {
		ah = atomic_ah(&path);
		if (!CHECK(IS_ERR(ah), "a handle without ARP entry"))
			rdma_destroy_ah(ah, RDMA_DESTROY_AH_SLEEPABLE);
	}
	ah = atomic_ah(&path);
	if (CHECK(!IS_ERR(ah), "atomic: %ld", PTR_ERR(ah)))
		rdma_destroy_ah(ah, RDMA_DESTROY_AH_SLEEPABLE);
	ah = rdma_create_ah(vt.pd, &path, RDMA_CREATE_AH_SLEEPABLE);
	if (CHECK(!IS_ERR(ah), "sleepable: %ld", PTR_ERR(ah)))
		rdma_destroy_ah(ah, RDMA_DESTROY_AH_SLEEPABLE);
}

/** vt_test_mcast() - groups joined and left by UD queue pairs, and what is refused */
void vt_test_mcast(void)
{
	union ib_gid group = vt.sgid, other;
	struct vt_qp ud, rc;

	if (!CHECK(!vt_create(&ud, T_UD, NULL) && !vt_create(&rc, T_RC, NULL), "no queue pairs"))
		return;
	group.raw[12] = 239;	/* an IPv4 group */
	other = group;
	other.raw[15]++;
	CHECK(ib_attach_mcast(rc.qp, &group, 0) == -EINVAL, "RC in a group");
	CHECK(ib_attach_mcast(ud.qp, &vt.sgid, 0) == -EINVAL, "an address that is no group");
	CHECK(ib_detach_mcast(ud.qp, &group, 0) == -EINVAL, "left without being in it");
	CHECK(!ib_attach_mcast(ud.qp, &group, 0), "not joined");
	CHECK(ib_detach_mcast(ud.qp, &other, 0) == -EINVAL, "another group is left");
	CHECK(!ib_detach_mcast(ud.qp, &group, 0), "not left");
	CHECK(ib_detach_mcast(ud.qp, &group, 0) == -EINVAL, "left twice");
	CHECK(!ib_attach_mcast(ud.qp, &group, 0) && !vt_bring(&ud, Q_RTS) &&
	      !ib_attach_mcast(ud.qp, &other, 0), "not joined in RESET and RTS");
	CHECK(!ib_detach_mcast(ud.qp, &other, 0) && !ib_detach_mcast(ud.qp, &group, 0),
	      "not left in RTS");
	vt_destroy(&ud);
	vt_destroy(&rc);
}
