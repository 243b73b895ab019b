// SPDX-License-Identifier: GPL-2.0
/*
 * Verbs: processes that open the device, what they may map of it, and
 * protection domains.
 *
 * A process can map one page of the device, the doorbells, by which it rings for
 * its queues, and nothing else. The page is handed out as an entry of ib_core's, and so is
 * taken away when the device goes while the process lives.
 */
#include <linux/mm.h>
#include <linux/pci.h>
#include <linux/slab.h>
#include <rdma/irdma-abi.h>

#include "verbs.h"

/* ---- The doorbell page ---- */

static struct rdma_user_mmap_entry *offer_doorbell(struct ib_ucontext *ib)
{
	struct rdma_user_mmap_entry *entry = kzalloc(sizeof(*entry), GFP_KERNEL);

	if (entry && rdma_user_mmap_entry_insert(ib, entry, PAGE_SIZE)) {
		kfree(entry);
		return NULL;
	}
	return entry;
}

/**
 * shim_mmap_free() - nobody maps an entry any more
 * @entry: the entry
 */
void shim_mmap_free(struct rdma_user_mmap_entry *entry)
{
	kfree(entry);
}

/**
 * shim_mmap() - map the doorbell page
 * @ib: the process
 * @vma: where to
 *
 * Return: 0; -EINVAL for an offset that was not handed out, another size than a page, or a private
 * mapping; -EPERM for an executable one.
 */
int shim_mmap(struct ib_ucontext *ib, struct vm_area_struct *vma)
{
	struct shim_device *dev = to_shim(ib->device);
	struct rdma_user_mmap_entry *entry;
	struct irdma_uk_attr attr;
	unsigned long pfn;
	int err;

	if (vma->vm_flags & VM_EXEC)
		return -EPERM;
	entry = rdma_user_mmap_entry_get(ib, vma);
	if (!entry) {
		shim_log_limited(dev, SHIM_DBG, "mmap: nothing of %lu bytes is at page %lu",
				 vma->vm_end - vma->vm_start, vma->vm_pgoff);
		return -EINVAL;
	}
	irdma_get_uk_attr(dev->irdma, &attr);
	pfn = (pci_resource_start(dev->pdev, 0) + attr.db_page_offset) >> PAGE_SHIFT;
	err = rdma_user_mmap_io(ib, vma, pfn, PAGE_SIZE, pgprot_noncached(vma->vm_page_prot),
				entry);
	rdma_user_mmap_entry_put(entry);
	return err;
}

/* ---- User contexts ---- */

static int check_version(struct shim_device *dev, const struct ib_udata *udata,
			 const struct irdma_alloc_ucontext_req *req)
{
	if (req->userspace_ver < 4 || req->userspace_ver > IRDMA_ABI_VER) {
		shim_log_limited(dev, SHIM_INFO, "open: provider library of ABI %u, need 4 to %u",
				 req->userspace_ver, IRDMA_ABI_VER);
		return -EINVAL;
	}
	/* The library for the X722 maps what this device does not have. */
	if (udata->outlen < offsetofend(struct irdma_alloc_ucontext_resp, rsvd2)) {
		shim_log_limited(dev, SHIM_DBG, "open: room for %zu bytes of answer is too little",
				 udata->outlen);
		return -EOPNOTSUPP;
	}
	return 0;
}

static void fill_response(struct shim_device *dev, struct irdma_alloc_ucontext_resp *resp)
{
	struct irdma_uk_attr attr;

	irdma_get_uk_attr(dev->irdma, &attr);
	resp->kernel_ver = IRDMA_ABI_VER;
	resp->feature_flags = attr.feature_flags;
	resp->max_hw_wq_frags = attr.max_frags;
	resp->max_hw_read_sges = attr.max_read_sges;
	resp->max_hw_inline = attr.max_inline;
	resp->max_hw_rq_quanta = attr.max_rq_quanta;
	resp->max_hw_wq_quanta = attr.max_sq_quanta;
	resp->min_hw_cq_size = attr.min_cq_size;
	resp->max_hw_cq_size = attr.max_cq_size;
	resp->max_hw_sq_chunk = attr.max_sq_chunk;
	resp->hw_rev = attr.hw_rev;
	resp->comp_mask = IRDMA_ALLOC_UCTX_USE_RAW_ATTR;
	shim_set_min_wq_size(resp, attr.min_wq_size);
}

/**
 * shim_alloc_ucontext() - a process opens the device
 * @ib: its user context
 * @udata: version and wishes of its provider library
 *
 * Return: 0, or a negative errno: -EINVAL for an unknown version or too little driver data.
 */
int shim_alloc_ucontext(struct ib_ucontext *ib, struct ib_udata *udata)
{
	struct shim_ucontext *uctx = container_of(ib, struct shim_ucontext, ib);
	struct shim_device *dev = to_shim(ib->device);
	struct irdma_alloc_ucontext_resp resp = {};
	struct irdma_alloc_ucontext_req req = {};
	int err;

	if (!udata_ok(IRDMA_CALL_CONTEXT, udata))
		return -EINVAL;
	if (ib_copy_from_udata(&req, udata, min(sizeof(req), udata->inlen)))
		return -EFAULT;
	err = check_version(dev, udata, &req);
	if (err)
		return err;

	err = irdma_ucontext_create(dev->irdma, req.comp_mask & IRDMA_ALLOC_UCTX_USE_RAW_ATTR,
				    &uctx->irdma);
	if (err)
		return err;
	uctx->doorbell = offer_doorbell(ib);
	if (!uctx->doorbell) {
		err = -ENOMEM;
		goto no_doorbell;
	}
	fill_response(dev, &resp);
	resp.db_mmap_key = rdma_user_mmap_get_offset(uctx->doorbell);
	err = ib_copy_to_udata(udata, &resp, min(sizeof(resp), udata->outlen));
	if (err)
		goto no_copy;
	return 0;

no_copy:
	rdma_user_mmap_entry_remove(uctx->doorbell);
no_doorbell:
	irdma_ucontext_destroy(uctx->irdma);
	return err;
}

/**
 * shim_dealloc_ucontext() - a process is done; its objects are gone
 * @ib: its user context
 */
void shim_dealloc_ucontext(struct ib_ucontext *ib)
{
	struct shim_ucontext *uctx = container_of(ib, struct shim_ucontext, ib);

	rdma_user_mmap_entry_remove(uctx->doorbell);
	irdma_ucontext_destroy(uctx->irdma);
}

/**
 * shim_disassociate_ucontext() - the device goes while a process has it open
 * @ib: its user context
 *
 * ib_core takes the mapped page away; that this is here says that we can do without the process.
 */
void shim_disassociate_ucontext(struct ib_ucontext *ib)
{
}

/* ---- Protection domains ---- */

/**
 * shim_alloc_pd() - make a protection domain
 * @ib: its ib_core side
 * @udata: gets its number; NULL for the kernel
 *
 * Return: 0 or a negative errno.
 */
int shim_alloc_pd(struct ib_pd *ib, struct ib_udata *udata)
{
	struct shim_pd *pd = container_of(ib, struct shim_pd, ib);
	struct irdma_alloc_pd_resp resp = {};
	int err;

	if (udata && !udata_ok(IRDMA_CALL_PD, udata))
		return -EINVAL;
	err = irdma_pd_create(to_shim(ib->device)->irdma, &pd->irdma, &resp.pd_id);
	if (err || !udata)
		return err;
	err = ib_copy_to_udata(udata, &resp, min(sizeof(resp), udata->outlen));
	if (err)
		irdma_pd_destroy(pd->irdma);
	return err;
}

/**
 * shim_dealloc_pd() - undo shim_alloc_pd()
 * @ib: its ib_core side
 * @udata: not used
 *
 * Return: 0
 */
int shim_dealloc_pd(struct ib_pd *ib, struct ib_udata *udata)
{
	irdma_pd_destroy(pd_of(ib));
	return 0;
}
