// SPDX-License-Identifier: GPL-2.0
/*
 * A consumer of verbs in the kernel that tests what the driver under it does:
 * objects, modifications, posting and flushing, several threads at once.
 * insmod runs the tests and fails with EIO if one of them does; the log ends
 * with "verbs-test: PASS" or "verbs-test: FAIL n". It needs a RoCE device whose
 * name begins with the parameter "device", with an IPv4 address. With hold=1 it
 * runs no tests, but uses each such device until it goes; see hold.c.
 *
 * Packets stay within the device. Where work has to be outstanding, a queue pair
 * is connected to itself with PSNs that do not fit, so that nothing arrives; what
 * waits in vain for an answer fails after some seconds (retry_cnt).
 */
#include <linux/etherdevice.h>
#include <linux/module.h>
#include <net/ipv6.h>
#include <rdma/ib_cache.h>

#include "verbs_test.h"

static char *device = "irdma";
module_param(device, charp, 0444);
MODULE_PARM_DESC(device, "beginning of the device's name");

static char *only = "";
module_param(only, charp, 0444);
MODULE_PARM_DESC(only, "the one test to run, or all");

bool vt_events;
module_param_named(events, vt_events, bool, 0444);
MODULE_PARM_DESC(events, "the device is made to report errors meanwhile: only for threads");

char *vt_neighbour = "";
module_param_named(neighbour, vt_neighbour, charp, 0444);
MODULE_PARM_DESC(neighbour, "IPv4 address whose MAC the kernel knows: only for dmac");

bool vt_refused;
module_param_named(refused, vt_refused, bool, 0444);
MODULE_PARM_DESC(refused, "the device refuses the first MANAGE_ARP: only for dmac");

static bool hold;
module_param(hold, bool, 0444);
MODULE_PARM_DESC(hold, "use the device until it goes, and the next");

struct vt_device vt;
atomic_t vt_passed, vt_failed;
atomic_t vt_errors;	/* events about queue pairs but the drained ones */

/**
 * vt_fail() - report a check that does not hold
 * @fmt: what was expected and what was seen
 */
void vt_fail(const char *fmt, ...)
{
	struct va_format text = { .fmt = fmt };
	va_list args;

	va_start(args, fmt);
	text.va = &args;
	pr_err("verbs-test: %pV\n", &text);
	va_end(args);
	atomic_inc(&vt_failed);
}

/* ---- The device ---- */

static struct ib_client client;

static int add_one(struct ib_device *ib)
{
	int err;

	if (vt.ib || strncmp(dev_name(&ib->dev), device, strlen(device)))
		return -EOPNOTSUPP;
	vt.ib = ib;
	if (!hold)
		return 0;
	err = vt_hold_begin();
	if (err)
		vt.ib = NULL;
	else
		ib_set_client_data(ib, &client, &vt);
	return err;
}

static void remove_one(struct ib_device *ib, void *data)
{
	if (data)
		vt_hold_end();
	if (vt.ib == ib)
		vt.ib = NULL;
}

static struct ib_client client = {
	.name = "verbs_test",
	.add = add_one,
	.remove = remove_one,
};

/**
 * vt_find_gid() - choose the GID that all tests use
 *
 * Return: 0, or -ENOENT if the device has none of RoCE v2 with an IPv4 address.
 */
int vt_find_gid(void)
{
	const struct ib_gid_attr *attr;
	struct net_device *netdev;
	int i, found = -ENOENT;

	for (i = 0; i < vt.ib->port_data[1].immutable.gid_tbl_len && found; i++) {
		attr = rdma_get_gid_attr(vt.ib, 1, i);
		if (IS_ERR(attr))
			continue;
		if (attr->gid_type == IB_GID_TYPE_ROCE_UDP_ENCAP &&
		    ipv6_addr_v4mapped((const struct in6_addr *)attr->gid.raw)) {
			vt.sgid_index = i;
			vt.sgid = attr->gid;
			rcu_read_lock();
			netdev = rdma_read_gid_attr_ndev_rcu(attr);
			if (!IS_ERR(netdev))
				ether_addr_copy(vt.netdev_mac, netdev->dev_addr);
			rcu_read_unlock();
			found = 0;
		}
		rdma_put_gid_attr(attr);
	}
	return found;
}

/* ---- Running ---- */

static const struct {
	const char *name;
	void (*run)(void);
	bool with_host;		/* not unless it is asked for: the host has a part in it */
} tests[] = {
	{ "attributes", vt_test_attributes },
	{ "objects", vt_test_objects },
	{ "memory", vt_test_memory },
	{ "fastreg", vt_test_fastreg },
	{ "rings", vt_test_rings },
	{ "ah", vt_test_ah },
	{ "dmac", vt_test_dmac },
	{ "mcast", vt_test_mcast },
	{ "table", vt_test_table },
	{ "gsi", vt_test_gsi },
	{ "flush", vt_test_flush },
	{ "reset", vt_test_reset },
	{ "sqd", vt_test_sqd },
	{ "full", vt_test_full },
	{ "notify", vt_test_notify },
	{ "data", vt_test_data },
	{ "datagrams", vt_test_datagrams },
	{ "chain", vt_test_chain },
	{ "overfull", vt_test_overfull },
	{ "mistakes", vt_test_mistakes },
	{ "drain", vt_test_drain },
	{ "solicited", vt_test_solicited },
	{ "senders", vt_test_senders },
	{ "threads", vt_test_threads },
	{ "forged", vt_test_forged, true },
	{ "bench", vt_bench, true },
};

static void run_all(void)
{
	int i, passed, failed;

	for (i = 0; i < ARRAY_SIZE(tests); i++) {
		if (*only ? strcmp(only, tests[i].name) : tests[i].with_host)
			continue;
		passed = atomic_read(&vt_passed);
		failed = atomic_read(&vt_failed);
		tests[i].run();
		pr_info("verbs-test: %s: %d checks passed, %d failed\n", tests[i].name,
			atomic_read(&vt_passed) - passed, atomic_read(&vt_failed) - failed);
	}
}

static int run_with_device(void)
{
	int err = vt_find_gid();

	if (err) {
		pr_err("verbs-test: no RoCE v2 GID with an IPv4 address\n");
		return err;
	}
	vt.pd = ib_alloc_pd(vt.ib, 0);
	if (IS_ERR(vt.pd))
		return PTR_ERR(vt.pd);
	run_all();
	ib_dealloc_pd(vt.pd);
	return 0;
}

static int __init verbs_test_init(void)
{
	int err = ib_register_client(&client);

	if (err || hold)
		return err;
	err = vt.ib ? run_with_device() : -ENODEV;
	if (!err && atomic_read(&vt_failed)) {
		pr_info("verbs-test: FAIL %d\n", atomic_read(&vt_failed));
		err = -EIO;
	} else if (!err) {
		pr_info("verbs-test: PASS\n");
	}
	if (err)
		ib_unregister_client(&client);
	return err;
}

static void __exit verbs_test_exit(void)
{
	ib_unregister_client(&client);
}

module_init(verbs_test_init);
module_exit(verbs_test_exit);
MODULE_LICENSE("GPL");
MODULE_DESCRIPTION("Tests of an RDMA driver by a consumer in the kernel");
