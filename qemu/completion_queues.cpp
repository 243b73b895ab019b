// SPDX-License-Identifier: GPL-2.0
/* Completion queues; see completion_queues.h. */
#include "completion_queues.h"

#include <algorithm>

#include "device.h"
#include "irdma/hw/limits.h"
#include "rdma.h"
#include "rdma_trace.h"

namespace e810 {

namespace {

/* The host's index can be anything; this is how far it is behind, on a ring of @size. */
uint32_t distance(uint32_t producer, uint64_t consumer, uint32_t size)
{
	return static_cast<uint32_t>((producer + size - consumer % size) % size);
}

} // namespace

CompletionQueues::CompletionQueues(Rdma &rdma) : rdma_(rdma), cqs_(Hmc::limit(hw::HmcObject::cq)) {}

bool CompletionQueues::set_ring(Queue &cq, const hw::CqpWqe &wqe)
{
	using namespace hw::cqp_cq;
	uint64_t entries = wqe.get(size);

	if (entries < 2 || entries > hw::max_cq_entries)
		return false;
	cq.size = static_cast<uint32_t>(entries);
	cq.pages = PageList::of(wqe.get(virtual_map), wqe.get(addr),
				static_cast<uint32_t>(wqe.get(first_pble)),
				static_cast<uint32_t>(wqe.get(pbl_level)));
	cq.producer = 0;
	cq.told = 0;
	cq.polarity = true;
	return true;
}

CqpResult CompletionQueues::create(const hw::CqpWqe &wqe)
{
	using namespace hw::cqp_cq;
	uint32_t id = static_cast<uint32_t>(wqe.get(cq));
	CqpResult place = rdma_.hmc.check(hw::HmcObject::cq, id);
	Queue queue;

	if (place.error)
		return place;
	if (cqs_[id].exists)
		return CqpResult::fail(hw::cqp_error::invalid_state);
	if (!set_ring(queue, wqe))
		return CqpResult::fail(refusal::bad_parameter);
	/* The CCQ comes before its CEQ: whether the CEQ exists matters only when an event is due.
	 * */
	queue.exists = true;
	queue.has_ceq = wqe.get(ceq_valid);
	queue.ceq = static_cast<uint32_t>(wqe.get(ceq));
	queue.check_overflow = wqe.get(check_overflow);
	queue.context = wqe.get(context);
	queue.shadow = wqe.get(shadow_addr);
	cqs_[id] = queue;
	return CqpResult::ok();
}

CqpResult CompletionQueues::modify(const hw::CqpWqe &wqe)
{
	using namespace hw::cqp_cq;
	uint32_t id = static_cast<uint32_t>(wqe.get(cq));

	if (!exists(id))
		return CqpResult::fail(hw::cqp_error::invalid_state);
	Queue queue = cqs_[id];
	if (wqe.get(resize)) {
		if (!set_ring(queue, wqe))
			return CqpResult::fail(refusal::bad_parameter);
		queue.resized = true;
	}
	queue.check_overflow = wqe.get(check_overflow);
	cqs_[id] = queue;
	return CqpResult::ok();
}

CqpResult CompletionQueues::destroy(const hw::CqpWqe &wqe)
{
	uint32_t id = static_cast<uint32_t>(wqe.get(hw::cqp_cq::cq));

	if (!exists(id))
		return CqpResult::fail(hw::cqp_error::invalid_state);
	cqs_[id] = Queue{};
	return CqpResult::ok();
}

bool CompletionQueues::full(Queue &cq, uint32_t wanted) const
{
	/*
	 * After a resize the shadow area holds an index of the old ring until the host has consumed
	 * from the new one. On its first lap the new ring is full only at its end.
	 */
	if (cq.resized && cq.producer + wanted < cq.size)
		return false;
	cq.resized = false;

	auto consumer = rdma_.dev.memory.read64(cq.shadow);
	return consumer &&
	       distance(cq.producer, hw::cq_shadow::consumer_index.take(*consumer), cq.size) +
			       wanted >=
		       cq.size;
}

bool CompletionQueues::post(uint32_t id, const hw::Cqe &entry, bool solicited, bool stale)
{
	return post(id, {&entry, 1}, solicited, stale);
}

bool CompletionQueues::post(uint32_t id, const hw::Cqe &entry, const hw::Cqe &extension,
			    bool solicited)
{
	const hw::Cqe both[] = {entry, extension};

	return post(id, both, solicited, false);
}

bool CompletionQueues::post(uint32_t id, std::span<const hw::Cqe> entries, bool solicited,
			    bool stale)
{
	if (!exists(id) || cqs_[id].broken)
		return false;
	Queue &cq = cqs_[id];
	if (cq.check_overflow && full(cq, static_cast<uint32_t>(entries.size()))) {
		overflow(id);
		return false;
	}
	for (const hw::Cqe &entry : entries)
		if (!write(cq, entry, stale))
			return false;
	/* The event comes after all of it: the host waits for the extension. */
	if (cq.armed == Armed::next || (cq.armed == Armed::solicited && solicited))
		signal(cq);
	return true;
}

bool CompletionQueues::write(Queue &cq, hw::Cqe entry, bool stale)
{
	auto address =
		rdma_.hmc.address(cq.pages, static_cast<uint64_t>(cq.producer) * sizeof(entry));

	entry.set(hw::cqe::valid, cq.polarity != stale);
	/* Word 3 tells the host that the rest is there. */
	if (!address ||
	    !rdma_.dev.memory.write(*address,
				    {reinterpret_cast<uint8_t *>(&entry), 3 * sizeof(uint64_t)}) ||
	    !rdma_.dev.memory.store(*address + 3 * sizeof(uint64_t), entry.qw[3])) {
		rdma_.memory_error("CQ entry");
		return false;
	}
	if (++cq.producer == cq.size) {
		cq.producer = 0;
		cq.polarity = !cq.polarity;
	}
	return true;
}

void CompletionQueues::overflow(uint32_t id)
{
	Queue &cq = cqs_[id];

	cq.broken = true;
	rdma_.dev.guest_error("CQ %u overflows", id);
	rdma_.events.post({.code = hw::AeCode::cq_operation_error,
			   .source = hw::AeSource::cq,
			   .id = id,
			   .context = cq.context});
}

void CompletionQueues::signal(Queue &cq)
{
	cq.armed = Armed::no;
	cq.told = cq.producer;
	if (!cq.has_ceq || !rdma_.events.ceq_exists(cq.ceq))
		return;
	if (cq.event_posted) {
		cq.event_due = true;
		return;
	}
	cq.event_posted = true;
	rdma_.events.post_completion(cq.ceq, cq.context);
}

void CompletionQueues::arm(uint32_t id)
{
	if (!exists(id))
		return rdma_.dev.guest_error("arm of CQ %u, which does not exist", id);
	Queue &cq = cqs_[id];
	auto shadow = rdma_.dev.memory.load<hw::CqShadow>(cq.shadow);

	if (!shadow)
		return rdma_.memory_error("CQ shadow area");
	cq.armed = shadow->get(hw::cq_shadow::arm_next) ? Armed::next : Armed::solicited;
	/* What has come since the host looked; but no second event for what it is about to take. */
	if (cq.producer != cq.told &&
	    distance(cq.producer, shadow->get(hw::cq_shadow::consumer_index), cq.size))
		signal(cq);
}

void CompletionQueues::acknowledge(uint32_t id)
{
	if (!exists(id))
		return;
	Queue &cq = cqs_[id];

	cq.event_posted = false;
	if (cq.event_due) {
		cq.event_due = false;
		signal(cq);
	}
}

uint32_t CompletionQueues::in_use() const
{
	return static_cast<uint32_t>(
		std::count_if(cqs_.begin(), cqs_.end(), [](const Queue &q) { return q.exists; }));
}

void CompletionQueues::reset()
{
	std::fill(cqs_.begin(), cqs_.end(), Queue{});
}

} // namespace e810
