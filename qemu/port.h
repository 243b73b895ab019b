// SPDX-License-Identifier: GPL-2.0
/*
 * The port as firmware manages it: MAC address, PHY configuration, link state and its events.
 *
 * The link is up when the network backend's is (QMP set_link) and the driver has not turned it off.
 * The driver is told of changes by an event on the AdminQ if it asked for them.
 */
#pragma once

#include <array>
#include <cstdint>

#include "adminq.h"
#include "reset_kind.h"

namespace e810 {

class Port {
public:
	explicit Port(Device &dev) : dev_(dev) {}

	bool link_up() const;
	/** The backend's link state has changed. */
	void link_changed();

	AqError read_mac(AqCommand &cmd);
	AqError get_phy_caps(AqCommand &cmd);
	AqError set_phy_config(AqCommand &cmd);
	AqError restart_an(AqCommand &cmd);
	AqError get_link_status(AqCommand &cmd);

	void reset(ResetKind kind);

private:
	static constexpr size_t link_status_size = 32;

	std::array<uint8_t, link_status_size> link_status() const;
	void set_enabled(bool enabled);
	void report();

	Device &dev_;
	bool enabled_ = true; /* by the driver */
	bool events_ = false; /* the driver wants link events */
	bool reported_up_ = false;
};

} // namespace e810
