// SPDX-License-Identifier: GPL-2.0
/*
 * Destroys objects on a device that refuses to give each of them up once: the caller
 * must be told, and the object must be there as before, until the next try succeeds. The
 * test that runs this has the device refuse the 1st DESTROY_QP, the 1st DESTROY_CQ, and
 * the 1st and 3rd DEALLOC_STAG (a region's, a window's). With --leave all is left to the
 * kernel, as by a process that is killed.
 */
#define _GNU_SOURCE
#include "lib/verbs_util.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static char memory[16 * 4096] __attribute__((aligned(4096)));
static struct vu_device dev;
static struct ibv_pd *pd;
static struct ibv_comp_channel *channel;
static struct ibv_cq *cq;
static struct ibv_qp *qp;
static struct ibv_mr *mr;
static struct ibv_mw *mw;
static int failures;

static void check(const char *what, bool right)
{
	printf("%s: %s\n", what, right ? "ok" : "WRONG");
	failures += !right;
}

static bool make(void)
{
	struct ibv_qp_init_attr init = {
		.qp_type = IBV_QPT_UD,
		.cap = { .max_send_wr = 1, .max_recv_wr = 4, .max_send_sge = 1,
			 .max_recv_sge = 1 },
	};

	pd = ibv_alloc_pd(dev.ctx);
	channel = ibv_create_comp_channel(dev.ctx);
	cq = channel ? ibv_create_cq(dev.ctx, 16, NULL, channel, 0) : NULL;
	if (!pd || !cq)
		return false;
	init.send_cq = init.recv_cq = cq;
	qp = ibv_create_qp(pd, &init);
	mw = ibv_alloc_mw(pd, IBV_MW_TYPE_1);
	mr = ibv_reg_mr(pd, memory, sizeof(memory),
			IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_MW_BIND);
	return qp && mw && mr;
}

/* To RTR, so that the device has something to stop. */
static bool bring_up(void)
{
	struct ibv_qp_attr attr = { .qp_state = IBV_QPS_INIT, .port_num = 1, .qkey = 1 };
	struct ibv_sge sge = { (uintptr_t)memory, 4096, 0 };
	struct ibv_recv_wr wr = { .wr_id = 7, .sg_list = &sge, .num_sge = 1 }, *bad;

	if (ibv_modify_qp(qp, &attr, IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_QKEY))
		return false;
	attr.qp_state = IBV_QPS_RTR;
	sge.lkey = mr->lkey;
	return !ibv_modify_qp(qp, &attr, IBV_QP_STATE) && !ibv_post_recv(qp, &wr, &bad);
}

static enum ibv_qp_state state_of(struct ibv_qp *q)
{
	struct ibv_qp_init_attr init;
	struct ibv_qp_attr attr;

	return ibv_query_qp(q, &attr, IBV_QP_STATE, &init) ? IBV_QPS_UNKNOWN : attr.qp_state;
}

/* A CQ that stays must still be of use: another queue pair's flush arrives with an event. */
static bool cq_works(void)
{
	struct ibv_qp_init_attr init = {
		.send_cq = cq, .recv_cq = cq, .qp_type = IBV_QPT_UD,
		.cap = { .max_send_wr = 1, .max_recv_wr = 4, .max_send_sge = 1,
			 .max_recv_sge = 1 },
	};
	struct ibv_qp_attr err = { .qp_state = IBV_QPS_ERR };
	struct ibv_cq *of;
	struct ibv_wc wc;
	void *context;
	bool got = false;

	qp = ibv_create_qp(pd, &init);
	mr = ibv_reg_mr(pd, memory, sizeof(memory), IBV_ACCESS_LOCAL_WRITE);
	if (!qp || !mr || ibv_req_notify_cq(cq, 0) || !bring_up() ||
	    ibv_modify_qp(qp, &err, IBV_QP_STATE))
		return false;
	/* The destroy that failed may have left an event that means nothing. */
	while (!got && !ibv_get_cq_event(channel, &of, &context)) {
		ibv_ack_cq_events(of, 1);
		got = ibv_poll_cq(cq, 1, &wc) == 1;
	}
	return got && wc.wr_id == 7 && wc.status == IBV_WC_WR_FLUSH_ERR && !ibv_dereg_mr(mr) &&
	       !ibv_destroy_qp(qp);
}

static void destroy(void)
{
	check("DEREG_MR refused", ibv_dereg_mr(mr) == EIO);
	check("DEREG_MR again", !ibv_dereg_mr(mr));
	check("DEALLOC_MW refused", ibv_dealloc_mw(mw) == EIO);
	check("DEALLOC_MW again", !ibv_dealloc_mw(mw));
	check("DESTROY_QP refused", ibv_destroy_qp(qp) == EIO);
	check("then it is in ERR", state_of(qp) == IBV_QPS_ERR);
	check("DESTROY_QP again", !ibv_destroy_qp(qp));
	check("DESTROY_CQ refused", ibv_destroy_cq(cq) == EIO);
	check("then it works", cq_works());
	check("DESTROY_CQ again", !ibv_destroy_cq(cq));
	check("DEALLOC_PD", !ibv_dealloc_pd(pd));
	ibv_destroy_comp_channel(channel);
	vu_close(&dev);
}

int main(int argc, char **argv)
{
	bool leave = argc == 2 && !strcmp(argv[1], "--leave");

	setvbuf(stdout, NULL, _IOLBF, 0);
	if (argc > 1 + leave) {
		fputs("usage: verbs-refused [--leave]\n", stderr);
		return 2;
	}
	if (vu_open(&dev, NULL, -1, NULL) || !make() || !bring_up()) {
		perror("cannot make the objects");
		return 2;
	}
	if (!leave)
		destroy();
	printf("verbs-refused: %s\n", failures ? "FAIL" : "PASS");
	return failures ? 1 : 0;
}
