// SPDX-License-Identifier: GPL-2.0
/*
 * Sizes of a QP's rings: how many quanta for the requests asked for. Pure, and
 * the same arithmetic as in the provider library, which makes the rings of a
 * process before the driver hears of the QP.
 */
#ifndef IRDMA_VERBS_QP_SIZES_H
#define IRDMA_VERBS_QP_SIZES_H

#include "../base/result.h"
#include "driver.h"

namespace irdma {

struct QpSizes {
	u32 sq_shift, rq_shift;	  /**< log2 of the quanta that a request of full size takes */
	u32 sq_quanta, rq_quanta; /**< size of the rings, powers of two */

	/** Requests that may be outstanding. */
	u32 max_send_wr() const;
	u32 max_recv_wr() const;
	u32 sq_bytes() const;
	u32 rq_bytes() const;
};

/** The QP context's code for a ring size. */
u32 ring_size_code(u32 quanta);

/**
 * Sizes for a QP.
 *
 * @params: what is asked for
 * @ring_sizes_given: max_send_wr and max_recv_wr are the rings' sizes in requests, as provider
 * libraries give them that do not know IRDMA_ALLOC_UCTX_USE_RAW_ATTR, among them the one of
 * rdma-core 44.
 *
 * Return: Error::invalid if it is more than the device has, or is no size of a ring.
 */
Result<QpSizes> qp_sizes(const irdma_qp_params &params, bool ring_sizes_given);

} // namespace irdma

#endif
