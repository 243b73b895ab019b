// SPDX-License-Identifier: GPL-2.0
/*
 * Interrupts: from a cause to an MSI-X message.
 *
 * Each source of interrupts (a queue, the control queues, a CEQ, the AEQ, "other causes") has a cause
 * control register that names a vector and enables the cause. Each vector has GLINT_DYN_CTL: when it is
 * enabled an event sends one message and disables it (auto-mask), so that the driver's handler runs once
 * until it enables the vector again; events meanwhile are remembered and give one message then.
 *
 *	block -- raise(Cause) --> cause control --> vector: INTENA? --> MSI-X
 *	                                                  \-- else pending until enabled
 *
 * Interrupt throttling intervals are stored but do not delay. Any block calls raise().
 */
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "lan_regs.h"
#include "reset_kind.h"

namespace e810 {

class Device;

/** A source of interrupts, known by its cause control register. */
struct Cause {
	uint32_t control;

	static constexpr Cause firmware() { return {regs::PFINT_FW_CTL}; }
	static constexpr Cause mailbox() { return {regs::PFINT_MBX_CTL}; }
	static constexpr Cause sideband() { return {regs::PFINT_SB_CTL}; }
	/** @p queue is an absolute LAN queue number below the number of its registers. */
	static constexpr Cause tx(uint32_t queue) { return {regs::QINT_TQCTL + 4 * queue}; }
	static constexpr Cause rx(uint32_t queue) { return {regs::QINT_RQCTL + 4 * queue}; }
	static constexpr Cause ceq(uint32_t ceq) { return {regs::GLINT_CEQCTL + 4 * ceq}; }
	static constexpr Cause aeq() { return {regs::PFINT_AEQCTL}; }
};

/** Bits of PFINT_OICR, the register of other causes. */
namespace oicr {
constexpr uint32_t global_reset = 1u << 20;
constexpr uint32_t hmc_error = 1u << 26;
constexpr uint32_t pe_push = 1u << 27;
constexpr uint32_t pe_critical_error = 1u << 28;
constexpr uint32_t software = 1u << 31;
} // namespace oicr

class Interrupts {
public:
	explicit Interrupts(Device &dev);

	/** Reports an event of @p cause. Nothing happens if the driver has not enabled the cause. */
	void raise(Cause cause);

	/** Sets bits of PFINT_OICR and interrupts if any of them is enabled. @p bits: see oicr. */
	void raise_oicr(uint32_t bits);

	/** Faults, see injections.h: a message without an event; the next @p count get lost. */
	void send_spurious(uint32_t vector);
	void drop(uint32_t vector, uint32_t count);
	/** The vector that @p cause names, if it is enabled. */
	std::optional<uint32_t> vector_of(Cause cause) const;

	void reset(ResetKind kind);

private:
	struct Vector {
		bool enabled = false;
		bool pending = false;
		uint32_t drop = 0; /* messages to lose */
	};

	void fire(uint32_t vector);
	void deliver(uint32_t vector);
	void write_dyn_ctl(uint32_t vector, uint32_t value);
	uint32_t read_dyn_ctl(uint32_t vector);
	uint32_t read_oicr(uint32_t index);
	void write_oicr(uint32_t index, uint32_t value);
	void write_oicr_enable(uint32_t index, uint32_t value);

	Device &dev_;
	std::vector<Vector> vectors_;
};

} // namespace e810
