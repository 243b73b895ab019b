// SPDX-License-Identifier: GPL-2.0
/*
 * "instruction-counter": two I/O ports that tell a guest how many instructions it has executed.
 *
 * Virtual time under "-icount" counts instructions too, but jumps ahead while the CPU waits for
 * an interrupt. QEMU's raw counter does not, so what a driver costs can be told from how long it
 * waited. scripts/bench adds the device to a guest with one CPU; its programs read the ports.
 *
 * Port 0x5e0, 32 bits: the lower half of the count; reading it latches the upper half.
 * Port 0x5e4, 32 bits: the upper half at that moment.
 */
#include "qemu/osdep.h"
#include "qemu/module.h"
#include "qapi/error.h"
#include "exec/address-spaces.h"
#include "hw/qdev-core.h"
#include "sysemu/cpu-timers.h"

#include "instructions.h"

#define TYPE_COUNTER "instruction-counter"
OBJECT_DECLARE_SIMPLE_TYPE(counter, COUNTER)

enum {
	PORT = 0x5e0,
	PORTS = 8,
};

struct counter {
	DeviceState parent_obj;
	MemoryRegion ports;
	uint32_t upper;
};

static uint64_t counter_read(void *opaque, hwaddr addr, unsigned int size)
{
	struct counter *counter = opaque;
	uint64_t count;

	if (addr)
		return counter->upper;
	count = icount_get_raw();
	counter->upper = count >> 32;
	return (uint32_t)count;
}

static void counter_write(void *opaque, hwaddr addr, uint64_t value, unsigned int size)
{
}

static const MemoryRegionOps counter_ops = {
	.read = counter_read,
	.write = counter_write,
	.endianness = DEVICE_LITTLE_ENDIAN,
	.valid = { .min_access_size = 4, .max_access_size = 4 },
	.impl = { .min_access_size = 4, .max_access_size = 4 },
};

static void counter_realize(DeviceState *qdev, Error **errp)
{
	struct counter *counter = COUNTER(qdev);

	if (!icount_enabled()) {
		error_setg(errp, TYPE_COUNTER ": there is nothing to count without -icount");
		return;
	}
	memory_region_init_io(&counter->ports, OBJECT(counter), &counter_ops, counter, TYPE_COUNTER,
			      PORTS);
	memory_region_add_subregion(get_system_io(), PORT, &counter->ports);
}

static void counter_class_init(ObjectClass *klass, void *data)
{
	DeviceClass *dc = DEVICE_CLASS(klass);

	dc->desc = "I/O ports with the number of executed instructions";
	dc->realize = counter_realize;
	dc->hotpluggable = false;
	set_bit(DEVICE_CATEGORY_MISC, dc->categories);
}

static const TypeInfo counter_type = {
	.name = TYPE_COUNTER,
	.parent = TYPE_DEVICE,
	.instance_size = sizeof(struct counter),
	.class_init = counter_class_init,
};

void instruction_counter_register(void)
{
	type_register_static(&counter_type);
}
