// SPDX-License-Identifier: GPL-2.0
/*
 * The tracepoints of shim_trace.h, and the functions by which the C++ fires them. It looks at
 * shim_tracing first, so none of these is called for an event that nobody listens to.
 */
#include <linux/bits.h>
#include <linux/etherdevice.h>
#include <linux/string.h>
#include <net/ipv6.h>

#include "shim_device.h"

/* Bits by enum shim_tracepoint. Changed under the kernel's mutex of tracepoints. */
u32 shim_tracing;

/* Called when an event gets its first listener, and when its last has gone. */
#define SWITCH(point)							\
static int on_##point(void)						\
{									\
	WRITE_ONCE(shim_tracing, shim_tracing | BIT(SHIM_TRACE_##point)); \
	return 0;							\
}									\
static void off_##point(void)						\
{									\
	WRITE_ONCE(shim_tracing, shim_tracing & ~BIT(SHIM_TRACE_##point)); \
}
SWITCH(CQP_POST)
SWITCH(CQP_DONE)
SWITCH(QP_STATE)
SWITCH(QP_REFUSED)
SWITCH(QP_PATH)
SWITCH(ARP)
SWITCH(ASYNC_EVENT)
SWITCH(CEQ_EVENT)
SWITCH(MR_REGISTER)
SWITCH(MR_DEREGISTER)
SWITCH(RESET)

/* As IPv6, which an IPv4 address is mapped into. */
static void put_address(u8 to[16], const u32 words[4], bool ipv4)
{
	struct in6_addr address;
	int i;

	for (i = 0; i < 4; i++)
		address.s6_addr32[i] = cpu_to_be32(words[i]);
	if (ipv4)
		ipv6_addr_set_v4mapped(cpu_to_be32(words[3]), &address);
	memcpy(to, &address, sizeof(address));
}

#define CREATE_TRACE_POINTS
#include "shim_trace.h"

/**
 * shim_trace_cqp_post() - a command of the control QP was posted
 * @dev: the device
 * @command: the command; what its end tells is unset
 *
 * Context: Any.
 */
void shim_trace_cqp_post(struct shim_device *dev, const struct shim_traced_command *command)
{
	trace_irdma_cqp_post(dev, command);
}

/**
 * shim_trace_cqp_done() - a command of the control QP has ended
 * @dev: the device
 * @command: the command
 *
 * Context: Any.
 */
void shim_trace_cqp_done(struct shim_device *dev, const struct shim_traced_command *command)
{
	trace_irdma_cqp_done(dev, command);
}

/**
 * shim_trace_qp_state() - a QP has changed its state, or was to
 * @dev: the device
 * @qp: the QP
 *
 * Context: Any.
 */
void shim_trace_qp_state(struct shim_device *dev, const struct shim_traced_qp *qp)
{
	trace_irdma_qp_state(dev, qp);
}

/**
 * shim_trace_qp_refused() - a modification of a QP was refused
 * @dev: the device
 * @qp: the QP, with attribute and value
 *
 * Context: Any.
 */
void shim_trace_qp_refused(struct shim_device *dev, const struct shim_traced_qp *qp)
{
	trace_irdma_qp_refused(dev, qp);
}

/**
 * shim_trace_qp_path() - a QP has a new path
 * @dev: the device
 * @path: QP and path
 *
 * Context: Any.
 */
void shim_trace_qp_path(struct shim_device *dev, const struct shim_traced_path *path)
{
	trace_irdma_qp_path(dev, path);
}

/**
 * shim_trace_arp() - an entry of the ARP table was written
 * @dev: the device
 * @arp: the entry
 *
 * Context: Any.
 */
void shim_trace_arp(struct shim_device *dev, const struct shim_traced_arp *arp)
{
	trace_irdma_arp(dev, arp);
}

/**
 * shim_trace_async_event() - an asynchronous event was taken
 * @dev: the device
 * @event: the event
 *
 * Context: Any.
 */
void shim_trace_async_event(struct shim_device *dev, const struct shim_traced_event *event)
{
	trace_irdma_async_event(dev, event);
}

/**
 * shim_trace_ceq_event() - an entry of a CEQ was taken
 * @dev: the device
 * @ceq: number of the CEQ
 * @cq: number in the entry
 * @known: whether that is a CQ of this CEQ
 *
 * Context: Any.
 */
void shim_trace_ceq_event(struct shim_device *dev, u32 ceq, u64 cq, bool known)
{
	trace_irdma_ceq_event(dev, ceq, cq, known);
}

/**
 * shim_trace_mr_register() - memory was registered, or was to be
 * @dev: the device
 * @mr: the memory region
 *
 * Context: Any.
 */
void shim_trace_mr_register(struct shim_device *dev, const struct shim_traced_mr *mr)
{
	trace_irdma_mr_register(dev, mr);
}

/**
 * shim_trace_mr_deregister() - memory was deregistered, or was to be
 * @dev: the device
 * @stag: its STag; 0 for rings
 * @error: 0 or a negative errno
 *
 * Context: Any.
 */
void shim_trace_mr_deregister(struct shim_device *dev, u32 stag, int error)
{
	trace_irdma_mr_deregister(dev, stag, error);
}

/**
 * shim_trace_reset() - a step on the way to, or from, a reset of the function
 * @dev: the device
 * @what: which step
 * @why: cause, or an empty string
 * @attempt: how many resets were asked for one after the other
 * @error: what ice has answered, or 0
 *
 * Context: Any.
 */
void shim_trace_reset(struct shim_device *dev, const char *what, const char *why, u32 attempt,
		      int error)
{
	trace_irdma_reset(dev, what, why, attempt, error);
}
