// SPDX-License-Identifier: GPL-2.0
/* Checksums and segmentation of what the driver sends; see offload.h. */
#include "offload.h"

#include <span>

#include "packet.h"
#include "wire.h"

namespace e810 {

namespace {

/* The least segment size that the hardware takes. */
constexpr size_t least_mss = 64;

constexpr size_t tcp_sequence = 4, tcp_flags = 13, tcp_checksum = 16, udp_length = 4,
		 udp_checksum = 6;
constexpr uint8_t tcp_fin_psh = 0x09, tcp_cwr = 0x80;

bool is_ipv6(const TxOffload &o)
{
	return o.ip == TxOffload::Ip::v6;
}

/* Do the lengths make room for the headers that are to be changed? */
bool plausible(size_t size, const TxOffload &o)
{
	size_t least_ip = o.ip == TxOffload::Ip::none ? 0 : is_ipv6(o) ? ipv6_header : ipv4_header;
	size_t least_l4 = o.l4 == TxOffload::L4::tcp   ? tcp_header
			  : o.l4 == TxOffload::L4::udp ? udp_header
						       : 0;
	size_t l4 = o.mac_length + o.ip_length;

	if (size < ethernet_header)
		return false;
	if (o.ip == TxOffload::Ip::none) /* then there is nothing to compute */
		return o.l4 == TxOffload::L4::none && !o.segment;
	if (o.mac_length < ethernet_header || o.ip_length < least_ip || size < l4 + least_l4)
		return false;
	if (!o.segment)
		return true;
	return (o.l4 == TxOffload::L4::tcp || o.l4 == TxOffload::L4::udp) &&
	       o.l4_length >= least_l4 && o.mss >= least_mss && size > l4 + o.l4_length;
}

void set_l4_checksum(std::span<uint8_t> frame, const TxOffload &o)
{
	bool tcp = o.l4 == TxOffload::L4::tcp;
	std::span<uint8_t> ip = frame.subspan(o.mac_length);
	std::span<uint8_t> l4 = ip.subspan(o.ip_length);
	size_t field = tcp ? tcp_checksum : udp_checksum;

	put_be16(l4, field, 0);
	uint64_t sum =
		pseudo_header_sum(ip, is_ipv6(o), tcp ? protocol_tcp : protocol_udp, l4.size());
	uint16_t checksum = checksum_finish(checksum_add(sum, l4));

	/* In UDP, 0 says that there is none. */
	put_be16(l4, field, checksum == 0 && !tcp ? 0xffff : checksum);
}

void set_checksums(std::span<uint8_t> frame, const TxOffload &o)
{
	if (o.ip == TxOffload::Ip::v4_checksum) {
		std::span<uint8_t> ip = frame.subspan(o.mac_length, o.ip_length);

		put_be16(ip, 10, 0);
		put_be16(ip, 10, checksum_finish(checksum_add(0, ip)));
	}
	if (o.l4 == TxOffload::L4::tcp || o.l4 == TxOffload::L4::udp)
		set_l4_checksum(frame, o);
}

void finish(Wire &wire, std::vector<uint8_t> &frame, const TxOffload &o)
{
	set_checksums(frame, o);
	if (o.insert_vlan) {
		const uint8_t tag[vlan_tag] = {
			ethertype_vlan >> 8,
			ethertype_vlan & 0xff,
			static_cast<uint8_t>(o.vlan_tci >> 8),
			static_cast<uint8_t>(o.vlan_tci),
		};
		frame.insert(frame.begin() + 2 * mac_size, tag, tag + vlan_tag);
	}
	wire.send(frame);
}

/* Makes the headers of one segment right: its place in the packet and its length. */
void edit_segment(std::span<uint8_t> frame, const TxOffload &o, size_t number, size_t offset,
		  bool last)
{
	std::span<uint8_t> ip = frame.subspan(o.mac_length);
	std::span<uint8_t> l4 = ip.subspan(o.ip_length);

	if (is_ipv6(o)) {
		put_be16(ip, 4, static_cast<uint16_t>(ip.size() - ipv6_header));
	} else {
		put_be16(ip, 2, static_cast<uint16_t>(ip.size()));
		put_be16(ip, 4, static_cast<uint16_t>(get_be16(ip, 4) + number));
	}
	if (o.l4 == TxOffload::L4::udp) {
		put_be16(l4, udp_length, static_cast<uint16_t>(l4.size()));
		return;
	}
	put_be32(l4, tcp_sequence, static_cast<uint32_t>(get_be32(l4, tcp_sequence) + offset));
	if (!last)
		l4[tcp_flags] &= static_cast<uint8_t>(~tcp_fin_psh);
	if (number)
		l4[tcp_flags] &= static_cast<uint8_t>(~tcp_cwr);
}

} // namespace

bool send_packet(Wire &wire, std::vector<uint8_t> &packet, const TxOffload &o)
{
	size_t header = o.mac_length + o.ip_length + o.l4_length;

	if (!plausible(packet.size(), o))
		return false;
	if (!o.segment) {
		finish(wire, packet, o);
		return true;
	}

	size_t payload = packet.size() - header;
	size_t number = 0;

	for (size_t offset = 0; offset < payload; offset += o.mss, number++) {
		size_t length = std::min(o.mss, payload - offset);
		auto from = packet.begin() + static_cast<ptrdiff_t>(header + offset);
		std::vector<uint8_t> frame(packet.begin(),
					   packet.begin() + static_cast<ptrdiff_t>(header));

		frame.insert(frame.end(), from, from + static_cast<ptrdiff_t>(length));
		edit_segment(frame, o, number, offset, offset + length == payload);
		finish(wire, frame, o);
	}
	return true;
}

} // namespace e810
