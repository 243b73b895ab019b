// SPDX-License-Identifier: GPL-2.0
/*
 * Completion queue entries and the shadow areas through which the host and the
 * device tell each other how far they are.
 */
#ifndef IRDMA_HW_CQE_H
#define IRDMA_HW_CQE_H

#include "field.h"

namespace irdma::hw {

/** Entry of a CQ; word 3 is written last. */
struct Cqe : Words<4> {};
static_assert(sizeof(Cqe) == 32);

namespace cqe {
inline constexpr Field length{"length", 0, 31,
			      0}; /* payload of a receive; UD: plus 40 for the GRH */
inline constexpr Field rtt{"rtt", 0, 63, 32};
inline constexpr Field completion_ctx{"completion_ctx", 1, 63, 0}; /* qpc::completion_ctx */
inline constexpr Field inv_stag{"inv_stag", 2, 31, 0}; /* RC receive with bit 53 of word 3 */
inline constexpr Field qp{"qp", 2, 55, 32};
inline constexpr Field minor_error{"minor_error", 3, 15, 0};
inline constexpr Field major_error{"major_error", 3, 31, 16};
inline constexpr Field wqe_index{"wqe_index", 3, 46, 32}; /* in quanta */
inline constexpr Field extended{"extended", 3, 50, 50};	  /* the next entry belongs to this one */
inline constexpr Field push_dropped{"push_dropped", 3, 51, 51};
inline constexpr Field stag_or_ipv4{"stag_or_ipv4", 3, 53, 53}; /* RC: STag invalidated; UD: IPv4 */
inline constexpr Field solicited{"solicited", 3, 54, 54};
inline constexpr Field error{"error", 3, 55, 55};
inline constexpr Field op{"op", 3, 61, 56};
inline constexpr Field is_sq{"is_sq", 3, 62, 62};
inline constexpr Field valid{"valid", 3, 63, 63};
inline constexpr Field fields[] = {
	length,	     rtt,	completion_ctx, inv_stag,     qp,	    minor_error,
	major_error, wqe_index, extended,	push_dropped, stag_or_ipv4, solicited,
	error,	     op,	is_sq,		valid,
};
static_assert(well_formed(fields, 4));

/* UD receive: the number of the sending QP lies where RC has the STag. */
inline constexpr Field src_qp{"src_qp", 2, 31, 0};
} // namespace cqe

/* The entry that follows one with cqe::extended. */
namespace ext_cqe {
inline constexpr Field imm{"imm", 0, 31, 0};
inline constexpr Field src_mac{"src_mac", 2, 47, 0}; /* first byte in the top bits */
inline constexpr Field vlan{"vlan", 2, 63, 48};
inline constexpr Field vlan_valid{"vlan_valid", 3, 60, 60};
inline constexpr Field mac_valid{"mac_valid", 3, 61, 61};
inline constexpr Field imm_valid{"imm_valid", 3, 62, 62};
inline constexpr Field valid{"valid", 3, 63, 63};
inline constexpr Field fields[] = {imm, src_mac, vlan, vlan_valid, mac_valid, imm_valid, valid};
static_assert(well_formed(fields, 4));
} // namespace ext_cqe

/* Why work was flushed: minor codes of major code 1. */
inline constexpr u32 flush_major = 1;
enum class FlushCode : u16 {
	none = 0,
	general = 1,
	local_protection = 2,
	remote_access = 3,
	local_qp_operation = 4,
	remote_operation = 5,
	local_length = 6,
	fatal = 7,
	retry_exceeded = 8,
	mw_bind = 9,
	remote_invalid_request = 10,
};

/** Shadow area of a CQ, written by the host. */
struct CqShadow : Words<8> {};
static_assert(sizeof(CqShadow) == 64);

namespace cq_shadow {
inline constexpr Field consumer_index{"consumer_index", 0, 19, 0};
inline constexpr Field select{"select", 4, 13, 0};
inline constexpr Field arm_next{"arm_next", 4, 14, 14};
inline constexpr Field arm_solicited{"arm_solicited", 4, 15, 15};
inline constexpr Field arm_sequence{"arm_sequence", 4, 17, 16};
inline constexpr Field fields[] = {
	consumer_index, select, arm_next, arm_solicited, arm_sequence,
};
static_assert(well_formed(fields, 8));
} // namespace cq_shadow

/** Shadow area of a QP, written by the device. */
struct QpShadow : Words<8> {};

namespace qp_shadow {
inline constexpr Field sq_tail{"sq_tail", 0, 14, 0}; /* quantum at which the device stopped */
inline constexpr Field fields[] = {sq_tail};
} // namespace qp_shadow

} // namespace irdma::hw

#endif
