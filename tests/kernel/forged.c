// SPDX-License-Identifier: GPL-2.0
/*
 * Completions that are not true. The test prints the numbers of two queue pairs
 * with work outstanding, waits until the host has let the device write what it
 * likes, and looks at what came of it: nothing, and then all that is true.
 */
#include <linux/delay.h>
#include <linux/module.h>

#include "verbs_test.h"

#define SLOT 64
#define WORK 8
#define WAIT_MS 60000

static bool forged;
module_param(forged, bool, 0644);
MODULE_PARM_DESC(forged, "set by the host when the device has written forged completions");

static bool wait_for_host(const char *what, struct vt_pair *p)
{
	int ms;

	WRITE_ONCE(forged, false);
	pr_info("verbs-test: forge %s %u %u\n", what, p->a.qp->qp_num, p->b.qp->qp_num);
	for (ms = 0; ms < WAIT_MS && !READ_ONCE(forged); ms += 10)
		msleep(10);
	return CHECK(READ_ONCE(forged), "the host has forged nothing");
}

static void expect_none(struct vt_pair *p)
{
	struct ib_cq *cqs[] = { p->a.send_cq, p->a.recv_cq, p->b.send_cq, p->b.recv_cq };
	struct ib_wc wc;
	int i;

	for (i = 0; i < ARRAY_SIZE(cqs); i++)
		CHECK(!ib_poll_cq(cqs[i], 1, &wc),
		      "CQ %d: a forged completion is believed: request %llu, status %d", i,
		      wc.wr_id, wc.status);
}

static void post_work(struct vt_pair *p, bool receives)
{
	const struct ib_send_wr *bad;
	struct ib_sge sge[3];
	int i;

	for (i = 0; i < WORK; i++) {
		struct ib_send_wr wr = { .wr_id = 100 + i, .opcode = IB_WR_SEND, .sg_list = sge,
					 .send_flags = IB_SEND_SIGNALED };

		if (receives) {
			CHECK(!vt_post_buffer(p, i, i * SLOT, SLOT, 1), "a receive is refused");
			continue;
		}
		memset(p->mem[0] + i * SLOT, i + 1, SLOT);
		wr.num_sge = vt_pieces(p, 0, i * SLOT, SLOT, 1, sge);
		CHECK(!ib_post_send(p->a.qp, &wr, &bad), "a send is refused");
	}
}

static void expect_truth(struct vt_pair *p)
{
	struct ib_wc wc;
	int i;

	for (i = 0; i < WORK; i++) {
		CHECK(vt_take(p->a.send_cq, &wc) && !wc.status && wc.wr_id == 100 + i,
		      "send %llu with status %d, expected was %d", wc.wr_id, wc.status, 100 + i);
		CHECK(vt_take(p->b.recv_cq, &wc) && !wc.status && wc.wr_id == i &&
		      wc.byte_len == SLOT && p->mem[1][i * SLOT] == i + 1,
		      "receive %llu with status %d, %u bytes, expected was %d", wc.wr_id,
		      wc.status, wc.byte_len, i);
	}
	expect_none(p);
}

/** vt_test_forged() - completions of the device are checked before they are believed */
void vt_test_forged(void)
{
	struct vt_pair p;
	struct ib_wc wc;

	if (!vt_pair_create(&p, T_RC))
		return;
	/* Sends that wait for a receiver: nothing has completed. */
	post_work(&p, false);
	if (!wait_for_host("lies", &p))
		return;
	expect_none(&p);
	post_work(&p, true);
	expect_truth(&p);

	/* A receive that is posted, but that has room for less. */
	CHECK(!vt_post_buffer(&p, 7, 0, SLOT, 1), "a receive is refused");
	if (!wait_for_host("length", &p))
		return;
	CHECK(vt_take(p.b.recv_cq, &wc) && wc.wr_id == 7 && wc.status == IB_WC_LOC_LEN_ERR &&
	      !wc.byte_len, "request %llu with status %d, %u bytes", wc.wr_id, wc.status,
	      wc.byte_len);
	expect_none(&p);
	vt_pair_destroy(&p);
}
