/* SPDX-License-Identifier: GPL-2.0 */
/*
 * What the parts of the kernel test module share: the device under test, a
 * way to report, queue pairs brought into a state, and completions counted.
 */
#ifndef VERBS_TEST_H
#define VERBS_TEST_H

#include <linux/completion.h>
#include <rdma/ib_verbs.h>

#include "qp_states.h"

#define CQ_ENTRIES 4096
#define VT_BYTES 65536	/* memory of each of a pair */
#define VT_THREADS 6

/** struct vt_device - the device under test, and what all tests use of it
 * @ib: the device
 * @netdev_mac: MAC of the port
 * @sgid_index: a RoCE v2 GID with an IPv4 address
 * @sgid: its value
 * @pd: a protection domain
 */
struct vt_device {
	struct ib_device *ib;
	u8 netdev_mac[ETH_ALEN];
	int sgid_index;
	union ib_gid sgid;
	struct ib_pd *pd;
};

/** struct vt_qp - a queue pair with a CQ for each direction
 * @qp: the queue pair
 * @type: T_RC or T_UD
 * @send_cq: completions of sends
 * @recv_cq: completions of receives
 * @cap: what creation has granted
 * @events: completion events of both CQs
 * @drained: how often IB_EVENT_SQ_DRAINED came
 * @others: other asynchronous events
 * @drained_now: completed by each IB_EVENT_SQ_DRAINED
 */
struct vt_qp {
	struct ib_qp *qp;
	int type;
	struct ib_cq *send_cq, *recv_cq;
	struct ib_qp_cap cap;
	atomic_t events, drained, others;
	struct completion drained_now;
};

/** struct vt_pair - two queue pairs that are connected to each other
 * @a: the one that sends
 * @b: the one that receives
 * @mem: memory of a and of b, VT_BYTES each
 * @dma: its bus addresses
 */
struct vt_pair {
	struct vt_qp a, b;
	u8 *mem[2];
	dma_addr_t dma[2];
};

/* main.c */
int vt_find_gid(void);
extern bool vt_events, vt_refused;
extern char *vt_neighbour;
extern struct vt_device vt;
extern atomic_t vt_passed, vt_failed, vt_errors;

/*
 * One check: prints what was expected if it does not hold. It is the value of
 * the expression, so that a test can end where going on makes no sense.
 */
#define CHECK(ok, fmt, ...)							\
	({									\
		bool __ok = (ok);						\
										\
		if (__ok)							\
			atomic_inc(&vt_passed);					\
		else								\
			vt_fail("%s:%d: " fmt, __func__, __LINE__, ##__VA_ARGS__); \
		__ok;								\
	})

__printf(1, 2) void vt_fail(const char *fmt, ...);

/* qp.c */
const char *vt_state_name(int state);
const char *vt_type_name(int type);
struct ib_qp_attr vt_values(u32 qpn, unsigned int round);
int vt_create(struct vt_qp *q, int type, const struct ib_qp_cap *cap);
int vt_go(struct vt_qp *q, int state);
int vt_resume(struct vt_qp *q);
int vt_bring(struct vt_qp *q, int state);
int vt_state(struct vt_qp *q);
void vt_destroy(struct vt_qp *q);
int vt_post_sends(struct vt_qp *q, u64 first_id, int count, struct ib_ah *ah);
int vt_post_recvs(struct vt_qp *q, u64 first_id, int count);
struct rdma_ah_attr vt_path(void);

/* hold.c */
int vt_hold_begin(void);
void vt_hold_end(void);

/* pair.c */
u8 vt_pattern(u32 seed, u32 i);
bool vt_take(struct ib_cq *cq, struct ib_wc *wc);
int vt_connect(struct vt_qp *q, u32 dest);
int vt_reconnect(struct vt_pair *p);
bool vt_pair_create(struct vt_pair *p, int type);
void vt_pair_destroy(struct vt_pair *p);
int vt_pieces(struct vt_pair *p, int side, u32 offset, u32 length, int count,
	      struct ib_sge *sge);
int vt_post_buffer(struct vt_pair *p, u64 id, u32 offset, u32 length, int pieces);

/* data.c */
bool vt_register(struct vt_pair *p, struct ib_mr *mr);

/* threads.c */
void vt_thread_ended(void);
void vt_run_threads(int (*const *functions)(void *), long count);

/* bench.c */
void vt_bench(void);

/* Tests. */
void vt_test_table(void);
void vt_test_gsi(void);
void vt_test_flush(void);
void vt_test_reset(void);
void vt_test_sqd(void);
void vt_test_full(void);
void vt_test_notify(void);
void vt_test_attributes(void);
void vt_test_objects(void);
void vt_test_memory(void);
void vt_test_fastreg(void);
void vt_test_rings(void);
void vt_test_ah(void);
void vt_test_dmac(void);
void vt_test_mcast(void);
void vt_test_threads(void);
void vt_test_data(void);
void vt_test_datagrams(void);
void vt_test_chain(void);
void vt_test_overfull(void);
void vt_test_mistakes(void);
void vt_test_drain(void);
void vt_test_solicited(void);
void vt_test_senders(void);
void vt_test_forged(void);

#endif
