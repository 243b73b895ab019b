// SPDX-License-Identifier: GPL-2.0
/*
 * The pool of page lists: what it hands out is nobody else's and reads as the
 * device reads it, it survives a million registrations of all lengths without
 * fragments that would matter, and refuses what it has not.
 *
 * The host memory cache below it is played: segments of memory, as many as a test
 * allows.
 */
#include <cmath>
#include <map>
#include <random>
#include <vector>

#include "hmc/hmc.h"
#include "hmc/pble.h"
#include "shim.h"

using namespace irdma;

namespace {

/* The PBLEs begin within a segment, and not at a page. */
constexpr u64 pble_base = 5 * hw::sd_bytes + 512 * 1000;
constexpr u32 pble_count = 1 << 20;

std::map<u32, std::vector<u64>> segments;
u32 segments_allowed = ~0u;

/** Value of PBLE @p index as the device finds it. */
u64 device_reads(u64 index)
{
	u64 fpm = pble_base + index * hw::pble_bytes;
	auto segment = segments.find(static_cast<u32>(fpm / hw::sd_bytes));

	CHECK(segment != segments.end());
	return segment->second[fpm % hw::sd_bytes / hw::pble_bytes];
}

/** Address of page @p i of a list as the device finds it. */
u64 device_finds(const PbleList &list, u64 i)
{
	if (list.level() == hw::PblLevel::one)
		return device_reads(list.first() + i);
	return device_reads(device_reads(list.first() + i / 512) + i % 512);
}

} // namespace

Hmc::Hmc(Device &device) : device_(device)
{
	object(hw::HmcObject::pble) = {pble_count, pble_count, hw::pble_bytes, 0, pble_base};
}

Hmc::~Hmc() = default;

Result<u8 *> Hmc::back_segment(u32 sd)
{
	if (segments.size() >= segments_allowed)
		return Error::no_memory;
	auto [segment, is_new] = segments.emplace(sd, hw::sd_bytes / hw::pble_bytes);
	CHECK(is_new);
	return reinterpret_cast<u8 *>(segment->second.data());
}

namespace {

/** A pool with nothing in it; all is given back at the end. */
struct Fixture {
	Fixture()
	{
		segments.clear();
		segments_allowed = ~0u;
		CHECK(pool.create().ok());
	}
	~Fixture()
	{
		CHECK(!pool.used());
		pool.destroy();
		CHECK(!shim_warnings);
	}

	Hmc hmc{*reinterpret_cast<Device *>(8)};
	PblePool pool{hmc};
};

/** Fill a list with pages that nobody else has, and look at it as the device does. */
void fill_and_check(PbleList &list, u64 pages, u64 mark)
{
	u64 room = 0;
	hw::Le64 *entry = nullptr;

	for (u64 i = 0; i < pages; i++, room--, entry++) {
		if (!room)
			entry = list.entry(i, room);
		CHECK(room);
		entry->set(mark + i);
	}
	for (u64 i = 0; i < pages; i++) {
		CHECK(list.page(i) == mark + i);
		CHECK(device_finds(list, i) == mark + i);
	}
}

void lists_of_all_lengths()
{
	const u64 lengths[] = {1,    2,	    7,	    8,	    9,	    511,    512,    513,   1024,
			       5000, 65536, 131071, 131072, 262143, 262144, 262145, 600000};
	Fixture f;

	for (u64 pages : lengths) {
		auto list = f.pool.alloc_list(pages);

		CHECK(list.ok());
		CHECK((list.value().level() == hw::PblLevel::two) == (pages > 262144));
		fill_and_check(list.value(), pages, pages << 32);
	}
	CHECK(!f.pool.alloc_list(0).ok());
	CHECK(!f.pool.alloc(0).ok());
	CHECK(!f.pool.alloc(PblePool::max_run + 1).ok());
	CHECK(f.pool.alloc(PblePool::max_run).ok());
}

/* With a short run in every word nothing longer than a word is side by side. */
void two_levels_where_one_does_not_fit()
{
	Fixture f;
	std::vector<PbleRun> runs;

	for (;;) {
		auto run = f.pool.alloc(512);
		if (!run.ok())
			break;
		runs.push_back(run.take());
	}
	u64 words = runs.size();
	CHECK(f.pool.used() == words * 512 && words > pble_count / 512 - 2);
	for (u64 i = 0; i < words; i += 2)
		runs[i] = PbleRun();

	CHECK(f.pool.alloc_run(513).status().is(Error::no_memory));
	auto list = f.pool.alloc_list(513);
	CHECK(list.ok() && list.value().level() == hw::PblLevel::two);
	fill_and_check(list.value(), 513, 1 << 20);

	auto large = f.pool.alloc_list(512 * 512);
	CHECK(large.ok() && large.value().level() == hw::PblLevel::two);
	fill_and_check(large.value(), 512 * 512, 1ULL << 40);
	fill_and_check(list.value(), 513, 1 << 20);
}

void exhaustion()
{
	Fixture f;
	u64 before = f.pool.backed_bytes();

	/* What can never be adds no segments. */
	CHECK(f.pool.alloc_list(pble_count + 1).status().is(Error::no_memory));
	CHECK(f.pool.backed_bytes() == before);

	auto most = f.pool.alloc_list(pble_count - 4096);
	CHECK(most.ok());
	CHECK(f.pool.alloc_list(4096).status().is(Error::no_memory));
	CHECK(f.pool.alloc_list(600).ok());
	most.value() = PbleList();
	CHECK(f.pool.alloc_list(4096).ok());
}

/* A segment that is not to be had, or no memory for the leaves. */
void memory_runs_out()
{
	Fixture f;

	segments_allowed = static_cast<u32>(segments.size());
	CHECK(f.pool.alloc(PblePool::max_run).status().is(Error::no_memory));
	CHECK(f.pool.alloc(100).ok());
	segments_allowed = ~0u;
	for (long left = 0; left < 3; left++) {
		shim_allocations_left = left;
		CHECK(f.pool.alloc_list(300000).status().is(Error::no_memory));
		shim_allocations_left = -1;
		CHECK(!f.pool.used());
	}
	CHECK(f.pool.alloc_list(300000).ok());
}

/* Whoever comes after the pool has gone must do no harm. */
void late_owners()
{
	Hmc hmc{*reinterpret_cast<Device *>(8)};
	PblePool pool{hmc};

	segments.clear();
	CHECK(pool.create().ok());
	auto list = pool.alloc_list(1000);
	CHECK(list.ok());
	auto buried = pool.alloc_list(2000);
	CHECK(buried.ok());
	buried.value().abandon();
	pool.destroy();
}

/**
 * Random lengths, most of them short, at the edge of what the pool has: how full it is when it
 * refuses something.
 */
void churn(u64 seed, unsigned cycles)
{
	struct Held {
		PbleList list;
		u64 pages, mark;
	};
	Fixture f;
	std::mt19937_64 dice(seed);
	std::vector<Held> held;
	double emptiest = 1;
	u64 refusals = 0, two_levels = 0, wanted = 0;

	for (unsigned i = 0; i < cycles; i++) {
		u64 pages = 1 + static_cast<u64>(std::exp2(std::uniform_real_distribution(
					0.0, i % 100 ? 10.0 : 16.0)(dice)));
		auto list = f.pool.alloc_list(pages);

		if (list.ok()) {
			u64 room;

			/* Only the ends are marked: filling all of a million lists takes too long. */
			list.value().entry(0, room)->set(i);
			list.value().entry(pages - 1, room)->set(~u64{i});
			two_levels += list.value().level() == hw::PblLevel::two;
			wanted += pages;
			held.push_back({list.take(), pages, i});
			continue;
		}
		refusals++;
		emptiest = min(emptiest, static_cast<double>(wanted + pages) / pble_count);
		for (unsigned n = 0; n < 20 && !held.empty(); n++) {
			Held &victim = held[dice() % held.size()];

			if (victim.pages > 1) {
				CHECK(device_finds(victim.list, 0) == victim.mark);
				CHECK(device_finds(victim.list, victim.pages - 1) == ~victim.mark);
			}
			wanted -= victim.pages;
			victim.list = PbleList();
			std::swap(victim, held.back());
			held.pop_back();
		}
	}
	held.clear();
	std::printf("seed %llu: %llu of %u refused, at %.1f %% or more; %llu of two levels\n", seed,
		    refusals, cycles, 100 * emptiest, two_levels);
	CHECK(refusals && two_levels);
	CHECK(emptiest > 0.8);
	CHECK(!f.pool.used());
	/* And it is one piece again. */
	CHECK(f.pool.alloc(PblePool::max_run).ok());
	CHECK(f.pool.alloc_list(pble_count - 4096).ok());
}

} // namespace

/** pble-pool [SEED [CYCLES]] */
int main(int argc, char **argv)
{
	u64 seed = argc > 1 ? std::strtoull(argv[1], nullptr, 0) : 1;
	unsigned cycles = argc > 2 ? static_cast<unsigned>(std::atoi(argv[2])) : 1000000;

	lists_of_all_lengths();
	two_levels_where_one_does_not_fit();
	exhaustion();
	memory_runs_out();
	late_owners();
	churn(seed, cycles);
	CHECK(!shim_allocations && !shim_warnings);
	std::printf("pble-pool: PASS\n");
}
