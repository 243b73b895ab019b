/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Instructions that a guest executes, read from the model's device
 * "instruction-counter" (qemu/instructions.c), and what programs tell of them.
 * Used by the programs and the kernel module that scripts/bench runs; its
 * parser is scripts/lib/benchrun.py. A meter takes one sample an operation.
 * The mean of its middle half is told, so that timer ticks do not count.
 */
#ifndef METER_H
#define METER_H

#ifdef __KERNEL__
#include <linux/io.h>
#include <linux/sort.h>
#else
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/io.h>
#endif

#define METER_PORT 0x5e0
#define METER_SAMPLES 4096

/** struct meter - samples of one operation
 * @count: how many
 * @samples: instructions
 */
struct meter {
	unsigned int count;
	uint32_t samples[METER_SAMPLES];
};

/** meter_now() - the count, modulo 2^32 */
static inline uint32_t meter_now(void)
{
	return inl(METER_PORT);
}

/** meter_time() - virtual time in ns, which is that of the device's trace */
static inline uint64_t meter_time(void)
{
	uint32_t low, high;

	__asm__ volatile("rdtsc" : "=a"(low), "=d"(high));
	return (uint64_t)high << 32 | low;
}

/** meter_add() - one operation has ended
 * @meter: takes the sample
 * @since: count when it began; set to the count now
 */
static inline void meter_add(struct meter *meter, uint32_t *since)
{
	uint32_t now = meter_now();

	if (meter->count < METER_SAMPLES)
		meter->samples[meter->count++] = now - *since;
	*since = meter_now();
}

static inline int meter_compare(const void *a, const void *b)
{
	uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;

	return (x > y) - (x < y);
}

/** meter_mean() - mean of the middle half of the samples; the meter begins anew */
static inline uint32_t meter_mean(struct meter *meter)
{
	unsigned int first = meter->count / 4, last = meter->count - first;
	uint64_t sum = 0;

	if (!meter->count)
		return 0;
#ifdef __KERNEL__
	sort(meter->samples, meter->count, sizeof(uint32_t), meter_compare, NULL);
#else
	qsort(meter->samples, meter->count, sizeof(uint32_t), meter_compare);
#endif
	for (unsigned int i = first; i < last; i++)
		sum += meter->samples[i];
	meter->count = 0;
	return (uint32_t)(sum / (last - first));
}

#endif
