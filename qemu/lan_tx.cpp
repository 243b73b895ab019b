// SPDX-License-Identifier: GPL-2.0
/* LAN transmit rings; see lan_tx.h. */
#include "lan_tx.h"

#include "device.h"

namespace e810 {

namespace {

constexpr size_t descriptor_size = 16;
constexpr uint32_t most_descriptors = 8160;
constexpr uint32_t index_mask = 0x1fff;
/* Packets that one run of a queue sends. */
constexpr unsigned int budget = 64;
/* Bytes of one packet before segmentation: 18 bits of payload, and headers. */
constexpr size_t most_packet = (256 << 10) + 1024;

/* Types of descriptor, [3:0] of the second word */
enum : unsigned int { type_data = 0, type_context = 1, type_filter = 8, type_done = 0xf };

/* Commands of a data descriptor, [15:4] */
constexpr unsigned int command_eop = 1 << 0;
constexpr unsigned int command_rs = 1 << 1;
constexpr unsigned int command_insert_vlan = 1 << 3;
constexpr unsigned int command_dummy = 1 << 4;

/* Commands of a context descriptor */
constexpr unsigned int context_segment = 1 << 0;
constexpr unsigned int context_switch_mask = 3 << 4, context_switch_uplink = 1 << 4;

constexpr uint64_t bits(uint64_t word, unsigned int high, unsigned int low)
{
	return word >> low & ((1ull << (high - low + 1)) - 1);
}

constexpr unsigned int type_of(uint64_t word)
{
	return static_cast<unsigned int>(bits(word, 3, 0));
}

constexpr unsigned int command_of(uint64_t word)
{
	return static_cast<unsigned int>(bits(word, 15, 4));
}

} // namespace

LanTx::LanTx(Device &dev) : dev_(dev), rest_(dev, callback<&LanTx::run_all>, this)
{
	dev.registers.claim<nullptr, &LanTx::doorbell>(this, regs::QTX_COMM_DBELL, lan_queues);
}

void LanTx::reset(ResetKind)
{
	queues_.fill(Queue{});
	rest_.cancel();
}

bool LanTx::enable(uint16_t number, Bytes context)
{
	Queue q;

	/* Context, in bits: [56:0] base / 128, [89:80] VSI, [147:135] length */
	q.enabled = true;
	q.base = bits(context.u64(0), 56, 0) << 7;
	q.vsi = context.u16(10) & 0x3ff;
	q.length = static_cast<uint32_t>(bits(context.u32(16), 19, 7));
	if (number >= lan_queues || !q.length || q.length > most_descriptors) {
		dev_.guest_error("transmit queue %u with %u descriptors", number, q.length);
		return false;
	}
	queues_[number] = q;
	dev_.registers.set(regs::QTX_COMM_DBELL + 4 * number, 0);
	return true;
}

void LanTx::disable(uint16_t number)
{
	if (number < lan_queues)
		queues_[number] = Queue{};
}

void LanTx::doorbell(uint32_t number, uint32_t value)
{
	Queue &q = queues_[number];

	dev_.registers.set(regs::QTX_COMM_DBELL + 4 * number, value);
	if (!q.enabled)
		return;
	if ((value & index_mask) >= q.length) {
		fail(static_cast<uint16_t>(number), "tail is beyond the ring");
		return;
	}
	q.tail = value & index_mask;
	if (run(static_cast<uint16_t>(number)))
		rest_.schedule();
}

void LanTx::run_all()
{
	bool more = false;

	for (uint16_t number = 0; number < lan_queues; number++) {
		if (queues_[number].enabled)
			more |= run(number);
	}
	if (more)
		rest_.schedule();
}

/* Sends what is in queue @number, up to the budget. True: there is more that could be sent now. */
bool LanTx::run(uint16_t number)
{
	Queue &q = queues_[number];
	bool interrupt = false;
	unsigned int sent = 0;

	while (q.head != q.tail && sent < budget && dev_.wire.ready()) {
		Packet packet;

		if (!gather(q, packet)) {
			fail(number, "malformed descriptors");
			break;
		}
		if (!packet.complete) /* the doorbell for its end is still to come */
			break;
		send(q, packet);
		interrupt |= complete(q, packet.next);
		sent++;
	}
	if (interrupt)
		dev_.interrupts.raise(Cause::tx(number));
	return sent == budget && q.head != q.tail && dev_.wire.ready();
}

/* Collects one packet from the head on. False: it is malformed. */
bool LanTx::gather(const Queue &q, Packet &packet) const
{
	for (uint32_t i = q.head; i != q.tail; i = i + 1 == q.length ? 0 : i + 1) {
		uint64_t desc[2];

		if (!dev_.memory.read64(q.base + i * descriptor_size, desc))
			return false;
		switch (type_of(desc[1])) {
		case type_data:
			if (!add_data(q, desc[0], desc[1], packet))
				return false;
			break;
		case type_context:
			packet.offload.segment = command_of(desc[1]) & context_segment;
			packet.offload.mss = bits(desc[1], 63, 50);
			packet.uplink = (command_of(desc[1]) & context_switch_mask) ==
					context_switch_uplink;
			break;
		case type_filter:
			break;
		default:
			return false;
		}
		if (type_of(desc[1]) == type_data && command_of(desc[1]) & command_eop) {
			packet.next = i + 1 == q.length ? 0 : i + 1;
			packet.complete = true;
			return true;
		}
	}
	return true;
}

bool LanTx::add_data(const Queue &, uint64_t address, uint64_t word, Packet &packet) const
{
	size_t length = bits(word, 47, 34);
	size_t had = packet.data.size();
	unsigned int command = command_of(word);

	if (!length || had + length > most_packet)
		return false;
	/* All descriptors of a packet have the same offload fields. */
	if (packet.first_data) {
		TxOffload &o = packet.offload;

		o.ip = static_cast<TxOffload::Ip>(bits(command, 6, 5));
		o.l4 = static_cast<TxOffload::L4>(bits(command, 9, 8));
		o.mac_length = bits(word, 22, 16) * 2;
		o.ip_length = bits(word, 29, 23) * 4;
		o.l4_length = bits(word, 33, 30) * 4;
		o.insert_vlan = command & command_insert_vlan;
		o.vlan_tci = static_cast<uint16_t>(bits(word, 63, 48));
		packet.dummy = command & command_dummy;
		packet.first_data = false;
	}
	packet.data.resize(had + length);
	return dev_.memory.read(address, std::span(packet.data).subspan(had));
}

void LanTx::send(const Queue &q, Packet &packet)
{
	if (packet.dummy || packet.data.size() < ethernet_header)
		return;
	if (!packet.uplink && dev_.vswitch.drops_sent(q.vsi, packet.data))
		return;
	if (!send_packet(dev_.wire, packet.data, packet.offload))
		dev_.guest_error("packet of %zu bytes does not have the headers it claims",
				 packet.data.size());
}

/* Marks descriptors up to @next done where asked, and moves the head. True: one was marked. */
bool LanTx::complete(Queue &q, uint32_t next)
{
	bool marked = false;

	for (; q.head != next; q.head = q.head + 1 == q.length ? 0 : q.head + 1) {
		uint64_t at = q.base + q.head * descriptor_size + 8;
		auto word = dev_.memory.read64(at);

		if (!word || type_of(*word) != type_data || !(command_of(*word) & command_rs))
			continue;
		marked = dev_.memory.write64(at, (*word & ~0xfull) | type_done) || marked;
	}
	return marked;
}

/* The hardware stops a queue whose driver it calls malicious. */
void LanTx::fail(uint16_t number, const char *why)
{
	dev_.guest_error("transmit queue %u stopped: %s", number, why);
	queues_[number] = Queue{};
}

} // namespace e810
