// SPDX-License-Identifier: GPL-2.0
/* Queue pairs of the kernel tests: made, brought into a state, posted to. */
#include <linux/etherdevice.h>
#include <linux/wait_bit.h>
#include <rdma/ib_cache.h>

#include "verbs_test.h"

/** vt_state_name() - "RESET", ... */
const char *vt_state_name(int state)
{
	static const char *const names[] = { "RESET", "INIT", "RTR", "RTS", "SQD", "SQE", "ERR" };

	return state >= 0 && state < Q_STATES ? names[state] : "?";
}

/** vt_type_name() - "RC", ... */
const char *vt_type_name(int type)
{
	static const char *const names[] = { "RC", "UD", "GSI" };

	return names[type];
}

/** vt_path() - to the own address, complete as the kernel's consumers have to give it */
struct rdma_ah_attr vt_path(void)
{
	struct rdma_ah_attr path = { .type = RDMA_AH_ATTR_TYPE_ROCE };

	rdma_ah_set_grh(&path, &vt.sgid, 0x12345, vt.sgid_index, 61, 0x28);
	rdma_ah_set_port_num(&path, 1);
	rdma_ah_set_sl(&path, 2);
	ether_addr_copy(path.roce.dmac, vt.netdev_mac);
	return path;
}

/**
 * vt_values() - valid values of all attributes
 * @qpn: the destination
 * @round: another set for each
 */
struct ib_qp_attr vt_values(u32 qpn, unsigned int round)
{
	struct ib_qp_attr a = {
		.path_mtu = round ? IB_MTU_512 : IB_MTU_1024,
		.path_mig_state = IB_MIG_MIGRATED,
		.qkey = 0x11220000 + round,
		.rq_psn = 0x123450 + round,
		.sq_psn = 0x654320 + round,
		.dest_qp_num = qpn,
		.qp_access_flags = round ? IB_ACCESS_REMOTE_READ :
				   IB_ACCESS_LOCAL_WRITE | IB_ACCESS_REMOTE_WRITE,
		.ah_attr = vt_path(),
		.alt_ah_attr = vt_path(),
		.en_sqd_async_notify = round & 1,
		.max_rd_atomic = 3 + round,
		.max_dest_rd_atomic = 5 + round,
		.min_rnr_timer = 12 + round,
		.port_num = 1,
		.timeout = 14 + round,
		.retry_cnt = 6 - round,
		.rnr_retry = 5 - round,
		.alt_port_num = 1,
		.cap = { .max_send_wr = 8, .max_recv_wr = 8, .max_send_sge = 1,
			 .max_recv_sge = 1 },
	};

	return a;
}

static void on_completion(struct ib_cq *cq, void *context)
{
	struct vt_qp *q = context;

	atomic_inc(&q->events);
	wake_up_var(&q->events);
}

static void on_event(struct ib_event *event, void *context)
{
	struct vt_qp *q = context;

	if (event->event != IB_EVENT_SQ_DRAINED) {
		atomic_inc(&q->others);
		atomic_inc(&vt_errors);
		return;
	}
	atomic_inc(&q->drained);
	complete(&q->drained_now);
}

static struct ib_cq *create_cq(struct vt_qp *q)
{
	struct ib_cq_init_attr attr = { .cqe = CQ_ENTRIES };

	return ib_create_cq(vt.ib, on_completion, NULL, q, &attr);
}

/**
 * vt_create() - a queue pair in RESET, with two CQs
 * @q: filled in
 * @type: T_RC or T_UD
 * @cap: capabilities, or NULL for small ones
 *
 * Return: 0 or a negative errno; nothing is to be destroyed then.
 */
int vt_create(struct vt_qp *q, int type, const struct ib_qp_cap *cap)
{
	struct ib_qp_init_attr init = {
		.event_handler = on_event,
		.qp_context = q,
		.sq_sig_type = IB_SIGNAL_REQ_WR,
		.qp_type = type == T_RC ? IB_QPT_RC : IB_QPT_UD,
		.cap = { .max_send_wr = 32, .max_recv_wr = 32, .max_send_sge = 2,
			 .max_recv_sge = 2 },
	};

	memset(q, 0, sizeof(*q));
	init_completion(&q->drained_now);
	q->type = type;
	if (cap)
		init.cap = *cap;
	q->send_cq = create_cq(q);
	if (IS_ERR(q->send_cq))
		return PTR_ERR(q->send_cq);
	q->recv_cq = create_cq(q);
	if (IS_ERR(q->recv_cq)) {
		ib_destroy_cq(q->send_cq);
		return PTR_ERR(q->recv_cq);
	}
	init.send_cq = q->send_cq;
	init.recv_cq = q->recv_cq;
	q->qp = ib_create_qp(vt.pd, &init);
	if (IS_ERR(q->qp)) {
		ib_destroy_cq(q->send_cq);
		ib_destroy_cq(q->recv_cq);
		return PTR_ERR(q->qp);
	}
	q->cap = init.cap;
	return 0;
}

/** vt_go() - one modification to @state, with what it needs and no more */
int vt_go(struct vt_qp *q, int state)
{
	struct ib_qp_attr attr = vt_values(q->qp->qp_num, 0);

	attr.qp_state = state;
	return ib_modify_qp(q->qp, &attr, qp_arrival_mask(state, q->type));
}

/** vt_resume() - from SQD, which needs no attributes, to RTS */
int vt_resume(struct vt_qp *q)
{
	struct ib_qp_attr attr = { .qp_state = IB_QPS_RTS };

	return ib_modify_qp(q->qp, &attr, IB_QP_STATE);
}

/** vt_bring() - a queue pair in RESET to @state, on the regular way */
int vt_bring(struct vt_qp *q, int state)
{
	int to, err = 0;

	for (to = Q_INIT; !err && to <= min_t(int, state, Q_SQD); to++)
		err = vt_go(q, to);
	return !err && state == Q_ERR ? vt_go(q, Q_ERR) : err;
}

/** vt_state() - the state that is queried, or a negative errno */
int vt_state(struct vt_qp *q)
{
	struct ib_qp_init_attr init;
	struct ib_qp_attr attr;
	int err = ib_query_qp(q->qp, &attr, IB_QP_STATE, &init);

	return err ?: attr.qp_state;
}

/** vt_destroy() - with its CQs */
void vt_destroy(struct vt_qp *q)
{
	CHECK(!ib_destroy_qp(q->qp), "the queue pair is not destroyed");
	ib_destroy_cq(q->send_cq);
	ib_destroy_cq(q->recv_cq);
}

/**
 * vt_post_sends() - post SENDs without data, signalled, one call each
 * @q: the queue pair
 * @first_id: wr_id of the first; the others follow
 * @count: how many
 * @ah: of UD
 *
 * Return: how many were posted until one was refused.
 */
int vt_post_sends(struct vt_qp *q, u64 first_id, int count, struct ib_ah *ah)
{
	const struct ib_send_wr *bad;
	int i;

	for (i = 0; i < count; i++) {
		struct ib_ud_wr wr = {
			.wr = { .wr_id = first_id + i, .opcode = IB_WR_SEND,
				.send_flags = IB_SEND_SIGNALED },
			.ah = ah,
			.remote_qpn = q->qp->qp_num,
			.remote_qkey = 0x11220000,
		};

		if (ib_post_send(q->qp, &wr.wr, &bad))
			break;
	}
	return i;
}

/** vt_post_recvs() - post receives without buffers, as vt_post_sends() */
int vt_post_recvs(struct vt_qp *q, u64 first_id, int count)
{
	const struct ib_recv_wr *bad;
	int i;

	for (i = 0; i < count; i++) {
		struct ib_recv_wr wr = { .wr_id = first_id + i };

		if (ib_post_recv(q->qp, &wr, &bad))
			break;
	}
	return i;
}
