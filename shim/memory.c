// SPDX-License-Identifier: GPL-2.0
/*
 * Memory, DMA memory and registers for the C++ side.
 */
#include <linux/dma-mapping.h>
#include <linux/io.h>
#include <linux/mm.h>
#include <linux/slab.h>
#include <linux/string.h>

#include "shim_device.h"

/**
 * shim_zalloc() - allocate zeroed memory
 * @bytes: its size; large ones are not physically contiguous
 *
 * Context: May sleep.
 * Return: the memory, or NULL.
 */
void *shim_zalloc(u64 bytes)
{
	/* The allocator warns of what no machine has. */
	if (bytes > INT_MAX)
		return NULL;
	return kvzalloc(bytes, GFP_KERNEL);
}

/**
 * shim_zalloc_atomic() - allocate a little zeroed memory
 * @bytes: its size
 *
 * Context: Any.
 * Return: the memory, or NULL.
 */
void *shim_zalloc_atomic(u64 bytes)
{
	return kzalloc(bytes, GFP_ATOMIC);
}

/**
 * shim_free() - give memory of shim_zalloc() or shim_zalloc_atomic() back
 * @mem: the memory, or NULL
 *
 * Context: Any for memory of shim_zalloc_atomic(), else any but interrupts.
 */
void shim_free(void *mem)
{
	kvfree(mem);
}

/**
 * shim_memset() - memset() for C++
 * @mem: what to fill
 * @byte: with what
 * @bytes: how much
 */
void shim_memset(void *mem, int byte, u64 bytes)
{
	memset(mem, byte, bytes);
}

/**
 * shim_memcpy() - memcpy() for C++
 * @to: where to
 * @from: where from
 * @bytes: how much
 */
void shim_memcpy(void *to, const void *from, u64 bytes)
{
	memcpy(to, from, bytes);
}

/**
 * shim_dma_alloc() - allocate coherent DMA memory, zeroed and page aligned
 * @dev: the device that shall reach it
 * @bytes: its size; aligned to the power of two that holds it
 * @bus: gets its address as the device sees it
 *
 * Context: May sleep.
 * Return: its address for the CPU, or NULL.
 */
void *shim_dma_alloc(struct shim_device *dev, u64 bytes, u64 *bus)
{
	dma_addr_t dma;
	void *cpu = dma_alloc_coherent(&dev->pdev->dev, bytes, &dma, GFP_KERNEL | __GFP_NOWARN);

	if (cpu)
		*bus = dma;
	return cpu;
}

/**
 * shim_dma_free() - give memory of shim_dma_alloc() back
 * @dev: as it was allocated for
 * @bytes: as it was allocated with
 * @cpu: its address for the CPU
 * @bus: its address for the device
 *
 * Context: May sleep.
 */
void shim_dma_free(struct shim_device *dev, u64 bytes, void *cpu, u64 bus)
{
	dma_free_coherent(&dev->pdev->dev, bytes, cpu, bus);
}

/**
 * shim_reg_read() - read a 32-bit register
 * @dev: the device
 * @offset: bytes from the start of BAR 0
 *
 * Return: its value; all ones if the device is gone from the bus.
 */
u32 shim_reg_read(struct shim_device *dev, u32 offset)
{
	return readl(dev->regs + offset);
}

/**
 * shim_reg_write() - write a 32-bit register
 * @dev: the device
 * @offset: bytes from the start of BAR 0
 * @value: what to write; memory written before is seen by the device first
 */
void shim_reg_write(struct shim_device *dev, u32 offset, u32 value)
{
	writel(value, dev->regs + offset);
}
