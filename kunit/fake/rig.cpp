// SPDX-License-Identifier: GPL-2.0
/* A device to test with; see rig.h. */
#include "rig.h"

namespace irdma::fake {

int Rig::try_start()
{
	return irdma_device_start(world_->shim(), &device_);
}

bool Rig::start()
{
	int err = try_start();

	EXPECT_EQ(err, 0);
	return !err;
}

void Rig::announce()
{
	irdma_device_registered(device_);
	announced_ = true;
}

void Rig::stop()
{
	if (device_ && announced_)
		irdma_device_removing(device_);
	if (device_)
		irdma_device_stop(device_);
	device_ = nullptr;
	announced_ = false;
}

Rig::~Rig()
{
	bool clean = device_ && !device().dead();

	engine_->on_command = {};
	engine_->on_commit = {};
	world_->on_completion = {};
	stop();
	if (clean && !engine_->gone)
		EXPECT_EQ(engine_->objects(), 0);
}

/* ---- QPs of the kernel ---- */

irdma_path KernelQp::default_path()
{
	irdma_path path = {};
	const u8 dmac[] = {0x52, 0x54, 0x00, 0xe8, 0x10, 0x02};
	const u8 smac[] = {0x52, 0x54, 0x00, 0xe8, 0x10, 0x01};

	path.ipv4 = true;
	path.grh = true;
	for (u32 i = 0; i < 6; i++) {
		path.dmac[i] = dmac[i];
		path.smac[i] = smac[i];
	}
	path.dest_ip[3] = path.next_hop[3] = 0x0a000002;
	path.next_hop_ipv4 = true;
	path.src_ip[3] = 0x0a000001;
	path.hop_limit = 64;
	path.port = 1;
	path.vlan = SHIM_NO_VLAN;
	return path;
}

KernelQp::KernelQp(Rig &rig, u32 qp_type, u32 wrs, u32 entries, bool signal_all) : type(qp_type)
{
	irdma_cq_params cq_params = {};
	irdma_qp_params params = {};

	cq_params.entries = entries;
	cq_params.ib = &ib_cq;
	if (irdma_pd_create(rig.c(), &pd, &pd_number) ||
	    irdma_cq_create(rig.c(), &cq_params, &cq, &cq_result))
		return;
	params.type = qp_type;
	params.max_send_wr = params.max_recv_wr = wrs;
	params.max_send_sge = params.max_recv_sge = 3;
	params.max_inline = 64;
	params.signal_all = signal_all;
	params.ib = &ib_qp;
	params.pd = pd;
	params.send_cq = params.recv_cq = cq;
	made = !irdma_qp_create(rig.c(), &params, &qp, &qp_result);
}

KernelQp::~KernelQp()
{
	if (qp)
		irdma_qp_destroy(qp, false);
	if (cq)
		irdma_cq_destroy(cq, false);
	if (pd)
		irdma_pd_destroy(pd);
}

/* IBA, table 91, for these types. */
static u32 needed(u32 type, u32 from, u32 to)
{
	bool rc = type == SHIM_QPT_RC;

	if (from == SHIM_QPS_RESET && to == SHIM_QPS_INIT)
		return SHIM_QP_PKEY_INDEX | (type == SHIM_QPT_GSI ? 0 : SHIM_QP_PORT) |
		       (rc ? SHIM_QP_ACCESS_FLAGS : SHIM_QP_QKEY);
	if (from == SHIM_QPS_INIT && to == SHIM_QPS_RTR && rc)
		return SHIM_QP_AV | SHIM_QP_PATH_MTU | SHIM_QP_DEST_QPN | SHIM_QP_RQ_PSN |
		       SHIM_QP_MAX_DEST_RD_ATOMIC | SHIM_QP_MIN_RNR_TIMER;
	if (from == SHIM_QPS_RTR && to == SHIM_QPS_RTS)
		return SHIM_QP_SQ_PSN |
		       (rc ? SHIM_QP_TIMEOUT | SHIM_QP_RETRY_CNT | SHIM_QP_RNR_RETRY |
					SHIM_QP_MAX_QP_RD_ATOMIC
			   : 0);
	return 0;
}

irdma_qp_change KernelQp::change_to(u32 to)
{
	irdma_qp_change c = {};

	c.mask = SHIM_QP_STATE | needed(type, state(), to);
	c.state = to;
	c.port = 1;
	c.access = access;
	c.path = path;
	c.path_mtu = 1024;
	c.dest_qp = 0x123;
	c.udp_src_port_hint = 0xd234;
	c.timeout = 14;
	c.retry_cnt = c.rnr_retry = 7;
	c.max_rd_atomic = c.max_dest_rd_atomic = 1;
	c.min_rnr_timer = 12;
	c.qkey = 0x11111111;
	return c;
}

int KernelQp::modify(u32 to, u32 more)
{
	irdma_qp_change change = change_to(to);

	change.mask |= more;
	return irdma_qp_modify(qp, &change);
}

bool KernelQp::bring_up(u32 to)
{
	if (!made)
		return false;
	for (u32 step = SHIM_QPS_INIT; step <= to; step++)
		if (modify(step))
			return false;
	return true;
}

u32 KernelQp::state()
{
	irdma_qp_state now;

	irdma_qp_query(qp, &now);
	return now.attr.state;
}

} // namespace irdma::fake
