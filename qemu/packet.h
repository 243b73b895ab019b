// SPDX-License-Identifier: GPL-2.0
/*
 * What a frame is: Ethernet, VLAN, IP and UDP headers, and Internet checksums.
 *
 * For steering of received frames (wire.cpp), filters (switch.cpp) and transmit offloads (offload.cpp).
 */
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>

namespace e810 {

constexpr size_t mac_size = 6;
constexpr size_t ethernet_header = 14;
constexpr size_t vlan_tag = 4;
constexpr size_t ipv4_header = 20;
constexpr size_t ipv6_header = 40;
constexpr size_t tcp_header = 20;
constexpr size_t udp_header = 8;

constexpr uint16_t ethertype_ipv4 = 0x0800;
constexpr uint16_t ethertype_vlan = 0x8100;
constexpr uint16_t ethertype_ipv6 = 0x86dd;
constexpr uint8_t protocol_tcp = 6;
constexpr uint8_t protocol_udp = 17;

using Frame = std::span<const uint8_t>;

/* Numbers in network order; the caller has checked that they are there. */
inline uint16_t get_be16(Frame f, size_t at)
{
	return static_cast<uint16_t>(f[at] << 8 | f[at + 1]);
}

inline uint32_t get_be32(Frame f, size_t at)
{
	return uint32_t{get_be16(f, at)} << 16 | get_be16(f, at + 2);
}

inline void put_be16(std::span<uint8_t> f, size_t at, uint16_t value)
{
	f[at] = static_cast<uint8_t>(value >> 8);
	f[at + 1] = static_cast<uint8_t>(value);
}

inline void put_be32(std::span<uint8_t> f, size_t at, uint32_t value)
{
	put_be16(f, at, static_cast<uint16_t>(value >> 16));
	put_be16(f, at + 2, static_cast<uint16_t>(value));
}

/** Destination address tests; the frame has an Ethernet header. */
inline bool is_multicast(Frame f)
{
	return f[0] & 1;
}

inline bool is_broadcast(Frame f)
{
	return std::all_of(f.begin(), f.begin() + mac_size, [](uint8_t b) { return b == 0xff; });
}

/** The headers that matter of a frame. */
struct Headers {
	bool tagged = false;
	uint16_t vlan_tci = 0;
	/** Of what follows the Ethernet header and its tag. */
	uint16_t ethertype = 0;
	size_t l3 = 0;	   /* offset of that */
	bool ipv4 = false; /* a complete header of that kind is there */
	bool ipv6 = false;
	bool fragment = false;
	uint8_t protocol = 0; /* of IPv4, or next header of IPv6 */
	size_t l4 = 0;	      /* offset of the transport header */
	size_t l4_length = 0; /* bytes from there to the end of the IP packet, all in the frame */
};

/** Takes a frame apart; it has at least an Ethernet header. IPv6 extension headers are not followed. */
Headers parse(Frame frame);

/** Ones' complement sum of bytes, starting from @p sum; not folded. */
uint64_t checksum_add(uint64_t sum, Frame bytes);

/** Folds and complements a sum into the value for a checksum field. */
uint16_t checksum_finish(uint64_t sum);

/** Sum of the TCP/UDP pseudo header of the IP header at @p ip. */
uint64_t pseudo_header_sum(Frame ip, bool ipv6, uint8_t protocol, size_t l4_length);

} // namespace e810
