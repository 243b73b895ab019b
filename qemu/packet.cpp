// SPDX-License-Identifier: GPL-2.0
/* Frame headers and checksums; see packet.h. */
#include "packet.h"

#include "wire.h"

namespace e810 {

namespace {

void parse_ipv4(Frame frame, Headers &h)
{
	if (frame.size() < h.l3 + ipv4_header || frame[h.l3] >> 4 != 4)
		return;

	size_t header = (frame[h.l3] & 0xf) * 4u;
	size_t total = get_be16(frame, h.l3 + 2);

	if (header < ipv4_header || total < header || total > frame.size() - h.l3)
		return;
	h.ipv4 = true;
	h.fragment = get_be16(frame, h.l3 + 6) & 0x3fff; /* more fragments, or an offset */
	h.protocol = frame[h.l3 + 9];
	h.l4 = h.l3 + header;
	h.l4_length = total - header;
}

void parse_ipv6(Frame frame, Headers &h)
{
	if (frame.size() < h.l3 + ipv6_header || frame[h.l3] >> 4 != 6)
		return;

	size_t payload = get_be16(frame, h.l3 + 4);

	if (payload > frame.size() - h.l3 - ipv6_header)
		return;
	h.ipv6 = true;
	h.protocol = frame[h.l3 + 6];
	h.l4 = h.l3 + ipv6_header;
	h.l4_length = payload;
}

} // namespace

Headers parse(Frame frame)
{
	Headers h;

	h.ethertype = get_be16(frame, 12);
	h.l3 = ethernet_header;
	if (h.ethertype == ethertype_vlan && frame.size() >= ethernet_header + vlan_tag) {
		h.tagged = true;
		h.vlan_tci = get_be16(frame, 14);
		h.ethertype = get_be16(frame, 16);
		h.l3 += vlan_tag;
	}
	if (h.ethertype == ethertype_ipv4)
		parse_ipv4(frame, h);
	else if (h.ethertype == ethertype_ipv6)
		parse_ipv6(frame, h);
	return h;
}

bool is_rocev2(std::span<const uint8_t> frame)
{
	constexpr uint16_t rocev2_port = 4791;
	Headers h = parse(frame);

	return (h.ipv4 || h.ipv6) && !h.fragment && h.protocol == protocol_udp &&
	       h.l4_length >= udp_header && get_be16(frame, h.l4 + 2) == rocev2_port;
}

uint64_t checksum_add(uint64_t sum, Frame bytes)
{
	size_t i = 0;

	for (; i + 1 < bytes.size(); i += 2)
		sum += get_be16(bytes, i);
	if (i < bytes.size())
		sum += uint32_t{bytes[i]} << 8;
	return sum;
}

uint16_t checksum_finish(uint64_t sum)
{
	while (sum >> 16)
		sum = (sum & 0xffff) + (sum >> 16);
	return static_cast<uint16_t>(~sum);
}

uint64_t pseudo_header_sum(Frame ip, bool ipv6, uint8_t protocol, size_t l4_length)
{
	Frame addresses = ipv6 ? ip.subspan(8, 32) : ip.subspan(12, 8);

	return checksum_add(protocol + uint64_t{l4_length}, addresses);
}

} // namespace e810
