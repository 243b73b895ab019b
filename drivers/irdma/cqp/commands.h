// SPDX-License-Identifier: GPL-2.0
/*
 * The commands of the control QP, one type each. A command is a plain struct
 * of its operands; encode() writes them into a zeroed work request. Opcode and
 * valid bit are the ring's business.
 *
 * Operands are in the units that the datasheet's fields have; layouts are in
 * hw/cqp.h.
 */
#ifndef IRDMA_CQP_COMMANDS_H
#define IRDMA_CQP_COMMANDS_H

#include "../hw/cqp.h"
#include "../hw/hmc.h"
#include "../hw/qp_context.h"

namespace irdma::cmd {

using CqpOp = hw::CqpOp;
using CqpWqe = hw::CqpWqe;

/** CREATE_QP. */
struct CreateQp {
	static constexpr CqpOp op = CqpOp::create_qp;
	u32 qp;
	hw::QpType type;
	bool virtual_queues; /**< queue addresses in the context are PBLE indexes */
	u64 context;	     /**< bus address of the QP context */
	u64 shadow;	     /**< bus address of the shadow area */

	void encode(CqpWqe &w) const
	{
		w.set(hw::cqp_qp::qp, qp);
		w.set(hw::cqp_qp::qp_type, static_cast<u64>(type));
		w.set(hw::cqp_qp::virtual_queues, virtual_queues);
		w.set(hw::cqp_qp::context_addr, context);
		w.set(hw::cqp_qp::shadow_addr, shadow);
		w.set(hw::cqp_qp::mac_valid, 1);
		w.set(hw::cqp_qp::cq_num_valid, 1);
		w.set(hw::cqp_qp::next_state, static_cast<u64>(hw::QpState::idle));
	}
};

/** MODIFY_QP: the device reads what the flags and the next state call for from the context. */
struct ModifyQp {
	static constexpr CqpOp op = CqpOp::modify_qp;
	u32 qp;
	hw::QpType type;
	bool virtual_queues;
	u64 context;
	u64 shadow;
	hw::QpState next_state;
	bool arp_valid;
	bool cq_num_valid;
	bool ord_valid;
	bool mac_valid;

	void encode(CqpWqe &w) const
	{
		w.set(hw::cqp_qp::qp, qp);
		w.set(hw::cqp_qp::qp_type, static_cast<u64>(type));
		w.set(hw::cqp_qp::virtual_queues, virtual_queues);
		w.set(hw::cqp_qp::context_addr, context);
		w.set(hw::cqp_qp::shadow_addr, shadow);
		w.set(hw::cqp_qp::arp_valid, arp_valid);
		w.set(hw::cqp_qp::cq_num_valid, cq_num_valid);
		w.set(hw::cqp_qp::ord_valid, ord_valid);
		w.set(hw::cqp_qp::mac_valid, mac_valid);
		w.set(hw::cqp_qp::next_state, static_cast<u64>(next_state));
	}
};

/** DESTROY_QP. */
struct DestroyQp {
	static constexpr CqpOp op = CqpOp::destroy_qp;
	u32 qp;
	hw::QpType type;
	u64 context;
	u64 shadow;

	void encode(CqpWqe &w) const
	{
		w.set(hw::cqp_qp::qp, qp);
		w.set(hw::cqp_qp::qp_type, static_cast<u64>(type));
		w.set(hw::cqp_qp::context_addr, context);
		w.set(hw::cqp_qp::shadow_addr, shadow);
		w.set(hw::cqp_qp::remove_hash, 1);
	}
};

/** Where the pages of a queue are: one run at an address, or a list of PBLEs. */
struct QueueMemory {
	bool virtual_map;
	u64 addr;	/**< bus address; physical only */
	u32 first_pble; /**< virtual only */
};

/** CREATE_CQ. */
struct CreateCq {
	static constexpr CqpOp op = CqpOp::create_cq;
	u32 cq;
	u32 ceq;
	u32 entries;
	u64 context; /**< comes back in CEQ entries, 63 bits */
	QueueMemory memory;
	u64 shadow;
	u32 shadow_read_threshold;
	u32 vsi;
	bool check_overflow;
	bool ceqe_mask = true; /**< all but the CCQ */

	void encode(CqpWqe &w) const
	{
		w.set(hw::cqp_cq::cq, cq);
		w.set(hw::cqp_cq::ceq, ceq);
		w.set(hw::cqp_cq::ceq_valid, 1);
		w.set(hw::cqp_cq::ceqe_mask, ceqe_mask);
		w.set(hw::cqp_cq::size, entries);
		w.set(hw::cqp_cq::context, context);
		w.set(hw::cqp_cq::virtual_map, memory.virtual_map);
		w.set(hw::cqp_cq::pbl_level, memory.virtual_map ? 1 : 0);
		w.set(hw::cqp_cq::addr, memory.virtual_map ? 0 : memory.addr);
		w.set(hw::cqp_cq::first_pble, memory.virtual_map ? memory.first_pble : 0);
		w.set(hw::cqp_cq::shadow_addr, shadow);
		w.set(hw::cqp_cq::shadow_read_threshold, shadow_read_threshold);
		w.set(hw::cqp_cq::check_overflow, check_overflow);
		w.set(hw::cqp_cq::vsi, vsi);
	}
};

/** MODIFY_CQ: move the CQ to another ring. */
struct ResizeCq {
	static constexpr CqpOp op = CqpOp::modify_cq;
	u32 cq;
	u32 entries;
	u64 context;
	QueueMemory memory;
	u64 shadow;
	u32 shadow_read_threshold;
	u32 vsi;

	void encode(CqpWqe &w) const
	{
		w.set(hw::cqp_cq::cq, cq);
		w.set(hw::cqp_cq::resize, 1);
		w.set(hw::cqp_cq::ceqe_mask, 1);
		w.set(hw::cqp_cq::size, entries);
		w.set(hw::cqp_cq::context, context);
		w.set(hw::cqp_cq::virtual_map, memory.virtual_map);
		w.set(hw::cqp_cq::pbl_level, memory.virtual_map ? 1 : 0);
		w.set(hw::cqp_cq::addr, memory.virtual_map ? 0 : memory.addr);
		w.set(hw::cqp_cq::first_pble, memory.virtual_map ? memory.first_pble : 0);
		w.set(hw::cqp_cq::shadow_addr, shadow);
		w.set(hw::cqp_cq::shadow_read_threshold, shadow_read_threshold);
		w.set(hw::cqp_cq::vsi, vsi);
	}
};

/** DESTROY_CQ. */
struct DestroyCq {
	static constexpr CqpOp op = CqpOp::destroy_cq;
	u32 cq;
	u32 ceq;
	u32 entries;
	u64 context;
	QueueMemory memory;
	u64 shadow;
	bool ceqe_mask = true; /**< as it was created */

	void encode(CqpWqe &w) const
	{
		w.set(hw::cqp_cq::cq, cq);
		w.set(hw::cqp_cq::ceq, ceq);
		w.set(hw::cqp_cq::ceq_valid, 1);
		w.set(hw::cqp_cq::ceqe_mask, ceqe_mask);
		w.set(hw::cqp_cq::size, entries);
		w.set(hw::cqp_cq::context, context);
		w.set(hw::cqp_cq::virtual_map, memory.virtual_map);
		w.set(hw::cqp_cq::pbl_level, memory.virtual_map ? 1 : 0);
		w.set(hw::cqp_cq::first_pble, memory.virtual_map ? memory.first_pble : 0);
		w.set(hw::cqp_cq::shadow_addr, shadow);
	}
};

/** Where the pages of an MR are. */
struct PageList {
	hw::PblLevel level;
	hw::HostPage page_size;
	u64 addr;	/**< of the first page; level contiguous only */
	u32 first_pble; /**< other levels */
};

/** REG_MR: a valid STag. */
struct RegMr {
	static constexpr CqpOp op = CqpOp::reg_mr;
	u32 stag; /**< index << 8 | key */
	u32 pd;
	u64 va;	    /**< address of the first byte; zero based: its offset in the first page */
	u64 length; /**< bytes; 0: all memory */
	u32 access; /**< hw::access */
	bool zero_based;
	PageList pages;

	void encode(CqpWqe &w) const
	{
		w.set(hw::cqp_stag::va, va);
		w.set(hw::cqp_stag::length, length);
		w.set(hw::cqp_stag::pd, pd);
		w.set(hw::cqp_stag::key, stag);
		w.set(hw::cqp_stag::index, stag >> 8);
		w.set(hw::cqp_stag::is_mr, 1);
		w.set(hw::cqp_stag::access, access);
		w.set(hw::cqp_stag::remote_access,
		      (access & (hw::access::remote_read | hw::access::remote_write)) != 0);
		w.set(hw::cqp_stag::va_based, !zero_based);
		w.set(hw::cqp_stag::page_size, static_cast<u64>(pages.page_size));
		w.set(hw::cqp_stag::pbl_level, static_cast<u64>(pages.level));
		if (pages.level == hw::PblLevel::contiguous)
			w.set(hw::cqp_stag::addr, pages.addr);
		else
			w.set(hw::cqp_stag::first_pble, pages.first_pble);
	}
};

/** ALLOC_STAG for an MR; rights and pages come with a fast-register request. */
struct AllocMrStag {
	static constexpr CqpOp op = CqpOp::alloc_stag;
	u32 stag;
	u32 pd;
	u64 length; /**< most that it shall map */

	void encode(CqpWqe &w) const
	{
		w.set(hw::cqp_stag::length, length);
		w.set(hw::cqp_stag::pd, pd);
		w.set(hw::cqp_stag::index, stag >> 8);
		w.set(hw::cqp_stag::is_mr, 1);
		w.set(hw::cqp_stag::remote_access, 1);
	}
};

/** ALLOC_STAG for a memory window. */
struct AllocMwStag {
	static constexpr CqpOp op = CqpOp::alloc_stag;
	u32 stag;
	u32 pd;
	bool type1;

	void encode(CqpWqe &w) const
	{
		w.set(hw::cqp_stag::pd, pd);
		w.set(hw::cqp_stag::index, stag >> 8);
		w.set(hw::cqp_stag::mw_wide, type1);
	}
};

/** DEALLOC_STAG of an MR or a memory window. */
struct DeallocStag {
	static constexpr CqpOp op = CqpOp::dealloc_stag;
	u32 stag;
	u32 pd;
	bool is_mr;

	void encode(CqpWqe &w) const
	{
		w.set(hw::cqp_stag::pd, pd);
		w.set(hw::cqp_stag::index, stag >> 8);
		w.set(hw::cqp_stag::is_mr, is_mr);
	}
};

/** MANAGE_ARP: set an entry, or remove it. */
struct ManageArp {
	static constexpr CqpOp op = CqpOp::manage_arp;
	u32 index;
	bool valid; /**< false removes */
	u64 mac;    /**< as a number, first byte in bits 47:40 */

	void encode(CqpWqe &w) const
	{
		w.set(hw::cqp_arp::index, index);
		w.set(hw::cqp_arp::entry_valid, valid);
		w.set(hw::cqp_arp::permanent, valid);
		w.set(hw::cqp_arp::mac, valid ? mac : 0);
	}
};

/** QUERY_RDMA_FEATURES. */
struct QueryFeatures {
	static constexpr CqpOp op = CqpOp::query_rdma_features;
	u64 buffer;
	u32 length;

	void encode(CqpWqe &w) const
	{
		w.set(hw::cqp_features::addr, buffer);
		w.set(hw::cqp_features::length, length);
	}
};

/** CREATE_CEQ. */
struct CreateCeq {
	static constexpr CqpOp op = CqpOp::create_ceq;
	u32 ceq;
	u32 entries;
	u64 addr;
	u32 vsi;
	bool itr_no_expire;

	void encode(CqpWqe &w) const
	{
		w.set(hw::cqp_ceq::ceq, ceq);
		w.set(hw::cqp_ceq::size, entries);
		w.set(hw::cqp_ceq::addr, addr);
		w.set(hw::cqp_ceq::vsi, vsi);
		w.set(hw::cqp_ceq::itr_no_expire, itr_no_expire);
	}
};

/** DESTROY_CEQ. */
struct DestroyCeq {
	static constexpr CqpOp op = CqpOp::destroy_ceq;
	u32 ceq;
	u32 entries;

	void encode(CqpWqe &w) const
	{
		w.set(hw::cqp_ceq::ceq, ceq);
		w.set(hw::cqp_ceq::size, entries);
	}
};

/** CREATE_AEQ. */
struct CreateAeq {
	static constexpr CqpOp op = CqpOp::create_aeq;
	u32 entries;
	QueueMemory memory;

	void encode(CqpWqe &w) const
	{
		w.set(hw::cqp_aeq::size, entries);
		w.set(hw::cqp_aeq::virtual_map, memory.virtual_map);
		w.set(hw::cqp_aeq::pbl_level, memory.virtual_map ? 1 : 0);
		w.set(hw::cqp_aeq::addr, memory.virtual_map ? 0 : memory.addr);
		w.set(hw::cqp_aeq::first_pble, memory.virtual_map ? memory.first_pble : 0);
	}
};

/** DESTROY_AEQ. */
struct DestroyAeq {
	static constexpr CqpOp op = CqpOp::destroy_aeq;
	u32 entries;

	void encode(CqpWqe &w) const { w.set(hw::cqp_aeq::size, entries); }
};

/** What an address handle holds. IPv4 addresses in ip[3]. */
struct AhWords {
	u32 ah;
	u32 pd;
	u64 src_mac; /**< as a number */
	u32 dest_ip[4];
	u32 src_ip[4];
	bool ipv4;
	u32 arp_index;
	u8 traffic_class;
	u8 hop_limit;
	u32 flow_label;
	bool insert_vlan;
	u16 vlan_tag;
	bool loopback;

	void encode(CqpWqe &w) const
	{
		w.set(hw::cqp_ah::ah, ah);
		w.set(hw::cqp_ah::pd, pd);
		w.set(hw::cqp_ah::pd_hi, pd >> 16);
		w.set(hw::cqp_ah::src_mac, src_mac);
		w.set(hw::cqp_ah::ipv4, ipv4);
		w.set(hw::cqp_ah::arp_index, arp_index);
		w.set(hw::cqp_ah::traffic_class, traffic_class);
		w.set(hw::cqp_ah::hop_limit, hop_limit);
		w.set(hw::cqp_ah::flow_label, flow_label);
		w.set(hw::cqp_ah::insert_vlan, insert_vlan);
		w.set(hw::cqp_ah::vlan_tag, vlan_tag);
		w.set(hw::cqp_ah::loopback, loopback);
		w.set(hw::cqp_ah::dest_ip0, dest_ip[0]);
		w.set(hw::cqp_ah::dest_ip1, dest_ip[1]);
		w.set(hw::cqp_ah::dest_ip2, dest_ip[2]);
		w.set(hw::cqp_ah::dest_ip3, dest_ip[3]);
		w.set(hw::cqp_ah::src_ip0, src_ip[0]);
		w.set(hw::cqp_ah::src_ip1, src_ip[1]);
		w.set(hw::cqp_ah::src_ip2, src_ip[2]);
		w.set(hw::cqp_ah::src_ip3, src_ip[3]);
	}
};

/** CREATE_AH. */
struct CreateAh : AhWords {
	static constexpr CqpOp op = CqpOp::create_ah;
};

/** DESTROY_AH: the words as at creation. */
struct DestroyAh : AhWords {
	static constexpr CqpOp op = CqpOp::destroy_ah;
};

/** One segment descriptor to set or clear. */
struct SdEntry {
	u32 index;
	bool valid;
	bool direct; /**< one 2 MiB page; else a table of 512 page descriptors */
	u64 addr;

	constexpr u64 command() const
	{
		return hw::cqp_sds::sd_index.put(index) | hw::cqp_sds::sd_partition.put(1) |
		       hw::cqp_sds::sd_write.put(1);
	}

	constexpr u64 data() const
	{
		return (valid ? addr : 0) | hw::cqp_sds::sd_bp_count.put(hw::pages_per_sd) |
		       hw::cqp_sds::sd_direct.put(direct) | hw::cqp_sds::sd_valid.put(valid);
	}
};

/** UPDATE_PE_SDS of up to three segments. */
struct UpdateSds {
	static constexpr CqpOp op = CqpOp::update_pe_sds;
	SdEntry entry[hw::cqp_sds::inline_entries];
	unsigned count;
	u32 hmc_fn;

	void encode(CqpWqe &w) const
	{
		w.set(hw::cqp_sds::hmc_fn, hmc_fn);
		w.set(hw::cqp_sds::command0, entry[0].command());
		w.set(hw::cqp_sds::data0, entry[0].data());
		if (count > 1) {
			w.set(hw::cqp_sds::command1, entry[1].command());
			w.set(hw::cqp_sds::data1, entry[1].data());
			w.set(hw::cqp_sds::entry1_valid, 1);
		}
		if (count > 2) {
			w.set(hw::cqp_sds::command2, entry[2].command());
			w.set(hw::cqp_sds::data2, entry[2].data());
			w.set(hw::cqp_sds::entry2_valid, 1);
		}
	}
};

/** QUERY_FPM. */
struct QueryFpm {
	static constexpr CqpOp op = CqpOp::query_fpm;
	u64 buffer;
	u32 hmc_fn;

	void encode(CqpWqe &w) const
	{
		w.set(hw::cqp_fpm::addr, buffer);
		w.set(hw::cqp_fpm::hmc_fn, hmc_fn);
	}
};

/** COMMIT_FPM. */
struct CommitFpm {
	static constexpr CqpOp op = CqpOp::commit_fpm;
	u64 buffer;
	u32 hmc_fn;

	void encode(CqpWqe &w) const
	{
		w.set(hw::cqp_fpm::addr, buffer);
		w.set(hw::cqp_fpm::length, hw::cqp_fpm::buffer_bytes);
		w.set(hw::cqp_fpm::hmc_fn, hmc_fn);
	}
};

/** SHMC_PAGES_ALLOCATED. */
struct ShmcPagesAllocated {
	static constexpr CqpOp op = CqpOp::shmc_pages_allocated;
	u32 hmc_fn;

	void encode(CqpWqe &w) const { w.set(hw::cqp_shmc::hmc_fn, hmc_fn); }
};

/** FLUSH_WQES: complete all outstanding work of a QP with these codes. */
struct FlushWqes {
	static constexpr CqpOp op = CqpOp::flush_wqes;
	u32 qp;
	bool sq, rq;
	u16 sq_major, sq_minor;
	u16 rq_major, rq_minor;

	void encode(CqpWqe &w) const
	{
		w.set(hw::cqp_flush::qp, qp);
		w.set(hw::cqp_flush::user_codes, 1);
		w.set(hw::cqp_flush::flush_sq, sq);
		w.set(hw::cqp_flush::flush_rq, rq);
		w.set(hw::cqp_flush::sq_major, sq ? sq_major : 0);
		w.set(hw::cqp_flush::sq_minor, sq ? sq_minor : 0);
		w.set(hw::cqp_flush::rq_major, rq ? rq_major : 0);
		w.set(hw::cqp_flush::rq_minor, rq ? rq_minor : 0);
	}
};

/** CREATE_MCAST, MODIFY_MCAST, DESTROY_MCAST share their operands. */
struct McastWords {
	u32 group;
	u64 mac; /**< as a number */
	u32 dest_ip[4];
	bool ipv4;
	u32 qs_handle;
	bool vlan_valid;
	u16 vlan;
	u64 members; /**< bus address of eight member words */
	u32 hmc_fn;

	void encode(CqpWqe &w) const
	{
		w.set(hw::cqp_mcast::group, group);
		w.set(hw::cqp_mcast::mac, mac);
		w.set(hw::cqp_mcast::hmc_fn, hmc_fn);
		w.set(hw::cqp_mcast::ipv4, ipv4);
		w.set(hw::cqp_mcast::qs_handle, qs_handle);
		w.set(hw::cqp_mcast::vlan_valid, vlan_valid);
		w.set(hw::cqp_mcast::vlan, vlan);
		w.set(hw::cqp_mcast::members_addr, members);
		w.set(hw::cqp_mcast::dest_ip0, dest_ip[0]);
		w.set(hw::cqp_mcast::dest_ip1, dest_ip[1]);
		w.set(hw::cqp_mcast::dest_ip2, dest_ip[2]);
		w.set(hw::cqp_mcast::dest_ip3, dest_ip[3]);
	}
};

struct CreateMcast : McastWords {
	static constexpr CqpOp op = CqpOp::create_mcast;
};

struct ModifyMcast : McastWords {
	static constexpr CqpOp op = CqpOp::modify_mcast;
};

struct DestroyMcast : McastWords {
	static constexpr CqpOp op = CqpOp::destroy_mcast;
};

/** SUSPEND_QP: stop sending, until RESUME_QP. */
struct SuspendQp {
	static constexpr CqpOp op = CqpOp::suspend_qp;
	u32 qp;

	void encode(CqpWqe &w) const { w.set(hw::cqp_suspend::qp, qp); }
};

/** RESUME_QP, on a queue set that may be another one. */
struct ResumeQp {
	static constexpr CqpOp op = CqpOp::resume_qp;
	u32 qp;
	u32 qs_handle;

	void encode(CqpWqe &w) const
	{
		w.set(hw::cqp_suspend::qp, qp);
		w.set(hw::cqp_suspend::qs_handle, qs_handle);
	}
};

/** WORK_SCHED_NODE. */
struct WorkSchedNode {
	static constexpr CqpOp op = CqpOp::work_sched_node;
	u32 node_op; /**< hw::cqp_ws::op_add, op_modify, op_delete */
	u32 node;
	u32 parent;
	u32 vsi;
	u8 traffic_class;
	u8 weight;
	u8 priority_type;
	bool leaf;
	bool enable;

	void encode(CqpWqe &w) const
	{
		w.set(hw::cqp_ws::node_op, node_op);
		w.set(hw::cqp_ws::node, node);
		w.set(hw::cqp_ws::parent, parent);
		w.set(hw::cqp_ws::vsi, vsi);
		w.set(hw::cqp_ws::traffic_class, traffic_class);
		w.set(hw::cqp_ws::weight, weight);
		w.set(hw::cqp_ws::priority_type, priority_type);
		w.set(hw::cqp_ws::leaf, leaf);
		w.set(hw::cqp_ws::enable, enable);
	}
};

/** GATHER_STATS of the function into a buffer of hw::Statistics. */
struct GatherStats {
	static constexpr CqpOp op = CqpOp::gather_stats;
	u64 buffer;

	void encode(CqpWqe &w) const { w.set(hw::cqp_stats::addr, buffer); }
};

/** UPLOAD_CONTEXT: have the device write a QP's context, as it has it, to a buffer. */
struct UploadContext {
	static constexpr CqpOp op = CqpOp::upload_context;
	u64 buffer;
	u32 qp;
	hw::QpType type;

	void encode(CqpWqe &w) const
	{
		w.set(hw::cqp_upload::addr, buffer);
		w.set(hw::cqp_upload::qp, qp);
		w.set(hw::cqp_upload::qp_type, static_cast<u64>(type));
		w.set(hw::cqp_upload::raw_format, 1);
	}
};

} // namespace irdma::cmd

#endif
