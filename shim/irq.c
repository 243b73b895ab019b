// SPDX-License-Identifier: GPL-2.0
/*
 * The interrupt vectors that ice lends. ice has allocated them; they are
 * requested here one by one, for the C++ side's event queues.
 *
 * What a vector is for is done in a tasklet. While the CPU is still at work on
 * what earlier events have led to, in softirqs too, further ones gather: the
 * device does not interrupt again before the handler has enabled the vector.
 */
#include <linux/cpumask.h>
#include <linux/interrupt.h>

#include "shim_device.h"

static void serve_vector(struct tasklet_struct *tasklet)
{
	struct shim_vector *vector = from_tasklet(vector, tasklet, tasklet);

	vector->handler(vector->arg);
}

static irqreturn_t handle_irq(int irq, void *arg)
{
	struct shim_vector *vector = arg;

	tasklet_schedule(&vector->tasklet);
	return IRQ_HANDLED;
}

/**
 * shim_vectors() - number of vectors that ice lends
 * @dev: the device
 *
 * Return: the number, at least 1.
 */
u32 shim_vectors(struct shim_device *dev)
{
	return dev->vectors;
}

/**
 * shim_vector_hw_index() - a vector's number in the function's MSI-X table
 * @dev: the device
 * @index: which of the lent ones
 *
 * Return: what cause registers want to know.
 */
u32 shim_vector_hw_index(struct shim_device *dev, u32 index)
{
	return dev->msix[index].entry;
}

/**
 * shim_vector_irq() - the kernel's number of a vector
 * @dev: the device
 * @index: which of the lent ones
 *
 * Return: as /proc/interrupts has it.
 */
int shim_vector_irq(struct shim_device *dev, u32 index)
{
	return dev->msix[index].vector;
}

/**
 * shim_irq_request() - have a function called when a vector fires
 * @dev: the device
 * @index: which of the lent vectors
 * @handler: called in a tasklet
 * @arg: its argument
 * @use: what it is for, shown in /proc/interrupts
 * @number: shown behind @use, unless negative
 * @cpu: where it shall fire, or -1
 *
 * Context: May sleep.
 * Return: 0 or a negative errno.
 */
int shim_irq_request(struct shim_device *dev, u32 index, void (*handler)(void *arg), void *arg,
		     const char *use, int number, int cpu)
{
	struct shim_vector *vector = &dev->vector[index];
	int irq = dev->msix[index].vector;
	int err;

	vector->handler = handler;
	vector->arg = arg;
	tasklet_setup(&vector->tasklet, serve_vector);
	if (number >= 0)
		snprintf(vector->name, sizeof(vector->name), "irdma-%s-%s-%d",
			 pci_name(dev->pdev), use, number);
	else
		snprintf(vector->name, sizeof(vector->name), "irdma-%s-%s",
			 pci_name(dev->pdev), use);

	err = request_irq(irq, handle_irq, 0, vector->name, vector);
	if (err)
		return err;
	if (cpu >= 0)
		irq_set_affinity_and_hint(irq, cpumask_of(cpu));
	vector->requested = true;
	return 0;
}

/**
 * shim_irq_free() - no more calls; waits for a running one
 * @dev: the device
 * @index: which of the lent vectors
 *
 * Context: May sleep.
 */
void shim_irq_free(struct shim_device *dev, u32 index)
{
	struct shim_vector *vector = &dev->vector[index];
	int irq = dev->msix[index].vector;

	if (!vector->requested)
		return;
	vector->requested = false;
	irq_update_affinity_hint(irq, NULL);
	free_irq(irq, vector);
	tasklet_kill(&vector->tasklet);
}

/**
 * shim_online_cpus() - number of CPUs at work
 *
 * Return: the number.
 */
u32 shim_online_cpus(void)
{
	return num_online_cpus();
}

/**
 * shim_spread_cpu() - a CPU for the i-th of several vectors
 * @dev: CPUs near it come first
 * @i: which one
 *
 * Return: the CPU.
 */
int shim_spread_cpu(struct shim_device *dev, u32 i)
{
	return cpumask_local_spread(i, dev_to_node(&dev->pdev->dev));
}
