/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Differences between the kernels that the module is built for (6.1 to 6.12),
 * so that no other file asks for a version.
 */
#ifndef SHIM_COMPAT_H
#define SHIM_COMPAT_H

#include <linux/version.h>
#include <rdma/irdma-abi.h>
#include <rdma/restrack.h>
#include <rdma/uverbs_ioctl.h>

#if LINUX_VERSION_CODE < KERNEL_VERSION(6, 1, 0)
#error "irdma needs Linux 6.1 or newer"
#endif

/* How create_cq() is told of the caller; NULL: the kernel. */
#if LINUX_VERSION_CODE >= KERNEL_VERSION(6, 11, 0)
#define SHIM_CREATE_CQ_DATA struct uverbs_attr_bundle *
static inline struct ib_udata *shim_create_cq_udata(struct uverbs_attr_bundle *attrs)
{
	return attrs ? &attrs->driver_udata : NULL;
}
#else
#define SHIM_CREATE_CQ_DATA struct ib_udata *
static inline struct ib_udata *shim_create_cq_udata(struct ib_udata *udata)
{
	return udata;
}
#endif

/* Whether ib_core ends a CQ of the kernel in two steps, and its own work on it in between. */
#if (LINUX_VERSION_CODE >= KERNEL_VERSION(6, 1, 188) &&			\
	LINUX_VERSION_CODE < KERNEL_VERSION(6, 2, 0)) ||		\
	(LINUX_VERSION_CODE >= KERNEL_VERSION(6, 12, 110) &&		\
	LINUX_VERSION_CODE < KERNEL_VERSION(6, 13, 0))
#define SHIM_CQ_ENDS_IN_STEPS
#endif

/*
 * Those kernels also hide a QP or CQ from "rdma resource show", and wait for who looks at it, before
 * the driver destroys it. Older ones do so afterwards, when the driver has nothing to show any more;
 * there this does it. If the end is refused, the object is no longer listed.
 */
#ifndef SHIM_CQ_ENDS_IN_STEPS
void rdma_restrack_del(struct rdma_restrack_entry *res); /* exported; ib_core's own header has it */
#endif
static inline void shim_hide(struct rdma_restrack_entry *res)
{
#ifndef SHIM_CQ_ENDS_IN_STEPS
	rdma_restrack_del(res);
#endif
}

/* How reg_user_mr_dmabuf() is. */
#if LINUX_VERSION_CODE >= KERNEL_VERSION(6, 12, 0)
#define SHIM_REG_DMABUF_DATA struct uverbs_attr_bundle *
#else
#define SHIM_REG_DMABUF_DATA struct ib_udata *
#endif

/* The smallest size of a work queue; told since 6.12. */
static inline void shim_set_min_wq_size(struct irdma_alloc_ucontext_resp *resp, u16 size)
{
#if LINUX_VERSION_CODE >= KERNEL_VERSION(6, 12, 0)
	resp->min_hw_wq_size = size;
	resp->comp_mask |= IRDMA_ALLOC_UCTX_MIN_HW_WQ_SIZE;
#endif
}

/* How a tracepoint fills a string; which one is told once, since 6.10. */
#if LINUX_VERSION_CODE >= KERNEL_VERSION(6, 10, 0)
#define SHIM_ASSIGN_STR(field, from) __assign_str(field)
#else
#define SHIM_ASSIGN_STR(field, from) __assign_str(field, from)
#endif

#endif
