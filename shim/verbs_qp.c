// SPDX-License-Identifier: GPL-2.0
/*
 * Verbs: queue pairs, as far as ib_core and the provider library are
 * concerned. What a change means is decided by the C++ side.
 */
#include <rdma/ib_addr.h>
#include <rdma/irdma-abi.h>

#include "verbs.h"
#include "work_request.h"

/* ---- Making and destroying ---- */

static int check_init_attr(struct shim_device *dev, const struct ib_qp_init_attr *attr)
{
	if (attr->qp_type != IB_QPT_RC && attr->qp_type != IB_QPT_UD &&
	    attr->qp_type != IB_QPT_GSI) {
		shim_log_limited(dev, SHIM_DBG, "create QP: type %d", attr->qp_type);
		return -EOPNOTSUPP;
	}
	if (attr->create_flags || attr->srq || attr->rwq_ind_tbl) {
		shim_log_limited(dev, SHIM_DBG, "create QP: %s 0x%x",
				 attr->create_flags ? "flags" : "with an SRQ or RSS, flags",
				 attr->create_flags);
		return -EOPNOTSUPP;
	}
	/* Processes may leave them out for types that need none. */
	return attr->send_cq && attr->recv_cq ? 0 : -EINVAL;
}

static int create_qp(struct shim_qp *qp, struct irdma_qp_params *params,
		     struct irdma_qp_result *result, struct ib_udata *udata)
{
	struct irdma_device *irdma = to_shim(qp->ib.device)->irdma;
	struct irdma_create_qp_resp resp = {};
	struct irdma_create_qp_req req = {};
	int err;

	if (udata) {
		if (!udata_ok(IRDMA_CALL_CREATE_QP, udata))
			return -EINVAL;
		if (ib_copy_from_udata(&req, udata, min(sizeof(req), udata->inlen)))
			return -EFAULT;
		params->uctx = uctx_of(udata);
		params->user_queues = req.user_wqe_bufs;
		params->user_completion_ctx = req.user_compl_ctx;
	}
	err = irdma_qp_create(irdma, params, &qp->irdma, result);
	if (err || !udata)
		return err;

	resp.qp_id = result->number;
	resp.actual_sq_size = result->sq_size;
	resp.actual_rq_size = result->rq_size;
	resp.qp_caps = result->caps;
	err = ib_copy_to_udata(udata, &resp, min(sizeof(resp), udata->outlen));
	if (err)
		irdma_qp_destroy(qp->irdma, false);
	return err;
}

static void fill_cap(struct ib_qp_cap *cap, const struct irdma_qp_result *result)
{
	cap->max_send_wr = result->max_send_wr;
	cap->max_recv_wr = result->max_recv_wr;
	cap->max_send_sge = result->max_send_sge;
	cap->max_recv_sge = result->max_recv_sge;
	cap->max_inline_data = result->max_inline;
}

/**
 * shim_create_qp() - make a queue pair
 * @ib: its ib_core side
 * @attr: type, sizes, CQs; the sizes become what the QP really has
 * @udata: of a process: where its queues are registered
 *
 * Return: 0 or a negative errno: -EOPNOTSUPP for types and flags that the device does not have;
 * else as irdma_qp_create().
 */
int shim_create_qp(struct ib_qp *ib, struct ib_qp_init_attr *attr, struct ib_udata *udata)
{
	struct irdma_qp_params params = {
		.type = attr->qp_type,
		.max_send_wr = attr->cap.max_send_wr,
		.max_recv_wr = attr->cap.max_recv_wr,
		.max_send_sge = attr->cap.max_send_sge,
		.max_recv_sge = attr->cap.max_recv_sge,
		.max_inline = attr->cap.max_inline_data,
		.signal_all = attr->sq_sig_type == IB_SIGNAL_ALL_WR,
		.ib = ib,
		.pd = pd_of(ib->pd),
	};
	struct irdma_qp_result result = {};
	int err = check_init_attr(to_shim(ib->device), attr);

	if (err)
		return err;
	params.send_cq = cq_of(attr->send_cq);
	params.recv_cq = cq_of(attr->recv_cq);
	err = create_qp(container_of(ib, struct shim_qp, ib), &params, &result, udata);
	if (err)
		return err;
	container_of(ib, struct shim_qp, ib)->sq_sig_type = attr->sq_sig_type;
	ib->qp_num = result.number;
	fill_cap(&attr->cap, &result);
	return 0;
}

/**
 * shim_destroy_qp() - destroy a queue pair
 * @ib: its ib_core side
 * @udata: not used
 *
 * Return: 0; or what the device's error stands for, if a process can try again.
 */
int shim_destroy_qp(struct ib_qp *ib, struct ib_udata *udata)
{
	shim_hide(&ib->res);
	return irdma_qp_destroy(qp_of(ib), is_request(ib->uobject));
}

/* ---- Changing ---- */

/* The attributes that are in @mask and need no translation. */
static void fill_values(struct irdma_qp_change *change, const struct ib_qp_attr *attr)
{
	change->state = attr->qp_state;
	change->cur_state = attr->cur_qp_state;
	change->access = attr->qp_access_flags;
	change->pkey_index = attr->pkey_index;
	change->port = attr->port_num;
	change->qkey = attr->qkey;
	change->timeout = attr->timeout;
	change->retry_cnt = attr->retry_cnt;
	change->rnr_retry = attr->rnr_retry;
	change->rq_psn = attr->rq_psn;
	change->sq_psn = attr->sq_psn;
	change->max_rd_atomic = attr->max_rd_atomic;
	change->max_dest_rd_atomic = attr->max_dest_rd_atomic;
	change->min_rnr_timer = attr->min_rnr_timer;
	change->dest_qp = attr->dest_qp_num;
	change->path_mig_state = attr->path_mig_state;
	change->sqd_async_notify = attr->en_sqd_async_notify;
}

/* The path, and the UDP source port that spreads it over a network's links. */
static int fill_av(struct ib_qp *ib, const struct ib_qp_attr *attr, int mask,
		   struct irdma_qp_change *change)
{
	u32 dest = attr->dest_qp_num;
	struct irdma_qp_state now;
	int err = shim_fill_path(to_shim(ib->device), &attr->ah_attr, true, &change->path);

	if (err)
		return err;
	if (!(mask & IB_QP_DEST_QPN)) {
		irdma_qp_query(qp_of(ib), &now);
		dest = now.attr.dest_qp;
	}
	change->udp_src_port_hint =
		rdma_get_udp_sport(change->path.flow_label, ib->qp_num, dest);
	return 0;
}

static int fill_change(struct ib_qp *ib, const struct ib_qp_attr *attr, int mask,
		       struct irdma_qp_change *change)
{
	change->mask = mask;
	fill_values(change, attr);
	if (mask & IB_QP_PATH_MTU) {
		if (attr->path_mtu < IB_MTU_256 || attr->path_mtu > IB_MTU_4096) {
			shim_log_limited(to_shim(ib->device), SHIM_DBG,
					 "modify QP %u: path MTU code %d", ib->qp_num,
					 attr->path_mtu);
			return -EINVAL;
		}
		change->path_mtu = ib_mtu_enum_to_int(attr->path_mtu);
	}
	return mask & IB_QP_AV ? fill_av(ib, attr, mask, change) : 0;
}

/* Libraries bring driver data or none at all. */
static int copy_modify_req(struct ib_udata *udata, struct irdma_qp_change *change)
{
	struct irdma_modify_qp_req req = {};

	if (!udata_ok(IRDMA_CALL_MODIFY_QP, udata))
		return -EINVAL;
	if (udata->inlen && ib_copy_from_udata(&req, udata, min(sizeof(req), udata->inlen)))
		return -EFAULT;
	change->flush_sq = req.sq_flush;
	change->flush_rq = req.rq_flush;
	change->uctx = uctx_of(udata);
	return 0;
}

/**
 * shim_modify_qp() - change a queue pair
 * @ib: its ib_core side
 * @attr: new values
 * @mask: which of them
 * @udata: of a process: queues to flush again; NULL for the kernel
 *
 * Return: 0 or a negative errno; if it is one, the queue pair is as it was.
 */
int shim_modify_qp(struct ib_qp *ib, struct ib_qp_attr *attr, int mask, struct ib_udata *udata)
{
	/* No QP has a push page (see Documentation/driver.rst): there is nothing to answer. */
	struct irdma_modify_qp_resp resp = {};
	struct irdma_qp_change change = {};
	int err = 0;

	if (mask & ~IB_QP_ATTR_STANDARD_BITS) {
		shim_log_limited(to_shim(ib->device), SHIM_DBG, "modify QP %u: mask 0x%x",
				 ib->qp_num, mask);
		return -EOPNOTSUPP;
	}
	if (udata)
		err = copy_modify_req(udata, &change);
	if (!err)
		err = fill_change(ib, attr, mask, &change);
	/* Known before, so that nothing has changed yet if it cannot be told. */
	if (!err && udata && udata->outlen)
		err = ib_copy_to_udata(udata, &resp, min(sizeof(resp), udata->outlen));
	return err ?: irdma_qp_modify(qp_of(ib), &change);
}

/**
 * shim_query_qp() - what a queue pair was last given
 * @ib: its ib_core side
 * @attr: gets it
 * @mask: not used: all is reported
 * @init: gets what it was made with
 *
 * Return: 0
 */
int shim_query_qp(struct ib_qp *ib, struct ib_qp_attr *attr, int mask,
		  struct ib_qp_init_attr *init)
{
	struct irdma_qp_state now;
	const struct irdma_qp_change *a = &now.attr;

	irdma_qp_query(qp_of(ib), &now);
	memset(attr, 0, sizeof(*attr));
	memset(init, 0, sizeof(*init));

	attr->qp_state = a->state;
	attr->cur_qp_state = a->state;
	attr->path_mtu = ib_mtu_int_to_enum(a->path_mtu);
	attr->path_mig_state = IB_MIG_MIGRATED;
	attr->qkey = a->qkey;
	attr->rq_psn = a->rq_psn;
	attr->sq_psn = a->sq_psn;
	attr->dest_qp_num = a->dest_qp;
	attr->qp_access_flags = a->access;
	attr->pkey_index = a->pkey_index;
	attr->en_sqd_async_notify = a->sqd_async_notify;
	attr->sq_draining = now.sq_draining;
	attr->max_rd_atomic = a->max_rd_atomic;
	attr->max_dest_rd_atomic = a->max_dest_rd_atomic;
	attr->min_rnr_timer = a->min_rnr_timer;
	attr->port_num = a->port;
	attr->timeout = a->timeout;
	attr->retry_cnt = a->retry_cnt;
	attr->rnr_retry = a->rnr_retry;
	shim_fill_ah_attr(&a->path, &attr->ah_attr);
	fill_cap(&attr->cap, &now.cap);

	init->event_handler = ib->event_handler;
	init->qp_context = ib->qp_context;
	init->send_cq = ib->send_cq;
	init->recv_cq = ib->recv_cq;
	init->qp_type = ib->qp_type;
	init->sq_sig_type = container_of(ib, struct shim_qp, ib)->sq_sig_type;
	init->cap = attr->cap;
	return 0;
}

/**
 * shim_modify_qp_is_ok() - whether ib_core's table has a transition with these attributes
 * @from: state, SHIM_QPS_*
 * @to: state, SHIM_QPS_*
 * @qp_type: SHIM_QPT_*
 * @mask: SHIM_QP_*
 *
 * Return: whether it has.
 */
bool shim_modify_qp_is_ok(u32 from, u32 to, u32 qp_type, u32 mask)
{
	return ib_modify_qp_is_ok(from, to, qp_type, mask);
}

/**
 * shim_qp_event() - hand an asynchronous event to the consumer
 * @ib_qp: the queue pair
 * @event: SHIM_EVENT_*
 *
 * Context: May sleep: consumers expect a work queue.
 */
void shim_qp_event(void *ib_qp, u32 event)
{
	struct ib_qp *qp = ib_qp;
	struct ib_event ev = {
		.device = qp->device,
		.element.qp = qp,
		.event = event,
	};

	if (qp->event_handler)
		qp->event_handler(&ev, qp->qp_context);
}

/* ---- Work of the kernel ---- */

/**
 * shim_post_send() - post to the send queue
 * @ib: the queue pair
 * @wr: work requests, chained
 * @bad: gets the first that was not posted
 *
 * Context: Any.
 * Return: 0 or a negative errno.
 */
int shim_post_send(struct ib_qp *ib, const struct ib_send_wr *wr, const struct ib_send_wr **bad)
{
	return irdma_post_send(qp_of(ib), (const struct shim_send_wr *)wr,
			       (const struct shim_send_wr **)bad);
}

/**
 * shim_post_recv() - post to the receive queue
 * @ib: the queue pair
 * @wr: work requests, chained
 * @bad: gets the first that was not posted
 *
 * Context: Any.
 * Return: 0 or a negative errno.
 */
int shim_post_recv(struct ib_qp *ib, const struct ib_recv_wr *wr, const struct ib_recv_wr **bad)
{
	return irdma_post_recv(qp_of(ib), (const struct shim_recv_wr *)wr,
			       (const struct shim_recv_wr **)bad);
}
