// SPDX-License-Identifier: GPL-2.0
/*
 * Makes a path to one address: an RC queue pair in RTS, and an address handle.
 * What the driver made of it is to be seen in the device's trace. Used by
 * tests/test_addresses.py. With --hold the path stays until SIGTERM; with
 * --handles there are as many equal handles, for each of two PDs; with
 * --groups it is address handles of as many multicast groups as the device
 * has room for, from the one at --to on.
 */
#define _GNU_SOURCE
#include "lib/verbs_util.h"

#include <arpa/inet.h>
#include <errno.h>
#include <getopt.h>
#include <net/if.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define GROUPS_MAX 8192
#define HANDLES_MAX 64

static struct {
	const char *device;
	const char *netdev;
	const char *from;
	const char *to;
	uint32_t dest_qp;
	uint32_t flow_label;
	uint8_t traffic_class;
	int groups;
	int handles;
	bool hold;
} opt = { .dest_qp = 0xbeef };

static struct {
	struct vu_device dev;
	struct ibv_pd *pd;
	struct ibv_cq *cq;
	struct ibv_qp *qp;
} rig;

static int fail(const char *what, int err)
{
	printf("%s: %s\n", what, vu_errno_name(err));
	return -1;
}

static int gid_from(const char *ip, union ibv_gid *gid)
{
	if (!vu_gid_from_ip(ip, gid))
		return 0;
	if (inet_pton(AF_INET6, ip, gid->raw) == 1)
		return 0;
	fprintf(stderr, "%s is no address\n", ip);
	return -1;
}

/* The RoCE v2 GID of an address, on a netdev if one is named; -1: none. */
static int find_gid(const union ibv_gid *from)
{
	uint32_t netdev = opt.netdev ? if_nametoindex(opt.netdev) : 0;
	struct ibv_gid_entry entry;

	for (int i = 0; i < rig.dev.port.gid_tbl_len; i++)
		if (!ibv_query_gid_ex(rig.dev.ctx, 1, (uint32_t)i, &entry, 0) &&
		    entry.gid_type == IBV_GID_TYPE_ROCE_V2 &&
		    !memcmp(&entry.gid, from, sizeof(*from)) &&
		    (!netdev || entry.ndev_ifindex == netdev))
			return i;
	fprintf(stderr, "no GID with the address to send from\n");
	return -1;
}

static int choose_path(struct ibv_ah_attr *av)
{
	union ibv_gid from;
	int index = rig.dev.gid_index;

	if (opt.from) {
		if (gid_from(opt.from, &from))
			return -1;
		index = find_gid(&from);
		if (index < 0)
			return -1;
	}
	*av = (struct ibv_ah_attr){
		.is_global = 1, .port_num = 1,
		.grh = { .sgid_index = (uint8_t)index, .hop_limit = 255,
			 .traffic_class = opt.traffic_class,
			 .flow_label = opt.flow_label },
	};
	return gid_from(opt.to, &av->grh.dgid);
}

static int modify(struct ibv_qp_attr *attr, int mask)
{
	int err = ibv_modify_qp(rig.qp, attr, mask | IBV_QP_STATE);

	return err ? fail(vu_state_name(attr->qp_state), err) : 0;
}

static int bring_to_rts(const struct ibv_ah_attr *av)
{
	struct ibv_qp_init_attr init = {
		.send_cq = rig.cq, .recv_cq = rig.cq, .qp_type = IBV_QPT_RC,
		.cap = { .max_send_wr = 1, .max_recv_wr = 1,
			 .max_send_sge = 1, .max_recv_sge = 1 },
	};
	struct ibv_qp_attr to_init = {
		.qp_state = IBV_QPS_INIT, .port_num = 1,
	};
	struct ibv_qp_attr to_rtr = {
		.qp_state = IBV_QPS_RTR, .ah_attr = *av,
		.path_mtu = IBV_MTU_1024, .dest_qp_num = opt.dest_qp,
	};
	struct ibv_qp_attr to_rts = { .qp_state = IBV_QPS_RTS };

	rig.qp = ibv_create_qp(rig.pd, &init);
	if (!rig.qp)
		return fail("create QP", errno);
	printf("qp %u\n", rig.qp->qp_num);
	if (modify(&to_init, IBV_QP_PKEY_INDEX | IBV_QP_PORT |
			     IBV_QP_ACCESS_FLAGS) ||
	    modify(&to_rtr, IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_DEST_QPN |
			    IBV_QP_RQ_PSN | IBV_QP_MAX_DEST_RD_ATOMIC |
			    IBV_QP_MIN_RNR_TIMER))
		return -1;
	return modify(&to_rts, IBV_QP_TIMEOUT | IBV_QP_RETRY_CNT |
			       IBV_QP_RNR_RETRY | IBV_QP_SQ_PSN |
			       IBV_QP_MAX_QP_RD_ATOMIC);
}

/* Multicast has no queue pair of its own: only the handle is made. */
static int make_path(void)
{
	struct ibv_ah_attr av;
	struct ibv_ah *ah;
	sigset_t term;
	bool multicast;
	int sig;

	if (choose_path(&av))
		return -1;
	multicast = av.grh.dgid.raw[0] == 0xff ||
		    (av.grh.dgid.raw[10] == 0xff && av.grh.dgid.raw[0] == 0 &&
		     (av.grh.dgid.raw[12] & 0xf0) == 0xe0);
	if (!multicast && bring_to_rts(&av))
		return -1;
	ah = ibv_create_ah(rig.pd, &av);
	if (!ah)
		return fail("create AH", errno);
	printf("ah\n");
	if (opt.hold) {
		sigemptyset(&term);
		sigaddset(&term, SIGTERM);
		sigprocmask(SIG_BLOCK, &term, NULL);
		printf("held\n");
		sigwait(&term, &sig);
	}
	return ibv_destroy_ah(ah);
}

/* Equal handles in two PDs; they go in another order than they came. */
static int make_handles(void)
{
	struct ibv_pd *other = ibv_alloc_pd(rig.dev.ctx);
	struct ibv_ah *ah[2][HANDLES_MAX];
	struct ibv_ah_attr av;
	int n;

	if (!other || choose_path(&av))
		return -1;
	for (n = 0; n < opt.handles && n < HANDLES_MAX; n++) {
		ah[0][n] = ibv_create_ah(rig.pd, &av);
		ah[1][n] = ibv_create_ah(other, &av);
		if (!ah[0][n] || !ah[1][n])
			return fail("create AH", errno);
	}
	for (int i = 0; i < n; i++)
		if (ibv_destroy_ah(ah[0][i]) || ibv_destroy_ah(ah[1][n - 1 - i]))
			return fail("destroy AH", errno);
	return ibv_dealloc_pd(other);
}

/* Handles of groups until one is refused, then all of them are destroyed. */
static int make_groups(void)
{
	static struct ibv_ah *ah[GROUPS_MAX];
	struct ibv_ah_attr av;
	int n, err = 0;

	if (choose_path(&av))
		return -1;
	for (n = 0; n < opt.groups && n < GROUPS_MAX; n++) {
		av.grh.dgid.raw[14] = (uint8_t)(n >> 8);
		av.grh.dgid.raw[15] = (uint8_t)n;
		ah[n] = ibv_create_ah(rig.pd, &av);
		if (!ah[n]) {
			err = errno;
			break;
		}
	}
	printf("groups %d, then %s\n", n, vu_errno_name(err));
	while (n--)
		if (ibv_destroy_ah(ah[n]))
			return fail("destroy AH", errno);
	return 0;
}

static int parse(int argc, char **argv)
{
	enum { FROM = 256, TO, DEST_QP, FLOW, TC, GROUPS, HANDLES, HOLD };
	static const struct option longs[] = {
		{ "device", required_argument, NULL, 'd' },
		{ "netdev", required_argument, NULL, 'i' },
		{ "from", required_argument, NULL, FROM },
		{ "to", required_argument, NULL, TO },
		{ "dest-qp", required_argument, NULL, DEST_QP },
		{ "flow", required_argument, NULL, FLOW },
		{ "tc", required_argument, NULL, TC },
		{ "groups", required_argument, NULL, GROUPS },
		{ "handles", required_argument, NULL, HANDLES },
		{ "hold", no_argument, NULL, HOLD },
		{ 0 },
	};
	int c;

	while ((c = getopt_long(argc, argv, "d:i:", longs, NULL)) >= 0) {
		switch (c) {
		case 'd':
			opt.device = optarg;
			break;
		case 'i':
			opt.netdev = optarg;
			break;
		case FROM:
			opt.from = optarg;
			break;
		case TO:
			opt.to = optarg;
			break;
		case DEST_QP:
			opt.dest_qp = (uint32_t)strtoul(optarg, NULL, 0);
			break;
		case FLOW:
			opt.flow_label = (uint32_t)strtoul(optarg, NULL, 0);
			break;
		case TC:
			opt.traffic_class = (uint8_t)strtoul(optarg, NULL, 0);
			break;
		case GROUPS:
			opt.groups = atoi(optarg);
			break;
		case HANDLES:
			opt.handles = atoi(optarg);
			break;
		case HOLD:
			opt.hold = true;
			break;
		default:
			return -1;
		}
	}
	return optind == argc && opt.to ? 0 : -1;
}

int main(int argc, char **argv)
{
	int err;

	setvbuf(stdout, NULL, _IOLBF, 0);
	if (parse(argc, argv)) {
		fprintf(stderr,
			"usage: qp-path --to IP [-d DEVICE] [-i NETDEV] [--from IP] [--tc N]\n"
			"               [--flow N] [--dest-qp N]\n"
			"               [--hold | --groups N | --handles N]\n");
		return 2;
	}
	if (vu_open(&rig.dev, opt.device, -1, NULL))
		return 2;
	rig.pd = ibv_alloc_pd(rig.dev.ctx);
	rig.cq = ibv_create_cq(rig.dev.ctx, 16, NULL, NULL, 0);
	if (!rig.pd || !rig.cq)
		return 2;
	err = opt.groups ? make_groups() : opt.handles ? make_handles() : make_path();
	if (rig.qp && ibv_destroy_qp(rig.qp))
		err = -1;
	ibv_destroy_cq(rig.cq);
	ibv_dealloc_pd(rig.pd);
	vu_close(&rig.dev);
	printf("qp-path: %s\n", err ? "FAIL" : "PASS");
	return err ? 1 : 0;
}
