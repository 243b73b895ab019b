/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Verbs of memory regions that the kernel has, but not each provider library:
 * changing a region, regions of a DMA-BUF. Spoken directly to ib_uverbs.
 */
#ifndef RAW_MR_H
#define RAW_MR_H

#include <infiniband/verbs.h>

/**
 * raw_rereg_mr() - as ibv_rereg_mr()
 *
 * Return: 0, with the keys in @mr renewed, or an errno; the region is unchanged then.
 */
int raw_rereg_mr(struct ibv_mr *mr, int flags, struct ibv_pd *pd, void *addr,
		 uint64_t length, uint64_t iova, int access);

/**
 * raw_reg_dmabuf_mr() - as ibv_reg_dmabuf_mr()
 * @mr: filled in
 *
 * Return: 0 or an errno.
 */
int raw_reg_dmabuf_mr(struct ibv_mr *mr, struct ibv_pd *pd, uint64_t offset,
		      uint64_t length, uint64_t iova, int fd, int access);

/** raw_dereg_mr() - the end of a region of raw_reg_dmabuf_mr(); 0 or an errno */
int raw_dereg_mr(struct ibv_mr *mr);

#endif
