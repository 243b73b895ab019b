/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The verbs shims among themselves: objects of ib_core with the C++ object
 * behind each, and the entry points of struct ib_device_ops by file.
 */
#ifndef SHIM_VERBS_H
#define SHIM_VERBS_H

#include <rdma/ib_verbs.h>
#include <rdma/uverbs_ioctl.h>

#include "compat.h"
#include "shim_device.h"

struct shim_ucontext {
	struct ib_ucontext ib;
	struct irdma_ucontext *irdma;
	struct rdma_user_mmap_entry *doorbell;
};

struct shim_pd {
	struct ib_pd ib;
	struct irdma_pd *irdma;
};

struct shim_cq {
	struct ib_cq ib;
	struct irdma_cq *irdma;
};

struct shim_qp {
	struct ib_qp ib;
	struct irdma_qp *irdma;
	enum ib_sig_type sq_sig_type; /* as it was made */
};

struct shim_mr {
	struct ib_mr ib;
	struct irdma_mr *irdma;
	bool replaces; /* another: ib.uobject is then the other's, which is gone */
};

struct shim_mw {
	struct ib_mw ib;
	struct irdma_mw *irdma;
};

struct shim_ah {
	struct ib_ah ib;
	struct irdma_ah *irdma;
	struct irdma_path path; /* as it was made */
};

/* The C++ object behind an object of ib_core. */
static inline struct irdma_pd *pd_of(struct ib_pd *ib)
{
	return container_of(ib, struct shim_pd, ib)->irdma;
}

static inline struct irdma_cq *cq_of(struct ib_cq *ib)
{
	return container_of(ib, struct shim_cq, ib)->irdma;
}

static inline struct irdma_qp *qp_of(struct ib_qp *ib)
{
	return container_of(ib, struct shim_qp, ib)->irdma;
}

/* The user context of a call, NULL for one of the kernel. */
static inline struct irdma_ucontext *uctx_of(struct ib_udata *udata)
{
	struct shim_ucontext *uctx =
		rdma_udata_to_drv_context(udata, struct shim_ucontext, ib);

	return uctx ? uctx->irdma : NULL;
}

/*
 * Whether a process has asked for the end of an object, and so can be told that the device refuses.
 * Not so if it has never got the object, or is gone and ib_core takes what it has left, or if the
 * object is the kernel's: nobody would try again then. @uobject: the object's; that of a QP or CQ
 * is of a kind that begins with a struct ib_uobject. ib_core has one reference for the handle and
 * one for its list of the process's objects; a request brings another.
 */
static inline bool is_request(const void *uobject)
{
	const struct ib_uobject *u = uobject;

	return u && kref_read(&u->ref) > 2;
}

/*
 * Driver data of a call: whether there is as much as the first provider libraries bring;
 * what is missing of later additions is 0, what is newer than us is not looked at.
 */
static inline bool udata_ok(enum irdma_call call, const struct ib_udata *udata)
{
	return irdma_udata_ok(call, udata->inlen, udata->outlen);
}

/* verbs_context.c */
int shim_alloc_ucontext(struct ib_ucontext *ib, struct ib_udata *udata);
void shim_dealloc_ucontext(struct ib_ucontext *ib);
void shim_disassociate_ucontext(struct ib_ucontext *ib);
int shim_mmap(struct ib_ucontext *ib, struct vm_area_struct *vma);
void shim_mmap_free(struct rdma_user_mmap_entry *entry);
int shim_alloc_pd(struct ib_pd *ib, struct ib_udata *udata);
int shim_dealloc_pd(struct ib_pd *ib, struct ib_udata *udata);

/* verbs_cq.c */
int shim_create_cq(struct ib_cq *ib, const struct ib_cq_init_attr *attr, SHIM_CREATE_CQ_DATA data);
int shim_destroy_cq(struct ib_cq *ib, struct ib_udata *udata);
int shim_pre_destroy_cq(struct ib_cq *ib);
void shim_post_destroy_cq(struct ib_cq *ib);
int shim_resize_cq(struct ib_cq *ib, int entries, struct ib_udata *udata);
int shim_req_notify_cq(struct ib_cq *ib, enum ib_cq_notify_flags flags);
int shim_poll_cq(struct ib_cq *ib, int count, struct ib_wc *wc);

/* verbs_qp.c */
int shim_create_qp(struct ib_qp *ib, struct ib_qp_init_attr *attr, struct ib_udata *udata);
int shim_modify_qp(struct ib_qp *ib, struct ib_qp_attr *attr, int mask, struct ib_udata *udata);
int shim_query_qp(struct ib_qp *ib, struct ib_qp_attr *attr, int mask,
		  struct ib_qp_init_attr *init);
int shim_destroy_qp(struct ib_qp *ib, struct ib_udata *udata);
int shim_attach_mcast(struct ib_qp *ib, union ib_gid *gid, u16 lid);
int shim_detach_mcast(struct ib_qp *ib, union ib_gid *gid, u16 lid);
int shim_post_send(struct ib_qp *ib, const struct ib_send_wr *wr, const struct ib_send_wr **bad);
int shim_post_recv(struct ib_qp *ib, const struct ib_recv_wr *wr, const struct ib_recv_wr **bad);

/* verbs_mr.c */
struct ib_mr *shim_reg_user_mr(struct ib_pd *pd, u64 start, u64 length, u64 va, int access,
			       struct ib_udata *udata);
struct ib_mr *shim_reg_user_mr_dmabuf(struct ib_pd *pd, u64 offset, u64 length, u64 va, int fd,
				      int access, SHIM_REG_DMABUF_DATA data);
struct ib_mr *shim_rereg_user_mr(struct ib_mr *old, int flags, u64 start, u64 length, u64 va,
				 int access, struct ib_pd *pd, struct ib_udata *udata);
struct ib_mr *shim_get_dma_mr(struct ib_pd *pd, int access);
struct ib_mr *shim_alloc_mr(struct ib_pd *pd, enum ib_mr_type type, u32 pages);
int shim_map_mr_sg(struct ib_mr *ib, struct scatterlist *sg, int entries, unsigned int *offset);
int shim_dereg_mr(struct ib_mr *ib, struct ib_udata *udata);
int shim_alloc_mw(struct ib_mw *ib, struct ib_udata *udata);
int shim_dealloc_mw(struct ib_mw *ib);

/* verbs_details.c */
struct rdma_hw_stats *shim_alloc_statistics(struct ib_device *ibdev, u32 port);
int shim_get_statistics(struct ib_device *ibdev, struct rdma_hw_stats *stats, u32 port, int index);
int shim_fill_qp(struct sk_buff *msg, struct ib_qp *ib);
int shim_fill_qp_raw(struct sk_buff *msg, struct ib_qp *ib);
int shim_fill_cq(struct sk_buff *msg, struct ib_cq *ib);
int shim_fill_mr(struct sk_buff *msg, struct ib_mr *ib);

/* next_hop.c */
void shim_fill_next_hop(struct shim_device *dev, const struct ib_gid_attr *sgid, bool may_sleep,
			struct irdma_path *path);

/* verbs_ah.c */
int shim_fill_path(struct shim_device *dev, const struct rdma_ah_attr *attr, bool may_sleep,
		   struct irdma_path *path);
void shim_fill_ah_attr(const struct irdma_path *path, struct rdma_ah_attr *attr);
int shim_create_ah(struct ib_ah *ib, struct rdma_ah_init_attr *attr, struct ib_udata *udata);
int shim_destroy_ah(struct ib_ah *ib, u32 flags);
int shim_query_ah(struct ib_ah *ib, struct rdma_ah_attr *attr);

#endif
