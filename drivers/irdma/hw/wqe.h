// SPDX-License-Identifier: GPL-2.0
/*
 * Work requests of the send and receive queues.
 *
 * A WQE is 1 to 8 quanta of 32 bytes and never crosses a multiple of 8 quanta;
 * NOPs fill the gap. Word 3 of the first quantum is the header and is written
 * last. Fragment 0 lies in words 0 and 1, further ones two a quantum from byte
 * 32; with immediate data all fragments lie from byte 32.
 */
#ifndef IRDMA_HW_WQE_H
#define IRDMA_HW_WQE_H

#include "field.h"

namespace irdma::hw {

struct Quantum : Words<4> {};
static_assert(sizeof(Quantum) == 32);

enum class SqOp : u8 {
	rdma_write = 0x00,
	rdma_read = 0x01,
	send = 0x03,
	send_inv = 0x04,
	send_solicited = 0x05,
	send_solicited_inv = 0x06,
	bind_mw = 0x08,
	fast_register = 0x09,
	local_invalidate = 0x0a,
	rdma_read_inv = 0x0b, /* then invalidate the local STag */
	nop = 0x0c,
	rdma_write_solicited = 0x0d,
	generate_rts_ae = 0x30,
};

/** Name of an opcode for traces and messages. */
constexpr const char *sq_op_name(u32 op)
{
	switch (static_cast<SqOp>(op)) {
	case SqOp::rdma_write:
		return "rdma_write";
	case SqOp::rdma_read:
		return "rdma_read";
	case SqOp::send:
		return "send";
	case SqOp::send_inv:
		return "send_inv";
	case SqOp::send_solicited:
		return "send_solicited";
	case SqOp::send_solicited_inv:
		return "send_solicited_inv";
	case SqOp::bind_mw:
		return "bind_mw";
	case SqOp::fast_register:
		return "fast_register";
	case SqOp::local_invalidate:
		return "local_invalidate";
	case SqOp::rdma_read_inv:
		return "rdma_read_inv";
	case SqOp::nop:
		return "nop";
	case SqOp::rdma_write_solicited:
		return "rdma_write_solicited";
	case SqOp::generate_rts_ae:
		return "generate_rts_ae";
	}
	return "unknown";
}

/* Header fields of all send requests. */
namespace sq {
inline constexpr Field opcode{"opcode", 3, 37, 32};
inline constexpr Field more_fragments{"more_fragments", 3, 41, 38}; /* beyond fragment 0 */
inline constexpr Field report_rtt{"report_rtt", 3, 46, 46};
inline constexpr Field immediate{"immediate", 3, 47, 47};
inline constexpr Field inline_length{"inline_length", 3, 55, 48};
inline constexpr Field push{"push", 3, 56, 56};
inline constexpr Field inline_data{"inline_data", 3, 57, 57};
inline constexpr Field read_fence{"read_fence", 3, 60, 60};
inline constexpr Field local_fence{"local_fence", 3, 61, 61}; /* UD: has a UDP header */
inline constexpr Field signalled{"signalled", 3, 62, 62};
inline constexpr Field valid{"valid", 3, 63, 63};

inline constexpr Field remote_addr{"remote_addr", 2, 63, 0};
inline constexpr Field remote_stag{"remote_stag", 3, 31, 0}; /* SEND with invalidate: the STag */
inline constexpr Field imm_data{"imm_data", 0, 31, 0};
inline constexpr Field rdma_fields[] = {
	remote_addr, remote_stag, opcode,     more_fragments, report_rtt, immediate, inline_length,
	push,	     inline_data, read_fence, local_fence,    signalled,  valid,
};
static_assert(well_formed(rdma_fields, 4));

/* SEND on a UD QP. */
inline constexpr Field ud_qkey{"ud_qkey", 2, 31, 0};
inline constexpr Field ud_dest_qp{"ud_dest_qp", 2, 55, 32};
inline constexpr Field ud_ah{"ud_ah", 3, 16, 0};
inline constexpr Field ud_fields[] = {
	ud_qkey,       ud_dest_qp, ud_ah,	opcode,	    more_fragments, report_rtt, immediate,
	inline_length, push,	   inline_data, read_fence, local_fence,    signalled,	valid,
};
static_assert(well_formed(ud_fields, 4));
} // namespace sq

/* A fragment: an address word, and this word beside it. */
namespace fragment {
inline constexpr Field stag{"stag", 1, 31, 0};
inline constexpr Field length{"length", 1, 62, 32};
inline constexpr Field valid{"valid", 1, 63, 63};
} // namespace fragment

/* Fast register. */
namespace sq_fastreg {
inline constexpr Field va{"va", 0, 63, 0};
inline constexpr Field first_pble_hi{"first_pble_hi", 1, 11, 0};
inline constexpr Field page{"page", 1, 63, 12}; /* address / 4096 of a single page */
inline constexpr Field length{"length", 2, 40, 0};
inline constexpr Field first_pble_lo{"first_pble_lo", 2, 63, 48};
inline constexpr Field key{"key", 3, 7, 0};
inline constexpr Field index{"index", 3, 31, 8};
inline constexpr Field copy_host_pbl{"copy_host_pbl", 3, 43, 43};
inline constexpr Field pbl_level{"pbl_level", 3, 45, 44};
inline constexpr Field page_size{"page_size", 3, 47, 46};
inline constexpr Field access{"access", 3, 52, 48};
inline constexpr Field va_based{"va_based", 3, 53, 53};
inline constexpr Field fields[] = {
	va,
	first_pble_hi,
	page,
	length,
	first_pble_lo,
	key,
	index,
	sq::opcode,
	copy_host_pbl,
	pbl_level,
	page_size,
	access,
	va_based,
	sq::read_fence,
	sq::local_fence,
	sq::signalled,
	sq::valid,
};
static_assert(well_formed(fields, 4));
} // namespace sq_fastreg

/* Bind a memory window. */
namespace sq_bind {
inline constexpr Field va{"va", 0, 63, 0};
inline constexpr Field mw_stag{"mw_stag", 1, 31, 0};
inline constexpr Field parent_stag{"parent_stag", 1, 63, 32};
inline constexpr Field length{"length", 2, 63, 0};
inline constexpr Field access{"access", 3, 52, 48};
inline constexpr Field va_based{"va_based", 3, 53, 53};
inline constexpr Field type1{"type1", 3, 54, 54};
inline constexpr Field fields[] = {
	va,	  mw_stag, parent_stag,	   length,	    sq::opcode,	   access,
	va_based, type1,   sq::read_fence, sq::local_fence, sq::signalled, sq::valid,
};
static_assert(well_formed(fields, 4));
} // namespace sq_bind

/* Local invalidate. */
namespace sq_inval {
inline constexpr Field stag{"stag", 1, 31, 0};
inline constexpr Field fields[] = {
	stag, sq::opcode, sq::read_fence, sq::local_fence, sq::signalled, sq::valid,
};
static_assert(well_formed(fields, 4));
} // namespace sq_inval

/* Receive requests: fragment 0 in words 0 and 1. */
namespace rq {
inline constexpr Field more_fragments{"more_fragments", 3, 41, 38};
inline constexpr Field valid{"valid", 3, 63, 63};
inline constexpr Field fields[] = {more_fragments, valid};
} // namespace rq

/* Inline data: 8 bytes in word 1 of the first quantum, then 31 a quantum. */
inline constexpr u32 inline_first_bytes = 8;
inline constexpr u32 inline_quantum_bytes = 31;
inline constexpr u8 inline_valid = 0x80; /* in the last byte of each further quantum */

} // namespace irdma::hw

#endif
