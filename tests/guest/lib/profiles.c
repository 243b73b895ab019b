// SPDX-License-Identifier: GPL-2.0
/*
 * Attribute values of real applications, see profiles.h. Each function names
 * the public source files that the values were read in. Where an application
 * asks the device or has an option, its default is followed.
 */
#include "profiles.h"

#include <string.h>

static unsigned int min_u(unsigned int a, unsigned int b)
{
	return a < b ? a : b;
}

/* Address vector fields that all profiles fill the same way. */
static struct ibv_ah_attr av_to(const struct vu_device *dev,
				const union ibv_gid *dgid)
{
	return (struct ibv_ah_attr){
		.is_global = 1,
		.port_num = dev->port_num,
		.grh = { .dgid = *dgid, .sgid_index = (uint8_t)dev->gid_index },
	};
}

#define RC_INIT_MASK (IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT | \
		      IBV_QP_ACCESS_FLAGS)
#define RC_RTR_MASK (IBV_QP_STATE | IBV_QP_AV | IBV_QP_PATH_MTU | \
		     IBV_QP_DEST_QPN | IBV_QP_RQ_PSN | \
		     IBV_QP_MAX_DEST_RD_ATOMIC | IBV_QP_MIN_RNR_TIMER)
#define RC_RTS_MASK (IBV_QP_STATE | IBV_QP_TIMEOUT | IBV_QP_RETRY_CNT | \
		     IBV_QP_RNR_RETRY | IBV_QP_SQ_PSN | \
		     IBV_QP_MAX_QP_RD_ATOMIC)
#define UD_INIT_MASK (IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT | \
		      IBV_QP_QKEY)
#define UD_RTS_MASK (IBV_QP_STATE | IBV_QP_SQ_PSN)

/* All masks are the required attributes of the transition, nothing more. */
static void set_masks(struct qp_plan *plan)
{
	bool rc = plan->type == IBV_QPT_RC;

	plan->steps[0].mask = rc ? RC_INIT_MASK : UD_INIT_MASK;
	plan->steps[0].attr.qp_state = IBV_QPS_INIT;
	plan->steps[1].mask = rc ? RC_RTR_MASK : IBV_QP_STATE;
	plan->steps[1].attr.qp_state = IBV_QPS_RTR;
	plan->steps[2].mask = rc ? RC_RTS_MASK : UD_RTS_MASK;
	plan->steps[2].attr.qp_state = IBV_QPS_RTS;
}

/*
 * Not an application: no two attributes have the same value, so that one
 * stored in the place of another shows, and the two queue pairs use different
 * completion vectors.
 */
static int generic(const struct vu_device *dev, struct qp_plan *plans)
{
	struct qp_plan *rc = &plans[0], *ud = &plans[1];
	struct ibv_qp_attr *rtr = &rc->steps[1].attr;
	struct ibv_qp_attr *rts = &rc->steps[2].attr;

	*rc = (struct qp_plan){
		.name = "generic", .type = IBV_QPT_RC,
		.cap = { .max_send_wr = 64, .max_recv_wr = 32,
			 .max_send_sge = 3, .max_recv_sge = 2,
			 .max_inline_data = 48 },
		.send_cqe = 128, .recv_cqe = 64, .channel = CHANNEL_EACH,
		.mr_access = IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_READ |
			     IBV_ACCESS_REMOTE_WRITE,
		.receives = 16, .late_send = true,
	};
	rc->steps[0].attr.port_num = dev->port_num;
	rc->steps[0].attr.qp_access_flags = rc->mr_access;
	rtr->path_mtu = dev->port.active_mtu;
	rtr->rq_psn = 0x123456;
	rtr->max_dest_rd_atomic = 4;
	rtr->min_rnr_timer = 17;
	rtr->ah_attr = av_to(dev, &dev->peer);
	rtr->ah_attr.sl = 2;
	rtr->ah_attr.grh.flow_label = 0x12345;
	rtr->ah_attr.grh.hop_limit = 61;
	rtr->ah_attr.grh.traffic_class = 0x28;
	rts->sq_psn = 0x654321;
	rts->timeout = 14;
	rts->retry_cnt = 6;
	rts->rnr_retry = 5;
	rts->max_rd_atomic = 3;

	*ud = (struct qp_plan){
		.name = "generic", .type = IBV_QPT_UD,
		.cap = { .max_send_wr = 16, .max_recv_wr = 48,
			 .max_send_sge = 2, .max_recv_sge = 1 },
		.send_cqe = 100, .channel = CHANNEL_SHARED,
		.vector = dev->ctx->num_comp_vectors - 1,
		.mr_access = IBV_ACCESS_LOCAL_WRITE,
		.receives = 48, .late_send = true,
	};
	ud->steps[0].attr.port_num = dev->port_num;
	ud->steps[0].attr.qkey = 0x11223344;
	ud->steps[2].attr.sq_psn = 0x0f1e2d;
	ud->ah = rtr->ah_attr;
	set_masks(rc);
	set_masks(ud);
	return 2;
}

/*
 * Ceph's RDMA messenger: src/msg/async/rdma/Infiniband.cc (capabilities and
 * modifications, CQ depth, memory flags, the SEND it posts in ERR to learn that
 * the queue is drained), RDMAStack.cc (a channel for each completion queue),
 * src/common/options/global.yaml.in (1024 send buffers, 4096 receives, service
 * level 3, "dscp" 96, which becomes the whole traffic class). It is run with
 * ms_async_rdma_support_srq=false where a device has no shared receive queues,
 * and so is this. Its start PSN is random.
 */
static int ceph(const struct vu_device *dev, struct qp_plan *plans)
{
	struct qp_plan *rc = &plans[0];
	struct ibv_qp_attr *rtr = &rc->steps[1].attr;
	struct ibv_qp_attr *rts = &rc->steps[2].attr;
	unsigned int max_wr = (unsigned int)dev->attr.max_qp_wr;

	*rc = (struct qp_plan){
		.name = "ceph", .type = IBV_QPT_RC,
		.cap = { .max_send_wr = min_u(1024, max_wr - 1) + 1,
			 .max_recv_wr = min_u(4096, max_wr),
			 .max_send_sge = 1, .max_recv_sge = 1 },
		.send_cqe = 30000, .recv_cqe = 30000, .channel = CHANNEL_EACH,
		.mr_access = IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_LOCAL_WRITE,
		.late_send = true,
	};
	rc->receives = (int)rc->cap.max_recv_wr;
	rc->steps[0].attr.port_num = dev->port_num;
	rc->steps[0].attr.qp_access_flags = IBV_ACCESS_REMOTE_WRITE |
					    IBV_ACCESS_LOCAL_WRITE;
	rtr->path_mtu = IBV_MTU_1024;
	rtr->rq_psn = 0x5eed42;
	rtr->max_dest_rd_atomic = 1;
	rtr->min_rnr_timer = 0x12;
	rtr->ah_attr = av_to(dev, &dev->peer);
	rtr->ah_attr.sl = 3;
	rtr->ah_attr.grh.hop_limit = 6;
	rtr->ah_attr.grh.traffic_class = 96;
	rts->timeout = 0x12;
	rts->retry_cnt = 7;
	rts->rnr_retry = 7;
	rts->sq_psn = 0xc0ffee;
	rts->max_rd_atomic = 1;
	set_masks(rc);
	return 1;
}

/*
 * UCX's address vector: src/uct/ib/base/ib_iface.c (hop limit 255, service
 * level 0, the LID field and the complement of the path index as flow label,
 * all 32 bits of it) and base/ib_device.h (traffic class 106 on RoCE v2, LID
 * base 0xc000).
 */
static struct ibv_ah_attr ucx_av(const struct vu_device *dev)
{
	struct ibv_ah_attr av = av_to(dev, &dev->peer);

	av.dlid = 0xc000;
	av.grh.flow_label = ~0U;
	av.grh.hop_limit = 255;
	av.grh.traffic_class = 106;
	return av;
}

#define UCX_ACCESS (IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE | \
		    IBV_ACCESS_REMOTE_READ | IBV_ACCESS_REMOTE_ATOMIC)

/*
 * UCX over RC: src/uct/ib/rc/base/rc_iface.c (capabilities, modifications,
 * timeout 1 s = code 18, RNR timer 1 ms = code 13, both by its nearest-code
 * rule, all reads that the device can do), rc/verbs/rc_verbs_iface.c (CQ
 * sizes), base/ib_iface.c (one channel, vector of the first CPU, the port's
 * MTU), base/ib_md.h (memory flags). It uses a shared receive queue and
 * therefore asks for no receives of its own; where the device has none, the
 * queue pair is made without.
 */
static int ucx_rc(const struct vu_device *dev, struct qp_plan *plans)
{
	struct qp_plan *rc = &plans[0];
	struct ibv_qp_attr *rtr = &rc->steps[1].attr;
	struct ibv_qp_attr *rts = &rc->steps[2].attr;

	*rc = (struct qp_plan){
		.name = "ucx-rc", .type = IBV_QPT_RC,
		.cap = { .max_send_wr = 256, .max_recv_wr = 0,
			 .max_send_sge = 5, .max_recv_sge = 1,
			 .max_inline_data = 64 },
		.send_cqe = 4096, .recv_cqe = 4095,
		.channel = CHANNEL_SHARED, .cq_ex = true,
		.mr_access = UCX_ACCESS,
	};
	rc->steps[0].attr.port_num = dev->port_num;
	rc->steps[0].attr.qp_access_flags = UCX_ACCESS;
	rtr->path_mtu = dev->port.active_mtu;
	rtr->max_dest_rd_atomic = (uint8_t)dev->attr.max_qp_rd_atom;
	rtr->min_rnr_timer = 13;
	rtr->ah_attr = ucx_av(dev);
	rts->timeout = 18;
	rts->rnr_retry = 7;
	rts->retry_cnt = 7;
	rts->max_rd_atomic = (uint8_t)dev->attr.max_qp_rd_atom;
	set_masks(rc);
	return 1;
}

/*
 * UCX over UD: src/uct/ib/ud/base/ud_iface.c (capabilities, modifications),
 * ud/verbs/ud_verbs.c (CQ sizes), ud/base/ud_iface_common.c (128 receives to
 * begin with), base/ib_device.h (Q_Key 0x1ee7a330), base/ib_iface.c (queue
 * lengths 256 and 4096, 5 + 1 fragments, 64 bytes inline).
 */
static int ucx_ud(const struct vu_device *dev, struct qp_plan *plans)
{
	struct qp_plan *ud = &plans[0];

	*ud = (struct qp_plan){
		.name = "ucx-ud", .type = IBV_QPT_UD,
		.cap = { .max_send_wr = 256, .max_recv_wr = 4096,
			 .max_send_sge = min_u(6, (unsigned int)
					       dev->attr.max_sge),
			 .max_recv_sge = 1, .max_inline_data = 64 },
		.send_cqe = 256, .recv_cqe = 4096,
		.channel = CHANNEL_SHARED, .cq_ex = true,
		.mr_access = UCX_ACCESS,
		.receives = 128,
		.ah = ucx_av(dev),
	};
	ud->steps[0].attr.port_num = dev->port_num;
	ud->steps[0].attr.qkey = 0x1ee7a330;
	set_masks(ud);
	return 1;
}

static void nccl_qp(struct qp_plan *rc, const struct vu_device *dev,
		    const char *name, int cqe, uint32_t send_wr,
		    uint32_t recv_wr, unsigned int access)
{
	struct ibv_qp_attr *rtr = &rc->steps[1].attr;
	struct ibv_qp_attr *rts = &rc->steps[2].attr;

	*rc = (struct qp_plan){
		.name = name, .type = IBV_QPT_RC,
		.cap = { .max_send_wr = send_wr, .max_recv_wr = recv_wr,
			 .max_send_sge = 1, .max_recv_sge = 1 },
		.send_cqe = cqe,
		.mr_access = UCX_ACCESS | IBV_ACCESS_RELAXED_ORDERING,
		.receives = (int)recv_wr,
	};
	rc->steps[0].attr.port_num = dev->port_num;
	rc->steps[0].attr.qp_access_flags = access;
	rtr->path_mtu = dev->port.active_mtu;
	rtr->max_dest_rd_atomic = 1;
	rtr->min_rnr_timer = 12;
	rtr->ah_attr = av_to(dev, &dev->peer);
	rtr->ah_attr.grh.hop_limit = 255;
	rts->timeout = 20;
	rts->retry_cnt = 7;
	rts->rnr_retry = 7;
	rts->max_rd_atomic = 1;
	set_masks(rc);
}

/*
 * NCCL: src/transport/net_ib/connect.cc (sender, receiver and, with GPUDirect,
 * a flush queue pair connected to itself; PSNs, traffic class, service level
 * and flow label 0; timeout 20; no completion channel), common.h and
 * include/plugin/nccl_net.h (32 * 8 requests), reg.cc (memory flags, the same
 * four as UCX and relaxed ordering). Older versions have it all in one file,
 * src/transport/net_ib.cc.
 */
static int nccl(const struct vu_device *dev, struct qp_plan *plans)
{
	const uint32_t requests = 32 * 8;
	struct qp_plan *flush = &plans[2];

	nccl_qp(&plans[0], dev, "nccl-send", (int)requests, 2 * requests, 0,
		IBV_ACCESS_REMOTE_WRITE);
	nccl_qp(&plans[1], dev, "nccl-recv", 2 * (int)requests, 2 * requests,
		requests, IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_ATOMIC |
		IBV_ACCESS_REMOTE_READ);
	nccl_qp(flush, dev, "nccl-flush", 2 * (int)requests, requests, 0,
		IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_READ);
	flush->to_self = true;
	flush->steps[1].attr.ah_attr.grh.dgid = dev->gid;
	return 3;
}

int profile_plans(const char *profile, const struct vu_device *dev,
		  struct qp_plan *plans)
{
	static const struct {
		const char *name;
		int (*fill)(const struct vu_device *dev, struct qp_plan *plans);
	} profiles[] = {
		{ "generic", generic }, { "ceph", ceph }, { "ucx-rc", ucx_rc },
		{ "ucx-ud", ucx_ud }, { "nccl", nccl },
	};

	for (size_t i = 0; i < ARRAY_SIZE(profiles); i++)
		if (!strcmp(profile, profiles[i].name))
			return profiles[i].fill(dev, plans);
	return -1;
}
