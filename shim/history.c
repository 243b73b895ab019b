// SPDX-License-Identifier: GPL-2.0
/*
 * What is remembered of a function while its devices come and go: ice makes a
 * new auxiliary device after each reset, and without a memory a function that
 * never works would be reset for ever.
 *
 * A record is made when a function is first bound, and lives until the module
 * goes. Its content belongs to the C++ side.
 */
#include <linux/list.h>
#include <linux/mutex.h>
#include <linux/slab.h>

#include "shim_device.h"

struct record {
	struct list_head list;
	int domain;
	unsigned int bus, devfn;
	bool in_use; /* by a device */
	struct shim_history history;
};

static LIST_HEAD(records);
static DEFINE_MUTEX(records_lock);

static struct record *find(const struct pci_dev *pdev)
{
	struct record *record;

	list_for_each_entry(record, &records, list)
		if (record->domain == pci_domain_nr(pdev->bus) &&
		    record->bus == pdev->bus->number && record->devfn == pdev->devfn)
			return record;
	return NULL;
}

/**
 * shim_history_init() - find or make the record of a function
 * @dev: gets it; its link to ice is there
 *
 * It is also the claim to the function: ice may offer one twice, when enable_roce is changed while
 * it rebuilds after a reset, and two devices would take the engine away from each other.
 *
 * Context: May sleep.
 * Return: 0; -EBUSY if another device has it, which has been logged; -ENOMEM.
 */
int shim_history_init(struct shim_device *dev)
{
	struct pci_dev *pdev = dev->pdev;
	struct record *record;
	int err = 0;

	mutex_lock(&records_lock);
	record = find(pdev);
	if (!record) {
		record = kzalloc(sizeof(*record), GFP_KERNEL);
		if (record) {
			record->domain = pci_domain_nr(pdev->bus);
			record->bus = pdev->bus->number;
			record->devfn = pdev->devfn;
			list_add(&record->list, &records);
		}
	}
	if (!record)
		err = -ENOMEM;
	else if (record->in_use)
		err = -EBUSY;
	else
		record->in_use = true;
	mutex_unlock(&records_lock);
	if (!err)
		dev->history = &record->history;
	else if (err == -EBUSY)
		dev_err(&dev->adev->dev, "ice offers the function twice, it is in use already\n");
	return err;
}

/**
 * shim_history_put() - undo shim_history_init(); what is remembered stays
 * @dev: the device; nothing happens if it has no record
 *
 * Context: May sleep.
 */
void shim_history_put(struct shim_device *dev)
{
	if (!dev->history)
		return;
	mutex_lock(&records_lock);
	container_of(dev->history, struct record, history)->in_use = false;
	mutex_unlock(&records_lock);
	dev->history = NULL;
}

/**
 * shim_history_of() - the record of a device's function
 * @dev: the device
 *
 * Return: the record, zeroed at first; no two devices have it at the same time.
 */
struct shim_history *shim_history_of(struct shim_device *dev)
{
	return dev->history;
}

/**
 * shim_history_exit() - forget all; no device is left
 */
void shim_history_exit(void)
{
	struct record *record, *next;

	list_for_each_entry_safe(record, next, &records, list)
		kfree(record);
}
