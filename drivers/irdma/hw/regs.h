// SPDX-License-Identifier: GPL-2.0
/*
 * Registers of the protocol engine and of its interrupts, as byte offsets in
 * BAR 0, with the fields that the driver uses. Offsets as the stock driver for
 * the E810 uses them (Linux, drivers/infiniband/hw/irdma/icrdma_hw.h).
 */
#ifndef IRDMA_HW_REGS_H
#define IRDMA_HW_REGS_H

#include "field.h"

namespace irdma::hw::reg {

/* Control QP. */
inline constexpr u32 pfpe_cqptail = 0x500880;	  /* consumer index and error of the CQP */
inline constexpr u32 pfpe_cqpdb = 0x500800;	  /* producer index of the CQP */
inline constexpr u32 pfpe_ccqpstatus = 0x50a000;  /* whether a CQP exists */
inline constexpr u32 pfpe_ccqplow = 0x50a080;	  /* CQP context address; writing it starts */
inline constexpr u32 pfpe_ccqphigh = 0x50a100;	  /* upper half, written first */
inline constexpr u32 pfpe_cqperrcodes = 0x50a200; /* major [31:16], minor [15:0] */

inline constexpr Field cqptail_index{"index", 0, 10, 0};
inline constexpr Field cqptail_error{"error", 0, 31, 31};
inline constexpr Field ccqpstatus_done{"done", 0, 0, 0};
inline constexpr Field ccqpstatus_error{"error", 0, 31, 31};
inline constexpr Field cqperrcodes_minor{"minor", 0, 15, 0};
inline constexpr Field cqperrcodes_major{"major", 0, 31, 16};

/* Doorbells of the kernel; user processes have a page of their own. */
inline constexpr u32 pfpe_cqarm = 0x502c00;    /* arm a CQ: its number */
inline constexpr u32 pfpe_cqack = 0x502c80;    /* a CEQ entry was consumed: number of its CQ */
inline constexpr u32 pfpe_aeqalloc = 0x502d00; /* number of AEQ entries given back */
inline constexpr u32 pfpe_wqealloc = 0x504400; /* work was posted: number of the QP */

/* The user doorbell page, and within it. */
inline constexpr u32 db_page_offset = 8 * 1024 * 1024 - 64 * 1024;
inline constexpr u32 db_page_size = 4096;
inline constexpr u32 db_wqealloc = 0x00;
inline constexpr u32 db_cqarm = 0x40;

/* Push pages: the first of this function, counted in pages from the start of the push area. */
inline constexpr u32 push_area_offset = 8 * 1024 * 1024;
inline constexpr u32 first_push_page = 16;

/* Where the engine stands. */
inline constexpr u32 glpci_lbarctrl = 0x09de74;
inline constexpr Field lbarctrl_db_size{"pe_db_size", 0, 5, 4};
inline constexpr u32 db_size_4m = 1;
inline constexpr u32 db_size_8m = 2;
inline constexpr u32 glpe_cpustatus0 = 0x50ba5c;
inline constexpr u32 glpe_cpustatus1 = 0x50ba60;
inline constexpr u32 glpe_cpustatus2 = 0x50ba64;
inline constexpr u32 cpustatus_ready = 0x80;
inline constexpr u32 glpe_criterr = 0x534000;

/* Resets of the whole device. */
inline constexpr u32 glgen_rstat = 0x0b8188;
inline constexpr Field rstat_device_state{"device_state", 0, 1, 0}; /* 0: no reset is under way */

/* Host memory cache. */
inline constexpr u32 pfhmc_pdinv = 0x520300; /* invalidate a page descriptor */
inline constexpr Field pdinv_sd_index{"sd_index", 0, 11, 0};
inline constexpr Field pdinv_partition{"partition", 0, 15, 15};
inline constexpr Field pdinv_pd_index{"pd_index", 0, 24, 16};

/* Interrupts: one control register a vector, one cause register a queue. */
constexpr u32 glint_dyn_ctl(u32 vector)
{
	return 0x160000 + 4 * vector;
}
inline constexpr Field dyn_ctl_intena{"intena", 0, 0, 0};
inline constexpr Field dyn_ctl_clearpba{"clearpba", 0, 1, 1};
inline constexpr Field dyn_ctl_swint_trig{"swint_trig", 0, 2, 2};
inline constexpr Field dyn_ctl_itr_index{"itr_index", 0, 4, 3};
inline constexpr Field dyn_ctl_interval{"interval", 0, 16, 5}; /* units of 2 us */
inline constexpr Field dyn_ctl_wb_on_itr{"wb_on_itr", 0, 30, 30};
inline constexpr Field dyn_ctl_intena_mask{"intena_mask", 0, 31, 31};

constexpr u32 glint_ceqctl(u32 ceq)
{
	return 0x15c000 + 4 * ceq;
}
inline constexpr u32 pfint_aeqctl = 0x16cb00;
inline constexpr Field cause_vector{"vector", 0, 10, 0};
inline constexpr Field cause_itr_index{"itr_index", 0, 12, 11};
inline constexpr Field cause_enable{"enable", 0, 30, 30};
inline constexpr u32 itr_index_none = 3; /* no moderation */

/* Causes that `ice` hands over in its critical-error event (register PFINT_OICR). */
inline constexpr u32 oicr_hmc_error = 1u << 26;
inline constexpr u32 oicr_pe_push_error = 1u << 27;
inline constexpr u32 oicr_pe_critical = 1u << 28;
inline constexpr u32 criterr_q1_resource = 0x0001024d; /* GLPE_CRITERR: harmless */

} // namespace irdma::hw::reg

#endif
