// SPDX-License-Identifier: GPL-2.0
/*
 * Memory of processes for the C++ side: pinned, mapped for the device, and
 * listed in pages. A struct shim_umem is an ib_umem.
 */
#include <rdma/ib_umem.h>
#include <rdma/iter.h>

#include "shim_device.h"

static struct ib_umem *to_ib(struct shim_umem *umem)
{
	return (struct ib_umem *)umem;
}

static int give(struct ib_umem *umem, struct shim_umem **out)
{
	if (IS_ERR(umem))
		return PTR_ERR(umem);
	*out = (struct shim_umem *)umem;
	return 0;
}

/**
 * shim_umem_get() - pin memory of the current process
 * @dev: the device that shall reach it
 * @start: address in the process
 * @length: bytes
 * @access: SHIM_ACCESS_*
 * @out: gets it
 *
 * Context: May sleep.
 * Return: 0; -EFAULT if it is not there or not writable; -ENOMEM, also for RLIMIT_MEMLOCK; ...
 */
int shim_umem_get(struct shim_device *dev, u64 start, u64 length, u32 access,
		  struct shim_umem **out)
{
	return give(ib_umem_get(&dev->ibdev, start, length, access), out);
}

/**
 * shim_umem_get_dmabuf() - pin memory of a DMA-BUF
 * @dev: the device that shall reach it
 * @offset: bytes from the start of the buffer
 * @length: bytes
 * @fd: file descriptor of the DMA-BUF
 * @access: SHIM_ACCESS_*
 * @out: gets it
 *
 * Context: May sleep.
 * Return: 0, or the error of the exporter or of the mapping.
 */
int shim_umem_get_dmabuf(struct shim_device *dev, u64 offset, u64 length, int fd, u32 access,
			 struct shim_umem **out)
{
	struct ib_umem_dmabuf *buf =
		ib_umem_dmabuf_get_pinned(&dev->ibdev, offset, length, fd, access);

	return give(IS_ERR(buf) ? ERR_CAST(buf) : &buf->umem, out);
}

/**
 * shim_umem_put() - unmap and unpin it
 * @umem: the memory
 *
 * Context: May sleep.
 */
void shim_umem_put(struct shim_umem *umem)
{
	ib_umem_release(to_ib(umem));
}

/**
 * shim_umem_best_page() - the largest pages in which it can be listed
 * @umem: the memory
 * @sizes: sizes that the device has; bit n: 2^n bytes
 * @va: address by which the device finds the first byte
 *
 * To be called before shim_umem_pages() and shim_umem_list(), which go by @va.
 *
 * Return: a size out of @sizes, or 0 if none fits.
 */
u64 shim_umem_best_page(struct shim_umem *umem, u64 sizes, u64 va)
{
	return ib_umem_find_best_pgsz(to_ib(umem), sizes, va);
}

/**
 * shim_umem_pages() - number of pages that cover it
 * @umem: the memory
 * @page_size: as shim_umem_best_page() gave it
 *
 * Return: the number.
 */
u64 shim_umem_pages(struct shim_umem *umem, u64 page_size)
{
	return ib_umem_num_dma_blocks(to_ib(umem), page_size);
}

/**
 * shim_umem_contiguous() - whether the device sees it as one run of addresses
 * @umem: the memory
 *
 * Return: whether it does.
 */
bool shim_umem_contiguous(struct shim_umem *umem)
{
	struct scatterlist *sg;
	dma_addr_t next = 0;
	int i;

	/* One run may have several entries, as one is below 4 GiB. */
	for_each_sgtable_dma_sg(&to_ib(umem)->sgt_append.sgt, sg, i) {
		if (i && sg_dma_address(sg) != next)
			return false;
		next = sg_dma_address(sg) + sg_dma_len(sg);
	}
	return true;
}

/**
 * shim_umem_list() - write bus addresses of its first pages
 * @umem: the memory
 * @page_size: as shim_umem_best_page() gave it
 * @count: how many
 * @place: tells where they go, little endian
 * @list: for @place
 *
 * Context: May sleep.
 * Return: how many there were.
 */
u64 shim_umem_list(struct shim_umem *umem, u64 page_size, u64 count, shim_page_place place,
		   void *list)
{
	struct ib_block_iter iter;
	__le64 *entry = NULL;
	u64 n = 0, room = 0;

	rdma_umem_for_each_dma_block(to_ib(umem), &iter, page_size) {
		if (n == count)
			break;
		if (!room) {
			entry = place(list, n, &room);
			cond_resched();
		}
		*entry++ = cpu_to_le64(rdma_block_iter_dma_address(&iter));
		room--;
		n++;
	}
	return n;
}

/**
 * shim_umem_copy() - read what a process has written there
 * @umem: the memory; not a DMA-BUF
 * @offset: in bytes, from its start
 * @to: gets the bytes
 * @bytes: how many
 *
 * Context: May sleep.
 * Return: 0 or a negative errno.
 */
int shim_umem_copy(struct shim_umem *umem, u64 offset, void *to, u64 bytes)
{
	cond_resched(); /* each goes through the pages before it, and large rings are read whole */
	return ib_umem_copy_from(to, to_ib(umem), offset, bytes);
}
