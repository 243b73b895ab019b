// SPDX-License-Identifier: GPL-2.0
/* Reset registers; see reset.h. */
#include "reset.h"

#include "device.h"

namespace e810 {

namespace {

constexpr uint32_t pf_software_reset = 1u << 0;
constexpr uint32_t trigger_core = 1u << 0;
constexpr uint32_t trigger_global = 1u << 1;

/* GLGEN_RSTAT: [1:0] device state, 0 active; [3:2] type of the last reset */
constexpr uint32_t state_resetting = 1;
constexpr uint32_t type_power_on = 0 << 2, type_core = 1 << 2, type_global = 2 << 2;

/* All parts of the device have loaded: bits 0, 1, 3, 4, 5, 8, 9, and 10 for the protocol engine. */
constexpr uint32_t all_loaded = 0x73b;

/* Between the notice to the driver and the reset, and so the time to read its cause. */
constexpr int64_t notice_ns = 50'000'000;

} // namespace

Reset::Reset(Device &dev) : dev_(dev), timer_(dev, callback<&Reset::finish>, this)
{
	Registers &r = dev.registers;

	r.claim<nullptr, &Reset::write_pf_control>(this, regs::PFGEN_CTRL);
	r.claim<&Reset::read_status, nullptr>(this, regs::GLGEN_RSTAT);
	r.claim<nullptr, &Reset::write_trigger>(this, regs::GLGEN_RTRIG);
	r.constant(regs::GLNVM_ULD, all_loaded);
}

void Reset::start(ResetKind kind)
{
	if (pending_)
		return;
	pending_ = true;
	last_ = kind;
	dev_.interrupts.raise_oicr(oicr::global_reset);
	timer_.arm_in(notice_ns);
}

void Reset::finish()
{
	dev_.reset(last_);
}

void Reset::reset(ResetKind kind)
{
	timer_.cancel();
	pending_ = false;
	if (kind != ResetKind::pf && kind != ResetKind::function_level)
		last_ = kind;
}

uint32_t Reset::read_status(uint32_t)
{
	uint32_t type = last_ == ResetKind::core     ? type_core
			: last_ == ResetKind::global ? type_global
						     : type_power_on;

	return type | (pending_ ? state_resetting : 0);
}

void Reset::write_pf_control(uint32_t, uint32_t value)
{
	if (value & pf_software_reset)
		dev_.reset(ResetKind::pf);
}

void Reset::write_trigger(uint32_t, uint32_t value)
{
	if (value & trigger_global)
		start(ResetKind::global);
	else if (value & trigger_core)
		start(ResetKind::core);
}

} // namespace e810
