// SPDX-License-Identifier: GPL-2.0
/*
 * The C half of the faulty module: the parameter that takes a fault's name, and
 * faults that the kernel finds without the compiler's help. The module is built
 * by the rules of irdma.ko, which want a function of ice to be used.
 */
#include <linux/dma-mapping.h>
#include <linux/gfp.h>
#include <linux/mm.h>
#include <linux/module.h>
#include <linux/mutex.h>
#include <linux/net/intel/iidc.h>
#include <linux/pci.h>
#include <linux/slab.h>
#include <linux/spinlock.h>
#include <linux/timer.h>

#include "faults.h"

static DEFINE_MUTEX(lock_a);
static DEFINE_MUTEX(lock_b);
static DEFINE_SPINLOCK(spinlock);

void *faults_allocate(unsigned long size)
{
	return kzalloc(size, GFP_KERNEL);
}

void faults_free(const void *memory)
{
	kfree(memory);
}

static void take_both(struct mutex *first, struct mutex *second)
{
	mutex_lock(first);
	mutex_lock(second);
	mutex_unlock(second);
	mutex_unlock(first);
}

static void lock_order(void)
{
	take_both(&lock_a, &lock_b);
	take_both(&lock_b, &lock_a);
}

static void sleep_in_atomic(void)
{
	spin_lock(&spinlock);
	might_sleep();
	spin_unlock(&spinlock);
}

static void leak(void)
{
	void *memory = kmalloc(777, GFP_KERNEL);

	OPTIMIZER_HIDE_VAR(memory);
}

static void expired(struct timer_list *timer)
{
}

/* A timer whose memory goes while it is armed. */
static void armed_timer(void)
{
	struct timer_list *timer = kzalloc(sizeof(*timer), GFP_KERNEL);

	if (!timer)
		return;
	timer_setup(timer, expired, 0);
	mod_timer(timer, jiffies + 3600 * HZ);
	kfree(timer);
}

/* A DMA mapping that is given back with another size. */
static void dma_size(void)
{
	struct pci_dev *pdev = pci_get_class(PCI_CLASS_NETWORK_ETHERNET << 8, NULL);
	void *memory = kzalloc(128, GFP_KERNEL);
	dma_addr_t address;

	if (pdev && memory) {
		address = dma_map_single(&pdev->dev, memory, 128, DMA_TO_DEVICE);
		if (!dma_mapping_error(&pdev->dev, address))
			dma_unmap_single(&pdev->dev, address, 64, DMA_TO_DEVICE);
	}
	kfree(memory);
	pci_dev_put(pdev);
}

/* A store that no instruction checks, as a device's is. */
static noinline __no_sanitize_address void store_unchecked(void *memory)
{
	WRITE_ONCE(*(u32 *)memory, 0);
}

/* A write into an object that has been given back, found as it is given out again. */
static void stale_object(void)
{
	static struct kmem_cache *cache;
	static void *neighbour; /* keeps the slab */
	void *object;

	if (cache)
		return;
	cache = kmem_cache_create("irdma_faults", 256, 0, 0, NULL);
	if (!cache)
		return;
	neighbour = kmem_cache_alloc(cache, GFP_KERNEL);
	object = kmem_cache_alloc(cache, GFP_KERNEL);
	if (!neighbour || !object)
		return;
	kmem_cache_free(cache, object);
	/* Out of KASAN's quarantine: only then it is poisoned. */
	kmem_cache_shrink(cache);
	store_unchecked(object + 128);
	object = kmem_cache_alloc(cache, GFP_KERNEL);
	if (object)
		kmem_cache_free(cache, object);
}

/* The same with a page. Nobody else gets it meanwhile: it is the first of this CPU's list. */
static void stale_page(void)
{
	struct page *page = alloc_page(GFP_KERNEL);
	unsigned long flags;
	void *memory;

	if (!page)
		return;
	memory = page_address(page);
	local_irq_save(flags);
	__free_page(page);
	store_unchecked(memory + 128);
	page = alloc_page(GFP_ATOMIC);
	local_irq_restore(flags);
	if (page)
		__free_page(page);
}

static void none(void)
{
	struct ice_pf *pf = NULL;

	OPTIMIZER_HIDE_VAR(pf);
	if (pf)
		ice_rdma_request_reset(pf, IIDC_PFR);
}

static const struct {
	const char *name;
	void (*make)(void);
} faults[] = {
	{ "lock_order", lock_order },	{ "sleep_in_atomic", sleep_in_atomic },
	{ "leak", leak },		{ "armed_timer", armed_timer },
	{ "dma_size", dma_size },	{ "stale_object", stale_object },
	{ "stale_page", stale_page },	{ "none", none },
};

static int set_fault(const char *value, const struct kernel_param *param)
{
	char name[32];
	size_t i;

	if (strscpy(name, value, sizeof(name)) < 0)
		return -EINVAL;
	strim(name);
	for (i = 0; i < ARRAY_SIZE(faults); i++) {
		if (!strcmp(faults[i].name, name)) {
			faults[i].make();
			return 0;
		}
	}
	return faults_of_cpp(name) ? -EINVAL : 0;
}

static const struct kernel_param_ops fault_ops = { .set = set_fault };

module_param_cb(fault, &fault_ops, NULL, 0200);
MODULE_PARM_DESC(fault, "Name of a fault to make");
MODULE_DESCRIPTION("Faults that a kernel which checks itself must report");
MODULE_LICENSE("GPL");
