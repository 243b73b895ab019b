/* SPDX-License-Identifier: GPL-2.0 */
/*
 * What drivers/irdma (C++) offers to the shims (C): life of a device, and one
 * function a verb. Plain structs in, plain structs out: the shims have checked
 * and copied what user processes handed in, and have resolved what ib_core
 * knows (GIDs, DMAC, VLAN, priority).
 *
 * Where a number is one of ib_core's, it has ib_core's value; shim/verbs.c
 * asserts that. Errors are negative errno values. All may sleep, unless said.
 */
#ifndef SHIM_DRIVER_H
#define SHIM_DRIVER_H

#include "kernel.h"

#ifdef __cplusplus
extern "C" {
#endif

/* C++ objects, opaque to C. */
struct irdma_device;
struct irdma_ucontext;
struct irdma_pd;
struct irdma_cq;
struct irdma_qp;
struct irdma_mr;
struct irdma_mw;
struct irdma_ah;

/* ---- Values of ib_core ---- */
enum { /* enum ib_qp_state */
	SHIM_QPS_RESET,
	SHIM_QPS_INIT,
	SHIM_QPS_RTR,
	SHIM_QPS_RTS,
	SHIM_QPS_SQD,
	SHIM_QPS_SQE,
	SHIM_QPS_ERR
};

enum { /* enum ib_qp_type */
	SHIM_QPT_GSI = 1,
	SHIM_QPT_RC = 2,
	SHIM_QPT_UD = 4
};

enum { /* enum ib_qp_attr_mask */
	SHIM_QP_STATE = 1 << 0,
	SHIM_QP_CUR_STATE = 1 << 1,
	SHIM_QP_EN_SQD_ASYNC_NOTIFY = 1 << 2,
	SHIM_QP_ACCESS_FLAGS = 1 << 3,
	SHIM_QP_PKEY_INDEX = 1 << 4,
	SHIM_QP_PORT = 1 << 5,
	SHIM_QP_QKEY = 1 << 6,
	SHIM_QP_AV = 1 << 7,
	SHIM_QP_PATH_MTU = 1 << 8,
	SHIM_QP_TIMEOUT = 1 << 9,
	SHIM_QP_RETRY_CNT = 1 << 10,
	SHIM_QP_RNR_RETRY = 1 << 11,
	SHIM_QP_RQ_PSN = 1 << 12,
	SHIM_QP_MAX_QP_RD_ATOMIC = 1 << 13,
	SHIM_QP_ALT_PATH = 1 << 14,
	SHIM_QP_MIN_RNR_TIMER = 1 << 15,
	SHIM_QP_SQ_PSN = 1 << 16,
	SHIM_QP_MAX_DEST_RD_ATOMIC = 1 << 17,
	SHIM_QP_PATH_MIG_STATE = 1 << 18,
	SHIM_QP_CAP = 1 << 19,
	SHIM_QP_DEST_QPN = 1 << 20,
	SHIM_QP_RATE_LIMIT = 1 << 25
};

enum { /* enum ib_mig_state */
	SHIM_MIG_MIGRATED = 0
};

enum { /* enum ib_access_flags */
	SHIM_ACCESS_LOCAL_WRITE = 1 << 0,
	SHIM_ACCESS_REMOTE_WRITE = 1 << 1,
	SHIM_ACCESS_REMOTE_READ = 1 << 2,
	SHIM_ACCESS_REMOTE_ATOMIC = 1 << 3,
	SHIM_ACCESS_MW_BIND = 1 << 4,
	SHIM_ACCESS_ZERO_BASED = 1 << 5,
	SHIM_ACCESS_ON_DEMAND = 1 << 6,
	SHIM_ACCESS_HUGETLB = 1 << 7,
	SHIM_ACCESS_RELAXED_ORDERING = 1 << 20,
	SHIM_ACCESS_OPTIONAL = 0x3ff00000 /* what a driver may ignore */
};

/*
 * Driver data of a process's calls ("udata"), in bytes: what the first provider libraries bring of
 * struct irdma_*_req, and the room that they have for struct irdma_*_resp.
 */
enum { /* <rdma/irdma-abi.h> */
	SHIM_UDATA_CONTEXT_IN = 8,
	SHIM_UDATA_CONTEXT_OUT = 16,
	SHIM_UDATA_PD_OUT = 8,
	SHIM_UDATA_CREATE_CQ_IN = 16,
	SHIM_UDATA_CREATE_CQ_OUT = 8,
	SHIM_UDATA_RESIZE_CQ_IN = 8,
	SHIM_UDATA_CREATE_QP_IN = 16,
	SHIM_UDATA_CREATE_QP_OUT = 20,
	SHIM_UDATA_MODIFY_QP_IN = 2,
	SHIM_UDATA_MODIFY_QP_OUT = 19,
	SHIM_UDATA_MR_IN = 8,
	SHIM_UDATA_AH_OUT = 8
};

/* Calls that have some. */
enum irdma_call {
	IRDMA_CALL_CONTEXT,
	IRDMA_CALL_PD,
	IRDMA_CALL_CREATE_CQ,
	IRDMA_CALL_RESIZE_CQ,
	IRDMA_CALL_CREATE_QP,
	IRDMA_CALL_MODIFY_QP,
	IRDMA_CALL_MR,
	IRDMA_CALL_AH
};

enum { /* enum ib_event_type */
	SHIM_EVENT_CQ_ERR = 0,
	SHIM_EVENT_QP_FATAL = 1,
	SHIM_EVENT_QP_REQ_ERR = 2,
	SHIM_EVENT_QP_ACCESS_ERR = 3,
	SHIM_EVENT_COMM_EST = 4,
	SHIM_EVENT_SQ_DRAINED = 5
};

enum { /* enum ib_wr_opcode */
	SHIM_WR_RDMA_WRITE = 0,
	SHIM_WR_RDMA_WRITE_WITH_IMM = 1,
	SHIM_WR_SEND = 2,
	SHIM_WR_SEND_WITH_IMM = 3,
	SHIM_WR_RDMA_READ = 4,
	SHIM_WR_LOCAL_INV = 7,
	SHIM_WR_SEND_WITH_INV = 9,
	SHIM_WR_RDMA_READ_WITH_INV = 11,
	SHIM_WR_REG_MR = 0x20
};

enum { /* enum ib_send_flags */
	SHIM_SEND_FENCE = 1 << 0,
	SHIM_SEND_SIGNALED = 1 << 1,
	SHIM_SEND_SOLICITED = 1 << 2,
	SHIM_SEND_INLINE = 1 << 3
};

enum { /* enum ib_cq_notify_flags */
	SHIM_CQ_SOLICITED = 1 << 0,
	SHIM_CQ_NEXT_COMP = 1 << 1,
	SHIM_CQ_REPORT_MISSED_EVENTS = 1 << 2
};

/* ---- Life of a device ---- */

/*
 * Bring the engine up: control QP, host memory cache, event queues, own ARP entries. @dev has
 * its link to ice and its registers mapped. Afterwards the ib_device can be registered.
 */
int irdma_device_start(struct shim_device *dev, struct irdma_device **out);
/* Called when the ib_device is registered: from now on events go to its consumers. */
void irdma_device_registered(struct irdma_device *device);
/* Take the engine down; all verbs objects are gone. Works with a dead device as well. */
void irdma_device_stop(struct irdma_device *device);
/*
 * The device is about to be removed, or has not been of use. If it is gone from the bus or is reset
 * under us, no command is posted any more, so that objects go without waiting for answers. False
 * then.
 */
bool irdma_device_removing(struct irdma_device *device);

/* Events of ice. */
void irdma_before_tc_change(struct irdma_device *device);
void irdma_after_tc_change(struct irdma_device *device);
void irdma_mtu_changed(struct irdma_device *device, u32 mtu);
void irdma_critical_error(struct irdma_device *device, u32 oicr);

/* An address with its MAC, on the port's link. Words in CPU order; IPv4 in ip[3], others 0. */
struct irdma_l2_address {
	u32 ip[4];
	bool ipv4;
	u16 vlan; /* or SHIM_NO_VLAN */
	u8 mac[6];
};
#define SHIM_NO_VLAN 0xffff
/* An address of the port's netdevs came or went. Hearing of one twice does no harm. */
void irdma_own_address(struct irdma_device *device, const struct irdma_l2_address *address,
		       bool present);
/* A neighbour's MAC is known, or has changed. */
void irdma_neighbour(struct irdma_device *device, const struct irdma_l2_address *address);

/*
 * Objects that the device may refuse to give up. With @may_fail, for processes, such a destroy is
 * an error, everything is as it was, and the caller may try again. Otherwise it succeeds, and what
 * the device may still use is kept until the device is stopped, as it is once the device is dead.
 */

/* ---- Attributes ---- */
struct irdma_device_attr {
	u64 max_mr_size;
	u64 page_size_cap;
	u32 max_qp;
	u32 max_qp_wr;
	u32 max_sge;
	u32 max_cq;
	u32 max_cqe;
	u32 max_mr;
	u32 max_mw;
	u32 max_pd;
	u32 max_ah;
	u32 max_ird;
	u32 max_ord;
	u32 max_inline;
	u32 max_mcast_grp;
	u32 max_mcast_qp_attach;
	u32 max_fast_reg_pages;
	u32 max_message;
	u16 fw_major;
	u16 fw_minor;
	u32 comp_vectors; /* CEQs that CQs may choose */
};
void irdma_query_device(struct irdma_device *device, struct irdma_device_attr *attr);

/* What the provider library is told of the device; irdma_alloc_ucontext_resp. */
struct irdma_uk_attr {
	u64 feature_flags;
	u32 max_frags;
	u32 max_read_sges;
	u32 max_inline;
	u32 max_rq_quanta;
	u32 max_sq_quanta;
	u32 min_cq_size;
	u32 max_cq_size;
	u16 max_sq_chunk;
	u16 min_wq_size;
	u8 hw_rev;
	u64 db_page_offset; /* in BAR 0 */
};
void irdma_get_uk_attr(struct irdma_device *device, struct irdma_uk_attr *attr);

/* ---- Statistics ---- */
#define IRDMA_STATISTICS 46
const char *irdma_statistic_name(u32 index);
int irdma_read_statistics(struct irdma_device *device, u64 (*values)[IRDMA_STATISTICS]);

/* ---- What administrators see of an object: the device's view ---- */
struct irdma_qp_details {
	const char *hw_state;
	u32 sq_quanta;
	u32 rq_quanta;
	u32 qs_handle;
	u32 priority;
	u32 arp_index; /* 0: none */
	u32 src_port;  /* UDP */
};
void irdma_qp_describe(struct irdma_qp *qp, struct irdma_qp_details *details);
#define IRDMA_QP_CONTEXT_BYTES 256
/* The context as the device has it at the moment. */
int irdma_qp_upload(struct irdma_qp *qp, u8 context[IRDMA_QP_CONTEXT_BYTES]);

struct irdma_cq_details {
	u32 ring_size; /* entries */
	u32 ceq;
};
void irdma_cq_describe(struct irdma_cq *cq, struct irdma_cq_details *details);

struct irdma_mr_details {
	u64 page_size; /* bytes; 0: all of memory */
	u64 pages;
	/* run: none needed; pbl; pbl2: of two levels; fast: by the consumer; all: of memory */
	const char *list;
};
void irdma_mr_describe(struct irdma_mr *mr, struct irdma_mr_details *details);

struct irdma_memory_details { /* bytes */
	u64 cache;	     /* host memory cache, page lists included */
	u64 page_lists;	     /* pool */
	u64 page_lists_used; /* taken from the pool */
};
void irdma_describe_memory(struct irdma_device *device, struct irdma_memory_details *details);

/* ---- What debugfs shows, in words ---- */
enum irdma_view {
	IRDMA_VIEW_CQP,	       /* ring of the control QP, commands in flight */
	IRDMA_VIEW_HMC,	       /* objects and segments of the host memory cache; numbers in use */
	IRDMA_VIEW_PAGE_LISTS, /* pool of page-list entries */
	IRDMA_VIEW_QOS,	       /* traffic classes, work-scheduler tree, QPs by priority */
	IRDMA_VIEW_ARP,	       /* ARP table */
	IRDMA_VIEW_VECTORS     /* interrupt vectors and event queues */
};
void irdma_show(struct irdma_device *device, enum irdma_view view, struct shim_text *text);

/* ---- User context: the registered ring memory of one process ---- */
/* Whether @in bytes of driver data and room for @out bytes of answer are enough. Any context. */
bool irdma_udata_ok(enum irdma_call call, u64 in, u64 out);
int irdma_ucontext_create(struct irdma_device *device, bool raw_attr, struct irdma_ucontext **out);
void irdma_ucontext_destroy(struct irdma_ucontext *uctx);

/* ---- Protection domain ---- */
int irdma_pd_create(struct irdma_device *device, struct irdma_pd **out, u32 *pd_number);
void irdma_pd_destroy(struct irdma_pd *pd);

/* ---- Completion queue ---- */
struct irdma_cq_params {
	u32 entries;
	u32 comp_vector;
	void *ib; /* the ib_cq */
	struct irdma_ucontext *uctx; /* NULL: kernel */
	u64 user_buffer;	     /* VA of the ring, registered before */
	u64 user_shadow;	     /* VA of the shadow area, registered before */
};
struct irdma_cq_result {
	u32 number;
	u32 entries; /* usable */
	u32 ring_size;
};
int irdma_cq_create(struct irdma_device *device, const struct irdma_cq_params *params,
		    struct irdma_cq **out, struct irdma_cq_result *result);
/* No completion or event of @cq reaches ib_core any more; only irdma_cq_destroy() may follow. */
void irdma_cq_silence(struct irdma_cq *cq);
int irdma_cq_destroy(struct irdma_cq *cq, bool may_fail);
int irdma_cq_resize(struct irdma_cq *cq, u32 entries, struct irdma_ucontext *uctx, u64 user_buffer,
		    u32 *ring_size);
/* Does not sleep. */
int irdma_cq_notify(struct irdma_cq *cq, u32 flags);

/* ---- Queue pair ---- */
struct irdma_qp_params {
	u32 type; /* SHIM_QPT_* */
	u32 max_send_wr;
	u32 max_recv_wr;
	u32 max_send_sge;
	u32 max_recv_sge;
	u32 max_inline;
	bool signal_all;
	void *ib; /* the ib_qp */
	struct irdma_pd *pd;
	struct irdma_cq *send_cq;
	struct irdma_cq *recv_cq;
	struct irdma_ucontext *uctx; /* NULL: kernel */
	u64 user_queues;	     /* VA of the queues, registered before */
	u64 user_completion_ctx;     /* comes back in the process's CQEs */
};
struct irdma_qp_result {
	u32 number;
	u32 max_send_wr;
	u32 max_recv_wr;
	u32 max_send_sge;
	u32 max_recv_sge;
	u32 max_inline;
	u32 sq_size; /* WQEs in the ring: what libirdma calls actual_sq_size */
	u32 rq_size;
	u32 caps; /* IRDMA_SEND_WITH_IMM ... of libirdma */
};
int irdma_qp_create(struct irdma_device *device, const struct irdma_qp_params *params,
		    struct irdma_qp **out, struct irdma_qp_result *result);
int irdma_qp_destroy(struct irdma_qp *qp, bool may_fail);

/* A path as ib_core has resolved it. Addresses in CPU order; IPv4 in ip[3], others 0. */
struct irdma_path {
	bool ipv4;
	bool grh;
	bool multicast;
	u8 dmac[6];
	u8 smac[6];
	u8 dgid[16]; /* as given, for query */
	u32 dest_ip[4];
	u32 src_ip[4];
	u32 next_hop[4]; /* where packets go first: the destination, or a gateway */
	bool next_hop_ipv4;
	u32 ifindex; /* of the netdev whose neighbour it is; 0: not known */
	u8 sgid_index;
	u8 hop_limit;
	u8 traffic_class;
	u8 sl;
	u8 static_rate;
	u8 port;
	u32 flow_label;
	u16 vlan;	  /* VLAN id, or SHIM_NO_VLAN */
	u8 tos_priority;  /* socket priority of the traffic class (rt_tos2priority) */
	u8 vlan_egress[16]; /* VLAN device's egress map: priority of each socket priority */
};

/* A modification: which attributes (mask, SHIM_QP_*), and their values. */
struct irdma_qp_change {
	u32 mask;
	u32 state;
	u32 cur_state;
	u32 access; /* SHIM_ACCESS_* */
	u32 pkey_index;
	u32 port;
	u32 qkey;
	u32 path_mtu; /* bytes */
	u32 timeout;
	u32 retry_cnt;
	u32 rnr_retry;
	u32 rq_psn;
	u32 sq_psn;
	u32 max_rd_atomic;	/* ORD */
	u32 max_dest_rd_atomic; /* IRD */
	u32 min_rnr_timer;
	u32 dest_qp;
	u32 path_mig_state;
	bool sqd_async_notify;
	struct irdma_path path;
	u16 udp_src_port_hint; /* rdma_get_udp_sport() of flow label, own and destination QP */
	bool flush_sq; /* of irdma_modify_qp_req */
	bool flush_rq;
	struct irdma_ucontext *uctx; /* NULL: kernel */
};
int irdma_qp_modify(struct irdma_qp *qp, const struct irdma_qp_change *change);

/* What query_qp reports: as last set by create and modify. */
struct irdma_qp_state {
	struct irdma_qp_change attr; /* mask: unused */
	struct irdma_qp_result cap;
	bool sq_draining;
};
void irdma_qp_query(struct irdma_qp *qp, struct irdma_qp_state *state);

/* ---- Memory ---- */
enum irdma_mr_kind {
	IRDMA_MR_MEMORY, /* IRDMA_MEMREG_TYPE_MEM */
	IRDMA_MR_QP,	 /* rings of a QP: no STag */
	IRDMA_MR_CQ,	 /* ring or shadow area of a CQ: no STag */
};
struct irdma_mr_params {
	enum irdma_mr_kind kind;
	u64 start; /* address in the process */
	u64 length;
	u64 va; /* address the STag starts at */
	u32 access;
	struct irdma_pd *pd;
	struct irdma_ucontext *uctx;
	u32 cq_pages;
	u32 rq_pages;
	u32 sq_pages;
	s32 dmabuf; /* file descriptor, @start is an offset in it; or -1 */
};
int irdma_mr_register(struct irdma_device *device, const struct irdma_mr_params *params,
		      struct irdma_mr **out, u32 *lkey, u32 *rkey);
/*
 * Another MR in the place of @mr, which has the rest from it: memory (@range: start, length and va
 * are given) or access, as said, and @pd. @mr stays as it is, to be deregistered afterwards.
 */
struct irdma_mr_change {
	bool range;
	bool access_given;
	u64 start;
	u64 length;
	u64 va;
	u32 access;
	struct irdma_pd *pd;
};
int irdma_mr_reregister(struct irdma_mr *mr, const struct irdma_mr_change *change,
			struct irdma_mr **out, u32 *lkey, u32 *rkey);
/* All of memory, for the kernel (get_dma_mr). */
int irdma_mr_dma(struct irdma_device *device, struct irdma_pd *pd, u32 access,
		 struct irdma_mr **out, u32 *lkey, u32 *rkey);
/* For fast registration of up to @pages pages. */
int irdma_mr_alloc(struct irdma_device *device, struct irdma_pd *pd, u32 pages,
		   struct irdma_mr **out, u32 *lkey, u32 *rkey);
/*
 * What the next REG_MR shall map: bus addresses of pages, then how they are to
 * be seen. None of these sleeps.
 */
void irdma_mr_begin_pages(struct irdma_mr *mr);
int irdma_mr_set_page(struct irdma_mr *mr, u64 bus);
int irdma_mr_end_pages(struct irdma_mr *mr, u64 va, u64 length, u32 page_size);
int irdma_mr_deregister(struct irdma_mr *mr, bool may_fail);

int irdma_mw_create(struct irdma_device *device, struct irdma_pd *pd, u32 type,
		    struct irdma_mw **out, u32 *rkey);
int irdma_mw_destroy(struct irdma_mw *mw, bool may_fail);

/* ---- Address handle, multicast ---- */
/* Processes get the same one for the same path in the same PD: @shared. */
int irdma_ah_create(struct irdma_device *device, struct irdma_pd *pd, const struct irdma_path *path,
		    bool may_sleep, bool shared, struct irdma_ah **out, u32 *number);
void irdma_ah_destroy(struct irdma_ah *ah, bool may_sleep);

int irdma_mcast_attach(struct irdma_device *device, struct irdma_qp *qp, const u32 ip[4], bool ipv4,
		       const u8 mac[6]);
int irdma_mcast_detach(struct irdma_device *device, struct irdma_qp *qp, const u32 ip[4], bool ipv4);

/* ---- Data path of the kernel; none of these sleeps ---- */
struct shim_send_wr; /* struct ib_send_wr, seen by C++ through work_request.h */
struct shim_recv_wr;
struct shim_wc;
int irdma_post_send(struct irdma_qp *qp, const struct shim_send_wr *wr,
		    const struct shim_send_wr **bad);
int irdma_post_recv(struct irdma_qp *qp, const struct shim_recv_wr *wr,
		    const struct shim_recv_wr **bad);
int irdma_poll_cq(struct irdma_cq *cq, int entries, struct shim_wc *wc);

#ifdef __cplusplus
} /* extern "C" */
#endif

#endif
