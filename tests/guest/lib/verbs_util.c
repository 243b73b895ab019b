// SPDX-License-Identifier: GPL-2.0
/*
 * Common code of the guest programs, see verbs_util.h.
 */
#define _GNU_SOURCE
#include "verbs_util.h"

#include <arpa/inet.h>
#include <errno.h>
#include <stddef.h>
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

/** struct member - one member of struct ibv_qp_attr
 * @name: for the output
 * @bit: the IBV_QP_* that sets it, 0 if none does
 * @offset: in struct ibv_qp_attr
 * @size: in bytes
 * @valid: bits of it that have a meaning
 */
struct member {
	const char *name;
	int bit;
	size_t offset;
	size_t size;
	uint64_t valid;
};

#define BITS(name, bit, valid) \
	{ #name, bit, offsetof(struct ibv_qp_attr, name), \
	  sizeof(((struct ibv_qp_attr *)0)->name), valid }
#define WHOLE(name, bit) BITS(name, bit, UINT64_MAX)

/*
 * The LID, source path bits and static rate of an address vector mean nothing
 * on RoCE and are left out. A flow label has 20 bits on the wire.
 */
static const struct member members[] = {
	WHOLE(qp_state, IBV_QP_STATE),
	WHOLE(cur_qp_state, IBV_QP_STATE),
	WHOLE(path_mtu, IBV_QP_PATH_MTU),
	WHOLE(path_mig_state, 0),
	WHOLE(qkey, IBV_QP_QKEY),
	WHOLE(rq_psn, IBV_QP_RQ_PSN),
	WHOLE(sq_psn, IBV_QP_SQ_PSN),
	WHOLE(dest_qp_num, IBV_QP_DEST_QPN),
	WHOLE(qp_access_flags, IBV_QP_ACCESS_FLAGS),
	WHOLE(pkey_index, IBV_QP_PKEY_INDEX),
	WHOLE(sq_draining, 0),
	WHOLE(port_num, IBV_QP_PORT),
	WHOLE(max_rd_atomic, IBV_QP_MAX_QP_RD_ATOMIC),
	WHOLE(max_dest_rd_atomic, IBV_QP_MAX_DEST_RD_ATOMIC),
	WHOLE(min_rnr_timer, IBV_QP_MIN_RNR_TIMER),
	WHOLE(timeout, IBV_QP_TIMEOUT),
	WHOLE(retry_cnt, IBV_QP_RETRY_CNT),
	WHOLE(rnr_retry, IBV_QP_RNR_RETRY),
	WHOLE(ah_attr.is_global, IBV_QP_AV),
	WHOLE(ah_attr.sl, IBV_QP_AV),
	WHOLE(ah_attr.port_num, IBV_QP_AV),
	WHOLE(ah_attr.grh.sgid_index, IBV_QP_AV),
	WHOLE(ah_attr.grh.hop_limit, IBV_QP_AV),
	WHOLE(ah_attr.grh.traffic_class, IBV_QP_AV),
	BITS(ah_attr.grh.flow_label, IBV_QP_AV, 0xfffff),
	WHOLE(ah_attr.grh.dgid.global.subnet_prefix, IBV_QP_AV),
	WHOLE(ah_attr.grh.dgid.global.interface_id, IBV_QP_AV),
};

static uint64_t value(const struct ibv_qp_attr *attr, const struct member *m)
{
	uint64_t v = 0;

	/* Little endian, as all machines with this device. */
	memcpy(&v, (const char *)attr + m->offset, m->size);
	return v & m->valid;
}

const char *vu_attr_difference(const struct ibv_qp_attr *a,
			       const struct ibv_qp_attr *b)
{
	for (size_t i = 0; i < ARRAY_SIZE(members); i++)
		if (value(a, &members[i]) != value(b, &members[i]))
			return members[i].name;
	return NULL;
}

/*
 * ib_core replaces the hop limit of a connected queue pair by that of the route
 * (ib_resolve_eth_dmac()) before a driver sees it; a route without one of its
 * own has the system's default.
 */
static uint8_t route_hop_limit(void)
{
	FILE *f = fopen("/proc/sys/net/ipv4/ip_default_ttl", "r");
	int ttl = 64;

	if (f) {
		if (fscanf(f, "%d", &ttl) != 1)
			ttl = 64;
		fclose(f);
	}
	return (uint8_t)ttl;
}

void vu_expect_merge(struct vu_expect *expect, const struct ibv_qp_attr *attr,
		     int mask)
{
	struct ibv_qp_attr *to = &expect->attr;

	if (mask & IBV_QP_STATE && attr->qp_state == IBV_QPS_RESET)
		expect->mask = 0;
	expect->mask |= mask;
	for (size_t i = 0; i < ARRAY_SIZE(members); i++)
		if (members[i].bit & mask)
			memcpy((char *)to + members[i].offset,
			       (const char *)attr + members[i].offset,
			       members[i].size);
	to->cur_qp_state = to->qp_state;
	if (mask & IBV_QP_AV && gid_is_ipv4(&to->ah_attr.grh.dgid))
		to->ah_attr.grh.hop_limit = route_hop_limit();
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

/* The library may have promised less than the kernel gave, never more. */
static int check_caps(const struct ibv_qp_cap *got,
		      const struct ibv_qp_cap *want, const char *label)
{
	const struct {
		const char *name;
		uint32_t got;
		uint32_t want;
	} caps[] = {
		{ "max_send_wr", got->max_send_wr, want->max_send_wr },
		{ "max_recv_wr", got->max_recv_wr, want->max_recv_wr },
		{ "max_send_sge", got->max_send_sge, want->max_send_sge },
		{ "max_recv_sge", got->max_recv_sge, want->max_recv_sge },
		{ "max_inline_data", got->max_inline_data,
		  want->max_inline_data },
	};
	int n = 0;

	for (size_t i = 0; i < ARRAY_SIZE(caps); i++)
		if (caps[i].got < caps[i].want)
			n += differs(label, caps[i].name, caps[i].got,
				     caps[i].want);
	return n;
}

int vu_expect_check(struct ibv_qp *qp, const struct vu_expect *expect,
		    const char *label)
{
	struct ibv_qp_init_attr init;
	struct ibv_qp_attr got;
	int n = 0;
	int err;

	memset(&got, 0, sizeof(got));
	memset(&init, 0, sizeof(init));
	err = ibv_query_qp(qp, &got, expect->mask | IBV_QP_CAP, &init);
	if (err) {
		printf("%s: ibv_query_qp: %s\n", label, vu_errno_name(err));
		return 1;
	}
	for (size_t i = 0; i < ARRAY_SIZE(members); i++)
		if (members[i].bit & expect->mask)
			n += differs(label, members[i].name,
				     value(&got, &members[i]),
				     value(&expect->attr, &members[i]));
	return n + check_caps(&init.cap, &expect->cap, label);
}
