// SPDX-License-Identifier: GPL-2.0
/*
 * The table of asynchronous events; see ae_table.h.
 *
 * What an event is about, its flush code and its event for the consumer are
 * those of the stock driver, except that a function whose context is damaged
 * is reset, and a CQ whose context is damaged tells its consumer.
 */
#include "ae_table.h"

#include "../hw/eq.h"
#include "driver.h"

namespace irdma {

using AeCode = hw::AeCode;
using FlushCode = hw::FlushCode;

namespace {

/** What becomes of the QP, and of the request at fault. */
struct Outcome {
	AeAction action;
	FlushCode flush = FlushCode::none;
	u8 qp_event = SHIM_EVENT_QP_FATAL;
};

constexpr Outcome protection = {AeAction::qp_error, FlushCode::local_protection,
				SHIM_EVENT_QP_ACCESS_ERR};
constexpr Outcome window = {AeAction::qp_error, FlushCode::mw_bind, SHIM_EVENT_QP_ACCESS_ERR};
constexpr Outcome remote_access = {AeAction::qp_error, FlushCode::remote_access,
				   SHIM_EVENT_QP_ACCESS_ERR};
constexpr Outcome remote_request = {AeAction::qp_error, FlushCode::remote_invalid_request,
				    SHIM_EVENT_QP_REQ_ERR};
constexpr Outcome remote_operation = {AeAction::qp_error, FlushCode::remote_operation};
constexpr Outcome operation = {AeAction::qp_error, FlushCode::local_qp_operation};
constexpr Outcome length = {AeAction::qp_error, FlushCode::local_length};
constexpr Outcome retries = {AeAction::qp_error, FlushCode::retry_exceeded};
constexpr Outcome general = {AeAction::qp_error, FlushCode::general};
constexpr Outcome broken = {AeAction::qp_error, FlushCode::fatal};
constexpr Outcome cq_broken = {AeAction::cq_error};
constexpr Outcome device_broken = {AeAction::device_fatal};
constexpr Outcome suspended = {AeAction::sq_drained};
constexpr Outcome told = {AeAction::report};
constexpr Outcome ignored = {AeAction::ignore};

constexpr AeObject by_source = AeObject::by_source;
constexpr AeObject of_qp = AeObject::qp;
constexpr AeObject of_cq = AeObject::cq;
constexpr AeObject of_device = AeObject::device;

constexpr AeInfo row(AeCode code, const Outcome &o, AeObject object, const char *meaning)
{
	return {code, o.action, object, o.flush, o.flush, o.qp_event, meaning};
}

constexpr AeInfo table[] = {
	row(AeCode::amp_unallocated_stag, protection, by_source,
	    "STag is not allocated; check lkey, rkey and whether the MR still exists"),
	row(AeCode::amp_invalid_stag, protection, by_source,
	    "STag is not valid; the MR was invalidated or never registered"),
	row(AeCode::amp_bad_qp, protection, by_source,
	    "memory window belongs to another QP; check where it was bound"),
	row(AeCode::amp_bad_pd, protection, by_source,
	    "MR or memory window belongs to another protection domain than the QP"),
	row(AeCode::amp_bad_stag_key, protection, by_source,
	    "key of the STag is not the current one; the MR was registered anew"),
	row(AeCode::amp_bad_stag_index, protection, by_source,
	    "STag names no MR; check lkey and rkey"),
	row(AeCode::amp_bounds_violation, protection, by_source,
	    "access outside of the MR; check address and length"),
	row(AeCode::amp_rights_violation, protection, by_source,
	    "MR does not grant this access; check its access flags"),
	row(AeCode::amp_to_wrap, protection, by_source,
	    "address and length wrap around; check the request"),
	row(AeCode::amp_fastreg_valid_stag, general, by_source,
	    "fast registration of an MR that is still valid; invalidate it first"),
	row(AeCode::amp_fastreg_mw_stag, general, by_source,
	    "fast registration of a memory window"),
	row(AeCode::amp_fastreg_invalid_rights, general, by_source,
	    "fast registration with rights that cannot be"),
	row(AeCode::amp_fastreg_invalid_length, general, by_source,
	    "fast registration with a length that does not fit its pages"),
	row(AeCode::amp_invalidate_shared, general, by_source, "invalidation of a shared MR"),
	row(AeCode::amp_invalidate_no_remote_access_rights, remote_access, by_source,
	    "peer invalidates an MR without remote access"),
	row(AeCode::amp_invalidate_mr_with_bound_windows, general, by_source,
	    "invalidation of an MR that memory windows are bound to"),
	row(AeCode::amp_mwbind_valid_stag, window, by_source, "memory window is bound already"),
	row(AeCode::amp_mwbind_of_mr_stag, general, by_source,
	    "bind request names an MR as the window"),
	row(AeCode::amp_mwbind_to_zero_based_stag, general, by_source,
	    "memory window is to be bound to a zero-based MR"),
	row(AeCode::amp_mwbind_to_mw_stag, general, by_source,
	    "memory window is to be bound to another window"),
	row(AeCode::amp_mwbind_invalid_rights, window, by_source,
	    "memory window asks for rights that its MR does not have"),
	row(AeCode::amp_mwbind_invalid_bounds, window, by_source,
	    "memory window reaches beyond its MR"),
	row(AeCode::amp_mwbind_to_invalid_parent, general, by_source,
	    "MR under the memory window is not valid"),
	row(AeCode::amp_mwbind_bind_disabled, window, by_source,
	    "MR or QP does not allow memory windows; check IBV_ACCESS_MW_BIND"),
	row(AeCode::priv_operation_denied, protection, of_qp,
	    "request needs rights of the kernel; check its opcode and STag 0"),
	row(AeCode::amp_invalidate_type1_mw, general, of_qp,
	    "type 1 memory windows cannot be invalidated by a request"),
	row(AeCode::amp_mwbind_zero_based_type1_mw, general, of_qp,
	    "type 1 memory windows cannot be zero based"),
	row(AeCode::amp_fastreg_invalid_pbl_hps_cfg, general, of_qp,
	    "fast registration with a page size and page list that do not go together"),
	row(AeCode::amp_mwbind_wrong_type, general, by_source,
	    "bind request for another type of memory window"),
	row(AeCode::amp_fastreg_pble_mismatch, general, of_qp,
	    "fast registration with a page list that is not the MR's"),
	row(AeCode::uda_xmit_dgram_too_long, length, of_qp,
	    "datagram is longer than the path MTU; check MTU and length"),
	row(AeCode::uda_xmit_bad_pd, operation, of_qp,
	    "address handle belongs to another protection domain"),
	row(AeCode::uda_xmit_dgram_too_short, length, of_qp, "datagram is too short"),
	row(AeCode::uda_l4len_invalid, length, of_qp, "datagram with an invalid header length"),
	row(AeCode::bad_close, told, of_qp, "connection was closed badly"),
	row(AeCode::rdmap_roe_bad_llp_close, told, of_qp, "connection was closed in mid-message"),
	row(AeCode::cq_operation_error, cq_broken, of_cq,
	    "CQ has overflowed or cannot be accessed; make it larger or poll more often"),
	row(AeCode::rdma_read_while_ord_zero, general, of_qp, "READ posted with max_rd_atomic 0"),
	row(AeCode::stag_zero_invalid, general, of_qp, "STag 0 used by a QP that may not"),
	row(AeCode::ib_rreq_and_q1_full, general, of_qp,
	    "peer has more READs outstanding than max_dest_rd_atomic"),
	row(AeCode::ib_invalid_request, remote_request, of_qp,
	    "peer refused the request as invalid; check opcode, length and the peer's receives"),
	row(AeCode::wqe_unexpected_opcode, operation, of_qp,
	    "request of an unknown kind, or for another type of QP; check its opcode"),
	row(AeCode::wqe_invalid_parameter, general, by_source,
	    "request with an invalid parameter; check what was posted"),
	row(AeCode::wqe_invalid_frag_data, general, by_source,
	    "request with an invalid scatter or gather entry; check addresses and number"),
	row(AeCode::ib_remote_access_error, remote_access, of_qp,
	    "peer refused access; check rkey, bounds and rights at the peer"),
	row(AeCode::ib_remote_op_error, remote_operation, of_qp,
	    "peer could not carry out the request; look at the peer's log"),
	row(AeCode::wqe_lsmm_too_long, general, by_source, "request is too long for its kind"),
	row(AeCode::invalid_request, general, by_source, "request is not valid"),
	row(AeCode::ddp_invalid_msn_gap_in_msn, general, by_source,
	    "message is missing in the sequence"),
	row(AeCode::ddp_ube_ddp_message_too_long_for_available_buffer, length, by_source,
	    "message is longer than the receive buffer; post larger ones"),
	row(AeCode::ddp_ube_invalid_ddp_version, general, of_qp,
	    "packet of another protocol version"),
	row(AeCode::ddp_ube_invalid_mo, length, of_qp,
	    "packet with an invalid offset in its message"),
	row(AeCode::ddp_ube_invalid_msn_no_buffer_available, general, by_source,
	    "no receive buffer for a message; post more of them"),
	row(AeCode::ddp_ube_invalid_qn, general, of_qp, "packet for a queue that does not exist"),
	row(AeCode::ddp_no_l_bit, general, of_qp, "message without an end"),
	row(AeCode::rdmap_roe_invalid_rdmap_version, general, of_qp,
	    "packet of another protocol version"),
	row(AeCode::rdmap_roe_unexpected_opcode, general, of_qp, "packet of an unexpected kind"),
	row(AeCode::roe_invalid_rdma_read_request, general, of_qp,
	    "READ request from the peer is not valid"),
	row(AeCode::roe_invalid_rdma_write_or_read_resp, general, of_qp,
	    "WRITE or READ response from the peer is not valid"),
	row(AeCode::roce_rsp_length_error, remote_operation, of_qp,
	    "READ response has another length than was asked for"),
	row(AeCode::roce_empty_mcg, general, of_qp, "multicast group without members"),
	row(AeCode::roce_bad_mc_ip_addr, general, of_qp, "multicast to an address that is none"),
	row(AeCode::roce_bad_mc_qpid, general, of_qp,
	    "multicast group with a QP that does not exist"),
	row(AeCode::mcg_qp_protocol_mismatch, general, of_qp,
	    "multicast group with a QP of another type"),
	row(AeCode::invalid_arp_entry, general, of_qp,
	    "address of the peer is not in the device's ARP table; check its neighbour entry"),
	row(AeCode::invalid_tcp_option_rcvd, general, of_qp, "packet with an invalid option"),
	row(AeCode::stale_arp_entry, general, of_qp,
	    "address of the peer has become stale in the device's ARP table"),
	row(AeCode::invalid_ah_entry, general, of_qp, "address handle does not exist"),
	row(AeCode::llp_close_complete, told, of_qp, "connection is closed"),
	row(AeCode::llp_connection_reset, told, of_qp, "connection was reset by the peer"),
	row(AeCode::llp_fin_received, told, of_qp, "connection is being closed by the peer"),
	row(AeCode::llp_received_marker_and_length_fields_dont_match, general, by_source,
	    "packet with a wrong length"),
	row(AeCode::llp_received_mpa_crc_error, remote_operation, of_qp,
	    "packet with a wrong checksum; check link errors on the way"),
	row(AeCode::llp_segment_too_small, remote_operation, of_qp, "packet is too small"),
	row(AeCode::llp_syn_received, general, of_qp, "connection request from the peer"),
	row(AeCode::llp_terminate_received, told, of_qp, "peer terminates the connection"),
	row(AeCode::llp_too_many_retries, retries, of_qp,
	    "peer does not answer; check path, peer QP, retry_cnt and timeout"),
	row(AeCode::llp_too_many_keepalive_retries, general, by_source, "peer does not answer"),
	row(AeCode::llp_doubt_reachability, ignored, of_qp,
	    "peer answers slowly; check the path for loss"),
	row(AeCode::llp_connection_established, ignored, of_qp, "connection is established"),
	row(AeCode::llp_too_many_rnrs, general, by_source,
	    "peer has no receive buffer; check its receive queue and rnr_retry"),
	row(AeCode::resource_exhaustion, told, by_source, "device runs out of a resource"),
	row(AeCode::reset_sent, told, of_qp, "connection was reset"),
	row(AeCode::terminate_sent, told, of_qp, "connection was terminated"),
	row(AeCode::reset_not_sent, ignored, of_qp, "connection was gone before it was reset"),
	row(AeCode::lce_qp_catastrophic, broken, of_qp,
	    "context of the QP is damaged; if it happens again, reset the device"),
	row(AeCode::lce_function_catastrophic, device_broken, of_device,
	    "context of the function is damaged"),
	row(AeCode::lce_cq_catastrophic, cq_broken, of_cq, "context of the CQ is damaged"),
	row(AeCode::qp_suspend_complete, suspended, of_qp, "QP is suspended"),
};

constexpr AeInfo unknown =
	row(AeCode{}, general, by_source,
	    "event of an unknown kind; this driver may be older than the firmware");

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

const char *ae_source_name(u32 source)
{
	switch (static_cast<hw::AeSource>(source)) {
	case hw::AeSource::rq:
	case hw::AeSource::rq_0011:
		return "receive queue";
	case hw::AeSource::sq:
	case hw::AeSource::sq_0111:
		return "send queue";
	case hw::AeSource::inbound_read_write:
	case hw::AeSource::inbound_read_write_1011:
		return "request of the peer";
	case hw::AeSource::outbound_read_response:
	case hw::AeSource::outbound_read_response_1111:
		return "READ response to the peer";
	default:
		return hw::ae_source_is_cq(source) ? "CQ" : "no queue";
	}
}

const AeInfo &ae_info(u32 code)
{
	for (const AeInfo &info : table)
		if (static_cast<u32>(info.code) == code)
			return info;
	return unknown;
}

} // namespace irdma
