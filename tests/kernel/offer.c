// SPDX-License-Identifier: GPL-2.0
/*
 * offer_test.ko: offers an RDMA function once more, as ice does that rebuilds
 * while enable_roce is changed. insmod fails with EEXIST if a driver takes it.
 */
#include <linux/module.h>
#include <linux/net/intel/iidc.h>
#include <linux/netdevice.h>

static char *netdev = "eth0";
module_param(netdev, charp, 0444);
MODULE_PARM_DESC(netdev, "network interface of the function");

/* Unlike any number that ice gives. */
#define OFFER_ID 77

static struct iidc_auxiliary_dev second;

static void release(struct device *dev)
{
	/* It is static. */
}

static int is_rdma(struct device *dev, void *unused)
{
	return strncmp(dev_name(dev), "ice.roce.", strlen("ice.roce.")) == 0;
}

static int offer(const struct iidc_auxiliary_dev *first)
{
	struct auxiliary_device *adev = &second.adev;
	bool taken;
	int err;

	second.pf = first->pf;
	adev->name = "roce";
	adev->id = OFFER_ID;
	adev->dev.parent = first->adev.dev.parent;
	adev->dev.release = release;
	err = auxiliary_device_init(adev);
	if (err)
		return err;
	err = __auxiliary_device_add(adev, "ice");
	if (!err) {
		taken = adev->dev.driver;
		auxiliary_device_delete(adev);
		err = taken ? -EEXIST : 0;
	}
	auxiliary_device_uninit(adev);
	return err;
}

static int __init offer_init(void)
{
	struct net_device *dev = dev_get_by_name(&init_net, netdev);
	struct device *first;
	int err = -ENODEV;

	if (!dev)
		return err;
	first = device_find_child(dev->dev.parent, NULL, is_rdma);
	if (first) {
		err = offer(container_of(to_auxiliary_dev(first), struct iidc_auxiliary_dev, adev));
		put_device(first);
	}
	dev_put(dev);
	return err;
}
module_init(offer_init);

static void __exit offer_exit(void)
{
}
module_exit(offer_exit);
MODULE_DESCRIPTION("Offers an RDMA function of ice twice");
MODULE_LICENSE("GPL");
