// SPDX-License-Identifier: GPL-2.0
/*
 * Memory, DMA memory and registers for the C++ side.
 *
 * What is handed out is counted. What is still out when a device goes, or when
 * the module does, is a leak, and is said: no tool sees DMA memory and large
 * allocations as surely.
 */
#include <linux/dma-mapping.h>
#include <linux/io.h>
#include <linux/mm.h>
#include <linux/slab.h>
#include <linux/string.h>

#include "shim_device.h"

static atomic_t allocations = ATOMIC_INIT(0);

static void *counted(void *mem)
{
	if (mem)
		atomic_inc(&allocations);
	return mem;
}

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
	return counted(kvzalloc(bytes, GFP_KERNEL));
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
	return counted(kzalloc(bytes, GFP_ATOMIC));
}

/**
 * shim_free() - give memory of shim_zalloc() or shim_zalloc_atomic() back
 * @mem: the memory, or NULL
 *
 * Context: Any for memory of shim_zalloc_atomic(), else any but interrupts.
 */
void shim_free(void *mem)
{
	if (!mem)
		return;
	atomic_dec(&allocations);
	kvfree(mem);
}

/**
 * shim_memory_check_module() - say what was never given back; when the module goes
 */
void shim_memory_check_module(void)
{
	int left = atomic_read(&allocations);

	if (left)
		pr_err("irdma: %d allocations were never freed\n", left);
}

/**
 * shim_memory_check_device() - say what DMA memory was never given back
 * @dev: a device that has been stopped
 */
void shim_memory_check_device(struct shim_device *dev)
{
	int left = atomic_read(&dev->dma_buffers);

	if (left)
		dev_err(&dev->adev->dev, "irdma: %d DMA buffers were never freed\n", left);
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

	if (!cpu)
		return NULL;
	atomic_inc(&dev->dma_buffers);
	atomic64_add(PAGE_ALIGN(bytes), &dev->dma_bytes);
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
	atomic64_sub(PAGE_ALIGN(bytes), &dev->dma_bytes);
	atomic_dec(&dev->dma_buffers);
}

/**
 * shim_dma_bytes() - DMA memory that is out
 * @dev: the device
 *
 * Return: bytes, in whole pages.
 */
u64 shim_dma_bytes(struct shim_device *dev)
{
	return atomic64_read(&dev->dma_bytes);
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
