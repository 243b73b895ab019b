// SPDX-License-Identifier: GPL-2.0
/*
 * What is around the driver in a test: the kernel as shim/kernel.h has it, with
 * a clock of its own. Nothing here runs beside the test. When the driver sleeps
 * or waits, the clock goes on, and what is due meanwhile (answers of the
 * device, interrupts, work) runs in that very call. So a device that takes ten
 * seconds costs no time, and each run is like the last.
 *
 * Work of kind SHIM_WORK_OBJECT may take mutexes that the waiting caller
 * holds; it runs only when the test itself lets time pass().
 *
 * The world checks what it is handed: memory given back that was not given
 * out, a lock taken twice, sleep in an interrupt or under a spinlock, a wait
 * that nothing will end. What is left at the end fails the test.
 */
#ifndef KUNIT_FAKE_WORLD_H
#define KUNIT_FAKE_WORLD_H

#include "../test.h"
#include "driver.h"

struct shim_umem;

namespace irdma::fake {
class World;
} // namespace irdma::fake

/** What the driver holds instead of the kernel's. */
struct shim_device {
	irdma::fake::World &world;
};

/** What irdma_show() writes to. */
struct shim_text {
	char text[16384];
	irdma::u32 length;
};

namespace irdma::fake {

using test::Callback;

/** Registers of the device. */
class Registers {
public:
	virtual u32 read(u32 offset) = 0;
	virtual void write(u32 offset, u32 value) = 0;

protected:
	~Registers() = default;
};

/** An MR as ib_core knows it. */
struct IbMr {
	irdma_mr *irdma;
	u64 iova;
};

/** An event that ib_core would have got: the object as ib_core knows it, SHIM_EVENT_*. */
struct Told {
	void *ib;
	u32 event;
};

class World {
public:
	World();
	/** Says what was left behind. */
	~World();
	World(const World &) = delete;
	World &operator=(const World &) = delete;

	/** For the driver. */
	shim_device *shim() { return &shim_; }
	/** What is left is meant to be left: the driver keeps it for good. */
	void abandon() { abandoned_ = true; }
	/** The one that there is. */
	static World &current();

	/* ---- Time ---- */
	static constexpr u64 us = 1000, ms = 1000 * us, second = 1000 * ms;

	u64 now() const { return now_; }
	/** A busy machine: each sleep takes so long at least. Then waiting for nothing costs less. */
	u64 least_sleep = 0;
	/** Call @function(@arg, @value) after @delay nanoseconds. */
	void after(u64 delay, void (*function)(void *arg, u64 value), void *arg, u64 value = 0);
	/** Nothing that was due with this argument comes any more. */
	void forget(const void *arg);
	/** Let time pass, with all that is due in it. From tests only. */
	void pass(u64 nanoseconds);
	/** Run all work and events that are due soon. */
	void settle() { pass(150 * ms); }
	/** Work items that wait to run; @kind SHIM_WORK_KINDS: of any. */
	u32 work_waiting(shim_work_kind kind = SHIM_WORK_KINDS) const;
	/** Run @handler as a hard interrupt. */
	void interrupt(void (*handler)(void *), void *arg);

	/* ---- Memory ---- */
	/** The @nth allocation from now on fails, DMA memory included; 0: none does. */
	void fail_allocation(u32 nth)
	{
		fail_in_ = nth;
		failed_ = false;
	}
	/** Whether so many bytes of DMA memory are not to be had. */
	Callback<bool(u64 bytes)> refuse_dma;
	/** Whether it has failed. */
	bool allocation_failed() const { return failed_; }
	u32 allocations() const { return allocations_; }
	u32 dma_buffers() const { return dma_buffers_; }
	/** DMA memory that is out, in whole pages. */
	u64 dma_bytes() const { return dma_bytes_; }
	/** @bytes of DMA memory at @bus as the CPU sees them; nullptr, said, if they are none. */
	void *dma(u64 bus, u64 bytes);
	/** The same, without a word. */
	void *find_dma(u64 bus, u64 bytes) const;
	template <class T> T *dma_as(u64 bus) { return static_cast<T *>(dma(bus, sizeof(T))); }

	/* ---- Log ---- */
	u32 lines(shim_level level) const { return lines_[level]; }
	/** Whether one of the last lines holds @part. */
	bool said(const char *part) const;
	void forget_log();
	/** How often a tracepoint was called; a test may stop listening by shim_tracing. */
	u32 traced(shim_tracepoint point) const { return traced_[point]; }
	void trace(shim_tracepoint point) { traced_[point]++; }
	u32 warnings() const { return warned_; }
	/** Complaints of shim_warn_once() are wanted here. */
	void allow_warnings() { warned_ = 0; }

	/* ---- What ice, the user and ib_core are ---- */
	Registers *registers = nullptr;
	shim_port_info port = {};
	shim_qos qos = {};
	u32 vectors = 3;
	u32 cpus = 2;
	u32 limits_sel = SHIM_LIMITS_SEL_MAX; /**< as the administrator wants it */
	shim_history history = {};
	int reset_error = 0, irq_error = 0, qset_error = 0;
	u32 resets = 0;
	u32 qsets = 0; /**< queue sets that ice has */
	u32 fatal = 0; /**< how often ib_core was told that the device is dead */
	u32 random = 0x12345678;
	u32 completions = 0; /**< of CQs, told to consumers */
	/** Called at each of them, as consumers are. */
	Callback<void(void *ib)> on_completion;
	Told told[32] = {};
	u32 told_count = 0;
	/** How often @event was told of @ib. */
	u32 times_told(const void *ib, u32 event) const;

	/** The kernel's neighbour of an address: its MAC as a number, 0 if there is no valid one. */
	Callback<u64(u32 ip)> neighbour;
	/** Queue sets of a device that is dead are ice's to drop. */
	void forget_qsets() { qsets = 0; }

	/** Memory of a process: bus address of its 4 KiB page @page (VA / 4096). */
	Callback<u64(u64 page)> user_page;
	/** Fills what the process has at an offset; without one it is zero. */
	Callback<void(u64 offset, u8 *to, u64 bytes)> user_data;
	int umem_error = 0;
	u32 umems = 0;

	/** Whether a vector has its handler. */
	bool has_handler(u32 vector) const { return vector < max_vectors && irq_[vector].handler; }
	/** Let vector @vector fire. */
	void fire(u32 vector);

	/* ---- For the shim's functions ---- */
	/** Called before a spinlock is taken: another CPU that is faster. */
	Callback<void()> on_lock;
	/** Called once, before the next mutex is taken: another thread that is faster. */
	Callback<void()> on_mutex;
	void must_sleep(const char *what);
	bool can_allocate();
	void *allocate(u64 bytes, const void *by);
	void release(void *mem);
	void *dma_allocate(u64 bytes, u64 *bus);
	void dma_release(u64 bytes, void *cpu, u64 bus);
	void log(shim_level level, const char *fmt, __builtin_va_list args);
	void warn(const char *what);
	/** Let things happen until @done; at most until @deadline. Whether it is done. */
	bool wait(Callback<bool()> done, u64 deadline);
	void advance(u64 until, bool object_work);
	bool queue(shim_work *work, u64 delay);
	bool cancel(shim_work *work);
	int request_irq(u32 index, void (*handler)(void *), void *arg);
	void free_irq(u32 index);
	int add_qset(u16 handle, u8 tc, u32 *teid);
	void delete_qset(u16 handle, u8 tc, u32 teid);
	void tell(void *ib, u32 event);

	u32 spinlocks = 0;  /**< that are held */
	u32 interrupts = 0; /**< that are being handled */

private:
	struct Event;
	struct Allocation;
	struct Buffer;
	static constexpr u32 max_vectors = 64, max_qsets = 16, kept_lines = 24, line_bytes = 200;

	bool run_next(u64 until, bool object_work);
	void insert(Event *event);
	void check_end();

	shim_device shim_{*this};
	u64 now_ = 1000 * second;
	u64 sequence_ = 0;
	Event *events_ = nullptr;
	Allocation *allocated_ = nullptr;
	Buffer *buffers_ = nullptr;
	u64 next_bus_ = 0x123400000;
	u32 allocations_ = 0, dma_buffers_ = 0, fail_in_ = 0;
	u64 dma_bytes_ = 0;
	bool failed_ = false, abandoned_ = false;
	u32 lines_[SHIM_DBG + 1] = {};
	u32 warned_ = 0;
	u32 traced_[SHIM_TRACE_RESET + 1] = {};
	char kept_[kept_lines][line_bytes] = {};
	u32 next_line_ = 0;
	struct {
		void (*handler)(void *);
		void *arg;
	} irq_[max_vectors] = {};
	struct {
		bool there;
		u16 handle;
		u8 tc;
		u32 teid;
	} qset_[max_qsets] = {};
	u32 next_teid_ = 0x100;
};

} // namespace irdma::fake

#endif
