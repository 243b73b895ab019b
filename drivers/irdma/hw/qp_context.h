// SPDX-License-Identifier: GPL-2.0
/*
 * The QP context: 256 bytes in host memory that CREATE_QP and MODIFY_QP point
 * at. The device takes from it what the command and the next state call for.
 *
 * Addresses are numbers: an IPv4 address lies in dest_ip3 (local_ip3) alone,
 * an IPv6 address is ip0 (most significant 32 bits) to ip3.
 */
#ifndef IRDMA_HW_QP_CONTEXT_H
#define IRDMA_HW_QP_CONTEXT_H

#include "field.h"

namespace irdma::hw {

/** State of a QP as the device knows it: next_state of the commands, state of an AEQ entry. */
enum class QpState : u8 {
	invalid = 0,
	idle = 1, /* IBA: RESET after create, and INIT */
	rts = 2,
	sqd = 3,
	rtr = 4,
	terminate = 5, /* not used by RoCE */
	error = 6,
};

/** Type of a QP: qp_type of the commands. */
enum class QpType : u8 {
	rc = 3,
	ud = 4, /* GSI as well */
};

namespace qpc {

inline constexpr Field ipv4{"ipv4", 0, 3, 3};
inline constexpr Field insert_vlan{"insert_vlan", 0, 5, 5};
inline constexpr Field is_qp1{"is_qp1", 0, 6, 6};
inline constexpr Field rq_wqe_size{"rq_wqe_size", 0, 9, 8}; /* log2 of quanta a WQE */
inline constexpr Field err_rq_idx_valid{"err_rq_idx_valid", 0, 19, 19};
inline constexpr Field pd_hi{"pd_hi", 0, 21, 20}; /* bits 17:16 of the PD number */
inline constexpr Field dctcp_enable{"dctcp_enable", 0, 25, 25};
inline constexpr Field rcv_tph{"rcv_tph", 0, 28, 28};
inline constexpr Field xmit_tph{"xmit_tph", 0, 29, 29};
inline constexpr Field rq_tph{"rq_tph", 0, 30, 30};
inline constexpr Field sq_tph{"sq_tph", 0, 31, 31};
inline constexpr Field push_page{"push_page", 0, 41, 32};
inline constexpr Field push_enable{"push_enable", 0, 47, 47};
inline constexpr Field roce_version{"roce_version", 0, 63, 60};
inline constexpr Field sq_addr{"sq_addr", 1, 63, 0}; /* bus address, or PBLE index if virtual */
inline constexpr Field rq_addr{"rq_addr", 2, 63, 0};
inline constexpr Field ttl{"ttl", 3, 7, 0};
inline constexpr Field rq_size{"rq_size", 3, 11, 8};  /* log2(quanta) - 2 */
inline constexpr Field sq_size{"sq_size", 3, 15, 12}; /* log2(quanta) - 2 */
inline constexpr Field tos{"tos", 3, 31, 24};	      /* DSCP and ECN */
inline constexpr Field src_port{"src_port", 3, 47, 32};
inline constexpr Field dest_port{"dest_port", 3, 63, 48};
inline constexpr Field dest_ip3{"dest_ip3", 4, 31, 0};
inline constexpr Field dest_ip2{"dest_ip2", 4, 63, 32};
inline constexpr Field dest_ip1{"dest_ip1", 5, 31, 0};
inline constexpr Field dest_ip0{"dest_ip0", 5, 63, 32};
inline constexpr Field path_mtu{"path_mtu", 6, 29, 16}; /* bytes */
inline constexpr Field vlan_tag{"vlan_tag", 6, 47, 32};
inline constexpr Field arp_index{"arp_index", 6, 63, 48};
inline constexpr Field flow_label{"flow_label", 7, 19, 0};
inline constexpr Field ack_credits{"ack_credits", 7, 24, 20};
inline constexpr Field pkey{"pkey", 7, 47, 32};
inline constexpr Field pd{"pd", 7, 63, 48}; /* bits 15:0 of the PD number */
inline constexpr Field dest_qp{"dest_qp", 8, 23, 0};
inline constexpr Field qkey{"qkey", 8, 63, 32};
inline constexpr Field psn_next{"psn_next", 10, 23, 0};
inline constexpr Field lsn{"lsn", 10, 55, 32};
inline constexpr Field expected_psn{"expected_psn", 11, 23, 0};
inline constexpr Field psn_max{"psn_max", 12, 23, 0};
inline constexpr Field psn_una{"psn_una", 12, 55, 32};
inline constexpr Field cwnd{"cwnd", 14, 55, 32};
inline constexpr Field err_rq_idx{"err_rq_idx", 16, 45, 32};
inline constexpr Field retry_count{"retry_count", 16, 53, 48};
inline constexpr Field rnr_retry{"rnr_retry", 16, 56, 54}; /* 7: for ever */
inline constexpr Field rto_min{"rto_min", 16, 63, 57};
inline constexpr Field send_cq{"send_cq", 17, 18, 0};
inline constexpr Field recv_cq{"recv_cq", 17, 50, 32};
inline constexpr Field stats_index{"stats_index", 18, 6, 0};
inline constexpr Field src_mac{"src_mac", 19, 63, 16}; /* first byte in the top bits */
inline constexpr Field ord{"ord", 20, 7, 0};
inline constexpr Field ird_code{"ird_code", 20, 18, 16}; /* see ird_encode() */
inline constexpr Field ud_priv_cq{"ud_priv_cq", 20, 19, 19};
inline constexpr Field wr_rdresp_ok{"wr_rdresp_ok", 20, 20,
				    20};	   /* remote WRITE and own READ responses */
inline constexpr Field rd_ok{"rd_ok", 20, 21, 21}; /* remote READ */
inline constexpr Field dcqcn_enable{"dcqcn_enable", 20, 22, 22};
inline constexpr Field bind_enable{"bind_enable", 20, 23, 23};
inline constexpr Field fastreg_enable{"fastreg_enable", 20, 24, 24};
inline constexpr Field priv_enable{"priv_enable", 20, 25, 25}; /* may use STag 0 */
inline constexpr Field use_stats_instance{"use_stats_instance", 20, 26, 26};
inline constexpr Field timely_enable{"timely_enable", 20, 27, 27};
inline constexpr Field fw_cc_enable{"fw_cc_enable", 20, 28, 28};
inline constexpr Field rcv_no_icrc{"rcv_no_icrc", 20, 31, 31};
inline constexpr Field completion_ctx{"completion_ctx", 21, 63, 0}; /* comes back in CQE and AEQE */
inline constexpr Field sq_tph_value{"sq_tph_value", 22, 7, 0};
inline constexpr Field rq_tph_value{"rq_tph_value", 22, 15, 8};
inline constexpr Field qs_handle{"qs_handle", 22, 25, 16};
inline constexpr Field local_ip3{"local_ip3", 23, 31, 0};
inline constexpr Field local_ip2{"local_ip2", 23, 63, 32};
inline constexpr Field local_ip1{"local_ip1", 24, 31, 0};
inline constexpr Field local_ip0{"local_ip0", 24, 63, 32};
inline constexpr Field t_low{"t_low", 25, 39, 32};
inline constexpr Field t_high{"t_high", 25, 63, 52};
inline constexpr Field remote_endpoint{"remote_endpoint", 26, 16, 0};

inline constexpr Field fields[] = {
	ipv4,
	insert_vlan,
	is_qp1,
	rq_wqe_size,
	err_rq_idx_valid,
	pd_hi,
	dctcp_enable,
	rcv_tph,
	xmit_tph,
	rq_tph,
	sq_tph,
	push_page,
	push_enable,
	roce_version,
	sq_addr,
	rq_addr,
	ttl,
	rq_size,
	sq_size,
	tos,
	src_port,
	dest_port,
	dest_ip3,
	dest_ip2,
	dest_ip1,
	dest_ip0,
	path_mtu,
	vlan_tag,
	arp_index,
	flow_label,
	ack_credits,
	pkey,
	pd,
	dest_qp,
	qkey,
	psn_next,
	lsn,
	expected_psn,
	psn_max,
	psn_una,
	cwnd,
	err_rq_idx,
	retry_count,
	rnr_retry,
	rto_min,
	send_cq,
	recv_cq,
	stats_index,
	src_mac,
	ord,
	ird_code,
	ud_priv_cq,
	wr_rdresp_ok,
	rd_ok,
	dcqcn_enable,
	bind_enable,
	fastreg_enable,
	priv_enable,
	use_stats_instance,
	timely_enable,
	fw_cc_enable,
	rcv_no_icrc,
	completion_ctx,
	sq_tph_value,
	rq_tph_value,
	qs_handle,
	local_ip3,
	local_ip2,
	local_ip1,
	local_ip0,
	t_low,
	t_high,
	remote_endpoint,
};
static_assert(well_formed(fields, 32));

} // namespace qpc

struct QpContext : Words<32> {};
static_assert(sizeof(QpContext) == 256);

/**
 * The device's code for a number of incoming READs kept at once.
 * A READ takes two Q1 entries. Codes 0 to 4 stand for 4, 16, 64, 128 and 256 entries; the
 * smallest that holds @ird READs is taken.
 */
constexpr u32 ird_encode(u32 ird)
{
	u32 entries = 2 * ird;

	return entries > 128 ? 4 : entries > 64 ? 3 : entries > 16 ? 2 : entries > 4 ? 1 : 0;
}

/** The number of READs that an IRD code stands for; 0 for an unknown code. */
constexpr u32 ird_decode(u32 code)
{
	constexpr u32 entries[] = {4, 16, 64, 128, 256};

	return code < array_size(entries) ? entries[code] / 2 : 0;
}

} // namespace irdma::hw

#endif
