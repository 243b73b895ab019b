// SPDX-License-Identifier: GPL-2.0
/*
 * Host memory cache: numbers of objects for what a device offers, offers and
 * layouts that cannot be, segments; and the pool of PBLEs against a plain map
 * of what is taken.
 *
 * Numbers: QPs are a power of two; for each there are two CQs, 254 entries for
 * incoming READs, 32 of each kind for retransmission, and 4 blocks of the
 * transmit FIFO; the hash table is a power of two. All lie in the segments
 * that the device has, none on another.
 */
#include "fake/rig.h"
#include "hw/limits.h"

using namespace irdma;
using namespace irdma::fake;
using namespace irdma::test;

namespace {

using hw::HmcObject;

/** A device whose control QP is up, and no more. */
struct Bare {
	Large<World> world;
	Large<Engine> engine;
	Owner<Device> device;
	bool ready = false;

	Bare() : world(), engine(*world)
	{
		device = make<Device>(world->shim());
		ready = device && device->cqp.create().ok();
	}
	~Bare()
	{
		engine->on_command = {};
		engine->on_commit = {};
		if (ready)
			device->cqp.destroy();
	}
	Hmc &hmc() { return device->hmc; }

	void offer(HmcObject kind, u32 count) { engine->offer(kind, count); }
	void offer_size(HmcObject kind, u64 size) { engine->offer_size(kind, size); }
	void segments(u32 count) { engine->fpm.set(hw::fpm_query::max_sds, count); }
	Status size()
	{
		Status status = hmc().query();

		return status.ok() ? hmc().commit() : status;
	}
};

u64 object_bytes(HmcObject kind, const hw::FpmBuffer &fpm)
{
	for (const auto &info : hw::hmc_object_info)
		if (info.object == kind)
			return info.size == hw::HmcObjectInfo::log2_bytes
				       ? 1ULL << hw::fpm_size.take(fpm.qw[info.query_word].get())
				       : info.fixed_bytes;
	return 0;
}

/* What holds whatever is offered. */
void check_counts(Bare &b)
{
	Hmc &hmc = b.hmc();
	u32 qps = hmc.count(HmcObject::qp);
	u64 bytes = 0;

	EXPECT(is_power_of_two(qps));
	EXPECT(hmc.count(HmcObject::cq) <= 2 * qps);
	EXPECT(hmc.count(HmcObject::q1) >= 254 * qps);
	EXPECT(is_power_of_two(hmc.count(HmcObject::q1)));
	EXPECT(hmc.count(HmcObject::hdr) >= qps);
	EXPECT_EQ(hmc.count(HmcObject::xf), 4 * 4 * qps); /* the fake's block is 4 */
	EXPECT_EQ(hmc.count(HmcObject::xffl), hmc.count(HmcObject::xf) / 4);
	EXPECT_EQ(hmc.count(HmcObject::q1fl), hmc.count(HmcObject::q1) / 4);
	EXPECT(hmc.count(HmcObject::hte) >= qps);
	EXPECT(is_power_of_two(hmc.count(HmcObject::hte)));
	EXPECT(hmc.count(HmcObject::timer) > 0);
	EXPECT(hmc.count(HmcObject::mr) > 0);
	for (const auto &a : hw::hmc_object_info) {
		u64 begin = hmc.base(a.object);
		u64 size = hmc.count(a.object) * object_bytes(a.object, b.engine->fpm);

		if (a.size == hw::HmcObjectInfo::not_queried)
			size = a.fixed_bytes;
		bytes += size;
		EXPECT_EQ(begin % 512, 0);
		for (const auto &o : hw::hmc_object_info) {
			u64 at = hmc.base(o.object);

			if (&a != &o && size && at > begin && at < begin + size)
				FAIL("%s lies on %s", o.name, a.name);
		}
	}
	u64 limit = b.engine->fpm.get(hw::fpm_query::max_sds) * hw::sd_bytes;
	EXPECT(bytes <= limit);
}

void counts_for_each_number_of_qps()
{
	for (u32 qps = 1; qps <= 8192; qps = qps * 3 / 2 + 1) {
		Bare b;
		REQUIRE(b.ready);
		b.offer(HmcObject::qp, qps);
		b.offer(HmcObject::cq, 2 * qps);
		b.offer(HmcObject::q1, 1 << 24);
		b.segments(4096);
		Status status = b.size();
		if (!EXPECT(status.ok()))
			return FAIL("%u QPs: %d", qps, status.code());
		check_counts(b);
		EXPECT_EQ(b.hmc().count(HmcObject::qp), 1u << log2_floor(qps));
	}
}

/* The administrator asks for fewer QPs than the device offers. */
void fewer_qps_by_limits_sel()
{
	constexpr u32 wanted[] = {128, 1024, 2048, 4096, 4096, 4096, 4096, 4096};

	for (u32 limit = 0; limit <= SHIM_LIMITS_SEL_MAX; limit++) {
		Bare b;
		REQUIRE(b.ready);
		b.world->limits_sel = limit;
		b.offer(HmcObject::qp, 4096);
		b.offer(HmcObject::cq, 8192);
		b.offer(HmcObject::q1, 1 << 24);
		b.segments(4096);
		REQUIRE(b.size().ok());
		EXPECT_EQ(b.hmc().count(HmcObject::qp), wanted[limit]);
		check_counts(b);
	}
}

/* Too few READs for all QPs: fewer QPs. */
void fewer_qps_for_few_reads()
{
	{
		Bare b;
		REQUIRE(b.ready);
		b.offer(HmcObject::qp, 64);
		b.offer(HmcObject::q1, 8192); /* 254 * 16 + 512 rounded up is 8192 */
		REQUIRE(b.size().ok());
		EXPECT_EQ(b.hmc().count(HmcObject::qp), 16);
		check_counts(b);
	}
	Bare none;
	REQUIRE(none.ready);
	none.offer(HmcObject::q1, 100); /* not even for one */
	EXPECT_EQ(none.size().code(), -SHIM_EINVAL);
	EXPECT(none.world->said("no number of QPs fits"));
}

/* More groups than can be named, which must not make the hash table overflow. */
void hash_table_of_too_many_groups()
{
	Bare b;
	REQUIRE(b.ready);
	b.segments(4096);
	b.offer(HmcObject::fsimc, 1 << 28);
	b.offer_size(HmcObject::fsimc, 0);
	b.engine->fpm.set(hw::fpm_query::hash_multiplier, 8);
	REQUIRE(b.size().ok());
	EXPECT(b.hmc().count(HmcObject::hte) >= 8 * b.hmc().count(HmcObject::qp));
}

/* Few segments: page lists and MRs shrink first. */
void few_segments()
{
	for (u32 segments = 1; segments <= 40; segments++) {
		Bare b;
		REQUIRE(b.ready);
		b.segments(segments);
		b.offer(HmcObject::qp, 2048);
		b.offer(HmcObject::cq, 4096);
		b.offer(HmcObject::mr, 1 << 20);
		b.offer(HmcObject::q1, 1 << 20);
		b.offer(HmcObject::pble, 1 << 26);
		Status status = b.size();
		if (!status.ok()) {
			EXPECT_EQ(status.code(), -SHIM_EINVAL);
			continue;
		}
		check_counts(b);
	}
}

/* The offer of the E810 that stock irdma was watched with: 512 QPs, 1024 CQs, 20.3 MiB. */
void counts_of_the_stock_driver()
{
	Bare b;
	REQUIRE(b.ready);
	b.segments(256);
	b.offer(HmcObject::qp, 512);
	b.offer(HmcObject::cq, 1024);
	b.offer(HmcObject::hte, 4096);
	b.offer(HmcObject::arp, 512);
	b.offer(HmcObject::mr, 16384);
	b.offer(HmcObject::xf, 32768);
	b.offer(HmcObject::xffl, 32768);
	b.offer(HmcObject::q1, 131072);
	b.offer(HmcObject::q1fl, 131072);
	b.offer(HmcObject::timer, 4096);
	b.offer(HmcObject::fsimc, 256);
	b.offer(HmcObject::fsiav, 512);
	b.offer(HmcObject::pble, 1 << 20);
	b.offer(HmcObject::rrf, 32768);
	b.offer(HmcObject::rrffl, 32768);
	b.offer(HmcObject::hdr, 512);
	b.offer(HmcObject::md, 1024);
	b.offer(HmcObject::ooisc, 32768);
	b.offer(HmcObject::ooiscffl, 32768);
	REQUIRE(b.size().ok());
	check_counts(b);
	EXPECT_EQ(b.hmc().count(HmcObject::qp), 512);
	EXPECT_EQ(b.hmc().count(HmcObject::cq), 1024);
	EXPECT_EQ(b.hmc().count(HmcObject::mr), 16384);
	EXPECT_EQ(b.hmc().count(HmcObject::q1), 131072);
	REQUIRE(b.hmc().allocate().ok());
	/* SDs 0 to 10, of which those that hold only PBLEs come later. */
	EXPECT(b.engine->segments() >= 6 && b.engine->segments() <= 11);
	b.hmc().release();
	EXPECT_EQ(b.engine->segments(), 0);
}

/* ---- Offers and layouts that cannot be ---- */

void offers_that_cannot_be()
{
	struct {
		const char *what;
		void (*spoil)(Bare &);
	} const bad[] = {
		{"no segments", [](Bare &b) { b.segments(0); }},
		{"no CEQs", [](Bare &b) { b.engine->fpm.set(hw::fpm_query::max_ceqs, 0); }},
		{"no hash multiplier",
		 [](Bare &b) { b.engine->fpm.set(hw::fpm_query::hash_multiplier, 0); }},
		{"no QPs", [](Bare &b) { b.offer(HmcObject::qp, 0); }},
		{"no CQs", [](Bare &b) { b.offer(HmcObject::cq, 0); }},
		{"no MRs", [](Bare &b) { b.offer(HmcObject::mr, 0); }},
		{"too many MRs", [](Bare &b) { b.offer(HmcObject::mr, (1 << 24) + 1); }},
		{"too many of a kind", [](Bare &b) { b.offer(HmcObject::timer, ~0u); }},
		{"huge objects", [](Bare &b) { b.offer_size(HmcObject::qp, 17); }},
		{"impossible objects", [](Bare &b) { b.offer_size(HmcObject::mr, 64); }},
		{"no block", [](Bare &b) { b.offer_size(HmcObject::xffl, 0); }},
		{"no block of READs", [](Bare &b) { b.offer_size(HmcObject::q1fl, 0); }},
		{"huge block", [](Bare &b) { b.offer_size(HmcObject::q1fl, 1025); }},
		{"no block of RRF", [](Bare &b) { b.offer_size(HmcObject::rrffl, 0); }},
		{"zeros", [](Bare &b) { b.engine->fpm.clear(); }},
		{"ones",
		 [](Bare &b) {
			 for (hw::Le64 &word : b.engine->fpm.qw)
				 word.set(~0ULL);
		 }},
	};

	for (const auto &one : bad) {
		Bare b;
		REQUIRE(b.ready);
		one.spoil(b);
		if (b.hmc().query().code() != -SHIM_EPROTO)
			FAIL("%s is taken", one.what);
		EXPECT(b.world->said("cannot be"));
	}
}

/* Random offers: an error, or counts that hold. */
void random_offers()
{
	Random random(6);
	u32 taken = 0;

	for (u32 i = 0; i < 400; i++) {
		Bare b;
		REQUIRE(b.ready);
		for (const auto &info : hw::hmc_object_info)
			if (info.size != hw::HmcObjectInfo::not_queried && random.below(3) == 0)
				b.offer(info.object, random.next() >> random.below(32));
		b.offer(HmcObject::rrffl, 1024);
		b.segments(random.below(16384));
		Status status = b.size();
		if (!status.ok()) {
			EXPECT(status.is(Error::protocol) || status.is(Error::invalid));
			continue;
		}
		taken++;
		check_counts(b);
	}
	note("%u of 400 offers taken", taken);
}

/* Any words as an answer: an error, or objects that lie where the device has room for them. */
void random_answers()
{
	Random random(10);
	u32 taken = 0;

	for (u32 i = 0; i < 400; i++) {
		Bare b;
		REQUIRE(b.ready);
		for (hw::Le64 &word : b.engine->fpm.qw) {
			u64 count = random.next() >> random.below(32);
			u64 size = random.below(4) ? random.below(18) : random.next();

			if (random.below(4) == 0)
				word.set(size << 32 | count);
		}
		Status status = b.size();
		if (!status.ok()) {
			EXPECT(status.is(Error::protocol) || status.is(Error::invalid));
			continue;
		}
		taken++;
		u64 end = b.engine->fpm.get(hw::fpm_query::first_sd) +
			  b.engine->fpm.get(hw::fpm_query::max_sds);
		for (const auto &info : hw::hmc_object_info) {
			u64 bytes = b.hmc().count(info.object) *
				    object_bytes(info.object, b.engine->fpm);

			if (b.hmc().base(info.object) + bytes > end * hw::sd_bytes)
				FAIL("%s ends beyond segment %llu", info.name, end);
		}
	}
	EXPECT(taken);
	note("%u of 400 answers taken", taken);
}

void layouts_that_cannot_be()
{
	for (u32 how = 0; how < 5; how++) {
		Bare b;
		REQUIRE(b.ready);
		auto spoil = [how](hw::FpmBuffer &answer) {
			hw::Le64 &qp = answer.qw[0], &cq = answer.qw[1], &pble = answer.qw[14];

			switch (how) {
			case 0: /* more than was asked for */
				qp.set(qp.get() + 1);
				break;
			case 1: /* none */
				cq.set(cq.get() & ~0xfffffULL);
				break;
			case 2: /* on top of another */
				cq.set((cq.get() & 0xffffffff) | (qp.get() & ~0xffffffffULL));
				break;
			case 3: /* beyond the segments */
				pble.set((pble.get() & 0xffffffff) | 0xffffffffULL << 32);
				break;
			default:
				for (hw::Le64 &word : answer.qw)
					word.set(~0ULL);
			}
		};

		b.engine->on_commit = spoil;
		REQUIRE(b.hmc().query().ok());
		EXPECT_EQ(b.hmc().commit().code(), -SHIM_EPROTO);
		EXPECT(b.world->said("wrongly"));
	}
}

/* Fewer than was asked for is fine. */
void device_that_gives_less()
{
	Bare b;
	REQUIRE(b.ready);
	auto less = [](hw::FpmBuffer &answer) { answer.qw[6].set(answer.qw[6].get() - 24); };

	b.engine->on_commit = less;
	REQUIRE(b.size().ok());
	EXPECT_EQ(b.hmc().count(HmcObject::mr), 1000);
}

/* ---- PBLE pool ---- */

/* Allocations and frees at random: no two runs overlap, entries are the segment's memory. */
void pool_against_a_reference()
{
	Large<Rig> rig;
	REQUIRE(rig->start());
	constexpr u32 runs = 64;
	Many<PbleRun, runs> held;
	static u64 first[runs], count[runs];
	Random random(8);
	u64 base = rig->device().hmc.base(HmcObject::pble), failures = 0;

	for (u32 i = 0; i < 4000; i++) {
		u32 at = random.below(runs);
		u32 wanted = 1 + random.below(1u << random.between(1, 18));

		held[at] = PbleRun();
		count[at] = 0;
		auto run = rig->device().pbles.alloc(wanted);
		if (!run.ok()) {
			EXPECT_EQ(run.code(), -SHIM_ENOMEM);
			failures++;
			continue;
		}
		held[at] = run.take();
		first[at] = held[at].first();
		count[at] = wanted;
		EXPECT_EQ(held[at].count(), wanted);
		for (u32 j = 0; j < runs; j++)
			if (j != at && count[j] && first[j] < first[at] + wanted &&
			    first[at] < first[j] + count[j])
				return FAIL("runs at %llu and %llu overlap", first[j], first[at]);
		/* What the device reads there is what the owner writes. */
		u64 fpm = base + 8 * first[at], end = fpm + 8 * (wanted - 1);
		u64 segment = rig->engine().segment(static_cast<u32>(fpm / hw::sd_bytes));
		if (!EXPECT(segment != 0) || !EXPECT_EQ(fpm / hw::sd_bytes, end / hw::sd_bytes))
			return;
		void *seen = rig->world().dma(segment + fpm % hw::sd_bytes, 8ULL * wanted);
		if (!EXPECT(seen == held[at].entries()))
			return;
	}
	for (PbleRun &run : held)
		run = PbleRun();
	/* All is one gap again: a whole segment can be had. */
	auto whole = rig->device().pbles.alloc(262144 - 512);
	EXPECT(whole.ok());
	note("%llu of 4000 did not fit", failures);
}

/** That the device finds entry @i of a list where its owner has it. */
bool found_by_device(Rig &rig, const PbleList &list, u64 i)
{
	u64 first = list.first(), room = 0;

	list.entry(i, room)->set(0xabc000 + i * 4096);
	if (list.level() == hw::PblLevel::two) {
		first = rig.engine().pble(first + i / 512);
		return room == min(512 - i % 512, room) &&
		       rig.engine().pble(first + i % 512) == 0xabc000 + i * 4096;
	}
	return rig.engine().pble(first + i) == 0xabc000 + i * 4096;
}

/* What does not fit into one segment, or into a pool in pieces, has two levels. */
void lists_of_two_levels()
{
	Large<Rig> rig;
	REQUIRE(rig->start());
	PblePool &pool = rig->device().pbles;
	{
		auto list = pool.alloc_list(262145 + 512);

		REQUIRE(list.ok());
		EXPECT_EQ(list.value().level(), hw::PblLevel::two);
		constexpr u64 at[] = {0, 511, 512, 100000, 262144, 262656};
		for (u64 i : at)
			EXPECT(found_by_device(*rig, list.value(), i));
		/* The root takes a word, each leaf one, as does the last. */
		EXPECT_EQ(pool.used(), 520 + 262144 + 512 + 8);
		PbleList moved = list.take();
		moved = PbleList();
		EXPECT_EQ(pool.used(), 0);
	}
	irdma_memory_details memory = {};
	irdma_describe_memory(rig->c(), &memory);
	EXPECT_EQ(memory.page_lists_used, 0);
	EXPECT(memory.page_lists >= 8 * (520 + 262144 + 512 + 8));
	EXPECT(memory.cache > memory.page_lists);
	note("page lists: %llu of %llu bytes", memory.page_lists, memory.cache);
	EXPECT_EQ(memory.cache % hw::sd_bytes, 0);

	/* All words in use, then every other one given back: runs of a word, but not of two. */
	constexpr u32 words = 2048;
	Array<PbleRun> runs = Array<PbleRun>::create(words).take();
	u32 n = 0;
	while (n < words) {
		auto run = pool.alloc(512);

		if (!run.ok())
			break;
		runs[n++] = run.take();
	}
	EXPECT_EQ(pool.alloc(1).code(), -SHIM_ENOMEM);
	for (u32 i = 0; i < n; i += 2)
		runs[i] = PbleRun();
	EXPECT_EQ(pool.alloc(513).code(), -SHIM_ENOMEM);
	EXPECT_EQ(pool.alloc_run(513).code(), -SHIM_ENOMEM);
	EXPECT(pool.alloc_run(512).ok());
	{
		auto list = pool.alloc_list(513);

		REQUIRE(list.ok());
		EXPECT_EQ(list.value().level(), hw::PblLevel::two);
		EXPECT(found_by_device(*rig, list.value(), 512));
		auto small = pool.alloc_list(512);
		REQUIRE(small.ok());
		EXPECT_EQ(small.value().level(), hw::PblLevel::one);
		EXPECT(found_by_device(*rig, small.value(), 511));
	}
	u64 used = pool.used();
	EXPECT_EQ(pool.alloc_list(u64{n} * 512).code(), -SHIM_ENOMEM);
	EXPECT_EQ(pool.alloc_list(u64{n / 2} * 512).code(), -SHIM_ENOMEM); /* but for the root */
	EXPECT_EQ(pool.used(), used);
	EXPECT_EQ(pool.alloc_list(0).code(), -SHIM_ENOMEM);
	EXPECT_EQ(pool.alloc_list(~0ULL).code(), -SHIM_ENOMEM);
	/* Memory for the list of leaves is short: as if there were no PBLEs. */
	rig->world().fail_allocation(1);
	EXPECT_EQ(pool.alloc_list(1024).code(), -SHIM_ENOMEM);
	rig->world().fail_allocation(0);
	/* One that is abandoned is never handed out again. */
	auto list = pool.alloc_list(1024);
	REQUIRE(list.ok());
	used = pool.used();
	list.value().abandon();
	list.value() = PbleList();
	EXPECT_EQ(pool.used(), used);
	runs = Array<PbleRun>();
}

void runs_that_cannot_be()
{
	Large<Rig> rig;
	REQUIRE(rig->start());

	EXPECT_EQ(rig->device().pbles.alloc(0).code(), -SHIM_ENOMEM);
	EXPECT_EQ(rig->device().pbles.alloc(262145).code(), -SHIM_ENOMEM);
	EXPECT_EQ(rig->device().pbles.alloc(~0u).code(), -SHIM_ENOMEM);
	/* A segment that the device refuses: its memory is kept till the end. */
	auto refuse = [](const Command &c, Answer &a) {
		if (c.op == hw::CqpOp::update_pe_sds)
			a.fail(0xffff, 0x1111);
	};
	rig->engine().on_command = refuse;
	Many<PbleRun, 64> held;
	u32 n = 0;
	Result<PbleRun> run = rig->device().pbles.alloc(100000);
	while (run.ok() && n < 64) {
		held[n++] = run.take();
		run = rig->device().pbles.alloc(100000);
	}
	EXPECT_EQ(run.code(), -SHIM_EIO);
	rig->engine().on_command = {};
	EXPECT(rig->device().pbles.alloc(100000).ok());
	/* One that is abandoned is not handed out again. */
	if (n) {
		u32 gone = held[0].first();

		held[0].abandon();
		held[0] = PbleRun();
		auto other = rig->device().pbles.alloc(100);
		EXPECT(other.ok() &&
		       (other.value().first() < gone || other.value().first() >= gone + 100000));
	}
	for (PbleRun &r : held)
		r = PbleRun();
}

constexpr bridge_case cases[] = {
	TEST(counts_for_each_number_of_qps),
	TEST(fewer_qps_by_limits_sel),
	TEST(fewer_qps_for_few_reads),
	TEST(hash_table_of_too_many_groups),
	TEST(few_segments),
	TEST(counts_of_the_stock_driver),
	TEST(offers_that_cannot_be),
	TEST(random_offers),
	TEST(random_answers),
	TEST(layouts_that_cannot_be),
	TEST(device_that_gives_less),
	TEST(pool_against_a_reference),
	TEST(lists_of_two_levels),
	TEST(runs_that_cannot_be),
};

} // namespace

SUITE(hmc, cases)
