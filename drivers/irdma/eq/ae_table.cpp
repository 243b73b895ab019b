// SPDX-License-Identifier: GPL-2.0
/*
 * The table of asynchronous events; see ae_table.h.
 *
 * What an event is about, its flush code and its event for the consumer are
 * those of the stock driver, except that a function whose context is damaged
 * is reset, and a CQ whose context is damaged tells its consumer.
 */
#include "ae_table.h"

#include "driver.h"

namespace irdma {

using AeCode = hw::AeCode;
using FlushCode = hw::FlushCode;

namespace {

constexpr u8 event_fatal = SHIM_EVENT_QP_FATAL;
constexpr u8 event_request = SHIM_EVENT_QP_REQ_ERR;
constexpr u8 event_access = SHIM_EVENT_QP_ACCESS_ERR;

constexpr AeInfo table[] = {
	{AeCode::amp_unallocated_stag, AeAction::qp_error, AeObject::by_source, FlushCode::local_protection, FlushCode::local_protection, event_access,
	 "STag is not allocated; check lkey, rkey and whether the MR still exists"},
	{AeCode::amp_invalid_stag, AeAction::qp_error, AeObject::by_source, FlushCode::local_protection, FlushCode::local_protection, event_access,
	 "STag is not valid; the MR was invalidated or never registered"},
	{AeCode::amp_bad_qp, AeAction::qp_error, AeObject::by_source, FlushCode::local_protection, FlushCode::local_protection, event_access,
	 "memory window belongs to another QP"},
	{AeCode::amp_bad_pd, AeAction::qp_error, AeObject::by_source, FlushCode::local_protection, FlushCode::local_protection, event_access,
	 "MR or memory window belongs to another protection domain"},
	{AeCode::amp_bad_stag_key, AeAction::qp_error, AeObject::by_source, FlushCode::local_protection, FlushCode::local_protection, event_access,
	 "key of the STag is not the current one; the MR was registered anew"},
	{AeCode::amp_bad_stag_index, AeAction::qp_error, AeObject::by_source, FlushCode::local_protection, FlushCode::local_protection, event_access,
	 "STag names no MR; check lkey and rkey"},
	{AeCode::amp_bounds_violation, AeAction::qp_error, AeObject::by_source, FlushCode::local_protection, FlushCode::local_protection, event_access,
	 "access outside of the MR; check address and length"},
	{AeCode::amp_rights_violation, AeAction::qp_error, AeObject::by_source, FlushCode::local_protection, FlushCode::local_protection, event_access,
	 "MR does not grant this access; check its access flags"},
	{AeCode::amp_to_wrap, AeAction::qp_error, AeObject::by_source, FlushCode::local_protection, FlushCode::local_protection, event_access,
	 "address and length wrap around"},
	{AeCode::amp_fastreg_valid_stag, AeAction::qp_error, AeObject::by_source, FlushCode::general, FlushCode::general, event_fatal,
	 "fast registration of an MR that is still valid; invalidate it first"},
	{AeCode::amp_fastreg_mw_stag, AeAction::qp_error, AeObject::by_source, FlushCode::general, FlushCode::general, event_fatal,
	 "fast registration of a memory window"},
	{AeCode::amp_fastreg_invalid_rights, AeAction::qp_error, AeObject::by_source, FlushCode::general, FlushCode::general, event_fatal,
	 "fast registration with rights that cannot be"},
	{AeCode::amp_fastreg_invalid_length, AeAction::qp_error, AeObject::by_source, FlushCode::general, FlushCode::general, event_fatal,
	 "fast registration with a length that does not fit its pages"},
	{AeCode::amp_invalidate_shared, AeAction::qp_error, AeObject::by_source, FlushCode::general, FlushCode::general, event_fatal,
	 "invalidation of a shared MR"},
	{AeCode::amp_invalidate_no_remote_access_rights, AeAction::qp_error, AeObject::by_source, FlushCode::remote_access, FlushCode::remote_access, event_access,
	 "peer invalidates an MR without remote access"},
	{AeCode::amp_invalidate_mr_with_bound_windows, AeAction::qp_error, AeObject::by_source, FlushCode::general, FlushCode::general, event_fatal,
	 "invalidation of an MR that memory windows are bound to"},
	{AeCode::amp_mwbind_valid_stag, AeAction::qp_error, AeObject::by_source, FlushCode::mw_bind, FlushCode::mw_bind, event_access,
	 "memory window is bound already"},
	{AeCode::amp_mwbind_of_mr_stag, AeAction::qp_error, AeObject::by_source, FlushCode::general, FlushCode::general, event_fatal,
	 "bind request names an MR as the window"},
	{AeCode::amp_mwbind_to_zero_based_stag, AeAction::qp_error, AeObject::by_source, FlushCode::general, FlushCode::general, event_fatal,
	 "memory window is to be bound to a zero-based MR"},
	{AeCode::amp_mwbind_to_mw_stag, AeAction::qp_error, AeObject::by_source, FlushCode::general, FlushCode::general, event_fatal,
	 "memory window is to be bound to another window"},
	{AeCode::amp_mwbind_invalid_rights, AeAction::qp_error, AeObject::by_source, FlushCode::mw_bind, FlushCode::mw_bind, event_access,
	 "memory window asks for rights that its MR does not have"},
	{AeCode::amp_mwbind_invalid_bounds, AeAction::qp_error, AeObject::by_source, FlushCode::mw_bind, FlushCode::mw_bind, event_access,
	 "memory window reaches beyond its MR"},
	{AeCode::amp_mwbind_to_invalid_parent, AeAction::qp_error, AeObject::by_source, FlushCode::general, FlushCode::general, event_fatal,
	 "MR under the memory window is not valid"},
	{AeCode::amp_mwbind_bind_disabled, AeAction::qp_error, AeObject::by_source, FlushCode::mw_bind, FlushCode::mw_bind, event_access,
	 "MR or QP does not allow memory windows; check IBV_ACCESS_MW_BIND"},
	{AeCode::priv_operation_denied, AeAction::qp_error, AeObject::qp, FlushCode::local_protection, FlushCode::local_protection, event_access,
	 "request needs rights of the kernel"},
	{AeCode::amp_invalidate_type1_mw, AeAction::qp_error, AeObject::qp, FlushCode::general, FlushCode::general, event_fatal,
	 "type 1 memory windows cannot be invalidated by a request"},
	{AeCode::amp_mwbind_zero_based_type1_mw, AeAction::qp_error, AeObject::qp, FlushCode::general, FlushCode::general, event_fatal,
	 "type 1 memory windows cannot be zero based"},
	{AeCode::amp_fastreg_invalid_pbl_hps_cfg, AeAction::qp_error, AeObject::qp, FlushCode::general, FlushCode::general, event_fatal,
	 "fast registration with a page size and page list that do not go together"},
	{AeCode::amp_mwbind_wrong_type, AeAction::qp_error, AeObject::by_source, FlushCode::general, FlushCode::general, event_fatal,
	 "bind request for another type of memory window"},
	{AeCode::amp_fastreg_pble_mismatch, AeAction::qp_error, AeObject::qp, FlushCode::general, FlushCode::general, event_fatal,
	 "fast registration with a page list that is not the MR's"},
	{AeCode::uda_xmit_dgram_too_long, AeAction::qp_error, AeObject::qp, FlushCode::local_length, FlushCode::local_length, event_fatal,
	 "datagram is longer than the path MTU"},
	{AeCode::uda_xmit_bad_pd, AeAction::qp_error, AeObject::qp, FlushCode::local_qp_operation, FlushCode::local_qp_operation, event_fatal,
	 "address handle belongs to another protection domain"},
	{AeCode::uda_xmit_dgram_too_short, AeAction::qp_error, AeObject::qp, FlushCode::local_length, FlushCode::local_length, event_fatal,
	 "datagram is too short"},
	{AeCode::uda_l4len_invalid, AeAction::qp_error, AeObject::qp, FlushCode::local_length, FlushCode::local_length, event_fatal,
	 "datagram with an invalid header length"},
	{AeCode::bad_close, AeAction::report, AeObject::qp, FlushCode::none, FlushCode::none, event_fatal,
	 "connection was closed badly"},
	{AeCode::rdmap_roe_bad_llp_close, AeAction::report, AeObject::qp, FlushCode::none, FlushCode::none, event_fatal,
	 "connection was closed in mid-message"},
	{AeCode::cq_operation_error, AeAction::cq_error, AeObject::cq, FlushCode::none, FlushCode::none, event_fatal,
	 "CQ has overflowed or cannot be accessed; make it larger or poll more often"},
	{AeCode::rdma_read_while_ord_zero, AeAction::qp_error, AeObject::qp, FlushCode::general, FlushCode::general, event_fatal,
	 "READ posted with max_rd_atomic 0"},
	{AeCode::stag_zero_invalid, AeAction::qp_error, AeObject::qp, FlushCode::general, FlushCode::general, event_fatal,
	 "STag 0 used by a QP that may not"},
	{AeCode::ib_rreq_and_q1_full, AeAction::qp_error, AeObject::qp, FlushCode::general, FlushCode::general, event_fatal,
	 "peer has more READs outstanding than max_dest_rd_atomic"},
	{AeCode::ib_invalid_request, AeAction::qp_error, AeObject::qp, FlushCode::remote_invalid_request, FlushCode::remote_invalid_request, event_request,
	 "peer refused the request as invalid"},
	{AeCode::wqe_unexpected_opcode, AeAction::qp_error, AeObject::qp, FlushCode::local_qp_operation, FlushCode::local_qp_operation, event_fatal,
	 "request of an unknown kind, or for another type of QP"},
	{AeCode::wqe_invalid_parameter, AeAction::qp_error, AeObject::by_source, FlushCode::general, FlushCode::general, event_fatal,
	 "request with an invalid parameter"},
	{AeCode::wqe_invalid_frag_data, AeAction::qp_error, AeObject::by_source, FlushCode::general, FlushCode::general, event_fatal,
	 "request with an invalid scatter or gather entry"},
	{AeCode::ib_remote_access_error, AeAction::qp_error, AeObject::qp, FlushCode::remote_access, FlushCode::remote_access, event_access,
	 "peer refused access; check rkey, bounds and rights at the peer"},
	{AeCode::ib_remote_op_error, AeAction::qp_error, AeObject::qp, FlushCode::remote_operation, FlushCode::remote_operation, event_fatal,
	 "peer could not carry out the request"},
	{AeCode::wqe_lsmm_too_long, AeAction::qp_error, AeObject::by_source, FlushCode::general, FlushCode::general, event_fatal,
	 "request is too long for its kind"},
	{AeCode::invalid_request, AeAction::qp_error, AeObject::by_source, FlushCode::general, FlushCode::general, event_fatal,
	 "request is not valid"},
	{AeCode::ddp_invalid_msn_gap_in_msn, AeAction::qp_error, AeObject::by_source, FlushCode::general, FlushCode::general, event_fatal,
	 "message is missing in the sequence"},
	{AeCode::ddp_ube_ddp_message_too_long_for_available_buffer, AeAction::qp_error, AeObject::by_source, FlushCode::local_length, FlushCode::local_length, event_fatal,
	 "message is longer than the receive buffer; post larger ones"},
	{AeCode::ddp_ube_invalid_ddp_version, AeAction::qp_error, AeObject::qp, FlushCode::general, FlushCode::general, event_fatal,
	 "packet of another protocol version"},
	{AeCode::ddp_ube_invalid_mo, AeAction::qp_error, AeObject::qp, FlushCode::local_length, FlushCode::local_length, event_fatal,
	 "packet with an invalid offset in its message"},
	{AeCode::ddp_ube_invalid_msn_no_buffer_available, AeAction::qp_error, AeObject::by_source, FlushCode::general, FlushCode::general, event_fatal,
	 "no receive buffer for a message; post more of them"},
	{AeCode::ddp_ube_invalid_qn, AeAction::qp_error, AeObject::qp, FlushCode::general, FlushCode::general, event_fatal,
	 "packet for a queue that does not exist"},
	{AeCode::ddp_no_l_bit, AeAction::qp_error, AeObject::qp, FlushCode::general, FlushCode::general, event_fatal,
	 "message without an end"},
	{AeCode::rdmap_roe_invalid_rdmap_version, AeAction::qp_error, AeObject::qp, FlushCode::general, FlushCode::general, event_fatal,
	 "packet of another protocol version"},
	{AeCode::rdmap_roe_unexpected_opcode, AeAction::qp_error, AeObject::qp, FlushCode::general, FlushCode::general, event_fatal,
	 "packet of an unexpected kind"},
	{AeCode::roe_invalid_rdma_read_request, AeAction::qp_error, AeObject::qp, FlushCode::general, FlushCode::general, event_fatal,
	 "READ request from the peer is not valid"},
	{AeCode::roe_invalid_rdma_write_or_read_resp, AeAction::qp_error, AeObject::qp, FlushCode::general, FlushCode::general, event_fatal,
	 "WRITE or READ response from the peer is not valid"},
	{AeCode::roce_rsp_length_error, AeAction::qp_error, AeObject::qp, FlushCode::remote_operation, FlushCode::remote_operation, event_fatal,
	 "READ response has another length than was asked for"},
	{AeCode::roce_empty_mcg, AeAction::qp_error, AeObject::qp, FlushCode::general, FlushCode::general, event_fatal,
	 "multicast group without members"},
	{AeCode::roce_bad_mc_ip_addr, AeAction::qp_error, AeObject::qp, FlushCode::general, FlushCode::general, event_fatal,
	 "multicast to an address that is none"},
	{AeCode::roce_bad_mc_qpid, AeAction::qp_error, AeObject::qp, FlushCode::general, FlushCode::general, event_fatal,
	 "multicast group with a QP that does not exist"},
	{AeCode::mcg_qp_protocol_mismatch, AeAction::qp_error, AeObject::qp, FlushCode::general, FlushCode::general, event_fatal,
	 "multicast group with a QP of another type"},
	{AeCode::invalid_arp_entry, AeAction::qp_error, AeObject::qp, FlushCode::general, FlushCode::general, event_fatal,
	 "address of the peer is not in the device's ARP table"},
	{AeCode::invalid_tcp_option_rcvd, AeAction::qp_error, AeObject::qp, FlushCode::general, FlushCode::general, event_fatal,
	 "packet with an invalid option"},
	{AeCode::stale_arp_entry, AeAction::qp_error, AeObject::qp, FlushCode::general, FlushCode::general, event_fatal,
	 "address of the peer has become stale in the device's ARP table"},
	{AeCode::invalid_ah_entry, AeAction::qp_error, AeObject::qp, FlushCode::general, FlushCode::general, event_fatal,
	 "address handle does not exist"},
	{AeCode::llp_close_complete, AeAction::report, AeObject::qp, FlushCode::none, FlushCode::none, event_fatal,
	 "connection is closed"},
	{AeCode::llp_connection_reset, AeAction::report, AeObject::qp, FlushCode::none, FlushCode::none, event_fatal,
	 "connection was reset by the peer"},
	{AeCode::llp_fin_received, AeAction::report, AeObject::qp, FlushCode::none, FlushCode::none, event_fatal,
	 "connection is being closed by the peer"},
	{AeCode::llp_received_marker_and_length_fields_dont_match, AeAction::qp_error, AeObject::by_source, FlushCode::general, FlushCode::general, event_fatal,
	 "packet with a wrong length"},
	{AeCode::llp_received_mpa_crc_error, AeAction::qp_error, AeObject::qp, FlushCode::remote_operation, FlushCode::remote_operation, event_fatal,
	 "packet with a wrong checksum"},
	{AeCode::llp_segment_too_small, AeAction::qp_error, AeObject::qp, FlushCode::remote_operation, FlushCode::remote_operation, event_fatal,
	 "packet is too small"},
	{AeCode::llp_syn_received, AeAction::qp_error, AeObject::qp, FlushCode::general, FlushCode::general, event_fatal,
	 "connection request from the peer"},
	{AeCode::llp_terminate_received, AeAction::report, AeObject::qp, FlushCode::none, FlushCode::none, event_fatal,
	 "peer terminates the connection"},
	{AeCode::llp_too_many_retries, AeAction::qp_error, AeObject::qp, FlushCode::retry_exceeded, FlushCode::retry_exceeded, event_fatal,
	 "peer does not answer; check path, peer QP, retry_cnt and timeout"},
	{AeCode::llp_too_many_keepalive_retries, AeAction::qp_error, AeObject::by_source, FlushCode::general, FlushCode::general, event_fatal,
	 "peer does not answer"},
	{AeCode::llp_doubt_reachability, AeAction::ignore, AeObject::qp, FlushCode::none, FlushCode::none, event_fatal,
	 "peer answers slowly"},
	{AeCode::llp_connection_established, AeAction::ignore, AeObject::qp, FlushCode::none, FlushCode::none, event_fatal,
	 "connection is established"},
	{AeCode::llp_too_many_rnrs, AeAction::qp_error, AeObject::by_source, FlushCode::general, FlushCode::general, event_fatal,
	 "peer has no receive buffer; check its receive queue and rnr_retry"},
	{AeCode::resource_exhaustion, AeAction::report, AeObject::by_source, FlushCode::none, FlushCode::none, event_fatal,
	 "device runs out of a resource"},
	{AeCode::reset_sent, AeAction::report, AeObject::qp, FlushCode::none, FlushCode::none, event_fatal,
	 "connection was reset"},
	{AeCode::terminate_sent, AeAction::report, AeObject::qp, FlushCode::none, FlushCode::none, event_fatal,
	 "connection was terminated"},
	{AeCode::reset_not_sent, AeAction::ignore, AeObject::qp, FlushCode::none, FlushCode::none, event_fatal,
	 "connection was gone before it was reset"},
	{AeCode::lce_qp_catastrophic, AeAction::qp_error, AeObject::qp, FlushCode::fatal, FlushCode::fatal, event_fatal,
	 "context of the QP is damaged"},
	{AeCode::lce_function_catastrophic, AeAction::device_fatal, AeObject::device, FlushCode::none, FlushCode::none, event_fatal,
	 "context of the function is damaged"},
	{AeCode::lce_cq_catastrophic, AeAction::cq_error, AeObject::cq, FlushCode::none, FlushCode::none, event_fatal,
	 "context of the CQ is damaged"},
	{AeCode::qp_suspend_complete, AeAction::sq_drained, AeObject::qp, FlushCode::none, FlushCode::none, event_fatal,
	 "QP is suspended"},
};

constexpr AeInfo unknown = {AeCode{}, AeAction::qp_error, AeObject::by_source, FlushCode::general,
			    FlushCode::general, event_fatal, "event of an unknown kind"};

/* All codes that hw/ae_codes.h knows, in its order. */
consteval bool complete()
{
	if (array_size(table) != array_size(hw::ae_names))
		return false;
	for (usize i = 0; i < array_size(table); i++)
		if (table[i].code != hw::ae_names[i].code)
			return false;
	return true;
}
static_assert(complete());

} // namespace

const AeInfo &ae_info(u32 code)
{
	for (const AeInfo &info : table)
		if (static_cast<u32>(info.code) == code)
			return info;
	return unknown;
}

} // namespace irdma
