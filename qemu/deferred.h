// SPDX-License-Identifier: GPL-2.0
/*
 * Work for later: timers in virtual time and deferred calls.
 *
 * Both enter the device (Device::Entry) before they call their block. They are members of the blocks
 * that use them, so no call comes after the block is gone.
 */
#pragma once

#include <cstdint>

#include "glue.h"

namespace e810 {

class Device;

/** Makes a plain callback of a member function: callback<&Block::tick>, with the block as opaque. */
template <auto Method> struct MethodOwner;
template <class Owner, void (Owner::*Method)()> struct MethodOwner<Method> {
	static void call(void *opaque) { (static_cast<Owner *>(opaque)->*Method)(); }
};
template <auto Method> constexpr e810_callback callback = MethodOwner<Method>::call;

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

/** Work to be done soon, from QEMU's main loop or a timer, outside the present register access. */
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
