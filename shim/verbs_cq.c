// SPDX-License-Identifier: GPL-2.0
/*
 * Verbs: completion queues.
 */
#include <rdma/irdma-abi.h>

#include "verbs.h"
#include "work_request.h"

static int create_cq(struct shim_cq *cq, struct irdma_cq_params *params, struct ib_udata *udata)
{
	struct irdma_create_cq_resp resp = {};
	struct irdma_create_cq_req req = {};
	struct irdma_cq_result result;
	int err;

	if (udata) {
		if (!udata_ok(IRDMA_CALL_CREATE_CQ, udata))
			return -EINVAL;
		if (ib_copy_from_udata(&req, udata, min(sizeof(req), udata->inlen)))
			return -EFAULT;
		params->uctx = uctx_of(udata);
		params->user_buffer = req.user_cq_buf;
		params->user_shadow = req.user_shadow_area;
	}
	err = irdma_cq_create(to_shim(cq->ib.device)->irdma, params, &cq->irdma, &result);
	if (err)
		return err;
	cq->ib.cqe = result.entries;
	if (!udata)
		return 0;

	resp.cq_id = result.number;
	resp.cq_size = result.ring_size;
	err = ib_copy_to_udata(udata, &resp, min(sizeof(resp), udata->outlen));
	if (err)
		irdma_cq_destroy(cq->irdma, false);
	return err;
}

/**
 * shim_create_cq() - make a completion queue
 * @ib: its ib_core side
 * @attr: entries, vector, flags
 * @data: of a process: where its ring is registered
 *
 * Return: 0, or a negative errno: -EOPNOTSUPP for flags; else as irdma_cq_create().
 */
int shim_create_cq(struct ib_cq *ib, const struct ib_cq_init_attr *attr, SHIM_CREATE_CQ_DATA data)
{
	struct irdma_cq_params params = {
		.entries = attr->cqe,
		.comp_vector = attr->comp_vector,
		.ib = ib,
	};

	if (attr->flags & ~IB_UVERBS_CQ_FLAGS_TIMESTAMP_COMPLETION) {
		shim_log_limited(to_shim(ib->device), SHIM_DBG, "create CQ: flags 0x%x",
				 attr->flags);
		return -EOPNOTSUPP;
	}
	return create_cq(container_of(ib, struct shim_cq, ib), &params,
			 shim_create_cq_udata(data));
}

/**
 * shim_destroy_cq() - destroy a completion queue
 * @ib: its ib_core side
 * @udata: not used
 *
 * Return: 0; or what the device's error stands for, if a process can try again.
 */
int shim_destroy_cq(struct ib_cq *ib, struct ib_udata *udata)
{
	shim_hide(&ib->res);
	return irdma_cq_destroy(cq_of(ib), is_request(ib->uobject));
}

/**
 * shim_pre_destroy_cq() - call the handler of a completion queue no more
 * @ib: its ib_core side, the kernel's
 *
 * ib_core then waits for the work that the handler has queued. Kernels without this step wait for
 * it before shim_destroy_cq(), and an event that comes between the two queues it anew.
 *
 * Return: 0
 */
int shim_pre_destroy_cq(struct ib_cq *ib)
{
	irdma_cq_silence(cq_of(ib));
	return 0;
}

/**
 * shim_post_destroy_cq() - destroy a completion queue after shim_pre_destroy_cq()
 * @ib: its ib_core side
 */
void shim_post_destroy_cq(struct ib_cq *ib)
{
	irdma_cq_destroy(cq_of(ib), false);
}

/**
 * shim_resize_cq() - move a process's completion queue to another ring
 * @ib: its ib_core side
 * @entries: of the new ring
 * @udata: where that is registered
 *
 * Return: 0, or a negative errno as irdma_cq_resize().
 */
int shim_resize_cq(struct ib_cq *ib, int entries, struct ib_udata *udata)
{
	struct irdma_resize_cq_req req = {};
	u32 ring_size;
	int err;

	if (!udata)
		return -EOPNOTSUPP;
	if (entries < 0 || !udata_ok(IRDMA_CALL_RESIZE_CQ, udata))
		return -EINVAL;
	if (ib_copy_from_udata(&req, udata, min(sizeof(req), udata->inlen)))
		return -EFAULT;
	err = irdma_cq_resize(cq_of(ib), entries, uctx_of(udata), req.user_cq_buffer, &ring_size);
	if (!err)
		ib->cqe = ring_size;
	return err;
}

/**
 * shim_req_notify_cq() - ask for an event at the next completion
 * @ib: the completion queue, the kernel's
 * @flags: which, and whether to tell of missed ones
 *
 * Context: Any.
 * Return: 1 if completions have been missed and that was asked for, else 0.
 */
int shim_req_notify_cq(struct ib_cq *ib, enum ib_cq_notify_flags flags)
{
	return irdma_cq_notify(cq_of(ib), flags);
}

/**
 * shim_poll_cq() - take completions
 * @ib: the completion queue, the kernel's
 * @count: room in @wc
 * @wc: gets them
 *
 * Context: Any.
 * Return: how many there were.
 */
int shim_poll_cq(struct ib_cq *ib, int count, struct ib_wc *wc)
{
	return irdma_poll_cq(cq_of(ib), count, (struct shim_wc *)wc);
}

/**
 * shim_cq_completion() - call the handler that waits for a completion
 * @ib_cq: the completion queue
 *
 * Context: Hard interrupt, or any that may post and poll.
 */
void shim_cq_completion(void *ib_cq)
{
	struct ib_cq *cq = ib_cq;

	if (cq->comp_handler)
		cq->comp_handler(cq, cq->cq_context);
}

/**
 * shim_cq_event() - hand an asynchronous event to the consumer
 * @ib_cq: the completion queue
 * @event: SHIM_EVENT_*
 *
 * Context: Any.
 */
void shim_cq_event(void *ib_cq, u32 event)
{
	struct ib_cq *cq = ib_cq;
	struct ib_event ev = {
		.device = cq->device,
		.element.cq = cq,
		.event = event,
	};

	if (cq->event_handler)
		cq->event_handler(&ev, cq->cq_context);
}
