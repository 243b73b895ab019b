// SPDX-License-Identifier: GPL-2.0
/*
 * Debugfs: files in irdma/PCI-ADDRESS/ tell what a device has and does, from when it is
 * up until it is taken down. debugfs waits for readers before it removes a file, so none of them
 * meets a device that is gone. Documentation/driver.rst says what is in each.
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

/* Files that the C++ writes. */
#define VIEW(name, view)						\
static int name##_show(struct seq_file *file, void *unused)		\
{									\
	struct shim_device *dev = file->private;			\
									\
	irdma_show(dev->irdma, view, (struct shim_text *)file);		\
	return 0;							\
}									\
DEFINE_SHOW_ATTRIBUTE(name)
VIEW(cqp, IRDMA_VIEW_CQP);
VIEW(hmc, IRDMA_VIEW_HMC);
VIEW(page_lists, IRDMA_VIEW_PAGE_LISTS);
VIEW(qos, IRDMA_VIEW_QOS);
VIEW(arp, IRDMA_VIEW_ARP);
VIEW(vectors, IRDMA_VIEW_VECTORS);

static const struct {
	const char *name;
	const struct file_operations *fops;
} files[] = {
	{ "memory", &memory_fops },
	{ "cqp", &cqp_fops },
	{ "hmc", &hmc_fops },
	{ "page_lists", &page_lists_fops },
	{ "qos", &qos_fops },
	{ "arp", &arp_fops },
	{ "vectors", &vectors_fops },
};

/**
 * shim_print() - add to what a file of debugfs shows
 * @text: the file's text
 * @fmt: as printk()
 *
 * What no longer fits is dropped, and the whole is written anew to more room.
 *
 * Context: Any.
 */
void shim_print(struct shim_text *text, const char *fmt, ...)
{
	va_list args;

	va_start(args, fmt);
	seq_vprintf((struct seq_file *)text, fmt, args);
	va_end(args);
}

/**
 * shim_debugfs_add() - show a device that is up
 * @dev: the device
 *
 * Context: May sleep. Failures are not told: nothing depends on it.
 */
void shim_debugfs_add(struct shim_device *dev)
{
	int i;

	dev->debugfs = debugfs_create_dir(pci_name(dev->pdev), root);
	for (i = 0; i < ARRAY_SIZE(files); i++)
		debugfs_create_file(files[i].name, 0400, dev->debugfs, dev, files[i].fops);
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
