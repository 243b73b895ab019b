// SPDX-License-Identifier: GPL-2.0
/* Time, memory, log and the rest of the kernel in a test; see world.h. */
#include "world.h"

#include "base/memory.h"

namespace irdma::fake {

namespace {

World *there_is;

constexpr u64 for_ever = 4000 * World::second;
constexpr u32 magic = 0x6b756e69;
constexpr u64 page = 4096;
constexpr u8 canary = 0x5a;

template <class T> T *get()
{
	void *room = bridge_alloc(sizeof(T), false);

	if (!room)
		bridge_abort();
	return new (room) T();
}

} // namespace

/** Something that happens later: a call, or a work item. */
struct World::Event {
	u64 at = 0, sequence = 0;
	void (*function)(void *arg, u64 value) = nullptr;
	void *arg = nullptr;
	u64 value = 0;
	shim_work *work = nullptr;
	Event *next = nullptr;
};

/** Before memory from the heap. */
struct alignas(16) World::Allocation {
	Allocation *next, *previous;
	u64 bytes;
	u64 mark;
	const void *by; /* who asked for it */
};

/** DMA memory. */
struct World::Buffer {
	u64 bus = 0, bytes = 0;
	u8 *cpu = nullptr;
	Buffer *next = nullptr;
};

World &World::current()
{
	if (!there_is)
		bridge_abort();
	return *there_is;
}

World::World()
{
	shim_tracing = ~0u; /* all are listened to */
	there_is = this;    /* one that a test has lost stays lost */
	port.pf_id = 0;
	port.vsi = 8;
	port.mtu = 1500;
	const u8 mac[] = {0x52, 0x54, 0x00, 0xe8, 0x10, 0x01};
	for (u32 i = 0; i < 6; i++)
		port.mac[i] = mac[i];
	port.pci_vendor = 0x8086;
	port.pci_device = 0x1592;
	qos.num_tc = 1;
	for (auto &tc : qos.tc)
		tc = {100, 0};
}

World::~World()
{
	check_end();
	while (Event *event = events_) {
		events_ = event->next;
		bridge_free(event, false);
	}
	while (Buffer *buffer = buffers_) {
		buffers_ = buffer->next;
		bridge_free(buffer->cpu, true);
		bridge_free(buffer, false);
	}
	while (Allocation *allocation = allocated_) {
		allocated_ = allocation->next;
		bridge_free(allocation, false);
	}
	there_is = nullptr;
}

void World::check_end()
{
	if (!abandoned_) {
		u32 shown = 0;

		EXPECT_EQ(allocations_, 0);
		for (Allocation *a = allocated_; a && shown < 4; a = a->next, shown++)
			test::note("left: %llu bytes that %pS has asked for", a->bytes, a->by);
		EXPECT_EQ(dma_buffers_, 0);
		EXPECT_EQ(umems, 0);
	}
	EXPECT_EQ(qsets, 0);
	EXPECT_EQ(work_waiting(), 0);
	EXPECT_EQ(spinlocks, 0);
	EXPECT_EQ(warned_, 0);
	for (u32 i = 0; i < max_vectors; i++)
		if (irq_[i].handler)
			FAIL("vector %u still has a handler", i);
}

/* ---- Time ---- */

void World::insert(Event *event)
{
	Event **link = &events_;

	event->sequence = sequence_++;
	while (*link && (*link)->at <= event->at)
		link = &(*link)->next;
	event->next = *link;
	*link = event;
}

void World::after(u64 delay, void (*function)(void *, u64), void *arg, u64 value)
{
	Event *event = get<Event>();

	event->at = now_ + delay;
	event->function = function;
	event->arg = arg;
	event->value = value;
	insert(event);
}

void World::forget(const void *arg)
{
	for (Event **link = &events_; *link;) {
		Event *event = *link;

		if (event->work || event->arg != arg) {
			link = &event->next;
			continue;
		}
		*link = event->next;
		bridge_free(event, false);
	}
}

/* The next event that may run; whether there was one. */
bool World::run_next(u64 until, bool object_work)
{
	for (Event **link = &events_; *link; link = &(*link)->next) {
		Event event = **link;

		if (event.at > until)
			return false;
		if (event.work && event.work->kind == SHIM_WORK_OBJECT && !object_work)
			continue;
		Event *gone = *link;
		*link = gone->next;
		bridge_free(gone, false);
		now_ = max(now_, event.at);
		if (event.work)
			event.work->function(event.work->arg);
		else
			event.function(event.arg, event.value);
		return true;
	}
	return false;
}

void World::advance(u64 until, bool object_work)
{
	while (run_next(until, object_work))
		;
	now_ = max(now_, until);
}

void World::pass(u64 nanoseconds)
{
	advance(now_ + nanoseconds, true);
}

bool World::wait(Callback<bool()> done, u64 deadline)
{
	while (!done())
		if (!run_next(deadline, false)) {
			now_ = max(now_, deadline);
			return done();
		}
	return true;
}

void World::must_sleep(const char *what)
{
	if (spinlocks || interrupts) {
		FAIL("%s with %u spinlocks held, in %u interrupts", what, spinlocks, interrupts);
		bridge_abort();
	}
}

void World::interrupt(void (*handler)(void *), void *arg)
{
	interrupts++;
	handler(arg);
	interrupts--;
}

bool World::queue(shim_work *work, u64 delay)
{
	for (Event *event = events_; event; event = event->next)
		if (event->work == work)
			return false;
	Event *event = get<Event>();
	event->at = now_ + delay;
	event->work = work;
	insert(event);
	return true;
}

bool World::cancel(shim_work *work)
{
	for (Event **link = &events_; *link; link = &(*link)->next) {
		Event *event = *link;

		if (event->work != work)
			continue;
		*link = event->next;
		bridge_free(event, false);
		return true;
	}
	return false;
}

u32 World::work_waiting(shim_work_kind kind) const
{
	u32 count = 0;

	for (Event *event = events_; event; event = event->next)
		if (event->work && (kind == SHIM_WORK_KINDS || event->work->kind == kind))
			count++;
	return count;
}

/* ---- Memory ---- */

bool World::can_allocate()
{
	if (!fail_in_ || --fail_in_)
		return true;
	failed_ = true;
	return false;
}

void *World::allocate(u64 bytes, const void *by)
{
	if (!can_allocate() || bytes > 1ULL << 30)
		return nullptr;
	auto *allocation =
		static_cast<Allocation *>(bridge_alloc(sizeof(Allocation) + bytes, false));
	if (!allocation)
		return nullptr;
	allocation->bytes = bytes;
	allocation->mark = magic;
	allocation->by = by;
	allocation->previous = nullptr;
	allocation->next = allocated_;
	if (allocated_)
		allocated_->previous = allocation;
	allocated_ = allocation;
	allocations_++;
	return allocation + 1;
}

void World::release(void *mem)
{
	Allocation *allocation = static_cast<Allocation *>(mem) - 1;

	if (allocation->mark != magic) {
		FAIL("memory is given back that was not given out, or twice");
		bridge_abort();
	}
	allocation->mark = 0;
	if (allocation->previous)
		allocation->previous->next = allocation->next;
	else
		allocated_ = allocation->next;
	if (allocation->next)
		allocation->next->previous = allocation->previous;
	allocations_--;
	bridge_free(allocation, false);
}

void *World::dma_allocate(u64 bytes, u64 *bus)
{
	must_sleep("DMA memory is asked for");
	if (!can_allocate() || !bytes || (refuse_dma && refuse_dma(bytes)))
		return nullptr;
	u64 whole = align_up(bytes, page);
	auto *cpu = static_cast<u8 *>(bridge_alloc(whole, true));
	if (!cpu)
		return nullptr;
	for (u64 i = bytes; i < whole; i++)
		cpu[i] = canary;

	Buffer *buffer = get<Buffer>();
	next_bus_ = align_up(next_bus_ + page, round_up_pow2(whole));
	buffer->bus = next_bus_;
	buffer->bytes = bytes;
	buffer->cpu = cpu;
	buffer->next = buffers_;
	buffers_ = buffer;
	next_bus_ += whole;
	dma_buffers_++;
	dma_bytes_ += whole;
	*bus = buffer->bus;
	return cpu;
}

void World::dma_release(u64 bytes, void *cpu, u64 bus)
{
	must_sleep("DMA memory is given back");
	for (Buffer **link = &buffers_; *link; link = &(*link)->next) {
		Buffer *buffer = *link;

		if (buffer->cpu != cpu)
			continue;
		EXPECT_EQ(bus, buffer->bus);
		EXPECT_EQ(bytes, buffer->bytes);
		for (u64 i = bytes; i < align_up(bytes, page); i++)
			if (buffer->cpu[i] != canary) {
				FAIL("DMA memory of %llu bytes was written to at %llu", bytes, i);
				break;
			}
		*link = buffer->next;
		dma_buffers_--;
		dma_bytes_ -= align_up(bytes, page);
		bridge_free(buffer->cpu, true);
		bridge_free(buffer, false);
		return;
	}
	FAIL("DMA memory is given back that was not given out");
}

void *World::find_dma(u64 bus, u64 bytes) const
{
	for (Buffer *buffer = buffers_; buffer; buffer = buffer->next)
		if (bus >= buffer->bus && bus - buffer->bus < buffer->bytes &&
		    bytes <= buffer->bytes - (bus - buffer->bus))
			return buffer->cpu + (bus - buffer->bus);
	return nullptr;
}

void *World::dma(u64 bus, u64 bytes)
{
	void *cpu = find_dma(bus, bytes);

	if (!cpu)
		FAIL("the device is given address 0x%llx, %llu bytes: no DMA memory", bus, bytes);
	return cpu;
}

/* ---- Log ---- */

void World::log(shim_level level, const char *fmt, __builtin_va_list args)
{
	lines_[level]++;
	bridge_format(kept_[next_line_++ % kept_lines], line_bytes, fmt, args);
}

bool World::said(const char *part) const
{
	for (const auto &line : kept_)
		if (*line && test::contains(line, part))
			return true;
	return false;
}

void World::forget_log()
{
	for (auto &line : kept_)
		*line = 0;
	for (u32 &count : lines_)
		count = 0;
}

void World::warn(const char *what)
{
	warned_++;
	test::note("warned: %s", what);
}

/* ---- ice and ib_core ---- */

int World::request_irq(u32 index, void (*handler)(void *), void *arg)
{
	if (irq_error)
		return irq_error;
	if (index >= vectors || index >= max_vectors || irq_[index].handler) {
		FAIL("interrupt of vector %u, of %u, is asked for, or again", index, vectors);
		return -SHIM_EINVAL;
	}
	irq_[index] = {handler, arg};
	return 0;
}

void World::free_irq(u32 index)
{
	EXPECT(has_handler(index));
	irq_[index] = {};
}

void World::fire(u32 vector)
{
	if (has_handler(vector))
		interrupt(irq_[vector].handler, irq_[vector].arg);
}

int World::add_qset(u16 handle, u8 tc, u32 *teid)
{
	if (qset_error)
		return qset_error;
	for (auto &q : qset_)
		if (!q.there) {
			*teid = next_teid_++;
			q = {true, handle, tc, *teid};
			qsets++;
			return 0;
		}
	return -SHIM_ENOSPC;
}

void World::delete_qset(u16 handle, u8 tc, u32 teid)
{
	for (auto &q : qset_)
		if (q.there && q.handle == handle && q.tc == tc && q.teid == teid) {
			q.there = false;
			qsets--;
			return;
		}
	FAIL("queue set %u of class %u, TEID %u, is deleted, but ice has none", handle, tc, teid);
}

void World::tell(void *ib, u32 event)
{
	if (told_count < array_size(told))
		told[told_count] = {ib, event};
	told_count++;
}

u32 World::times_told(const void *ib, u32 event) const
{
	u32 count = 0;

	for (u32 i = 0; i < min<u32>(told_count, array_size(told)); i++)
		if (told[i].ib == ib && told[i].event == event)
			count++;
	return count;
}

} // namespace irdma::fake
