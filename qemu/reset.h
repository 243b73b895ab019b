// SPDX-License-Identifier: GPL-2.0
/*
 * Resets that the driver causes through registers.
 *
 * PF reset (PFGEN_CTRL) happens within the write. Core and global reset (GLGEN_RTRIG) concern the whole
 * device: it tells the driver by interrupt, shows the reset in GLGEN_RSTAT, and performs it a little later.
 */
#pragma once

#include <cstdint>

#include "deferred.h"
#include "reset_kind.h"

namespace e810 {

class Reset {
public:
	explicit Reset(Device &dev);

	/** Starts a core or global reset, as the device itself does after a fatal error. */
	void start(ResetKind kind);

	void reset(ResetKind kind);

private:
	void finish();
	uint32_t read_status(uint32_t index);
	void write_pf_control(uint32_t index, uint32_t value);
	void write_trigger(uint32_t index, uint32_t value);

	Device &dev_;
	/* State and type of the last device-wide reset, as GLGEN_RSTAT shows them. */
	bool pending_ = false;
	ResetKind last_ = ResetKind::power_on;
	Timer timer_;
};

} // namespace e810
