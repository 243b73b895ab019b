// SPDX-License-Identifier: GPL-2.0
/*
 * Entries of the event queues. The valid bit is 1 on the first lap and toggles
 * with each lap; the device writes the word that holds it last.
 */
#ifndef IRDMA_HW_EQ_H
#define IRDMA_HW_EQ_H

#include "field.h"

namespace irdma::hw {

/** Entry of a completion event queue: one armed CQ has something. */
struct Ceqe : Words<1> {};
static_assert(sizeof(Ceqe) == 8);

namespace ceqe {
inline constexpr Field context{"context", 0, 62, 0}; /* cqp_cq::context of the CQ */
inline constexpr Field valid{"valid", 0, 63, 63};
inline constexpr Field fields[] = {context, valid};
static_assert(well_formed(fields, 1));
} // namespace ceqe

/** Entry of the asynchronous event queue. */
struct Aeqe : Words<2> {};
static_assert(sizeof(Aeqe) == 16);

namespace aeqe {
inline constexpr Field completion_ctx{"completion_ctx", 0, 63, 0}; /* qpc::completion_ctx */
inline constexpr Field id_low{"id_low", 1, 17, 0};		   /* QP or CQ number, by source */
inline constexpr Field wqe_index{"wqe_index", 1, 32, 18};
inline constexpr Field overflow{"overflow", 1, 33, 33};
inline constexpr Field code{"code", 1, 45, 34};
inline constexpr Field id_high{"id_high", 1, 46, 46}; /* bit 18 of the number */
inline constexpr Field source{"source", 1, 53, 50};
inline constexpr Field qp_state{"qp_state", 1, 56, 54};
inline constexpr Field tcp_state{"tcp_state", 1, 60, 57};
inline constexpr Field q2_data{"q2_data", 1, 62, 61};
inline constexpr Field valid{"valid", 1, 63, 63};
inline constexpr Field fields[] = {
	completion_ctx, id_low,	  wqe_index, overflow, code,  id_high,
	source,		qp_state, tcp_state, q2_data,  valid,
};
static_assert(well_formed(fields, 2));
} // namespace aeqe

/** Where an asynchronous event comes from: aeqe::source. */
enum class AeSource : u8 {
	none = 0x0,
	rq = 0x1,
	cq = 0x2,
	rq_0011 = 0x3,
	sq = 0x5,
	cq_0110 = 0x6,
	sq_0111 = 0x7,
	inbound_read_write = 0x9,
	cq_1010 = 0xa,
	inbound_read_write_1011 = 0xb,
	outbound_read_response = 0xd,
	cq_1110 = 0xe,
	outbound_read_response_1111 = 0xf,
};

/** Whether the number in the entry is a CQ's. Even sources other than 0 are. */
constexpr bool ae_source_is_cq(u32 source)
{
	return source && !(source & 1) && (source & 3) == 2;
}

/** Whether the number in the entry is a QP's. */
constexpr bool ae_source_is_qp(u32 source)
{
	return source & 1;
}

} // namespace irdma::hw

#endif
