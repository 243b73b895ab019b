// SPDX-License-Identifier: GPL-2.0
/*
 * Common code of the guest programs, see verbs_util.h.
 */
#define _GNU_SOURCE
#include "verbs_util.h"

#include <arpa/inet.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>

static struct ibv_context *open_by_name(const char *name)
{
	struct ibv_device **list;
	struct ibv_context *ctx = NULL;
	int n;

	list = ibv_get_device_list(&n);
	if (!list) {
		perror("ibv_get_device_list");
		return NULL;
	}
	for (int i = 0; i < n && !ctx; i++) {
		if (name && strcmp(name, ibv_get_device_name(list[i])))
			continue;
		ctx = ibv_open_device(list[i]);
		if (!ctx)
			break;
	}
	if (!ctx)
		fprintf(stderr, "no usable RDMA device%s%s (%d present)\n",
			name ? " " : "", name ? name : "", n);
	ibv_free_device_list(list);
	return ctx;
}

static bool gid_is_ipv4(const union ibv_gid *gid)
{
	static const uint8_t prefix[12] = { [10] = 0xff, [11] = 0xff };

	return !memcmp(gid->raw, prefix, sizeof(prefix));
}

static int choose_gid(struct vu_device *dev, int gid_index)
{
	struct ibv_gid_entry entry;

	for (int i = 0; i < dev->port.gid_tbl_len; i++) {
		if (gid_index >= 0 && i != gid_index)
			continue;
		if (ibv_query_gid_ex(dev->ctx, dev->port_num, i, &entry, 0))
			continue;
		if (gid_index < 0 && (entry.gid_type != IBV_GID_TYPE_ROCE_V2 ||
				      !gid_is_ipv4(&entry.gid)))
			continue;
		dev->gid_index = i;
		dev->gid = entry.gid;
		return 0;
	}
	if (gid_index < 0)
		fprintf(stderr, "no RoCE v2 GID with an IPv4 address\n");
	else
		fprintf(stderr, "GID %d does not exist\n", gid_index);
	return -1;
}

int vu_gid_from_ip(const char *ip, union ibv_gid *gid)
{
	memset(gid, 0, sizeof(*gid));
	gid->raw[10] = 0xff;
	gid->raw[11] = 0xff;
	return inet_pton(AF_INET, ip, &gid->raw[12]) == 1 ? 0 : -1;
}

int vu_open(struct vu_device *dev, const char *name, int gid_index,
	    const char *peer_ip)
{
	memset(dev, 0, sizeof(*dev));
	dev->port_num = 1;
	dev->ctx = open_by_name(name);
	if (!dev->ctx)
		return -1;
	if (ibv_query_device(dev->ctx, &dev->attr) ||
	    ibv_query_port(dev->ctx, dev->port_num, &dev->port)) {
		perror("querying device or port");
		goto fail;
	}
	if (choose_gid(dev, gid_index))
		goto fail;
	dev->peer = dev->gid;
	if (peer_ip && vu_gid_from_ip(peer_ip, &dev->peer)) {
		fprintf(stderr, "%s is not an IPv4 address\n", peer_ip);
		goto fail;
	}
	return 0;
fail:
	vu_close(dev);
	return -1;
}

void vu_close(struct vu_device *dev)
{
	ibv_close_device(dev->ctx);
	dev->ctx = NULL;
}

const char *vu_state_name(int state)
{
	static const char * const names[] = {
		[IBV_QPS_RESET] = "RESET", [IBV_QPS_INIT] = "INIT",
		[IBV_QPS_RTR] = "RTR", [IBV_QPS_RTS] = "RTS",
		[IBV_QPS_SQD] = "SQD", [IBV_QPS_SQE] = "SQE",
		[IBV_QPS_ERR] = "ERR",
	};

	if (state < 0 || (size_t)state >= ARRAY_SIZE(names))
		return "?";
	return names[state];
}

const char *vu_type_name(enum ibv_qp_type type)
{
	return type == IBV_QPT_RC ? "RC" : type == IBV_QPT_UD ? "UD" : "?";
}

const char *vu_errno_name(int err)
{
	const char *name = err ? strerrorname_np(err) : "0";

	return name ? name : "?";
}

uint64_t vu_random(uint64_t *state)
{
	uint64_t x = *state;

	x ^= x >> 12;
	x ^= x << 25;
	x ^= x >> 27;
	*state = x;
	return x * 0x2545f4914f6cdd1dULL;
}

/* Plain members of struct ibv_qp_attr, each with the bit that sets it. */
#define PLAIN_ATTRS(F)					\
	F(IBV_QP_STATE, qp_state)			\
	F(IBV_QP_PATH_MTU, path_mtu)			\
	F(IBV_QP_QKEY, qkey)				\
	F(IBV_QP_RQ_PSN, rq_psn)			\
	F(IBV_QP_SQ_PSN, sq_psn)			\
	F(IBV_QP_DEST_QPN, dest_qp_num)			\
	F(IBV_QP_ACCESS_FLAGS, qp_access_flags)		\
	F(IBV_QP_PKEY_INDEX, pkey_index)		\
	F(IBV_QP_PORT, port_num)			\
	F(IBV_QP_MAX_QP_RD_ATOMIC, max_rd_atomic)	\
	F(IBV_QP_MAX_DEST_RD_ATOMIC, max_dest_rd_atomic)	\
	F(IBV_QP_MIN_RNR_TIMER, min_rnr_timer)		\
	F(IBV_QP_TIMEOUT, timeout)			\
	F(IBV_QP_RETRY_CNT, retry_cnt)			\
	F(IBV_QP_RNR_RETRY, rnr_retry)

void vu_expect_merge(struct vu_expect *expect, const struct ibv_qp_attr *attr,
		     int mask)
{
	if (mask & IBV_QP_STATE && attr->qp_state == IBV_QPS_RESET)
		expect->mask = 0;
#define MERGE(bit, member)				\
	if (mask & (bit))				\
		expect->attr.member = attr->member;
	PLAIN_ATTRS(MERGE)
#undef MERGE
	if (mask & IBV_QP_AV)
		expect->attr.ah_attr = attr->ah_attr;
	expect->mask |= mask;
}

static int differs(const char *label, const char *name, uint64_t got,
		   uint64_t want)
{
	if (got == want)
		return 0;
	printf("%s: %s is 0x%llx, set was 0x%llx\n", label, name,
	       (unsigned long long)got, (unsigned long long)want);
	return 1;
}

/*
 * ib_core replaces the hop limit of a connected queue pair by that of the route
 * (ib_resolve_eth_dmac()) before a driver sees it; a route without one of its
 * own has the system's default.
 */
static int route_hop_limit(void)
{
	FILE *f = fopen("/proc/sys/net/ipv4/ip_default_ttl", "r");
	int ttl = 64;

	if (f) {
		if (fscanf(f, "%d", &ttl) != 1)
			ttl = 64;
		fclose(f);
	}
	return ttl;
}

/*
 * The LID, source path bits and static rate of an address vector mean nothing
 * on RoCE and need not come back. A flow label has 20 bits on the wire.
 */
static int check_av(const struct ibv_ah_attr *got,
		    const struct ibv_ah_attr *want, const char *label)
{
	int n = 0;

	n += differs(label, "ah.is_global", got->is_global, want->is_global);
	n += differs(label, "ah.sl", got->sl, want->sl);
	n += differs(label, "ah.port_num", got->port_num, want->port_num);
	n += differs(label, "ah.sgid_index", got->grh.sgid_index,
		     want->grh.sgid_index);
	n += differs(label, "ah.hop_limit", got->grh.hop_limit,
		     gid_is_ipv4(&want->grh.dgid) ?
		     (uint64_t)route_hop_limit() : want->grh.hop_limit);
	n += differs(label, "ah.traffic_class", got->grh.traffic_class,
		     want->grh.traffic_class);
	n += differs(label, "ah.flow_label", got->grh.flow_label & 0xfffff,
		     want->grh.flow_label & 0xfffff);
	if (memcmp(&got->grh.dgid, &want->grh.dgid, sizeof(got->grh.dgid))) {
		char a[INET6_ADDRSTRLEN], b[INET6_ADDRSTRLEN];

		inet_ntop(AF_INET6, got->grh.dgid.raw, a, sizeof(a));
		inet_ntop(AF_INET6, want->grh.dgid.raw, b, sizeof(b));
		printf("%s: ah.dgid is %s, set was %s\n", label, a, b);
		n++;
	}
	return n;
}

int vu_expect_check(struct ibv_qp *qp, const struct vu_expect *expect,
		    const char *label)
{
	struct ibv_qp_init_attr init;
	struct ibv_qp_attr got;
	int n = 0;

	memset(&got, 0, sizeof(got));
	memset(&init, 0, sizeof(init));
	if (ibv_query_qp(qp, &got, expect->mask | IBV_QP_CAP, &init)) {
		printf("%s: ibv_query_qp: %s\n", label, vu_errno_name(errno));
		return 1;
	}
#define CHECK(bit, member)				\
	if (expect->mask & (bit))			\
		n += differs(label, #member, got.member, expect->attr.member);
	PLAIN_ATTRS(CHECK)
#undef CHECK
	if (expect->mask & IBV_QP_STATE)
		n += differs(label, "cur_qp_state", got.cur_qp_state,
			     expect->attr.qp_state);
	if (expect->mask & IBV_QP_AV)
		n += check_av(&got.ah_attr, &expect->attr.ah_attr, label);
	/* The library may have promised less than the kernel gave. */
#define CHECK_CAP(member)						\
	if (init.cap.member < expect->cap.member)			\
		n += differs(label, "cap." #member, init.cap.member,	\
			     expect->cap.member)
	CHECK_CAP(max_send_wr);
	CHECK_CAP(max_recv_wr);
	CHECK_CAP(max_send_sge);
	CHECK_CAP(max_recv_sge);
	CHECK_CAP(max_inline_data);
#undef CHECK_CAP
	return n;
}
