/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Tracepoints of the system irdma, as tracefs, trace-cmd and perf show them.
 * Documentation/tracing.rst says what each is for.
 *
 * Only trace.c includes this file. Each event has a bit in shim_tracing, which
 * is set while somebody listens (the functions of TRACE_EVENT_FN): the C++
 * looks at that word before it works anything out.
 */
#undef TRACE_SYSTEM
#define TRACE_SYSTEM irdma

#if !defined(SHIM_TRACE_H) || defined(TRACE_HEADER_MULTI_READ)
#define SHIM_TRACE_H

#include <linux/tracepoint.h>

#include "compat.h"
#include "shim_device.h"

/* Which device: its PCI address, which it has from the first command to the last. */
#define SHIM_TRACE_DEVICE __string(device, pci_name(dev->pdev))
#define SHIM_TRACE_ASSIGN_DEVICE SHIM_ASSIGN_STR(device, pci_name(dev->pdev))

TRACE_EVENT_FN(irdma_cqp_post,
	TP_PROTO(const struct shim_device *dev, const struct shim_traced_command *command),
	TP_ARGS(dev, command),
	TP_STRUCT__entry(
		SHIM_TRACE_DEVICE
		__string(command, command->name)
		__string(object, command->object)
		__field(u32, number)
		__field(u32, slot)
		__field(u32, in_flight)
	),
	TP_fast_assign(
		SHIM_TRACE_ASSIGN_DEVICE;
		SHIM_ASSIGN_STR(command, command->name);
		SHIM_ASSIGN_STR(object, command->object);
		__entry->number = command->number;
		__entry->slot = command->slot;
		__entry->in_flight = command->in_flight;
	),
	TP_printk("%s %s %s=%u slot=%u in_flight=%u", __get_str(device), __get_str(command),
		  __get_str(object), __entry->number, __entry->slot, __entry->in_flight),
	on_CQP_POST, off_CQP_POST
);

TRACE_EVENT_FN(irdma_cqp_done,
	TP_PROTO(const struct shim_device *dev, const struct shim_traced_command *command),
	TP_ARGS(dev, command),
	TP_STRUCT__entry(
		SHIM_TRACE_DEVICE
		__string(command, command->name)
		__string(object, command->object)
		__string(result, command->result)
		__field(u32, number)
		__field(u32, slot)
		__field(u64, us)
		__field(int, error)
		__field(u16, major)
		__field(u16, minor)
		__field(u32, value)
	),
	TP_fast_assign(
		SHIM_TRACE_ASSIGN_DEVICE;
		SHIM_ASSIGN_STR(command, command->name);
		SHIM_ASSIGN_STR(object, command->object);
		SHIM_ASSIGN_STR(result, command->result);
		__entry->number = command->number;
		__entry->slot = command->slot;
		__entry->us = command->us;
		__entry->error = command->error;
		__entry->major = command->major;
		__entry->minor = command->minor;
		__entry->value = command->value;
	),
	TP_printk("%s %s %s=%u slot=%u us=%llu error=%d major=%#x minor=%#x value=%u result='%s'",
		  __get_str(device), __get_str(command), __get_str(object), __entry->number,
		  __entry->slot, __entry->us, __entry->error, __entry->major, __entry->minor,
		  __entry->value, __get_str(result)),
	on_CQP_DONE, off_CQP_DONE
);

TRACE_EVENT_FN(irdma_qp_state,
	TP_PROTO(const struct shim_device *dev, const struct shim_traced_qp *qp),
	TP_ARGS(dev, qp),
	TP_STRUCT__entry(
		SHIM_TRACE_DEVICE
		__string(type, qp->type)
		__string(from, qp->from)
		__string(to, qp->to)
		__string(hw_state, qp->hw_state)
		__string(cause, qp->cause)
		__field(u32, qp)
		__field(int, error)
	),
	TP_fast_assign(
		SHIM_TRACE_ASSIGN_DEVICE;
		SHIM_ASSIGN_STR(type, qp->type);
		SHIM_ASSIGN_STR(from, qp->from);
		SHIM_ASSIGN_STR(to, qp->to);
		SHIM_ASSIGN_STR(hw_state, qp->hw_state);
		SHIM_ASSIGN_STR(cause, qp->cause);
		__entry->qp = qp->qp;
		__entry->error = qp->error;
	),
	TP_printk("%s qp=%u type=%s %s -> %s hw_state=%s cause=%s error=%d", __get_str(device),
		  __entry->qp, __get_str(type), __get_str(from), __get_str(to),
		  __get_str(hw_state), __get_str(cause), __entry->error),
	on_QP_STATE, off_QP_STATE
);

TRACE_EVENT_FN(irdma_qp_refused,
	TP_PROTO(const struct shim_device *dev, const struct shim_traced_qp *qp),
	TP_ARGS(dev, qp),
	TP_STRUCT__entry(
		SHIM_TRACE_DEVICE
		__string(from, qp->from)
		__string(to, qp->to)
		__string(attribute, qp->attribute)
		__field(u32, qp)
		__field(int, error)
		__field(u64, value)
	),
	TP_fast_assign(
		SHIM_TRACE_ASSIGN_DEVICE;
		SHIM_ASSIGN_STR(from, qp->from);
		SHIM_ASSIGN_STR(to, qp->to);
		SHIM_ASSIGN_STR(attribute, qp->attribute);
		__entry->qp = qp->qp;
		__entry->error = qp->error;
		__entry->value = qp->value;
	),
	TP_printk("%s qp=%u %s -> %s attribute='%s' value=%#llx error=%d", __get_str(device),
		  __entry->qp, __get_str(from), __get_str(to), __get_str(attribute),
		  __entry->value, __entry->error),
	on_QP_REFUSED, off_QP_REFUSED
);

TRACE_EVENT_FN(irdma_qp_path,
	TP_PROTO(const struct shim_device *dev, const struct shim_traced_path *path),
	TP_ARGS(dev, path),
	TP_STRUCT__entry(
		SHIM_TRACE_DEVICE
		__field(u32, qp)
		__field(u32, dest_qp)
		__array(u8, source, 16)
		__array(u8, destination, 16)
		__array(u8, next_hop, 16)
		__field(u32, path_mtu)
		__field(u32, rq_psn)
		__field(u16, vlan)
		__field(u16, arp_index)
		__field(u16, src_port)
		__field(u16, qs_handle)
		__field(u8, priority)
	),
	TP_fast_assign(
		SHIM_TRACE_ASSIGN_DEVICE;
		__entry->qp = path->qp;
		__entry->dest_qp = path->dest_qp;
		put_address(__entry->source, path->source, path->ipv4);
		put_address(__entry->destination, path->destination, path->ipv4);
		put_address(__entry->next_hop, path->next_hop, path->next_hop_ipv4);
		__entry->path_mtu = path->path_mtu;
		__entry->rq_psn = path->rq_psn;
		__entry->vlan = path->vlan;
		__entry->arp_index = path->arp_index;
		__entry->src_port = path->src_port;
		__entry->qs_handle = path->qs_handle;
		__entry->priority = path->priority;
	),
	TP_printk("%s qp=%u dest_qp=%u source=%pI6c destination=%pI6c next_hop=%pI6c vlan=%#x arp_index=%u src_port=%u path_mtu=%u rq_psn=%u priority=%u qs_handle=%u",
		  __get_str(device), __entry->qp, __entry->dest_qp, __entry->source,
		  __entry->destination, __entry->next_hop, __entry->vlan, __entry->arp_index,
		  __entry->src_port, __entry->path_mtu, __entry->rq_psn,
		  __entry->priority, __entry->qs_handle),
	on_QP_PATH, off_QP_PATH
);

TRACE_EVENT_FN(irdma_arp,
	TP_PROTO(const struct shim_device *dev, const struct shim_traced_arp *arp),
	TP_ARGS(dev, arp),
	TP_STRUCT__entry(
		SHIM_TRACE_DEVICE
		__array(u8, ip, 16)
		__array(u8, mac, 6)
		__field(u16, index)
		__field(u16, vlan)
		__field(int, error)
	),
	TP_fast_assign(
		SHIM_TRACE_ASSIGN_DEVICE;
		put_address(__entry->ip, arp->ip, arp->ipv4);
		memcpy(__entry->mac, arp->mac, sizeof(__entry->mac));
		__entry->index = arp->index;
		__entry->vlan = arp->vlan;
		__entry->error = arp->error;
	),
	TP_printk("%s index=%u ip=%pI6c vlan=%u mac=%pM error=%d", __get_str(device),
		  __entry->index, __entry->ip, __entry->vlan, __entry->mac, __entry->error),
	on_ARP, off_ARP
);

TRACE_EVENT_FN(irdma_async_event,
	TP_PROTO(const struct shim_device *dev, const struct shim_traced_event *event),
	TP_ARGS(dev, event),
	TP_STRUCT__entry(
		SHIM_TRACE_DEVICE
		__string(name, event->name)
		__string(object, event->object)
		__string(source, event->source)
		__field(u32, code)
		__field(u32, number)
		__field(u32, request)
		__field(bool, known)
	),
	TP_fast_assign(
		SHIM_TRACE_ASSIGN_DEVICE;
		SHIM_ASSIGN_STR(name, event->name);
		SHIM_ASSIGN_STR(object, event->object);
		SHIM_ASSIGN_STR(source, event->source);
		__entry->code = event->code;
		__entry->number = event->number;
		__entry->request = event->request;
		__entry->known = event->known;
	),
	TP_printk("%s code=0x%03x name=%s %s=%u source='%s' request=%u known=%d",
		  __get_str(device), __entry->code, __get_str(name), __get_str(object),
		  __entry->number, __get_str(source), __entry->request, __entry->known),
	on_ASYNC_EVENT, off_ASYNC_EVENT
);

TRACE_EVENT_FN(irdma_ceq_event,
	TP_PROTO(const struct shim_device *dev, u32 ceq, u64 cq, bool known),
	TP_ARGS(dev, ceq, cq, known),
	TP_STRUCT__entry(
		SHIM_TRACE_DEVICE
		__field(u32, ceq)
		__field(u64, cq)
		__field(bool, known)
	),
	TP_fast_assign(
		SHIM_TRACE_ASSIGN_DEVICE;
		__entry->ceq = ceq;
		__entry->cq = cq;
		__entry->known = known;
	),
	TP_printk("%s ceq=%u cq=%llu known=%d", __get_str(device), __entry->ceq, __entry->cq,
		  __entry->known),
	on_CEQ_EVENT, off_CEQ_EVENT
);

TRACE_EVENT_FN(irdma_mr_register,
	TP_PROTO(const struct shim_device *dev, const struct shim_traced_mr *mr),
	TP_ARGS(dev, mr),
	TP_STRUCT__entry(
		SHIM_TRACE_DEVICE
		__string(kind, mr->kind)
		__string(list, mr->list)
		__field(u32, stag)
		__field(u32, access)
		__field(u64, va)
		__field(u64, length)
		__field(u64, page_size)
		__field(u64, pages)
		__field(int, error)
	),
	TP_fast_assign(
		SHIM_TRACE_ASSIGN_DEVICE;
		SHIM_ASSIGN_STR(kind, mr->kind);
		SHIM_ASSIGN_STR(list, mr->list);
		__entry->stag = mr->stag;
		__entry->access = mr->access;
		__entry->va = mr->va;
		__entry->length = mr->length;
		__entry->page_size = mr->page_size;
		__entry->pages = mr->pages;
		__entry->error = mr->error;
	),
	TP_printk("%s stag=%#x kind=%s va=%#llx length=%llu access=%#x page_size=%llu pages=%llu list=%s error=%d",
		  __get_str(device), __entry->stag, __get_str(kind), __entry->va,
		  __entry->length, __entry->access, __entry->page_size, __entry->pages,
		  __get_str(list), __entry->error),
	on_MR_REGISTER, off_MR_REGISTER
);

TRACE_EVENT_FN(irdma_mr_deregister,
	TP_PROTO(const struct shim_device *dev, u32 stag, int error),
	TP_ARGS(dev, stag, error),
	TP_STRUCT__entry(
		SHIM_TRACE_DEVICE
		__field(u32, stag)
		__field(int, error)
	),
	TP_fast_assign(
		SHIM_TRACE_ASSIGN_DEVICE;
		__entry->stag = stag;
		__entry->error = error;
	),
	TP_printk("%s stag=%#x error=%d", __get_str(device), __entry->stag, __entry->error),
	on_MR_DEREGISTER, off_MR_DEREGISTER
);

TRACE_EVENT_FN(irdma_reset,
	TP_PROTO(const struct shim_device *dev, const char *what, const char *why, u32 attempt,
		 int error),
	TP_ARGS(dev, what, why, attempt, error),
	TP_STRUCT__entry(
		SHIM_TRACE_DEVICE
		__string(what, what)
		__string(why, why)
		__field(u32, attempt)
		__field(int, error)
	),
	TP_fast_assign(
		SHIM_TRACE_ASSIGN_DEVICE;
		SHIM_ASSIGN_STR(what, what);
		SHIM_ASSIGN_STR(why, why);
		__entry->attempt = attempt;
		__entry->error = error;
	),
	TP_printk("%s %s attempt=%u error=%d why='%s'", __get_str(device), __get_str(what),
		  __entry->attempt, __entry->error, __get_str(why)),
	on_RESET, off_RESET
);

#endif

#undef TRACE_INCLUDE_PATH
#define TRACE_INCLUDE_PATH .
#undef TRACE_INCLUDE_FILE
#define TRACE_INCLUDE_FILE shim_trace
#include <trace/define_trace.h>
