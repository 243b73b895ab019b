// SPDX-License-Identifier: GPL-2.0
/* LAN receive rings; see lan_rx.h. */
#include "lan_rx.h"

#include <vector>

#include "device.h"

namespace e810 {

namespace {

constexpr size_t descriptor_size = 32;
constexpr uint32_t most_descriptors = 8160;
constexpr uint32_t index_mask = 0x1fff;

constexpr uint32_t control_enable = 1u << 0;
constexpr uint32_t control_enabled = 1u << 2;

/* Status bits of the write-back */
constexpr uint16_t status_done = 1 << 0;
constexpr uint16_t status_end_of_frame = 1 << 1;
constexpr uint16_t status_checksums_seen = 1 << 3;
constexpr uint16_t status_ip_error = 1 << 4;
constexpr uint16_t status_l4_error = 1 << 5;
constexpr uint16_t status_vlan_tag = 1 << 13;

/* Write-back format "NIC", and packet types */
constexpr uint8_t profile_nic = 2;
constexpr uint16_t type_l2 = 1;
constexpr uint16_t type_ipv4_udp = 24, type_ipv4_tcp = 26, type_ipv6_udp = 90, type_ipv6_tcp = 92;

/* Length of an L4 checksum's place in its header. */
constexpr size_t udp_checksum = 6;

/* Packet type and checksum results of a frame. */
void classify(Frame frame, const Headers &h, uint16_t &type, uint16_t &status)
{
	bool tcp = h.protocol == protocol_tcp && h.l4_length >= tcp_header;
	bool udp = h.protocol == protocol_udp && h.l4_length >= udp_header;

	type = type_l2;
	if (!(h.ipv4 || h.ipv6) || h.fragment || !(tcp || udp))
		return;

	Frame ip = frame.subspan(h.l3);
	Frame l4 = frame.subspan(h.l4, h.l4_length);
	uint64_t sum = pseudo_header_sum(ip, h.ipv6, h.protocol, h.l4_length);
	bool unchecked = udp && h.ipv4 && get_be16(l4, udp_checksum) == 0;

	type = h.ipv4 ? (tcp ? type_ipv4_tcp : type_ipv4_udp)
		      : (tcp ? type_ipv6_tcp : type_ipv6_udp);
	status |= status_checksums_seen;
	if (h.ipv4 && checksum_finish(checksum_add(0, ip.first(h.l4 - h.l3))) != 0)
		status |= status_ip_error;
	if (!unchecked && checksum_finish(checksum_add(sum, l4)) != 0)
		status |= status_l4_error;
}

} // namespace

LanRx::LanRx(Device &dev) : dev_(dev)
{
	dev.registers.claim<nullptr, &LanRx::write_control>(this, regs::QRX_CTRL, lan_queues);
	dev.registers.claim<nullptr, &LanRx::write_tail>(this, regs::QRX_TAIL, lan_queues);
}

void LanRx::reset(ResetKind)
{
	queues_.fill(Queue{});
	/* Frames that waited for buffers are let go. */
	if (waiting_)
		dev_.receive_again();
	waiting_ = false;
}

/* Context words 0 to 7, in bits: [88:32] base / 128, [101:89] length, [108:102] buffer / 128,
 * 116 descriptors of 32 bytes, [187:174] longest frame.
 */
bool LanRx::load_context(uint32_t number, Queue &q) const
{
	uint32_t word[8];

	for (uint32_t i = 0; i < 8; i++)
		word[i] = dev_.registers.get(regs::QRX_CONTEXT + i * regs::QRX_CONTEXT_STRIDE +
					     4 * number);
	q.base = (uint64_t{word[2] & 0x1ffffff} << 32 | word[1]) << 7;
	q.length = word[2] >> 25 | (word[3] & 0x3f) << 7;
	q.buffer = (word[3] >> 6 & 0x7f) * 128;
	q.most = word[5] >> 14 & 0x3fff;
	/* Buffers may have been given before the queue is enabled. */
	q.tail = dev_.registers.get(regs::QRX_TAIL + 4 * number) & index_mask;
	return q.tail < q.length && q.length <= most_descriptors && q.buffer && word[3] & 1u << 20;
}

void LanRx::write_control(uint32_t number, uint32_t value)
{
	Queue &q = queues_[number];
	bool enable = value & control_enable;

	if (enable && !q.enabled) {
		q = Queue{};
		q.enabled = load_context(number, q);
		if (!q.enabled)
			dev_.guest_error("receive queue %u has no sensible context", number);
	} else if (!enable) {
		q = Queue{};
	}
	dev_.registers.set(regs::QRX_CTRL + 4 * number,
			   (value & ~control_enabled) | (q.enabled ? control_enabled : 0));
	if (waiting_)
		dev_.receive_again();
	waiting_ = false;
}

void LanRx::write_tail(uint32_t number, uint32_t value)
{
	Queue &q = queues_[number];

	dev_.registers.set(regs::QRX_TAIL + 4 * number, value);
	if (!q.enabled)
		return;
	if ((value & index_mask) >= q.length) {
		dev_.guest_error("receive queue %u: tail is beyond the ring", number);
		return;
	}
	q.tail = value & index_mask;
	if (waiting_)
		dev_.receive_again();
	waiting_ = false;
}

bool LanRx::has_room(uint32_t number, size_t size)
{
	if (number >= lan_queues || !queues_[number].enabled)
		return true;

	const Queue &q = queues_[number];
	size_t needed = (size + q.buffer - 1) / q.buffer;

	if (needed >= q.length || needed <= q.free())
		return true;
	waiting_ = true;
	return false;
}

void LanRx::deliver(const Vsi &vsi, Frame frame, const Headers &h)
{
	Result result{};
	std::vector<uint8_t> untagged;

	classify(frame, h, result.packet_type, result.status);
	if (h.tagged && vsi.strips_vlan()) {
		untagged.assign(frame.begin(), frame.begin() + 2 * mac_size);
		untagged.insert(untagged.end(), frame.begin() + 2 * mac_size + vlan_tag,
				frame.end());
		frame = untagged;
		result.status |= status_vlan_tag;
		result.vlan_tci = h.vlan_tci;
	}
	fill(vsi.receive_queue(), frame, result);
}

void LanRx::fill(uint32_t number, Frame frame, const Result &result)
{
	if (number >= lan_queues || !queues_[number].enabled)
		return;

	Queue &q = queues_[number];
	size_t needed = (frame.size() + q.buffer - 1) / q.buffer;

	if (frame.size() > q.most || needed > q.free())
		return;
	while (!frame.empty()) {
		Frame piece = frame.first(std::min(frame.size(), q.buffer));
		auto address = dev_.memory.read64(q.base + q.head * descriptor_size);

		frame = frame.subspan(piece.size());
		if (!address || !dev_.memory.write(*address, piece) ||
		    !write_back(q, q.head, piece.size(), result, frame.empty())) {
			dev_.guest_error("receive queue %u stopped: memory not accessible", number);
			q = Queue{};
			return;
		}
		q.head = q.head + 1 == q.length ? 0 : q.head + 1;
	}
	dev_.interrupts.raise(Cause::rx(number));
}

bool LanRx::write_back(const Queue &q, uint32_t index, size_t length, const Result &result,
		       bool last)
{
	uint64_t at = q.base + index * descriptor_size;
	uint64_t tail[2] = {};
	uint8_t head[8] = {profile_nic};
	uint8_t status[8] = {};

	Bytes(head).put16(2, result.packet_type);
	Bytes(head).put16(4, static_cast<uint16_t>(length));
	Bytes(status).put16(0, result.status | status_done | (last ? status_end_of_frame : 0));
	Bytes(status).put16(2, result.vlan_tci);
	/* The driver polls the status: it comes last. */
	return dev_.memory.write64(at + 16, tail) && dev_.memory.write(at, head) &&
	       dev_.memory.write(at + 8, status);
}

} // namespace e810
