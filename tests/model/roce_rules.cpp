// SPDX-License-Identifier: GPL-2.0
/*
 * What the model's RoCEv2 transport must do and must refuse, with two devices back to back and a
 * cable that loses, doubles and spoils. Prints a line for each rule that is broken.
 */
#include <algorithm>
#include <cstdio>
#include <random>
#include <utility>

#include "irdma/hw/ae_codes.h"
#include "irdma/hw/limits.h"
#include "rdma_counters.h"
#include "roce_end.h"
#include "roce_packet.h"
#include "rules.h"

namespace {

using hw::AeCode;
using hw::SqOp;

constexpr uint64_t target = 2 << 20; /* where received data go, as an offset */

/* The same bytes for the same seed. */
void fill(RoceEnd &end, uint64_t offset, uint32_t length, uint32_t seed)
{
	std::mt19937 random(seed);

	std::generate_n(end.data(offset), length, [&] { return static_cast<uint8_t>(random()); });
}

bool same(RoceEnd &x, uint64_t at, RoceEnd &y, uint64_t other, uint32_t length)
{
	return std::equal(x.data(at), x.data(at) + length, y.data(other));
}

bool is_event(const std::vector<uint32_t> &events, AeCode code)
{
	return events.size() == 1 && events[0] == static_cast<uint32_t>(code);
}

auto remote(uint64_t offset, uint32_t stag = RoceEnd::stag)
{
	return [=](hw::Quantum &q) {
		q.set(hw::sq::remote_addr, (RoceEnd::va & ~0xfffULL) + offset);
		q.set(hw::sq::remote_stag, stag);
	};
}

/* A good completion of that side and length (receive). */
bool completed(RoceEnd &end, bool sq, uint32_t length = 0)
{
	auto entry = end.poll();

	return entry && !entry->get(hw::cqe::error) && entry->get(hw::cqe::is_sq) == sq &&
	       (sq || entry->get(hw::cqe::length) == length);
}

/* Frames that Linux' rdma_rxe sent, a datagram and an acknowledgement: their ICRC is another's. */
void icrc()
{
	const std::vector<uint8_t> frames[] = {
		{
			0x52, 0x54, 0x00, 0xe8, 0x10, 0x01, 0x52, 0x54, 0x00, 0xe8, 0x10, 0x02,
			0x08, 0x00, 0x45, 0x00, 0x00, 0x44, 0xdc, 0xd7, 0x40, 0x00, 0x40, 0x11,
			0x49, 0xcf, 0x0a, 0x00, 0x00, 0x02, 0x0a, 0x00, 0x00, 0x01, 0xdf, 0x94,
			0x12, 0xb7, 0x00, 0x30, 0x00, 0x00, 0x64, 0x00, 0xff, 0xff, 0x00, 0x00,
			0x00, 0x03, 0x00, 0x47, 0x47, 0x62, 0x11, 0x11, 0x11, 0x11, 0x00, 0x00,
			0x00, 0x11, 0x7b, 0x7b, 0x7b, 0x7b, 0x7b, 0x7b, 0x7b, 0x7b, 0x7b, 0x7b,
			0x7b, 0x7b, 0x7b, 0x7b, 0x7b, 0x7b, 0x3a, 0xab, 0xeb, 0x8f,
		},
		{
			0x52, 0x54, 0x00, 0xe8, 0x10, 0x01, 0x52, 0x54, 0x00, 0xe8, 0x10, 0x02,
			0x86, 0xdd, 0x60, 0x00, 0x00, 0x00, 0x00, 0x1c, 0x11, 0x40, 0xfe, 0x80,
			0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x50, 0x54, 0x00, 0xff, 0xfe, 0xe8,
			0x10, 0x02, 0xfe, 0x80, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x50, 0x54,
			0x00, 0xff, 0xfe, 0xe8, 0x10, 0x01, 0xc0, 0x48, 0x12, 0xb7, 0x00, 0x1c,
			0x00, 0x00, 0x11, 0x00, 0xff, 0xff, 0x00, 0x00, 0x00, 0x04, 0x00, 0x3c,
			0xdb, 0x11, 0x1f, 0x00, 0x00, 0x01, 0x02, 0x14, 0x8f, 0xbb,
		},
	};

	for (std::vector<uint8_t> frame : frames) {
		size_t bth = frame[12] == 0x86 ? 62 : 42;
		auto packet = e810::parse_roce(frame);

		CHECK(packet && packet->fields.psn == (bth == 42 ? 0x474762u : 0x3cdb11u));
		/* Every byte counts but one. */
		for (size_t i = bth; i < frame.size(); i++) {
			frame[i] ^= 4;
			CHECK(e810::parse_roce(frame).has_value() == (i == bth + 4));
			frame[i] ^= 4;
		}
	}
}

void messages(uint32_t mtu)
{
	RocePair pair(mtu);
	auto &[a, b, cable] = pair;

	for (uint32_t length :
	     {0u, 1u, 3u, mtu - 1, mtu, mtu + 1, 2 * mtu, 5 * mtu + 7, 100'000u}) {
		fill(a, 0, length, length);
		b.post_receive(RoceEnd::rc, {{target, length}});
		a.post_send(RoceEnd::rc, SqOp::send, {{0, length}});
		pair.run();
		CHECK(completed(a, true) && completed(b, false, length));
		CHECK(same(a, 0, b, target, length));

		fill(a, 0, length, length + 1);
		a.post_send(RoceEnd::rc, SqOp::rdma_write, {{0, length}}, remote(target + 5));
		pair.run();
		CHECK(completed(a, true) && !b.poll());
		CHECK(same(a, 0, b, target + 5, length));

		fill(b, target, length, length + 2);
		a.post_send(RoceEnd::rc, SqOp::rdma_read, {{9, length}}, remote(target));
		pair.run();
		CHECK(completed(a, true));
		CHECK(same(a, 9, b, target, length));
	}
	CHECK(a.counter(e810::counter::rdma_tx_sends) == 9 &&
	      b.counter(e810::counter::rdma_rx_writes) == 9);
	CHECK(a.counter(e810::counter::rdma_tx_reads) == 9 &&
	      b.counter(e810::counter::rdma_rx_reads) == 9);
	CHECK(a.counter(e810::counter::retransmitted) == 0);
	CHECK(a.counter(e810::counter::ip4_tx_packets) == b.counter(e810::counter::ip4_rx_packets));
	CHECK(a.events().empty() && b.events().empty());
}

void variants()
{
	RocePair pair;
	auto &[a, b, cable] = pair;
	std::vector<uint8_t> bytes(101);

	/* Inline. */
	for (size_t i = 0; i < bytes.size(); i++)
		bytes[i] = static_cast<uint8_t>(i + 1);
	b.post_receive(RoceEnd::rc, {{target, 50}, {target + 100, 51}});
	a.post_inline(RoceEnd::rc, bytes);
	pair.run();
	CHECK(completed(a, true) && completed(b, false, 101));
	CHECK(std::equal(bytes.begin(), bytes.begin() + 50, b.data(target)));
	CHECK(std::equal(bytes.begin() + 50, bytes.end(), b.data(target + 100)));

	/* Several fragments, immediate, solicited; unsignalled. */
	fill(a, 0, 4000, 1);
	b.post_receive(RoceEnd::rc, {{target, 4000}});
	a.post_send(RoceEnd::rc, SqOp::send_solicited, {{0, 1}, {1, 2000}, {2001, 3}, {2004, 1996}},
		    [](hw::Quantum &q) {
			    q.set(hw::sq::immediate, 1);
			    q.set(hw::sq::imm_data, 0xabcd1234);
			    q.set(hw::sq::signalled, 0);
		    });
	pair.run();
	auto entry = b.poll();
	CHECK(!a.poll() && entry && entry->get(hw::cqe::length) == 4000);
	CHECK(entry && entry->get(hw::cqe::solicited) && entry->get(hw::cqe::extended));
	CHECK(b.extension.get(hw::ext_cqe::imm) == 0xabcd1234 &&
	      b.extension.get(hw::ext_cqe::imm_valid));
	CHECK(same(a, 0, b, target, 4000));

	/* WRITE with immediate uses a receive request. */
	fill(a, 0, 3000, 2);
	b.post_receive(RoceEnd::rc, {});
	a.post_send(RoceEnd::rc, SqOp::rdma_write, {{0, 3000}}, [](hw::Quantum &q) {
		remote(target)(q);
		q.set(hw::sq::immediate, 1);
		q.set(hw::sq::imm_data, 7);
	});
	pair.run();
	entry = b.poll();
	CHECK(entry && entry->get(hw::cqe::op) == 0x09 && entry->get(hw::cqe::length) == 3000);
	CHECK(completed(a, true) && b.extension.get(hw::ext_cqe::imm) == 7);
	CHECK(same(a, 0, b, target, 3000));

	/* NOP; the shadow area tells where the device stopped. */
	a.post_send(RoceEnd::rc, SqOp::nop, {});
	pair.run();
	CHECK(completed(a, true));
	CHECK(a.driver.get<uint64_t>(0x6000 + 64 * RoceEnd::rc) == 10);
}

/* Bad luck of each kind must be invisible but for the time it takes. */
void bad_cable(const char *fault, double loss)
{
	RocePair pair(256, fault);
	auto &[a, b, cable] = pair;
	std::mt19937 random(5);
	constexpr uint32_t length = 60'000;

	pair.cable = [&](RocePair::Frame &) { return random() % 1000 >= loss * 1000; };
	for (uint32_t round = 0; round < 12; round++) {
		fill(a, 0, length, round);
		fill(b, length, length, round + 100);
		b.post_receive(RoceEnd::rc, {{target, length}});
		a.post_receive(RoceEnd::rc, {{target, length}});
		a.post_send(RoceEnd::rc, SqOp::rdma_write, {{0, length}}, remote(target + length));
		a.post_send(RoceEnd::rc, SqOp::rdma_read, {{target + length, length}},
			    remote(length));
		a.post_send(RoceEnd::rc, SqOp::send, {{0, length}});
		b.post_send(RoceEnd::rc, SqOp::send, {{length, length}});
		pair.run(30);
		int from_a = 0, from_b = 0;
		while (a.poll())
			from_a++;
		while (b.poll())
			from_b++;
		CHECK(from_a == 4 && from_b == 2);
		CHECK(same(a, 0, b, target, length) && same(a, 0, b, target + length, length));
		CHECK(same(a, target, b, length, length));
		CHECK(same(a, target + length, b, length, length));
	}
	CHECK(a.events().empty() && b.events().empty());
	CHECK(a.counter(e810::counter::retransmitted) + b.counter(e810::counter::retransmitted) >
	      0);
}

void receiver_not_ready()
{
	RocePair pair;
	auto &[a, b, cable] = pair;

	fill(a, 0, 5000, 3);
	a.post_send(RoceEnd::rc, SqOp::send, {{0, 5000}});
	pair.run(0.1);
	CHECK(!a.poll());
	b.post_receive(RoceEnd::rc, {{target, 5000}});
	pair.run(0.1);
	CHECK(completed(a, true) && completed(b, false, 5000) && same(a, 0, b, target, 5000));

	a.context.set(hw::qpc::rnr_retry, 2);
	a.modify(RoceEnd::rc, hw::QpState::rts);
	a.post_send(RoceEnd::rc, SqOp::send, {{0, 50}});
	pair.run(0.1);
	CHECK(is_event(a.events(), AeCode::llp_too_many_rnrs) && !a.poll());
	CHECK(b.events().empty());
}

/* A peer that is slow, not silent: while it answers there is one more request for a gap, not many. */
void slow_peer()
{
	RocePair pair;
	auto &[a, b, cable] = pair;
	constexpr uint32_t length = 40 * 1024;
	bool lost = false;

	fill(b, target, length, 9);
	pair.cable = [&](RocePair::Frame &frame) {
		uint8_t opcode = frame[42];

		/* READ responses are between the two. */
		if (opcode <= e810::bth_op::rc_read_request ||
		    opcode >= e810::bth_op::rc_acknowledge)
			return true;
		host_time += 100'000'000;
		a.driver.host.settle();
		return std::exchange(lost, true);
	};
	a.post_send(RoceEnd::rc, SqOp::rdma_read, {{0, length}}, remote(target));
	pair.run(1);
	CHECK(completed(a, true) && same(a, 0, b, target, length) && a.events().empty());
	CHECK(a.counter(e810::counter::retransmitted) == 1);
}

/* No READ is asked for while much is to come: a packet that gets lost costs all behind it. */
void reads_in_turn()
{
	RocePair pair;
	auto &[a, b, cable] = pair;
	constexpr uint32_t length = 40 * 1024;
	uint32_t asked_for = 0, most = 0;

	pair.cable = [&](RocePair::Frame &frame) {
		if (frame[42] == e810::bth_op::rc_read_request)
			asked_for += length / 1024;
		else
			asked_for--;
		most = std::max(most, asked_for);
		return true;
	};
	fill(b, 0, 4 * length, 7);
	for (uint32_t i = 0; i < 4; i++)
		a.post_send(RoceEnd::rc, SqOp::rdma_read, {{target + i * length, length}},
			    remote(i * length));
	pair.run();
	for (uint32_t i = 0; i < 4; i++)
		CHECK(completed(a, true));
	CHECK(same(a, target, b, 0, 4 * length) && !asked_for);
	CHECK(most >= 80 && most < 64 + 40);
}

constexpr uint64_t region_va = 0x10000000;

/* The end that is asked registers the beginning of its data. */
void register_region(RocePair &pair, uint32_t stag, uint32_t length)
{
	pair.b.post_send(RoceEnd::rc, SqOp::fast_register, {}, [&](hw::Quantum &q) {
		using namespace hw::sq_fastreg;
		q.set(va, region_va);
		q.set(page, place::data >> 12);
		q.set(hw::sq_fastreg::length, length);
		q.set(hw::sq_fastreg::index, stag >> 8);
		q.set(key, stag & 0xff);
		q.set(hw::sq_fastreg::access, 0xf);
		q.set(va_based, 1);
	});
	pair.run();
	CHECK(completed(pair.b, true));
}

auto in_region(uint32_t stag)
{
	return [=](hw::Quantum &q) {
		q.set(hw::sq::remote_addr, region_va);
		q.set(hw::sq::remote_stag, stag);
	};
}

/* A cable that keeps the READ requests. */
auto keep_reads(std::vector<RocePair::Frame> &reads)
{
	return [&reads](RocePair::Frame &frame) {
		if (frame[42] == e810::bth_op::rc_read_request)
			reads.push_back(frame);
		return true;
	};
}

/* A READ asked for once more comes late: its region is invalid by then, which is nobody's fault. */
void late_duplicate()
{
	RocePair pair;
	auto &[a, b, cable] = pair;
	constexpr uint32_t stag = RoceEnd::free_stag | 0x42, length = 3000;
	std::vector<RocePair::Frame> reads;

	register_region(pair, stag, length);
	pair.cable = keep_reads(reads);
	fill(b, 0, length, 4);
	a.post_send(RoceEnd::rc, SqOp::rdma_read, {{target, length}}, in_region(stag));
	b.post_receive(RoceEnd::rc, {{target, 8}});
	a.post_send(RoceEnd::rc, SqOp::send_inv, {{0, 8}}, [&](hw::Quantum &q) {
		in_region(stag)(q);
		q.set(hw::sq::read_fence, 1);
	});
	pair.run();
	CHECK(completed(a, true) && completed(a, true) && completed(b, false, 8));
	CHECK(same(a, target, b, 0, length));
	b.receive(reads.back());
	b.post_receive(RoceEnd::rc, {{target, 8}});
	a.post_send(RoceEnd::rc, SqOp::send, {{0, 8}});
	pair.run(1);
	CHECK(b.events().empty() && a.events().empty());
	CHECK(completed(a, true) && completed(b, false, 8));
}

/* The same, while a later READ waits for its answer, which counts for that one alone. */
void late_duplicate_before_another()
{
	RocePair pair;
	auto &[a, b, cable] = pair;
	constexpr uint32_t stag = RoceEnd::free_stag | 0x42, length = 3000;
	std::vector<RocePair::Frame> reads;

	register_region(pair, stag, length);
	pair.cable = keep_reads(reads);
	a.post_send(RoceEnd::rc, SqOp::rdma_read, {{target, length}}, in_region(stag));
	pair.run();
	b.post_send(RoceEnd::rc, SqOp::local_invalidate, {},
		    [](hw::Quantum &q) { q.set(hw::sq_inval::stag, stag); });
	pair.run();
	CHECK(completed(a, true) && completed(b, true));
	fill(b, 0, length, 5);
	b.block();
	a.post_send(RoceEnd::rc, SqOp::rdma_read, {{target, length}}, remote(0));
	pair.run();
	b.receive(reads.front());
	b.unblock();
	pair.run(1);
	CHECK(b.events().empty() && a.events().empty());
	CHECK(completed(a, true) && same(a, target, b, 0, length));
}

/*
 * What is asked for once more takes no place of a READ that is new, and however much of it comes, only
 * so many answers wait.
 */
void many_duplicates()
{
	RocePair pair;
	auto &[a, b, cable] = pair;
	constexpr uint32_t count = 400, length = 100;
	constexpr uint8_t read_response_only = 0x10;
	std::vector<RocePair::Frame> requests;

	b.context.set(hw::qpc::ird_code, 0);
	b.modify(RoceEnd::rc, hw::QpState::rts);
	pair.cable = keep_reads(requests);
	for (uint32_t i = 0; i < count; i++) {
		a.post_send(RoceEnd::rc, SqOp::rdma_read, {{target, length}}, remote(0));
		pair.run();
		CHECK(completed(a, true));
	}
	CHECK(requests.size() == count);
	b.block();
	for (const RocePair::Frame &frame : std::vector(requests))
		b.receive(frame);
	fill(b, 0, length, 6);
	a.post_send(RoceEnd::rc, SqOp::rdma_read, {{target, length}}, remote(0));
	pair.run();
	b.unblock();
	uint32_t answers = 0;
	pair.cable = [&](RocePair::Frame &frame) {
		answers += frame[42] == read_response_only;
		return true;
	};
	pair.run(1);
	CHECK(answers > 2 * hw::max_ird && answers < count - 100);
	CHECK(a.events().empty() && b.events().empty());
	CHECK(completed(a, true) && same(a, target, b, 0, length));
}

/* No more than half of all PSNs wait for an answer, which READs could make many of. */
void psns_outstanding()
{
	RocePair pair(256);
	auto &[a, b, cable] = pair;
	uint32_t reads = 0;
	bool open = false;

	pair.cable = [&](RocePair::Frame &frame) {
		reads += frame[42] == e810::bth_op::rc_read_request;
		return open;
	};
	a.post_send(RoceEnd::rc, SqOp::rdma_read, {{target, 63 * 256}}, remote(0));
	a.post_send(RoceEnd::rc, SqOp::rdma_read, {{target, hw::max_message_bytes}}, remote(0));
	pair.run();
	CHECK(reads == 1);
	open = true;
	pair.run(1);
	/* The first, once more, and then the second, which is beyond its region. */
	CHECK(completed(a, true) && reads == 3);
	CHECK(is_event(a.events(), AeCode::ib_remote_access_error));
}

/* A receive is posted while the device looks for one: it is taken whole, or not yet. */
void posted_meanwhile()
{
	RocePair pair;
	auto &[a, b, cable] = pair;
	constexpr uint64_t rq = place::queues + RoceEnd::rc * 0x2000 + 0x1000;
	bool posted = false;

	b.driver.host.during_read = [&](uint64_t address) {
		if (address >= rq && address < rq + 0x1000 && !std::exchange(posted, true))
			b.post_receive(RoceEnd::rc, {{target, 300}, {target + 300, 700}});
	};
	fill(a, 0, 1000, 8);
	a.post_send(RoceEnd::rc, SqOp::send, {{0, 1000}});
	pair.run(0.1);
	CHECK(posted && completed(a, true) && completed(b, false, 1000));
	CHECK(same(a, 0, b, target, 1000) && b.events().empty());
}

/* Each refusal: who learns what. */
void refusals()
{
	struct Row {
		SqOp op;
		uint32_t stag;
		uint64_t offset;
		AeCode here, there;
	};
	constexpr AeCode none{};
	constexpr Row rows[] = {
		{SqOp::rdma_write, 0x99900, 0, AeCode::ib_remote_access_error,
		 AeCode::amp_unallocated_stag},
		{SqOp::rdma_write, RoceEnd::stag ^ 1, 0, AeCode::ib_remote_access_error,
		 AeCode::amp_bad_stag_key},
		{SqOp::rdma_read, RoceEnd::free_stag, 0, AeCode::ib_remote_access_error,
		 AeCode::amp_invalid_stag},
		{SqOp::rdma_read, RoceEnd::stag, place::data_bytes - 99,
		 AeCode::ib_remote_access_error, AeCode::amp_bounds_violation},
		{SqOp::send, 0, 0, AeCode::ib_invalid_request,
		 AeCode::ddp_ube_ddp_message_too_long_for_available_buffer},
		{SqOp::send_inv, 0x99900, 0, AeCode::ib_remote_access_error,
		 AeCode::amp_unallocated_stag},
		{SqOp::generate_rts_ae, 0, 0, AeCode::wqe_unexpected_opcode, none},
	};

	for (const Row &row : rows) {
		RocePair pair;
		auto &[a, b, cable] = pair;
		uint32_t room = row.op == SqOp::send ? 99 : 100;

		b.post_receive(RoceEnd::rc, {{target, room}});
		a.post_send(RoceEnd::rc, row.op, {{0, 100}}, remote(row.offset, row.stag));
		pair.run();
		CHECK(!a.poll() && !b.poll());
		CHECK(is_event(a.events(), row.here));
		CHECK(row.there == none ? b.events().empty() : is_event(b.events(), row.there));
		/* A failed queue pair does nothing more. */
		a.post_send(RoceEnd::rc, SqOp::nop, {});
		pair.run();
		CHECK(!a.poll() && a.events().empty());
	}
}

/* Local faults and a peer that does not answer. */
void own_failures()
{
	for (bool dead : {false, true}) {
		RocePair pair;
		auto &[a, b, cable] = pair;

		if (dead)
			pair.cable = [](RocePair::Frame &) { return false; };
		b.post_receive(RoceEnd::rc, {{target, 100}});
		a.post_send(RoceEnd::rc, SqOp::send, {{dead ? 0 : place::data_bytes, 100}});
		pair.run(10);
		CHECK(is_event(a.events(),
			       dead ? AeCode::llp_too_many_retries : AeCode::amp_bounds_violation));
		CHECK(!a.poll());

		/* The flush names the request that failed. */
		hw::CqpWqe flush;
		a.modify(RoceEnd::rc, hw::QpState::error);
		flush.set(hw::cqp_flush::qp, RoceEnd::rc);
		flush.set(hw::cqp_flush::flush_sq, 1);
		a.driver.must(hw::CqpOp::flush_wqes, flush);
		auto entry = a.poll();
		CHECK(entry && entry->get(hw::cqe::error) && !entry->get(hw::cqe::wqe_index));
		CHECK(entry && entry->get(hw::cqe::op) == static_cast<uint64_t>(SqOp::send));
	}
}

/* Fast register, use by the peer, invalidation by it; local invalidate. Through each kind of list. */
void registration()
{
	struct Row {
		hw::PblLevel level;
		hw::HostPage size;
	};
	constexpr Row rows[] = {{hw::PblLevel::contiguous, hw::HostPage::size_4k},
				{hw::PblLevel::one, hw::HostPage::size_4k},
				{hw::PblLevel::two, hw::HostPage::size_4k},
				{hw::PblLevel::one, hw::HostPage::size_2m}};
	constexpr uint32_t length = 8000, offset = 0x234;

	for (const Row &row : rows) {
		RocePair pair;
		auto &[a, b, cable] = pair;
		bool huge = row.size == hw::HostPage::size_2m;
		uint64_t page = huge ? hw::large_page_size : 4096;
		uint32_t stag = RoceEnd::free_stag | 0x42;
		/* PBLEs begin where the driver's first segment has them: asked from the device. */
		uint64_t pbles = b.pble_memory();
		uint32_t first = row.level == hw::PblLevel::two ? 1024 : 16;

		b.driver.put<uint64_t>(pbles + 8 * 1024, 16); /* the root names the leaf */
		for (uint64_t i = 0; i < (huge ? 1 : 4); i++)
			b.driver.put<uint64_t>(pbles + 8 * (16 + i),
					       place::data + (huge ? i : 3 - i) * page);
		b.post_send(RoceEnd::rc, SqOp::fast_register, {}, [&](hw::Quantum &q) {
			using namespace hw::sq_fastreg;
			q.set(hw::sq_fastreg::va, 0x10000000 + offset);
			q.set(hw::sq_fastreg::page, place::data >> 12);
			q.set(hw::sq_fastreg::length, length);
			q.set(first_pble_lo, first);
			q.set(hw::sq_fastreg::index, stag >> 8);
			q.set(key, stag & 0xff);
			q.set(pbl_level, static_cast<uint64_t>(row.level));
			q.set(hw::sq_fastreg::page_size, static_cast<uint64_t>(row.size));
			q.set(hw::sq_fastreg::access, 0xf);
			q.set(va_based, 1);
		});
		pair.run();
		CHECK(completed(b, true));
		if (row.level == hw::PblLevel::contiguous)
			page = 1 << 20; /* one run */
		fill(a, target, length, 9);
		a.post_send(RoceEnd::rc, SqOp::rdma_write, {{target, length}}, [&](hw::Quantum &q) {
			q.set(hw::sq::remote_addr, 0x10000000 + offset);
			q.set(hw::sq::remote_stag, stag);
		});
		b.post_receive(RoceEnd::rc, {{target, 8}});
		a.post_send(RoceEnd::rc, SqOp::send_inv, {{0, 8}}, remote(0, stag));
		pair.run();
		CHECK(completed(a, true) && completed(a, true));
		for (uint32_t i = 0; i < length; i++) {
			uint64_t at = offset + i, number = at / page;
			uint64_t where = row.level == hw::PblLevel::contiguous || huge
						 ? at
						 : (3 - number) * page + at % page;

			if (*b.data(where) != *a.data(target + i)) {
				CHECK(!"the bytes lie where the list says");
				break;
			}
		}
		auto entry = b.poll();
		CHECK(entry && entry->get(hw::cqe::stag_or_ipv4) &&
		      entry->get(hw::cqe::inv_stag) == stag);
		/* It is invalid now. */
		b.post_send(RoceEnd::rc, SqOp::local_invalidate, {},
			    [&](hw::Quantum &q) { q.set(hw::sq_inval::stag, stag); });
		pair.run();
		CHECK(is_event(b.events(), AeCode::amp_invalid_stag));
	}
}

void datagrams()
{
	RocePair pair;
	auto &[a, b, cable] = pair;
	auto to = [](uint32_t qp, uint32_t ah, uint32_t qkey) {
		return [=](hw::Quantum &q) {
			q.set(hw::sq::ud_dest_qp, qp);
			q.set(hw::sq::ud_ah, ah);
			q.set(hw::sq::ud_qkey, qkey);
		};
	};

	fill(a, 0, 1024, 4);
	/* Too small, wrong key: silence. */
	b.post_receive(RoceEnd::ud, {{target, 1063}});
	a.post_send(RoceEnd::ud, SqOp::send, {{0, 1024}}, to(RoceEnd::ud, 0, RoceEnd::qkey));
	a.post_send(RoceEnd::ud, SqOp::send, {{0, 10}}, to(RoceEnd::ud, 0, 1));
	pair.run();
	CHECK(completed(a, true) && completed(a, true) && !b.poll());
	a.post_send(RoceEnd::ud, SqOp::send, {{0, 1000}}, to(RoceEnd::ud, 0, 1u << 31));
	pair.run();
	auto entry = b.poll();
	CHECK(completed(a, true) && entry && entry->get(hw::cqe::length) == 1040);
	CHECK(entry && entry->get(hw::cqe::src_qp) == RoceEnd::ud &&
	      entry->get(hw::cqe::stag_or_ipv4));
	CHECK(same(a, 0, b, target + 40, 1000));
	/* The IPv4 header, with what the address handle says. */
	const uint8_t *ip = b.data(target + 20);
	CHECK(ip[0] == 0x45 && ip[1] == 0x20 && ip[8] == 7 && ip[12] == 10 && ip[15] == 1 &&
	      ip[19] == 2);

	/* Many: no window holds them back. */
	for (int i = 0; i < 200; i++) {
		a.post_send(RoceEnd::ud, SqOp::send, {{0, 10}}, to(RoceEnd::ud, 0, RoceEnd::qkey));
		pair.run();
		CHECK(completed(a, true));
	}

	/* A multicast reaches each member, the sender's own too. */
	for (RoceEnd *end : {&a, &b})
		for (uint32_t qp : {RoceEnd::ud, RoceEnd::group_ud})
			end->post_receive(qp, {{target, 500}});
	a.post_send(RoceEnd::ud, SqOp::send, {{0, 100}}, to(0xffffff, 1, RoceEnd::qkey));
	pair.run();
	CHECK(completed(a, true) && completed(a, false, 140) && completed(a, false, 140));
	CHECK(completed(b, false, 140) && completed(b, false, 140) && !b.poll());
	CHECK(a.events().empty() && b.events().empty());

	a.post_send(RoceEnd::ud, SqOp::send, {{0, 1025}}, to(RoceEnd::ud, 0, RoceEnd::qkey));
	pair.run();
	CHECK(is_event(a.events(), AeCode::uda_xmit_dgram_too_long));
}

/* Frames to a device's own MAC come back to it. */
void loopback()
{
	RoceEnd a(1, 1, 1024);
	constexpr uint32_t length = 300'000;

	/* The queue pair is connected to itself, so both PSNs are its own. */
	fill(a, 0, length, 6);
	a.post_receive(RoceEnd::rc, {{target, length}});
	a.post_send(RoceEnd::rc, SqOp::send, {{0, length}});
	for (int i = 0; i < 100; i++)
		a.driver.host.settle();
	CHECK(completed(a, false, length) && completed(a, true));
	CHECK(same(a, 0, a, target, length) && a.driver.host.sent.empty());

	/* Work stays outstanding, and nothing waits for an answer in vain. */
	CHECK(!e810_device_inject(a.driver.host.device, "send-hang"));
	a.post_receive(RoceEnd::rc, {{target, length}});
	a.post_send(RoceEnd::rc, SqOp::send, {{0, length}});
	for (int i = 0; i < 100; i++)
		a.driver.host.settle();
	CHECK(!a.poll() && a.events().empty());
}

/* Congestion marks are answered by a CNP, which slows the sender down. */
void congestion()
{
	RocePair pair;
	auto &[a, b, cable] = pair;

	for (RoceEnd *end : {&a, &b}) {
		end->context.set(hw::qpc::dcqcn_enable, 1);
		end->modify(RoceEnd::rc, hw::QpState::rts);
	}
	pair.cable = [](RocePair::Frame &frame) {
		frame[15] |= 3; /* neither header checksum nor ICRC see that */
		return true;
	};
	b.post_receive(RoceEnd::rc, {{target, 100}});
	a.post_send(RoceEnd::rc, SqOp::send, {{0, 100}});
	pair.run();
	CHECK(completed(a, true) && b.counter(e810::counter::rx_ecn_marked) == 1);
	CHECK(b.counter(e810::counter::cnp_sent) == 1 &&
	      a.counter(e810::counter::cnp_handled) == 1);
}

/* SQD: what was begun is finished before the event, and nothing new is begun. */
void draining()
{
	RocePair pair;
	auto &[a, b, cable] = pair;
	bool open = false;

	pair.cable = [&](RocePair::Frame &) { return open; };
	b.post_receive(RoceEnd::rc, {{target, 100}});
	b.post_receive(RoceEnd::rc, {{target, 100}});
	a.post_send(RoceEnd::rc, SqOp::send, {{0, 100}});
	pair.run();
	a.modify(RoceEnd::rc, hw::QpState::sqd);
	CHECK(a.events().empty());
	a.post_send(RoceEnd::rc, SqOp::send, {{0, 100}});
	open = true;
	pair.run(1);
	CHECK(completed(a, true) && !a.poll());
	CHECK(is_event(a.events(), AeCode::qp_suspend_complete));
	a.modify(RoceEnd::rc, hw::QpState::rts);
	pair.run(1);
	CHECK(completed(a, true));
}

/* Suspended while its packets get lost: it has all its retries when it is resumed. */
void suspension()
{
	RocePair pair;
	auto &[a, b, cable] = pair;
	bool open = false;

	pair.cable = [&](RocePair::Frame &) { return open; };
	b.post_receive(RoceEnd::rc, {{target, 100}});
	a.post_send(RoceEnd::rc, SqOp::send, {{0, 100}});
	pair.run();
	a.suspend(RoceEnd::rc);
	pair.run(20);
	CHECK(is_event(a.events(), AeCode::qp_suspend_complete));
	a.resume(RoceEnd::rc);
	open = true;
	pair.run(1);
	CHECK(completed(a, true) && completed(b, false, 100) && a.events().empty());
}

/* Suspended in SQD amid a message, all sent packets of which are acknowledged: the rest follows. */
void suspension_while_draining()
{
	RocePair pair;
	auto &[a, b, cable] = pair;
	constexpr uint32_t length = 100 * 1024;
	std::vector<RocePair::Frame> kept;
	bool keep = true;

	pair.cable = [&](RocePair::Frame &frame) {
		bool keeps = keep && frame[42] == e810::bth_op::rc_acknowledge;

		if (keeps)
			kept.push_back(frame);
		return !keeps;
	};
	fill(a, 0, length, 11);
	b.post_receive(RoceEnd::rc, {{target, length}});
	a.post_send(RoceEnd::rc, SqOp::send, {{0, length}});
	pair.run();
	a.modify(RoceEnd::rc, hw::QpState::sqd);
	CHECK(!kept.empty() && a.events().empty());
	a.suspend(RoceEnd::rc);
	CHECK(is_event(a.events(), AeCode::qp_suspend_complete));
	keep = false;
	for (const RocePair::Frame &frame : kept)
		a.receive(frame);
	pair.run(1);
	CHECK(!a.poll() && a.events().empty());
	a.resume(RoceEnd::rc);
	pair.run(1);
	CHECK(completed(a, true) && completed(b, false, length));
	CHECK(same(a, 0, b, target, length));
	CHECK(is_event(a.events(), AeCode::qp_suspend_complete));
}

/* READs run while later WRITEs wait only if they are told to. */
void fences()
{
	for (bool fenced : {false, true}) {
		RocePair pair;
		auto &[a, b, cable] = pair;

		std::vector<uint8_t> order;
		pair.cable = [&](RocePair::Frame &frame) {
			order.push_back(frame[42]);
			return true;
		};
		a.post_send(RoceEnd::rc, SqOp::rdma_read, {{0, 10}}, remote(target));
		a.post_send(RoceEnd::rc, SqOp::rdma_write, {{0, 10}}, [&](hw::Quantum &q) {
			remote(target)(q);
			q.set(hw::sq::read_fence, fenced);
		});
		pair.run();
		CHECK(completed(a, true) && completed(a, true));
		CHECK(order.size() == 4 && order[1] == (fenced ? 0x10 : 0x0a));
	}
}

void fault_property()
{
	struct Row {
		const char *text;
		bool good;
	};
	constexpr Row rows[] = {{"drop:0.5", true},	  {"dup:1,delay:0;seed=7", true},
				{";seed=1", true},	  {"drop", false},
				{"drop:2", false},	  {"loss:0.1", false},
				{"drop:x", false},	  {"drop:0.1;sed=1", false},
				{"drop:0.1;seed=", false}};

	for (const Row &row : rows) {
		e810_host host;
		const char *error;

		host.fault = row.text;
		host.device = e810_device_new(&host, &error);
		CHECK((host.device != nullptr) == row.good);
		if (host.device)
			e810_device_free(host.device);
	}
}

} // namespace

int main()
{
	icrc();
	for (uint32_t mtu : {256u, 512u, 1024u, 2048u, 4096u})
		messages(mtu);
	variants();
	bad_cable("", 0.02);
	bad_cable("drop:0.02,dup:0.05,reorder:0.03,corrupt:0.02,delay:0.02;seed=3", 0);
	receiver_not_ready();
	posted_meanwhile();
	slow_peer();
	late_duplicate();
	late_duplicate_before_another();
	many_duplicates();
	psns_outstanding();
	reads_in_turn();
	refusals();
	own_failures();
	registration();
	datagrams();
	loopback();
	congestion();
	draining();
	suspension();
	suspension_while_draining();
	fences();
	fault_property();
	std::printf("%d rules broken\n", broken);
	return broken != 0;
}
