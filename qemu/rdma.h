// SPDX-License-Identifier: GPL-2.0
/*
 * The protocol engine (RDMA) as the rest of the device sees it.
 *
 * Device owns it, resets it, and offers it received RoCEv2 frames before the LAN rings get them.
 */
#pragma once

#include <cstdint>
#include <span>

#include "reset_kind.h"

namespace e810 {

class Device;

class Rdma {
public:
	explicit Rdma(Device &dev);

	void reset(ResetKind kind);

	/**
	 * A received IPv4 or IPv6 frame to UDP port 4791, Ethernet header first, without FCS.
	 * True: the engine has taken it. False: it goes to the LAN rings.
	 */
	bool receive(std::span<const uint8_t> frame);

	/** The wire takes frames again after Wire::ready() was false. */
	void wire_ready();

private:
	Device &dev_;
};

} // namespace e810
