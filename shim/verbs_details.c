// SPDX-License-Identifier: GPL-2.0
/*
 * Verbs: what administrators see: counters ("rdma statistic", hw_counters in
 * sysfs), and details of objects ("rdma -d -d resource show").
 */
#include <net/netlink.h>
#include <rdma/restrack.h>
#include <rdma/rdma_netlink.h>

#include "verbs.h"

/* ---- Statistics ---- */

/**
 * shim_alloc_statistics() - room for the counters of a port
 * @ibdev: the device
 * @port: the only one
 *
 * Return: the room, or NULL.
 */
struct rdma_hw_stats *shim_alloc_statistics(struct ib_device *ibdev, u32 port)
{
	struct rdma_stat_desc *names = to_shim(ibdev)->statistics;
	u32 i;

	for (i = 0; i < IRDMA_STATISTICS; i++)
		names[i].name = irdma_statistic_name(i);
	return rdma_alloc_hw_stats_struct(names, IRDMA_STATISTICS, RDMA_HW_STATS_DEFAULT_LIFESPAN);
}

/**
 * shim_get_statistics() - read the counters
 * @ibdev: the device
 * @stats: gets all of them; its lock is held
 * @port: the only one
 * @index: which is wanted; they all come at once
 *
 * Return: number of counters, or a negative errno.
 */
int shim_get_statistics(struct ib_device *ibdev, struct rdma_hw_stats *stats, u32 port, int index)
{
	int err = irdma_read_statistics(to_shim(ibdev)->irdma,
					(u64 (*)[IRDMA_STATISTICS])stats->value);

	return err ?: IRDMA_STATISTICS;
}

/*
 * ---- Details of objects ----
 *
 * ib_core holds a reference of the object while it asks for them, and before it has an object
 * destroyed it makes the object impossible to find and waits for all references
 * (rdma_restrack_begin_del(), rdma_restrack_del(); shim_hide() on older kernels). So what is asked
 * here is there.
 */

static int fill_qp(struct sk_buff *msg, const struct irdma_qp_details *d)
{
	if (rdma_nl_put_driver_string(msg, "hw_state", d->hw_state) ||
	    rdma_nl_put_driver_u32(msg, "sq_quanta", d->sq_quanta) ||
	    rdma_nl_put_driver_u32(msg, "rq_quanta", d->rq_quanta) ||
	    rdma_nl_put_driver_u32(msg, "qset", d->qs_handle) ||
	    rdma_nl_put_driver_u32(msg, "priority", d->priority) ||
	    rdma_nl_put_driver_u32(msg, "arp", d->arp_index) ||
	    rdma_nl_put_driver_u32(msg, "sport", d->src_port))
		return -EMSGSIZE;
	return 0;
}

static int fill_cq(struct sk_buff *msg, const struct irdma_cq_details *d)
{
	if (rdma_nl_put_driver_u32(msg, "ring", d->ring_size) ||
	    rdma_nl_put_driver_u32(msg, "ceq", d->ceq))
		return -EMSGSIZE;
	return 0;
}

static int fill_mr(struct sk_buff *msg, const struct irdma_mr_details *d)
{
	if (rdma_nl_put_driver_u64(msg, "page_size", d->page_size) ||
	    rdma_nl_put_driver_u64(msg, "pages", d->pages) ||
	    rdma_nl_put_driver_string(msg, "list", d->list))
		return -EMSGSIZE;
	return 0;
}

/* Drivers' attributes stand in a nest of their own, or not at all if there is no room. */
#define FILL(msg, fill, details) ({						\
	struct nlattr *nest = nla_nest_start(msg, RDMA_NLDEV_ATTR_DRIVER);	\
	int err = nest ? fill(msg, details) : -EMSGSIZE;			\
										\
	if (!err)								\
		nla_nest_end(msg, nest);					\
	else if (nest)								\
		nla_nest_cancel(msg, nest);					\
	err;									\
})

/**
 * shim_fill_qp() - details of a queue pair
 * @msg: gets them
 * @ib: the queue pair
 *
 * Return: 0, or -EMSGSIZE if there is no room.
 */
int shim_fill_qp(struct sk_buff *msg, struct ib_qp *ib)
{
	struct irdma_qp_details details;

	irdma_qp_describe(qp_of(ib), &details);
	return FILL(msg, fill_qp, &details);
}

/**
 * shim_fill_qp_raw() - the context of a queue pair, as the device has it
 * @msg: gets it
 * @ib: the queue pair
 *
 * Return: 0, or a negative errno.
 */
int shim_fill_qp_raw(struct sk_buff *msg, struct ib_qp *ib)
{
	u8 context[IRDMA_QP_CONTEXT_BYTES];
	int err = irdma_qp_upload(qp_of(ib), context);

	return err ?: nla_put(msg, RDMA_NLDEV_ATTR_RES_RAW, sizeof(context), context);
}

/**
 * shim_fill_cq() - details of a completion queue
 * @msg: gets them
 * @ib: the completion queue
 *
 * Return: 0, or -EMSGSIZE if there is no room.
 */
int shim_fill_cq(struct sk_buff *msg, struct ib_cq *ib)
{
	struct irdma_cq_details details;

	irdma_cq_describe(cq_of(ib), &details);
	return FILL(msg, fill_cq, &details);
}

/**
 * shim_fill_mr() - details of a memory region
 * @msg: gets them
 * @ib: the memory region
 *
 * Return: 0, or -EMSGSIZE if there is no room.
 */
int shim_fill_mr(struct sk_buff *msg, struct ib_mr *ib)
{
	struct irdma_mr_details details;

	irdma_mr_describe(container_of(ib, struct shim_mr, ib)->irdma, &details);
	return FILL(msg, fill_mr, &details);
}
