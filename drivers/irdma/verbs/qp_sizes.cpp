// SPDX-License-Identifier: GPL-2.0
/* Sizes of a QP's rings; see qp_sizes.h. */
#include "qp_sizes.h"

#include "../hw/limits.h"

namespace irdma {

namespace {

/* log2 of the quanta of a request with @fragments or @inline_bytes: 1, 2, 4 or 8 of them. */
u32 request_shift(u32 fragments, u32 inline_bytes)
{
	if (fragments <= 1 && inline_bytes <= 8)
		return 0;
	if (fragments < 4 && inline_bytes <= 39)
		return 1;
	if (fragments < 8 && inline_bytes <= 101)
		return 2;
	return 3;
}

/* A ring for @requests of 2^@shift quanta, and @reserved quanta more. */
u32 ring_quanta(u32 requests, u32 shift, u32 reserved)
{
	u64 quanta = round_up_pow2((static_cast<u64>(requests) << shift) + reserved);

	/* More than the limit is as good as any number above it, and fits. */
	return static_cast<u32>(
		min<u64>(max<u64>(quanta, hw::min_wq_wqes << shift), 2 * hw::max_wq_quanta));
}

} // namespace

u32 QpSizes::max_send_wr() const
{
	return (sq_quanta - hw::sq_reserved_quanta) >> sq_shift;
}

u32 QpSizes::max_recv_wr() const
{
	return (rq_quanta - hw::rq_reserved_wqes) >> rq_shift;
}

u32 QpSizes::sq_bytes() const
{
	return sq_quanta * hw::quantum_bytes;
}

u32 QpSizes::rq_bytes() const
{
	return rq_quanta * hw::quantum_bytes;
}

u32 ring_size_code(u32 quanta)
{
	return log2_floor(quanta) - 2;
}

Result<QpSizes> qp_sizes(const irdma_qp_params &p, bool ring_sizes_given)
{
	QpSizes s;

	if (p.max_send_sge > hw::max_sge || p.max_recv_sge > hw::max_sge ||
	    p.max_inline > hw::max_inline_bytes || p.max_send_wr > hw::max_wq_quanta ||
	    p.max_recv_wr > hw::max_wq_quanta)
		return Error::invalid;

	/* Immediate data takes the place of a fragment. */
	s.sq_shift = request_shift(p.max_send_sge + 1, p.max_inline);
	s.rq_shift = request_shift(p.max_recv_sge, 0);
	if (ring_sizes_given) {
		s.sq_quanta = p.max_send_wr << s.sq_shift;
		s.rq_quanta = p.max_recv_wr << s.rq_shift;
	} else {
		s.sq_quanta = ring_quanta(p.max_send_wr, s.sq_shift, hw::sq_reserved_quanta);
		s.rq_quanta = ring_quanta(p.max_recv_wr, s.rq_shift, hw::rq_reserved_wqes);
	}
	if (!is_power_of_two(s.sq_quanta) || s.sq_quanta <= hw::sq_reserved_quanta ||
	    s.sq_quanta > hw::max_wq_quanta || !is_power_of_two(s.rq_quanta) ||
	    s.rq_quanta < hw::min_wq_wqes << s.rq_shift || s.rq_quanta > hw::max_wq_quanta)
		return Error::invalid;
	return s;
}

} // namespace irdma
