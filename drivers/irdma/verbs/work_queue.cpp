// SPDX-License-Identifier: GPL-2.0
/* The rings of a kernel QP; see work_queue.h. */
#include "work_queue.h"

#include "kernel.h"

namespace irdma {

u32 write_more_fragments(hw::Quantum *wqe, const shim_sge *sge, u32 count, bool with_imm,
			 bool valid)
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

/* A few bytes: a call of memcpy() would take longer. The last word overlaps the one before. */
static void copy_inline(u8 *to, const u8 *from, u32 bytes)
{
	constexpr u32 word = sizeof(u64);

	if (bytes < word) {
		while (bytes--)
			*to++ = *from++;
		return;
	}
	for (u32 at = 0; at < bytes - word; at += word)
		__builtin_memcpy(to + at, from + at, word);
	__builtin_memcpy(to + bytes - word, from + bytes - word, word);
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
			copy_inline(to, from, bytes);
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

void SendQueue::fill_with_nops(u32 position, u32 count)
{
	constexpr SendEntry filler = {.wr_id = 0, .length = 0, .op = hw::SqOp::nop, .quanta = 1};
	hw::Quantum *nop = &ring_[index(position)];
	SendEntry *entry = &entries_[index(position)];
	u64 header = hw::sq::opcode.put(static_cast<u64>(hw::SqOp::nop)) |
		     hw::sq::valid.put(valid(position));

	for (u32 i = 0; i < count; i++, nop++) {
		*entry++ = filler;
		for (u32 word = 0; word < 3; word++)
			nop->qw[word].set(0);
		dma_write_barrier();
		nop->qw[3].write_once(header);
	}
}

bool SendQueue::record(const SendEntry &entry)
{
	u32 head = head_.load();

	if (!has_room(entry.quanta))
		return false;
	/* It may cross the end of the ring. */
	for (u32 i = 1; i < entry.quanta; i++)
		entries_[index(head + i)].quanta = 0;
	entries_[index(head)] = entry;
	head_.store(head + entry.quanta);
	return true;
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
