// SPDX-License-Identifier: GPL-2.0
/*
 * Firmware logging as the driver configures it (AdminQ ff30 to ff32).
 *
 * Levels by firmware module are kept and given back. The modelled firmware has nothing to say, so no log
 * events follow.
 */
#pragma once

#include <array>
#include <cstdint>

#include "adminq.h"
#include "reset_kind.h"

namespace e810 {

class FirmwareLog {
public:
	AqError configure(AqCommand &cmd);
	AqError register_driver(AqCommand &cmd);
	AqError query(AqCommand &cmd);

	void reset(ResetKind kind);

private:
	static constexpr uint16_t modules = 32;

	std::array<uint8_t, modules> levels_{};
	uint16_t resolution_ = 1; /* messages an event */
	uint8_t outputs_ = 0;
	bool registered_ = false;
};

} // namespace e810
