// SPDX-License-Identifier: GPL-2.0
/*
 * Completion queues of the kernel: reading the ring, and arming. Nothing here
 * sleeps or allocates. What the device writes is checked: an entry whose QP
 * does not exist or uses another CQ is dropped, and the QP checks the rest.
 */
#include "cq.h"

#include "../device.h"
#include "../hw/regs.h"
#include "qp.h"

namespace irdma {

/* ---- The ring ---- */

/*
 * The entry at @at, if it is new in @lap, with the extended one that belongs
 * to it; moves both on. An entry whose extended one is still to come is not
 * yet there.
 */
[[gnu::always_inline]] inline bool Cq::next(u32 &at, bool &lap, Entry &found) const
{
	auto step = [this](u32 &index, bool &valid) {
		if (++index == size_) {
			index = 0;
			valid = !valid;
		}
	};
	auto is_new = [](const hw::Cqe &cqe, bool valid) {
		return hw::cqe::valid.take(cqe.qw[3].read_once()) == valid;
	};
	u32 index = at;
	bool valid = lap;

	found = {&entry(index), nullptr};
	if (!is_new(*found.cqe, valid))
		return false;
	dma_read_barrier();
	step(index, valid);
	if (found.cqe->get(hw::cqe::extended)) {
		found.extended = &entry(index);
		if (!is_new(*found.extended, valid))
			return false;
		dma_read_barrier();
		step(index, valid);
	}
	at = index;
	lap = valid;
	return true;
}

/* The QP of an entry, or nullptr. */
Qp *Cq::user_of(const hw::Cqe &cqe) const
{
	return device_.qps.find(static_cast<u32>(cqe.get(hw::cqe::qp)), number());
}

/* Half of the room is for flushed queues first: neither they nor the others wait for the end of all. */
int Cq::poll(int count, shim_wc *wc)
{
	SpinGuard guard(lock_);
	u32 head = head_;
	bool lap = lap_;
	int polled = flushed_.empty() ? 0 : poll_flushed(count / 2, wc);
	u32 taken = 0;
	Entry found;

	while (polled < count && next(head, lap, found)) {
		Qp *qp = user_of(*found.cqe);

		taken++;
		if (qp && qp->complete(*this, *found.cqe, found.extended, wc[polled]))
			polled++;
	}
	if (taken) {
		head_ = head;
		lap_ = lap;
		taken_ += taken;
		shadow_.as<hw::CqShadow>()->qw[hw::cq_shadow::consumer_index.word].write_once(
			hw::cq_shadow::consumer_index.put(head));
	}
	if (!flushed_.empty())
		polled += poll_flushed(count - polled, wc + polled);
	return polled;
}

/* The number 0 is no QP's. */
void Cq::forget(u32 qp)
{
	SpinGuard guard(lock_);
	u32 at = head_;
	bool lap = lap_;
	Entry found;

	if (user())
		return;
	while (next(at, lap, found))
		if (found.cqe->get(hw::cqe::qp) == qp)
			found.cqe->set(hw::cqe::qp, 0);

	List<FlushedQueue> others;
	while (FlushedQueue *queue = flushed_.pop_front())
		if (queue->qp.number() != qp)
			others.push_back(queue->node);
	while (FlushedQueue *queue = others.pop_front())
		flushed_.push_back(queue->node);
}

/* ---- Flushed queues ---- */

void Cq::add_flushed(FlushedQueue &queue)
{
	u32 at = head_;
	bool lap = lap_;
	Entry found;

	queue.turn = taken_;
	while (next(at, lap, found))
		queue.turn++;
	flushed_.push_back(queue.node);
}

int Cq::poll_flushed(int count, shim_wc *wc)
{
	int polled = 0;

	for (FlushedQueue &queue : flushed_)
		while (polled < count && queue.turn <= taken_ &&
		       queue.qp.take_flushed(queue.is_sq, wc[polled]))
			polled++;
	return polled;
}

bool Cq::has_completions() const
{
	u32 at = head_;
	bool lap = lap_;
	Entry found;

	if (next(at, lap, found))
		return true;
	for (FlushedQueue &queue : flushed_)
		if (queue.qp.has_flushed(queue.is_sq))
			return true;
	return false;
}

/* ---- Arming ---- */

/*
 * The doorbell is written only if it asks for more than the last one did: an
 * event that it asked for and that has not come yet will still come.
 */
int Cq::notify(u32 flags)
{
	SpinGuard guard(lock_);
	bool any = flags & SHIM_CQ_NEXT_COMP;
	u32 wanted = any ? for_any : for_solicited;

	if (user())
		return 0;
	if (armed_.load() < wanted) {
		armed_.store(wanted);
		arm_sequence_++;
		shadow_.as<hw::CqShadow>()->qw[hw::cq_shadow::arm_next.word].write_once(
			hw::cq_shadow::arm_next.put(any) | hw::cq_shadow::arm_solicited.put(1) |
			hw::cq_shadow::arm_sequence.put(arm_sequence_));
		dma_write_barrier();
		device_.write(hw::reg::pfpe_cqarm, number());
	}
	return (flags & SHIM_CQ_REPORT_MISSED_EVENTS) && has_completions();
}

} // namespace irdma
