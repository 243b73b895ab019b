/* SPDX-License-Identifier: GPL-2.0 */
/*
 * What the guest programs share: opening a device and choosing its GID, names
 * for states and errors, a small repeatable random generator, and reading back
 * a queue pair to compare it with what was set.
 */
#ifndef VERBS_UTIL_H
#define VERBS_UTIL_H

#include <stdbool.h>
#include <stdint.h>
#include <infiniband/verbs.h>

#define ARRAY_SIZE(a) (sizeof(a) / sizeof((a)[0]))

/** struct vu_device - an open device and the addresses the tests use
 * @ctx: open context
 * @attr: limits of the device
 * @port: attributes of @port_num
 * @port_num: always 1, RoCE devices have one port
 * @gid_index: local GID, RoCE v2 with an IPv4-mapped address by default
 * @gid: value of the GID at @gid_index
 * @peer: destination of connected queue pairs; equals @gid if none was named
 */
struct vu_device {
	struct ibv_context *ctx;
	struct ibv_device_attr attr;
	struct ibv_port_attr port;
	uint8_t port_num;
	int gid_index;
	union ibv_gid gid;
	union ibv_gid peer;
};

/**
 * vu_open() - open a device, choose the GID and the destination
 * @dev: filled in
 * @name: device name, or NULL for the first one
 * @gid_index: index in the GID table, or -1 for the first IPv4-mapped RoCE v2
 * @peer_ip: IPv4 address of the destination, or NULL for the own address
 *
 * Return: 0, or -1 after a message on stderr.
 */
int vu_open(struct vu_device *dev, const char *name, int gid_index,
	    const char *peer_ip);

/** vu_close() - close what vu_open() opened */
void vu_close(struct vu_device *dev);

/** vu_gid_from_ip() - make the GID ::ffff:a.b.c.d of an IPv4 address
 *
 * Return: 0, or -1 if @ip is no IPv4 address.
 */
int vu_gid_from_ip(const char *ip, union ibv_gid *gid);

/** vu_state_name() - "INIT", "RTR", ... for a state, "?" for none */
const char *vu_state_name(int state);

/** vu_type_name() - "RC", "UD" or "?" */
const char *vu_type_name(enum ibv_qp_type type);

/** vu_errno_name() - "EINVAL", ...; "0" for no error */
const char *vu_errno_name(int err);

/** vu_random() - next number of a repeatable sequence (xorshift64*)
 * @state: seed on the first call, any value but 0
 */
uint64_t vu_random(uint64_t *state);

/** vu_attr_difference() - name of the first queried attribute that differs
 *
 * Return: the name, or NULL if @a and @b are the same as far as it matters.
 */
const char *vu_attr_difference(const struct ibv_qp_attr *a,
			       const struct ibv_qp_attr *b);

/**
 * struct vu_expect - what a queue pair has been told so far
 * @attr: values
 * @mask: IBV_QP_* bits that are valid in @attr
 * @cap: capabilities that the creation of the queue pair returned
 */
struct vu_expect {
	struct ibv_qp_attr attr;
	int mask;
	struct ibv_qp_cap cap;
};

/** vu_expect_merge() - note a modification that succeeded; RESET forgets all
 * @expect: what was known before
 * @attr: values of the modification
 * @mask: their IBV_QP_* bits
 */
void vu_expect_merge(struct vu_expect *expect, const struct ibv_qp_attr *attr,
		     int mask);

/**
 * vu_expect_check() - query a queue pair and compare it with what was set
 * @qp: queue pair
 * @expect: what was set
 * @label: printed in front of each mismatch
 *
 * Return: number of attributes that differ, each printed on stdout.
 */
int vu_expect_check(struct ibv_qp *qp, const struct vu_expect *expect,
		    const char *label);

#endif
