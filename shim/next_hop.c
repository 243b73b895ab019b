// SPDX-License-Identifier: GPL-2.0
/*
 * Where packets of a path go first, and that machine's MAC: the kernel's routes and
 * neighbours. ib_core resolves a path to a MAC without telling whose it is, which is not
 * enough to follow it when it changes.
 */
#include <net/addrconf.h>
#include <net/arp.h>
#include <net/ip6_route.h>
#include <net/ndisc.h>
#include <net/neighbour.h>
#include <net/route.h>

#include "verbs.h"

static void to_network(__be32 to[4], const u32 from[4])
{
	int i;

	for (i = 0; i < 4; i++)
		to[i] = cpu_to_be32(from[i]);
}

static void set_next_hop(struct irdma_path *path, const __be32 *ip, bool ipv4)
{
	int i;

	memset(path->next_hop, 0, sizeof(path->next_hop));
	path->next_hop_ipv4 = ipv4;
	for (i = ipv4 ? 3 : 0; i < 4; i++)
		path->next_hop[i] = be32_to_cpu(ipv4 ? ip[0] : ip[i]);
}

/* An IPv4 destination may have an IPv6 gateway. */
static void route_ipv4(struct net *net, struct irdma_path *path)
{
	struct flowi4 fl4 = {
		.flowi4_oif = path->ifindex,
		.daddr = cpu_to_be32(path->dest_ip[3]),
		.saddr = cpu_to_be32(path->src_ip[3]),
	};
	struct rtable *rt = ip_route_output_key(net, &fl4);

	if (IS_ERR(rt))
		return;
	if (rt->rt_gw_family == AF_INET)
		set_next_hop(path, &rt->rt_gw4, true);
	else if (rt->rt_gw_family == AF_INET6)
		set_next_hop(path, rt->rt_gw6.s6_addr32, false);
	ip_rt_put(rt);
}

static void route_ipv6(struct net *net, struct irdma_path *path)
{
	struct flowi6 fl6 = { .flowi6_oif = path->ifindex };
	struct dst_entry *dst;

	to_network(fl6.daddr.s6_addr32, path->dest_ip);
	to_network(fl6.saddr.s6_addr32, path->src_ip);
	dst = ipv6_stub->ipv6_dst_lookup_flow(net, NULL, &fl6, NULL);
	if (IS_ERR(dst))
		return;
	set_next_hop(path, rt6_nexthop(container_of(dst, struct rt6_info, dst), &fl6.daddr)->s6_addr32,
		     false);
	dst_release(dst);
}

/**
 * shim_fill_next_hop() - find where the packets of a path go first
 * @dev: the device
 * @sgid: source of the path, held
 * @may_sleep: else it is taken for the destination: routes are not to be had with interrupts off
 * @path: has its addresses; gets the next hop
 *
 * Routes are asked as ib_core does when it resolves a path. Without a route, or with a netdev of
 * another network namespace, the next hop is taken for the destination as well.
 *
 * Context: Any; process context if @may_sleep.
 */
void shim_fill_next_hop(struct shim_device *dev, const struct ib_gid_attr *sgid, bool may_sleep,
			struct irdma_path *path)
{
	struct net *net = dev_net(dev->netdev);
	const struct net_device *netdev;

	memcpy(path->next_hop, path->dest_ip, sizeof(path->next_hop));
	path->next_hop_ipv4 = path->ipv4;
	rcu_read_lock();
	netdev = rcu_dereference(sgid->ndev);
	if (netdev && net_eq(dev_net(netdev), net))
		path->ifindex = netdev->ifindex;
	rcu_read_unlock();

	if (!may_sleep || path->multicast || !path->ifindex)
		return;
	if (path->ipv4)
		route_ipv4(net, path);
	else
		route_ipv6(net, path);
}

/**
 * shim_neighbour_mac() - MAC of a neighbour as the kernel has it at the moment
 * @dev: the device
 * @ifindex: of the netdev that it is a neighbour on; 0: none
 * @ip: its address, words in CPU order; IPv4 in ip[3]
 * @ipv4: whether it is one
 * @mac: gets it
 *
 * Context: Any but hard interrupts; interrupts may be off.
 * Return: whether there is such a neighbour, with a MAC that is valid.
 */
bool shim_neighbour_mac(struct shim_device *dev, u32 ifindex, const u32 ip[4], bool ipv4, u8 mac[6])
{
	struct neighbour *neigh = NULL;
	struct net_device *netdev;
	__be32 key[4];
	bool valid;

	to_network(key, ip);
	rcu_read_lock();
	netdev = ifindex ? dev_get_by_index_rcu(dev_net(dev->netdev), ifindex) : NULL;
	if (netdev && netdev->addr_len != ETH_ALEN) /* the number is another's by now */
		netdev = NULL;
	if (netdev && ipv4)
		neigh = __ipv4_neigh_lookup_noref(netdev, (__force u32)key[3]);
	else if (netdev && ipv6_stub->nd_tbl) /* not if IPv6 is disabled */
		neigh = __ipv6_neigh_lookup_noref_stub(netdev, key);
	valid = neigh && (READ_ONCE(neigh->nud_state) & NUD_VALID);
	if (valid)
		neigh_ha_snapshot(mac, neigh, netdev);
	rcu_read_unlock();
	return valid;
}
