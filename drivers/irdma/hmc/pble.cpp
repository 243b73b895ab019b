// SPDX-License-Identifier: GPL-2.0
/*
 * PBLE pool; see pble.h.
 *
 * The pool has the PBLEs of the segments that it has backed so far. In each
 * segment a bit map tells which granules are taken; a granule is 8 PBLEs, the
 * bytes of a cache line, and a word of the map is 512 PBLEs, a leaf.
 *
 *	word   | 1111111111111111 | 1110001100000000 | 0000000000000000 |
 *	        part of a long run   short runs         free: a leaf fits
 *
 * Against fragmentation short runs share words: one goes into the first gap of a
 * word in use that is long enough, and only else into a free word. Runs of more
 * than a word begin at free words, and if there are not enough of them side by
 * side, a list of two levels takes them one by one.
 */
#include "pble.h"

#include "hmc.h"
#include "../hw/hmc.h"
#include "../hw/limits.h"

namespace irdma {

namespace {

constexpr u32 granule = 8;
constexpr u32 word_bits = 64;
constexpr u32 word_pbles = granule * word_bits;
constexpr u32 words_per_segment = PblePool::max_run / word_pbles;
constexpr u32 none = ~0u;
/* What a list of two levels can have if its root is as long as a run can be. */
constexpr u64 max_pages = u64{PblePool::max_run} * PbleList::leaf_pages;

static_assert(word_pbles == PbleList::leaf_pages);
static_assert(word_pbles * hw::pble_bytes == hw::page_size);
static_assert(u64{PblePool::max_run} * hw::pble_bytes == hw::sd_bytes);

constexpr u32 granules_of(u32 pbles)
{
	return static_cast<u32>(div_round_up(pbles, granule));
}

/** Where the first @wanted ones side by side are in @bits; word_bits if nowhere. */
constexpr u32 find_ones(u64 bits, u32 wanted)
{
	for (u32 have = 1; have < wanted && bits;) {
		u32 step = min(have, wanted - have);

		bits &= bits >> step;
		have += step;
	}
	return bits ? static_cast<u32>(__builtin_ctzll(bits)) : word_bits;
}

} // namespace

/** The PBLEs in one segment of the HMC. Places in it are counted in granules. */
struct PblePool::Segment {
	u32 first = 0; /**< index of its first PBLE */
	u32 words = 0;
	u32 free_words = 0;
	u32 used = 0; /**< granules */
	hw::Le64 *entries = nullptr;
	u64 taken[words_per_segment] = {};

	u32 granules() const { return words * word_bits; }

	/** A gap in a word that is in use; none if there is none. */
	u32 find_in_used_words(u32 wanted) const
	{
		if (wanted >= word_bits || granules() - used - free_words * word_bits < wanted)
			return none;
		for (u32 w = 0; w < words; w++) {
			u32 at = taken[w] ? find_ones(~taken[w], wanted) : word_bits;

			if (at < word_bits)
				return w * word_bits + at;
		}
		return none;
	}

	/** Free words side by side; none if there are not as many. */
	u32 find_free_words(u32 wanted) const
	{
		u32 wanted_words = static_cast<u32>(div_round_up(wanted, word_bits)), run = 0;

		if (free_words < wanted_words)
			return none;
		for (u32 w = 0; w < words; w++) {
			run = taken[w] ? 0 : run + 1;
			if (run == wanted_words)
				return (w + 1 - run) * word_bits;
		}
		return none;
	}

	u32 longest_free_words() const
	{
		u32 longest = 0, run = 0;

		for (u32 w = 0; w < words; w++) {
			run = taken[w] ? 0 : run + 1;
			longest = max(longest, run);
		}
		return longest;
	}

	void mark(u32 at, u32 count, bool now_taken)
	{
		used += now_taken ? count : -count;
		while (count) {
			u64 &word = taken[at / word_bits];
			u32 part = min(count, word_bits - at % word_bits);
			u64 bits = (part == word_bits ? ~0ULL : (1ULL << part) - 1)
				   << at % word_bits;
			bool was_free = !word;

			word = now_taken ? word | bits : word & ~bits;
			free_words += !word;
			free_words -= was_free;
			at += part;
			count -= part;
		}
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

/* ---- Runs and lists ---- */

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

PbleList &PbleList::operator=(PbleList &&other)
{
	if (this != &other) {
		reset();
		root_ = move(other.root_);
		leaves_ = move(other.leaves_);
	}
	return *this;
}

void PbleList::reset()
{
	root_ = PbleRun();
	for (usize i = 0; i < leaves_.count(); i++)
		leaves_[i] = PbleRun();
	leaves_ = Array<PbleRun>();
}

void PbleList::abandon()
{
	root_.abandon();
	for (usize i = 0; i < leaves_.count(); i++)
		leaves_[i].abandon();
}

hw::Le64 *PbleList::entry(u64 i, u64 &room) const
{
	bool two = leaves_.count();
	const PbleRun &run = two ? leaves_[i / leaf_pages] : root_;
	u64 at = two ? i % leaf_pages : i;

	room = run.count() - at;
	return run.entries() + at;
}

/* ---- The pool ---- */

PblePool::PblePool(Hmc &hmc) : hmc_(hmc) {}
PblePool::~PblePool() = default;

Status PblePool::create()
{
	u64 base = hmc_.base(hw::HmcObject::pble);
	u64 end = base + static_cast<u64>(hmc_.count(hw::HmcObject::pble)) * hw::pble_bytes;
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
	state_ = Owner<State>();
}

u64 PblePool::used()
{
	MutexGuard guard(state_->mutex);
	u64 granules = 0;

	for (u32 i = 0; i < state_->count; i++)
		granules += state_->segments[i]->used;
	return granules * granule;
}

u64 PblePool::backed_bytes()
{
	MutexGuard guard(state_->mutex);
	u64 words = 0;

	for (u32 i = 0; i < state_->count; i++)
		words += state_->segments[i]->words;
	return words * word_pbles * hw::pble_bytes;
}

void PblePool::show(shim_text *text)
{
	MutexGuard guard(state_->mutex);

	shim_print(text, "%-8s %10s %8s %8s %12s\n", "segment", "first", "entries", "used",
		   "longest_free");
	for (u32 i = 0; i < state_->count; i++) {
		const Segment &segment = *state_->segments[i];

		shim_print(text, "%-8u %10u %8u %8u %12u\n", i, segment.first,
			   segment.granules() * granule, segment.used * granule,
			   segment.longest_free_words() * word_pbles);
	}
	shim_print(text, "not_backed %llu\n",
		   (state_->end_fpm - state_->next_fpm) / hw::pble_bytes);
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
	auto memory = hmc_.back_segment(sd);
	IRDMA_TRY(memory);
	segment->first =
		static_cast<u32>((s.next_fpm - hmc_.base(hw::HmcObject::pble)) / hw::pble_bytes);
	segment->words = static_cast<u32>((end - s.next_fpm) / hw::page_size);
	segment->free_words = segment->words;
	segment->entries = reinterpret_cast<hw::Le64 *>(memory.value() + s.next_fpm % hw::sd_bytes);
	s.segments[s.count++] = segment.release();
	s.next_fpm = end;
	return {};
}

/** Whether so many could be free, once all segments are there: else none need be added. */
bool PblePool::can_hold(u64 count) const
{
	u64 pbles = (state_->end_fpm - state_->next_fpm) / hw::pble_bytes;

	for (u32 i = 0; i < state_->count; i++)
		pbles += u64{state_->segments[i]->granules() - state_->segments[i]->used} * granule;
	return count <= pbles;
}

/* The mutex is held, as for all below. */
bool PblePool::find_run(u32 count, PbleRun &run)
{
	u32 wanted = granules_of(count);
	Segment *segment = nullptr;
	u32 at = none;

	for (u32 i = 0; i < state_->count && at == none; i++) {
		segment = state_->segments[i];
		at = segment->find_in_used_words(wanted);
	}
	for (u32 i = 0; i < state_->count && at == none; i++) {
		segment = state_->segments[i];
		at = segment->find_free_words(wanted);
	}
	if (at == none)
		return false;
	segment->mark(at, wanted, true);
	run.pool_ = this;
	run.first_ = segment->first + at * granule;
	run.count_ = count;
	run.entries_ = segment->entries + at * granule;
	return true;
}

bool PblePool::find_two_levels(u64 pages, PbleList &list)
{
	u32 leaves = static_cast<u32>(div_round_up(pages, PbleList::leaf_pages)), found = 0;
	auto runs = Array<PbleRun>::create(leaves);
	PbleRun root;

	if (!runs.ok() || !find_run(leaves, root))
		return false;
	for (u64 left = pages; found < leaves; found++) {
		u32 part = static_cast<u32>(min<u64>(left, PbleList::leaf_pages));

		if (!find_run(part, runs.value()[found]))
			break;
		root.entries()[found].set(runs.value()[found].first());
		left -= part;
	}
	if (found < leaves) {
		while (found)
			put(runs.value()[--found]);
		put(root);
		return false;
	}
	list.root_ = move(root);
	list.leaves_ = runs.take();
	return true;
}

Result<PbleRun> PblePool::alloc(u32 count)
{
	if (!count || count > max_run)
		return Error::no_memory;

	MutexGuard guard(state_->mutex);
	PbleRun run;

	while (!find_run(count, run))
		IRDMA_TRY(can_hold(count) ? grow() : Status(Error::no_memory));
	return move(run);
}

Result<PbleList> PblePool::alloc_run(u32 pages)
{
	auto run = alloc(pages);
	PbleList list;

	IRDMA_TRY(run);
	list.root_ = run.take();
	return move(list);
}

Result<PbleList> PblePool::alloc_list(u64 pages)
{
	if (!pages || pages > max_pages)
		return Error::no_memory;

	MutexGuard guard(state_->mutex);
	PbleList list;

	for (;;) {
		if (pages <= max_run && find_run(static_cast<u32>(pages), list.root_))
			return move(list);
		if (pages > PbleList::leaf_pages && find_two_levels(pages, list))
			return move(list);
		IRDMA_TRY(can_hold(pages) ? grow() : Status(Error::no_memory));
	}
}

void PblePool::free(u32 first, u32 count)
{
	if (!state_)
		return; /* the pool is gone, and all runs with it */

	MutexGuard guard(state_->mutex);

	put(first, count);
}

void PblePool::put(PbleRun &run)
{
	put(run.first_, run.count_);
	run.abandon();
}

void PblePool::put(u32 first, u32 count)
{
	for (u32 i = 0; i < state_->count; i++) {
		Segment &segment = *state_->segments[i];
		u32 at = first - segment.first;

		if (first < segment.first || at >= segment.granules() * granule)
			continue;
		segment.mark(at / granule, granules_of(count), false);
		return;
	}
	shim_warn_once("irdma: a page list is given back that is nobody's");
}

} // namespace irdma
