// SPDX-License-Identifier: GPL-2.0
/* The rings of a kernel QP; see work_queue.h. */
#include "work_queue.h"

#include "kernel.h"

namespace irdma {

namespace {

constexpr u32 clear_ahead_quanta = 128;

/* Fragment @i of a request: 0 in words 0 and 1, the others from byte 32 on, two a quantum. */
hw::Le64 *fragment_words(hw::Quantum *wqe, u32 i)
{
	return i ? wqe[1 + (i - 1) / 2].qw + 2 * ((i - 1) % 2) : wqe[0].qw;
}

void write_fragment(hw::Le64 *words, const shim_sge &sge, bool valid)
{
	words[0].set(sge.addr);
	words[1].set(hw::fragment::stag.put(sge.lkey) | hw::fragment::length.put(sge.length) |
		     hw::fragment::valid.put(valid));
}

} // namespace

u32 write_fragments(hw::Quantum *wqe, const shim_sge *sge, u32 count, bool with_imm, bool valid)
{
	constexpr shim_sge nothing = {};
	u32 next = with_imm;

	for (u32 i = 0; i < count; i++)
		write_fragment(fragment_words(wqe, next++), sge[i], valid);
	if (!next)
		write_fragment(fragment_words(wqe, next++), nothing, valid);
	/* The device reads fragments beyond the first in pairs. */
	if (next % 2 == 0)
		write_fragment(fragment_words(wqe, next++), nothing, valid);
	return next - 1;
}

/* Data skips words 2 and 3 of the first quantum, and the last byte of all others. */
void write_inline(hw::Quantum *wqe, const shim_sge *sge, u32 count, bool valid)
{
	u8 *const base = reinterpret_cast<u8 *>(wqe);
	const u8 mark = valid ? hw::inline_valid : 0;
	u8 *to = base + 8;
	u32 room = hw::inline_first_bytes;
	bool first = true;

	for (u32 i = 0; i < count; i++) {
		const u8 *from = reinterpret_cast<const u8 *>(sge[i].addr);
		u32 left = sge[i].length;

		while (left) {
			u32 bytes;

			if (!room) {
				to = first ? base + hw::quantum_bytes : to + 1;
				first = false;
				room = hw::inline_quantum_bytes;
				to[room] = mark;
			}
			bytes = min(left, room);
			shim_memcpy(to, from, bytes);
			to += bytes;
			from += bytes;
			left -= bytes;
			room -= bytes;
		}
	}
}

Status SendQueue::create(RingView<hw::Quantum> ring, const hw::QpShadow &shadow, u32 quanta)
{
	auto entries = Array<SendEntry>::create(quanta);

	IRDMA_TRY(entries);
	entries_ = entries.take();
	ring_ = ring;
	shadow_ = &shadow;
	size_ = quanta;
	return {};
}

void SendQueue::rewind()
{
	ring_.clear(size_);
	announced_ = 0;
	head_.store(0);
	tail_.store(0);
}

bool SendQueue::has_room(u32 quanta) const
{
	u32 used = head_.load() - tail_.load();

	return used + quanta <= size_ - (hw::sq_reserved_quanta - 1);
}

/*
 * At each multiple of 128 quanta, fill the next 128 with what the device takes for the lap
 * before. Requests never cross such a multiple, so one begins at each.
 */
void SendQueue::clear_ahead(u32 position)
{
	u32 ahead = position + clear_ahead_quanta;

	if (position % clear_ahead_quanta)
		return;
	shim_memset(&ring_[index(ahead)], valid(ahead) ? 0 : 0xff,
		    clear_ahead_quanta * hw::quantum_bytes);
}

void SendQueue::remember(u32 position, const SendEntry &entry)
{
	entries_[index(position)] = entry;
	for (u32 i = 1; i < entry.quanta; i++)
		entries_[index(position + i)].quanta = 0;
}

void SendQueue::fill_with_nops(u32 position, u32 count)
{
	constexpr SendEntry filler = {.wr_id = 0, .length = 0, .op = hw::SqOp::nop, .quanta = 1};

	for (u32 i = 0; i < count; i++) {
		hw::Quantum &nop = ring_[index(position + i)];

		remember(position + i, filler);
		for (u32 word = 0; word < 3; word++)
			nop.qw[word].set(0);
		dma_write_barrier();
		nop.qw[3].write_once(hw::sq::opcode.put(static_cast<u64>(hw::SqOp::nop)) |
				     hw::sq::valid.put(valid(position + i)));
	}
}

SendQueue::Place SendQueue::begin(u32 quanta)
{
	u32 head = head_.load();
	u32 left = hw::sq_chunk_quanta - head % hw::sq_chunk_quanta;
	u32 filler = quanta > left ? left : 0;

	if (!has_room(filler + quanta))
		return {nullptr, 0, false};
	if (filler) {
		fill_with_nops(head, filler);
		head += filler;
		head_.store(head);
	}
	clear_ahead(head);
	return {&ring_[index(head)], head, valid(head)};
}

/*
 * The head moves before the device can see the request: its completion may be polled on another
 * CPU at once.
 */
void SendQueue::finish(const Place &place, u64 header, const SendEntry &entry)
{
	remember(place.position, entry);
	head_.store(place.position + entry.quanta);
	dma_write_barrier();
	place.wqe->qw[3].write_once(header | hw::sq::valid.put(place.valid));
}

bool SendQueue::record(const SendEntry &entry)
{
	u32 head = head_.load();

	if (!has_room(entry.quanta))
		return false;
	remember(head, entry);
	head_.store(head + entry.quanta);
	return true;
}

/*
 * The device writes where in the ring it has stopped to the shadow area, and looks at that
 * request once more. A doorbell is needed if that place is among what was posted since.
 */
bool SendQueue::needs_doorbell()
{
	u32 head = head_.load();
	u32 posted = head - announced_;
	u32 stopped;

	if (!posted)
		return false;
	full_barrier(); /* the requests are visible before the shadow is read */
	stopped = static_cast<u32>(hw::qp_shadow::sq_tail.take(shadow_->qw[0].read_once()));
	stopped = index(stopped - announced_);
	announced_ = head;
	return stopped < posted;
}

bool SendQueue::complete(u32 at, SendEntry &entry)
{
	u32 tail = tail_.load();
	u32 distance = index(at - tail);

	if (at >= size_ || distance >= head_.load() - tail)
		return false;
	entry = entries_[at];
	if (!entry.quanta || entry.op == hw::SqOp::nop)
		return false;
	tail_.store(tail + distance + entry.quanta);
	return true;
}

bool SendQueue::take_oldest(SendEntry &entry)
{
	u32 head = head_.load();
	u32 tail = tail_.load();

	while (tail != head) {
		entry = entries_[index(tail)];
		tail += max<u32>(entry.quanta, 1);
		if (entry.op == hw::SqOp::nop)
			continue;
		tail_.store(tail);
		return true;
	}
	return false;
}

Status ReceiveQueue::create(RingView<hw::Quantum> ring, u32 quanta, u32 shift)
{
	auto entries = Array<ReceiveEntry>::create(quanta >> shift);

	IRDMA_TRY(entries);
	entries_ = entries.take();
	ring_ = ring;
	size_ = quanta >> shift;
	shift_ = shift;
	return {};
}

void ReceiveQueue::rewind()
{
	ring_.clear(size_ << shift_);
	head_.store(0);
	tail_.store(0);
}

bool ReceiveQueue::post(u64 wr_id, const shim_sge *sge, u32 count)
{
	u32 head = head_.load();
	u32 at = head & (size_ - 1);
	bool valid = !(head & size_);
	hw::Quantum *wqe = &ring_[at << shift_];
	u64 length = 0, header;

	if (head - tail_.load() >= size_ - 1)
		return false;
	for (u32 i = 0; i < count; i++)
		length += sge[i].length;
	header = hw::rq::more_fragments.put(write_fragments(wqe, sge, count, false, valid)) |
		 hw::rq::valid.put(valid);
	wqe->qw[2].set(0);
	entries_[at] = {.wr_id = wr_id, .length = length};
	head_.store(head + 1);
	dma_write_barrier();
	wqe->qw[3].write_once(header);
	return true;
}

bool ReceiveQueue::complete(u32 at, ReceiveEntry &entry)
{
	u32 oldest = tail_.load() & (size_ - 1);

	return at == oldest << shift_ && take_oldest(entry);
}

bool ReceiveQueue::take_oldest(ReceiveEntry &entry)
{
	u32 tail = tail_.load();

	if (tail == head_.load())
		return false;
	entry = entries_[tail & (size_ - 1)];
	tail_.store(tail + 1);
	return true;
}

} // namespace irdma
