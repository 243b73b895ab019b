// SPDX-License-Identifier: GPL-2.0
/*
 * Verbs: memory regions and memory windows.
 */
#include <linux/slab.h>
#include <rdma/irdma-abi.h>

#include "verbs.h"
#include "work_request.h"

/* Kinds of registrations that the provider library knows. */
static const enum irdma_mr_kind kinds[] = {
	[IRDMA_MEMREG_TYPE_MEM] = IRDMA_MR_MEMORY,
	[IRDMA_MEMREG_TYPE_QP] = IRDMA_MR_QP,
	[IRDMA_MEMREG_TYPE_CQ] = IRDMA_MR_CQ,
};

/* What is common to all: the C++ object by @make, and its keys. */
#define NEW_MR(make, ...) ({							\
	struct shim_mr *__mr = kzalloc(sizeof(*__mr), GFP_KERNEL);		\
	int __err = -ENOMEM;							\
										\
	if (__mr)								\
		__err = make(__VA_ARGS__, &__mr->irdma, &__mr->ib.lkey,		\
			     &__mr->ib.rkey);					\
	if (__err)								\
		kfree(__mr);							\
	__err ? ERR_PTR(__err) : &__mr->ib;					\
})

/**
 * shim_reg_user_mr() - register memory of a process
 * @pd: protection domain
 * @start: address in the process
 * @length: bytes
 * @va: address that the STag starts at
 * @access: rights
 * @udata: whether it is memory, or a ring of a QP or CQ
 *
 * Return: the region, or an error pointer; errors as irdma_mr_register().
 */
struct ib_mr *shim_reg_user_mr(struct ib_pd *pd, u64 start, u64 length, u64 va, int access,
			       struct ib_udata *udata)
{
	struct shim_device *dev = to_shim(pd->device);
	struct irdma_mem_reg_req req = {};
	struct irdma_mr_params params = {
		.start = start,
		.length = length,
		.va = va,
		.access = access,
		.pd = pd_of(pd),
		.uctx = uctx_of(udata),
		.dmabuf = -1,
	};

	if (!udata_ok(IRDMA_CALL_MR, udata))
		return ERR_PTR(-EINVAL);
	if (ib_copy_from_udata(&req, udata, min(sizeof(req), udata->inlen)))
		return ERR_PTR(-EFAULT);
	if (req.reg_type >= ARRAY_SIZE(kinds)) {
		shim_log_limited(dev, SHIM_DBG, "register MR: reg_type %u", req.reg_type);
		return ERR_PTR(-EINVAL);
	}
	params.kind = kinds[req.reg_type];
	params.cq_pages = req.cq_pages;
	params.rq_pages = req.rq_pages;
	params.sq_pages = req.sq_pages;
	return NEW_MR(irdma_mr_register, dev->irdma, &params);
}

/**
 * shim_reg_user_mr_dmabuf() - register memory of a DMA-BUF
 * @pd: protection domain
 * @offset: bytes from its start
 * @length: bytes
 * @va: address that the STag starts at
 * @fd: file descriptor
 * @access: rights
 * @data: not used
 *
 * The memory is pinned, as the device cannot fault.
 *
 * Return: the region, or an error pointer; errors as irdma_mr_register().
 */
struct ib_mr *shim_reg_user_mr_dmabuf(struct ib_pd *pd, u64 offset, u64 length, u64 va, int fd,
				      int access, SHIM_REG_DMABUF_DATA data)
{
	struct irdma_mr_params params = {
		.kind = IRDMA_MR_MEMORY,
		.start = offset,
		.length = length,
		.va = va,
		.access = access,
		.pd = pd_of(pd),
		.dmabuf = fd,
	};

	struct ib_mr *mr;

	if (fd < 0)
		return ERR_PTR(-EBADF);
	mr = NEW_MR(irdma_mr_register, to_shim(pd->device)->irdma, &params);
	if (!IS_ERR(mr)) {
		mr->iova = va;
		mr->length = length;
	}
	return mr;
}

/**
 * shim_rereg_user_mr() - change a region of a process
 * @old: the region
 * @flags: what changes
 * @start: address in the process
 * @length: bytes
 * @va: address that the STag starts at
 * @access: rights
 * @pd: protection domain, the new one or that of @old
 * @udata: not used
 *
 * Return: another region, by which ib_core replaces @old; or an error pointer, and @old is as it
 * was; errors as irdma_mr_reregister().
 */
struct ib_mr *shim_rereg_user_mr(struct ib_mr *old, int flags, u64 start, u64 length, u64 va,
				 int access, struct ib_pd *pd, struct ib_udata *udata)
{
	struct irdma_mr_change change = {
		.range = flags & IB_MR_REREG_TRANS,
		.access_given = flags & IB_MR_REREG_ACCESS,
		.start = start,
		.length = length,
		.va = va,
		.access = access,
		.pd = pd_of(pd),
	};
	struct ib_mr *mr;

	if (flags & ~IB_MR_REREG_SUPPORTED)
		return ERR_PTR(-EOPNOTSUPP);
	mr = NEW_MR(irdma_mr_reregister, container_of(old, struct shim_mr, ib)->irdma, &change);
	if (!IS_ERR(mr)) {
		mr->iova = change.range ? va : old->iova;
		mr->length = change.range ? length : old->length;
		container_of(mr, struct shim_mr, ib)->replaces = true;
	}
	return mr;
}

/**
 * shim_get_dma_mr() - a region of all memory, for the kernel
 * @pd: protection domain
 * @access: rights
 *
 * Return: the region, or an error pointer.
 */
struct ib_mr *shim_get_dma_mr(struct ib_pd *pd, int access)
{
	return NEW_MR(irdma_mr_dma, to_shim(pd->device)->irdma, pd_of(pd), access);
}

/**
 * shim_alloc_mr() - a region for fast registration
 * @pd: protection domain
 * @type: its kind
 * @pages: most pages that it shall map
 *
 * Return: the region, or an error pointer: -EOPNOTSUPP for another kind than pages.
 */
struct ib_mr *shim_alloc_mr(struct ib_pd *pd, enum ib_mr_type type, u32 pages)
{
	if (type != IB_MR_TYPE_MEM_REG)
		return ERR_PTR(-EOPNOTSUPP);
	return NEW_MR(irdma_mr_alloc, to_shim(pd->device)->irdma, pd_of(pd), pages);
}

static int set_page(struct ib_mr *ib, u64 bus)
{
	return irdma_mr_set_page(container_of(ib, struct shim_mr, ib)->irdma, bus);
}

/**
 * shim_map_mr_sg() - say what the next REG_MR of a region shall map
 * @ib: the region, of shim_alloc_mr(); its page_size is set
 * @sg: memory, mapped for the device
 * @entries: of @sg
 * @offset: bytes in the first entry to skip; or NULL
 *
 * Context: Any.
 * Return: the number of entries of @sg that are mapped, or a negative errno.
 */
int shim_map_mr_sg(struct ib_mr *ib, struct scatterlist *sg, int entries, unsigned int *offset)
{
	struct irdma_mr *mr = container_of(ib, struct shim_mr, ib)->irdma;
	int mapped, err;

	irdma_mr_begin_pages(mr);
	mapped = ib_sg_to_pages(ib, sg, entries, offset, set_page);
	if (mapped < 0)
		return mapped;
	err = irdma_mr_end_pages(mr, ib->iova, ib->length, ib->page_size);
	return err ?: mapped;
}

/**
 * shim_dereg_mr() - end a region
 * @ib: the region
 * @udata: of a process; NULL for the kernel, whose regions have a list entry in place of the object
 *
 * The user object of a region that replaces another is the other's, which ib_core has freed: it is
 * not looked at, and such an end is one that nobody tries again.
 *
 * Return: 0; or what the device's error stands for, if the caller can try again.
 */
int shim_dereg_mr(struct ib_mr *ib, struct ib_udata *udata)
{
	struct shim_mr *mr = container_of(ib, struct shim_mr, ib);
	bool may_fail = udata && !mr->replaces && is_request(ib->uobject);
	int err = irdma_mr_deregister(mr->irdma, may_fail);

	if (!err)
		kfree(mr);
	return err;
}

/**
 * shim_mr_of() - the C++ object of a region, for the data path
 * @ib_mr: the region
 * @va: gets its address as of now: a consumer may change it after ib_map_mr_sg(), as rpcrdma does
 *
 * Return: the object.
 */
struct irdma_mr *shim_mr_of(void *ib_mr, u64 *va)
{
	struct ib_mr *ib = ib_mr;

	*va = ib->iova;
	return container_of(ib, struct shim_mr, ib)->irdma;
}

/**
 * shim_alloc_mw() - make a memory window
 * @ib: its ib_core side, with type and protection domain
 * @udata: not used
 *
 * Return: 0 or a negative errno.
 */
int shim_alloc_mw(struct ib_mw *ib, struct ib_udata *udata)
{
	struct shim_mw *mw = container_of(ib, struct shim_mw, ib);

	BUILD_BUG_ON(IB_MW_TYPE_1 != 1 || IB_MW_TYPE_2 != 2);
	return irdma_mw_create(to_shim(ib->device)->irdma, pd_of(ib->pd), ib->type, &mw->irdma,
			       &ib->rkey);
}

/**
 * shim_dealloc_mw() - destroy a memory window
 * @ib: its ib_core side
 *
 * Return: 0; or what the device's error stands for, if a process can try again.
 */
int shim_dealloc_mw(struct ib_mw *ib)
{
	return irdma_mw_destroy(container_of(ib, struct shim_mw, ib)->irdma,
				is_request(ib->uobject));
}
