// SPDX-License-Identifier: GPL-2.0
/*
 * Layouts: each field of each structure that driver and device share lies where
 * the device has it. The places are typed here once more, as the stock driver
 * uses them (Linux 6.12, drivers/infiniband/hw/irdma: defs.h, irdma.h, uda_d.h, ctrl.c,
 * icrdma_hw.c, uda.c), so that an error in hw/ does not go unseen because both the driver
 * and the model read it there. And driver data of processes: their lengths.
 */
#include "driver.h"
#include "hw/ae_codes.h"
#include "hw/cqe.h"
#include "hw/cqp.h"
#include "hw/eq.h"
#include "hw/hmc.h"
#include "hw/qp_context.h"
#include "hw/regs.h"
#include "hw/stats.h"
#include "hw/wqe.h"
#include "test.h"

using namespace irdma;
using namespace irdma::test;

namespace {

constexpr u32 most_words = 64; /* in which fields lie */

/** Where a field has to be. */
struct Place {
	const char *name;
	u8 word, hi, lo;
};

#define STRUCTURE(name, fields, words)                                     \
	{                                                                  \
		hw::layout(#name, fields), name##_places,                  \
			static_cast<u32>(array_size(name##_places)), words \
	}

constexpr Place cqp_context_places[] = {
	{"disable_packed", 0, 1, 1}, {"rto_policy", 0, 2, 2},	    {"protocol", 0, 4, 3},
	{"sq_size", 0, 11, 8},	     {"struct_version", 0, 31, 24}, {"ceqs_per_vf", 0, 39, 32},
	{"sq_addr", 1, 63, 0},	     {"hmc_profile", 2, 2, 0},	    {"enabled_vfs", 2, 37, 32},
	{"cookie", 3, 63, 0},	     {"minor_version", 4, 15, 0},   {"major_version", 4, 31, 16},
	{"min_rate", 4, 51, 48},     {"min_dec_factor", 4, 59, 56}, {"dcqcn_t", 6, 15, 0},
	{"hai_factor", 6, 47, 32},   {"rai_factor", 6, 63, 48},	    {"dcqcn_b", 7, 24, 0},
	{"dcqcn_f", 7, 27, 25},	     {"cc_cfg_valid", 7, 31, 31},   {"rreduce_mperiod", 7, 63, 32},
};
constexpr Place cqp_qp_places[] = {
	{"new_mss", 1, 45, 32},		 {"term_len", 1, 51, 48},
	{"context_addr", 2, 63, 0},	 {"qp", 3, 23, 0},
	{"ord_valid", 3, 42, 42},	 {"toe_ctx_valid", 3, 43, 43},
	{"cached_var_valid", 3, 44, 44}, {"virtual_queues", 3, 45, 45},
	{"force_loopback", 3, 46, 46},	 {"cq_num_valid", 3, 47, 47},
	{"qp_type", 3, 50, 48},		 {"mac_valid", 3, 51, 51},
	{"mss_change", 3, 52, 52},	 {"ignore_mw_bound", 3, 54, 54},
	{"remove_hash", 3, 55, 55},	 {"term_act", 3, 57, 56},
	{"reset_con", 3, 58, 58},	 {"arp_valid", 3, 59, 59},
	{"next_state", 3, 62, 60},	 {"shadow_addr", 5, 63, 0},
	{"opcode", 3, 37, 32},		 {"valid", 3, 63, 63},
};
constexpr Place cqp_cq_places[] = {
	{"size", 0, 20, 0},
	{"context", 1, 62, 0},
	{"shadow_read_threshold", 2, 17, 0},
	{"cq", 3, 18, 0},
	{"ceq", 3, 31, 22},
	{"resize", 3, 43, 43},
	{"pbl_level", 3, 45, 44},
	{"check_overflow", 3, 46, 46},
	{"virtual_map", 3, 47, 47},
	{"ceqe_mask", 3, 48, 48},
	{"ceq_valid", 3, 49, 49},
	{"tph_enable", 3, 60, 60},
	{"avoid_mem_conflict", 3, 61, 61},
	{"addr", 4, 63, 0},
	{"shadow_addr", 5, 63, 0},
	{"first_pble", 6, 27, 0},
	{"tph_value", 7, 7, 0},
	{"vsi", 7, 17, 8},
	{"opcode", 3, 37, 32},
	{"valid", 3, 63, 63},
};
constexpr Place cqp_stag_places[] = {
	{"va", 0, 63, 0},
	{"length", 1, 45, 0},
	{"pd", 1, 63, 46},
	{"key", 2, 7, 0},
	{"index", 2, 31, 8},
	{"parent_index", 2, 55, 32},
	{"mw_wide", 3, 42, 42},
	{"is_mr", 3, 43, 43},
	{"pbl_level", 3, 45, 44},
	{"page_size", 3, 47, 46},
	{"access", 3, 52, 48},
	{"remote_access", 3, 53, 53},
	{"mw1_no_key_check", 3, 58, 58},
	{"va_based", 3, 59, 59},
	{"use_hmc_fn", 3, 60, 60},
	{"use_pf_rid", 3, 61, 61},
	{"addr", 4, 63, 0},
	{"hmc_fn", 5, 5, 0},
	{"first_pble", 6, 27, 0},
	{"opcode", 3, 37, 32},
	{"valid", 3, 63, 63},
};
constexpr Place cqp_arp_places[] = {
	{"reach_max", 1, 31, 0},    {"mac", 2, 47, 0},	      {"index", 3, 11, 0},
	{"entry_valid", 3, 42, 42}, {"permanent", 3, 43, 43}, {"query", 3, 44, 44},
	{"opcode", 3, 37, 32},	    {"valid", 3, 63, 63},
};
constexpr Place cqp_push_places[] = {
	{"qs_handle", 2, 9, 0}, {"page", 3, 9, 0},     {"page_type", 3, 61, 60},
	{"free", 3, 62, 62},	{"opcode", 3, 37, 32}, {"valid", 3, 63, 63},
};
constexpr Place cqp_features_places[] = {
	{"length", 3, 31, 0},
	{"addr", 4, 63, 0},
	{"opcode", 3, 37, 32},
	{"valid", 3, 63, 63},
};
constexpr Place cqp_upload_places[] = {
	{"addr", 2, 63, 0},	   {"qp", 3, 23, 0},	  {"qp_type", 3, 51, 48},
	{"raw_format", 3, 61, 61}, {"freeze", 3, 62, 62}, {"opcode", 3, 37, 32},
	{"valid", 3, 63, 63},
};
constexpr Place cqp_ceq_places[] = {
	{"size", 2, 21, 0},	    {"ceq", 3, 9, 0},
	{"pbl_level", 3, 45, 44},   {"itr_no_expire", 3, 46, 46},
	{"virtual_map", 3, 47, 47}, {"tph_enable", 3, 60, 60},
	{"addr", 4, 63, 0},	    {"first_pble", 6, 27, 0},
	{"tph_value", 7, 7, 0},	    {"vsi", 7, 17, 8},
	{"opcode", 3, 37, 32},	    {"valid", 3, 63, 63},
};
constexpr Place cqp_aeq_places[] = {
	{"size", 2, 18, 0},   {"pbl_level", 3, 45, 44}, {"virtual_map", 3, 47, 47},
	{"addr", 4, 63, 0},   {"first_pble", 6, 27, 0}, {"opcode", 3, 37, 32},
	{"valid", 3, 63, 63},
};
constexpr Place cqp_ah_places[] = {
	{"src_mac", 0, 63, 16},	  {"vlan_tag", 1, 15, 0},     {"traffic_class", 1, 39, 32},
	{"pd", 1, 63, 48},	  {"flow_label", 2, 19, 0},   {"pd_hi", 2, 21, 20},
	{"hop_limit", 2, 39, 32}, {"arp_index", 2, 63, 48},   {"ah", 3, 16, 0},
	{"ipv4", 3, 59, 59},	  {"insert_vlan", 3, 60, 60}, {"loopback", 3, 62, 62},
	{"dest_ip3", 4, 31, 0},	  {"dest_ip2", 4, 63, 32},    {"dest_ip1", 5, 31, 0},
	{"dest_ip0", 5, 63, 32},  {"src_ip3", 6, 31, 0},      {"src_ip2", 6, 63, 32},
	{"src_ip1", 7, 31, 0},	  {"src_ip0", 7, 63, 32},     {"opcode", 3, 37, 32},
	{"valid", 3, 63, 63},
};
constexpr Place cqp_sds_places[] = {
	{"command0", 0, 31, 0}, {"data0", 1, 63, 0},	     {"hmc_fn", 2, 5, 0},
	{"buffer", 2, 63, 6},	{"more_entries", 3, 3, 0},   {"skip_entry", 3, 7, 7},
	{"command1", 4, 31, 0}, {"entry1_valid", 4, 63, 63}, {"data1", 5, 63, 0},
	{"command2", 6, 31, 0}, {"entry2_valid", 6, 63, 63}, {"data2", 7, 63, 0},
	{"opcode", 3, 37, 32},	{"valid", 3, 63, 63},
};
constexpr Place cqp_fpm_places[] = {
	{"hmc_fn", 2, 5, 0},   {"length", 3, 31, 0}, {"addr", 4, 63, 0},
	{"opcode", 3, 37, 32}, {"valid", 3, 63, 63},
};
constexpr Place cqp_shmc_places[] = {
	{"hmc_fn", 2, 5, 0},
	{"opcode", 3, 37, 32},
	{"valid", 3, 63, 63},
};
constexpr Place cqp_flush_places[] = {
	{"ae_code", 1, 15, 0},	 {"ae_source", 1, 19, 16},   {"rq_minor", 2, 15, 0},
	{"rq_major", 2, 31, 16}, {"sq_minor", 2, 47, 32},    {"sq_major", 2, 63, 48},
	{"qp", 3, 23, 0},	 {"generate_ae", 3, 59, 59}, {"user_codes", 3, 60, 60},
	{"flush_sq", 3, 61, 61}, {"flush_rq", 3, 62, 62},    {"opcode", 3, 37, 32},
	{"valid", 3, 63, 63},
};
constexpr Place cqp_mcast_places[] = {
	{"mac", 0, 47, 0},	 {"hmc_fn", 1, 5, 0},	     {"qs_handle", 2, 9, 0},
	{"vlan", 2, 43, 32},	 {"group", 3, 12, 0},	     {"vlan_valid", 3, 59, 59},
	{"ipv4", 3, 60, 60},	 {"members_addr", 4, 63, 0}, {"dest_ip3", 6, 31, 0},
	{"dest_ip2", 6, 63, 32}, {"dest_ip1", 7, 31, 0},     {"dest_ip0", 7, 63, 32},
	{"opcode", 3, 37, 32},	 {"valid", 3, 63, 63},
};
constexpr Place cqp_suspend_places[] = {
	{"qs_handle", 2, 31, 0},
	{"qp", 3, 23, 0},
	{"opcode", 3, 37, 32},
	{"valid", 3, 63, 63},
};
constexpr Place cqp_ws_places[] = {
	{"weight", 4, 38, 32},	   {"vsi", 4, 57, 48},		 {"node", 3, 9, 0},
	{"parent", 3, 25, 16},	   {"vm_vf_number", 3, 51, 42},	 {"node_op", 3, 53, 52},
	{"vm_vf_type", 3, 55, 54}, {"traffic_class", 3, 58, 56}, {"priority_type", 3, 60, 59},
	{"leaf", 3, 61, 61},	   {"enable", 3, 62, 62},	 {"opcode", 3, 37, 32},
	{"valid", 3, 63, 63},
};
constexpr Place cqp_stats_places[] = {
	{"instance", 3, 6, 0}, {"use_hmc_fn", 3, 60, 60}, {"use_instance", 3, 61, 61},
	{"alloc", 3, 62, 62},  {"addr", 4, 63, 0},	  {"hmc_fn", 5, 5, 0},
	{"opcode", 3, 37, 32}, {"valid", 3, 63, 63},
};
constexpr Place cqp_upmap_places[] = {
	{"map", 0, 63, 0},    {"use_override", 3, 61, 61}, {"use_vlan", 3, 62, 62},
	{"hmc_fn", 5, 5, 0},  {"cnp_override", 5, 37, 32}, {"opcode", 3, 37, 32},
	{"valid", 3, 63, 63},
};
constexpr Place cqp_apbvt_places[] = {
	{"port", 2, 15, 0},
	{"add", 3, 62, 62},
	{"opcode", 3, 37, 32},
	{"valid", 3, 63, 63},
};
constexpr Place cqp_qhash_places[] = {
	{"mac", 0, 47, 0},	   {"dest_port", 1, 15, 0},   {"src_port", 1, 31, 16},
	{"qp", 1, 49, 32},	   {"qs_handle", 2, 9, 0},    {"vlan", 2, 43, 32},
	{"entry_type", 3, 44, 42}, {"vlan_valid", 3, 59, 59}, {"ipv4", 3, 60, 60},
	{"manage", 3, 62, 61},	   {"src_ip3", 4, 31, 0},     {"src_ip2", 4, 63, 32},
	{"src_ip1", 5, 31, 0},	   {"src_ip0", 5, 63, 32},    {"dest_ip3", 6, 31, 0},
	{"dest_ip2", 6, 63, 32},   {"dest_ip1", 7, 31, 0},    {"dest_ip0", 7, 63, 32},
	{"opcode", 3, 37, 32},	   {"valid", 3, 63, 63},
};
constexpr Place cqp_mac_places[] = {
	{"index", 3, 5, 0}, {"ignore_refs", 3, 61, 61}, {"free", 3, 62, 62},
	{"mac", 4, 47, 0},  {"opcode", 3, 37, 32},	{"valid", 3, 63, 63},
};
constexpr Place ccqe_places[] = {
	{"cookie", 1, 63, 0},	    {"return_value", 2, 31, 0}, {"minor_error", 3, 15, 0},
	{"major_error", 3, 31, 16}, {"wqe_index", 3, 46, 32},	{"error", 3, 55, 55},
	{"valid", 3, 63, 63},
};
constexpr Place cqe_places[] = {
	{"length", 0, 31, 0},	     {"rtt", 0, 63, 32},	  {"completion_ctx", 1, 63, 0},
	{"inv_stag", 2, 31, 0},	     {"qp", 2, 55, 32},		  {"minor_error", 3, 15, 0},
	{"major_error", 3, 31, 16},  {"wqe_index", 3, 46, 32},	  {"extended", 3, 50, 50},
	{"push_dropped", 3, 51, 51}, {"stag_or_ipv4", 3, 53, 53}, {"solicited", 3, 54, 54},
	{"error", 3, 55, 55},	     {"op", 3, 61, 56},		  {"is_sq", 3, 62, 62},
	{"valid", 3, 63, 63},
};
constexpr Place ext_cqe_places[] = {
	{"imm", 0, 31, 0},	   {"src_mac", 2, 47, 0},    {"vlan", 2, 63, 48},
	{"vlan_valid", 3, 60, 60}, {"mac_valid", 3, 61, 61}, {"imm_valid", 3, 62, 62},
	{"valid", 3, 63, 63},
};
constexpr Place cq_shadow_places[] = {
	{"consumer_index", 0, 19, 0}, {"select", 4, 13, 0},	   {"arm_next", 4, 14, 14},
	{"arm_solicited", 4, 15, 15}, {"arm_sequence", 4, 17, 16},
};
constexpr Place qp_shadow_places[] = {
	{"sq_tail", 0, 14, 0},
};
constexpr Place ceqe_places[] = {
	{"context", 0, 62, 0},
	{"valid", 0, 63, 63},
};
constexpr Place aeqe_places[] = {
	{"completion_ctx", 0, 63, 0}, {"id_low", 1, 17, 0},    {"wqe_index", 1, 32, 18},
	{"overflow", 1, 33, 33},      {"code", 1, 45, 34},     {"id_high", 1, 46, 46},
	{"source", 1, 53, 50},	      {"qp_state", 1, 56, 54}, {"tcp_state", 1, 60, 57},
	{"q2_data", 1, 62, 61},	      {"valid", 1, 63, 63},
};
constexpr Place fpm_query_places[] = {
	{"first_sd", 0, 13, 0},		 {"max_sds", 0, 45, 32},       {"max_ceqs", 15, 9, 0},
	{"hash_multiplier", 15, 19, 16}, {"timer_bucket", 15, 47, 32},
};
constexpr Place sq_rdma_places[] = {
	{"remote_addr", 2, 63, 0},     {"remote_stag", 3, 31, 0},  {"opcode", 3, 37, 32},
	{"more_fragments", 3, 41, 38}, {"report_rtt", 3, 46, 46},  {"immediate", 3, 47, 47},
	{"inline_length", 3, 55, 48},  {"push", 3, 56, 56},	   {"inline_data", 3, 57, 57},
	{"read_fence", 3, 60, 60},     {"local_fence", 3, 61, 61}, {"signalled", 3, 62, 62},
	{"valid", 3, 63, 63},
};
constexpr Place sq_ud_places[] = {
	{"ud_qkey", 2, 31, 0},	    {"ud_dest_qp", 2, 55, 32},	   {"ud_ah", 3, 16, 0},
	{"opcode", 3, 37, 32},	    {"more_fragments", 3, 41, 38}, {"report_rtt", 3, 46, 46},
	{"immediate", 3, 47, 47},   {"inline_length", 3, 55, 48},  {"push", 3, 56, 56},
	{"inline_data", 3, 57, 57}, {"read_fence", 3, 60, 60},	   {"local_fence", 3, 61, 61},
	{"signalled", 3, 62, 62},   {"valid", 3, 63, 63},
};
constexpr Place sq_fastreg_places[] = {
	{"va", 0, 63, 0},	  {"first_pble_hi", 1, 11, 0},	{"page", 1, 63, 12},
	{"length", 2, 40, 0},	  {"first_pble_lo", 2, 63, 48}, {"key", 3, 7, 0},
	{"index", 3, 31, 8},	  {"opcode", 3, 37, 32},	{"copy_host_pbl", 3, 43, 43},
	{"pbl_level", 3, 45, 44}, {"page_size", 3, 47, 46},	{"access", 3, 52, 48},
	{"va_based", 3, 53, 53},  {"read_fence", 3, 60, 60},	{"local_fence", 3, 61, 61},
	{"signalled", 3, 62, 62}, {"valid", 3, 63, 63},
};
constexpr Place sq_bind_places[] = {
	{"va", 0, 63, 0},	    {"mw_stag", 1, 31, 0},    {"parent_stag", 1, 63, 32},
	{"length", 2, 63, 0},	    {"opcode", 3, 37, 32},    {"access", 3, 52, 48},
	{"va_based", 3, 53, 53},    {"type1", 3, 54, 54},     {"read_fence", 3, 60, 60},
	{"local_fence", 3, 61, 61}, {"signalled", 3, 62, 62}, {"valid", 3, 63, 63},
};
constexpr Place sq_inval_places[] = {
	{"stag", 1, 31, 0},	    {"opcode", 3, 37, 32},    {"read_fence", 3, 60, 60},
	{"local_fence", 3, 61, 61}, {"signalled", 3, 62, 62}, {"valid", 3, 63, 63},
};
constexpr Place rq_wqe_places[] = {
	{"more_fragments", 3, 41, 38},
	{"valid", 3, 63, 63},
};
constexpr Place qp_context_places[] = {
	{"ipv4", 0, 3, 3},
	{"insert_vlan", 0, 5, 5},
	{"is_qp1", 0, 6, 6},
	{"rq_wqe_size", 0, 9, 8},
	{"err_rq_idx_valid", 0, 19, 19},
	{"pd_hi", 0, 21, 20},
	{"dctcp_enable", 0, 25, 25},
	{"rcv_tph", 0, 28, 28},
	{"xmit_tph", 0, 29, 29},
	{"rq_tph", 0, 30, 30},
	{"sq_tph", 0, 31, 31},
	{"push_page", 0, 41, 32},
	{"push_enable", 0, 47, 47},
	{"roce_version", 0, 63, 60},
	{"sq_addr", 1, 63, 0},
	{"rq_addr", 2, 63, 0},
	{"ttl", 3, 7, 0},
	{"rq_size", 3, 11, 8},
	{"sq_size", 3, 15, 12},
	{"tos", 3, 31, 24},
	{"src_port", 3, 47, 32},
	{"dest_port", 3, 63, 48},
	{"dest_ip3", 4, 31, 0},
	{"dest_ip2", 4, 63, 32},
	{"dest_ip1", 5, 31, 0},
	{"dest_ip0", 5, 63, 32},
	{"path_mtu", 6, 29, 16},
	{"vlan_tag", 6, 47, 32},
	{"arp_index", 6, 63, 48},
	{"flow_label", 7, 19, 0},
	{"ack_credits", 7, 24, 20},
	{"pkey", 7, 47, 32},
	{"pd", 7, 63, 48},
	{"dest_qp", 8, 23, 0},
	{"qkey", 8, 63, 32},
	{"psn_next", 10, 23, 0},
	{"lsn", 10, 55, 32},
	{"expected_psn", 11, 23, 0},
	{"psn_max", 12, 23, 0},
	{"psn_una", 12, 55, 32},
	{"cwnd", 14, 55, 32},
	{"err_rq_idx", 16, 45, 32},
	{"retry_count", 16, 53, 48},
	{"rnr_retry", 16, 56, 54},
	{"rto_min", 16, 63, 57},
	{"send_cq", 17, 18, 0},
	{"recv_cq", 17, 50, 32},
	{"stats_index", 18, 6, 0},
	{"src_mac", 19, 63, 16},
	{"ord", 20, 7, 0},
	{"ird_code", 20, 18, 16},
	{"ud_priv_cq", 20, 19, 19},
	{"wr_rdresp_ok", 20, 20, 20},
	{"rd_ok", 20, 21, 21},
	{"dcqcn_enable", 20, 22, 22},
	{"bind_enable", 20, 23, 23},
	{"fastreg_enable", 20, 24, 24},
	{"priv_enable", 20, 25, 25},
	{"use_stats_instance", 20, 26, 26},
	{"timely_enable", 20, 27, 27},
	{"fw_cc_enable", 20, 28, 28},
	{"rcv_no_icrc", 20, 31, 31},
	{"completion_ctx", 21, 63, 0},
	{"sq_tph_value", 22, 7, 0},
	{"rq_tph_value", 22, 15, 8},
	{"qs_handle", 22, 25, 16},
	{"local_ip3", 23, 31, 0},
	{"local_ip2", 23, 63, 32},
	{"local_ip1", 24, 31, 0},
	{"local_ip0", 24, 63, 32},
	{"t_low", 25, 39, 32},
	{"t_high", 25, 63, 52},
	{"remote_endpoint", 26, 16, 0},
};
constexpr Place statistics_places[] = {
	{"ip4InDiscards", 3, 63, 32},
	{"ip4InTruncatedPkts", 3, 31, 0},
	{"ip4OutNoRoutes", 23, 55, 32},
	{"ip6InDiscards", 9, 63, 32},
	{"ip6InTruncatedPkts", 9, 31, 0},
	{"ip6OutNoRoutes", 23, 23, 0},
	{"tcpRetransSegs", 27, 63, 32},
	{"tcpInOptErrors", 25, 55, 32},
	{"tcpInProtoErrors", 25, 23, 0},
	{"rxVlanErrors", 0, 55, 32},
	{"ip4InOctets", 1, 47, 0},
	{"ip4InPkts", 2, 47, 0},
	{"ip4InReasmRqd", 4, 47, 0},
	{"ip4InMcastPkts", 6, 47, 0},
	{"ip4OutOctets", 13, 47, 0},
	{"ip4OutPkts", 14, 47, 0},
	{"ip4OutSegRqd", 15, 47, 0},
	{"ip4OutMcastPkts", 17, 47, 0},
	{"ip6InOctets", 7, 47, 0},
	{"ip6InPkts", 8, 47, 0},
	{"ip6InReasmRqd", 10, 47, 0},
	{"ip6InMcastPkts", 12, 47, 0},
	{"ip6OutOctets", 18, 47, 0},
	{"ip6OutPkts", 19, 47, 0},
	{"ip6OutSegRqd", 20, 47, 0},
	{"ip6OutMcastPkts", 22, 47, 0},
	{"tcpInSegs", 24, 63, 32},
	{"tcpOutSegs", 26, 47, 0},
	{"iwInRdmaReads", 31, 47, 0},
	{"iwInRdmaSends", 32, 47, 0},
	{"iwInRdmaWrites", 30, 47, 0},
	{"iwOutRdmaReads", 34, 47, 0},
	{"iwOutRdmaSends", 35, 47, 0},
	{"iwOutRdmaWrites", 33, 47, 0},
	{"iwRdmaBnd", 36, 47, 0},
	{"iwRdmaInv", 37, 47, 0},
	{"ip4InMcastOctets", 5, 47, 0},
	{"ip4OutMcastOctets", 16, 47, 0},
	{"ip6InMcastOctets", 11, 47, 0},
	{"ip6OutMcastOctets", 21, 47, 0},
	{"RxUDP", 28, 47, 0},
	{"TxUDP", 29, 47, 0},
	{"RxECNMrkd", 38, 55, 0},
	{"cnpHandled", 39, 31, 0},
	{"cnpIgnored", 39, 55, 32},
	{"cnpSent", 40, 31, 0},
};

/* What has no list in hw/: it stands in another structure, in part of one, or in a register. */
#define FIELDS(name, ...) constexpr hw::Field name##_fields[] = {__VA_ARGS__}
FIELDS(fragment, hw::fragment::stag, hw::fragment::length, hw::fragment::valid);
FIELDS(immediate, hw::sq::imm_data);
FIELDS(datagram_cqe, hw::cqe::src_qp);
FIELDS(feature, hw::cqp_features::entry_info, hw::cqp_features::entry_type);
FIELDS(first_feature, hw::cqp_features::fw_minor, hw::cqp_features::fw_major,
       hw::cqp_features::entry_count);
FIELDS(segment, hw::cqp_sds::sd_index, hw::cqp_sds::sd_partition, hw::cqp_sds::sd_write,
       hw::cqp_sds::sd_valid, hw::cqp_sds::sd_direct, hw::cqp_sds::sd_bp_count,
       hw::cqp_sds::sd_page);
FIELDS(member, hw::cqp_mcast::member_qp, hw::cqp_mcast::member_valid, hw::cqp_mcast::member_port);
FIELDS(fpm_offer, hw::fpm_count, hw::fpm_size);
FIELDS(fpm_qps, hw::fpm_qp_count, hw::fpm_base);
FIELDS(fpm_cqs, hw::fpm_cq_count);
FIELDS(cqptail, hw::reg::cqptail_index, hw::reg::cqptail_error);
FIELDS(ccqpstatus, hw::reg::ccqpstatus_done, hw::reg::ccqpstatus_error);
FIELDS(cqperrcodes, hw::reg::cqperrcodes_minor, hw::reg::cqperrcodes_major);
FIELDS(lbarctrl, hw::reg::lbarctrl_db_size);
FIELDS(rstat, hw::reg::rstat_device_state);
FIELDS(pdinv, hw::reg::pdinv_sd_index, hw::reg::pdinv_partition, hw::reg::pdinv_pd_index);
FIELDS(dyn_ctl, hw::reg::dyn_ctl_intena, hw::reg::dyn_ctl_clearpba, hw::reg::dyn_ctl_swint_trig,
       hw::reg::dyn_ctl_itr_index, hw::reg::dyn_ctl_interval, hw::reg::dyn_ctl_wb_on_itr,
       hw::reg::dyn_ctl_intena_mask);
FIELDS(cause, hw::reg::cause_vector, hw::reg::cause_itr_index, hw::reg::cause_enable);
#undef FIELDS

constexpr Place fragment_places[] = {
	{"stag", 1, 31, 0},
	{"length", 1, 62, 32},
	{"valid", 1, 63, 63},
};
constexpr Place immediate_places[] = {{"imm_data", 0, 31, 0}};
constexpr Place datagram_cqe_places[] = {{"src_qp", 2, 31, 0}};
constexpr Place feature_places[] = {{"info", 0, 47, 0}, {"type", 0, 63, 48}};
constexpr Place first_feature_places[] = {
	{"fw_minor", 0, 15, 0},
	{"fw_major", 0, 31, 16},
	{"entry_count", 0, 47, 32},
};
constexpr Place segment_places[] = {
	{"sd_index", 0, 14, 0}, {"sd_partition", 0, 15, 15}, {"sd_write", 0, 31, 31},
	{"sd_valid", 1, 0, 0},	{"sd_direct", 1, 1, 1},	     {"sd_bp_count", 1, 11, 2},
	{"sd_page", 1, 63, 12},
};
constexpr Place member_places[] = {
	{"qp", 0, 17, 0},
	{"valid", 0, 31, 31},
	{"port", 0, 47, 32},
};
constexpr Place fpm_offer_places[] = {{"count", 0, 31, 0}, {"size", 0, 63, 32}};
constexpr Place fpm_qps_places[] = {{"count", 0, 18, 0}, {"base", 0, 63, 32}};
constexpr Place fpm_cqs_places[] = {{"count", 0, 19, 0}};
constexpr Place cqptail_places[] = {{"index", 0, 10, 0}, {"error", 0, 31, 31}};
constexpr Place ccqpstatus_places[] = {{"done", 0, 0, 0}, {"error", 0, 31, 31}};
constexpr Place cqperrcodes_places[] = {{"minor", 0, 15, 0}, {"major", 0, 31, 16}};
constexpr Place lbarctrl_places[] = {{"pe_db_size", 0, 5, 4}};
constexpr Place rstat_places[] = {{"device_state", 0, 1, 0}};
constexpr Place pdinv_places[] = {
	{"sd_index", 0, 11, 0},
	{"partition", 0, 15, 15},
	{"pd_index", 0, 24, 16},
};
constexpr Place dyn_ctl_places[] = {
	{"intena", 0, 0, 0},	    {"clearpba", 0, 1, 1},  {"swint_trig", 0, 2, 2},
	{"itr_index", 0, 4, 3},	    {"interval", 0, 16, 5}, {"wb_on_itr", 0, 30, 30},
	{"intena_mask", 0, 31, 31},
};
constexpr Place cause_places[] = {
	{"vector", 0, 10, 0},
	{"itr_index", 0, 12, 11},
	{"enable", 0, 30, 30},
};

/** A structure: what the driver has of it, and where each of its fields is. */
struct Structure {
	hw::Layout layout;
	const Place *places;
	u32 count, words;
};

constexpr Structure structures[] = {
	STRUCTURE(cqp_context, hw::cqp_context::fields, 8),
	STRUCTURE(cqp_qp, hw::cqp_qp::fields, 8),
	STRUCTURE(cqp_cq, hw::cqp_cq::fields, 8),
	STRUCTURE(cqp_stag, hw::cqp_stag::fields, 8),
	STRUCTURE(cqp_arp, hw::cqp_arp::fields, 8),
	STRUCTURE(cqp_push, hw::cqp_push::fields, 8),
	STRUCTURE(cqp_features, hw::cqp_features::fields, 8),
	STRUCTURE(cqp_upload, hw::cqp_upload::fields, 8),
	STRUCTURE(cqp_ceq, hw::cqp_ceq::fields, 8),
	STRUCTURE(cqp_aeq, hw::cqp_aeq::fields, 8),
	STRUCTURE(cqp_ah, hw::cqp_ah::fields, 8),
	STRUCTURE(cqp_sds, hw::cqp_sds::fields, 8),
	STRUCTURE(cqp_fpm, hw::cqp_fpm::fields, 8),
	STRUCTURE(cqp_shmc, hw::cqp_shmc::fields, 8),
	STRUCTURE(cqp_flush, hw::cqp_flush::fields, 8),
	STRUCTURE(cqp_mcast, hw::cqp_mcast::fields, 8),
	STRUCTURE(cqp_suspend, hw::cqp_suspend::fields, 8),
	STRUCTURE(cqp_ws, hw::cqp_ws::fields, 8),
	STRUCTURE(cqp_stats, hw::cqp_stats::fields, 8),
	STRUCTURE(cqp_upmap, hw::cqp_upmap::fields, 8),
	STRUCTURE(cqp_apbvt, hw::cqp_apbvt::fields, 8),
	STRUCTURE(cqp_qhash, hw::cqp_qhash::fields, 8),
	STRUCTURE(cqp_mac, hw::cqp_mac::fields, 8),
	STRUCTURE(ccqe, hw::ccqe::fields, 4),
	STRUCTURE(cqe, hw::cqe::fields, 4),
	STRUCTURE(ext_cqe, hw::ext_cqe::fields, 4),
	STRUCTURE(cq_shadow, hw::cq_shadow::fields, 8),
	STRUCTURE(qp_shadow, hw::qp_shadow::fields, 8),
	STRUCTURE(ceqe, hw::ceqe::fields, 1),
	STRUCTURE(aeqe, hw::aeqe::fields, 2),
	STRUCTURE(fpm_query, hw::fpm_query::fixed_fields, 22),
	STRUCTURE(sq_rdma, hw::sq::rdma_fields, 4),
	STRUCTURE(sq_ud, hw::sq::ud_fields, 4),
	STRUCTURE(sq_fastreg, hw::sq_fastreg::fields, 4),
	STRUCTURE(sq_bind, hw::sq_bind::fields, 4),
	STRUCTURE(sq_inval, hw::sq_inval::fields, 4),
	STRUCTURE(rq_wqe, hw::rq::fields, 4),
	STRUCTURE(qp_context, hw::qpc::fields, 32),
	STRUCTURE(statistics, hw::statistics, 128),
	STRUCTURE(fragment, fragment_fields, 2),
	STRUCTURE(immediate, immediate_fields, 1),
	STRUCTURE(datagram_cqe, datagram_cqe_fields, 4),
	STRUCTURE(feature, feature_fields, 1),
	STRUCTURE(first_feature, first_feature_fields, 1),
	STRUCTURE(segment, segment_fields, 2),
	STRUCTURE(member, member_fields, 1),
	STRUCTURE(fpm_offer, fpm_offer_fields, 1),
	STRUCTURE(fpm_qps, fpm_qps_fields, 1),
	STRUCTURE(fpm_cqs, fpm_cqs_fields, 1),
	STRUCTURE(cqptail, cqptail_fields, 1),
	STRUCTURE(ccqpstatus, ccqpstatus_fields, 1),
	STRUCTURE(cqperrcodes, cqperrcodes_fields, 1),
	STRUCTURE(lbarctrl, lbarctrl_fields, 1),
	STRUCTURE(rstat, rstat_fields, 1),
	STRUCTURE(pdinv, pdinv_fields, 1),
	STRUCTURE(dyn_ctl, dyn_ctl_fields, 1),
	STRUCTURE(cause, cause_fields, 1),
};

const hw::Field *find(const hw::Layout &layout, const char *name)
{
	for (u32 i = 0; i < layout.count; i++)
		if (same_text(layout.fields[i].name, name))
			return &layout.fields[i];
	return nullptr;
}

/* ---- Tests ---- */

void fields_are_where_the_device_has_them()
{
	u32 checked = 0;

	for (const Structure &s : structures)
		for (u32 i = 0; i < s.count; i++) {
			const Place &place = s.places[i];
			const hw::Field *field = find(s.layout, place.name);

			checked++;
			if (!field)
				FAIL("%s has no field %s", s.layout.name, place.name);
			else if (field->word != place.word || field->hi != place.hi ||
				 field->lo != place.lo)
				FAIL("%s.%s is word %u, bits %u:%u, not word %u, bits %u:%u",
				     s.layout.name, place.name, field->word, field->hi, field->lo,
				     place.word, place.hi, place.lo);
		}
	note("%u fields of %u structures", checked, static_cast<u32>(array_size(structures)));
}

void no_field_is_unknown_to_this_test()
{
	for (const Structure &s : structures)
		for (u32 i = 0; i < s.layout.count; i++) {
			bool known = false;

			for (u32 j = 0; j < s.count; j++)
				known = known ||
					same_text(s.places[j].name, s.layout.fields[i].name);
			if (!known)
				FAIL("%s.%s has no place here", s.layout.name,
				     s.layout.fields[i].name);
		}
}

/* Writing one field to all ones touches its bits alone, and reads back. */
void fields_do_not_overlap()
{
	for (const Structure &s : structures)
		for (u32 i = 0; i < s.layout.count; i++) {
			const hw::Field &field = s.layout.fields[i];
			hw::Words<most_words> words;

			REQUIRE(field.word < s.words && field.word < most_words);
			words.set(field, ~0ULL);
			for (u32 w = 0; w < most_words; w++) {
				u64 wanted = 0;

				for (u32 bit = field.lo; w == field.word && bit <= field.hi; bit++)
					wanted |= 1ULL << bit;
				if (words.qw[w].get() != wanted)
					FAIL("%s.%s sets word %u to 0x%llx", s.layout.name,
					     field.name, w, words.qw[w].get());
			}
			for (u32 j = 0; j < s.layout.count; j++)
				if (j != i && words.get(s.layout.fields[j]))
					FAIL("%s.%s overlaps %s", s.layout.name, field.name,
					     s.layout.fields[j].name);
			words.set(field, 0);
			EXPECT_EQ(words.qw[field.word].get(), 0);
		}
}

/* A value too large is cut, and leaves its neighbours alone. */
void values_are_cut_to_their_field()
{
	hw::Words<8> words;

	words.set(hw::cqp_qp::qp, 0x1ffffff);
	EXPECT_EQ(words.qw[3].get(), 0xffffff);
	words.set(hw::cqp_qp::next_state, 0xff);
	EXPECT_EQ(words.qw[3].get(), 0x7000000000ffffffULL);
	words.set(hw::cqp_qp::qp, 5);
	EXPECT_EQ(words.qw[3].get(), 0x7000000000000005ULL);
	EXPECT_EQ(hw::cqp_cq::context.max(), ~0ULL >> 1);
	EXPECT_EQ(hw::cqp_qp::shadow_addr.max(), ~0ULL);
}

/* Little endian in memory, whatever the CPU is. */
void words_are_little_endian()
{
	hw::Le64 word(0x0102030405060708ULL);
	const u8 *bytes = reinterpret_cast<const u8 *>(&word);

	for (u32 i = 0; i < 8; i++)
		EXPECT_EQ(bytes[i], 8 - i);
	word.write_once(0xff);
	EXPECT_EQ(bytes[0], 0xff);
	EXPECT_EQ(bytes[7], 0);
	EXPECT_EQ(word.read_once(), 0xff);
}

void sizes_are_those_of_the_device()
{
	EXPECT_EQ(sizeof(hw::CqpWqe), 64);
	EXPECT_EQ(sizeof(hw::CcqEntry), 32);
	EXPECT_EQ(sizeof(hw::Cqe), 32);
	EXPECT_EQ(sizeof(hw::Ceqe), 8);
	EXPECT_EQ(sizeof(hw::Aeqe), 16);
	EXPECT_EQ(sizeof(hw::QpContext), 256);
	EXPECT_EQ(sizeof(hw::FpmBuffer), 176);
	EXPECT_EQ(sizeof(hw::Quantum), 32);
	EXPECT_EQ(sizeof(hw::Statistics), 1024);
}

/* Opcodes of the control QP: name of the layout, number in the device. */
void opcodes_are_those_of_the_device()
{
	static constexpr struct {
		u32 op;
		const char *name;
	} ops[] = {
		{0x00, "create_qp"},
		{0x01, "modify_qp"},
		{0x02, "destroy_qp"},
		{0x03, "create_cq"},
		{0x04, "modify_cq"},
		{0x05, "destroy_cq"},
		{0x09, "alloc_stag"},
		{0x0a, "reg_mr"},
		{0x0b, "query_stag"},
		{0x0c, "reg_shared_mr"},
		{0x0d, "dealloc_stag"},
		{0x0e, "manage_loc_mac"},
		{0x0f, "manage_arp"},
		{0x10, "manage_vf_pble_bp"},
		{0x11, "manage_push_page"},
		{0x12, "query_rdma_features"},
		{0x13, "upload_context"},
		{0x14, "alloc_loc_mac"},
		{0x15, "manage_hmc_pm_func"},
		{0x16, "create_ceq"},
		{0x18, "destroy_ceq"},
		{0x19, "create_aeq"},
		{0x1b, "destroy_aeq"},
		{0x1c, "create_ah"},
		{0x1d, "modify_ah"},
		{0x1e, "destroy_ah"},
		{0x1f, "update_pe_sds"},
		{0x20, "query_fpm"},
		{0x21, "commit_fpm"},
		{0x22, "flush_wqes"},
		{0x23, "manage_apbvt"},
		{0x24, "nop"},
		{0x25, "manage_qhash"},
		{0x26, "create_mcast"},
		{0x27, "modify_mcast"},
		{0x28, "destroy_mcast"},
		{0x29, "suspend_qp"},
		{0x2a, "resume_qp"},
		{0x2b, "shmc_pages_allocated"},
		{0x2c, "work_sched_node"},
		{0x2d, "manage_stats"},
		{0x2e, "gather_stats"},
		{0x2f, "up_map"},
	};
	u32 named = 0;

	for (const auto &op : ops)
		if (!same_text(hw::cqp_layout(op.op).name, op.name))
			FAIL("command 0x%x is %s, not %s", op.op, hw::cqp_layout(op.op).name,
			     op.name);
	for (u32 op = 0; op < 64; op++)
		named += *hw::cqp_layout(op).name != 0;
	EXPECT_EQ(named, array_size(ops));
	/* Each has its fields checked above, unless it is only a header. */
	for (u32 op = 0; op < 64; op++) {
		hw::Layout layout = hw::cqp_layout(op);
		bool checked = !*layout.name || layout.fields == hw::cqp_other::fields;

		for (const Structure &s : structures)
			checked = checked || s.layout.fields == layout.fields;
		if (!checked)
			FAIL("fields of %s are not checked", layout.name);
	}
}

/* Values that stand in fields (defs.h and type.h of the stock driver). */
void values_are_those_of_the_device()
{
	EXPECT_EQ(hw::SqOp::rdma_write, 0x00);
	EXPECT_EQ(hw::SqOp::rdma_read, 0x01);
	EXPECT_EQ(hw::SqOp::send, 0x03);
	EXPECT_EQ(hw::SqOp::send_inv, 0x04);
	EXPECT_EQ(hw::SqOp::send_solicited, 0x05);
	EXPECT_EQ(hw::SqOp::send_solicited_inv, 0x06);
	EXPECT_EQ(hw::SqOp::bind_mw, 0x08);
	EXPECT_EQ(hw::SqOp::fast_register, 0x09);
	EXPECT_EQ(hw::SqOp::local_invalidate, 0x0a);
	EXPECT_EQ(hw::SqOp::rdma_read_inv, 0x0b);
	EXPECT_EQ(hw::SqOp::nop, 0x0c);
	EXPECT_EQ(hw::SqOp::rdma_write_solicited, 0x0d);
	EXPECT_EQ(hw::SqOp::generate_rts_ae, 0x30);
	EXPECT_EQ(hw::QpState::invalid, 0);
	EXPECT_EQ(hw::QpState::idle, 1);
	EXPECT_EQ(hw::QpState::rts, 2);
	EXPECT_EQ(hw::QpState::sqd, 3);
	EXPECT_EQ(hw::QpState::rtr, 4);
	EXPECT_EQ(hw::QpState::terminate, 5);
	EXPECT_EQ(hw::QpState::error, 6);
	EXPECT_EQ(hw::QpType::rc, 3);
	EXPECT_EQ(hw::QpType::ud, 4);
	EXPECT_EQ(hw::PblLevel::contiguous, 0);
	EXPECT_EQ(hw::PblLevel::one, 1);
	EXPECT_EQ(hw::PblLevel::two, 3);
	EXPECT_EQ(hw::HostPage::size_4k, 0);
	EXPECT_EQ(hw::HostPage::size_2m, 1);
	EXPECT_EQ(hw::HostPage::size_1g, 2);
	EXPECT_EQ(hw::access::local_read, 1);
	EXPECT_EQ(hw::access::local_write, 2);
	EXPECT_EQ(hw::access::remote_read, 4);
	EXPECT_EQ(hw::access::remote_write, 8);
	EXPECT_EQ(hw::access::bind, 16);
	EXPECT_EQ(hw::cqp_ws::op_add, 0);
	EXPECT_EQ(hw::cqp_ws::op_modify, 1);
	EXPECT_EQ(hw::cqp_ws::op_delete, 2);
	EXPECT_EQ(hw::cqp_ws::priority_weighted, 1);
	EXPECT_EQ(hw::cqp_ws::priority_strict, 2);
	EXPECT_EQ(hw::inline_valid, 0x80);
	EXPECT_EQ(hw::pd_entry_valid, 1);
}

/* Where each kind of object stands in the buffers of QUERY_FPM and COMMIT_FPM, in bytes. */
void kinds_of_objects_are_where_the_device_has_them()
{
	static constexpr struct {
		const char *name;
		u32 query, commit;
	} kinds[] = {
		{"QP", 8, 0},	     {"CQ", 16, 8},	     {"HTE", 32, 24},
		{"ARP", 40, 32},     {"APBVT", 0, 40},	     {"MR", 48, 48},
		{"XF", 56, 56},	     {"XFFL", 64, 64},	     {"Q1", 72, 72},
		{"Q1FL", 80, 80},    {"TIMER", 88, 88},	     {"FSIMC", 96, 96},
		{"FSIAV", 104, 104}, {"PBLE", 112, 112},     {"RRF", 128, 128},
		{"RRFFL", 136, 136}, {"HDR", 144, 144},	     {"MD", 152, 152},
		{"OOISC", 160, 160}, {"OOISCFFL", 168, 168},
	};
	u32 found = 0;

	for (const auto &kind : kinds)
		for (const hw::HmcObjectInfo &info : hw::hmc_object_info) {
			if (!same_text(info.name, kind.name))
				continue;
			found++;
			if (info.query_word * 8 != kind.query ||
			    info.commit_word * 8 != kind.commit)
				FAIL("%s is at %u and %u, not at %u and %u", kind.name,
				     info.query_word * 8u, info.commit_word * 8u, kind.query,
				     kind.commit);
		}
	EXPECT_EQ(found, array_size(hw::hmc_object_info));
	EXPECT_EQ(found, array_size(kinds));
	for (u32 i = 0; i < hw::hmc_objects; i++)
		EXPECT_EQ(hw::hmc_object_info[i].object, i);
}

/* Registers as the stock driver and the model's facts have them. */
void registers_are_where_the_device_has_them()
{
	EXPECT_EQ(hw::reg::pfpe_cqptail, 0x500880);
	EXPECT_EQ(hw::reg::pfpe_cqpdb, 0x500800);
	EXPECT_EQ(hw::reg::pfpe_ccqpstatus, 0x50a000);
	EXPECT_EQ(hw::reg::pfpe_ccqphigh, 0x50a100);
	EXPECT_EQ(hw::reg::pfpe_ccqplow, 0x50a080);
	EXPECT_EQ(hw::reg::pfpe_cqperrcodes, 0x50a200);
	EXPECT_EQ(hw::reg::pfpe_cqarm, 0x502c00);
	EXPECT_EQ(hw::reg::pfpe_cqack, 0x502c80);
	EXPECT_EQ(hw::reg::pfpe_aeqalloc, 0x502d00);
	EXPECT_EQ(hw::reg::pfpe_wqealloc, 0x504400);
	EXPECT_EQ(hw::reg::glpe_cpustatus0, 0x50ba5c);
	EXPECT_EQ(hw::reg::glpci_lbarctrl, 0x09de74);
	EXPECT_EQ(hw::reg::glpe_criterr, 0x534000);
	EXPECT_EQ(hw::reg::glgen_rstat, 0x0b8188);
	EXPECT_EQ(hw::reg::pfhmc_pdinv, 0x520300);
	EXPECT_EQ(hw::reg::glint_dyn_ctl(5), 0x160014);
	EXPECT_EQ(hw::reg::glint_ceqctl(3), 0x15c00c);
	EXPECT_EQ(hw::reg::pfint_aeqctl, 0x16cb00);
	EXPECT_EQ(hw::reg::db_page_offset, 0x7f0000);
}

/* AEQ sources whose number is a CQ's, and whose is a QP's. */
void sources_of_events()
{
	for (u32 source = 0; source < 16; source++) {
		bool cq = source == 0x2 || source == 0x6 || source == 0xa || source == 0xe;

		EXPECT_EQ(hw::ae_source_is_cq(source), cq);
		EXPECT_EQ(hw::ae_source_is_qp(source), source & 1);
	}
}

/* READs as responder: the smallest of 4, 16, 64, 128, 256 entries that holds two for each. */
void responder_resources_are_encoded()
{
	static constexpr struct {
		u32 ird, code;
	} codes[] = {{0, 0},  {1, 0},  {2, 0},	{3, 1},	 {8, 1},   {9, 2},
		     {32, 2}, {33, 3}, {64, 3}, {65, 4}, {127, 4}, {128, 4}};

	for (const auto &c : codes)
		if (hw::ird_encode(c.ird) != c.code)
			FAIL("IRD %u has code %u, not %u", c.ird, hw::ird_encode(c.ird), c.code);
	EXPECT_EQ(hw::ird_decode(0), 2);
	EXPECT_EQ(hw::ird_decode(4), 128);
	EXPECT_EQ(hw::ird_decode(5), 0);
}

void counters_wrap()
{
	EXPECT_EQ(hw::counter_delta(hw::statistics[5], hw::statistics[5].max(), 3), 4);
}

/* ---- Driver data of processes ---- */

/* Each length, in and out. The least are those of libirdma's calls (rdma-core, irdma-abi.h). */
void udata_of_each_length()
{
	static constexpr struct {
		irdma_call call;
		const char *name;
		u32 in, out;
		bool optional; /* none at all is right as well */
	} calls[] = {
		{IRDMA_CALL_CONTEXT, "context", 8, 16, false},
		{IRDMA_CALL_PD, "PD", 0, 8, false},
		{IRDMA_CALL_CREATE_CQ, "create CQ", 16, 8, false},
		{IRDMA_CALL_RESIZE_CQ, "resize CQ", 8, 0, false},
		{IRDMA_CALL_CREATE_QP, "create QP", 16, 20, false},
		{IRDMA_CALL_MODIFY_QP, "modify QP", 2, 19, true},
		{IRDMA_CALL_MR, "MR", 8, 0, false},
		{IRDMA_CALL_AH, "AH", 0, 8, false},
	};

	for (const auto &c : calls)
		for (u32 in = 0; in < 256; in++)
			for (u32 out = 0; out < 256; out++) {
				bool right = (in >= c.in || (c.optional && !in)) &&
					     (out >= c.out || (c.optional && !out));

				if (irdma_udata_ok(c.call, in, out) != right)
					return FAIL("%s with %u bytes in, %u out is %s", c.name, in,
						    out, right ? "refused" : "taken");
			}
	EXPECT(!irdma_udata_ok(static_cast<irdma_call>(99), 256, 256));
	EXPECT(irdma_udata_ok(IRDMA_CALL_MODIFY_QP, ~0ULL, ~0ULL));
}

constexpr bridge_case cases[] = {
	TEST(fields_are_where_the_device_has_them),
	TEST(no_field_is_unknown_to_this_test),
	TEST(fields_do_not_overlap),
	TEST(values_are_cut_to_their_field),
	TEST(words_are_little_endian),
	TEST(sizes_are_those_of_the_device),
	TEST(opcodes_are_those_of_the_device),
	TEST(values_are_those_of_the_device),
	TEST(kinds_of_objects_are_where_the_device_has_them),
	TEST(registers_are_where_the_device_has_them),
	TEST(sources_of_events),
	TEST(responder_resources_are_encoded),
	TEST(counters_wrap),
	TEST(udata_of_each_length),
};

} // namespace

SUITE(layouts, cases)
