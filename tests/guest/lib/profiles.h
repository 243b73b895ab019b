/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The queue pairs that real applications make, as data: every attribute, mask
 * and capability that Ceph, UCX and NCCL hand to libibverbs by default, plus
 * one set of our own in which every attribute has a value of its own.
 */
#ifndef PROFILES_H
#define PROFILES_H

#include "verbs_util.h"

#define PROFILE_MAX_PLANS 3

/** enum channel_use - completion channels of a plan's queues */
enum channel_use {
	CHANNEL_NONE,		/* application only polls */
	CHANNEL_SHARED,		/* one channel for both completion queues */
	CHANNEL_EACH,		/* each completion queue has its own */
};

/** struct qp_step - one ibv_modify_qp() */
struct qp_step {
	struct ibv_qp_attr attr;
	int mask;
};

/** struct qp_plan - a queue pair from its creation to RTS
 * @name: for the output
 * @type: IBV_QPT_RC or IBV_QPT_UD
 * @cap: capabilities asked for
 * @send_cqe: entries of the send completion queue
 * @recv_cqe: entries of the receive completion queue, 0 = use the send one
 * @channel: completion channels
 * @vector: completion vector of both queues
 * @cq_ex: completion queues are made with ibv_create_cq_ex()
 * @mr_access: flags of the memory region
 * @receives: receives posted in INIT
 * @late_send: a SEND is posted in ERR, and must come back flushed
 * @to_self: destination is the own GID and the own queue pair
 * @steps: modifications to INIT, RTR and RTS, in this order
 * @ah: address handle made in RTS (UD); used if @ah.is_global is set
 */
struct qp_plan {
	const char *name;
	enum ibv_qp_type type;
	struct ibv_qp_cap cap;
	int send_cqe;
	int recv_cqe;
	enum channel_use channel;
	int vector;
	bool cq_ex;
	int mr_access;
	int receives;
	bool late_send;
	bool to_self;
	struct qp_step steps[3];
	struct ibv_ah_attr ah;
};

/**
 * profile_plans() - the queue pairs of an application on this device
 * @profile: generic, ceph, ucx-rc, ucx-ud or nccl
 * @dev: device, for its limits, GIDs and port
 * @plans: room for PROFILE_MAX_PLANS
 *
 * The destination queue pair number is left 0 for the caller to fill in.
 *
 * Return: number of plans, or -1 for an unknown profile.
 */
int profile_plans(const char *profile, const struct vu_device *dev,
		  struct qp_plan *plans);

#endif
