/* SPDX-License-Identifier: GPL-2.0 */
/*
 * ib_core's work requests and completions as C++ sees them: the same layout as
 * struct ib_send_wr and its kin, so that the data path reads them in place,
 * without a copy or a call. shim/verbs.c asserts size and offset of each
 * member against the kernel's headers.
 */
#ifndef SHIM_WORK_REQUEST_H
#define SHIM_WORK_REQUEST_H

#include "driver.h"

struct shim_sge {
	u64 addr;
	u32 length;
	u32 lkey;
};

struct shim_send_wr {
	struct shim_send_wr *next;
	u64 wr_id;
	struct shim_sge *sg_list;
	s32 num_sge;
	u32 opcode; /* SHIM_WR_* */
	s32 send_flags; /* SHIM_SEND_* */
	u32 imm_or_rkey; /* immediate data (big endian) or STag to invalidate */
};

struct shim_rdma_wr {
	struct shim_send_wr wr;
	u64 remote_addr;
	u32 rkey;
};

struct shim_ud_wr {
	struct shim_send_wr wr;
	void *ah; /* the ib_ah: shim_ah_of() gives ours */
	void *header;
	s32 hlen;
	s32 mss;
	u32 remote_qpn;
	u32 remote_qkey;
	u16 pkey_index;
	u32 port_num;
};

struct shim_reg_wr {
	struct shim_send_wr wr;
	void *mr; /* the ib_mr: shim_mr_of() gives ours */
	u32 key;
	s32 access;
};

struct shim_recv_wr {
	struct shim_recv_wr *next;
	u64 wr_id;
	struct shim_sge *sg_list;
	s32 num_sge;
};

struct shim_wc {
	u64 wr_id;
	u32 status; /* SHIM_WC_* */
	u32 opcode;
	u32 vendor_err;
	u32 byte_len;
	void *qp; /* the ib_qp */
	u32 imm_or_rkey;
	u32 src_qp;
	u32 slid;
	s32 wc_flags;
	u16 pkey_index;
	u8 sl;
	u8 dlid_path_bits;
	u32 port_num;
	u8 smac[6];
	u16 vlan_id;
	u8 network_hdr_type;
};

enum { /* enum ib_wc_status */
	SHIM_WC_SUCCESS = 0,
	SHIM_WC_LOC_LEN_ERR = 1,
	SHIM_WC_LOC_QP_OP_ERR = 2,
	SHIM_WC_LOC_PROT_ERR = 4,
	SHIM_WC_WR_FLUSH_ERR = 5,
	SHIM_WC_MW_BIND_ERR = 6,
	SHIM_WC_REM_INV_REQ_ERR = 9,
	SHIM_WC_REM_ACCESS_ERR = 10,
	SHIM_WC_REM_OP_ERR = 11,
	SHIM_WC_RETRY_EXC_ERR = 12,
	SHIM_WC_RNR_RETRY_EXC_ERR = 13,
	SHIM_WC_FATAL_ERR = 19,
	SHIM_WC_GENERAL_ERR = 21
};

enum { /* enum ib_wc_opcode */
	SHIM_WC_SEND = 0,
	SHIM_WC_RDMA_WRITE = 1,
	SHIM_WC_RDMA_READ = 2,
	SHIM_WC_LOCAL_INV = 6,
	SHIM_WC_REG_MR = SHIM_IB_WC_REG_MR, /* differs between kernels */
	SHIM_WC_RECV = 1 << 7,
	SHIM_WC_RECV_RDMA_WITH_IMM = (1 << 7) + 1
};

enum { /* enum ib_wc_flags */
	SHIM_WC_GRH = 1,
	SHIM_WC_WITH_IMM = 1 << 1,
	SHIM_WC_WITH_INVALIDATE = 1 << 2,
	SHIM_WC_WITH_SMAC = 1 << 4,
	SHIM_WC_WITH_VLAN = 1 << 5,
	SHIM_WC_WITH_NETWORK_HDR_TYPE = 1 << 6
};

enum { /* enum rdma_network_type */
	SHIM_NETWORK_IPV4 = 2,
	SHIM_NETWORK_IPV6 = 3
};

#ifdef __cplusplus
extern "C" {
#endif
struct irdma_ah *shim_ah_of(void *ib_ah);
struct irdma_mr *shim_mr_of(void *ib_mr, u64 *va);
#ifdef __cplusplus
}
#endif

#endif
