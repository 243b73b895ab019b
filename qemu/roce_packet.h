// SPDX-License-Identifier: GPL-2.0
/*
 * RoCEv2 packets: InfiniBand's transport headers in UDP, and the invariant CRC.
 *
 *	Ethernet [VLAN] | IPv4 or IPv6 | UDP | BTH [extended headers] | payload, pad | ICRC
 *
 * parse_roce() takes a received frame apart and refuses what is malformed or has a wrong ICRC;
 * RoceFrame makes one. Which extended headers a packet has, and what it does, is in one table by
 * opcode (roce_opcode()). InfiniBand Architecture Specification 1.3, chapter 9; annex A17 for
 * RoCEv2.
 */
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "packet.h"

namespace e810 {

/** Packet sequence numbers are counted modulo 2^24. */
constexpr uint32_t psn_mask = 0xffffff;

/** How far @p psn is ahead of @p from: 0 to 2^24 - 1. */
constexpr uint32_t psn_distance(uint32_t from, uint32_t psn)
{
	return (psn - from) & psn_mask;
}

/** Opcodes of the BTH that the code names; the table has all. */
namespace bth_op {
constexpr uint8_t rc_send_only = 0x04;
constexpr uint8_t rc_read_request = 0x0c;
constexpr uint8_t rc_acknowledge = 0x11;
constexpr uint8_t ud_send_only = 0x64;
constexpr uint8_t ud_send_only_imm = 0x65;
constexpr uint8_t cnp = 0x81;
} // namespace bth_op

/** What a packet is part of. */
enum class RoceMessage : uint8_t {
	send,
	write,
	read_request,
	read_response,
	acknowledge,
	atomic, /* known, and not supported by the E810 */
	datagram,
	congestion, /* CNP */
};

/** Its place in the message. */
enum class RocePlace : uint8_t { first, middle, last, only };

/** Extended headers, in the order in which they follow the BTH. */
namespace roce_header {
constexpr uint8_t deth = 1 << 0;
constexpr uint8_t reth = 1 << 1;
constexpr uint8_t aeth = 1 << 2;
constexpr uint8_t immediate = 1 << 3;
constexpr uint8_t ieth = 1 << 4;
constexpr uint8_t atomic_eth = 1 << 5;
constexpr uint8_t reserved16 = 1 << 6; /* of a CNP */
} // namespace roce_header

struct RoceOpcode {
	uint8_t opcode;
	RoceMessage message;
	RocePlace place;
	uint8_t headers;
	bool payload; /* may carry some */

	bool has(uint8_t header) const { return headers & header; }
	bool starts() const { return place == RocePlace::first || place == RocePlace::only; }
	bool ends() const { return place == RocePlace::last || place == RocePlace::only; }
};

/** The opcode's row, or nullptr. */
const RoceOpcode *roce_opcode(uint8_t opcode);

/** The opcode of @p message at @p place with exactly @p headers; the combination exists. */
uint8_t roce_opcode(RoceMessage message, RocePlace place, uint8_t headers);

/** Code of the AETH: kind in the top three bits. */
namespace syndrome {
constexpr uint8_t ack = 0x1f; /* without limit of credits */
constexpr uint8_t rnr = 0x20; /* plus a timer code */
constexpr uint8_t nak_sequence = 0x60;
constexpr uint8_t nak_invalid_request = 0x61;
constexpr uint8_t nak_remote_access = 0x62;
constexpr uint8_t nak_remote_operation = 0x63;

constexpr bool is_ack(uint8_t syndrome)
{
	return (syndrome & 0xe0) == 0;
}
constexpr bool is_rnr(uint8_t syndrome)
{
	return (syndrome & 0xe0) == rnr;
}
} // namespace syndrome

/** Time that an RNR timer code stands for, in ns. */
int64_t rnr_timer_ns(uint8_t code);

/** An address as contexts have it: an IPv4 one in the last word only. */
using IpAddress = std::array<uint32_t, 4>;

/** Fields of the transport headers; which are there tells the opcode. */
struct RoceFields {
	uint8_t opcode = 0;
	bool solicited = false;
	bool becn = false;
	bool ack_request = false;
	uint16_t pkey = 0;
	uint32_t dest_qp = 0;
	uint32_t psn = 0;
	uint32_t qkey = 0;	 /* DETH */
	uint32_t source_qp = 0;	 /* DETH */
	uint64_t address = 0;	 /* RETH */
	uint32_t key = 0;	 /* RETH */
	uint32_t length = 0;	 /* RETH */
	uint8_t syndrome = 0;	 /* AETH */
	uint32_t msn = 0;	 /* AETH */
	uint32_t immediate = 0;	 /* as a number */
	uint32_t invalidate = 0; /* IETH */
};

/** From where to where a packet goes. MACs are numbers, first byte on top. */
struct RocePath {
	uint64_t source_mac = 0;
	uint64_t dest_mac = 0;
	bool tagged = false;
	uint16_t vlan_tci = 0;
	bool ipv4 = false;
	IpAddress source{};
	IpAddress dest{};
	uint8_t tos = 0; /* or traffic class: DSCP and ECN */
	uint8_t ttl = 0;
	uint32_t flow_label = 0;
	uint16_t source_port = 0;

	bool multicast() const { return dest_mac >> 40 & 1; }
};

/** A received packet; spans point into the frame. */
struct RocePacket {
	RocePath path;
	RoceFields fields;
	const RoceOpcode *op = nullptr;
	Frame ip;	     /* the IP header */
	size_t ip_bytes = 0; /* of the whole IP packet */
	Frame payload;
};

/** ICRC of the packet whose IP header begins @p ip and which ends before the ICRC. */
uint32_t roce_icrc(Frame ip, bool ipv6);

/** Takes a UDP frame to port 4791 apart; nullopt if it is no good packet. */
std::optional<RocePacket> parse_roce(Frame frame);

/** A packet to be sent. */
class RoceFrame {
public:
	/** @p payload: bytes of it, without pad. */
	RoceFrame(const RocePath &path, const RoceFields &fields, size_t payload);

	/** Where the payload belongs. */
	std::span<uint8_t> payload() { return std::span(bytes_).subspan(payload_at_, payload_); }

	/** Adds the ICRC; the frame is complete then. */
	std::vector<uint8_t> finish();

private:
	void put_ethernet(const RocePath &path);
	void put_ipv4(const RocePath &path);
	void put_ipv6(const RocePath &path);
	void put_transport(const RoceFields &fields, const RoceOpcode &op, size_t pad);

	std::vector<uint8_t> bytes_;
	bool ipv6_;
	size_t ip_at_ = 0;
	size_t udp_at_ = 0;
	size_t payload_at_ = 0;
	size_t payload_;
};

} // namespace e810
