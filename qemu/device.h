// SPDX-License-Identifier: GPL-2.0
/*
 * The modelled E810: one PCI function, made of blocks.
 *
 * A block is a class in a file of its own that owns one part of the hardware. It is a member of Device,
 * claims its registers in its constructor, and has reset(ResetKind). Blocks reach each other through
 * Device. QEMU reaches the device through the e810_device_* functions of glue.h.
 *
 * All code runs under QEMU's global lock, one entry at a time: a guest can make the device write to its own
 * registers by DMA, and such an access from within the device is refused (see Entry), so no block is ever
 * entered while it is at work.
 */
#pragma once

#include <string_view>

#include "glue.h"
#include "interrupts.h"
#include "memory.h"
#include "rdma.h"
#include "registers.h"
#include "reset_kind.h"
#include "trace.h"

namespace e810 {

class Device {
public:
	explicit Device(e810_host *host);
	~Device();
	Device(const Device &) = delete;
	Device &operator=(const Device &) = delete;

	/** Completes construction. Returns nullptr, or why the device cannot be. */
	const char *start();

	/** Resets all blocks, in the order of their dependence. */
	void reset(ResetKind kind);

	/**
	 * Property "fail": should the device refuse the step called @p step? Steps are names in a
	 * comma-separated list. AdminQ commands are asked for as "aq-<name>" (see the table in
	 * adminq.cpp), RDMA commands by their own names.
	 */
	bool fails(std::string_view step) const;

	/** The guest did what the hardware would not accept: goes to QEMU's log and to the trace. */
	[[gnu::format(printf, 2, 3)]] void guest_error(const char *format, ...);

	/** Entries, called by the glue and by Timer and Deferred. */
	uint32_t mmio_read(uint32_t offset);
	void mmio_write(uint32_t offset, uint32_t value);
	bool receive(std::span<const uint8_t> frame);

	/** The device is being worked on. At most one Entry succeeds at a time. */
	class Entry {
	public:
		explicit Entry(Device &dev);
		~Entry();
		Entry(const Entry &) = delete;
		Entry &operator=(const Entry &) = delete;
		explicit operator bool() const { return first_; }

	private:
		Device &dev_;
		bool first_;
	};

	e810_host *const host;
	Memory memory;
	Trace trace;
	Registers registers;

	/* Blocks, in the order in which they are reset. */
	Interrupts interrupts;
	Rdma rdma;

private:
	void flush_receive();

	std::string_view fail_steps_;
	bool busy_ = false;
	bool receive_refused_ = false;
	e810_bh *receive_flush_;
};

/** Makes a plain callback of a member function: callback<&Block::tick>, with the block as opaque. */
template <auto Method>
struct MethodOwner;
template <class Owner, void (Owner::*Method)()>
struct MethodOwner<Method> {
	static void call(void *opaque) { (static_cast<Owner *>(opaque)->*Method)(); }
};
template <auto Method>
constexpr e810_callback callback = MethodOwner<Method>::call;

/**
 * A timer in virtual time that enters the device when it expires:
 *
 *	Timer tick_{dev, callback<&Block::tick>, this};
 */
class Timer {
public:
	Timer(Device &dev, e810_callback fn, void *block);
	~Timer() { e810_timer_free(timer_); }
	Timer(const Timer &) = delete;
	Timer &operator=(const Timer &) = delete;

	/** Expires @p ns nanoseconds from now, instead of at an earlier setting. */
	void arm_in(int64_t ns) { e810_timer_arm(timer_, e810_now() + ns); }
	void cancel() { e810_timer_cancel(timer_); }

private:
	static void expired(void *opaque);

	Device &dev_;
	e810_callback fn_;
	void *block_;
	e810_timer *timer_;
};

/** Work to be done from QEMU's main loop soon, outside the present register access. */
class Deferred {
public:
	Deferred(Device &dev, e810_callback fn, void *block);
	~Deferred() { e810_bh_free(bh_); }
	Deferred(const Deferred &) = delete;
	Deferred &operator=(const Deferred &) = delete;

	void schedule() { e810_bh_schedule(bh_); }
	void cancel() { e810_bh_cancel(bh_); }

private:
	static void run(void *opaque);

	Device &dev_;
	e810_callback fn_;
	void *block_;
	e810_bh *bh_;
};

} // namespace e810
