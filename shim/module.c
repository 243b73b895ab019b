// SPDX-License-Identifier: GPL-2.0
/*
 * The module: it binds to the RDMA functions that ice offers on the auxiliary
 * bus, brings each up, and hands ice's events on.
 *
 * A reset of the NIC needs nothing of its own: ice removes the auxiliary
 * device before it, and offers it anew after.
 */
#include <linux/module.h>
#include <linux/net/intel/iidc.h>
#include <linux/rtnetlink.h>

#include "compat.h"
#include "shim_device.h"

static unsigned int limits_sel = SHIM_LIMITS_SEL_MAX;
module_param(limits_sel, uint, 0444);
MODULE_PARM_DESC(limits_sel,
		 "Resource limits, which set the memory a port takes: most QPs are for 0: 128, 1: 1024, 2: 2048, 3: 4096, 4: 16384, 5: 65536, 6: 131072, 7: 262144 (default)");

/**
 * shim_limits_sel() - resource limits that the administrator has chosen
 *
 * Return: 0 to SHIM_LIMITS_SEL_MAX
 */
u32 shim_limits_sel(void)
{
	return limits_sel;
}

/* What needs no device: memory and the link to ice. */
static int prepare(struct shim_device *dev, struct auxiliary_device *adev)
{
	struct iidc_auxiliary_dev *iidc = container_of(adev, struct iidc_auxiliary_dev, adev);
	int err = shim_link_init(dev, adev, iidc->pf);
	int i;

	if (!err)
		err = shim_history_init(dev);
	if (err)
		return err;
	for (i = 0; i < ARRAY_SIZE(dev->limited); i++)
		ratelimit_state_init(&dev->limited[i], 5 * HZ, 10);
	dev->vector = kcalloc(dev->vectors, sizeof(*dev->vector), GFP_KERNEL);
	if (!dev->vector)
		return -ENOMEM;
	for (i = 0; i < SHIM_WORK_KINDS; i++) {
		dev->workqueues[i] = alloc_workqueue("irdma-%s-%s", WQ_UNBOUND | WQ_MEM_RECLAIM, 0,
						     i == SHIM_WORK_EVENTS ? "events" : "objects",
						     pci_name(dev->pdev));
		if (!dev->workqueues[i])
			return -ENOMEM;
	}
	return 0;
}

static void release(struct shim_device *dev)
{
	int i;

	for (i = 0; i < SHIM_WORK_KINDS; i++)
		if (dev->workqueues[i])
			destroy_workqueue(dev->workqueues[i]);
	kfree(dev->vector);
	shim_memory_check_device(dev);
	shim_history_put(dev);
	ib_dealloc_device(&dev->ibdev);
}

/* Undo bring_up(), from where it got to. */
static void take_down(struct shim_device *dev)
{
	bool registered = dev->registered;

	dev->lost = !irdma_device_removing(dev->irdma);
	dev->registered = false;
	shim_notify_stop(dev); /* first: no event may reach ib_core once the ib_device is gone */
	if (registered) {
		shim_ib_unregister(dev);
		/*
		 * Not before: consumers that are told to go still talk to their peers. ice takes
		 * no command from us while the device is reset, nor when it is gone.
		 */
		if (!dev->lost)
			shim_vsi_filter(dev, false);
	}
	shim_debugfs_remove(dev);
	irdma_device_stop(dev->irdma);
}

static int bring_up(struct shim_device *dev)
{
	int err = irdma_device_start(dev, &dev->irdma);

	if (err)
		return err;
	shim_debugfs_add(dev);
	shim_notify_start(dev);
	err = shim_ib_register(dev);
	if (!err) {
		dev->registered = true;
		irdma_device_registered(dev->irdma);
		err = shim_vsi_filter(dev, true);
	}
	if (err) {
		take_down(dev);
		return err;
	}
	rtnl_lock();
	shim_notify_port(dev);
	rtnl_unlock();
	return 0;
}

static int probe(struct auxiliary_device *adev, const struct auxiliary_device_id *id)
{
	struct shim_device *dev = ib_alloc_device(shim_device, ibdev);
	int err;

	if (!dev)
		return -ENOMEM;
	err = prepare(dev, adev);
	if (!err)
		err = bring_up(dev);
	if (err) {
		release(dev);
		return err;
	}
	auxiliary_set_drvdata(adev, dev);
	return 0;
}

static void remove(struct auxiliary_device *adev)
{
	struct shim_device *dev = auxiliary_get_drvdata(adev);

	take_down(dev);
	release(dev);
}

/* Called by ice with the device's lock held, which keeps it from being removed. May sleep. */
static void event_handler(struct ice_pf *pf, struct iidc_event *event)
{
	struct shim_device *dev = shim_device_of(pf);

	if (!dev)
		return;
	if (test_bit(IIDC_EVENT_AFTER_MTU_CHANGE, event->type))
		irdma_mtu_changed(dev->irdma, dev->netdev->mtu);
	if (test_bit(IIDC_EVENT_BEFORE_TC_CHANGE, event->type))
		irdma_before_tc_change(dev->irdma);
	if (test_bit(IIDC_EVENT_AFTER_TC_CHANGE, event->type))
		irdma_after_tc_change(dev->irdma);
	if (test_bit(IIDC_EVENT_CRIT_ERR, event->type))
		irdma_critical_error(dev->irdma, event->reg);
}

static const struct auxiliary_device_id id_table[] = {
	{ .name = "ice.roce" },
	{ .name = "ice.iwarp" }, /* to say why it is not served */
	{}
};
MODULE_DEVICE_TABLE(auxiliary, id_table);

static struct iidc_auxiliary_drv driver = {
	.adrv = {
		.id_table = id_table,
		.probe = probe,
		.remove = remove,
	},
	.event_handler = event_handler,
};

static int __init irdma_init(void)
{
	int err;

	if (limits_sel > SHIM_LIMITS_SEL_MAX) {
		pr_err("irdma: limits_sel=%u is not one of 0 to %u\n", limits_sel,
		       SHIM_LIMITS_SEL_MAX);
		return -EINVAL;
	}
	err = shim_notify_init();
	if (err)
		return err;
	shim_debugfs_init();
	err = auxiliary_driver_register(&driver.adrv);
	if (err) {
		shim_debugfs_exit();
		shim_notify_exit();
	}
	return err;
}
module_init(irdma_init);

static void __exit irdma_exit(void)
{
	auxiliary_driver_unregister(&driver.adrv);
	shim_debugfs_exit();
	shim_notify_exit();
	shim_history_exit();
	shim_memory_check_module();
}
module_exit(irdma_exit);

MODULE_DESCRIPTION("RoCEv2 driver for the Intel E810");
MODULE_LICENSE("GPL");
/* The kernel's own has none. DKMS replaces no module by one of the same version. */
MODULE_VERSION("0.7");
