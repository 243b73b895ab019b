/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Two RC queue pairs of one device, connected to each other: work is posted on
 * the one and served by the other, so that data moves between memory regions of
 * one process. A queue pair that an error has ended is replaced.
 */
#ifndef LOOP_H
#define LOOP_H

#include "verbs_util.h"

/** struct loop - the two queue pairs
 * @dev: their device
 * @pd: protection domains of who posts and of who serves
 * @cq: completions of both
 * @qp: who posts, and who serves
 */
struct loop {
	const struct vu_device *dev;
	struct ibv_pd *pd[2];
	struct ibv_cq *cq;
	struct ibv_qp *qp[2];
};

/**
 * loop_open() - make and connect the queue pairs
 * @loop: filled in
 * @dev: the device
 * @local: protection domain of who posts
 * @remote: protection domain of who serves; may be the same
 *
 * Return: 0, or -1 after a message on stderr.
 */
int loop_open(struct loop *loop, const struct vu_device *dev,
	      struct ibv_pd *local, struct ibv_pd *remote);

/** loop_close() - destroy them */
void loop_close(struct loop *loop);

/**
 * loop_do() - post one request and wait for its end
 * @loop: the queue pairs, connected anew if it fails
 * @wr: the request; wr_id and flags are set here
 *
 * Return: an enum ibv_wc_status; -1 if it is not accepted; -2 if it does not end.
 */
int loop_do(struct loop *loop, struct ibv_send_wr *wr);

/** loop_bind() - bind a window of type 1 for those who post, as loop_do() */
int loop_bind(struct loop *loop, struct ibv_mw *mw, struct ibv_mw_bind *bind);

/** loop_rdma() - WRITE or READ of @length bytes, as loop_do() */
int loop_rdma(struct loop *loop, enum ibv_wr_opcode opcode, void *local,
	      uint32_t lkey, uint64_t remote, uint32_t rkey, uint32_t length);

#endif
