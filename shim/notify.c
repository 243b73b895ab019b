// SPDX-License-Identifier: GPL-2.0
/*
 * What changes in the network stack and concerns a device: its netdev's state,
 * own addresses and neighbours, also those of VLAN devices and of a bond above it.
 *
 * Some of the kernel's notifier chains are atomic, and what the C++ side makes
 * of a change may sleep. So address and neighbour changes are noted in the
 * device's list, in order, and a work item hands them over.
 */
#include <linux/if_vlan.h>
#include <linux/inetdevice.h>
#include <linux/rculist.h>
#include <linux/rtnetlink.h>
#include <linux/slab.h>
#include <net/addrconf.h>
#include <net/netevent.h>
#include <net/neighbour.h>
#include <rdma/ib_addr.h>

#include "shim_device.h"

/* Devices that are up; read under RCU, changed under the lock. */
static LIST_HEAD(devices);
static DEFINE_SPINLOCK(devices_lock);

enum change_kind {
	OWN_ADDRESS,
	NEIGHBOUR,
};

/* One change, waiting for the work item. */
struct change {
	struct list_head list;
	enum change_kind kind;
	bool present; /* of an own address */
	struct irdma_l2_address address;
};

static void hand_over(struct work_struct *work)
{
	struct shim_device *dev = container_of(work, struct shim_device, notify.work);
	struct change *change, *next;
	LIST_HEAD(changes);

	spin_lock_bh(&dev->notify.lock);
	list_splice_init(&dev->notify.changes, &changes);
	spin_unlock_bh(&dev->notify.lock);

	list_for_each_entry_safe(change, next, &changes, list) {
		if (change->kind == OWN_ADDRESS)
			irdma_own_address(dev->irdma, &change->address, change->present);
		else
			irdma_neighbour(dev->irdma, &change->address);
		kfree(change);
	}
}

/* @ip: one word (IPv4) or four, big endian, on @netdev. Any context. */
static void note(struct shim_device *dev, enum change_kind kind, const struct net_device *netdev,
		 const __be32 *ip, bool ipv4, const u8 *mac, bool present)
{
	struct change *change = kzalloc(sizeof(*change), GFP_ATOMIC);
	struct irdma_l2_address *address;
	int i;

	if (!change) {
		shim_log_limited(dev, SHIM_WARN,
				 "no memory to follow a change of an address or neighbour");
		return;
	}
	change->kind = kind;
	change->present = present;
	address = &change->address;
	address->ipv4 = ipv4;
	if (ipv4)
		address->ip[3] = be32_to_cpu(ip[0]);
	else
		for (i = 0; i < 4; i++)
			address->ip[i] = be32_to_cpu(ip[i]);
	address->vlan = is_vlan_dev(netdev) ? vlan_dev_vlan_id(netdev) : SHIM_NO_VLAN;
	ether_addr_copy(address->mac, mac);

	spin_lock_bh(&dev->notify.lock);
	list_add_tail(&change->list, &dev->notify.changes);
	spin_unlock_bh(&dev->notify.lock);
	queue_work(dev->workqueues[SHIM_WORK_OBJECT], &dev->notify.work);
}

/* Whether @netdev is @lower, or a VLAN on it. */
static bool is_above(struct net_device *netdev, const struct net_device *lower)
{
	return netdev == lower || rdma_vlan_dev_real_dev(netdev) == lower;
}

/* Whether @netdev is the device's own, its bond, or a VLAN on one of them. Under RCU. */
static bool is_of(struct shim_device *dev, struct net_device *netdev)
{
	struct net_device *master = netdev_master_upper_dev_get_rcu(dev->netdev);

	return is_above(netdev, dev->netdev) ||
	       (master && netif_is_bond_master(master) && is_above(netdev, master));
}

/* Note a change on @netdev for each device that it belongs to: of a bond there may be several. */
static void note_for_all(enum change_kind kind, struct net_device *netdev, const __be32 *ip,
			 bool ipv4, const u8 *mac, bool present)
{
	struct shim_device *dev;

	rcu_read_lock();
	list_for_each_entry_rcu(dev, &devices, notify.list)
		if (is_of(dev, netdev))
			note(dev, kind, netdev, ip, ipv4, mac, present);
	rcu_read_unlock();
}

static void note_address(struct net_device *netdev, const __be32 *ip, bool ipv4, bool present)
{
	note_for_all(OWN_ADDRESS, netdev, ip, ipv4, netdev->dev_addr, present);
}

static int inetaddr_event(struct notifier_block *nb, unsigned long event, void *ptr)
{
	struct in_ifaddr *ifa = ptr;

	if (event == NETDEV_UP || event == NETDEV_DOWN)
		note_address(ifa->ifa_dev->dev, &ifa->ifa_local, true, event == NETDEV_UP);
	return NOTIFY_DONE;
}

static int inet6addr_event(struct notifier_block *nb, unsigned long event, void *ptr)
{
	struct inet6_ifaddr *ifa = ptr;

	if (event == NETDEV_UP || event == NETDEV_DOWN)
		note_address(ifa->idev->dev, ifa->addr.s6_addr32, false, event == NETDEV_UP);
	return NOTIFY_DONE;
}

static int netevent_event(struct notifier_block *nb, unsigned long event, void *ptr)
{
	struct neighbour *neigh = ptr;
	u8 mac[ETH_ALEN];
	int family;

	if (event != NETEVENT_NEIGH_UPDATE)
		return NOTIFY_DONE;
	/* Of a neighbour that is lost the last MAC is the best guess; sending then fails by itself. */
	if (!(READ_ONCE(neigh->nud_state) & NUD_VALID))
		return NOTIFY_DONE;

	family = neigh->tbl->family;
	if ((family == AF_INET || family == AF_INET6) && neigh->dev->addr_len == ETH_ALEN) {
		neigh_ha_snapshot(mac, neigh, neigh->dev);
		note_for_all(NEIGHBOUR, neigh->dev, (const __be32 *)neigh->primary_key,
			     family == AF_INET, mac, true);
	}
	return NOTIFY_DONE;
}

/* Note the addresses of @netdev, which came to @dev or leaves it. Under RCU. */
static void note_addresses_of(struct shim_device *dev, struct net_device *netdev, bool present)
{
	struct in_device *in_dev = __in_dev_get_rcu(netdev);
	struct inet6_dev *idev = __in6_dev_get(netdev);
	const u8 *mac = netdev->dev_addr;
	const struct in_ifaddr *ifa;
	struct inet6_ifaddr *ifa6;

	if (in_dev)
		in_dev_for_each_ifa_rcu(ifa, in_dev)
			note(dev, OWN_ADDRESS, netdev, &ifa->ifa_local, true, mac, present);
	if (!idev)
		return;
	read_lock_bh(&idev->lock);
	list_for_each_entry(ifa6, &idev->addr_list, if_list)
		note(dev, OWN_ADDRESS, netdev, ifa6->addr.s6_addr32, false, mac, present);
	read_unlock_bh(&idev->lock);
}

/* Note the addresses that @dev has. Under RCU. */
static void note_all_addresses(struct shim_device *dev)
{
	struct net_device *netdev;

	for_each_netdev_rcu(dev_net(dev->netdev), netdev)
		if (is_of(dev, netdev))
			note_addresses_of(dev, netdev, true);
}

/* The device's netdev has joined a bond or left it. Under RCU. */
static void bond_changed(struct shim_device *dev,
			 const struct netdev_notifier_changeupper_info *info)
{
	struct net_device *netdev;

	if (!netif_is_bond_master(info->upper_dev))
		return;
	for_each_netdev_rcu(dev_net(dev->netdev), netdev)
		if (is_above(netdev, info->upper_dev))
			note_addresses_of(dev, netdev, info->linking);
}

/* An event of the device's own netdev. Under RCU. */
static void own_netdev_event(struct shim_device *dev, unsigned long event, void *ptr)
{
	switch (event) {
	case NETDEV_UP:
	case NETDEV_DOWN:
	case NETDEV_CHANGE:
		shim_notify_port(dev);
		break;
	case NETDEV_CHANGEUPPER:
		bond_changed(dev, ptr);
		break;
	}
}

static int netdevice_event(struct notifier_block *nb, unsigned long event, void *ptr)
{
	struct net_device *netdev = netdev_notifier_info_to_dev(ptr);
	struct shim_device *dev;

	rcu_read_lock();
	list_for_each_entry_rcu(dev, &devices, notify.list) {
		/* Own entries hold the netdev's MAC. */
		if (event == NETDEV_CHANGEADDR && is_of(dev, netdev))
			note_addresses_of(dev, netdev, true);
		if (netdev == dev->netdev)
			own_netdev_event(dev, event, ptr);
	}
	rcu_read_unlock();
	return NOTIFY_DONE;
}

/**
 * shim_notify_port() - tell ib_core's consumers of the port's state, if it has changed
 * @dev: the device; nothing happens before it is registered
 *
 * MTU changes need no notifier: ice has an event for them.
 *
 * Context: rtnl is held, so that no other state is told of meanwhile.
 */
void shim_notify_port(struct shim_device *dev)
{
	int active = netif_running(dev->netdev) && netif_carrier_ok(dev->netdev);

	if (dev->registered && xchg(&dev->notify.port_active, active) != active)
		shim_port_event(dev, active);
}

/**
 * shim_notify_start() - let changes reach a device
 * @dev: the device, whose C++ side is up
 *
 * Context: May sleep. When it returns the addresses that were there have been handed over.
 */
void shim_notify_start(struct shim_device *dev)
{
	INIT_LIST_HEAD(&dev->notify.changes);
	spin_lock_init(&dev->notify.lock);
	INIT_WORK(&dev->notify.work, hand_over);

	/* An address that went meanwhile would be noted as there after it was noted as gone. */
	rtnl_lock();
	spin_lock(&devices_lock);
	list_add_tail_rcu(&dev->notify.list, &devices);
	spin_unlock(&devices_lock);

	rcu_read_lock();
	note_all_addresses(dev);
	rcu_read_unlock();
	rtnl_unlock();
	flush_work(&dev->notify.work);
}

/**
 * shim_notify_stop() - keep changes from a device
 * @dev: the device
 *
 * Context: May sleep. When it returns none is handed over any more.
 */
void shim_notify_stop(struct shim_device *dev)
{
	struct change *change, *next;

	spin_lock(&devices_lock);
	list_del_rcu(&dev->notify.list);
	spin_unlock(&devices_lock);
	synchronize_rcu();

	cancel_work_sync(&dev->notify.work);
	list_for_each_entry_safe(change, next, &dev->notify.changes, list)
		kfree(change);
}

static struct notifier_block inetaddr_nb = { .notifier_call = inetaddr_event };
static struct notifier_block inet6addr_nb = { .notifier_call = inet6addr_event };
static struct notifier_block netevent_nb = { .notifier_call = netevent_event };
static struct notifier_block netdevice_nb = { .notifier_call = netdevice_event };

/**
 * shim_notify_init() - register the notifiers of all devices
 *
 * Return: 0 or a negative errno.
 */
int shim_notify_init(void)
{
	int err = register_inetaddr_notifier(&inetaddr_nb);

	if (err)
		return err;
	err = register_inet6addr_notifier(&inet6addr_nb);
	if (err)
		goto no_inet6addr;
	err = register_netevent_notifier(&netevent_nb);
	if (err)
		goto no_netevent;
	err = register_netdevice_notifier(&netdevice_nb);
	if (err)
		goto no_netdevice;
	return 0;

no_netdevice:
	unregister_netevent_notifier(&netevent_nb);
no_netevent:
	unregister_inet6addr_notifier(&inet6addr_nb);
no_inet6addr:
	unregister_inetaddr_notifier(&inetaddr_nb);
	return err;
}

/**
 * shim_notify_exit() - unregister them; no device is left
 */
void shim_notify_exit(void)
{
	unregister_netdevice_notifier(&netdevice_nb);
	unregister_netevent_notifier(&netevent_nb);
	unregister_inet6addr_notifier(&inet6addr_nb);
	unregister_inetaddr_notifier(&inetaddr_nb);
}
