/* SPDX-License-Identifier: GPL-2.0 */
/*
 * What the shims know of a device. C only; the C++ sees an opaque pointer.
 */
#ifndef SHIM_DEVICE_H
#define SHIM_DEVICE_H

#include <linux/auxiliary_bus.h>
#include <linux/interrupt.h>
#include <linux/netdevice.h>
#include <linux/pci.h>
#include <linux/ratelimit.h>
#include <linux/workqueue.h>
#include <linux/net/intel/iidc.h>
#include <rdma/ib_verbs.h>

#include "driver.h"

struct shim_vector {
	struct tasklet_struct tasklet;
	void (*handler)(void *arg);
	void *arg;
	char name[32];
	bool requested;
};

/**
 * struct shim_device - one RDMA function of one NIC
 * @ibdev: what ib_core knows; allocated with ib_alloc_device()
 * @irdma: the C++ side, from irdma_device_start() to irdma_device_stop()
 * @adev: the auxiliary device that ice offers
 * @pf: ice's structure of the function, read through ice_layout.h only
 * @pdev: the PCI function, which ice owns
 * @netdev: the netdev of the main VSI
 * @regs: BAR 0, mapped by ice
 * @msix: the MSI-X entries lent by ice
 * @vector: what is requested of each
 * @vectors: how many there are
 * @pf_id: number of the PCI function
 * @vsi: number of the main VSI
 * @history: what is remembered of the function
 * @workqueues: run struct shim_work, by its kind
 * @limited: rate of shim_log_limited()
 * @registered: ib_register_device() has succeeded
 * @lost: it is being removed since it is reset, or gone
 * @statistics: names of the counters
 * @dma_buffers: how many buffers of shim_dma_alloc() are out
 * @dma_bytes: their bytes, whole pages
 * @debugfs: its folder there
 * @notify: this device's part of shim/notify.c
 * @notify.list: in the list of devices that are told of changes
 * @notify.lock: guards @notify.changes
 * @notify.changes: addresses and neighbours, oldest first, for @notify.work
 * @notify.work: hands them to the C++, which may sleep
 * @notify.port_active: state last told to ib_core's consumers
 */
struct shim_device {
	struct ib_device ibdev;
	struct irdma_device *irdma;
	struct auxiliary_device *adev;
	struct ice_pf *pf;
	struct pci_dev *pdev;
	struct net_device *netdev;
	void __iomem *regs;
	struct msix_entry *msix;
	struct shim_vector *vector;
	u32 vectors;
	u16 pf_id;
	u16 vsi;
	struct shim_history *history;
	struct workqueue_struct *workqueues[SHIM_WORK_KINDS];
	struct ratelimit_state limited[SHIM_DBG]; /* by level, lest refusals hide events */
	bool registered;
	bool lost;
	struct rdma_stat_desc statistics[IRDMA_STATISTICS];
	atomic_t dma_buffers;
	atomic64_t dma_bytes;
	struct dentry *debugfs;
	struct {
		struct list_head list;
		spinlock_t lock; /* guards changes */
		struct list_head changes;
		struct work_struct work;
		int port_active;
	} notify;
};

static inline struct shim_device *to_shim(struct ib_device *ibdev)
{
	return container_of(ibdev, struct shim_device, ibdev);
}

/* shim/memory.c: say what was never given back, when a device goes and when the module goes */
void shim_memory_check_device(struct shim_device *dev);
void shim_memory_check_module(void);

/* shim/debugfs.c */
void shim_debugfs_add(struct shim_device *dev);
void shim_debugfs_remove(struct shim_device *dev);
void shim_debugfs_init(void);
void shim_debugfs_exit(void);

/* shim/verbs.c */
int shim_ib_register(struct shim_device *dev);
void shim_ib_unregister(struct shim_device *dev);

/* shim/ice_link.c */
int shim_link_init(struct shim_device *dev, struct auxiliary_device *adev, struct ice_pf *pf);
struct shim_device *shim_device_of(struct ice_pf *pf);

/* shim/history.c */
int shim_history_init(struct shim_device *dev);
void shim_history_put(struct shim_device *dev);
void shim_history_exit(void);

/* shim/notify.c: netdev, address and neighbour notifiers of all devices */
int shim_notify_init(void);
void shim_notify_exit(void);
/* From now on changes reach @dev->irdma; those that are there have when it returns. May sleep. */
void shim_notify_start(struct shim_device *dev);
/* When it returns none reaches it any more. May sleep. */
void shim_notify_stop(struct shim_device *dev);
/* Tell ib_core's consumers of the port's state, if it is another than last time. */
void shim_notify_port(struct shim_device *dev);

#endif
