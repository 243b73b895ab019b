// SPDX-License-Identifier: GPL-2.0
/*
 * Transmit offloads: checksums, segmentation, VLAN tags.
 *
 * A packet as the driver's descriptors describe it becomes one or more frames. LanTx calls send_packet().
 */
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace e810 {

class Wire;

/** What the descriptors of a packet ask for. Lengths in bytes. */
struct TxOffload {
	enum class Ip { none, v6, v4, v4_checksum };
	enum class L4 { none, tcp, sctp, udp };

	Ip ip = Ip::none;
	L4 l4 = L4::none;
	size_t mac_length = 0;
	size_t ip_length = 0; /* with options or extension headers */
	size_t l4_length = 0;
	bool segment = false;
	size_t mss = 0; /* payload of a segment */
	bool insert_vlan = false;
	uint16_t vlan_tci = 0;
};

/**
 * Sends @p packet, which is changed on the way. False: its headers are not what @p offload says, nothing
 * was sent.
 */
bool send_packet(Wire &wire, std::vector<uint8_t> &packet, const TxOffload &offload);

} // namespace e810
