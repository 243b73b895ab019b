// SPDX-License-Identifier: GPL-2.0
/* The RoCEv2 transport; see roce.h. */
#include "roce.h"

#include <utility>

#include "device.h"
#include "rdma.h"
#include "roce_rc.h"
#include "roce_ud.h"

namespace e810 {

namespace {

/* Frames sent before QEMU's main loop gets its turn. */
constexpr unsigned frames_a_turn = 64;

/* Frames to the device itself: senders stop at the first number, what comes then is lost at the second. */
constexpr size_t loopback_full = 64;
constexpr size_t loopback_most = 1024;

constexpr uint32_t multicast_qp = 0xffffff;

/* Marks in the two ECN bits, and how often a congested sender is told. */
constexpr uint8_t ecn_congested = 3;
constexpr int64_t cnp_interval = 50'000;

constexpr uint16_t pkey_number = 0x7fff; /* without the bit for full membership */
constexpr uint16_t vlan_id = 0xfff;

uint64_t mac_number(const uint8_t *mac)
{
	uint64_t number = 0;

	for (size_t i = 0; i < mac_size; i++)
		number = number << 8 | mac[i];
	return number;
}

IpAddress address_of(const QueuePair &qp, const hw::Field (&fields)[4])
{
	IpAddress address{};

	for (size_t i = qp.get(hw::qpc::ipv4) ? 3 : 0; i < 4; i++)
		address[i] = static_cast<uint32_t>(qp.get(fields[i]));
	return address;
}

IpAddress local_address(const QueuePair &qp)
{
	using namespace hw::qpc;

	return address_of(qp, {local_ip0, local_ip1, local_ip2, local_ip3});
}

IpAddress peer_address(const QueuePair &qp)
{
	using namespace hw::qpc;

	return address_of(qp, {dest_ip0, dest_ip1, dest_ip2, dest_ip3});
}

bool receives(const QueuePair &qp)
{
	return !qp.failed && (qp.state == hw::QpState::rtr || qp.state == hw::QpState::rts ||
			      qp.state == hw::QpState::sqd);
}

} // namespace

Roce::Roce(Rdma &r)
	: rdma(r), memory(r), own_mac_(mac_number(e810_mac(r.dev.host))),
	  pump_(r.dev, callback<&Roce::pump>, this),
	  return_frames_(r.dev, callback<&Roce::return_frames>, this),
	  sent_faults_(
		  r.dev, e810_faults(r.dev.host), 0,
		  [](void *block, std::vector<uint8_t> &&frame) {
			  static_cast<Roce *>(block)->transmit(std::move(frame));
		  },
		  this),
	  received_faults_(
		  r.dev, e810_faults(r.dev.host), 1,
		  [](void *block, std::vector<uint8_t> &&frame) {
			  static_cast<Roce *>(block)->deliver(frame);
		  },
		  this)
{
}

void Roce::reset()
{
	hung_ = false;
	line_.clear();
	loopback_.clear();
	sent_faults_.reset();
	received_faults_.reset();
}

/* Sending */

bool Roce::can_send() const
{
	return !hung_ && rdma.dev.wire.ready() && loopback_.size() < loopback_full;
}

void Roce::kick(QueuePair &qp)
{
	if (!std::exchange(qp.in_line, true))
		line_.push_back(qp.id);
	pump_.schedule();
}

void Roce::pump()
{
	for (unsigned budget = frames_a_turn; budget && can_send() && !line_.empty(); budget--) {
		QueuePair *qp = rdma.qps.find(line_.front());

		line_.pop_front();
		if (!qp || !std::exchange(qp->in_line, false))
			continue;
		if (qp->rc ? qp->rc->step() : qp->ud->step())
			kick(*qp);
	}
	if (!line_.empty() && can_send())
		pump_.schedule();
}

std::optional<RocePath> Roce::path_of(const QueuePair &qp) const
{
	auto mac = rdma.addresses.arp_mac(qp.get(hw::qpc::arp_index));
	RocePath path;

	if (!mac)
		return std::nullopt;
	path.dest_mac = *mac;
	path.source_mac = qp.get(hw::qpc::src_mac);
	path.tagged = qp.get(hw::qpc::insert_vlan);
	path.vlan_tci = static_cast<uint16_t>(qp.get(hw::qpc::vlan_tag));
	path.ipv4 = qp.get(hw::qpc::ipv4);
	path.source = local_address(qp);
	path.dest = peer_address(qp);
	path.tos = static_cast<uint8_t>(qp.get(hw::qpc::tos));
	path.ttl = static_cast<uint8_t>(qp.get(hw::qpc::ttl));
	path.flow_label = static_cast<uint32_t>(qp.get(hw::qpc::flow_label));
	path.source_port = static_cast<uint16_t>(qp.get(hw::qpc::src_port));
	return path;
}

void Roce::send(const QueuePair &qp, const RocePath &path, RoceFrame &&made, bool loopback)
{
	std::vector<uint8_t> frame = made.finish();

	count(qp.context, path, frame.size() - ethernet_header - (path.tagged ? vlan_tag : 0),
	      true);
	if (rdma.dev.trace.on())
		if (auto packet = parse_roce(frame))
			trace("roce_tx", *packet);
	if (loopback && path.multicast() && loopback_.size() < loopback_most) {
		loopback_.push_back(frame);
		return_frames_.schedule();
	}
	if (sent_faults_.on())
		sent_faults_.put(std::move(frame));
	else
		transmit(std::move(frame));
}

void Roce::transmit(std::vector<uint8_t> &&frame)
{
	if (!is_own_mac(mac_number(frame.data())))
		return rdma.dev.wire.send(frame);
	if (loopback_.size() < loopback_most)
		loopback_.push_back(std::move(frame));
	return_frames_.schedule();
}

/* Frames that never leave the device. */
void Roce::return_frames()
{
	for (unsigned budget = frames_a_turn; budget && !loopback_.empty(); budget--) {
		std::vector<uint8_t> frame = std::move(loopback_.front());

		loopback_.pop_front();
		deliver(frame);
	}
	if (!loopback_.empty())
		return_frames_.schedule();
	pump_.schedule();
}

/* Receiving */

bool Roce::is_own_mac(uint64_t mac) const
{
	return mac == own_mac_ || (mac && rdma.addresses.is_local_mac(mac));
}

bool Roce::receive(std::span<const uint8_t> frame)
{
	if (!is_multicast(frame) && !is_own_mac(mac_number(frame.data())))
		return false;
	if (received_faults_.on())
		received_faults_.put({frame.begin(), frame.end()});
	else
		deliver(frame);
	/* Answers go out at once, if they can. */
	pump();
	return true;
}

void Roce::deliver(std::span<const uint8_t> frame)
{
	std::optional<RocePacket> packet = parse_roce(frame);

	if (!packet) {
		bool ipv4 = parse(frame).ipv4;

		rdma.stats.count(ipv4 ? counter::ip4_rx_discarded : counter::ip6_rx_discarded);
		return;
	}
	trace("roce_rx", *packet);
	if (packet->fields.dest_qp != multicast_qp) {
		if (QueuePair *qp = rdma.qps.find(packet->fields.dest_qp))
			deliver_to(*qp, *packet);
		return;
	}
	if (packet->op->message != RoceMessage::datagram)
		return;
	rdma.addresses.members(packet->path.ipv4, packet->path.dest, [&](uint32_t member) {
		if (QueuePair *qp = rdma.qps.find(member))
			deliver_to(*qp, *packet);
	});
}

/* Is the packet of the queue pair's partition, and of its connection if it has one? */
bool Roce::accepts(const QueuePair &qp, const RocePacket &packet)
{
	const RocePath &path = packet.path;

	if (((packet.fields.pkey ^ qp.pkey()) & pkey_number) != 0)
		return false;
	if (qp.ud)
		return packet.op->message == RoceMessage::datagram ||
		       packet.op->message == RoceMessage::congestion;

	uint16_t got = path.tagged ? path.vlan_tci & vlan_id : 0;
	uint16_t own = qp.get(hw::qpc::insert_vlan) ? qp.get(hw::qpc::vlan_tag) & vlan_id : 0;
	if (got != own) {
		rdma.stats.count(qp.context, counter::rx_vlan_errors);
		return false;
	}
	return packet.op->message != RoceMessage::datagram &&
	       path.ipv4 == static_cast<bool>(qp.get(hw::qpc::ipv4)) &&
	       path.dest == local_address(qp) && path.source == peer_address(qp);
}

void Roce::deliver_to(QueuePair &qp, const RocePacket &packet)
{
	if (!receives(qp) || !accepts(qp, packet))
		return;
	count(qp.context, packet.path, packet.ip_bytes, false);
	notice_congestion(qp, packet);
	switch (packet.op->message) {
	case RoceMessage::datagram:
		return qp.ud->receive(packet);
	case RoceMessage::acknowledge:
	case RoceMessage::read_response:
		return qp.rc->requester.answer(packet);
	case RoceMessage::congestion: {
		bool heed = qp.rc && qp.get(hw::qpc::dcqcn_enable);

		rdma.stats.count(qp.context, heed ? counter::cnp_handled : counter::cnp_ignored);
		if (heed)
			qp.rc->requester.slow_down();
		return;
	}
	default:
		return qp.rc->responder.request(packet);
	}
}

/* A mark by a switch on the way: the sender is told by a CNP, now and then. */
void Roce::notice_congestion(QueuePair &qp, const RocePacket &packet)
{
	int64_t now = e810_now();

	if ((packet.path.tos & ecn_congested) != ecn_congested ||
	    packet.op->message == RoceMessage::congestion)
		return;
	rdma.stats.count(qp.context, counter::rx_ecn_marked);
	if (!qp.rc || !qp.get(hw::qpc::dcqcn_enable) || now < qp.next_cnp)
		return;
	std::optional<RocePath> path = path_of(qp);
	RoceFields fields;

	if (!path)
		return;
	qp.next_cnp = now + cnp_interval;
	fields.opcode = bth_op::cnp;
	fields.becn = true;
	fields.pkey = qp.pkey();
	fields.dest_qp = static_cast<uint32_t>(qp.get(hw::qpc::dest_qp));
	send(qp, *path, RoceFrame(*path, fields, 0));
	rdma.stats.count(qp.context, counter::cnp_sent);
}

/* Completions and errors */

void Roce::complete(const QueuePair &qp, const SendWork &work)
{
	using namespace hw::cqe;
	auto cq = static_cast<uint32_t>(qp.get(hw::qpc::send_cq));
	hw::Cqe entry;

	if (!work.signalled)
		return;
	entry.set(length, work.length);
	entry.set(completion_ctx, qp.get(hw::qpc::completion_ctx));
	entry.set(hw::cqe::qp, qp.id);
	entry.set(wqe_index, work.index);
	entry.set(op, work.header.get(hw::sq::opcode));
	entry.set(is_sq, 1);
	rdma.qps.trace_completion(cq, entry);
	rdma.cqs.post(cq, entry, false);
}

void Roce::complete(const QueuePair &qp, const Received &message)
{
	using namespace hw::cqe;
	const RocePacket &packet = message.last;
	const RoceFields &f = packet.fields;
	auto cq = static_cast<uint32_t>(qp.get(hw::qpc::recv_cq));
	bool invalidated = packet.op->has(roce_header::ieth);
	bool immediate = packet.op->has(roce_header::immediate);
	bool is_gsi = qp.is_gsi();
	hw::Cqe entry, more;

	entry.set(length, message.length);
	entry.set(completion_ctx, qp.get(hw::qpc::completion_ctx));
	entry.set(hw::cqe::qp, qp.id);
	entry.set(wqe_index, message.wqe_index);
	entry.set(stag_or_ipv4, message.grh ? packet.path.ipv4 : invalidated);
	entry.set(inv_stag, message.grh ? f.source_qp : f.invalidate);
	entry.set(solicited, f.solicited);
	entry.set(op, f.opcode);
	entry.set(extended, immediate || is_gsi);
	rdma.qps.trace_completion(cq, entry);
	if (!immediate && !is_gsi) {
		rdma.cqs.post(cq, entry, f.solicited);
		return;
	}
	more.set(hw::ext_cqe::imm, f.immediate);
	more.set(hw::ext_cqe::imm_valid, immediate);
	more.set(hw::ext_cqe::src_mac, is_gsi ? packet.path.source_mac : 0);
	more.set(hw::ext_cqe::mac_valid, is_gsi);
	more.set(hw::ext_cqe::vlan, is_gsi ? packet.path.vlan_tci : 0);
	more.set(hw::ext_cqe::vlan_valid, is_gsi && packet.path.tagged);
	rdma.cqs.post(cq, entry, more, f.solicited);
}

void Roce::fail(QueuePair &qp, hw::AeCode code, hw::AeSource source, uint32_t wqe_index)
{
	if (std::exchange(qp.failed, true))
		return;
	if (qp.rc) {
		qp.rc->requester.stop();
		qp.rc->responder.stop();
	}
	rdma.qps.report(qp, code, source, wqe_index);
}

/* Statistics and trace */

void Roce::count(const hw::QpContext &context, const RocePath &path, size_t ip_bytes, bool sent)
{
	using namespace counter;
	struct Row {
		const hw::Field &packets, &octets, &mc_packets, &mc_octets;
	};
	static constexpr Row rows[2][2] = {
		{{ip6_rx_packets, ip6_rx_octets, ip6_rx_mc_packets, ip6_rx_mc_octets},
		 {ip6_tx_packets, ip6_tx_octets, ip6_tx_mc_packets, ip6_tx_mc_octets}},
		{{ip4_rx_packets, ip4_rx_octets, ip4_rx_mc_packets, ip4_rx_mc_octets},
		 {ip4_tx_packets, ip4_tx_octets, ip4_tx_mc_packets, ip4_tx_mc_octets}},
	};
	const Row &row = rows[path.ipv4][sent];

	rdma.stats.count(context, path.multicast() ? row.mc_packets : row.packets);
	rdma.stats.count(context, path.multicast() ? row.mc_octets : row.octets, ip_bytes);
	rdma.stats.count(context, sent ? udp_tx_packets : udp_rx_packets);
}

void Roce::trace(const char *event, const RocePacket &packet)
{
	const RoceFields &f = packet.fields;
	TraceEvent line = rdma.dev.trace.event(event);

	if (!line.on())
		return;
	line.hex("opcode", f.opcode).u64("qp", f.dest_qp).u64("psn", f.psn);
	line.u64("bytes", packet.payload.size()).flag("ack_request", f.ack_request);
	if (packet.op->has(roce_header::aeth))
		line.hex("syndrome", f.syndrome);
	if (packet.op->has(roce_header::reth))
		line.hex("address", f.address).hex("key", f.key).u64("length", f.length);
}

} // namespace e810
