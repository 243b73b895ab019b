/* SPDX-License-Identifier: GPL-2.0 */
/*
 * What the kernel offers to the C++ of drivers/irdma: the only way from there
 * into the kernel. Plain C types only; each function is a thin call into the
 * kernel and takes no decision. Included by C and by C++.
 *
 * Errors are negative errno values. "May sleep" is said where it holds; all
 * else may be called in any context, hard interrupts included.
 */
#ifndef SHIM_KERNEL_H
#define SHIM_KERNEL_H

#include "shim_sizes.h"

#ifdef __cplusplus
typedef unsigned char u8;
typedef unsigned short u16;
typedef unsigned int u32;
typedef unsigned long long u64;
typedef int s32;
typedef long long s64;
#define SHIM_PRINTF(fmt, args) __attribute__((format(printf, fmt, args)))
#define SHIM_ALIGNED __attribute__((aligned(8)))
extern "C" {
#else
#include <linux/types.h>
#include <linux/compiler.h>
#define SHIM_PRINTF(fmt, args) __printf(fmt, args)
#define SHIM_ALIGNED __aligned(8)
#endif

/* One RDMA function of one NIC: its auxiliary device, ib_device and link to ice. */
struct shim_device;

/* ---- Errors that the C++ names ---- */
#define SHIM_EPERM 1
#define SHIM_ENOENT 2
#define SHIM_EIO 5
#define SHIM_EAGAIN 11
#define SHIM_ENOMEM 12
#define SHIM_EACCES 13
#define SHIM_EFAULT 14
#define SHIM_EBUSY 16
#define SHIM_EEXIST 17
#define SHIM_ENODEV 19
#define SHIM_EINVAL 22
#define SHIM_ENOSPC 28
#define SHIM_EPROTO 71
#define SHIM_EOVERFLOW 75
#define SHIM_EOPNOTSUPP 95
#define SHIM_ETIMEDOUT 110
#define SHIM_ECANCELED 125

/* ---- Log ---- */
enum shim_level {
	SHIM_ERR,
	SHIM_WARN,
	SHIM_INFO,
	SHIM_DBG, /* dynamic debug */
};

/* One line, with the name of the ib_device (before it has one, of its auxiliary device). */
void shim_log(struct shim_device *dev, enum shim_level level, const char *fmt, ...)
	SHIM_PRINTF(3, 4);
/*
 * The same, no more than ten lines of a level in five seconds per device. For what users can provoke.
 * SHIM_DBG is not limited: whoever switches it on wants all of it.
 */
void shim_log_limited(struct shim_device *dev, enum shim_level level, const char *fmt, ...)
	SHIM_PRINTF(3, 4);
/* Complain with a backtrace, once in the module's life: for what cannot happen. */
void shim_warn_once(const char *what);

/*
 * ---- Tracepoints (shim_trace.h) ----
 *
 * shim_tracing has a bit for each that somebody listens to. It is asked first, so that events
 * nobody wants cost no more. Strings are copied.
 */
enum shim_tracepoint {
	SHIM_TRACE_CQP_POST,
	SHIM_TRACE_CQP_DONE,
	SHIM_TRACE_QP_STATE,
	SHIM_TRACE_QP_REFUSED,
	SHIM_TRACE_QP_PATH,
	SHIM_TRACE_ARP,
	SHIM_TRACE_ASYNC_EVENT,
	SHIM_TRACE_CEQ_EVENT,
	SHIM_TRACE_MR_REGISTER,
	SHIM_TRACE_MR_DEREGISTER,
	SHIM_TRACE_RESET
};
extern u32 shim_tracing;

struct shim_traced_command {
	const char *name;
	const char *object; /* what kind of object it is about */
	u32 number;	    /* which */
	u32 slot;	    /* in the ring */
	u32 in_flight;	    /* with this one */
	/* At its end: */
	u64 us; /* since it was posted */
	int error;
	u16 major;
	u16 minor;
	u32 value; /* returned */
	const char *result;
};
void shim_trace_cqp_post(struct shim_device *dev, const struct shim_traced_command *command);
void shim_trace_cqp_done(struct shim_device *dev, const struct shim_traced_command *command);

struct shim_traced_qp {
	u32 qp;
	const char *type;
	const char *from;
	const char *to;
	const char *hw_state;
	const char *cause;
	int error;
	const char *attribute; /* that was refused */
	u64 value;
};
void shim_trace_qp_state(struct shim_device *dev, const struct shim_traced_qp *qp);
void shim_trace_qp_refused(struct shim_device *dev, const struct shim_traced_qp *qp);

/* Addresses as in struct irdma_path. */
struct shim_traced_path {
	u32 qp;
	u32 dest_qp;
	u32 source[4];
	u32 destination[4];
	u32 next_hop[4];
	bool ipv4;
	bool next_hop_ipv4;
	u16 vlan;
	u16 arp_index;
	u16 src_port;
	u16 qs_handle;
	u8 priority;
	u32 path_mtu;
	u32 rq_psn;
};
void shim_trace_qp_path(struct shim_device *dev, const struct shim_traced_path *path);

struct shim_traced_arp {
	u16 index;
	u32 ip[4];
	bool ipv4;
	u16 vlan;
	u8 mac[6];
	int error;
};
void shim_trace_arp(struct shim_device *dev, const struct shim_traced_arp *arp);

struct shim_traced_event {
	u32 code;
	const char *name;
	const char *object; /* what number is */
	u32 number;
	const char *source;
	u32 request; /* index in its ring */
	bool known;
};
void shim_trace_async_event(struct shim_device *dev, const struct shim_traced_event *event);
void shim_trace_ceq_event(struct shim_device *dev, u32 ceq, u64 cq, bool known);

struct shim_traced_mr {
	u32 stag;
	const char *kind;
	u64 va;
	u64 length;
	u32 access;
	u64 page_size;
	u64 pages;
	const char *list;
	int error;
};
void shim_trace_mr_register(struct shim_device *dev, const struct shim_traced_mr *mr);
void shim_trace_mr_deregister(struct shim_device *dev, u32 stag, int error);
void shim_trace_reset(struct shim_device *dev, const char *what, const char *why, u32 attempt,
		      int error);

/* ---- Memory ---- */
/* Zeroed; may sleep. NULL when there is none. Large sizes are not contiguous. */
void *shim_zalloc(u64 bytes);
/* The same for small sizes, in any context. */
void *shim_zalloc_atomic(u64 bytes);
void shim_free(void *mem);
void shim_memset(void *mem, int byte, u64 bytes);
void shim_memcpy(void *to, const void *from, u64 bytes);

/* Coherent DMA memory, zeroed and page aligned; may sleep. *bus gets the device's address. */
void *shim_dma_alloc(struct shim_device *dev, u64 bytes, u64 *bus);
void shim_dma_free(struct shim_device *dev, u64 bytes, void *cpu, u64 bus);

/* Bytes of DMA memory that are out. */
u64 shim_dma_bytes(struct shim_device *dev);

/* ---- Registers: byte offset in BAR 0 ---- */
u32 shim_reg_read(struct shim_device *dev, u32 offset);
void shim_reg_write(struct shim_device *dev, u32 offset, u32 value);

/* ---- Locks ---- */
/* Each class has a lockdep class of its own, of this name. */
#define SHIM_LOCK_LIST(X) \
	X(SHIM_LOCK_CQP, "irdma_cqp") \
	X(SHIM_LOCK_CCQ, "irdma_ccq") \
	X(SHIM_LOCK_IDS, "irdma_ids") \
	X(SHIM_LOCK_CEQ, "irdma_ceq") \
	X(SHIM_LOCK_AEQ, "irdma_aeq") \
	X(SHIM_LOCK_CQ, "irdma_cq") \
	X(SHIM_LOCK_QP_SQ, "irdma_qp_sq") \
	X(SHIM_LOCK_QP_RQ, "irdma_qp_rq") \
	X(SHIM_LOCK_QP_TABLE, "irdma_qp_table") \
	X(SHIM_LOCK_UCONTEXT, "irdma_ucontext") \
	X(SHIM_LOCK_ARP, "irdma_arp") \
	X(SHIM_LOCK_QOS, "irdma_qos_map") \
	X(SHIM_LOCK_DEVICE, "irdma_device_life") \
	X(SHIM_LOCK_DMA_POOL, "irdma_dma_pool") \
	X(SHIM_MUTEX_QP, "irdma_qp") \
	X(SHIM_MUTEX_CQ, "irdma_cq_resize") \
	X(SHIM_MUTEX_QOS, "irdma_qos") \
	X(SHIM_MUTEX_QOS_GATE, "irdma_qos_gate") \
	X(SHIM_MUTEX_PBLE, "irdma_pble") \
	X(SHIM_MUTEX_HMC, "irdma_hmc") \
	X(SHIM_MUTEX_MCAST, "irdma_mcast") \
	X(SHIM_MUTEX_AH, "irdma_ah") \
	X(SHIM_MUTEX_STATISTICS, "irdma_statistics")
#define SHIM_LOCK_MEMBER(cls, name) cls,
enum shim_lock_class { SHIM_LOCK_LIST(SHIM_LOCK_MEMBER) SHIM_LOCK_CLASSES };

struct shim_spinlock {
	u8 opaque[SHIM_SIZEOF_SPINLOCK];
} SHIM_ALIGNED;
void shim_spin_init(struct shim_spinlock *lock, enum shim_lock_class cls);
unsigned long shim_spin_lock(struct shim_spinlock *lock); /* irqsave: returns the flags */
void shim_spin_unlock(struct shim_spinlock *lock, unsigned long flags);

struct shim_mutex {
	u8 opaque[SHIM_SIZEOF_MUTEX];
} SHIM_ALIGNED;
void shim_mutex_init(struct shim_mutex *mutex, enum shim_lock_class cls);
void shim_mutex_destroy(struct shim_mutex *mutex);
void shim_mutex_lock(struct shim_mutex *mutex); /* may sleep */
void shim_mutex_unlock(struct shim_mutex *mutex);

struct shim_completion {
	u8 opaque[SHIM_SIZEOF_COMPLETION];
} SHIM_ALIGNED;
void shim_completion_init(struct shim_completion *c);
void shim_complete(struct shim_completion *c);
void shim_complete_all(struct shim_completion *c);
void shim_wait(struct shim_completion *c); /* may sleep, not interruptible */
/* May sleep, not interruptible. Milliseconds left, at least 1; 0 if time ran out. */
u32 shim_wait_ms(struct shim_completion *c, u32 ms);
bool shim_try_wait(struct shim_completion *c);

/*
 * ---- Deferred work: process context, two workqueues a device ----
 *
 * Work of objects may wait for the device, so for an interrupt. What serves interrupts must then
 * not stand behind it: when memory is short, a workqueue runs its items one after the other.
 */
enum shim_work_kind {
	SHIM_WORK_OBJECT, /* may wait for the device */
	SHIM_WORK_EVENTS, /* others may wait for it; does not wait itself */
	SHIM_WORK_KINDS
};
struct shim_work {
	u8 opaque[SHIM_SIZEOF_DELAYED_WORK] SHIM_ALIGNED;
	void (*function)(void *arg);
	void *arg;
	enum shim_work_kind kind;
};
void shim_work_init(struct shim_work *work, enum shim_work_kind kind,
		    void (*function)(void *arg), void *arg);
/* True if it was not already waiting to run. */
bool shim_work_queue(struct shim_device *dev, struct shim_work *work);
bool shim_work_queue_ms(struct shim_device *dev, struct shim_work *work, u32 delay_ms);
/* Returns when it neither waits nor runs; may sleep. True if it was waiting to run. */
bool shim_work_cancel(struct shim_work *work);
void shim_work_flush(struct shim_device *dev); /* all of the device; may sleep */

/* ---- Time ---- */
u64 shim_now_ms(void);
u64 shim_now_ns(void);
u64 shim_ticks(void); /* quicker; for short times on one CPU */
u32 shim_ticks_per_ms(void);
void shim_udelay(u32 us);
void shim_sleep_us(u32 us); /* may sleep; between us and twice that */
u32 shim_random(void);

/* ---- Interrupts ---- */
/* Number of MSI-X vectors that ice lends to this device. */
u32 shim_vectors(struct shim_device *dev);
/* Number of lent vector @index in the function's MSI-X table, for cause registers. */
u32 shim_vector_hw_index(struct shim_device *dev, u32 index);
/*
 * Have @handler called in a tasklet when lent vector @index fires.
 * /proc/interrupts shows "irdma-", the PCI address and @use, with @number unless
 * that is negative. @cpu: wished for, or -1. May sleep.
 */
int shim_irq_request(struct shim_device *dev, u32 index, void (*handler)(void *arg), void *arg,
		     const char *use, int number, int cpu);
void shim_irq_free(struct shim_device *dev, u32 index); /* waits for a running handler */
/* The kernel's number of lent vector @index, as in /proc/interrupts. */
int shim_vector_irq(struct shim_device *dev, u32 index);
u32 shim_online_cpus(void);
int shim_spread_cpu(struct shim_device *dev, u32 i); /* CPU for the i-th vector, near the device */

/* ---- What debugfs shows ---- */
struct shim_text; /* struct seq_file */
/* As printk(), the %p extensions included. Without limit of length; any context. */
void shim_print(struct shim_text *text, const char *fmt, ...) SHIM_PRINTF(2, 3);

/* ---- What the administrator asks for ---- */

/* How many QPs there may be, and with them other objects: 0, fewest, to SHIM_LIMITS_SEL_MAX. */
#define SHIM_LIMITS_SEL_MAX 7
u32 shim_limits_sel(void);

/* ---- What ice knows and does ---- */
struct shim_port_info {
	u32 pf_id;
	u32 vsi;	 /* number of the main VSI */
	u32 mtu;	 /* of the netdev, bytes */
	u8 mac[6];	 /* of the netdev */
	u16 pci_vendor;
	u16 pci_device;
	u8 pci_revision;
};
void shim_get_port_info(struct shim_device *dev, struct shim_port_info *info);

#define SHIM_MAX_TC 8
#define SHIM_MAX_UP 8
struct shim_qos {
	u8 num_tc;
	u8 vport_relative_bw;
	u8 vport_priority_type;
	bool dscp_mode;
	u8 up2tc[SHIM_MAX_UP];
	u8 dscp2up[64];
	struct {
		u8 relative_bw;
		u8 priority_type;
	} tc[SHIM_MAX_TC];
};
void shim_get_qos(struct shim_device *dev, struct shim_qos *qos); /* may sleep */

/* Register a queue set (a work-scheduler leaf) of traffic class @tc with ice; may sleep. */
int shim_qset_add(struct shim_device *dev, u16 qs_handle, u8 tc, u32 *teid);
void shim_qset_del(struct shim_device *dev, u16 qs_handle, u8 tc, u32 teid);
/* Let the VSI's traffic reach the engine, or no longer; may sleep. */
int shim_vsi_filter(struct shim_device *dev, bool enable);
/*
 * Ask for a reset of the function, which removes the device; may sleep. 0; -SHIM_EAGAIN if it cannot
 * be asked for just now; another error if none will come of it.
 */
int shim_request_reset(struct shim_device *dev);

/* What is remembered of a function when its device is removed, as by a reset. */
struct shim_history {
	u32 resets;	   /* asked for one after the other */
	u64 last_reset_ms; /* when the last was, shim_now_ms() */
};
struct shim_history *shim_history_of(struct shim_device *dev);

/* ---- User memory ---- */
struct shim_umem;

/* SHIM_ACCESS_* below. May sleep. */
int shim_umem_get(struct shim_device *dev, u64 start, u64 length, u32 access,
		  struct shim_umem **out);
int shim_umem_get_dmabuf(struct shim_device *dev, u64 offset, u64 length, int fd, u32 access,
			 struct shim_umem **out);
void shim_umem_put(struct shim_umem *umem);
/*
 * Largest size of @sizes (bit n: 2^n bytes) with which all of it can be listed for VA @va;
 * 0: none. To be called before its pages are counted or listed.
 */
u64 shim_umem_best_page(struct shim_umem *umem, u64 sizes, u64 va);
/* Number of pages of @page_size that cover it. */
u64 shim_umem_pages(struct shim_umem *umem, u64 page_size);
/* Whether the device sees it as one run of addresses. */
bool shim_umem_contiguous(struct shim_umem *umem);
/* Where the address of page @page goes; *room: how many entries follow there, that one included. */
typedef void *(*shim_page_place)(void *list, u64 page, u64 *room);
/* Write the bus addresses of the first @count pages, little endian; returns how many. */
u64 shim_umem_list(struct shim_umem *umem, u64 page_size, u64 count, shim_page_place place,
		   void *list);
/* Copy @bytes from @offset on to @to; may sleep. 0 or an error. */
int shim_umem_copy(struct shim_umem *umem, u64 offset, void *to, u64 bytes);

/* ---- The RDMA core ---- */
/* ib_modify_qp_is_ok(): states and mask as in driver.h. */
bool shim_modify_qp_is_ok(u32 from, u32 to, u32 qp_type, u32 mask);
/* Hand an event to the consumer's handler; @event as in driver.h. @ib: what driver.h calls ib. */
void shim_qp_event(void *ib_qp, u32 event);
void shim_cq_event(void *ib_cq, u32 event);
void shim_cq_completion(void *ib_cq); /* calls its comp_handler */
/*
 * MAC of the neighbour @ip (words in CPU order; IPv4 in ip[3]) on the netdev @ifindex, if the
 * kernel has a valid one. Any context but hard interrupts.
 */
bool shim_neighbour_mac(struct shim_device *dev, u32 ifindex, const u32 ip[4], bool ipv4,
			u8 mac[6]);
void shim_port_event(struct shim_device *dev, bool active);
void shim_device_fatal(struct shim_device *dev);

#ifdef __cplusplus
} /* extern "C" */
#endif

#endif
