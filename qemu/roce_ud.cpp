// SPDX-License-Identifier: GPL-2.0
/* Datagrams; see roce_ud.h. */
#include "roce_ud.h"

#include <algorithm>

#include "device.h"
#include "rdma.h"
#include "roce_rc.h"

namespace e810 {

namespace {

constexpr uint32_t gsi_qkey = 0x80010000;
constexpr uint32_t qkey_of_own = 1u << 31; /* in a request: use the queue pair's */
constexpr size_t grh_bytes = 40;

/* Source ports of RoCEv2; the rest of the port spreads flows. */
constexpr uint16_t first_source_port = 0xc000;
constexpr uint16_t source_port_mask = 0x3fff;

uint16_t source_port(uint32_t flow_label)
{
	uint32_t folded = flow_label ^ flow_label >> 14;

	return static_cast<uint16_t>(first_source_port | (folded & source_port_mask));
}

} // namespace

std::optional<RocePath> UdTransport::path_to(const hw::CqpWqe &handle) const
{
	using namespace hw::cqp_ah;
	auto word = [&](const hw::Field &field) {
		return static_cast<uint32_t>(handle.get(field));
	};
	auto mac = roce_.rdma.addresses.arp_mac(handle.get(arp_index));
	RocePath path;

	if (!mac)
		return std::nullopt;
	path.dest_mac = *mac;
	path.source_mac = handle.get(src_mac);
	path.tagged = handle.get(insert_vlan);
	path.vlan_tci = static_cast<uint16_t>(handle.get(hw::cqp_ah::vlan_tag));
	path.ipv4 = handle.get(ipv4);
	path.source[3] = word(src_ip3);
	path.dest[3] = word(dest_ip3);
	if (!path.ipv4) {
		path.source = {word(src_ip0), word(src_ip1), word(src_ip2), word(src_ip3)};
		path.dest = {word(dest_ip0), word(dest_ip1), word(dest_ip2), word(dest_ip3)};
	}
	path.tos = static_cast<uint8_t>(handle.get(traffic_class));
	path.ttl = static_cast<uint8_t>(handle.get(hop_limit));
	path.flow_label = word(flow_label);
	path.source_port = source_port(path.flow_label);
	return path;
}

bool UdTransport::step()
{
	if (qp_.state != hw::QpState::rts || qp_.suspended || qp_.failed)
		return false;
	std::optional<SendWork> work = next_send(roce_.rdma, qp_);
	if (!work) {
		roce_.rdma.qps.send_queue_idle(qp_);
		return false;
	}
	auto refuse = [&](hw::AeCode code) {
		roce_.fail(qp_, code, hw::AeSource::sq, work->index);
		return false;
	};
	if (work->fault)
		return refuse(*work->fault);
	if (!work->is_send()) {
		roce_.complete(qp_, *work);
		return true;
	}
	const hw::CqpWqe *handle = roce_.rdma.addresses.handle(work->header.get(hw::sq::ud_ah));
	if (!handle)
		return refuse(hw::AeCode::invalid_ah_entry);
	if ((handle->get(hw::cqp_ah::pd) | handle->get(hw::cqp_ah::pd_hi) << 16) != qp_.pd())
		return refuse(hw::AeCode::uda_xmit_bad_pd);
	if (work->length > roce_mtu(qp_))
		return refuse(hw::AeCode::uda_xmit_dgram_too_long);
	if (std::optional<RocePath> path = path_to(*handle))
		send(*work, *path);
	if (!qp_.failed)
		roce_.complete(qp_, *work);
	return !qp_.failed;
}

void UdTransport::send(const SendWork &work, const RocePath &path)
{
	auto qkey = static_cast<uint32_t>(work.header.get(hw::sq::ud_qkey));
	const hw::CqpWqe &handle = *roce_.rdma.addresses.handle(work.header.get(hw::sq::ud_ah));
	RoceFields fields;

	if (qp_.is_gsi())
		qkey = gsi_qkey;
	else if (qkey & qkey_of_own)
		qkey = static_cast<uint32_t>(qp_.get(hw::qpc::qkey));
	fields.opcode = work.has_immediate ? bth_op::ud_send_only_imm : bth_op::ud_send_only;
	fields.solicited = work.solicited;
	fields.pkey = qp_.pkey();
	fields.dest_qp = static_cast<uint32_t>(work.header.get(hw::sq::ud_dest_qp));
	fields.psn = psn_;
	fields.qkey = qkey;
	fields.source_qp = qp_.id;
	fields.immediate = work.immediate();
	psn_ = (psn_ + 1) & psn_mask;
	RoceFrame frame(path, fields, work.length);
	if (RoceFault fault = copy_payload(roce_.memory, qp_, work, 0, frame.payload()))
		return roce_.fail(qp_, *fault, hw::AeSource::sq, work.index);
	roce_.rdma.stats.count(qp_.context, counter::rdma_tx_sends);
	roce_.send(qp_, path, std::move(frame), handle.get(hw::cqp_ah::loopback));
}

void UdTransport::receive(const RocePacket &packet)
{
	const RoceFields &f = packet.fields;
	auto length = static_cast<uint32_t>(grh_bytes + packet.payload.size());
	std::array<uint8_t, grh_bytes> header{};

	if (f.qkey != (qp_.is_gsi() ? gsi_qkey : static_cast<uint32_t>(qp_.get(hw::qpc::qkey))))
		return;
	std::optional<ReceiveWork> work = next_receive(roce_.rdma, qp_);
	if (!work || work->buffer.length < length)
		return;
	/* An IPv4 header, as it came, lies at the end. */
	std::copy(packet.ip.begin(), packet.ip.end(),
		  header.end() - static_cast<ptrdiff_t>(packet.ip.size()));
	RoceFault fault = roce_.memory.scatter(qp_, work->buffer, 0, header);
	if (!fault)
		fault = roce_.memory.scatter(qp_, work->buffer, grh_bytes, packet.payload);
	if (fault)
		return roce_.fail(qp_, *fault, hw::AeSource::rq, work->index);
	qp_.rq.advance(qp_.rq_stride());
	roce_.rdma.stats.count(qp_.context, counter::rdma_rx_sends);
	roce_.complete(qp_, {packet, work->index, length, true});
}

} // namespace e810
