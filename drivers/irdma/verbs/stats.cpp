// SPDX-License-Identifier: GPL-2.0
/* Statistics; see stats.h. */
#include "stats.h"

#include "../device.h"

namespace irdma {

namespace {

constexpr u32 interval_ms = 60 * 1000;

static_assert(sizeof(hw::Statistics) == hw::cqp_stats::gather_bytes);

/* Each width that a counter has: forward, standing still, around. */
consteval bool wraps(unsigned bits)
{
	const hw::Field counter = {"", 0, static_cast<u8>(bits - 1), 0};
	u64 max = counter.max();

	return hw::counter_delta(counter, 5, 12) == 7 && hw::counter_delta(counter, 5, 5) == 0 &&
	       hw::counter_delta(counter, max, 0) == 1 &&
	       hw::counter_delta(counter, max - 2, 4) == 7 &&
	       hw::counter_delta(counter, 1, 0) == max;
}
static_assert(wraps(24) && wraps(32) && wraps(48) && wraps(56) && wraps(64));

} // namespace

Status Statistics::create()
{
	auto buffer = DmaBuffer::create(device_.shim, sizeof(hw::Statistics));

	IRDMA_TRY(buffer);
	buffer_ = buffer.take();
	work_.queue_ms(device_.shim, interval_ms);
	return {};
}

void Statistics::destroy()
{
	work_.cancel();
	/* A device that does not answer may still write to it. */
	if (device_.dead())
		device_.graveyard.bury(move(buffer_));
	buffer_ = {};
}

Status Statistics::gather()
{
	auto gathered = device_.cqp.run(cmd::GatherStats{.buffer = buffer_.bus()});

	IRDMA_TRY(gathered);
	const hw::Statistics &now = *buffer_.as<hw::Statistics>();
	for (u32 i = 0; i < count; i++) {
		const hw::Field &counter = hw::statistics[i];
		u64 value = now.get(counter);

		total_[i] += hw::counter_delta(counter, last_[i], value);
		last_[i] = value;
	}
	return {};
}

Status Statistics::read(u64 (&values)[count])
{
	MutexGuard guard(mutex_);

	IRDMA_TRY(gather());
	for (u32 i = 0; i < count; i++)
		values[i] = total_[i];
	return {};
}

/* What could not be gathered now is next time. */
void Statistics::once_a_minute(void *statistics)
{
	Statistics &s = *static_cast<Statistics *>(statistics);
	MutexGuard guard(s.mutex_);

	if (s.device_.dead())
		return;
	(void)s.gather();
	s.work_.queue_ms(s.device_.shim, interval_ms);
}

} // namespace irdma

using namespace irdma;

/**
 * irdma_statistic_name() - name of a counter
 * @index: which, below IRDMA_STATISTICS
 *
 * Any context.
 */
const char *irdma_statistic_name(u32 index)
{
	return hw::statistics[index].name;
}

/**
 * irdma_read_statistics() - all counters of the function
 * @device: the device
 * @values: gets them
 *
 * May sleep. Return: 0, or a negative errno if the device does not tell.
 */
int irdma_read_statistics(irdma_device *device, u64 (*values)[IRDMA_STATISTICS])
{
	return from_c(device)->statistics.read(*values).code();
}
