// SPDX-License-Identifier: GPL-2.0
/*
 * Sizes and limits of the E810's protocol engine (generation 2), as the stock
 * driver and its provider library use them.
 */
#ifndef IRDMA_HW_LIMITS_H
#define IRDMA_HW_LIMITS_H

#include "../base/types.h"

namespace irdma::hw {

inline constexpr u32 page_size = 4096;
inline constexpr unsigned page_shift = 12;
inline constexpr u64 large_page_size = 2ULL << 20;
inline constexpr u64 huge_page_size = 1ULL << 30;

/* Work queues are counted in quanta of 32 bytes. */
inline constexpr u32 quantum_bytes = 32;
inline constexpr u32 max_quanta_per_wqe = 8;
inline constexpr u32 sq_chunk_quanta = 8; /* a WQE never crosses a multiple of this */
inline constexpr u32 min_wq_wqes = 8;
inline constexpr u32 max_wq_quanta = 32768;
inline constexpr u32 sq_reserved_quanta = 258; /* cleared ahead of the producer */
inline constexpr u32 rq_reserved_wqes = 1;
inline constexpr u32 max_sge = 13;
inline constexpr u32 max_inline_bytes = 101;

inline constexpr u32 max_ird = 127;
inline constexpr u32 max_ord = 255;
inline constexpr u32 max_cq_entries = 1048575;
inline constexpr u64 max_mr_bytes = 0x200000000000ULL; /* 32 TiB: the length field has 46 bits */
inline constexpr u32 max_message_bytes = 0x7fffffff;   /* 2 GiB less one */
inline constexpr u32 max_push_pages = 1024;
inline constexpr u32 first_user_qp = 3; /* 0 does not exist, 1 is GSI, 2 is reserved */
inline constexpr u32 max_pds = 262144;	/* 18 bits */
inline constexpr u32 max_user_priorities = 8;
inline constexpr u32 max_traffic_classes = 8;

inline constexpr u32 max_ceqs = 1024;
inline constexpr u32 max_ceq_entries = 262143;
inline constexpr u32 max_aeq_entries = 524287;
inline constexpr u32 max_ws_nodes = 1023;
inline constexpr u32 max_arp_entries = 4096;  /* 12-bit index */
inline constexpr u32 max_mcast_groups = 8192; /* 13-bit index */
inline constexpr u32 mcast_members_per_group = 8;

inline constexpr u16 roce_udp_port = 4791;

} // namespace irdma::hw

#endif
