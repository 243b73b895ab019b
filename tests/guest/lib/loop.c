// SPDX-License-Identifier: GPL-2.0
/* Data between memory regions of one process; see loop.h. */
#define _GNU_SOURCE
#include "loop.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#define DEPTH 4
#define WAIT_SECONDS 60		/* an emulated machine that has others beside it */
#define FIRST_PSN 0x1234

static int go(struct ibv_qp *qp, struct ibv_qp_attr *attr, int state, int mask)
{
	int err;

	attr->qp_state = state;
	err = ibv_modify_qp(qp, attr, IBV_QP_STATE | mask);
	if (err)
		fprintf(stderr, "loop: QP %u to %s: %s\n", qp->qp_num,
			vu_state_name(state), vu_errno_name(err));
	return err;
}

static int connect_to(struct loop *loop, struct ibv_qp *qp, uint32_t peer)
{
	struct ibv_qp_attr attr = {
		.port_num = loop->dev->port_num,
		.qp_access_flags = IBV_ACCESS_REMOTE_READ | IBV_ACCESS_REMOTE_WRITE,
		.path_mtu = loop->dev->port.active_mtu,
		.dest_qp_num = peer,
		.rq_psn = FIRST_PSN,
		.sq_psn = FIRST_PSN,
		.max_dest_rd_atomic = 4,
		.max_rd_atomic = 4,
		.min_rnr_timer = 12,
		.timeout = 14,
		.retry_cnt = 7,
		.rnr_retry = 7,
		.ah_attr = {
			.is_global = 1,
			.port_num = loop->dev->port_num,
			.grh = { .dgid = loop->dev->gid,
				 .sgid_index = (uint8_t)loop->dev->gid_index,
				 .hop_limit = 64 },
		},
	};

	return go(qp, &attr, IBV_QPS_INIT, IBV_QP_PKEY_INDEX | IBV_QP_PORT |
		  IBV_QP_ACCESS_FLAGS) ||
	       go(qp, &attr, IBV_QPS_RTR, IBV_QP_AV | IBV_QP_PATH_MTU |
		  IBV_QP_DEST_QPN | IBV_QP_RQ_PSN | IBV_QP_MAX_DEST_RD_ATOMIC |
		  IBV_QP_MIN_RNR_TIMER) ||
	       go(qp, &attr, IBV_QPS_RTS, IBV_QP_TIMEOUT | IBV_QP_RETRY_CNT |
		  IBV_QP_RNR_RETRY | IBV_QP_SQ_PSN | IBV_QP_MAX_QP_RD_ATOMIC);
}

static int make_pair(struct loop *loop)
{
	struct ibv_qp_init_attr init = {
		.send_cq = loop->cq,
		.recv_cq = loop->cq,
		.cap = { .max_send_wr = DEPTH, .max_recv_wr = DEPTH,
			 .max_send_sge = 2, .max_recv_sge = 1 },
		.qp_type = IBV_QPT_RC,
	};

	for (int i = 0; i < 2; i++) {
		loop->qp[i] = ibv_create_qp(loop->pd[i], &init);
		if (!loop->qp[i]) {
			fprintf(stderr, "loop: no queue pair: %s\n", vu_errno_name(errno));
			return -1;
		}
	}
	return connect_to(loop, loop->qp[0], loop->qp[1]->qp_num) ||
	       connect_to(loop, loop->qp[1], loop->qp[0]->qp_num) ? -1 : 0;
}

static void drop_pair(struct loop *loop)
{
	struct ibv_wc wc;

	for (int i = 0; i < 2; i++) {
		if (loop->qp[i])
			ibv_destroy_qp(loop->qp[i]);
		loop->qp[i] = NULL;
	}
	while (ibv_poll_cq(loop->cq, 1, &wc) > 0)
		;
}

int loop_open(struct loop *loop, const struct vu_device *dev,
	      struct ibv_pd *local, struct ibv_pd *remote)
{
	*loop = (struct loop){ .dev = dev, .pd = { local, remote } };
	loop->cq = ibv_create_cq(dev->ctx, 4 * DEPTH, NULL, NULL, 0);
	if (!loop->cq) {
		fprintf(stderr, "loop: no CQ: %s\n", vu_errno_name(errno));
		return -1;
	}
	if (!make_pair(loop))
		return 0;
	loop_close(loop);
	return -1;
}

void loop_close(struct loop *loop)
{
	drop_pair(loop);
	ibv_destroy_cq(loop->cq);
}

static int wait_for(struct loop *loop, uint64_t id)
{
	time_t end = time(NULL) + WAIT_SECONDS;
	struct ibv_wc wc;

	while (time(NULL) < end) {
		if (ibv_poll_cq(loop->cq, 1, &wc) <= 0)
			nanosleep(&(struct timespec){ .tv_nsec = 100000 }, NULL);
		else if (wc.wr_id == id)
			return wc.status;
	}
	return -2;
}

static uint64_t last_id;

static int finish(struct loop *loop, uint64_t id)
{
	int status = wait_for(loop, id);

	if (status != IBV_WC_SUCCESS) {
		drop_pair(loop);
		if (make_pair(loop))
			return -2;
	}
	return status;
}

int loop_do(struct loop *loop, struct ibv_send_wr *wr)
{
	struct ibv_send_wr *bad;

	wr->wr_id = ++last_id;
	wr->send_flags = IBV_SEND_SIGNALED;
	return ibv_post_send(loop->qp[0], wr, &bad) ? -1 : finish(loop, wr->wr_id);
}

int loop_bind(struct loop *loop, struct ibv_mw *mw, struct ibv_mw_bind *bind)
{
	bind->wr_id = ++last_id;
	bind->send_flags = IBV_SEND_SIGNALED;
	return ibv_bind_mw(loop->qp[0], mw, bind) ? -1 : finish(loop, bind->wr_id);
}

int loop_rdma(struct loop *loop, enum ibv_wr_opcode opcode, void *local,
	      uint32_t lkey, uint64_t remote, uint32_t rkey, uint32_t length)
{
	struct ibv_sge sge = { (uintptr_t)local, length, lkey };
	struct ibv_send_wr wr = {
		.sg_list = &sge,
		.num_sge = 1,
		.opcode = opcode,
		.wr.rdma = { .remote_addr = remote, .rkey = rkey },
	};

	return loop_do(loop, &wr);
}
