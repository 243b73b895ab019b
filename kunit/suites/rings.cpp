// SPDX-License-Identifier: GPL-2.0
/*
 * Rings of QPs: polarity and head over many laps, fillers, what is cleared
 * ahead, doorbells, completion by index; sizes of rings; and the tables of
 * numbers. Against the rules of the device: a WQE is 1 to 8 quanta, never
 * crosses a multiple of 8, its valid bit is the opposite of the lap before.
 */
#include "base/id_table.h"
#include "base/list.h"
#include "base/lookup_table.h"
#include "fake/rig.h"
#include "verbs/kernel_ring.h"
#include "verbs/qp_sizes.h"
#include "verbs/work_queue.h"

using namespace irdma;
using namespace irdma::fake;
using namespace irdma::test;

namespace {

constexpr u32 quanta = 1024;
constexpr u32 reserved = 258;

/** A send queue, and a device that reads it as it goes. */
struct Sq {
	Large<World> world;
	DmaBuffer memory;
	u8 *piece = nullptr;
	SendQueue queue;
	u32 position = 0; /**< where the device reads on */
	bool made;

	Sq()
	{
		auto buffer = DmaBuffer::create(world->shim(), quanta * 32 + 64);

		made = buffer.ok();
		if (!made)
			return;
		memory = buffer.take();
		piece = memory.as<u8>();
		made = queue.create({&piece, 32, 0}, shadow(), quanta).ok();
	}
	hw::Quantum *ring() { return memory.as<hw::Quantum>(); }
	hw::QpShadow &shadow() { return *memory.as<hw::QpShadow>(quanta * 32); }
	bool lap() const { return !(position & quanta); }

	/** Whether the quantum at the device's position has a valid header. */
	bool there() { return ring()[position % quanta].get(hw::sq::valid) == lap(); }

	/** Post one of @size quanta; false if there is no room. */
	bool post(u32 size, u64 id)
	{
		auto place = queue.begin(size);

		if (!place.wqe)
			return false;
		for (u32 i = 0; i < size; i++)
			for (u32 w = 0; w < 4; w++)
				if (i || w != 3)
					place.wqe[i].qw[w].set(id);
		queue.finish(place, hw::sq::opcode.put(static_cast<u64>(hw::SqOp::send)),
			     {.wr_id = id,
			      .length = size,
			      .op = hw::SqOp::send,
			      .quanta = static_cast<u8>(size)});
		return true;
	}

	/** The device takes the next request, over fillers; its quantum. */
	u32 take(u32 size, u64 id)
	{
		while (there() && ring()[position % quanta].get(hw::sq::opcode) ==
					  static_cast<u64>(hw::SqOp::nop))
			position++;
		u32 at = position % quanta;

		if (!there() || ring()[at].qw[0].get() != id)
			FAIL("at quantum %u: valid %u, request %llu, not %llu", position,
			     static_cast<u32>(there()), ring()[at].qw[0].get(), id);
		if (at / 8 != (at + size - 1) / 8)
			FAIL("a request of %u quanta begins at quantum %u", size, at);
		position += size;
		return at;
	}
};

/* ---- Send queue ---- */

void send_queue_over_many_laps()
{
	Sq sq;
	Random random(1);
	u64 posted = 0, completed = 0, fillers = 0;

	REQUIRE(sq.made);
	while (sq.position < 40 * quanta) {
		u32 size = random.between(1, 8);
		u32 before = sq.position;
		SendEntry entry = {};

		if (!EXPECT(sq.post(size, ++posted)))
			return;
		u32 at = sq.take(size, posted);
		fillers += sq.position - before - size;
		if (!EXPECT(!sq.there())) /* nothing beyond what was posted */
			return;
		if (!EXPECT(sq.queue.complete(at, entry)) || entry.wr_id != posted)
			return FAIL("completion is of %llu, not %llu", entry.wr_id, posted);
		completed++;
	}
	EXPECT(fillers > 0);
	EXPECT(!sq.queue.outstanding());
	note("%llu requests over 40 laps", completed);
}

/* As long as there is room, and not further: what is cleared ahead is not overwritten. */
void send_queue_fills_up_and_drains()
{
	Sq sq;
	SendEntry entry;

	REQUIRE(sq.made);
	for (u32 round = 0; round < 5; round++) {
		u32 count = 0;

		while (sq.post(1, round * 10000 + count))
			count++;
		EXPECT_EQ(count, quanta - reserved + 1);
		for (u32 i = 0; i < count; i++) {
			u32 at = sq.take(1, round * 10000 + i);

			EXPECT(sq.queue.complete(at, entry));
			EXPECT_EQ(entry.wr_id, round * 10000 + i);
		}
		EXPECT(!sq.there());
		EXPECT(!sq.queue.outstanding());
	}
}

/* One completion stands for all requests before it. */
void completion_ends_what_was_before()
{
	Sq sq;
	SendEntry entry;

	REQUIRE(sq.made);
	for (u32 i = 0; i < 10; i++)
		EXPECT(sq.post(2, i));
	EXPECT(sq.queue.complete(12, entry)); /* the seventh */
	EXPECT_EQ(entry.wr_id, 6);
	EXPECT(!sq.queue.complete(12, entry)); /* not twice */
	EXPECT(!sq.queue.complete(2, entry));  /* gone before */
	EXPECT(sq.queue.take_oldest(entry));
	EXPECT_EQ(entry.wr_id, 7);
	EXPECT(sq.queue.take_oldest(entry));
	EXPECT(sq.queue.take_oldest(entry));
	EXPECT_EQ(entry.wr_id, 9);
	EXPECT(!sq.queue.take_oldest(entry));
}

/* Whatever index the device makes up, only the beginning of an outstanding request is one. */
void forged_indexes_complete_nothing()
{
	Sq sq;
	SendEntry entry;

	REQUIRE(sq.made);
	EXPECT(!sq.queue.complete(0, entry));
	EXPECT(sq.post(3, 1)); /* 0 .. 2 */
	EXPECT(sq.post(8, 2)); /* fillers 3 .. 7, then 8 .. 15 */
	for (u32 index = 0; index < 0x8000; index++) {
		if (index == 0 || index == 8)
			continue;
		if (sq.queue.complete(index, entry))
			return FAIL("index %u completes request %llu", index, entry.wr_id);
	}
	EXPECT(sq.queue.complete(8, entry));
	EXPECT_EQ(entry.wr_id, 2);
}

/* What flushed queues remember takes room as requests do, and fillers are nobody's. */
void recorded_requests()
{
	Sq sq;
	SendEntry entry = {.wr_id = 7, .length = 0, .op = hw::SqOp::send, .quanta = 1};
	u32 count = 0;

	REQUIRE(sq.made);
	EXPECT(sq.post(5, 1));
	EXPECT(sq.post(5, 2)); /* behind three fillers */
	while (sq.queue.record(entry))
		count++;
	EXPECT_EQ(count, quanta - reserved + 1 - 13);
	EXPECT(sq.queue.take_oldest(entry));
	EXPECT_EQ(entry.wr_id, 1);
	EXPECT(sq.queue.take_oldest(entry));
	EXPECT_EQ(entry.wr_id, 2);
	while (count && sq.queue.take_oldest(entry))
		count--;
	EXPECT_EQ(count, 0);
	sq.queue.rewind();
	EXPECT(!sq.queue.outstanding());
	EXPECT(sq.post(1, 9));
	sq.position = 0;
	sq.take(1, 9);
}

/* A doorbell is needed if the device has stopped within what was posted since the last look. */
void doorbell_only_when_the_device_has_stopped()
{
	Sq sq;

	REQUIRE(sq.made);
	EXPECT(!sq.queue.needs_doorbell());
	EXPECT(sq.post(1, 1));
	EXPECT(sq.queue.needs_doorbell()); /* it stands at 0 */
	EXPECT(!sq.queue.needs_doorbell());
	EXPECT(sq.post(1, 2));
	EXPECT(!sq.queue.needs_doorbell()); /* still at 0: it has yet to read on */
	sq.shadow().set(hw::qp_shadow::sq_tail, 2);
	EXPECT(sq.post(2, 3));
	EXPECT(sq.queue.needs_doorbell()); /* it has stopped at 2, where the new one is */
	sq.shadow().set(hw::qp_shadow::sq_tail, 3);
	EXPECT(sq.post(1, 4)); /* 4 */
	EXPECT(!sq.queue.needs_doorbell());
}

/* ---- Receive queue ---- */

void receive_queue_over_many_laps()
{
	for (u32 shift = 0; shift <= 2; shift++) {
		Large<World> world;
		constexpr u32 size = 64;
		auto memory = DmaBuffer::create(world->shim(), size * 32);
		u32 requests = size >> shift;
		ReceiveQueue queue;
		ReceiveEntry entry = {};
		shim_sge sge[5];

		REQUIRE(memory.ok());
		u8 *piece = memory.value().as<u8>();
		REQUIRE(queue.create({&piece, 32, 0}, size, shift).ok());
		for (u32 i = 0; i < 5; i++)
			sge[i] = {0x1000u + i, 100 + i, 7};
		u32 fragments = shift == 0 ? 1 : shift == 1 ? 3 : 5;
		for (u32 n = 0; n < 6 * requests; n++) {
			auto &wqe = memory.value().as<hw::Quantum>()[(n % requests) << shift];
			bool lap = !(n / requests % 2);

			EXPECT(queue.post(n, sge, fragments));
			EXPECT_EQ(wqe.get(hw::rq::valid), lap);
			EXPECT_EQ(wqe.get(hw::rq::more_fragments), fragments - 1);
			EXPECT_EQ(wqe.qw[0].get(), 0x1000);
			EXPECT(!queue.complete(((n + 1) % requests) << shift, entry));
			EXPECT(queue.complete((n % requests) << shift, entry));
			EXPECT_EQ(entry.wr_id, n);
			EXPECT_EQ(entry.length, fragments * 100 + fragments * (fragments - 1) / 2);
		}
		for (u32 n = 0; n < requests - 1; n++)
			EXPECT(queue.post(n, sge, 1));
		EXPECT(!queue.post(99, sge, 1)); /* full: one is never used */
		EXPECT(queue.outstanding());
		EXPECT(queue.take_oldest(entry));
		EXPECT_EQ(entry.wr_id, 0);
		queue.rewind();
		EXPECT(!queue.take_oldest(entry));
		EXPECT(queue.post(5, nullptr, 0)); /* without a buffer */
		EXPECT_EQ(memory.value().as<hw::Quantum>()->get(hw::rq::valid), 1);
	}
}

/* ---- Fragments and inline data ---- */

/* Where fragment @i lies: words 0 and 1, then two a quantum from byte 32 on. */
hw::Le64 *fragment(hw::Quantum *wqe, u32 i)
{
	return i ? &wqe[1 + (i - 1) / 2].qw[(i - 1) % 2 * 2] : &wqe[0].qw[0];
}

void fragments_lie_where_the_device_reads_them()
{
	for (u32 imm = 0; imm < 2; imm++)
		for (u32 count = 0; count <= 13; count++) {
			hw::Quantum wqe[8];
			shim_sge sge[13];

			for (u32 i = 0; i < count; i++)
				sge[i] = {0xabc000u + i, 0x7fffffffu - i, 0x100u + i};
			u32 more = write_fragments(wqe, sge, count, imm, true);
			/* The device reads those beyond the first in pairs. */
			u32 whole = max(count + imm, 1u);
			EXPECT_EQ(more, whole % 2 ? whole - 1 : whole);
			EXPECT(1 + (more + 1) / 2 <= fragment_quanta(count + imm));
			for (u32 i = 0; i < count; i++) {
				hw::Le64 *words = fragment(wqe, i + imm);

				EXPECT_EQ(words[0].get(), sge[i].addr);
				EXPECT_EQ(hw::fragment::length.take(words[1].get()), sge[i].length);
				EXPECT_EQ(hw::fragment::stag.take(words[1].get()), sge[i].lkey);
				EXPECT_EQ(hw::fragment::valid.take(words[1].get()), 1);
			}
			for (u32 i = max(count + imm, imm); i <= more; i++)
				EXPECT_EQ(fragment(wqe, i)[1].get(), 1ULL << 63);
		}
}

void inline_data_skips_header_and_marks()
{
	for (u32 bytes = 0; bytes <= 101; bytes++)
		for (u32 cut = 1; cut <= 3; cut++) {
			hw::Quantum wqe[8];
			u8 data[104];
			shim_sge sge[3] = {};
			u32 done = 0;

			for (u32 i = 0; i < 104; i++)
				data[i] = static_cast<u8>(i + 1);
			for (u32 i = 0; i < cut; i++) {
				u32 part = i + 1 == cut ? bytes - done : bytes / cut;

				sge[i] = {reinterpret_cast<u64>(data + done), part, 0};
				done += part;
			}
			write_inline(wqe, sge, cut, true);
			const u8 *raw = reinterpret_cast<const u8 *>(wqe);
			for (u32 i = 0; i < bytes; i++) {
				u32 at = i < 8 ? 8 + i : 32 + (i - 8) / 31 * 32 + (i - 8) % 31;

				if (raw[at] != data[i])
					return FAIL("byte %u of %u in %u parts is wrong", i, bytes,
						    cut);
			}
			for (u32 q = 1; q < inline_quanta(bytes); q++)
				EXPECT_EQ(raw[q * 32 + 31], 0x80);
			EXPECT_EQ(wqe[0].qw[2].get(), 0);
			EXPECT_EQ(wqe[0].qw[3].get(), 0);
			EXPECT_EQ(inline_quanta(bytes), bytes <= 8 ? 1 : 1 + (bytes - 8 + 30) / 31);
		}
}

/* ---- Sizes ---- */

struct SizeCase {
	u32 send_wr, recv_wr, send_sge, recv_sge, inline_bytes;
	bool given;
	u32 sq_quanta, rq_quanta; /* 0: refused */
};

/* As libirdma (rdma-core 44) makes the rings of a process. */
constexpr SizeCase size_cases[] = {
	{1, 1, 1, 1, 0, false, 512, 8},
	{16, 16, 1, 1, 0, false, 512, 32},
	{127, 127, 1, 1, 0, false, 512, 128},
	{128, 128, 1, 1, 0, false, 1024, 256},
	{64, 64, 3, 3, 0, false, 1024, 256},
	{64, 64, 3, 4, 0, false, 1024, 512},
	{64, 64, 2, 2, 0, false, 512, 256},
	{64, 64, 2, 2, 39, false, 512, 256},
	{64, 64, 7, 8, 0, false, 1024, 1024},
	{64, 64, 1, 1, 40, false, 1024, 128},
	{64, 64, 1, 1, 101, false, 1024, 128},
	{4063, 4063, 8, 13, 101, false, 32768, 32768},
	{4064, 1, 13, 1, 0, false, 0, 0},
	{32768, 1, 1, 1, 0, false, 0, 0},
	{32769, 1, 1, 1, 0, false, 0, 0},
	{1, 32768, 1, 1, 0, false, 0, 0},
	{1, 32767, 1, 1, 0, false, 512, 32768},
	{1, 1, 14, 1, 0, false, 0, 0},
	{1, 1, 1, 14, 0, false, 0, 0},
	{1, 1, 1, 1, 102, false, 0, 0},
	{0, 0, 0, 0, 0, false, 512, 8},
	{256, 8, 1, 1, 0, true, 512, 8},
	{128, 8, 1, 1, 0, true, 0, 0},
	{300, 8, 1, 1, 0, true, 0, 0},
	{256, 4, 1, 1, 0, true, 0, 0},
	{256, 7, 1, 1, 0, true, 0, 0},
	{16384, 32768, 1, 1, 0, true, 32768, 32768},
	{32768, 8, 1, 1, 0, true, 0, 0},
};

void ring_sizes()
{
	for (const SizeCase &c : size_cases) {
		irdma_qp_params p = {};

		p.max_send_wr = c.send_wr;
		p.max_recv_wr = c.recv_wr;
		p.max_send_sge = c.send_sge;
		p.max_recv_sge = c.recv_sge;
		p.max_inline = c.inline_bytes;
		auto sizes = qp_sizes(p, c.given);
		u32 sq = sizes.ok() ? sizes.value().sq_quanta : 0;
		u32 rq = sizes.ok() ? sizes.value().rq_quanta : 0;

		if (sq != c.sq_quanta || rq != c.rq_quanta)
			FAIL("%u+%u requests, %u+%u SGEs, %u inline: %u+%u quanta, not %u+%u",
			     c.send_wr, c.recv_wr, c.send_sge, c.recv_sge, c.inline_bytes, sq, rq,
			     c.sq_quanta, c.rq_quanta);
		if (!sizes.ok()) {
			EXPECT_EQ(sizes.code(), -SHIM_EINVAL);
			continue;
		}
		if (!c.given) {
			EXPECT(sizes.value().max_send_wr() >= c.send_wr);
			EXPECT(sizes.value().max_recv_wr() >= c.recv_wr);
		}
		EXPECT_EQ(1u << (ring_size_code(sq) + 2), sq);
		EXPECT_EQ(sizes.value().sq_bytes(), sq * 32);
		EXPECT_EQ(sizes.value().rq_bytes(), rq * 32);
	}
}

/* ---- Tables of numbers ---- */

/* Numbers against a plain set of them. */
void numbers_against_a_reference()
{
	Large<World> world;
	IdTable table;
	constexpr u32 first = 3, limit = 203;
	static bool taken[limit];
	Random random(7);
	u32 used = 0;

	for (bool &t : taken)
		t = false;
	REQUIRE(table.create(first, limit).ok());
	EXPECT_EQ(table.capacity(), 200);
	EXPECT_EQ(table.limit(), limit);
	for (u32 i = 0; i < 20000; i++) {
		if (random.below(2) && used < 200) {
			auto id = table.alloc();

			if (!EXPECT(id.ok()) ||
			    !EXPECT(id.value() >= first && id.value() < limit) ||
			    !EXPECT(!taken[id.value()]))
				return;
			taken[id.value()] = true;
			used++;
		} else if (used) {
			u32 id = random.between(first, limit - 1);

			while (!taken[id])
				id = id + 1 < limit ? id + 1 : first;
			table.free(id);
			taken[id] = false;
			used--;
		}
		if (!EXPECT_EQ(table.used(), used))
			return;
	}
	while (used < 200 && table.alloc().ok())
		used++;
	EXPECT_EQ(used, 200);
	EXPECT_EQ(table.alloc().code(), -SHIM_ENOSPC);
}

/* A number comes back as late as possible. */
void numbers_go_in_a_circle()
{
	Large<World> world;
	IdTable table;

	REQUIRE(table.create(1, 130).ok());
	for (u32 i = 1; i < 130; i++) {
		auto id = Id::alloc(table);

		EXPECT(id.ok());
		EXPECT_EQ(id.value().value(), i);
	}
	EXPECT_EQ(table.used(), 0);
	EXPECT_EQ(table.alloc().value(), 1);
	table.free(1);
	EXPECT_EQ(world->warnings(), 0);
	table.free(1);	 /* twice */
	table.free(0);	 /* reserved */
	table.free(130); /* beyond */
	EXPECT_EQ(world->warnings(), 3);
	world->allow_warnings();
	EXPECT_EQ(table.used(), 0);
	EXPECT_EQ(IdTable().create(5, 4).code(), -SHIM_EINVAL);
}

void owners_of_numbers()
{
	Large<World> world;
	IdTable table;

	REQUIRE(table.create(0, 8).ok());
	{
		auto a = Id::alloc(table);
		Id moved = a.take();
		Id other;

		EXPECT(!a.value());
		EXPECT_EQ(table.used(), 1);
		other = move(moved);
		EXPECT(!moved);
		other = Id::alloc(table).take();
		EXPECT_EQ(table.used(), 1); /* the first has gone back */
		Id kept = Id::alloc(table).take();
		kept.abandon();
	}
	EXPECT_EQ(table.used(), 1); /* the abandoned one, for ever */
}

struct Element {
	u32 n;
	ListNode<Element> node{this};
	explicit Element(u32 v) : n(v) {}
};

void lists()
{
	List<Element> list, other;
	Element a(1), b(2), c(3);
	u32 sum = 0;

	EXPECT(list.empty());
	EXPECT(!list.front());
	EXPECT(!list.pop_front());
	list.push_back(a.node);
	list.push_back(b.node);
	list.push_back(c.node);
	for (Element &e : list)
		sum = sum * 10 + e.n;
	EXPECT_EQ(sum, 123);
	list.push_back(a.node);	 /* moves to the end */
	other.push_back(b.node); /* leaves its list */
	EXPECT_EQ(list.front()->n, 3);
	{
		Element d(4);

		other.push_back(d.node);
	} /* leaves with its element */
	EXPECT_EQ(other.pop_front()->n, 2);
	EXPECT(other.empty());
	EXPECT(!b.node.linked());
}

void lookups()
{
	Large<World> world;
	LookupTable<u32> table(SHIM_LOCK_QP_TABLE);
	u32 a = 1, b = 2, sum = 0;

	REQUIRE(table.create(4).ok());
	table.insert(0, a);
	table.insert(3, b);
	EXPECT(table.with(3, [&](u32 &v) { sum += v; }));
	EXPECT(!table.with(1, [&](u32 &) { sum += 100; }));
	EXPECT(!table.with(4, [&](u32 &) { sum += 100; }));
	EXPECT(!table.with(~0u, [&](u32 &) { sum += 100; }));
	table.for_each([&](u32 &v) { sum += 10 * v; });
	table.remove(3);
	EXPECT(!table.with(3, [&](u32 &) { sum += 100; }));
	EXPECT_EQ(sum, 32);
}

constexpr bridge_case cases[] = {
	TEST(send_queue_over_many_laps),
	TEST(send_queue_fills_up_and_drains),
	TEST(completion_ends_what_was_before),
	TEST(forged_indexes_complete_nothing),
	TEST(recorded_requests),
	TEST(doorbell_only_when_the_device_has_stopped),
	TEST(receive_queue_over_many_laps),
	TEST(fragments_lie_where_the_device_reads_them),
	TEST(inline_data_skips_header_and_marks),
	TEST(ring_sizes),
	TEST(numbers_against_a_reference),
	TEST(numbers_go_in_a_circle),
	TEST(owners_of_numbers),
	TEST(lists),
	TEST(lookups),
};

} // namespace

SUITE(rings, cases)
