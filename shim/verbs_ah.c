// SPDX-License-Identifier: GPL-2.0
/*
 * Verbs: paths, as ib_core has resolved them, and address handles.
 */
#include <linux/if_vlan.h>
#include <net/ip.h>
#include <net/ipv6.h>
#include <net/route.h>
#include <rdma/ib_addr.h>
#include <rdma/ib_cache.h>
#include <rdma/irdma-abi.h>

#include "verbs.h"
#include "work_request.h"

/* ---- Paths ---- */

static bool is_ipv4(const union ib_gid *gid)
{
	return ipv6_addr_v4mapped((const struct in6_addr *)gid->raw);
}

/* A GID as address in CPU order, IPv4 in the last word. */
static void fill_ip(u32 ip[4], const union ib_gid *gid)
{
	const __be32 *word = (const __be32 *)gid->raw;
	int i;

	for (i = 0; i < 4; i++)
		ip[i] = i < 3 && is_ipv4(gid) ? 0 : be32_to_cpu(word[i]);
}

static void mcast_mac(u8 mac[ETH_ALEN], const union ib_gid *gid)
{
	if (is_ipv4(gid))
		ip_eth_mc_map(((const __be32 *)gid->raw)[3], (char *)mac);
	else
		ipv6_eth_mc_map((const struct in6_addr *)gid->raw, (char *)mac);
}

/* Priority on the wire of each socket priority: the VLAN device's map, else the same. */
static void fill_egress(u8 map[16], const struct ib_gid_attr *sgid)
{
	struct net_device *netdev;
	int i;

	rcu_read_lock();
	netdev = rcu_dereference(sgid->ndev);
	for (i = 0; i < 16; i++)
		map[i] = netdev && is_vlan_dev(netdev) ?
			 vlan_dev_get_egress_qos_mask(netdev, i) >> VLAN_PRIO_SHIFT : i & 7;
	rcu_read_unlock();
}

static int check_gids(struct shim_device *dev, const struct ib_gid_attr *sgid,
		      const union ib_gid *dgid)
{
	if (sgid->gid_type != IB_GID_TYPE_ROCE_UDP_ENCAP) {
		shim_log_limited(dev, SHIM_DBG, "path: source GID %d is not of RoCEv2",
				 sgid->index);
		return -EINVAL;
	}
	if (is_ipv4(&sgid->gid) != is_ipv4(dgid)) {
		shim_log_limited(dev, SHIM_DBG,
				 "path: from source GID %d (%pI6c) to %pI6c: one is IPv4, one IPv6",
				 sgid->index, sgid->gid.raw, dgid->raw);
		return -EINVAL;
	}
	return 0;
}

/**
 * shim_fill_path() - resolve a path as far as ib_core knows it
 * @dev: the device
 * @attr: the path; its DMAC is resolved, its source GID held
 * @may_sleep: else a gateway is not looked for
 * @path: gets it
 *
 * Context: Any; process context if @may_sleep.
 * Return: 0; -EINVAL for a path that is not RoCEv2; -ENODEV if the source GID's netdev is gone.
 */
int shim_fill_path(struct shim_device *dev, const struct rdma_ah_attr *attr, bool may_sleep,
		   struct irdma_path *path)
{
	const struct ib_global_route *grh = &attr->grh;
	const struct ib_gid_attr *sgid = grh->sgid_attr;
	int err;

	if (attr->type != RDMA_AH_ATTR_TYPE_ROCE || !(attr->ah_flags & IB_AH_GRH) || !sgid) {
		shim_log_limited(dev, SHIM_DBG, "path: without GRH");
		return -EINVAL;
	}
	err = check_gids(dev, sgid, &grh->dgid);
	if (err)
		return err;

	memset(path, 0, sizeof(*path));
	BUILD_BUG_ON(SHIM_NO_VLAN < VLAN_N_VID);
	err = rdma_read_gid_l2_fields(sgid, &path->vlan, path->smac);
	if (err)
		return err;
	fill_egress(path->vlan_egress, sgid);

	path->grh = true;
	path->ipv4 = is_ipv4(&grh->dgid);
	path->multicast = rdma_is_multicast_addr((struct in6_addr *)grh->dgid.raw);
	if (path->multicast)
		mcast_mac(path->dmac, &grh->dgid);
	else
		ether_addr_copy(path->dmac, attr->roce.dmac);
	memcpy(path->dgid, grh->dgid.raw, sizeof(path->dgid));
	fill_ip(path->dest_ip, &grh->dgid);
	fill_ip(path->src_ip, &sgid->gid);
	shim_fill_next_hop(dev, sgid, may_sleep, path);
	path->sgid_index = grh->sgid_index;
	path->hop_limit = grh->hop_limit;
	path->traffic_class = grh->traffic_class;
	path->flow_label = grh->flow_label;
	path->sl = attr->sl;
	path->static_rate = attr->static_rate;
	path->port = attr->port_num;
	path->tos_priority = rt_tos2priority(grh->traffic_class);
	return 0;
}

/**
 * shim_fill_ah_attr() - a path as ib_core reports it
 * @path: the path
 * @attr: gets it
 *
 * Context: Any.
 */
void shim_fill_ah_attr(const struct irdma_path *path, struct rdma_ah_attr *attr)
{
	memset(attr, 0, sizeof(*attr));
	attr->type = RDMA_AH_ATTR_TYPE_ROCE;
	if (!path->grh)
		return;
	attr->ah_flags = IB_AH_GRH;
	attr->sl = path->sl;
	attr->static_rate = path->static_rate;
	attr->port_num = path->port;
	memcpy(attr->grh.dgid.raw, path->dgid, sizeof(path->dgid));
	attr->grh.sgid_index = path->sgid_index;
	attr->grh.hop_limit = path->hop_limit;
	attr->grh.traffic_class = path->traffic_class;
	attr->grh.flow_label = path->flow_label;
	ether_addr_copy(attr->roce.dmac, path->dmac);
}

/* ---- Address handles ---- */

/**
 * shim_create_ah() - make an address handle
 * @ib: its ib_core side
 * @attr: the path, and whether the call may sleep
 * @udata: gets its number; NULL for the kernel
 *
 * Context: May sleep if the flags say so.
 * Return: 0 or a negative errno.
 */
int shim_create_ah(struct ib_ah *ib, struct rdma_ah_init_attr *attr, struct ib_udata *udata)
{
	struct shim_ah *ah = container_of(ib, struct shim_ah, ib);
	struct shim_device *dev = to_shim(ib->device);
	bool may_sleep = attr->flags & RDMA_CREATE_AH_SLEEPABLE;
	struct irdma_create_ah_resp resp = {};
	int err;

	if (udata && !udata_ok(IRDMA_CALL_AH, udata))
		return -EINVAL;
	err = shim_fill_path(dev, attr->ah_attr, may_sleep, &ah->path);
	if (err)
		return err;
	err = irdma_ah_create(dev->irdma, pd_of(ib->pd), &ah->path, may_sleep, udata, &ah->irdma,
			      &resp.ah_id);
	if (err || !udata)
		return err;
	err = ib_copy_to_udata(udata, &resp, min(sizeof(resp), udata->outlen));
	if (err)
		irdma_ah_destroy(ah->irdma, may_sleep);
	return err;
}

/**
 * shim_destroy_ah() - destroy an address handle
 * @ib: its ib_core side
 * @flags: whether the call may sleep
 *
 * Return: 0
 */
int shim_destroy_ah(struct ib_ah *ib, u32 flags)
{
	irdma_ah_destroy(container_of(ib, struct shim_ah, ib)->irdma,
			 flags & RDMA_DESTROY_AH_SLEEPABLE);
	return 0;
}

/**
 * shim_query_ah() - what an address handle was made with
 * @ib: its ib_core side
 * @attr: gets it
 *
 * Return: 0
 */
int shim_query_ah(struct ib_ah *ib, struct rdma_ah_attr *attr)
{
	shim_fill_ah_attr(&container_of(ib, struct shim_ah, ib)->path, attr);
	return 0;
}

/**
 * shim_ah_of() - the C++ object of an address handle, for the data path
 * @ib_ah: the handle
 *
 * Return: the object.
 */
struct irdma_ah *shim_ah_of(void *ib_ah)
{
	return container_of((struct ib_ah *)ib_ah, struct shim_ah, ib)->irdma;
}

/* ---- Multicast ---- */

/**
 * shim_attach_mcast() - have a QP get what is sent to a group
 * @ib: the QP, UD
 * @gid: the group
 * @lid: not used by RoCE
 *
 * Return: 0 or a negative errno.
 */
int shim_attach_mcast(struct ib_qp *ib, union ib_gid *gid, u16 lid)
{
	u8 mac[ETH_ALEN];
	u32 ip[4];

	fill_ip(ip, gid);
	mcast_mac(mac, gid);
	return irdma_mcast_attach(to_shim(ib->device)->irdma, qp_of(ib), ip, is_ipv4(gid), mac);
}

/**
 * shim_detach_mcast() - undo shim_attach_mcast()
 * @ib: the QP
 * @gid: the group
 * @lid: not used by RoCE
 *
 * Return: 0, or -EINVAL if it is not attached.
 */
int shim_detach_mcast(struct ib_qp *ib, union ib_gid *gid, u16 lid)
{
	u32 ip[4];

	fill_ip(ip, gid);
	return irdma_mcast_detach(to_shim(ib->device)->irdma, qp_of(ib), ip, is_ipv4(gid));
}
