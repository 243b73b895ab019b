// SPDX-License-Identifier: GPL-2.0
/*
 * Compile-time proof that driver.h and work_request.h have ib_core's values
 * and layouts, for the kernel that the module is built for. No code.
 */
#include <linux/build_bug.h>
#include <rdma/ib_verbs.h>
#include <rdma/irdma-abi.h>

#include "work_request.h"

/* ---- Values ---- */

#define SAME(ours, kernels) static_assert((u64)(ours) == (u64)(kernels))

SAME(SHIM_QPS_RESET, IB_QPS_RESET);
SAME(SHIM_QPS_INIT, IB_QPS_INIT);
SAME(SHIM_QPS_RTR, IB_QPS_RTR);
SAME(SHIM_QPS_RTS, IB_QPS_RTS);
SAME(SHIM_QPS_SQD, IB_QPS_SQD);
SAME(SHIM_QPS_SQE, IB_QPS_SQE);
SAME(SHIM_QPS_ERR, IB_QPS_ERR);

SAME(SHIM_QPT_GSI, IB_QPT_GSI);
SAME(SHIM_QPT_RC, IB_QPT_RC);
SAME(SHIM_QPT_UD, IB_QPT_UD);

SAME(SHIM_QP_STATE, IB_QP_STATE);
SAME(SHIM_QP_CUR_STATE, IB_QP_CUR_STATE);
SAME(SHIM_QP_EN_SQD_ASYNC_NOTIFY, IB_QP_EN_SQD_ASYNC_NOTIFY);
SAME(SHIM_QP_ACCESS_FLAGS, IB_QP_ACCESS_FLAGS);
SAME(SHIM_QP_PKEY_INDEX, IB_QP_PKEY_INDEX);
SAME(SHIM_QP_PORT, IB_QP_PORT);
SAME(SHIM_QP_QKEY, IB_QP_QKEY);
SAME(SHIM_QP_AV, IB_QP_AV);
SAME(SHIM_QP_PATH_MTU, IB_QP_PATH_MTU);
SAME(SHIM_QP_TIMEOUT, IB_QP_TIMEOUT);
SAME(SHIM_QP_RETRY_CNT, IB_QP_RETRY_CNT);
SAME(SHIM_QP_RNR_RETRY, IB_QP_RNR_RETRY);
SAME(SHIM_QP_RQ_PSN, IB_QP_RQ_PSN);
SAME(SHIM_QP_MAX_QP_RD_ATOMIC, IB_QP_MAX_QP_RD_ATOMIC);
SAME(SHIM_QP_ALT_PATH, IB_QP_ALT_PATH);
SAME(SHIM_QP_MIN_RNR_TIMER, IB_QP_MIN_RNR_TIMER);
SAME(SHIM_QP_SQ_PSN, IB_QP_SQ_PSN);
SAME(SHIM_QP_MAX_DEST_RD_ATOMIC, IB_QP_MAX_DEST_RD_ATOMIC);
SAME(SHIM_QP_PATH_MIG_STATE, IB_QP_PATH_MIG_STATE);
SAME(SHIM_QP_CAP, IB_QP_CAP);
SAME(SHIM_QP_DEST_QPN, IB_QP_DEST_QPN);
SAME(SHIM_QP_RATE_LIMIT, IB_QP_RATE_LIMIT);

SAME(SHIM_MIG_MIGRATED, IB_MIG_MIGRATED);

SAME(SHIM_ACCESS_LOCAL_WRITE, IB_ACCESS_LOCAL_WRITE);
SAME(SHIM_ACCESS_REMOTE_WRITE, IB_ACCESS_REMOTE_WRITE);
SAME(SHIM_ACCESS_REMOTE_READ, IB_ACCESS_REMOTE_READ);
SAME(SHIM_ACCESS_REMOTE_ATOMIC, IB_ACCESS_REMOTE_ATOMIC);
SAME(SHIM_ACCESS_MW_BIND, IB_ACCESS_MW_BIND);
SAME(SHIM_ACCESS_ZERO_BASED, IB_ZERO_BASED);
SAME(SHIM_ACCESS_ON_DEMAND, IB_ACCESS_ON_DEMAND);
SAME(SHIM_ACCESS_HUGETLB, IB_ACCESS_HUGETLB);
SAME(SHIM_ACCESS_RELAXED_ORDERING, IB_ACCESS_RELAXED_ORDERING);
SAME(SHIM_ACCESS_OPTIONAL, IB_ACCESS_OPTIONAL);

SAME(SHIM_EVENT_CQ_ERR, IB_EVENT_CQ_ERR);
SAME(SHIM_EVENT_QP_FATAL, IB_EVENT_QP_FATAL);
SAME(SHIM_EVENT_QP_REQ_ERR, IB_EVENT_QP_REQ_ERR);
SAME(SHIM_EVENT_QP_ACCESS_ERR, IB_EVENT_QP_ACCESS_ERR);
SAME(SHIM_EVENT_COMM_EST, IB_EVENT_COMM_EST);
SAME(SHIM_EVENT_SQ_DRAINED, IB_EVENT_SQ_DRAINED);

SAME(SHIM_WR_RDMA_WRITE, IB_WR_RDMA_WRITE);
SAME(SHIM_WR_RDMA_WRITE_WITH_IMM, IB_WR_RDMA_WRITE_WITH_IMM);
SAME(SHIM_WR_SEND, IB_WR_SEND);
SAME(SHIM_WR_SEND_WITH_IMM, IB_WR_SEND_WITH_IMM);
SAME(SHIM_WR_RDMA_READ, IB_WR_RDMA_READ);
SAME(SHIM_WR_LOCAL_INV, IB_WR_LOCAL_INV);
SAME(SHIM_WR_SEND_WITH_INV, IB_WR_SEND_WITH_INV);
SAME(SHIM_WR_RDMA_READ_WITH_INV, IB_WR_RDMA_READ_WITH_INV);
SAME(SHIM_WR_REG_MR, IB_WR_REG_MR);

SAME(SHIM_SEND_FENCE, IB_SEND_FENCE);
SAME(SHIM_SEND_SIGNALED, IB_SEND_SIGNALED);
SAME(SHIM_SEND_SOLICITED, IB_SEND_SOLICITED);
SAME(SHIM_SEND_INLINE, IB_SEND_INLINE);

SAME(SHIM_CQ_SOLICITED, IB_CQ_SOLICITED);
SAME(SHIM_CQ_NEXT_COMP, IB_CQ_NEXT_COMP);
SAME(SHIM_CQ_REPORT_MISSED_EVENTS, IB_CQ_REPORT_MISSED_EVENTS);

SAME(SHIM_WC_SUCCESS, IB_WC_SUCCESS);
SAME(SHIM_WC_LOC_LEN_ERR, IB_WC_LOC_LEN_ERR);
SAME(SHIM_WC_LOC_QP_OP_ERR, IB_WC_LOC_QP_OP_ERR);
SAME(SHIM_WC_LOC_PROT_ERR, IB_WC_LOC_PROT_ERR);
SAME(SHIM_WC_WR_FLUSH_ERR, IB_WC_WR_FLUSH_ERR);
SAME(SHIM_WC_MW_BIND_ERR, IB_WC_MW_BIND_ERR);
SAME(SHIM_WC_REM_INV_REQ_ERR, IB_WC_REM_INV_REQ_ERR);
SAME(SHIM_WC_REM_ACCESS_ERR, IB_WC_REM_ACCESS_ERR);
SAME(SHIM_WC_REM_OP_ERR, IB_WC_REM_OP_ERR);
SAME(SHIM_WC_RETRY_EXC_ERR, IB_WC_RETRY_EXC_ERR);
SAME(SHIM_WC_RNR_RETRY_EXC_ERR, IB_WC_RNR_RETRY_EXC_ERR);
SAME(SHIM_WC_FATAL_ERR, IB_WC_FATAL_ERR);
SAME(SHIM_WC_GENERAL_ERR, IB_WC_GENERAL_ERR);

SAME(SHIM_WC_SEND, IB_WC_SEND);
SAME(SHIM_WC_RDMA_WRITE, IB_WC_RDMA_WRITE);
SAME(SHIM_WC_RDMA_READ, IB_WC_RDMA_READ);
SAME(SHIM_WC_LOCAL_INV, IB_WC_LOCAL_INV);
SAME(SHIM_WC_REG_MR, IB_WC_REG_MR);
SAME(SHIM_WC_RECV, IB_WC_RECV);
SAME(SHIM_WC_RECV_RDMA_WITH_IMM, IB_WC_RECV_RDMA_WITH_IMM);

SAME(SHIM_WC_GRH, IB_WC_GRH);
SAME(SHIM_WC_WITH_IMM, IB_WC_WITH_IMM);
SAME(SHIM_WC_WITH_INVALIDATE, IB_WC_WITH_INVALIDATE);
SAME(SHIM_WC_WITH_SMAC, IB_WC_WITH_SMAC);
SAME(SHIM_WC_WITH_VLAN, IB_WC_WITH_VLAN);
SAME(SHIM_WC_WITH_NETWORK_HDR_TYPE, IB_WC_WITH_NETWORK_HDR_TYPE);

/* ---- Driver data of processes ---- */

#define SAME_END(ours, type, member) SAME(ours, offsetofend(struct type, member))

SAME_END(SHIM_UDATA_CONTEXT_IN, irdma_alloc_ucontext_req, rsvd8);
SAME_END(SHIM_UDATA_CONTEXT_OUT, irdma_alloc_ucontext_resp, rsvd);
SAME_END(SHIM_UDATA_PD_OUT, irdma_alloc_pd_resp, rsvd);
SAME_END(SHIM_UDATA_CREATE_CQ_IN, irdma_create_cq_req, user_shadow_area);
SAME_END(SHIM_UDATA_CREATE_CQ_OUT, irdma_create_cq_resp, cq_size);
SAME_END(SHIM_UDATA_RESIZE_CQ_IN, irdma_resize_cq_req, user_cq_buffer);
SAME_END(SHIM_UDATA_CREATE_QP_IN, irdma_create_qp_req, user_compl_ctx);
SAME_END(SHIM_UDATA_CREATE_QP_OUT, irdma_create_qp_resp, rsvd);
SAME_END(SHIM_UDATA_MODIFY_QP_IN, irdma_modify_qp_req, rq_flush);
SAME_END(SHIM_UDATA_MODIFY_QP_OUT, irdma_modify_qp_resp, push_valid);
SAME_END(SHIM_UDATA_MR_IN, irdma_mem_reg_req, sq_pages);
SAME_END(SHIM_UDATA_AH_OUT, irdma_create_ah_resp, rsvd);

/* ---- Layouts ---- */

#define SAME_SIZE(ours, kernels) static_assert(sizeof(struct ours) == sizeof(struct kernels))
#define SAME_MEMBER(ours, a, kernels, b)						\
	static_assert(offsetof(struct ours, a) == offsetof(struct kernels, b) &&	\
		      sizeof_field(struct ours, a) == sizeof_field(struct kernels, b))

SAME_SIZE(shim_sge, ib_sge);
SAME_MEMBER(shim_sge, addr, ib_sge, addr);
SAME_MEMBER(shim_sge, length, ib_sge, length);
SAME_MEMBER(shim_sge, lkey, ib_sge, lkey);

SAME_SIZE(shim_send_wr, ib_send_wr);
SAME_MEMBER(shim_send_wr, next, ib_send_wr, next);
SAME_MEMBER(shim_send_wr, wr_id, ib_send_wr, wr_id);
SAME_MEMBER(shim_send_wr, sg_list, ib_send_wr, sg_list);
SAME_MEMBER(shim_send_wr, num_sge, ib_send_wr, num_sge);
SAME_MEMBER(shim_send_wr, opcode, ib_send_wr, opcode);
SAME_MEMBER(shim_send_wr, send_flags, ib_send_wr, send_flags);
SAME_MEMBER(shim_send_wr, imm_or_rkey, ib_send_wr, ex.imm_data);
SAME_MEMBER(shim_send_wr, imm_or_rkey, ib_send_wr, ex.invalidate_rkey);

SAME_SIZE(shim_rdma_wr, ib_rdma_wr);
SAME_MEMBER(shim_rdma_wr, wr, ib_rdma_wr, wr);
SAME_MEMBER(shim_rdma_wr, remote_addr, ib_rdma_wr, remote_addr);
SAME_MEMBER(shim_rdma_wr, rkey, ib_rdma_wr, rkey);

SAME_SIZE(shim_ud_wr, ib_ud_wr);
SAME_MEMBER(shim_ud_wr, wr, ib_ud_wr, wr);
SAME_MEMBER(shim_ud_wr, ah, ib_ud_wr, ah);
SAME_MEMBER(shim_ud_wr, header, ib_ud_wr, header);
SAME_MEMBER(shim_ud_wr, hlen, ib_ud_wr, hlen);
SAME_MEMBER(shim_ud_wr, mss, ib_ud_wr, mss);
SAME_MEMBER(shim_ud_wr, remote_qpn, ib_ud_wr, remote_qpn);
SAME_MEMBER(shim_ud_wr, remote_qkey, ib_ud_wr, remote_qkey);
SAME_MEMBER(shim_ud_wr, pkey_index, ib_ud_wr, pkey_index);
SAME_MEMBER(shim_ud_wr, port_num, ib_ud_wr, port_num);

SAME_SIZE(shim_reg_wr, ib_reg_wr);
SAME_MEMBER(shim_reg_wr, wr, ib_reg_wr, wr);
SAME_MEMBER(shim_reg_wr, mr, ib_reg_wr, mr);
SAME_MEMBER(shim_reg_wr, key, ib_reg_wr, key);
SAME_MEMBER(shim_reg_wr, access, ib_reg_wr, access);

SAME_SIZE(shim_recv_wr, ib_recv_wr);
SAME_MEMBER(shim_recv_wr, next, ib_recv_wr, next);
SAME_MEMBER(shim_recv_wr, wr_id, ib_recv_wr, wr_id);
SAME_MEMBER(shim_recv_wr, sg_list, ib_recv_wr, sg_list);
SAME_MEMBER(shim_recv_wr, num_sge, ib_recv_wr, num_sge);

SAME_SIZE(shim_wc, ib_wc);
SAME_MEMBER(shim_wc, wr_id, ib_wc, wr_id);
SAME_MEMBER(shim_wc, status, ib_wc, status);
SAME_MEMBER(shim_wc, opcode, ib_wc, opcode);
SAME_MEMBER(shim_wc, vendor_err, ib_wc, vendor_err);
SAME_MEMBER(shim_wc, byte_len, ib_wc, byte_len);
SAME_MEMBER(shim_wc, qp, ib_wc, qp);
SAME_MEMBER(shim_wc, imm_or_rkey, ib_wc, ex.imm_data);
SAME_MEMBER(shim_wc, imm_or_rkey, ib_wc, ex.invalidate_rkey);
SAME_MEMBER(shim_wc, src_qp, ib_wc, src_qp);
SAME_MEMBER(shim_wc, slid, ib_wc, slid);
SAME_MEMBER(shim_wc, wc_flags, ib_wc, wc_flags);
SAME_MEMBER(shim_wc, pkey_index, ib_wc, pkey_index);
SAME_MEMBER(shim_wc, sl, ib_wc, sl);
SAME_MEMBER(shim_wc, dlid_path_bits, ib_wc, dlid_path_bits);
SAME_MEMBER(shim_wc, port_num, ib_wc, port_num);
SAME_MEMBER(shim_wc, smac, ib_wc, smac);
SAME_MEMBER(shim_wc, vlan_id, ib_wc, vlan_id);
SAME_MEMBER(shim_wc, network_hdr_type, ib_wc, network_hdr_type);
