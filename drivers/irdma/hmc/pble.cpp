// SPDX-License-Identifier: GPL-2.0
/*
 * PBLE pool; see pble.h.
 *
 * The pool has the PBLEs of the segments that it has backed so far. In each
 * segment a bit map tells which granules are taken; a granule is 8 PBLEs, the
 * bytes of a cache line. A run is the first gap that is long enough, so that
 * neighbours that come back are one gap again without further ado.
 */
#include "pble.h"

#include "../device.h"
#include "../hw/hmc.h"
#include "../hw/limits.h"

namespace irdma {

namespace {

constexpr u32 granule = 8;
constexpr u32 pbles_per_segment = static_cast<u32>(hw::sd_bytes / hw::pble_bytes);
constexpr u32 granules_per_segment = pbles_per_segment / granule;

} // namespace

/** The PBLEs in one segment of the HMC. */
struct PblePool::Segment {
	u32 first = 0;	  /**< index of its first PBLE */
	u32 granules = 0; /**< how many it has */
	u32 used = 0;
	hw::Le64 *entries = nullptr;
	u64 taken[granules_per_segment / 64] = {};

	bool is_taken(u32 at) const { return taken[at / 64] >> (at % 64) & 1; }

	/** The first granule from @at on that is taken or not, as @wanted; granules if there is none. */
	u32 find(u32 at, bool wanted) const
	{
		while (at < granules) {
			u64 word = wanted ? taken[at / 64] : ~taken[at / 64];

			word &= ~0ULL << (at % 64);
			if (word)
				return min(granules,
					   at / 64 * 64 + static_cast<u32>(__builtin_ctzll(word)));
			at = (at / 64 + 1) * 64;
		}
		return granules;
	}

	/** The first gap of @wanted granules; granules if there is none. */
	u32 find_gap(u32 wanted) const
	{
		for (u32 at = find(0, false); at + wanted <= granules;) {
			u32 end = find(at, true);

			if (end - at >= wanted)
				return at;
			at = find(end, false);
		}
		return granules;
	}

	void mark(u32 at, u32 count, bool now_taken)
	{
		for (u32 i = at; i < at + count; i++) {
			u64 bit = 1ULL << (i % 64);

			if (now_taken)
				taken[i / 64] |= bit;
			else
				taken[i / 64] &= ~bit;
		}
		if (now_taken)
			used += count;
		else
			used -= count;
	}
};

struct PblePool::State {
	State() : mutex(SHIM_MUTEX_PBLE) {}
	~State()
	{
		for (u32 i = 0; i < count; i++)
			irdma::destroy(segments[i]);
	}

	Mutex mutex;
	Array<Segment *> segments;
	u32 count = 0;	  /* segments in use */
	u64 next_fpm = 0; /* where the next one begins */
	u64 end_fpm = 0;
};

/* ---- Runs ---- */

PbleRun::PbleRun(PbleRun &&other)
	: pool_(exchange<PblePool *>(other.pool_, nullptr)), first_(other.first_),
	  count_(other.count_), entries_(other.entries_)
{
}

PbleRun &PbleRun::operator=(PbleRun &&other)
{
	if (this != &other) {
		if (pool_)
			pool_->free(first_, count_);
		pool_ = exchange<PblePool *>(other.pool_, nullptr);
		first_ = other.first_;
		count_ = other.count_;
		entries_ = other.entries_;
	}
	return *this;
}

PbleRun::~PbleRun()
{
	if (pool_)
		pool_->free(first_, count_);
}

/* ---- The pool ---- */

PblePool::PblePool(Device &device) : device_(device) {}
PblePool::~PblePool() = default;

Status PblePool::create()
{
	u64 base = device_.hmc.base(hw::HmcObject::pble);
	u64 end = base + static_cast<u64>(device_.hmc.count(hw::HmcObject::pble)) * hw::pble_bytes;
	auto state = make<State>();

	if (!state)
		return Error::no_memory;
	/* Whole pages only, as the stock driver does. */
	state->next_fpm = align_up(base, static_cast<u64>(hw::page_size));
	state->end_fpm = end & ~static_cast<u64>(hw::page_size - 1);
	auto segments = Array<Segment *>::create(end / hw::sd_bytes + 1 - base / hw::sd_bytes);
	IRDMA_TRY(segments);
	state->segments = segments.take();
	state_ = move(state);
	Status grown = grow();
	if (!grown.ok())
		state_ = Owner<State>();
	return grown;
}

void PblePool::destroy()
{
	for (u32 i = 0; i < state_->count; i++)
		if (state_->segments[i]->used)
			shim_log(device_.shim, SHIM_DBG, "page lists are left at the end");
	state_ = Owner<State>();
}

/** Add the PBLEs of one more segment. The mutex is held, or nobody knows the pool yet. */
Status PblePool::grow()
{
	State &s = *state_;

	if (s.next_fpm >= s.end_fpm)
		return Error::no_memory;
	u32 sd = static_cast<u32>(s.next_fpm / hw::sd_bytes);
	u64 end = min(s.end_fpm, (sd + 1) * hw::sd_bytes);
	auto segment = make<Segment>();

	if (!segment)
		return Error::no_memory;
	auto memory = device_.hmc.back_segment(sd);
	IRDMA_TRY(memory);
	segment->first = static_cast<u32>((s.next_fpm - device_.hmc.base(hw::HmcObject::pble)) /
					  hw::pble_bytes);
	segment->granules = static_cast<u32>((end - s.next_fpm) / (granule * hw::pble_bytes));
	segment->entries = reinterpret_cast<hw::Le64 *>(memory.value() + s.next_fpm % hw::sd_bytes);
	s.segments[s.count++] = segment.release();
	s.next_fpm = end;
	return {};
}

Result<PbleRun> PblePool::alloc(u32 count)
{
	if (!count || count > pbles_per_segment)
		return Error::no_memory;

	u32 wanted = static_cast<u32>(div_round_up(count, granule));
	MutexGuard guard(state_->mutex);

	for (u32 i = 0;; i++) {
		if (i == state_->count)
			IRDMA_TRY(grow());
		Segment &segment = *state_->segments[i];

		if (segment.granules - segment.used < wanted)
			continue;
		u32 at = segment.find_gap(wanted);

		if (at == segment.granules)
			continue;
		segment.mark(at, wanted, true);
		PbleRun run;
		run.pool_ = this;
		run.first_ = segment.first + at * granule;
		run.count_ = count;
		run.entries_ = segment.entries + at * granule;
		return move(run);
	}
}

void PblePool::free(u32 first, u32 count)
{
	if (!state_)
		return; /* the pool is gone, and all runs with it */

	MutexGuard guard(state_->mutex);

	for (u32 i = 0; i < state_->count; i++) {
		Segment &segment = *state_->segments[i];
		u32 at = first - segment.first;

		if (first < segment.first || at >= segment.granules * granule)
			continue;
		segment.mark(at / granule, static_cast<u32>(div_round_up(count, granule)), false);
		return;
	}
	shim_warn_once("irdma: a page list is given back that is nobody's");
}

} // namespace irdma
