// SPDX-License-Identifier: GPL-2.0
/* Two queue pairs of the device that are connected to each other, with memory. */
#include <linux/delay.h>
#include <linux/dma-mapping.h>

#include "verbs_test.h"

#define PSN 0xfffffa	/* wraps soon */
#define WAIT_MS 20000

/** vt_pattern() - byte @i of message @seed */
u8 vt_pattern(u32 seed, u32 i)
{
	return (i * 0x9e3779b1u + seed * 0x85ebca6bu) >> 24;
}

/** vt_take() - the next completion, or false after a while */
bool vt_take(struct ib_cq *cq, struct ib_wc *wc)
{
	unsigned long end = jiffies + msecs_to_jiffies(WAIT_MS);

	while (time_before(jiffies, end)) {
		if (ib_poll_cq(cq, 1, wc) == 1)
			return true;
		usleep_range(50, 100);
	}
	return false;
}

/**
 * vt_connect() - a queue pair in RESET to RTS, for work with another one
 * @q: the queue pair; an RC one may do all that there is
 * @dest: number of the other, which is connected likewise
 *
 * Return: 0 or a negative errno.
 */
int vt_connect(struct vt_qp *q, u32 dest)
{
	struct ib_qp_attr attr = vt_values(dest, 0);
	int err = 0;

	attr.sq_psn = PSN;
	attr.rq_psn = PSN;
	attr.rnr_retry = 7;
	attr.retry_cnt = 7;
	attr.qp_access_flags = IB_ACCESS_LOCAL_WRITE | IB_ACCESS_REMOTE_WRITE |
			       IB_ACCESS_REMOTE_READ;
	for (attr.qp_state = IB_QPS_INIT; !err && attr.qp_state <= IB_QPS_RTS; attr.qp_state++)
		err = ib_modify_qp(q->qp, &attr, qp_arrival_mask(attr.qp_state, q->type));
	return err;
}

/** vt_reconnect() - both queue pairs by RESET to RTS again */
int vt_reconnect(struct vt_pair *p)
{
	return vt_go(&p->a, Q_RESET) ?: vt_go(&p->b, Q_RESET) ?:
	       vt_connect(&p->a, p->b.qp->qp_num) ?: vt_connect(&p->b, p->a.qp->qp_num);
}

/** vt_pair_create() - a connected pair of a type, or what CHECK has told
 * @p: filled in
 * @type: T_RC or T_UD
 *
 * Return: whether it is there.
 */
bool vt_pair_create(struct vt_pair *p, int type)
{
	static const struct ib_qp_cap cap = {
		.max_send_wr = 32, .max_recv_wr = 32, .max_send_sge = 3, .max_recv_sge = 3,
		.max_inline_data = 64,
	};
	struct device *dev = vt.ib->dma_device;
	int i;

	memset(p, 0, sizeof(*p));
	for (i = 0; i < 2; i++)
		p->mem[i] = dma_alloc_coherent(dev, VT_BYTES, &p->dma[i], GFP_KERNEL);
	if (!CHECK(p->mem[0] && p->mem[1], "no memory"))
		return false;
	if (!CHECK(!vt_create(&p->a, type, &cap) && !vt_create(&p->b, type, &cap),
		   "no queue pairs"))
		return false;
	return CHECK(!vt_connect(&p->a, p->b.qp->qp_num) &&
		     !vt_connect(&p->b, p->a.qp->qp_num), "the two are not connected");
}

/** vt_pair_destroy() - all of it */
void vt_pair_destroy(struct vt_pair *p)
{
	int i;

	vt_destroy(&p->a);
	vt_destroy(&p->b);
	for (i = 0; i < 2; i++)
		dma_free_coherent(vt.ib->dma_device, VT_BYTES, p->mem[i], p->dma[i]);
}

/**
 * vt_pieces() - a piece of the memory of one of the two as one to three SGEs
 * @p: the pair
 * @side: 0 for a, 1 for b
 * @offset: bytes from the beginning
 * @length: bytes
 * @count: of SGEs; fewer for a few bytes
 * @sge: filled in
 *
 * Return: how many SGEs it is.
 */
int vt_pieces(struct vt_pair *p, int side, u32 offset, u32 length, int count, struct ib_sge *sge)
{
	u32 done = 0;
	int i;

	if (length < 8)
		count = length ? 1 : 0;
	for (i = 0; i < count; i++) {
		u32 part = i + 1 < count ? (length / count) | 1 : length - done;

		sge[i].addr = p->dma[side] + offset + done;
		sge[i].length = part;
		sge[i].lkey = vt.pd->local_dma_lkey;
		done += part;
	}
	return count;
}

/** vt_post_buffer() - a receive on b for @length bytes at @offset of its memory */
int vt_post_buffer(struct vt_pair *p, u64 id, u32 offset, u32 length, int pieces)
{
	struct ib_sge sge[3];
	const struct ib_recv_wr *bad;
	struct ib_recv_wr wr = { .wr_id = id, .sg_list = sge };

	wr.num_sge = vt_pieces(p, 1, offset, length, pieces, sge);
	return ib_post_recv(p->b.qp, &wr, &bad);
}
