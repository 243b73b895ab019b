// SPDX-License-Identifier: GPL-2.0
/*
 * The rings of a kernel QP: work requests as the device reads them, and what
 * the host remembers of each until it is completed.
 *
 *	SQ, in quanta of 32 bytes                        one lap = size quanta
 *	+--------+--------------+----------+-----+----------+ ... +--------+
 *	| done   | outstanding requests    | NOP | request  | cleared ahead |
 *	+--------+--------------+----------+-----+----------+ ... +--------+
 *	         ^ tail (who polls)                         ^ head (who posts)
 *
 * Those who post hold the queue's lock, those who complete hold the lock of the
 * CQ; neither waits for the other: head and tail each have one writer. They
 * count on and are cut to the ring's size when used, so full and empty differ.
 *
 * The valid bit of a request is the opposite of what the last lap left there;
 * it stands in the header, which is written last, and in each fragment.
 * The device may read ahead of the head, so 128 quanta ahead of it are filled
 * with the opposite polarity, which is why 258 quanta stay unused.
 */
#ifndef IRDMA_VERBS_WORK_QUEUE_H
#define IRDMA_VERBS_WORK_QUEUE_H

#include "../base/atomic.h"
#include "../base/memory.h"
#include "../base/result.h"
#include "../hw/cqe.h"
#include "../hw/limits.h"
#include "../hw/wqe.h"
#include "kernel_ring.h"
#include "work_request.h"

namespace irdma {

/** What is remembered of a request in the SQ, at the index of its first quantum. */
struct SendEntry {
	u64 wr_id;
	u32 length;  /**< bytes of payload */
	hw::SqOp op; /**< nop: filler, not a request */
	u8 quanta;   /**< 0: not the first quantum of anything */
};

/** Quanta of a request with @fragments; immediate data counts as one. */
constexpr u32 fragment_quanta(u32 fragments)
{
	return fragments <= 1 ? 1 : 1 + fragments / 2;
}

/** Quanta of a request with @bytes of inline data. */
constexpr u32 inline_quanta(u32 bytes)
{
	return bytes <= hw::inline_first_bytes
		       ? 1
		       : 1 + static_cast<u32>(div_round_up(bytes - hw::inline_first_bytes,
							   hw::inline_quantum_bytes));
}

/* Fragment @i of a request: 0 in words 0 and 1, the others from byte 32 on, two a quantum. */
inline hw::Le64 *fragment_words(hw::Quantum *wqe, u32 i)
{
	return i ? wqe[1 + (i - 1) / 2].qw + 2 * ((i - 1) % 2) : wqe[0].qw;
}

inline void write_fragment(hw::Le64 *words, const shim_sge &sge, bool valid)
{
	words[0].set(sge.addr);
	words[1].set(hw::fragment::stag.put(sge.lkey) | hw::fragment::length.put(sge.length) |
		     hw::fragment::valid.put(valid));
}

/** write_fragments() of none or of several, or after immediate data. */
u32 write_more_fragments(hw::Quantum *wqe, const shim_sge *sge, u32 count, bool with_imm,
			 bool valid);

/**
 * Write the fragments of a request: @sge[0..@count), after the immediate data if @with_imm.
 *
 * Return: number of fragments beyond the first, for the header.
 */
inline u32 write_fragments(hw::Quantum *wqe, const shim_sge *sge, u32 count, bool with_imm,
			   bool valid)
{
	if (count != 1 || with_imm)
		return write_more_fragments(wqe, sge, count, with_imm, valid);
	write_fragment(fragment_words(wqe, 0), *sge, valid);
	return 0;
}

/** Copy inline data from the kernel's addresses in @sge[0..@count) into a request. */
void write_inline(hw::Quantum *wqe, const shim_sge *sge, u32 count, bool valid);

/** The send queue of a kernel QP. */
class SendQueue {
public:
	/** @quanta: size of the ring, a power of two. May sleep. */
	Status create(RingView<hw::Quantum> ring, const hw::QpShadow &shadow, u32 quanta);
	/** Back to an empty ring at index 0, for a device that starts there too. */
	void rewind();

	/** Room for one request in the ring. */
	struct Place {
		hw::Quantum *wqe; /**< nullptr: there is no room */
		u32 position;	  /**< to be given back to finish() */
		bool valid;	  /**< polarity */
	};
	/** Find room for @quanta, with fillers before it if need be. Queue's lock held. */
	Place begin(u32 quanta);
	/** All words but the header are written: hand the request to the device. */
	void finish(const Place &place, u64 header, const SendEntry &entry);
	/** Remember a request for a device that will not look at it any more. False: no room. */
	bool record(const SendEntry &entry);
	/** Whether the device must be told of what was posted since the last call. */
	bool needs_doorbell();

	/**
	 * The request that begins at quantum @index has ended, and so have all before it. CQ's
	 * lock held. False: no such request is outstanding.
	 */
	bool complete(u32 index, SendEntry &entry);
	/** The oldest outstanding request has ended. CQ's lock held. False: there is none. */
	bool take_oldest(SendEntry &entry);
	bool outstanding() const { return head_.load() != tail_.load(); }

private:
	u32 index(u32 position) const { return position & (size_ - 1); }
	bool valid(u32 position) const { return !(position & size_); }
	static constexpr u32 clear_ahead_quanta = 128;

	bool has_room(u32 quanta) const;
	void clear_ahead(u32 position);
	/* They do not cross a multiple of sq_chunk_quanta. */
	void fill_with_nops(u32 position, u32 count);

	RingView<hw::Quantum> ring_;
	const hw::QpShadow *shadow_ = nullptr;
	Array<SendEntry> entries_;
	u32 size_ = 0;
	u32 announced_ = 0; /**< head when the doorbell was last considered */
	Atomic<u32> head_{0}, tail_{0};
};

/** What is remembered of a receive request. */
struct ReceiveEntry {
	u64 wr_id;
	u64 length; /**< bytes of buffer */
};

/** The receive queue of a kernel QP. Requests have a fixed size; the device has no doorbell for it. */
class ReceiveQueue {
public:
	/** @quanta: size of the ring, @shift: log2 of quanta a request. May sleep. */
	Status create(RingView<hw::Quantum> ring, u32 quanta, u32 shift);
	void rewind();

	/** Queue's lock held. False: no room. @sge has no more than the QP's max_recv_sge. */
	bool post(u64 wr_id, const shim_sge *sge, u32 count);

	/**
	 * The request that begins at quantum @index, the oldest, has ended. CQ's lock held.
	 * False: it is not the oldest outstanding one.
	 */
	bool complete(u32 index, ReceiveEntry &entry);
	/** The oldest outstanding request has ended. CQ's lock held. False: there is none. */
	bool take_oldest(ReceiveEntry &entry);
	bool outstanding() const { return head_.load() != tail_.load(); }

private:
	RingView<hw::Quantum> ring_;
	Array<ReceiveEntry> entries_;
	u32 size_ = 0; /**< requests */
	u32 shift_ = 0;
	Atomic<u32> head_{0}, tail_{0};
};

/* ---- What each request passes through ---- */

inline bool SendQueue::has_room(u32 quanta) const
{
	u32 used = head_.load() - tail_.load();

	return used + quanta <= size_ - (hw::sq_reserved_quanta - 1);
}

/*
 * At each multiple of 128 quanta, fill the next 128 with what the device takes for the lap
 * before. Requests never cross such a multiple, so one begins at each.
 */
inline void SendQueue::clear_ahead(u32 position)
{
	u32 ahead = position + clear_ahead_quanta;

	if (position % clear_ahead_quanta)
		return;
	shim_memset(&ring_[index(ahead)], valid(ahead) ? 0 : 0xff,
		    clear_ahead_quanta * hw::quantum_bytes);
}

/* Inlined by force: else a place is packed into registers and unpacked again. */
[[gnu::always_inline]] inline SendQueue::Place SendQueue::begin(u32 quanta)
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
 * CPU at once. A request with a place does not cross the end of the ring.
 */
inline void SendQueue::finish(const Place &place, u64 header, const SendEntry &entry)
{
	SendEntry *at = &entries_[index(place.position)];
	u32 quanta = entry.quanta;

	*at = entry;
	for (u32 i = 1; i < quanta; i++)
		at[i].quanta = 0;
	head_.store(place.position + quanta);
	dma_write_barrier();
	place.wqe->qw[3].write_once(header | hw::sq::valid.put(place.valid));
}

/*
 * The device writes where in the ring it has stopped to the shadow area, and looks at that
 * request once more. A doorbell is needed if that place is among what was posted since.
 */
inline bool SendQueue::needs_doorbell()
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

inline bool ReceiveQueue::post(u64 wr_id, const shim_sge *sge, u32 count)
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

} // namespace irdma

#endif
