// SPDX-License-Identifier: GPL-2.0
/*
 * User contexts: the registered rings of a process, found by address.
 */
#include "ucontext.h"

#include "../device.h"
#include "../hw/limits.h"

namespace irdma {

Ucontext::~Ucontext()
{
	/* The core destroys MRs first; should one be left, it must not find us gone. */
	SpinGuard guard(lock_);

	while (rings_.pop_front())
		shim_warn_once("irdma: a user context goes before the rings registered in it");
}

void Ucontext::add(Ring &ring)
{
	SpinGuard guard(lock_);

	rings_.push_back(ring.node);
}

void Ucontext::remove(Ring &ring)
{
	SpinGuard guard(lock_);

	ring.node.unlink();
}

RingClaim Ucontext::take(RingKind kind, u64 va, RingPages &pages)
{
	SpinGuard guard(lock_);

	for (Ring &ring : rings_) {
		if (ring.kind != kind || ring.va != va || ring.claimed)
			continue;
		ring.claimed = true;
		pages = ring.pages;
		return RingClaim(*this, ring.memory.share());
	}
	return RingClaim();
}

/* The registration may be gone; what is registered there now is other memory. */
void Ucontext::give_back(const UserMemory &memory)
{
	SpinGuard guard(lock_);

	for (Ring &ring : rings_)
		if (&*ring.memory == &memory)
			ring.claimed = false;
}

RingClaim &RingClaim::operator=(RingClaim &&other)
{
	if (this != &other) {
		reset();
		uctx_ = exchange<Ucontext *>(other.uctx_, nullptr);
		memory_ = move(other.memory_);
	}
	return *this;
}

void RingClaim::reset()
{
	if (uctx_)
		exchange<Ucontext *>(uctx_, nullptr)->give_back(*memory_);
	memory_.reset();
}

void RingClaim::bury()
{
	uctx_ = nullptr;
	memory_.bury();
}

static cmd::QueueMemory as_queue(const UserMemory &memory, bool virtual_map, u32 first)
{
	if (virtual_map)
		return {true, 0, memory.list().first() + first};
	return {false, memory.page(first), 0};
}

Result<QpRing> Ucontext::take_qp_ring(u64 va)
{
	RingPages pages;
	QpRing ring;

	ring.memory = take(RingKind::qp, va, pages);
	if (!ring.memory)
		return Error::no_entry;

	/* One bit of the command says it for both. */
	const UserMemory &memory = *ring.memory;
	bool virtual_map = !memory.one_run(0, pages.sq) || !memory.one_run(pages.sq, pages.rq);

	ring.sq = as_queue(memory, virtual_map, 0);
	ring.rq = as_queue(memory, virtual_map, pages.sq);
	ring.shadow = memory.page(pages.sq + pages.rq);
	ring.sq_bytes = pages.sq * hw::page_size;
	ring.rq_bytes = pages.rq * hw::page_size;
	return move(ring);
}

Result<CqRing> Ucontext::take_cq_ring(u64 va)
{
	RingPages pages;
	CqRing ring;

	ring.memory = take(RingKind::cq, va, pages);
	if (!ring.memory)
		return Error::no_entry;
	ring.queue = as_queue(*ring.memory, !ring.memory->one_run(0, pages.cq), 0);
	ring.first_page = ring.memory->page(0);
	ring.bytes = pages.cq * hw::page_size;
	return move(ring);
}

} // namespace irdma

using namespace irdma;

/**
 * irdma_ucontext_create() - a process opens the device
 * @raw_attr: sizes of QPs will come as the application gives them, not in quanta
 * @out: gets the user context
 *
 * May sleep. Return: 0, or -ENOMEM.
 */
int irdma_ucontext_create(irdma_device *, bool raw_attr, irdma_ucontext **out)
{
	auto uctx = make<Ucontext>(raw_attr);

	if (!uctx)
		return -SHIM_ENOMEM;
	*out = to_c(uctx.release());
	return 0;
}

/**
 * irdma_ucontext_destroy() - the process is done; all its objects are gone
 * @uctx: its user context
 */
void irdma_ucontext_destroy(irdma_ucontext *uctx)
{
	destroy(from_c(uctx));
}
