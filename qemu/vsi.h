// SPDX-License-Identifier: GPL-2.0
/*
 * Virtual station interfaces: the switch's ports towards the host.
 *
 * A VSI is 128 bytes of properties that the driver sets in sections (AdminQ 0210, 0211), kept as they
 * came and read through accessors. Switch and LAN receive ask them; the protocol engine asks pe_enabled().
 */
#pragma once

#include <array>
#include <cstdint>
#include <map>

#include "adminq.h"
#include "reset_kind.h"

namespace e810 {

class Vsi {
public:
	static constexpr size_t props_size = 128;

	/** Takes the sections of @p props that it marks valid. */
	void update(Bytes props);

	/** The first receive queue of traffic class 0: where frames go. */
	uint32_t receive_queue() const;
	/** Frames of VLANs that no rule lists for this VSI are dropped. */
	bool prunes_vlans() const;
	/** VLAN tags are moved from the frame to the descriptor. */
	bool strips_vlan() const;
	/** The protocol engine may receive for this VSI ("PE filter enable"). */
	bool pe_enabled() const;

private:
	uint8_t u8(size_t at) const { return props_[at]; }
	uint16_t u16(size_t at) const
	{
		return static_cast<uint16_t>(props_[at] | props_[at + 1] << 8);
	}

	std::array<uint8_t, props_size> props_{};
};

class Vsis {
public:
	explicit Vsis(Device &dev) : dev_(dev) {}

	/** The VSI of that number, or nullptr. */
	const Vsi *find(uint16_t number) const;

	/** Is the protocol engine enabled in any VSI? */
	bool pe_enabled() const;

	AqError add(AqCommand &cmd);
	AqError update(AqCommand &cmd);
	AqError free(AqCommand &cmd);

	void reset(ResetKind kind);

private:
	void answer(AqCommand &cmd, uint16_t number);

	Device &dev_;
	std::map<uint16_t, Vsi> vsis_;
};

} // namespace e810
