// SPDX-License-Identifier: GPL-2.0
/*
 * Completion queues: life, resizing and events. Reading the kernel's CQs is in
 * cq_poll.cpp.
 */
#include "cq.h"

#include "../device.h"
#include "../hw/limits.h"

namespace irdma {

static constexpr u32 min_ring_entries = 4;
static constexpr u32 cqe_bytes = sizeof(hw::Cqe);

/* ---- Life ---- */

Cq::Cq(Device &device, Id id, const irdma_cq_params &params)
	: device_(device), id_(move(id)), ib_(params.ib), ceq_(params.comp_vector),
	  lock_(SHIM_LOCK_CQ)
{
}

Result<Owner<Cq>> Cq::create(Device &device, const irdma_cq_params &params)
{
	if (params.comp_vector >= device.events.ceq_count()) {
		shim_log_limited(device.shim, SHIM_DBG, "create CQ: vector %u, there are %u",
				 params.comp_vector, device.events.ceq_count());
		return Error::invalid;
	}

	auto id = Id::alloc(device.cq_ids);
	IRDMA_TRY(id);
	auto cq = make<Cq>(device, id.take(), params);
	if (!cq)
		return Error::no_memory;
	if (params.uctx)
		IRDMA_TRY(cq->take_user_ring(params.entries, *from_c(params.uctx),
					     params.user_buffer, params.user_shadow));
	else
		IRDMA_TRY(cq->make_kernel_ring(params.entries));
	IRDMA_TRY(cq->create_in_device());
	return move(cq);
}

/*
 * An entry may be followed by an extended one, so the ring has two for each that the consumer
 * may have outstanding; one of them is never filled, or full would look like empty.
 */
Status Cq::make_kernel_ring(u32 entries)
{
	if (!entries || entries > max_entries) {
		shim_log_limited(device_.shim, SHIM_DBG, "create CQ: %u entries, the limit is %u",
				 entries, max_entries);
		return Error::invalid;
	}
	entries_ = entries;
	size_ = 2 * (entries + 1);

	auto ring = KernelRing::create(device_, u64{size_} * cqe_bytes);
	IRDMA_TRY(ring);
	static_assert(sizeof(hw::CqShadow) <= DmaPool::slot_bytes);
	auto shadow = device_.dma_pool.alloc();
	IRDMA_TRY(shadow);
	ring_ = ring.take();
	shadow_ = shadow.take();
	memory_ = ring_.memory(0);
	shadow_bus_ = shadow_.bus();
	return {};
}

/*
 * Entries of a process's ring when @asked are asked for: libirdma has doubled already what the
 * application asked for.
 */
static Result<u32> ring_entries(Device &device, const CqRing &ring, u32 asked)
{
	u32 size = max(asked, min_ring_entries);

	if (!asked || asked > hw::max_cq_entries) {
		shim_log_limited(device.shim, SHIM_DBG, "CQ ring of %u entries, the limit is %u",
				 asked, hw::max_cq_entries);
		return Error::invalid;
	}
	if (u64{size} * cqe_bytes > ring.bytes) {
		shim_log_limited(device.shim, SHIM_DBG,
				 "CQ ring of %u entries, but %u bytes are registered", size,
				 ring.bytes);
		return Error::invalid;
	}
	return size;
}

/* The ring registered at @va, or a refusal that says so. */
static Result<CqRing> registered_ring(Device &device, Ucontext &uctx, u64 va, const char *what)
{
	auto ring = uctx.take_cq_ring(va);

	if (!ring.ok())
		shim_log_limited(device.shim, SHIM_DBG, "CQ: no %s is registered at 0x%llx", what,
				 va);
	return ring;
}

Status Cq::take_user_ring(u32 entries, Ucontext &uctx, u64 buffer, u64 shadow)
{
	auto ring = registered_ring(device_, uctx, buffer, "ring");

	IRDMA_TRY(ring);
	auto size = ring_entries(device_, ring.value(), entries);
	IRDMA_TRY(size);
	auto shadow_area = registered_ring(device_, uctx, shadow, "shadow area");
	IRDMA_TRY(shadow_area);
	entries_ = size_ = size.value();
	memory_ = ring.value().queue;
	user_ring_ = move(ring.value().memory);
	shadow_bus_ = shadow_area.value().first_page;
	user_shadow_ = move(shadow_area.value().memory);
	return {};
}

/* How far the device may run in a ring of @size before it reads the consumer's index again. */
static u32 read_threshold(u32 size)
{
	return min(size / 2, hw::cqp_cq::max_shadow_read_threshold);
}

Status Cq::create_in_device()
{
	cmd::CreateCq command = {
		.cq = number(),
		.ceq = ceq_,
		.entries = size_,
		.context = number(),
		.memory = memory_,
		.shadow = shadow_bus_,
		.shadow_read_threshold = read_threshold(size_),
		.vsi = device_.port.vsi,
		.check_overflow = true,
	};

	device_.events.add_cq(*this);
	auto created = device_.cqp.run(command);
	if (created.ok())
		return {};
	device_.events.remove_cq(*this);
	if (device_.dead())
		bury(); /* it may have been made all the same */
	return created.status();
}

void Cq::silence()
{
	device_.events.remove_cq(*this);
}

Status Cq::destroy(bool may_fail)
{
	silence();

	cmd::DestroyCq command = {
		.cq = number(),
		.ceq = ceq_,
		.entries = size_,
		.context = number(),
		.memory = memory_,
		.shadow = shadow_bus_,
	};
	auto destroyed = device_.cqp.run(command);
	if (destroyed.ok())
		return {};
	if (may_fail && device_.can_try_again()) {
		device_.events.add_cq(*this);
		wake(); /* an event may have come meanwhile */
		return destroyed.status();
	}
	bury();
	return {};
}

/* The device may still write to it. */
void Cq::bury()
{
	id_.abandon();
	user_ring_.bury();
	user_shadow_.bury();
	ring_.bury(device_);
	shadow_.abandon();
}

/* ---- Resizing ---- */

namespace {

/* Valid bits of a process's ring. Pages of it are copied as they are needed. */
class ValidBits {
public:
	explicit ValidBits(const UserMemory &ring) : ring_(ring) {}

	Result<bool> at(u32 index)
	{
		u32 page = index / per_page;

		if (page != page_) {
			u64 offset = u64{page} * hw::page_size;

			IRDMA_TRY(ring_.read(offset, entries_, sizeof(entries_)));
			page_ = page;
		}
		return entries_[index % per_page].get(hw::cqe::valid) != 0;
	}

	/* How many entries in a row, from @head on and @most at most, are of lap @lap and the next. */
	Result<u32> run(u32 head, bool lap, u32 size, u32 most)
	{
		for (u32 n = 0; n < most; n++) {
			auto valid = at(head);

			IRDMA_TRY(valid);
			if (valid.value() != lap)
				return n;
			if (++head == size) {
				head = 0;
				lap = !lap;
			}
		}
		return most;
	}

private:
	static constexpr u32 per_page = hw::page_size / cqe_bytes;

	const UserMemory &ring_;
	hw::Cqe entries_[per_page];
	u32 page_ = ~0u;
};

} // namespace

/*
 * Entries of a process's ring that it has not taken, @most at most, as far as its memory tells.
 * The entry before the consumer's index is of the lap that the index is in. The library does not
 * write the index before it takes the first entry of a new ring; then the run at the beginning is
 * right, and less than the other, or the index is not believed. On laps whose valid bit is 0 there
 * is no such run, but an entry of the lap before at the end. Never more than there are.
 */
Result<u32> Cq::waiting(u32 most)
{
	auto bits = make<ValidBits>(*user_ring_);
	hw::CqShadow shadow;

	if (!bits)
		return Error::no_memory;
	IRDMA_TRY(user_shadow_->read(0, &shadow, sizeof(shadow)));
	u32 head = static_cast<u32>(shadow.get(hw::cq_shadow::consumer_index));
	if (head >= size_)
		return 0u;

	auto before = bits->at((head ? head : size_) - 1);
	IRDMA_TRY(before);
	auto by_index = bits->run(head, before.value() == (head != 0), size_, most);
	IRDMA_TRY(by_index);
	auto from_start = bits->run(0, true, size_, most);
	IRDMA_TRY(from_start);
	auto last = bits->at(size_ - 1);
	IRDMA_TRY(last);
	if (!from_start.value() && last.value())
		return by_index;
	return min(by_index.value(), from_start.value());
}

/* IBA: not to fewer entries than there are completions waiting. */
Status Cq::check_shrink(u32 new_size)
{
	if (new_size >= size_)
		return {};

	auto found = waiting(new_size);
	IRDMA_TRY(found);
	if (found.value() < new_size)
		return {};
	shim_log_limited(device_.shim, SHIM_DBG,
			 "resize CQ %u: a ring of %u entries has no room for what is to be polled",
			 number(), new_size);
	return Error::invalid;
}

/*
 * The process goes on reading its old ring, which its MR keeps pinned; the
 * device is done with it when the command has ended. ib_core lets several
 * threads of a process resize one CQ at the same time.
 */
Status Cq::resize(u32 size, Ucontext &uctx, u64 user_buffer)
{
	MutexGuard guard(uctx.resizing());
	auto ring = registered_ring(device_, uctx, user_buffer, "new ring");

	IRDMA_TRY(ring);
	auto new_size = ring_entries(device_, ring.value(), size);
	IRDMA_TRY(new_size);
	IRDMA_TRY(check_shrink(new_size.value()));

	cmd::ResizeCq command = {
		.cq = number(),
		.entries = new_size.value(),
		.context = number(),
		.memory = ring.value().queue,
		.shadow = shadow_bus_,
		.shadow_read_threshold = read_threshold(new_size.value()),
		.vsi = device_.port.vsi,
	};
	auto moved = device_.cqp.run(command);
	if (!moved.ok()) {
		if (device_.dead())
			ring.value().memory.bury();
		return moved.status();
	}
	memory_ = ring.value().queue;
	user_ring_ = move(ring.value().memory);
	entries_ = size_ = new_size.value();
	return {};
}

/* ---- Events ---- */

void Cq::on_completion_event()
{
	/* A process's CQ is armed behind our back. */
	if (user() || armed_.exchange(not_armed) != not_armed)
		shim_cq_completion(ib_);
}

void Cq::on_async_event(const AsyncEvent &event)
{
	shim_log_limited(device_.shim, SHIM_WARN, "CQ %u: event 0x%03x, %s (%s): %s", number(),
			 event.code, hw::ae_name(event.code), ae_source_name(event.source),
			 event.info->meaning);
	/* It stays broken; the consumer, for whom each event takes memory, is told once. */
	if (event.info->action == AeAction::cq_error && !broken_.exchange(true))
		shim_cq_event(ib_, SHIM_EVENT_CQ_ERR);
}

} // namespace irdma

using namespace irdma;

/**
 * irdma_cq_create() - make a completion queue
 * @device: the device
 * @params: size, vector and, of a process, its registered memory
 * @out: gets it
 * @result: gets its number and sizes
 *
 * May sleep. Return: 0; -EINVAL for a size or vector that cannot be; -ENOENT if the memory is not
 * registered; -ENOMEM; -ENOSPC; -ENODEV if the device does not answer.
 */
int irdma_cq_create(irdma_device *device, const irdma_cq_params *params, irdma_cq **out,
		    irdma_cq_result *result)
{
	auto cq = Cq::create(*from_c(device), *params);

	if (!cq.ok())
		return cq.code();
	*result = {cq.value()->number(), cq.value()->entries(), cq.value()->ring_size()};
	*out = to_c(cq.value().release());
	return 0;
}

/**
 * irdma_cq_silence() - tell the consumer of a completion queue of nothing any more
 * @cq: the CQ; irdma_cq_destroy() follows
 *
 * May sleep. A handler that runs has ended when it returns.
 */
void irdma_cq_silence(irdma_cq *cq)
{
	from_c(cq)->silence();
}

/**
 * irdma_cq_destroy() - destroy a completion queue; no QP uses it any more
 * @cq: the CQ
 * @may_fail: the caller can be told of a failure, and try again; only of a process
 *
 * May sleep. Return: 0; or the error of a device that refuses: the CQ is as it was. Otherwise
 * memory that the device does not give back is kept until it is stopped.
 */
int irdma_cq_destroy(irdma_cq *cq, bool may_fail)
{
	Status done = from_c(cq)->destroy(may_fail);

	if (done.ok())
		destroy(from_c(cq));
	return done.code();
}

/**
 * irdma_cq_resize() - move the CQ of a process to another ring
 * @cq: the CQ
 * @entries: of the new ring
 * @uctx: the process
 * @user_buffer: VA of the new ring, registered before
 * @ring_size: gets the entries of the ring
 *
 * May sleep. Return: as irdma_cq_create(); -EOPNOTSUPP for a CQ of the kernel.
 */
int irdma_cq_resize(irdma_cq *cq, u32 entries, irdma_ucontext *uctx, u64 user_buffer,
		    u32 *ring_size)
{
	Cq &c = *from_c(cq);

	if (!c.user() || !uctx)
		return -SHIM_EOPNOTSUPP;
	int err = c.resize(entries, *from_c(uctx), user_buffer).code();
	*ring_size = c.ring_size();
	return err;
}

/**
 * irdma_cq_describe() - what the driver has of a completion queue
 * @cq: the CQ
 * @details: gets it
 */
void irdma_cq_describe(irdma_cq *cq, irdma_cq_details *details)
{
	*details = from_c(cq)->details();
}

/**
 * irdma_cq_notify() - ask for an event at the next completion
 * @cq: the CQ, of the kernel
 * @flags: SHIM_CQ_*
 *
 * Any context. Return: 1 if missed completions are to be reported and there are some, else 0.
 */
int irdma_cq_notify(irdma_cq *cq, u32 flags)
{
	return from_c(cq)->notify(flags);
}

/**
 * irdma_poll_cq() - take completions
 * @cq: the CQ, of the kernel
 * @entries: room in @wc
 * @wc: gets them
 *
 * Any context. Return: how many there were.
 */
int irdma_poll_cq(irdma_cq *cq, int entries, shim_wc *wc)
{
	return from_c(cq)->poll(entries, wc);
}
