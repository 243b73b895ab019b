// SPDX-License-Identifier: GPL-2.0
/*
 * The control QP: its context, its 64-byte work requests (one layout a
 * command), and the entries of its completion queue, the CCQ.
 *
 * Word 3 of each request is the header: opcode and valid bit in the same place
 * for all commands, written last. The valid bit is 1 on the first lap of the
 * ring and toggles with each lap.
 */
#ifndef IRDMA_HW_CQP_H
#define IRDMA_HW_CQP_H

#include "field.h"

namespace irdma::hw {

inline constexpr u32 cqp_ring_entries = 2048;
inline constexpr u32 cqp_ring_align = 512;
inline constexpr u32 cqp_context_align = 512;
inline constexpr u32 ccq_entries = cqp_ring_entries + 1;
inline constexpr u32 ccq_number = 0; /* the CCQ is the CQ of this number */

/** Opcodes of the control QP. */
enum class CqpOp : u8 {
	create_qp = 0x00,
	modify_qp = 0x01,
	destroy_qp = 0x02,
	create_cq = 0x03,
	modify_cq = 0x04,
	destroy_cq = 0x05,
	alloc_stag = 0x09,
	reg_mr = 0x0a,
	query_stag = 0x0b,
	reg_shared_mr = 0x0c,
	dealloc_stag = 0x0d,
	manage_loc_mac = 0x0e,
	manage_arp = 0x0f,
	manage_vf_pble_bp = 0x10,
	manage_push_page = 0x11,
	query_rdma_features = 0x12,
	upload_context = 0x13,
	alloc_loc_mac = 0x14,
	manage_hmc_pm_func = 0x15,
	create_ceq = 0x16,
	destroy_ceq = 0x18,
	create_aeq = 0x19,
	destroy_aeq = 0x1b,
	create_ah = 0x1c,
	modify_ah = 0x1d,
	destroy_ah = 0x1e,
	update_pe_sds = 0x1f,
	query_fpm = 0x20,
	commit_fpm = 0x21,
	flush_wqes = 0x22, /* also generates asynchronous events */
	manage_apbvt = 0x23,
	nop = 0x24,
	manage_qhash = 0x25,
	create_mcast = 0x26,
	modify_mcast = 0x27,
	destroy_mcast = 0x28,
	suspend_qp = 0x29,
	resume_qp = 0x2a,
	shmc_pages_allocated = 0x2b,
	work_sched_node = 0x2c,
	manage_stats = 0x2d,
	gather_stats = 0x2e,
	up_map = 0x2f,
};
inline constexpr unsigned cqp_opcodes = 0x30;

struct CqpWqe : Words<8> {};
static_assert(sizeof(CqpWqe) == 64);

/* The header, common to all commands. */
namespace cqp {
inline constexpr Field opcode{"opcode", 3, 37, 32};
inline constexpr Field valid{"valid", 3, 63, 63};
} // namespace cqp

/* The context that PFPE_CCQPHIGH/LOW point at when the CQP is created. */
namespace cqp_context {
inline constexpr Field disable_packed{"disable_packed", 0, 1, 1};
inline constexpr Field rto_policy{"rto_policy", 0, 2, 2};
inline constexpr Field protocol{"protocol", 0, 4, 3};
inline constexpr Field sq_size{"sq_size", 0, 11, 8}; /* log2(entries / 4) + 1 */
inline constexpr Field struct_version{"struct_version", 0, 31, 24};
inline constexpr Field ceqs_per_vf{"ceqs_per_vf", 0, 39, 32};
inline constexpr Field sq_addr{"sq_addr", 1, 63, 0};
inline constexpr Field hmc_profile{"hmc_profile", 2, 2, 0};
inline constexpr Field enabled_vfs{"enabled_vfs", 2, 37, 32};
inline constexpr Field cookie{"cookie", 3, 63, 0}; /* opaque; comes back in every CCQ entry */
inline constexpr Field minor_version{"minor_version", 4, 15, 0};
inline constexpr Field major_version{"major_version", 4, 31, 16};
inline constexpr Field min_rate{"min_rate", 4, 51, 48};
inline constexpr Field min_dec_factor{"min_dec_factor", 4, 59, 56};
inline constexpr Field dcqcn_t{"dcqcn_t", 6, 15, 0};
inline constexpr Field hai_factor{"hai_factor", 6, 47, 32};
inline constexpr Field rai_factor{"rai_factor", 6, 63, 48};
inline constexpr Field dcqcn_b{"dcqcn_b", 7, 24, 0};
inline constexpr Field dcqcn_f{"dcqcn_f", 7, 27, 25};
inline constexpr Field cc_cfg_valid{"cc_cfg_valid", 7, 31, 31};
inline constexpr Field rreduce_mperiod{"rreduce_mperiod", 7, 63, 32};
inline constexpr Field fields[] = {
	disable_packed, rto_policy,	sq_size,	 protocol,   struct_version, ceqs_per_vf,
	sq_addr,	hmc_profile,	enabled_vfs,	 cookie,     minor_version,  major_version,
	min_rate,	min_dec_factor, dcqcn_t,	 hai_factor, rai_factor,     dcqcn_b,
	dcqcn_f,	cc_cfg_valid,	rreduce_mperiod,
};
static_assert(well_formed(fields, 8));
inline constexpr u32 protocol_roce_only = 2;
inline constexpr u32 major_version_gen2 = 1;
inline constexpr u32 hmc_profile_default = 1;
} // namespace cqp_context

/* CREATE_QP, MODIFY_QP, DESTROY_QP. */
namespace cqp_qp {
inline constexpr Field new_mss{"new_mss", 1, 45, 32};
inline constexpr Field term_len{"term_len", 1, 51, 48};
inline constexpr Field context_addr{"context_addr", 2, 63, 0};
inline constexpr Field qp{"qp", 3, 23, 0};
inline constexpr Field ord_valid{"ord_valid", 3, 42, 42};
inline constexpr Field toe_ctx_valid{"toe_ctx_valid", 3, 43, 43};
inline constexpr Field cached_var_valid{"cached_var_valid", 3, 44, 44};
inline constexpr Field virtual_queues{"virtual_queues", 3, 45, 45};
inline constexpr Field force_loopback{"force_loopback", 3, 46, 46};
inline constexpr Field cq_num_valid{"cq_num_valid", 3, 47, 47};
inline constexpr Field qp_type{"qp_type", 3, 50, 48};
inline constexpr Field mac_valid{"mac_valid", 3, 51, 51};
inline constexpr Field mss_change{"mss_change", 3, 52, 52};
inline constexpr Field ignore_mw_bound{"ignore_mw_bound", 3, 54, 54};
inline constexpr Field remove_hash{"remove_hash", 3, 55, 55};
inline constexpr Field term_act{"term_act", 3, 57, 56};
inline constexpr Field reset_con{"reset_con", 3, 58, 58};
inline constexpr Field arp_valid{"arp_valid", 3, 59, 59};
inline constexpr Field next_state{"next_state", 3, 62, 60};
inline constexpr Field shadow_addr{"shadow_addr", 5, 63, 0};
inline constexpr Field fields[] = {
	new_mss,	term_len,	context_addr,	 qp,
	cqp::opcode,	ord_valid,	toe_ctx_valid,	 cached_var_valid,
	virtual_queues, force_loopback, cq_num_valid,	 qp_type,
	mac_valid,	mss_change,	ignore_mw_bound, remove_hash,
	term_act,	reset_con,	arp_valid,	 next_state,
	cqp::valid,	shadow_addr,
};
static_assert(well_formed(fields, 8));
} // namespace cqp_qp

/* CREATE_CQ, MODIFY_CQ, DESTROY_CQ. */
namespace cqp_cq {
inline constexpr Field size{"size", 0, 20, 0};	     /* entries */
inline constexpr Field context{"context", 1, 62, 0}; /* opaque; comes back in CEQ entries */
inline constexpr Field shadow_read_threshold{"shadow_read_threshold", 2, 17, 0};
inline constexpr Field cq{"cq", 3, 18, 0};
inline constexpr Field ceq{"ceq", 3, 31, 22};
inline constexpr Field resize{"resize", 3, 43, 43};
inline constexpr Field pbl_level{"pbl_level", 3, 45, 44};
inline constexpr Field check_overflow{"check_overflow", 3, 46, 46};
inline constexpr Field virtual_map{"virtual_map", 3, 47, 47};
inline constexpr Field ceqe_mask{"ceqe_mask", 3, 48, 48};
inline constexpr Field ceq_valid{"ceq_valid", 3, 49, 49};
inline constexpr Field tph_enable{"tph_enable", 3, 60, 60};
inline constexpr Field avoid_mem_conflict{"avoid_mem_conflict", 3, 61, 61};
inline constexpr Field addr{"addr", 4, 63, 0}; /* 0 if virtual */
inline constexpr Field shadow_addr{"shadow_addr", 5, 63, 0};
inline constexpr Field first_pble{"first_pble", 6, 27, 0};
inline constexpr Field tph_value{"tph_value", 7, 7, 0};
inline constexpr Field vsi{"vsi", 7, 17, 8};
inline constexpr Field fields[] = {
	size,
	context,
	shadow_read_threshold,
	cq,
	ceq,
	cqp::opcode,
	resize,
	pbl_level,
	check_overflow,
	virtual_map,
	ceqe_mask,
	ceq_valid,
	tph_enable,
	avoid_mem_conflict,
	cqp::valid,
	addr,
	shadow_addr,
	first_pble,
	tph_value,
	vsi,
};
static_assert(well_formed(fields, 8));
inline constexpr u32 max_shadow_read_threshold = 0x3ffff;
} // namespace cqp_cq

/** How a list of pages is given: the pbl_level fields. */
enum class PblLevel : u8 {
	contiguous = 0, /* one run of pages; the address itself */
	one = 1,	/* one PBLE a page */
	two = 3,	/* PBLEs of a root list give the index of leaves of 512 PBLEs */
};

/** Size of the pages of an MR: the page_size fields. */
enum class HostPage : u8 {
	size_4k = 0,
	size_2m = 1,
	size_1g = 2,
};

/** Rights of an STag: the access fields. */
namespace access {
inline constexpr u32 local_read = 1;
inline constexpr u32 local_write = 2;
inline constexpr u32 remote_read = 4;
inline constexpr u32 remote_write = 8;
inline constexpr u32 bind = 0x10;
} // namespace access

/* ALLOC_STAG, REG_MR, DEALLOC_STAG. */
namespace cqp_stag {
inline constexpr Field va{"va", 0, 63,
			  0}; /* VA of the first byte, or its offset in the first page */
inline constexpr Field length{"length", 1, 45, 0};
inline constexpr Field pd{"pd", 1, 63, 46};
inline constexpr Field key{"key", 2, 7, 0};
inline constexpr Field index{"index", 2, 31, 8};
inline constexpr Field parent_index{"parent_index", 2, 55, 32};
inline constexpr Field mw_wide{"mw_wide", 3, 42, 42}; /* a window of type 1 */
inline constexpr Field is_mr{"is_mr", 3, 43, 43};
inline constexpr Field pbl_level{"pbl_level", 3, 45, 44};
inline constexpr Field page_size{"page_size", 3, 47, 46};
inline constexpr Field access{"access", 3, 52, 48};
inline constexpr Field remote_access{"remote_access", 3, 53, 53};
inline constexpr Field mw1_no_key_check{"mw1_no_key_check", 3, 58, 58};
inline constexpr Field va_based{"va_based", 3, 59, 59};
inline constexpr Field use_hmc_fn{"use_hmc_fn", 3, 60, 60};
inline constexpr Field use_pf_rid{"use_pf_rid", 3, 61, 61};
inline constexpr Field addr{"addr", 4, 63, 0};
inline constexpr Field hmc_fn{"hmc_fn", 5, 5, 0};
inline constexpr Field first_pble{"first_pble", 6, 27, 0};
inline constexpr Field fields[] = {
	va,	  length,     pd,	  key,	      index,  parent_index,  cqp::opcode,
	mw_wide,  is_mr,      pbl_level,  page_size,  access, remote_access, mw1_no_key_check,
	va_based, use_hmc_fn, use_pf_rid, cqp::valid, addr,   hmc_fn,	     first_pble,
};
static_assert(well_formed(fields, 8));
} // namespace cqp_stag

/* MANAGE_ARP. */
namespace cqp_arp {
inline constexpr Field reach_max{"reach_max", 1, 31, 0}; /* milliseconds; 0 for permanent entries */
inline constexpr Field mac{"mac", 2, 47, 0};		 /* first byte in the top bits */
inline constexpr Field index{"index", 3, 11, 0};
inline constexpr Field entry_valid{"entry_valid", 3, 42, 42}; /* 0 removes the entry */
inline constexpr Field permanent{"permanent", 3, 43, 43};
inline constexpr Field query{"query", 3, 44, 44};
inline constexpr Field fields[] = {
	reach_max, mac, index, cqp::opcode, entry_valid, permanent, query, cqp::valid,
};
static_assert(well_formed(fields, 8));
} // namespace cqp_arp

/* MANAGE_PUSH_PAGE. The page number is the completion's return value. */
namespace cqp_push {
inline constexpr Field qs_handle{"qs_handle", 2, 9, 0};
inline constexpr Field page{"page", 3, 9, 0};
inline constexpr Field page_type{"page_type", 3, 61, 60};
inline constexpr Field free{"free", 3, 62, 62};
inline constexpr Field fields[] = {
	qs_handle, page, cqp::opcode, page_type, free, cqp::valid,
};
static_assert(well_formed(fields, 8));
} // namespace cqp_push

/* QUERY_RDMA_FEATURES, and the 8-byte entries of its answer. */
namespace cqp_features {
inline constexpr Field length{"length", 3, 31, 0};
inline constexpr Field addr{"addr", 4, 63, 0};
inline constexpr Field fields[] = {length, cqp::opcode, cqp::valid, addr};
static_assert(well_formed(fields, 8));
inline constexpr u32 buffer_bytes = 216;

inline constexpr Field entry_info{"info", 0, 47, 0};
inline constexpr Field entry_type{"type", 0, 63, 48};
/* Of the first entry, type 0: the firmware version and the number of entries. */
inline constexpr Field fw_minor{"fw_minor", 0, 15, 0};
inline constexpr Field fw_major{"fw_major", 0, 31, 16};
inline constexpr Field entry_count{"entry_count", 0, 47, 32};
} // namespace cqp_features

/* UPLOAD_CONTEXT: the device writes its context of a QP to memory. */
namespace cqp_upload {
inline constexpr Field addr{"addr", 2, 63, 0};
inline constexpr Field qp{"qp", 3, 23, 0};
inline constexpr Field qp_type{"qp_type", 3, 51, 48};
inline constexpr Field raw_format{"raw_format", 3, 61, 61};
inline constexpr Field freeze{"freeze", 3, 62, 62};
inline constexpr Field fields[] = {
	addr, qp, cqp::opcode, qp_type, raw_format, freeze, cqp::valid,
};
static_assert(well_formed(fields, 8));
} // namespace cqp_upload

/* CREATE_CEQ, DESTROY_CEQ. */
namespace cqp_ceq {
inline constexpr Field size{"size", 2, 21, 0}; /* entries */
inline constexpr Field ceq{"ceq", 3, 9, 0};
inline constexpr Field pbl_level{"pbl_level", 3, 45, 44};
inline constexpr Field itr_no_expire{"itr_no_expire", 3, 46, 46};
inline constexpr Field virtual_map{"virtual_map", 3, 47, 47};
inline constexpr Field tph_enable{"tph_enable", 3, 60, 60};
inline constexpr Field addr{"addr", 4, 63, 0};
inline constexpr Field first_pble{"first_pble", 6, 27, 0};
inline constexpr Field tph_value{"tph_value", 7, 7, 0};
inline constexpr Field vsi{"vsi", 7, 17, 8};
inline constexpr Field fields[] = {
	size,	    ceq,	cqp::opcode, pbl_level,	 itr_no_expire, virtual_map,
	tph_enable, cqp::valid, addr,	     first_pble, tph_value,	vsi,
};
static_assert(well_formed(fields, 8));
} // namespace cqp_ceq

/* CREATE_AEQ, DESTROY_AEQ. */
namespace cqp_aeq {
inline constexpr Field size{"size", 2, 18, 0}; /* entries */
inline constexpr Field pbl_level{"pbl_level", 3, 45, 44};
inline constexpr Field virtual_map{"virtual_map", 3, 47, 47};
inline constexpr Field addr{"addr", 4, 63, 0};
inline constexpr Field first_pble{"first_pble", 6, 27, 0};
inline constexpr Field fields[] = {
	size, cqp::opcode, pbl_level, virtual_map, cqp::valid, addr, first_pble,
};
static_assert(well_formed(fields, 8));
} // namespace cqp_aeq

/* CREATE_AH, MODIFY_AH, DESTROY_AH. Addresses as in the QP context. */
namespace cqp_ah {
inline constexpr Field src_mac{"src_mac", 0, 63, 16};
inline constexpr Field vlan_tag{"vlan_tag", 1, 15, 0};
inline constexpr Field traffic_class{"traffic_class", 1, 39, 32};
inline constexpr Field pd{"pd", 1, 63, 48};
inline constexpr Field flow_label{"flow_label", 2, 19, 0};
inline constexpr Field pd_hi{"pd_hi", 2, 21, 20};
inline constexpr Field hop_limit{"hop_limit", 2, 39, 32};
inline constexpr Field arp_index{"arp_index", 2, 63, 48};
inline constexpr Field ah{"ah", 3, 16, 0};
inline constexpr Field ipv4{"ipv4", 3, 59, 59};
inline constexpr Field insert_vlan{"insert_vlan", 3, 60, 60};
inline constexpr Field loopback{"loopback", 3, 62, 62}; /* own multicasts come back */
inline constexpr Field dest_ip3{"dest_ip3", 4, 31, 0};
inline constexpr Field dest_ip2{"dest_ip2", 4, 63, 32};
inline constexpr Field dest_ip1{"dest_ip1", 5, 31, 0};
inline constexpr Field dest_ip0{"dest_ip0", 5, 63, 32};
inline constexpr Field src_ip3{"src_ip3", 6, 31, 0};
inline constexpr Field src_ip2{"src_ip2", 6, 63, 32};
inline constexpr Field src_ip1{"src_ip1", 7, 31, 0};
inline constexpr Field src_ip0{"src_ip0", 7, 63, 32};
inline constexpr Field fields[] = {
	src_mac,   vlan_tag, traffic_class, pd,	      flow_label,  pd_hi,    hop_limit,
	arp_index, ah,	     cqp::opcode,   ipv4,     insert_vlan, loopback, cqp::valid,
	dest_ip3,  dest_ip2, dest_ip1,	    dest_ip0, src_ip3,	   src_ip2,  src_ip1,
	src_ip0,
};
static_assert(well_formed(fields, 8));
} // namespace cqp_ah

/* UPDATE_PE_SDS: up to three segment descriptors in the request, more in a buffer. */
namespace cqp_sds {
inline constexpr Field command0{"command0", 0, 31, 0};
inline constexpr Field data0{"data0", 1, 63, 0};
inline constexpr Field hmc_fn{"hmc_fn", 2, 5, 0};
inline constexpr Field buffer{"buffer", 2, 63, 6}; /* address / 64 of further entries */
inline constexpr Field more_entries{"more_entries", 3, 3, 0};
inline constexpr Field skip_entry{"skip_entry", 3, 7, 7};
inline constexpr Field command1{"command1", 4, 31, 0};
inline constexpr Field entry1_valid{"entry1_valid", 4, 63, 63};
inline constexpr Field data1{"data1", 5, 63, 0};
inline constexpr Field command2{"command2", 6, 31, 0};
inline constexpr Field entry2_valid{"entry2_valid", 6, 63, 63};
inline constexpr Field data2{"data2", 7, 63, 0};
inline constexpr Field fields[] = {
	command0,   data0,    hmc_fn,	    buffer, more_entries, skip_entry,	cqp::opcode,
	cqp::valid, command1, entry1_valid, data1,  command2,	  entry2_valid, data2,
};
static_assert(well_formed(fields, 8));
inline constexpr unsigned inline_entries = 3;
inline constexpr unsigned max_more_entries = 8;
inline constexpr u32 buffer_align = 128;

/* A command word, and the data word beside it (the fields' word is that of an entry). */
inline constexpr Field sd_index{"sd_index", 0, 14, 0};
inline constexpr Field sd_partition{"sd_partition", 0, 15, 15}; /* 1: a segment of this function */
inline constexpr Field sd_write{"sd_write", 0, 31, 31};		/* always 1 */
inline constexpr Field sd_valid{"sd_valid", 1, 0, 0};
inline constexpr Field sd_direct{"sd_direct", 1, 1,
				 1}; /* 1: a 2 MiB page, 0: a table of 512 pages */
inline constexpr Field sd_bp_count{"sd_bp_count", 1, 11, 2}; /* 4 KiB pages, 512 */
inline constexpr Field sd_page{"sd_page", 1, 63, 12};	     /* address / 4096 */
} // namespace cqp_sds

/* QUERY_FPM and COMMIT_FPM. */
namespace cqp_fpm {
inline constexpr Field hmc_fn{"hmc_fn", 2, 5, 0};
inline constexpr Field length{"length", 3, 31, 0};
inline constexpr Field addr{"addr", 4, 63, 0};
inline constexpr Field fields[] = {hmc_fn, length, cqp::opcode, cqp::valid, addr};
static_assert(well_formed(fields, 8));
inline constexpr u32 buffer_bytes = 176;
} // namespace cqp_fpm

/* SHMC_PAGES_ALLOCATED: the static segments are there. */
namespace cqp_shmc {
inline constexpr Field hmc_fn{"hmc_fn", 2, 5, 0};
inline constexpr Field fields[] = {hmc_fn, cqp::opcode, cqp::valid};
static_assert(well_formed(fields, 8));
} // namespace cqp_shmc

/* FLUSH_WQES: complete the outstanding work with an error; or make an asynchronous event. */
namespace cqp_flush {
inline constexpr Field ae_code{"ae_code", 1, 15, 0};
inline constexpr Field ae_source{"ae_source", 1, 19, 16};
inline constexpr Field rq_minor{"rq_minor", 2, 15, 0};
inline constexpr Field rq_major{"rq_major", 2, 31, 16};
inline constexpr Field sq_minor{"sq_minor", 2, 47, 32};
inline constexpr Field sq_major{"sq_major", 2, 63, 48};
inline constexpr Field qp{"qp", 3, 23, 0};
inline constexpr Field generate_ae{"generate_ae", 3, 59, 59};
inline constexpr Field user_codes{"user_codes", 3, 60, 60}; /* word 2 holds the codes */
inline constexpr Field flush_sq{"flush_sq", 3, 61, 61};
inline constexpr Field flush_rq{"flush_rq", 3, 62, 62};
inline constexpr Field fields[] = {
	ae_code,     ae_source,	  rq_minor,   rq_major, sq_minor, sq_major,   qp,
	cqp::opcode, generate_ae, user_codes, flush_sq, flush_rq, cqp::valid,
};
static_assert(well_formed(fields, 8));
} // namespace cqp_flush

/* CREATE_MCAST, MODIFY_MCAST, DESTROY_MCAST; word 4 points at eight members. */
namespace cqp_mcast {
inline constexpr Field mac{"mac", 0, 47, 0};
inline constexpr Field hmc_fn{"hmc_fn", 1, 5, 0};
inline constexpr Field qs_handle{"qs_handle", 2, 9, 0};
inline constexpr Field vlan{"vlan", 2, 43, 32};
inline constexpr Field group{"group", 3, 12, 0};
inline constexpr Field vlan_valid{"vlan_valid", 3, 59, 59};
inline constexpr Field ipv4{"ipv4", 3, 60, 60};
inline constexpr Field members_addr{"members_addr", 4, 63, 0};
inline constexpr Field dest_ip3{"dest_ip3", 6, 31, 0};
inline constexpr Field dest_ip2{"dest_ip2", 6, 63, 32};
inline constexpr Field dest_ip1{"dest_ip1", 7, 31, 0};
inline constexpr Field dest_ip0{"dest_ip0", 7, 63, 32};
inline constexpr Field fields[] = {
	mac,  hmc_fn,	  qs_handle,	vlan,	  group,    cqp::opcode, vlan_valid,
	ipv4, cqp::valid, members_addr, dest_ip3, dest_ip2, dest_ip1,	 dest_ip0,
};
static_assert(well_formed(fields, 8));

inline constexpr Field member_qp{"qp", 0, 17, 0};
inline constexpr Field member_valid{"valid", 0, 31, 31};
inline constexpr Field member_port{"port", 0, 47, 32};
} // namespace cqp_mcast

/* SUSPEND_QP, RESUME_QP: around a change of the QP's work-scheduler node. */
namespace cqp_suspend {
inline constexpr Field qs_handle{"qs_handle", 2, 31, 0}; /* resume only */
inline constexpr Field qp{"qp", 3, 23, 0};
inline constexpr Field fields[] = {qs_handle, qp, cqp::opcode, cqp::valid};
static_assert(well_formed(fields, 8));
} // namespace cqp_suspend

/* WORK_SCHED_NODE. A new leaf's queue-set handle is the completion's return value. */
namespace cqp_ws {
inline constexpr Field weight{"weight", 4, 38, 32};
inline constexpr Field vsi{"vsi", 4, 57, 48};
inline constexpr Field node{"node", 3, 9, 0};
inline constexpr Field parent{"parent", 3, 25, 16};
inline constexpr Field vm_vf_number{"vm_vf_number", 3, 51, 42};
inline constexpr Field node_op{"node_op", 3, 53, 52};
inline constexpr Field vm_vf_type{"vm_vf_type", 3, 55, 54};
inline constexpr Field traffic_class{"traffic_class", 3, 58, 56};
inline constexpr Field priority_type{"priority_type", 3, 60, 59};
inline constexpr Field leaf{"leaf", 3, 61, 61};
inline constexpr Field enable{"enable", 3, 62, 62};
inline constexpr Field fields[] = {
	node,	       parent, cqp::opcode, vm_vf_number, node_op, vm_vf_type, traffic_class,
	priority_type, leaf,   enable,	    cqp::valid,	  weight,  vsi,
};
static_assert(well_formed(fields, 8));
inline constexpr u32 op_add = 0;
inline constexpr u32 op_modify = 1;
inline constexpr u32 op_delete = 2;
inline constexpr u32 priority_weighted = 1; /* round robin by weight */
inline constexpr u32 priority_strict = 2;
} // namespace cqp_ws

/* MANAGE_STATS and GATHER_STATS. */
namespace cqp_stats {
inline constexpr Field instance{"instance", 3, 6, 0};
inline constexpr Field use_hmc_fn{"use_hmc_fn", 3, 60, 60};
inline constexpr Field use_instance{"use_instance", 3, 61, 61};
inline constexpr Field alloc{"alloc", 3, 62, 62};
inline constexpr Field addr{"addr", 4, 63, 0};
inline constexpr Field hmc_fn{"hmc_fn", 5, 5, 0};
inline constexpr Field fields[] = {
	instance, cqp::opcode, use_hmc_fn, use_instance, alloc, cqp::valid, addr, hmc_fn,
};
static_assert(well_formed(fields, 8));
inline constexpr u32 gather_bytes = 1024;
} // namespace cqp_stats

/* UP_MAP: user priority to traffic class. */
namespace cqp_upmap {
inline constexpr Field map{"map", 0, 63, 0}; /* one byte a priority */
inline constexpr Field use_override{"use_override", 3, 61, 61};
inline constexpr Field use_vlan{"use_vlan", 3, 62, 62};
inline constexpr Field hmc_fn{"hmc_fn", 5, 5, 0};
inline constexpr Field cnp_override{"cnp_override", 5, 37, 32};
inline constexpr Field fields[] = {
	map, cqp::opcode, use_override, use_vlan, cqp::valid, hmc_fn, cnp_override,
};
static_assert(well_formed(fields, 8));
} // namespace cqp_upmap

/* MANAGE_APBVT: ports that the host claims for connections of other protocols. */
namespace cqp_apbvt {
inline constexpr Field port{"port", 2, 15, 0};
inline constexpr Field add{"add", 3, 62, 62};
inline constexpr Field fields[] = {port, cqp::opcode, add, cqp::valid};
static_assert(well_formed(fields, 8));
} // namespace cqp_apbvt

/* MANAGE_QHASH: which QP gets the packets of an address and port. */
namespace cqp_qhash {
inline constexpr Field mac{"mac", 0, 47, 0};
inline constexpr Field dest_port{"dest_port", 1, 15, 0};
inline constexpr Field src_port{"src_port", 1, 31, 16};
inline constexpr Field qp{"qp", 1, 49, 32};
inline constexpr Field qs_handle{"qs_handle", 2, 9, 0};
inline constexpr Field vlan{"vlan", 2, 43, 32};
inline constexpr Field entry_type{"entry_type", 3, 44, 42};
inline constexpr Field vlan_valid{"vlan_valid", 3, 59, 59};
inline constexpr Field ipv4{"ipv4", 3, 60, 60};
inline constexpr Field manage{"manage", 3, 62, 61}; /* 0 delete, 1 add, 2 modify */
inline constexpr Field src_ip3{"src_ip3", 4, 31, 0};
inline constexpr Field src_ip2{"src_ip2", 4, 63, 32};
inline constexpr Field src_ip1{"src_ip1", 5, 31, 0};
inline constexpr Field src_ip0{"src_ip0", 5, 63, 32};
inline constexpr Field dest_ip3{"dest_ip3", 6, 31, 0};
inline constexpr Field dest_ip2{"dest_ip2", 6, 63, 32};
inline constexpr Field dest_ip1{"dest_ip1", 7, 31, 0};
inline constexpr Field dest_ip0{"dest_ip0", 7, 63, 32};
inline constexpr Field fields[] = {
	mac,	    dest_port,	src_port, qp,	    qs_handle,	vlan,	  cqp::opcode,
	entry_type, vlan_valid, ipv4,	  manage,   cqp::valid, src_ip3,  src_ip2,
	src_ip1,    src_ip0,	dest_ip3, dest_ip2, dest_ip1,	dest_ip0,
};
static_assert(well_formed(fields, 8));
} // namespace cqp_qhash

/* ALLOC_LOC_MAC (the index is the completion's return value) and MANAGE_LOC_MAC. */
namespace cqp_mac {
inline constexpr Field index{"index", 3, 5, 0};
inline constexpr Field ignore_refs{"ignore_refs", 3, 61, 61};
inline constexpr Field free{"free", 3, 62, 62};
inline constexpr Field mac{"mac", 4, 47, 0}; /* first byte in the top bits */
inline constexpr Field fields[] = {index, cqp::opcode, ignore_refs, free, cqp::valid, mac};
static_assert(well_formed(fields, 8));
} // namespace cqp_mac

/* What is left of a command whose operands neither side uses. */
namespace cqp_other {
inline constexpr Field fields[] = {cqp::opcode, cqp::valid};
} // namespace cqp_other

/* An entry of the CCQ. Word 3 is written last. */
struct CcqEntry : Words<4> {};
static_assert(sizeof(CcqEntry) == 32);

namespace ccqe {
inline constexpr Field cookie{"cookie", 1, 63, 0};
inline constexpr Field return_value{"return_value", 2, 31, 0};
inline constexpr Field minor_error{"minor_error", 3, 15, 0};
inline constexpr Field major_error{"major_error", 3, 31, 16};
inline constexpr Field wqe_index{"wqe_index", 3, 46, 32};
inline constexpr Field error{"error", 3, 55, 55};
inline constexpr Field valid{"valid", 3, 63, 63};
inline constexpr Field fields[] = {
	cookie, return_value, minor_error, major_error, wqe_index, error, valid,
};
static_assert(well_formed(fields, 4));
} // namespace ccqe

/* Error codes of a completion: major ... */
namespace cqp_error {
inline constexpr u16 object_cache = 0xf000;  /* major: the object has no memory behind it */
inline constexpr u16 context_cache = 0xf001; /* major: the same of a QP or CQ context */
inline constexpr u16 command = 0xffff;	     /* major: the minor code says more */
/* ... and minor codes of major code "command". */
inline constexpr u16 stag_invalid = 0x0001;
inline constexpr u16 suspend_pending = 0x0005;
inline constexpr u16 invalid_state = 0x8002;
inline constexpr u16 no_wqe_to_flush = 0x8006;
inline constexpr u16 bad_close = 0x8007;
inline constexpr u16 connection_closed = 0x8009;
inline constexpr u16 reset_not_sent = 0x800a;
inline constexpr u16 needs_reset = 0x8029;
} // namespace cqp_error

/*
 * Minor code of a FLUSH_WQES that went well (error bit and major code 0): which queues held work
 * and got their error completion. 0: none did.
 */
namespace cqp_flushed {
inline constexpr u16 rq = 2;
inline constexpr u16 sq = 3;
inline constexpr u16 both = 4;
} // namespace cqp_flushed

/** Layout of the request of a command; the empty name for an unknown opcode. */
constexpr Layout cqp_layout(u32 opcode)
{
	switch (static_cast<CqpOp>(opcode)) {
	case CqpOp::create_qp:
		return layout("create_qp", cqp_qp::fields);
	case CqpOp::modify_qp:
		return layout("modify_qp", cqp_qp::fields);
	case CqpOp::destroy_qp:
		return layout("destroy_qp", cqp_qp::fields);
	case CqpOp::create_cq:
		return layout("create_cq", cqp_cq::fields);
	case CqpOp::modify_cq:
		return layout("modify_cq", cqp_cq::fields);
	case CqpOp::destroy_cq:
		return layout("destroy_cq", cqp_cq::fields);
	case CqpOp::alloc_stag:
		return layout("alloc_stag", cqp_stag::fields);
	case CqpOp::reg_mr:
		return layout("reg_mr", cqp_stag::fields);
	case CqpOp::query_stag:
		return layout("query_stag", cqp_stag::fields);
	case CqpOp::reg_shared_mr:
		return layout("reg_shared_mr", cqp_stag::fields);
	case CqpOp::dealloc_stag:
		return layout("dealloc_stag", cqp_stag::fields);
	case CqpOp::manage_loc_mac:
		return layout("manage_loc_mac", cqp_mac::fields);
	case CqpOp::manage_arp:
		return layout("manage_arp", cqp_arp::fields);
	case CqpOp::manage_vf_pble_bp:
		return layout("manage_vf_pble_bp", cqp_other::fields);
	case CqpOp::manage_push_page:
		return layout("manage_push_page", cqp_push::fields);
	case CqpOp::query_rdma_features:
		return layout("query_rdma_features", cqp_features::fields);
	case CqpOp::upload_context:
		return layout("upload_context", cqp_upload::fields);
	case CqpOp::alloc_loc_mac:
		return layout("alloc_loc_mac", cqp_mac::fields);
	case CqpOp::manage_hmc_pm_func:
		return layout("manage_hmc_pm_func", cqp_other::fields);
	case CqpOp::create_ceq:
		return layout("create_ceq", cqp_ceq::fields);
	case CqpOp::destroy_ceq:
		return layout("destroy_ceq", cqp_ceq::fields);
	case CqpOp::create_aeq:
		return layout("create_aeq", cqp_aeq::fields);
	case CqpOp::destroy_aeq:
		return layout("destroy_aeq", cqp_aeq::fields);
	case CqpOp::create_ah:
		return layout("create_ah", cqp_ah::fields);
	case CqpOp::modify_ah:
		return layout("modify_ah", cqp_ah::fields);
	case CqpOp::destroy_ah:
		return layout("destroy_ah", cqp_ah::fields);
	case CqpOp::update_pe_sds:
		return layout("update_pe_sds", cqp_sds::fields);
	case CqpOp::query_fpm:
		return layout("query_fpm", cqp_fpm::fields);
	case CqpOp::commit_fpm:
		return layout("commit_fpm", cqp_fpm::fields);
	case CqpOp::flush_wqes:
		return layout("flush_wqes", cqp_flush::fields);
	case CqpOp::manage_apbvt:
		return layout("manage_apbvt", cqp_apbvt::fields);
	case CqpOp::nop:
		return layout("nop", cqp_other::fields);
	case CqpOp::manage_qhash:
		return layout("manage_qhash", cqp_qhash::fields);
	case CqpOp::create_mcast:
		return layout("create_mcast", cqp_mcast::fields);
	case CqpOp::modify_mcast:
		return layout("modify_mcast", cqp_mcast::fields);
	case CqpOp::destroy_mcast:
		return layout("destroy_mcast", cqp_mcast::fields);
	case CqpOp::suspend_qp:
		return layout("suspend_qp", cqp_suspend::fields);
	case CqpOp::resume_qp:
		return layout("resume_qp", cqp_suspend::fields);
	case CqpOp::shmc_pages_allocated:
		return layout("shmc_pages_allocated", cqp_shmc::fields);
	case CqpOp::work_sched_node:
		return layout("work_sched_node", cqp_ws::fields);
	case CqpOp::manage_stats:
		return layout("manage_stats", cqp_stats::fields);
	case CqpOp::gather_stats:
		return layout("gather_stats", cqp_stats::fields);
	case CqpOp::up_map:
		return layout("up_map", cqp_upmap::fields);
	}
	return {"", nullptr, 0};
}

/** The field that says which object a command is about; null: it is about none of many. */
constexpr const Field *cqp_object(CqpOp op)
{
	switch (op) {
	case CqpOp::create_qp:
	case CqpOp::modify_qp:
	case CqpOp::destroy_qp:
		return &cqp_qp::qp;
	case CqpOp::upload_context:
		return &cqp_upload::qp;
	case CqpOp::flush_wqes:
		return &cqp_flush::qp;
	case CqpOp::suspend_qp:
	case CqpOp::resume_qp:
		return &cqp_suspend::qp;
	case CqpOp::create_cq:
	case CqpOp::modify_cq:
	case CqpOp::destroy_cq:
		return &cqp_cq::cq;
	case CqpOp::create_ceq:
	case CqpOp::destroy_ceq:
		return &cqp_ceq::ceq;
	case CqpOp::alloc_stag:
	case CqpOp::reg_mr:
	case CqpOp::query_stag:
	case CqpOp::reg_shared_mr:
	case CqpOp::dealloc_stag:
		return &cqp_stag::index;
	case CqpOp::manage_arp:
		return &cqp_arp::index;
	case CqpOp::create_ah:
	case CqpOp::modify_ah:
	case CqpOp::destroy_ah:
		return &cqp_ah::ah;
	case CqpOp::create_mcast:
	case CqpOp::modify_mcast:
	case CqpOp::destroy_mcast:
		return &cqp_mcast::group;
	case CqpOp::work_sched_node:
		return &cqp_ws::node;
	default:
		return nullptr;
	}
}

} // namespace irdma::hw

#endif
