// SPDX-License-Identifier: GPL-2.0
/* Two devices and a cable; see roce_end.h. */
#include "roce_end.h"

#include <utility>

#include "irdma/hw/limits.h"
#include "irdma/hw/regs.h"
#include "irdma/hw/stats.h"

namespace {

constexpr uint64_t aeq_entries = 4;
constexpr uint64_t shadows = 0x6000;			  /* of QP n at + 64 * n */
constexpr uint32_t first_psn[] = {0, 0xfffff0, 0x000100}; /* by number; one is about to wrap */

uint64_t mac_of(uint8_t number)
{
	return 0x525400e81000 | number;
}

uint64_t ip_of(uint8_t number)
{
	return 0x0a000000 | number;
}

} // namespace

void RoceEnd::Ring::put(RdmaDriver &driver, std::vector<hw::Quantum> quanta)
{
	quanta[0].set(hw::sq::valid, polarity);
	for (const hw::Quantum &quantum : quanta) {
		driver.put(base + head * sizeof(quantum), quantum);
		if (++head == RoceEnd::quanta) {
			head = 0;
			polarity = !polarity;
		}
	}
}

RoceEnd::RoceEnd(uint8_t number, uint8_t peer, uint32_t mtu, const char *fault)
	: driver("", number, fault)
{
	driver.bring_up();
	driver.host.keep_sent = true;
	/* COMMIT_FPM has left the bases there. */
	auto fpm = driver.get<hw::FpmBuffer>(place::buffer);
	for (const hw::HmcObjectInfo &info : hw::hmc_object_info)
		if (info.object == hw::HmcObject::pble)
			pbles_ = place::segments +
				 hw::fpm_base.take(fpm.qw[info.commit_word].get()) *
					 hw::fpm_base_unit;
	driver.must(hw::CqpOp::create_cq, driver.cq_wqe(1, cq_entries));

	hw::CqpWqe node;
	driver.must(hw::CqpOp::work_sched_node, node);
	node.set(hw::cqp_ws::node, 1);
	node.set(hw::cqp_ws::leaf, 1);
	handle_ = driver.must(hw::CqpOp::work_sched_node, node);
	make_addresses(number, peer);
	make_memory();
	for (uint32_t qp : {ud, group_ud, rc})
		make_qp(qp, number, peer, mtu);
}

/* ARP entry and address handle 0 for the peer, 1 for a multicast group that QPs 3 and 4 are in. */
void RoceEnd::make_addresses(uint8_t number, uint8_t peer)
{
	constexpr uint64_t group_ip = 0xe0000205, group_mac = 0x01005e000205;

	for (uint64_t i = 0; i < 2; i++) {
		hw::CqpWqe arp, ah;

		arp.set(hw::cqp_arp::index, i);
		arp.set(hw::cqp_arp::mac, i ? group_mac : mac_of(peer));
		arp.set(hw::cqp_arp::entry_valid, 1);
		driver.must(hw::CqpOp::manage_arp, arp);
		ah.set(hw::cqp_ah::ah, i);
		ah.set(hw::cqp_ah::arp_index, i);
		ah.set(hw::cqp_ah::pd, 1);
		ah.set(hw::cqp_ah::ipv4, 1);
		ah.set(hw::cqp_ah::loopback, i);
		ah.set(hw::cqp_ah::hop_limit, 7);
		ah.set(hw::cqp_ah::traffic_class, 0x20);
		ah.set(hw::cqp_ah::src_mac, mac_of(number));
		ah.set(hw::cqp_ah::src_ip3, ip_of(number));
		ah.set(hw::cqp_ah::dest_ip3, i ? group_ip : ip_of(peer));
		driver.must(hw::CqpOp::create_ah, ah);
	}
	hw::CqpWqe group;
	group.set(hw::cqp_mcast::ipv4, 1);
	group.set(hw::cqp_mcast::dest_ip3, group_ip);
	group.set(hw::cqp_mcast::members_addr, place::buffer);
	uint64_t members[8] = {1u << 31 | ud, 1u << 31 | group_ud};
	driver.put(place::buffer, members);
	driver.must(hw::CqpOp::create_mcast, group);
}

void RoceEnd::make_memory()
{
	using namespace hw::cqp_stag;
	hw::CqpWqe region;

	region.set(hw::cqp_stag::va, va & ~0xfffULL);
	region.set(length, place::data_bytes);
	region.set(pd, 1);
	region.set(hw::cqp_stag::index, stag >> 8);
	region.set(key, stag & 0xff);
	region.set(hw::cqp_stag::access, 0x1f);
	region.set(va_based, 1);
	region.set(is_mr, 1);
	region.set(addr, place::data);
	driver.must(hw::CqpOp::reg_mr, region);
	hw::CqpWqe empty;
	empty.set(pd, 1);
	empty.set(hw::cqp_stag::index, free_stag >> 8);
	empty.set(is_mr, 1);
	driver.must(hw::CqpOp::alloc_stag, empty);
}

void RoceEnd::make_qp(uint32_t qp, uint8_t number, uint8_t peer, uint32_t mtu)
{
	using namespace hw::qpc;
	uint64_t queue = place::queues + qp * 0x2000;

	sq_[qp].base = queue;
	rq_[qp].base = queue + 0x1000;
	context.clear();
	context.set(sq_addr, sq_[qp].base);
	context.set(rq_addr, rq_[qp].base);
	context.set(sq_size, 4);
	context.set(rq_size, 4);
	context.set(rq_wqe_size, 1);
	context.set(send_cq, 1);
	context.set(recv_cq, 1);
	context.set(completion_ctx, 0x5000 + qp);
	context.set(qs_handle, handle_);
	context.set(hw::qpc::pd, 1);
	context.set(pkey, 0xffff);
	context.set(ipv4, 1);
	context.set(ttl, 64);
	context.set(tos, 0x40);
	context.set(src_port, 0xc123);
	context.set(dest_ip3, ip_of(peer));
	context.set(local_ip3, ip_of(number));
	context.set(src_mac, mac_of(number));
	context.set(path_mtu, mtu);
	context.set(dest_qp, rc);
	context.set(hw::qpc::qkey, RoceEnd::qkey);
	context.set(psn_next, first_psn[number]);
	context.set(expected_psn, first_psn[peer]);
	context.set(retry_count, 7);
	context.set(rnr_retry, 7);
	context.set(ord, 4);
	context.set(ird_code, 4);
	context.set(rd_ok, 1);
	context.set(wr_rdresp_ok, 1);
	context.set(bind_enable, 1);
	context.set(fastreg_enable, 1);
	driver.put(place::buffer, context);
	hw::CqpWqe create = driver.qp_wqe(qp, hw::QpState::idle);
	create.set(hw::cqp_qp::qp_type,
		   static_cast<uint64_t>(qp == rc ? hw::QpType::rc : hw::QpType::ud));
	create.set(hw::cqp_qp::shadow_addr, shadows + 64 * qp);
	driver.must(hw::CqpOp::create_qp, create);
	modify(qp, hw::QpState::rtr);
	modify(qp, hw::QpState::rts);
}

void RoceEnd::modify(uint32_t qp, hw::QpState next)
{
	hw::CqpWqe wqe = driver.qp_wqe(qp, next);

	wqe.set(hw::cqp_qp::arp_valid, 1);
	wqe.set(hw::cqp_qp::mac_valid, 1);
	wqe.set(hw::cqp_qp::ord_valid, 1);
	driver.put(place::buffer, context);
	driver.must(hw::CqpOp::modify_qp, wqe);
}

void RoceEnd::suspend(uint32_t qp)
{
	hw::CqpWqe wqe;

	wqe.set(hw::cqp_suspend::qp, qp);
	driver.must(hw::CqpOp::suspend_qp, wqe);
}

void RoceEnd::resume(uint32_t qp)
{
	hw::CqpWqe wqe;

	wqe.set(hw::cqp_suspend::qp, qp);
	wqe.set(hw::cqp_suspend::qs_handle, handle_);
	driver.must(hw::CqpOp::resume_qp, wqe);
}

void RoceEnd::block()
{
	driver.host.backend_full = true;
}

void RoceEnd::unblock()
{
	driver.host.backend_full = false;
	e810_device_send_done(driver.host.device);
}

void RoceEnd::receive(const std::vector<uint8_t> &frame)
{
	e810_device_receive(driver.host.device, frame.data(), frame.size());
}

namespace {

/* Fragment @p piece as two words of a quantum. */
void put_fragment(hw::Quantum &quantum, unsigned word, const Piece &piece)
{
	quantum.qw[word].set((RoceEnd::va & ~0xfffULL) + piece.offset);
	quantum.qw[word + 1].set(hw::fragment::stag.put(RoceEnd::stag) |
				 hw::fragment::length.put(piece.length));
}

/* Fragments behind the first quantum, if any, are put there. */
std::vector<hw::Quantum> quanta_for(hw::Quantum header, const std::vector<Piece> &pieces,
				    bool first_is_behind)
{
	std::vector<hw::Quantum> quanta{header};
	size_t next = first_is_behind ? 0 : 1;

	if (!first_is_behind && !pieces.empty())
		put_fragment(quanta[0], 0, pieces[0]);
	uint64_t more = pieces.size() > next ? pieces.size() - next : 0;
	quanta[0].set(hw::sq::more_fragments, more);
	for (; next < pieces.size(); next += 2) {
		hw::Quantum quantum;

		put_fragment(quantum, 0, pieces[next]);
		if (next + 1 < pieces.size())
			put_fragment(quantum, 2, pieces[next + 1]);
		quanta.push_back(quantum);
	}
	return quanta;
}

} // namespace

void RoceEnd::post_send(uint32_t qp, hw::SqOp op, std::vector<Piece> pieces,
			const std::function<void(hw::Quantum &)> &more)
{
	hw::Quantum header;

	header.set(hw::sq::opcode, static_cast<uint64_t>(op));
	header.set(hw::sq::signalled, 1);
	if (more)
		more(header);
	sq_[qp].put(driver, quanta_for(header, pieces, header.get(hw::sq::immediate)));
	doorbell(qp);
}

void RoceEnd::post_inline(uint32_t qp, const std::vector<uint8_t> &bytes)
{
	std::vector<hw::Quantum> quanta(1);
	size_t at = 0;
	auto take = [&](hw::Quantum &quantum, size_t from, size_t most) {
		for (size_t i = 0; i < most && at < bytes.size(); i++)
			reinterpret_cast<uint8_t *>(&quantum)[from + i] = bytes[at++];
	};

	take(quanta[0], 8, 8);
	while (at < bytes.size())
		take(quanta.emplace_back(), 0, 31);
	quanta[0].set(hw::sq::opcode, static_cast<uint64_t>(hw::SqOp::send));
	quanta[0].set(hw::sq::signalled, 1);
	quanta[0].set(hw::sq::inline_data, 1);
	quanta[0].set(hw::sq::inline_length, bytes.size());
	sq_[qp].put(driver, quanta);
	doorbell(qp);
}

void RoceEnd::post_receive(uint32_t qp, std::vector<Piece> pieces)
{
	std::vector<hw::Quantum> quanta = quanta_for({}, pieces, false);

	quanta.resize(2); /* the stride */
	rq_[qp].put(driver, quanta);
}

void RoceEnd::doorbell(uint32_t qp)
{
	driver.write(hw::reg::pfpe_wqealloc, qp);
}

std::optional<hw::Cqe> RoceEnd::poll()
{
	auto next = [&](hw::Cqe &entry) {
		entry = driver.get<hw::Cqe>(place::cq + polled_ % cq_entries * sizeof(entry));
		if (entry.get(hw::cqe::valid) == polled_ / cq_entries % 2)
			return false;
		polled_++;
		driver.put<uint64_t>(place::shadows + 64, polled_ % cq_entries);
		return true;
	};
	hw::Cqe entry;

	if (!next(entry))
		return std::nullopt;
	if (entry.get(hw::cqe::extended) && !next(extension))
		return std::nullopt;
	return entry;
}

std::vector<uint32_t> RoceEnd::events()
{
	std::vector<uint32_t> codes;

	for (;;) {
		auto entry = driver.get<hw::Aeqe>(place::aeq +
						  events_seen_ % aeq_entries * sizeof(hw::Aeqe));

		if (entry.get(hw::aeqe::valid) == events_seen_ / aeq_entries % 2)
			return codes;
		events_seen_++;
		codes.push_back(static_cast<uint32_t>(entry.get(hw::aeqe::code)));
		driver.write(hw::reg::pfpe_aeqalloc, 1);
	}
}

uint64_t RoceEnd::counter(const hw::Field &field)
{
	hw::CqpWqe wqe;

	wqe.set(hw::cqp_stats::addr, place::buffer);
	driver.must(hw::CqpOp::gather_stats, wqe);
	return driver.get<hw::Statistics>(place::buffer).get(field);
}

RocePair::RocePair(uint32_t mtu, const char *fault) : a(1, 2, mtu, fault), b(2, 1, mtu) {}

bool RocePair::move(RoceEnd &from, RoceEnd &to)
{
	std::vector<Frame> frames = std::exchange(from.driver.host.sent, {});

	for (Frame &frame : frames)
		if (!cable || cable(frame))
			to.receive(frame);
	return !frames.empty();
}

void RocePair::run(double seconds)
{
	constexpr int64_t step = 10'000'000;
	int64_t end = host_time + static_cast<int64_t>(seconds * 1e9);

	for (;;) {
		for (int i = 0; i < 4; i++)
			a.driver.host.settle(); /* of both: there is one clock */
		bool moved = move(a, b);
		moved |= move(b, a);
		if (moved)
			continue;
		if (host_time >= end)
			return;
		host_time += step;
	}
}
