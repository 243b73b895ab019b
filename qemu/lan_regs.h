// SPDX-License-Identifier: GPL-2.0
/*
 * Registers of the LAN side and of the function as a whole, byte offsets in BAR0.
 * Those of the protocol engine are in drivers/irdma/hw/.
 */
#pragma once

#include <cstdint>

namespace e810::regs {

/* Arrays of registers: offset of number 0, then 4 bytes a number, unless said otherwise. */

/* Transmit and receive queues */
constexpr uint32_t QTX_COMM_DBELL = 0x2c0000; /* tail of the transmit ring */
constexpr uint32_t QTX_COMM_HEAD = 0x0e0000;
constexpr uint32_t QRX_CTRL = 0x120000;
constexpr uint32_t QRX_CONTEXT = 0x280000; /* word i of queue q at + i * 0x2000 + 4 * q */
constexpr uint32_t QRX_CONTEXT_STRIDE = 0x2000;
constexpr uint32_t QRX_TAIL = 0x290000;

/* Interrupts */
constexpr uint32_t QINT_TQCTL = 0x140000;
constexpr uint32_t QINT_RQCTL = 0x150000;
constexpr uint32_t GLINT_CEQCTL = 0x15c000;
constexpr uint32_t GLINT_DYN_CTL = 0x160000;
constexpr uint32_t PFINT_MBX_CTL = 0x16b280;
constexpr uint32_t PFINT_SB_CTL = 0x16b600;
constexpr uint32_t PFINT_FW_CTL = 0x16c800;
constexpr uint32_t PFINT_OICR_ENA = 0x16c900;
constexpr uint32_t PFINT_OICR = 0x16ca00;
constexpr uint32_t PFINT_OICR_CTL = 0x16ca80;
constexpr uint32_t PFINT_AEQCTL = 0x16cb00;

/* Control queues: see control_queue.h for what lies behind each base */
constexpr uint32_t PF_FW_ATQBAL = 0x080000;
constexpr uint32_t PF_FW_ARQBAL = 0x080080;
constexpr uint32_t PF_MBX_ATQBAL = 0x22e100;
constexpr uint32_t PF_MBX_ARQBAL = 0x22e380;
constexpr uint32_t PF_SB_ATQBAL = 0x22fc00;
constexpr uint32_t PF_SB_ARQBAL = 0x22fe80;

/* Reset and power */
constexpr uint32_t PFGEN_CTRL = 0x091000;
constexpr uint32_t PFPM_WUS = 0x09db80;
constexpr uint32_t PF_FUNC_RID = 0x09e880;
constexpr uint32_t GLGEN_RSTCTL = 0x0b8180;
constexpr uint32_t GLGEN_RSTAT = 0x0b8188;
constexpr uint32_t GLGEN_RTRIG = 0x0b8190;
constexpr uint32_t GLNVM_ULD = 0x0b6008;
constexpr uint32_t GLNVM_GENS = 0x0b6100;
constexpr uint32_t GLNVM_FLA = 0x0b6108;

/* Sizes and settings that the function reports */
constexpr uint32_t PRTDCB_GENS = 0x083020;
constexpr uint32_t PRTDCB_TUP2TC = 0x1d26c0;
constexpr uint32_t GLQF_FD_SIZE = 0x460010;
constexpr uint32_t GLPCI_CNF2 = 0x0be004;

/* Port counters: 40 bits in two registers each */
constexpr uint32_t GLPRT_GORCL = 0x380000;
constexpr uint32_t GLPRT_GOTCL = 0x380b40;
constexpr uint32_t GLPRT_UPTCL = 0x3811c0;
constexpr uint32_t GLPRT_MPTCL = 0x381200;
constexpr uint32_t GLPRT_BPTCL = 0x381240;
constexpr uint32_t GLPRT_UPRCL = 0x381300;
constexpr uint32_t GLPRT_MPRCL = 0x381340;
constexpr uint32_t GLPRT_BPRCL = 0x381380;

} // namespace e810::regs
