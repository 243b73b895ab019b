/* SPDX-License-Identifier: GPL-2.0 */
/*
 * What the shims know of a device. C only; the C++ sees an opaque pointer.
 */
#ifndef SHIM_DEVICE_H
#define SHIM_DEVICE_H

#include <linux/auxiliary_bus.h>
#include <linux/netdevice.h>
#include <linux/pci.h>
#include <linux/ratelimit.h>
#include <linux/workqueue.h>
#include <linux/net/intel/iidc.h>
#include <rdma/ib_verbs.h>

#include "driver.h"

struct shim_vector {
	void (*handler)(void *arg);
	void *arg;
	char name[32];
	bool requested;
};

/**
 * struct shim_device - one RDMA function of one NIC
 * @ibdev: what ib_core knows; allocated with ib_alloc_device()
 * @irdma: the C++ side, from irdma_device_start() to irdma_device_stop()
 * @pf: ice's structure of the function, read through ice_layout.h only
 * @pdev: the PCI function, which ice owns
 * @netdev: the netdev of the main VSI
 * @regs: BAR 0, mapped by ice
 * @msix: the MSI-X entries lent by ice, @vectors of them
 * @vector: what is requested of each
 * @workqueue: runs struct shim_work
 * @limited: rate of shim_log_limited()
 * @registered: ib_register_device() has succeeded
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
	struct workqueue_struct *workqueue;
	struct ratelimit_state limited;
	bool registered;
};

static inline struct shim_device *to_shim(struct ib_device *ibdev)
{
	return container_of(ibdev, struct shim_device, ibdev);
}

/* shim/verbs.c */
int shim_ib_register(struct shim_device *dev);
void shim_ib_unregister(struct shim_device *dev);

/* shim/notify.c: netdev, address and neighbour notifiers of all devices */
int shim_notify_init(void);
void shim_notify_exit(void);
/* shim/module.c: call @use for each device that is up, with the list's lock held; may sleep */
void shim_for_each_device(void (*use)(struct shim_device *dev, void *arg), void *arg);

#endif
