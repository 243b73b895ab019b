// SPDX-License-Identifier: GPL-2.0
/*
 * Data of the kernel's queue pairs, over the device's loopback: each opcode with
 * sizes from nothing to many packets, from one to three pieces of memory, and
 * inline. Every byte is looked at, and what lies beside it.
 */
#include <linux/delay.h>

#include "verbs_test.h"

#define OFFSET 128	/* of messages in the memory of either side */
#define SENTINEL 0xa5
#define IMMEDIATE 0x1234abcd
#define GRH 40

/** struct data_op - a way to move a message
 * @name: for the output
 * @opcode: what is posted
 * @wc_opcode: what it completes as
 * @received: what it completes as at the peer; 0: it does not
 */
struct data_op {
	const char *name;
	enum ib_wr_opcode opcode;
	enum ib_wc_opcode wc_opcode, received;
};

static const struct data_op ops[] = {
	{ "SEND", IB_WR_SEND, IB_WC_SEND, IB_WC_RECV },
	{ "SEND_WITH_IMM", IB_WR_SEND_WITH_IMM, IB_WC_SEND, IB_WC_RECV },
	{ "SEND_WITH_INV", IB_WR_SEND_WITH_INV, IB_WC_SEND, IB_WC_RECV },
	{ "RDMA_WRITE", IB_WR_RDMA_WRITE, IB_WC_RDMA_WRITE, 0 },
	{ "RDMA_WRITE_WITH_IMM", IB_WR_RDMA_WRITE_WITH_IMM, IB_WC_RDMA_WRITE,
	  IB_WC_RECV_RDMA_WITH_IMM },
	{ "RDMA_READ", IB_WR_RDMA_READ, IB_WC_RDMA_READ, 0 },
};

static bool has_immediate(const struct data_op *op)
{
	return op->opcode == IB_WR_SEND_WITH_IMM || op->opcode == IB_WR_RDMA_WRITE_WITH_IMM;
}

/**
 * vt_register() - make the memory of b accessible to the peer by fast registration
 * @p: the pair
 * @mr: for VT_BYTES
 *
 * The key is another one each time. Return: whether it completed.
 */
bool vt_register(struct vt_pair *p, struct ib_mr *mr)
{
	struct scatterlist sg[VT_BYTES / PAGE_SIZE];
	struct ib_reg_wr wr = {
		.wr = { .opcode = IB_WR_REG_MR, .wr_id = 77, .send_flags = IB_SEND_SIGNALED },
		.mr = mr,
		.access = IB_ACCESS_LOCAL_WRITE | IB_ACCESS_REMOTE_WRITE | IB_ACCESS_REMOTE_READ,
	};
	const struct ib_send_wr *bad;
	struct ib_wc wc = {};
	int i;

	sg_init_table(sg, ARRAY_SIZE(sg));
	for (i = 0; i < ARRAY_SIZE(sg); i++) {
		sg_dma_address(&sg[i]) = p->dma[1] + i * PAGE_SIZE;
		sg_dma_len(&sg[i]) = PAGE_SIZE;
	}
	ib_update_fast_reg_key(mr, ib_inc_rkey(mr->rkey));
	if (!CHECK(ib_map_mr_sg(mr, sg, ARRAY_SIZE(sg), NULL, PAGE_SIZE) == ARRAY_SIZE(sg),
		   "the memory is not mapped"))
		return false;
	wr.key = mr->rkey;
	return CHECK(!ib_post_send(p->b.qp, &wr.wr, &bad) && vt_take(p->b.send_cq, &wc) &&
		     !wc.status && wc.opcode == IB_WC_REG_MR && wc.wr_id == 77,
		     "registration: request %llu, opcode %d, status %d", wc.wr_id, wc.opcode,
		     wc.status);
}

static void invalidate(struct vt_pair *p, struct ib_mr *mr)
{
	struct ib_send_wr wr = { .opcode = IB_WR_LOCAL_INV, .wr_id = 78,
				 .send_flags = IB_SEND_SIGNALED | IB_SEND_FENCE,
				 .ex.invalidate_rkey = mr->rkey };
	const struct ib_send_wr *bad;
	struct ib_wc wc = {};

	CHECK(!ib_post_send(p->b.qp, &wr, &bad) && vt_take(p->b.send_cq, &wc) && !wc.status &&
	      wc.opcode == IB_WC_LOCAL_INV && wc.wr_id == 78,
	      "invalidation: request %llu, opcode %d, status %d", wc.wr_id, wc.opcode, wc.status);
}

/* The receiver's completion has what was sent with the message. */
static void check_received(struct vt_pair *p, const struct data_op *op, struct ib_mr *mr, u32 size)
{
	struct ib_wc wc;

	if (!CHECK(vt_take(p->b.recv_cq, &wc), "%s of %u bytes: nothing came", op->name, size))
		return;
	CHECK(!wc.status && wc.wr_id == size && wc.opcode == op->received && wc.qp == p->b.qp,
	      "%s of %u bytes came as %llu, opcode %d, status %d", op->name, size, wc.wr_id,
	      wc.opcode, wc.status);
	CHECK(wc.byte_len == size, "%s of %u bytes: %u came", op->name, size, wc.byte_len);
	if (has_immediate(op))
		CHECK(wc.wc_flags & IB_WC_WITH_IMM && wc.ex.imm_data == cpu_to_be32(IMMEDIATE),
		      "%s: flags 0x%x, immediate 0x%x", op->name, wc.wc_flags,
		      be32_to_cpu(wc.ex.imm_data));
	else if (op->opcode == IB_WR_SEND_WITH_INV)
		CHECK(wc.wc_flags & IB_WC_WITH_INVALIDATE && wc.ex.invalidate_rkey == mr->rkey,
		      "%s: flags 0x%x, key 0x%x", op->name, wc.wc_flags, wc.ex.invalidate_rkey);
	else
		CHECK(!(wc.wc_flags & (IB_WC_WITH_IMM | IB_WC_WITH_INVALIDATE)), "%s: flags 0x%x",
		      op->name, wc.wc_flags);
}

/* @header: bytes before the message that belong to it */
static void check_content(const u8 *mem, u32 size, u32 seed, u32 header, const char *name)
{
	u32 i;

	for (i = 0; i < size; i++)
		if (mem[OFFSET + i] != vt_pattern(seed, i))
			break;
	CHECK(i == size, "%s of %u bytes differs at %u", name, size, i);
	for (i = 0; i < OFFSET - header; i++)
		if (mem[i] != SENTINEL || mem[OFFSET + size + i] != SENTINEL)
			break;
	CHECK(i == OFFSET - header, "%s of %u bytes: something beside it was written", name, size);
}

/* One message and its completions. */
static void move_message(struct vt_pair *p, const struct data_op *op, struct ib_mr *mr, u32 size,
			 int pieces, int flags)
{
	int from = op->opcode == IB_WR_RDMA_READ, i;
	u32 seed = size + pieces * 1000003u + op->opcode;
	struct ib_sge sge[3];
	struct ib_rdma_wr wr = {
		.wr = { .wr_id = seed, .opcode = op->opcode, .sg_list = sge,
			.send_flags = IB_SEND_SIGNALED | flags },
		.remote_addr = mr->iova + OFFSET,
		.rkey = mr->rkey,
	};
	const struct ib_send_wr *bad;
	struct ib_wc wc = {};

	for (i = 0; i < size; i++)
		p->mem[from][OFFSET + i] = vt_pattern(seed, i);
	memset(p->mem[!from], SENTINEL, size + 2 * OFFSET);
	wr.wr.num_sge = vt_pieces(p, 0, OFFSET, size, pieces, sge);
	if (flags & IB_SEND_INLINE)
		for (i = 0; i < wr.wr.num_sge; i++)	/* by the kernel's own address then */
			sge[i].addr += (uintptr_t)p->mem[0] - p->dma[0];
	if (has_immediate(op))
		wr.wr.ex.imm_data = cpu_to_be32(IMMEDIATE);
	else
		wr.wr.ex.invalidate_rkey = mr->rkey;
	if (op->received)
		CHECK(!vt_post_buffer(p, size, OFFSET, size, pieces), "a receive is refused");
	if (!CHECK(!ib_post_send(p->a.qp, &wr.wr, &bad), "%s of %u bytes is refused", op->name,
		   size))
		return;
	CHECK(vt_take(p->a.send_cq, &wc) && !wc.status && wc.wr_id == seed &&
	      wc.opcode == op->wc_opcode && wc.qp == p->a.qp,
	      "%s of %u bytes: request %llu, opcode %d, status %d", op->name, size, wc.wr_id,
	      wc.opcode, wc.status);
	if (op->received)
		check_received(p, op, mr, size);
	check_content(p->mem[!from], size, seed, 0, op->name);
	CHECK(!ib_poll_cq(p->a.send_cq, 1, &wc) && !ib_poll_cq(p->b.recv_cq, 1, &wc),
	      "%s: a completion too many", op->name);
}

/** vt_test_data() - each opcode of a connection moves what it should */
void vt_test_data(void)
{
	static const u32 sizes[] = { 0, 1, 8, 63, 64, 65, 1000, 1024, 1025, 5000, 60000 };
	struct ib_mr *mr = ib_alloc_mr(vt.pd, IB_MR_TYPE_MEM_REG, VT_BYTES / PAGE_SIZE);
	struct vt_pair p;
	int i, k;

	if (!CHECK(!IS_ERR(mr), "no MR") || !vt_pair_create(&p, T_RC))
		return;
	for (i = 0; i < ARRAY_SIZE(ops); i++) {
		if (!vt_register(&p, mr))
			return;
		for (k = 0; k < ARRAY_SIZE(sizes); k++) {
			move_message(&p, &ops[i], mr, sizes[k], 1 + k % 3, 0);
			if (ops[i].opcode == IB_WR_SEND_WITH_INV && !vt_register(&p, mr))
				return;
			if (sizes[k] > 64 || ops[i].opcode == IB_WR_RDMA_READ)
				continue;
			move_message(&p, &ops[i], mr, sizes[k], 1 + k % 3, IB_SEND_INLINE);
			if (ops[i].opcode == IB_WR_SEND_WITH_INV && !vt_register(&p, mr))
				return;
		}
		invalidate(&p, mr);
	}
	vt_pair_destroy(&p);
	ib_dereg_mr(mr);
}

/* ---- Datagrams ---- */

static void check_datagram(struct vt_pair *p, u32 size, u32 seed, bool immediate)
{
	const u8 *header = p->mem[1] + OFFSET - GRH;
	struct ib_wc wc;

	if (!CHECK(vt_take(p->b.recv_cq, &wc), "a datagram of %u bytes is lost", size))
		return;
	CHECK(!wc.status && wc.wr_id == size && wc.opcode == IB_WC_RECV &&
	      wc.byte_len == size + GRH && wc.src_qp == p->a.qp->qp_num && wc.qp == p->b.qp,
	      "datagram of %u bytes: request %llu, status %d, %u bytes, from QP %u", size, wc.wr_id,
	      wc.status, wc.byte_len, wc.src_qp);
	CHECK(wc.wc_flags & IB_WC_GRH && wc.wc_flags & IB_WC_WITH_NETWORK_HDR_TYPE &&
	      wc.network_hdr_type == RDMA_NETWORK_IPV4 &&
	      !immediate == !(wc.wc_flags & IB_WC_WITH_IMM), "flags 0x%x, network %d", wc.wc_flags,
	      wc.network_hdr_type);
	if (immediate)
		CHECK(wc.ex.imm_data == cpu_to_be32(IMMEDIATE), "immediate 0x%x",
		      be32_to_cpu(wc.ex.imm_data));
	CHECK(header[20] == 0x45, "no IPv4 header before the datagram: 0x%02x", header[20]);
	check_content(p->mem[1], size, seed, GRH, "datagram");
}

static void move_datagram(struct vt_pair *p, struct ib_ah *ah, u32 size, bool immediate)
{
	u32 seed = size * 2 + immediate, i;
	struct ib_sge sge[3];
	struct ib_ud_wr wr = {
		.wr = { .wr_id = size, .sg_list = sge, .send_flags = IB_SEND_SIGNALED,
			.opcode = immediate ? IB_WR_SEND_WITH_IMM : IB_WR_SEND,
			.ex.imm_data = cpu_to_be32(IMMEDIATE) },
		.ah = ah,
		.remote_qpn = p->b.qp->qp_num,
		.remote_qkey = vt_values(0, 0).qkey,
	};
	const struct ib_send_wr *bad;
	struct ib_wc wc = {};

	for (i = 0; i < size; i++)
		p->mem[0][OFFSET + i] = vt_pattern(seed, i);
	memset(p->mem[1], SENTINEL, size + 2 * OFFSET);
	CHECK(!vt_post_buffer(p, size, OFFSET - GRH, size + GRH, 2), "a receive is refused");
	wr.wr.num_sge = vt_pieces(p, 0, OFFSET, size, 2, sge);
	CHECK(!ib_post_send(p->a.qp, &wr.wr, &bad) && vt_take(p->a.send_cq, &wc) && !wc.status &&
	      wc.wr_id == size && wc.opcode == IB_WC_SEND, "datagram of %u bytes: status %d", size,
	      wc.status);
	check_datagram(p, size, seed, immediate);
}

/** vt_test_datagrams() - datagrams of all sizes, and those that nobody takes */
void vt_test_datagrams(void)
{
	static const u32 sizes[] = { 0, 1, 100, 1024 };
	struct rdma_ah_attr path = vt_path();
	struct vt_pair p;
	struct ib_ah *ah;
	int i;

	if (!vt_pair_create(&p, T_UD))
		return;
	ah = rdma_create_ah(vt.pd, &path, RDMA_CREATE_AH_SLEEPABLE);
	if (!CHECK(!IS_ERR(ah), "no address handle"))
		return;
	for (i = 0; i < ARRAY_SIZE(sizes); i++) {
		move_datagram(&p, ah, sizes[i], false);
		move_datagram(&p, ah, sizes[i], true);
	}
	rdma_destroy_ah(ah, RDMA_DESTROY_AH_SLEEPABLE);
	vt_pair_destroy(&p);
}
