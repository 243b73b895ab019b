// SPDX-License-Identifier: GPL-2.0
/*
 * Debugfs: irdma/PCI-ADDRESS/memory tells what memory a device uses, from when it
 * is up until it is taken down.
 */
#include <linux/debugfs.h>
#include <linux/seq_file.h>

#include "shim_device.h"

static struct dentry *root;

static int memory_show(struct seq_file *file, void *unused)
{
	struct shim_device *dev = file->private;
	struct irdma_memory_details details;

	irdma_describe_memory(dev->irdma, &details);
	seq_printf(file, "total %llu\n", shim_dma_bytes(dev));
	seq_printf(file, "host_memory_cache %llu\n", details.cache);
	seq_printf(file, "page_lists %llu\n", details.page_lists);
	seq_printf(file, "page_lists_used %llu\n", details.page_lists_used);
	return 0;
}
DEFINE_SHOW_ATTRIBUTE(memory);

/**
 * shim_debugfs_add() - show a device that is up
 * @dev: the device
 *
 * Context: May sleep. Failures are not told: nothing depends on it.
 */
void shim_debugfs_add(struct shim_device *dev)
{
	dev->debugfs = debugfs_create_dir(pci_name(dev->pdev), root);
	debugfs_create_file("memory", 0400, dev->debugfs, dev, &memory_fops);
}

/**
 * shim_debugfs_remove() - undo shim_debugfs_add(), or nothing
 * @dev: the device
 *
 * Context: May sleep. When it returns nobody looks at the device any more.
 */
void shim_debugfs_remove(struct shim_device *dev)
{
	debugfs_remove(dev->debugfs);
	dev->debugfs = NULL;
}

/**
 * shim_debugfs_init() - make the folder of the module
 */
void shim_debugfs_init(void)
{
	root = debugfs_create_dir("irdma", NULL);
}

/**
 * shim_debugfs_exit() - remove it
 */
void shim_debugfs_exit(void)
{
	debugfs_remove(root);
}
