// SPDX-License-Identifier: GPL-2.0
/*
 * Data centre bridging as firmware does it for a driver that has its DCBX in software: which traffic
 * classes the port has, and to which of them a user priority belongs.
 *
 * The driver states what it wants as a local LLDP MIB, a chain of TLVs: in VLAN mode the ETS
 * configuration of IEEE 802.1Qaz, in DSCP mode a table of its own. From that follow PRTDCB_TUP2TC, the
 * scheduler's nodes of traffic classes, and the answer to "query port ETS". Frames are not classified
 * by it: see lan_rx.h and scheduler.h.
 */
#pragma once

#include <array>
#include <cstdint>

#include "adminq.h"
#include "reset_kind.h"

namespace e810 {

class Dcb {
public:
	static constexpr unsigned int classes = 8, priorities = 8;

	explicit Dcb(Device &dev);

	AqError set_pfc_mode(AqCommand &cmd);
	AqError set_local_mib(AqCommand &cmd);
	AqError query_port_ets(AqCommand &cmd);

	void reset(ResetKind kind);

private:
	/* What a MIB says. */
	struct Settings {
		std::array<uint8_t, priorities> up2tc{};
		std::array<uint8_t, classes> share{100}; /* of the bandwidth, percent */
		uint8_t class_mask = 1;			 /* bit n: class n exists */
	};

	uint32_t read_up2tc(uint32_t);
	void read_tlv(uint32_t type, Bytes value, Settings &settings) const;
	void apply(const Settings &settings);

	Device &dev_;
	bool dscp_mode_ = false;
	Settings settings_;
};

} // namespace e810
