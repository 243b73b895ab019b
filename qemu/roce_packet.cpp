// SPDX-License-Identifier: GPL-2.0
/* RoCEv2 packets; see roce_packet.h. */
#include "roce_packet.h"

#include "irdma/hw/limits.h"

namespace e810 {

namespace {

using namespace roce_header;
using enum RoceMessage;
using enum RocePlace;

constexpr size_t bth_bytes = 12;
constexpr size_t icrc_bytes = 4;

constexpr RoceOpcode opcodes[] = {
	{0x00, send, first, 0, true},
	{0x01, send, middle, 0, true},
	{0x02, send, last, 0, true},
	{0x03, send, last, immediate, true},
	{0x04, send, only, 0, true},
	{0x05, send, only, immediate, true},
	{0x06, write, first, reth, true},
	{0x07, write, middle, 0, true},
	{0x08, write, last, 0, true},
	{0x09, write, last, immediate, true},
	{0x0a, write, only, reth, true},
	{0x0b, write, only, reth | immediate, true},
	{0x0c, read_request, only, reth, false},
	{0x0d, read_response, first, aeth, true},
	{0x0e, read_response, middle, 0, true},
	{0x0f, read_response, last, aeth, true},
	{0x10, read_response, only, aeth, true},
	{0x11, acknowledge, only, aeth, false},
	{0x13, atomic, only, atomic_eth, false},
	{0x14, atomic, only, atomic_eth, false},
	{0x16, send, last, ieth, true},
	{0x17, send, only, ieth, true},
	{0x64, datagram, only, deth, true},
	{0x65, datagram, only, deth | immediate, true},
	{0x81, congestion, only, reserved16, false},
};

struct HeaderSize {
	uint8_t header;
	uint8_t bytes;
};
constexpr HeaderSize header_sizes[] = {
	{deth, 8}, {reth, 16},	     {aeth, 4},	       {immediate, 4},
	{ieth, 4}, {atomic_eth, 28}, {reserved16, 16},
};

size_t headers_size(uint8_t headers)
{
	size_t bytes = 0;

	for (const HeaderSize &size : header_sizes)
		if (headers & size.header)
			bytes += size.bytes;
	return bytes;
}

/* Reflected CRC-32 in steps of eight bytes: table k takes a byte that k bytes follow. */
using CrcTables = std::array<std::array<uint32_t, 256>, 8>;

consteval CrcTables make_crc_tables()
{
	CrcTables t{};

	for (uint32_t i = 0; i < 256; i++) {
		uint32_t crc = i;

		for (int bit = 0; bit < 8; bit++)
			crc = crc >> 1 ^ (crc & 1 ? 0xedb88320 : 0);
		t[0][i] = crc;
	}
	for (uint32_t i = 0; i < 256; i++)
		for (size_t k = 1; k < 8; k++)
			t[k][i] = t[k - 1][i] >> 8 ^ t[0][t[k - 1][i] & 0xff];
	return t;
}

constexpr CrcTables crc_tables = make_crc_tables();

uint32_t crc_add(uint32_t crc, Frame bytes)
{
	const CrcTables &t = crc_tables;
	const uint8_t *p = bytes.data();
	size_t left = bytes.size();

	for (; left >= 8; left -= 8, p += 8)
		crc = t[7][(crc ^ p[0]) & 0xff] ^ t[6][(crc >> 8 ^ p[1]) & 0xff] ^
		      t[5][(crc >> 16 ^ p[2]) & 0xff] ^ t[4][crc >> 24 ^ p[3]] ^ t[3][p[4]] ^
		      t[2][p[5]] ^ t[1][p[6]] ^ t[0][p[7]];
	for (; left; left--, p++)
		crc = crc >> 8 ^ t[0][(crc ^ *p) & 0xff];
	return crc;
}

uint32_t get_be24(Frame f, size_t at)
{
	return get_be32(f, at) & 0xffffff;
}

uint64_t get_be48(Frame f, size_t at)
{
	return uint64_t{get_be16(f, at)} << 32 | get_be32(f, at + 2);
}

uint64_t get_be64(Frame f, size_t at)
{
	return uint64_t{get_be32(f, at)} << 32 | get_be32(f, at + 4);
}

void put_be48(std::span<uint8_t> f, size_t at, uint64_t value)
{
	put_be16(f, at, static_cast<uint16_t>(value >> 32));
	put_be32(f, at + 2, static_cast<uint32_t>(value));
}

IpAddress get_ipv6(Frame f, size_t at)
{
	return {get_be32(f, at), get_be32(f, at + 4), get_be32(f, at + 8), get_be32(f, at + 12)};
}

void parse_path(Frame frame, const Headers &h, RocePath &path)
{
	Frame ip = frame.subspan(h.l3);

	path.dest_mac = get_be48(frame, 0);
	path.source_mac = get_be48(frame, 6);
	path.tagged = h.tagged;
	path.vlan_tci = h.vlan_tci;
	path.ipv4 = h.ipv4;
	path.source_port = get_be16(frame, h.l4);
	if (h.ipv4) {
		path.tos = ip[1];
		path.ttl = ip[8];
		path.source[3] = get_be32(ip, 12);
		path.dest[3] = get_be32(ip, 16);
		return;
	}
	path.tos = static_cast<uint8_t>(get_be16(ip, 0) >> 4);
	path.flow_label = get_be32(ip, 0) & 0xfffff;
	path.ttl = ip[7];
	path.source = get_ipv6(ip, 8);
	path.dest = get_ipv6(ip, 24);
}

/* The headers behind the BTH, all of which are there. */
void parse_extended(Frame at, const RoceOpcode &op, RoceFields &f)
{
	auto take = [&](uint8_t header) {
		bool there = op.has(header);
		Frame mine = at;

		if (there)
			at = at.subspan(headers_size(header));
		return there ? mine : Frame{};
	};

	if (Frame h = take(deth); !h.empty()) {
		f.qkey = get_be32(h, 0);
		f.source_qp = get_be24(h, 4);
	}
	if (Frame h = take(reth); !h.empty()) {
		f.address = get_be64(h, 0);
		f.key = get_be32(h, 8);
		f.length = get_be32(h, 12);
	}
	if (Frame h = take(aeth); !h.empty()) {
		f.syndrome = h[0];
		f.msn = get_be24(h, 0);
	}
	if (Frame h = take(immediate); !h.empty())
		f.immediate = get_be32(h, 0);
	if (Frame h = take(ieth); !h.empty())
		f.invalidate = get_be32(h, 0);
}

uint32_t crc_of_masked_headers(Frame ip, bool ipv6)
{
	constexpr size_t most = ipv6_header + udp_header + bth_bytes;
	std::array<uint8_t, 8 + most> copy;
	size_t header = ipv6 ? ipv6_header : ipv4_header;
	size_t size = header + udp_header + bth_bytes;
	auto masked = std::span(copy).subspan(8, size);

	/* Fields that routers change count as ones; eight bytes of ones stand for an LRH. */
	std::fill_n(copy.begin(), 8, 0xff);
	std::copy_n(ip.begin(), size, masked.begin());
	if (ipv6) {
		masked[0] |= 0x0f;
		std::fill_n(masked.begin() + 1, 3, 0xff);
		masked[7] = 0xff;
	} else {
		masked[1] = 0xff;
		masked[8] = 0xff;
		put_be16(masked, 10, 0xffff);
	}
	put_be16(masked, header + 6, 0xffff);
	masked[header + udp_header + 4] = 0xff;
	return crc_add(UINT32_MAX, std::span(copy).first(8 + size));
}

} // namespace

const RoceOpcode *roce_opcode(uint8_t opcode)
{
	for (const RoceOpcode &row : opcodes)
		if (row.opcode == opcode)
			return &row;
	return nullptr;
}

uint8_t roce_opcode(RoceMessage message, RocePlace place, uint8_t headers)
{
	for (const RoceOpcode &row : opcodes)
		if (row.message == message && row.place == place && row.headers == headers)
			return row.opcode;
	return bth_op::rc_send_only;
}

int64_t rnr_timer_ns(uint8_t code)
{
	/* Units of 10 us; InfiniBand Architecture Specification, table 45. */
	constexpr uint32_t units[] = {65536, 1,	   2,	 3,	4,     6,     8,     12,
				      16,    24,   32,	 48,	64,    96,    128,   192,
				      256,   384,  512,	 768,	1024,  1536,  2048,  3072,
				      4096,  6144, 8192, 12288, 16384, 24576, 32768, 49152};

	return int64_t{units[code % std::size(units)]} * 10'000;
}

uint32_t roce_icrc(Frame ip, bool ipv6)
{
	size_t headers = (ipv6 ? ipv6_header : ipv4_header) + udp_header + bth_bytes;

	return ~crc_add(crc_of_masked_headers(ip, ipv6), ip.subspan(headers));
}

std::optional<RocePacket> parse_roce(Frame frame)
{
	Headers h = parse(frame);
	RocePacket packet;
	RoceFields &f = packet.fields;

	/* Options are not allowed, nor is anything that the UDP length does not cover. */
	if ((h.ipv4 && h.l4 - h.l3 != ipv4_header) || h.l4_length < udp_header ||
	    get_be16(frame, h.l4 + 4) != h.l4_length ||
	    h.l4_length < udp_header + bth_bytes + icrc_bytes)
		return std::nullopt;

	Frame ip = frame.subspan(h.l3, h.l4 - h.l3 + h.l4_length);
	Frame covered = ip.first(ip.size() - icrc_bytes);
	Frame bth = covered.subspan(h.l4 - h.l3 + udp_header);
	Frame stored = ip.last(icrc_bytes);
	uint32_t crc = stored[0] | stored[1] << 8 | stored[2] << 16 | uint32_t{stored[3]} << 24;

	if (crc != roce_icrc(covered, h.ipv6))
		return std::nullopt;
	packet.op = roce_opcode(bth[0]);
	/* Transport header version 0. */
	if (!packet.op || bth[1] & 0xf)
		return std::nullopt;

	size_t extended = headers_size(packet.op->headers);
	size_t pad = bth[1] >> 4 & 3;
	if (bth.size() < bth_bytes + extended + pad)
		return std::nullopt;
	packet.payload = bth.subspan(bth_bytes + extended, bth.size() - bth_bytes - extended - pad);
	if (!packet.op->payload && !packet.payload.empty())
		return std::nullopt;
	packet.ip = ip.first(h.l4 - h.l3);
	packet.ip_bytes = ip.size();
	f.opcode = bth[0];
	f.solicited = bth[1] & 0x80;
	f.pkey = get_be16(bth, 2);
	f.becn = bth[4] & 0x40;
	f.dest_qp = get_be24(bth, 4);
	f.ack_request = bth[8] & 0x80;
	f.psn = get_be24(bth, 8);
	parse_extended(bth.subspan(bth_bytes), *packet.op, f);
	parse_path(frame, h, packet.path);
	return packet;
}

RoceFrame::RoceFrame(const RocePath &path, const RoceFields &fields, size_t payload)
	: ipv6_(!path.ipv4), payload_(payload)
{
	const RoceOpcode &op = *roce_opcode(fields.opcode);
	size_t pad = -payload & 3;

	ip_at_ = ethernet_header + (path.tagged ? vlan_tag : 0);
	udp_at_ = ip_at_ + (ipv6_ ? ipv6_header : ipv4_header);
	payload_at_ = udp_at_ + udp_header + bth_bytes + headers_size(op.headers);
	bytes_.resize(payload_at_ + payload + pad + icrc_bytes);
	put_ethernet(path);
	if (ipv6_)
		put_ipv6(path);
	else
		put_ipv4(path);
	auto udp = std::span(bytes_).subspan(udp_at_);
	put_be16(udp, 0, path.source_port);
	put_be16(udp, 2, irdma::hw::roce_udp_port);
	put_be16(udp, 4, static_cast<uint16_t>(udp.size()));
	put_transport(fields, op, pad);
}

void RoceFrame::put_ethernet(const RocePath &path)
{
	put_be48(bytes_, 0, path.dest_mac);
	put_be48(bytes_, 6, path.source_mac);
	if (path.tagged) {
		put_be16(bytes_, 12, ethertype_vlan);
		put_be16(bytes_, 14, path.vlan_tci);
	}
	put_be16(bytes_, ip_at_ - 2, ipv6_ ? ethertype_ipv6 : ethertype_ipv4);
}

void RoceFrame::put_ipv4(const RocePath &path)
{
	constexpr uint16_t dont_fragment = 0x4000;
	auto ip = std::span(bytes_).subspan(ip_at_);

	ip[0] = 0x45;
	ip[1] = path.tos;
	put_be16(ip, 2, static_cast<uint16_t>(ip.size()));
	put_be16(ip, 6, dont_fragment);
	ip[8] = path.ttl;
	ip[9] = protocol_udp;
	put_be32(ip, 12, path.source[3]);
	put_be32(ip, 16, path.dest[3]);
	put_be16(ip, 10, checksum_finish(checksum_add(0, ip.first(ipv4_header))));
}

void RoceFrame::put_ipv6(const RocePath &path)
{
	auto ip = std::span(bytes_).subspan(ip_at_);

	put_be32(ip, 0, 6u << 28 | uint32_t{path.tos} << 20 | (path.flow_label & 0xfffff));
	put_be16(ip, 4, static_cast<uint16_t>(ip.size() - ipv6_header));
	ip[6] = protocol_udp;
	ip[7] = path.ttl;
	for (size_t i = 0; i < 4; i++) {
		put_be32(ip, 8 + 4 * i, path.source[i]);
		put_be32(ip, 24 + 4 * i, path.dest[i]);
	}
}

void RoceFrame::put_transport(const RoceFields &fields, const RoceOpcode &op, size_t pad)
{
	auto at = std::span(bytes_).subspan(udp_at_ + udp_header);

	at[0] = fields.opcode;
	at[1] = static_cast<uint8_t>((fields.solicited ? 0x80 : 0) | pad << 4);
	put_be16(at, 2, fields.pkey);
	put_be32(at, 4, (fields.dest_qp & 0xffffff) | (fields.becn ? 1u << 30 : 0));
	put_be32(at, 8, (fields.psn & psn_mask) | (fields.ack_request ? 1u << 31 : 0));
	at = at.subspan(bth_bytes);
	if (op.has(deth)) {
		put_be32(at, 0, fields.qkey);
		put_be32(at, 4, fields.source_qp & 0xffffff);
		at = at.subspan(headers_size(deth));
	}
	if (op.has(reth)) {
		put_be32(at, 0, static_cast<uint32_t>(fields.address >> 32));
		put_be32(at, 4, static_cast<uint32_t>(fields.address));
		put_be32(at, 8, fields.key);
		put_be32(at, 12, fields.length);
		at = at.subspan(headers_size(reth));
	}
	if (op.has(aeth)) {
		put_be32(at, 0, uint32_t{fields.syndrome} << 24 | (fields.msn & 0xffffff));
		at = at.subspan(headers_size(aeth));
	}
	if (op.has(immediate))
		put_be32(at, 0, fields.immediate);
	if (op.has(ieth))
		put_be32(at, 0, fields.invalidate);
}

std::vector<uint8_t> RoceFrame::finish()
{
	size_t at = bytes_.size() - icrc_bytes;
	uint32_t crc = roce_icrc(std::span(bytes_).subspan(ip_at_, at - ip_at_), ipv6_);

	for (size_t i = 0; i < icrc_bytes; i++)
		bytes_[at + i] = static_cast<uint8_t>(crc >> 8 * i);
	return std::move(bytes_);
}

} // namespace e810
