// SPDX-License-Identifier: GPL-2.0
/* Timers and deferred calls; see deferred.h. */
#include "deferred.h"

#include "device.h"

namespace e810 {

Timer::Timer(Device &dev, e810_callback fn, void *block)
	: dev_(dev), fn_(fn), block_(block), timer_(e810_timer_new(expired, this))
{
}

void Timer::expired(void *opaque)
{
	auto *timer = static_cast<Timer *>(opaque);
	Device::Entry entry(timer->dev_);

	if (entry)
		timer->fn_(timer->block_);
}

Deferred::Deferred(Device &dev, e810_callback fn, void *block)
	: dev_(dev), fn_(fn), block_(block), bh_(e810_bh_new(run, this))
{
}

void Deferred::run(void *opaque)
{
	auto *deferred = static_cast<Deferred *>(opaque);
	Device::Entry entry(deferred->dev_);

	if (entry)
		deferred->fn_(deferred->block_);
}

} // namespace e810
