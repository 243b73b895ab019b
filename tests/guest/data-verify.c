// SPDX-License-Identifier: GPL-2.0
/*
 * Data between two devices, each byte of it checked. One process is started
 * without an address and waits, the other with the first one's address; both
 * with the same options. For each operation and size, first the one that has
 * connected is active, then the other. The process that the data goes to looks
 * at it: every byte of every message, and that nothing beside them has changed.
 * Length, immediate, order and number of completions are looked at as well.
 *
 * Messages come from one, two or three pieces of memory at any alignment, and
 * not all of them are signalled. The address chooses the GID, so that IPv6, VLANs
 * and the own device are tested by giving such an address.
 */
#define _GNU_SOURCE
#include "lib/rendezvous.h"
#include "lib/verbs_util.h"

#include <errno.h>
#include <getopt.h>
#include <poll.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define PORT 7471
#define DEPTH 32		/* messages at once */
#define ARENA (24u << 20)	/* bytes for them */
#define GUARD 24		/* bytes before and behind each that must not change */
#define GRH 40
#define MAX_SGE 3
#define INLINE_BYTES 96
#define SIGNAL_EVERY 4
#define MAX_SIZES 24
#define WAIT_SECONDS 120
#define LATE_US 100000
#define QKEY 0x11220033
#define SENTINEL 0xa5

/** struct op - a way to move a message
 * @name: for the option and the output
 * @opcode: what is posted
 * @ud: on the UD queue pair, else on the RC one
 * @imm: with an immediate
 * @inlined: the data is in the request
 * @late: the receives come when the messages are already on their way
 */
struct op {
	const char *name;
	enum ibv_wr_opcode opcode;
	bool ud, imm, inlined, late;
};

static const struct op ops[] = {
	{ .name = "send", .opcode = IBV_WR_SEND },
	{ .name = "send-imm", .opcode = IBV_WR_SEND_WITH_IMM, .imm = true },
	{ .name = "send-inline", .opcode = IBV_WR_SEND, .inlined = true },
	{ .name = "send-late", .opcode = IBV_WR_SEND, .late = true },
	{ .name = "write", .opcode = IBV_WR_RDMA_WRITE },
	{ .name = "write-imm", .opcode = IBV_WR_RDMA_WRITE_WITH_IMM, .imm = true },
	{ .name = "write-inline", .opcode = IBV_WR_RDMA_WRITE, .inlined = true },
	{ .name = "read", .opcode = IBV_WR_RDMA_READ },
	{ .name = "ud", .opcode = IBV_WR_SEND, .ud = true },
	{ .name = "ud-imm", .opcode = IBV_WR_SEND_WITH_IMM, .ud = true, .imm = true },
	{ .name = "ud-inline", .opcode = IBV_WR_SEND, .ud = true, .inlined = true },
};

static struct {
	const char *device;
	const char *only;	/* names of operations, or NULL for all */
	const char *server;
	uint32_t sizes[MAX_SIZES];
	int size_count;
	int messages;
	int mtu;		/* bytes at most, or 0 */
	int traffic_class;
	bool events;		/* sleep until completions come */
	bool broken;		/* nothing arrives: the error has to come */
} opt = {
	.sizes = { 0, 1, 64, 1000, 4096, 65536 },
	.size_count = 6,
	.messages = 8,
};

/** struct hello - what one side tells the other */
struct hello {
	uint64_t address;
	uint32_t rkey, rc_qpn, ud_qpn, psn, mtu, inline_bytes;
};

/** struct side - what a process uses */
struct side {
	struct vu_device dev;
	struct rendezvous rv;
	struct ibv_pd *pd;
	struct ibv_comp_channel *channel;
	struct ibv_cq *send_cq, *recv_cq;
	struct ibv_qp *rc, *ud;
	struct ibv_ah *ah;
	struct ibv_mr *mr;
	uint8_t *arena;
	struct hello mine, theirs;
	uint32_t mtu, inline_bytes;	/* what both can */
};

#define FAIL(fmt, ...) (printf("failed: " fmt "\n", ##__VA_ARGS__), -1)

static bool is_client(void)
{
	return opt.server;
}

static double now(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (double)ts.tv_sec + (double)ts.tv_nsec * 1e-9;
}

/* ---- Messages ---- */

static uint32_t slot_bytes(uint32_t size)
{
	return (GUARD + GRH + size + GUARD + 4 + 63) & ~63u;
}

static int messages_of(uint32_t size)
{
	int fit = (int)(ARENA / slot_bytes(size));

	return opt.messages < fit ? opt.messages : fit;
}

/* Offset of a message's first byte; each has another alignment. */
static uint64_t place_of(int message, uint32_t size)
{
	return (uint64_t)message * slot_bytes(size) + GUARD + GRH + (unsigned int)message % 4;
}

static uint64_t mixed(uint64_t z)
{
	z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9ull;
	z = (z ^ z >> 27) * 0x94d049bb133111ebull;
	return z ^ z >> 31;
}

static uint8_t pattern(uint64_t seed, uint32_t i)
{
	static uint64_t last_seed, last_word, value;
	uint64_t word = i / 8;

	if (!value || last_seed != seed || last_word != word)
		value = mixed(seed + word * 0x9e3779b97f4a7c15ull);
	last_seed = seed;
	last_word = word;
	return (uint8_t)(value >> i % 8 * 8);
}

/* Another content for each operation, size, direction and message. */
static uint64_t seed_of(const struct op *op, uint32_t size, bool from_client, int message)
{
	return mixed((uint64_t)(op - ops) << 48 ^ (uint64_t)size << 16 ^
		     (uint64_t)from_client << 15 ^ (unsigned int)message);
}

static uint32_t immediate_of(const struct op *op, uint32_t size, int message)
{
	return (uint32_t)seed_of(op, size, true, message + 0x4000);
}

static void fill(struct side *s, const struct op *op, uint32_t size, bool from_client)
{
	for (int m = 0; m < messages_of(size); m++) {
		uint8_t *data = s->arena + place_of(m, size);
		uint64_t seed = seed_of(op, size, from_client, m);

		for (uint32_t i = 0; i < size; i++)
			data[i] = pattern(seed, i);
	}
}

static bool untouched(const uint8_t *bytes, size_t count)
{
	for (size_t i = 0; i < count; i++)
		if (bytes[i] != SENTINEL)
			return false;
	return true;
}

/* Returns how many bytes were as they have to be, or -1. */
static int64_t verify(struct side *s, const struct op *op, uint32_t size, bool from_client)
{
	int count = messages_of(size);

	for (int m = 0; m < count; m++) {
		const uint8_t *data = s->arena + place_of(m, size);
		uint64_t seed = seed_of(op, size, from_client, m);
		/* A datagram's header lies before it. */
		size_t before = op->ud ? 0 : GRH;

		for (uint32_t i = 0; i < size; i++)
			if (data[i] != pattern(seed, i))
				return FAIL("%s of %u bytes: message %d differs at byte %u: 0x%02x",
					    op->name, size, m, i, data[i]);
		if (!untouched(data - GRH - GUARD, GUARD + before) ||
		    !untouched(data + size, GUARD))
			return FAIL("%s of %u bytes: something beside message %d was written",
				    op->name, size, m);
	}
	return (int64_t)count * size;
}

/* One, two or three pieces that make up @length bytes from @place on. */
static int pieces(struct side *s, uint64_t place, uint32_t length, int wanted,
		  struct ibv_sge *sge)
{
	int count = length >= 8 ? wanted : 1;
	uint32_t done = 0;

	for (int i = 0; i < count; i++) {
		uint32_t part = i + 1 < count ? (length / (uint32_t)count) | 1 : length - done;

		sge[i] = (struct ibv_sge){ (uintptr_t)s->arena + place + done, part,
					   s->mr->lkey };
		done += part;
	}
	return length ? count : 0;
}

/* ---- Posting and completions ---- */

static int post_receives(struct side *s, const struct op *op, uint32_t size)
{
	for (int m = 0; m < messages_of(size); m++) {
		struct ibv_sge sge[MAX_SGE];
		struct ibv_recv_wr *bad, wr = { .wr_id = (uint64_t)m, .sg_list = sge };
		uint32_t header = op->ud ? GRH : 0;

		wr.num_sge = pieces(s, place_of(m, size) - header, size + header, 1 + m % 2, sge);
		/* An immediate alone needs no buffer. */
		if (op->opcode == IBV_WR_RDMA_WRITE_WITH_IMM)
			wr.num_sge = 0;
		if (ibv_post_recv(op->ud ? s->ud : s->rc, &wr, &bad))
			return FAIL("%s: a receive is refused: %s", op->name, strerror(errno));
	}
	return 0;
}

static int post_one(struct side *s, const struct op *op, uint32_t size, int m, bool signalled)
{
	struct ibv_sge sge[MAX_SGE];
	struct ibv_send_wr *bad, wr = {
		.wr_id = (uint64_t)m,
		.sg_list = sge,
		.opcode = op->opcode,
		.imm_data = immediate_of(op, size, m),
		.send_flags = (signalled ? IBV_SEND_SIGNALED : 0) |
			      (op->inlined ? IBV_SEND_INLINE : 0),
	};

	/* libirdma takes data for the request itself from one piece only. */
	wr.num_sge = pieces(s, place_of(m, size), size, op->inlined ? 1 : 1 + m % MAX_SGE, sge);
	if (op->ud) {
		wr.wr.ud.ah = s->ah;
		wr.wr.ud.remote_qpn = s->theirs.ud_qpn;
		wr.wr.ud.remote_qkey = QKEY;
	} else {
		wr.wr.rdma.remote_addr = s->theirs.address + place_of(m, size);
		wr.wr.rdma.rkey = s->theirs.rkey;
	}
	if (ibv_post_send(op->ud ? s->ud : s->rc, &wr, &bad))
		return FAIL("%s of %u bytes: request %d is refused: %s", op->name, size, m,
			    strerror(errno));
	return 0;
}

static int wait_event(struct side *s)
{
	struct pollfd fd = { .fd = s->channel->fd, .events = POLLIN };
	struct ibv_cq *which;
	void *context;

	if (poll(&fd, 1, WAIT_SECONDS * 1000) != 1)
		return FAIL("no completion event");
	if (ibv_get_cq_event(s->channel, &which, &context))
		return FAIL("ibv_get_cq_event: %s", strerror(errno));
	ibv_ack_cq_events(which, 1);
	return ibv_req_notify_cq(which, 0);
}

static int next_completion(struct side *s, struct ibv_cq *cq, struct ibv_wc *wc)
{
	double end = now() + WAIT_SECONDS;

	for (;;) {
		int n = ibv_poll_cq(cq, 1, wc);

		if (n)
			return n == 1 ? 0 : FAIL("polling: %d", n);
		if (now() > end)
			return FAIL("no completion within %d s", WAIT_SECONDS);
		if (!opt.events)
			sched_yield();
		else if (wait_event(s))
			return -1;
	}
}

static int send_all(struct side *s, const struct op *op, uint32_t size)
{
	int count = messages_of(size);

	for (int m = 0; m < count; m++)
		if (post_one(s, op, size, m, m % SIGNAL_EVERY == SIGNAL_EVERY - 1 || m == count - 1))
			return -1;
	for (int m = 0; m < count; m++) {
		struct ibv_wc wc;

		if (m % SIGNAL_EVERY != SIGNAL_EVERY - 1 && m != count - 1)
			continue;
		if (next_completion(s, s->send_cq, &wc))
			return -1;
		if (wc.status || wc.wr_id != (uint64_t)m)
			return FAIL("%s of %u bytes: request %d came with %s, expected was %d",
				    op->name, size, (int)wc.wr_id, ibv_wc_status_str(wc.status), m);
	}
	return 0;
}

static int receive_all(struct side *s, const struct op *op, uint32_t size)
{
	for (int m = 0; m < messages_of(size); m++) {
		struct ibv_wc wc;

		if (next_completion(s, s->recv_cq, &wc))
			return -1;
		if (wc.status || wc.wr_id != (uint64_t)m || !(wc.opcode & IBV_WC_RECV))
			return FAIL("%s of %u bytes: receive %d came with %s, expected was %d",
				    op->name, size, (int)wc.wr_id, ibv_wc_status_str(wc.status), m);
		if (wc.byte_len != size + (op->ud ? GRH : 0))
			return FAIL("%s of %u bytes: %u bytes came", op->name, size, wc.byte_len);
		if (op->imm && (!(wc.wc_flags & IBV_WC_WITH_IMM) ||
				wc.imm_data != immediate_of(op, size, m)))
			return FAIL("%s of %u bytes: immediate 0x%x", op->name, size, wc.imm_data);
		if (op->ud && wc.src_qp != s->theirs.ud_qpn)
			return FAIL("%s: source QP 0x%x", op->name, wc.src_qp);
	}
	return 0;
}

static int no_more(struct side *s, const struct op *op)
{
	struct ibv_wc wc;

	if (ibv_poll_cq(s->send_cq, 1, &wc) || ibv_poll_cq(s->recv_cq, 1, &wc))
		return FAIL("%s: a completion too many", op->name);
	return 0;
}

/* ---- Passes ---- */

static bool takes_receive(const struct op *op)
{
	return op->opcode != IBV_WR_RDMA_READ && op->opcode != IBV_WR_RDMA_WRITE;
}

static int exchange(struct side *s, const struct op *op, uint32_t size, bool active)
{
	bool receives = !active && takes_receive(op);

	if (receives && !op->late && post_receives(s, op, size))
		return -1;
	if (rv_barrier(&s->rv))
		return -1;
	if (receives && op->late) {
		usleep(LATE_US);
		if (post_receives(s, op, size))
			return -1;
	}
	if (active && send_all(s, op, size))
		return -1;
	if (receives && receive_all(s, op, size))
		return -1;
	return rv_barrier(&s->rv) || no_more(s, op) ? -1 : 0;
}

/* One operation with one size, with this side active or not. */
static int run_pass(struct side *s, const struct op *op, uint32_t size, bool active)
{
	bool arrives = active == (op->opcode == IBV_WR_RDMA_READ);
	bool from_client = arrives != is_client();
	int64_t good = 0, theirs;

	memset(s->arena, SENTINEL, (size_t)messages_of(size) * slot_bytes(size));
	if (!arrives)
		fill(s, op, size, from_client);
	if (exchange(s, op, size, active))
		return -1;
	if (arrives)
		good = verify(s, op, size, from_client);
	if (good < 0 || rv_swap(&s->rv, &good, &theirs, sizeof(good)))
		return -1;
	printf("%-13s %8u %4d %10lld %s\n", op->name, size, messages_of(size),
	       (long long)(good + theirs), active ? "out" : "in");
	fflush(stdout);
	return 0;
}

static bool is_wanted(const struct op *op)
{
	size_t length = strlen(op->name);

	if (!opt.only)
		return true;
	for (const char *at = opt.only; at; at = strchr(at, ',')) {
		at += *at == ',';
		if (!strncmp(at, op->name, length) && (!at[length] || at[length] == ','))
			return true;
	}
	return false;
}

static bool is_possible(const struct side *s, const struct op *op, uint32_t size)
{
	return size <= (op->inlined ? s->inline_bytes : UINT32_MAX) &&
	       size <= (op->ud ? s->mtu : ARENA / 2);
}

static int run_all(struct side *s)
{
	for (size_t i = 0; i < ARRAY_SIZE(ops); i++)
		for (int k = 0; k < opt.size_count; k++) {
			if (!is_wanted(&ops[i]) || !is_possible(s, &ops[i], opt.sizes[k]))
				continue;
			if (run_pass(s, &ops[i], opt.sizes[k], is_client()) ||
			    run_pass(s, &ops[i], opt.sizes[k], !is_client()))
				return -1;
		}
	return 0;
}

/* ---- A peer that does not answer ---- */

static int expect_status(struct side *s, struct ibv_cq *cq, int id, enum ibv_wc_status status)
{
	struct ibv_wc wc;

	if (next_completion(s, cq, &wc))
		return -1;
	if (wc.status != status || wc.wr_id != (uint64_t)id)
		return FAIL("request %d came with \"%s\", expected was %d with \"%s\"",
			    (int)wc.wr_id, ibv_wc_status_str(wc.status), id,
			    ibv_wc_status_str(status));
	return 0;
}

static int expect_fatal_event(struct side *s)
{
	struct pollfd fd = { .fd = s->dev.ctx->async_fd, .events = POLLIN };
	struct ibv_async_event event;

	if (poll(&fd, 1, WAIT_SECONDS * 1000) != 1 || ibv_get_async_event(s->dev.ctx, &event))
		return FAIL("no asynchronous event");
	ibv_ack_async_event(&event);
	if (event.event_type != IBV_EVENT_QP_FATAL || event.element.qp != s->rc)
		return FAIL("event \"%s\"", ibv_event_type_str(event.event_type));
	return 0;
}

/* Nothing gets through: the client's requests fail, the first one with the reason. */
static int run_broken(struct side *s)
{
	const struct op *op = &ops[0];
	struct ibv_qp_init_attr init;
	struct ibv_qp_attr attr;
	double began = now();

	if (!is_client())
		return rv_barrier(&s->rv);
	if (post_receives(s, op, 64))
		return -1;
	for (int m = 0; m < 3; m++)
		if (post_one(s, op, 64, m, true))
			return -1;
	if (expect_status(s, s->send_cq, 0, IBV_WC_RETRY_EXC_ERR))
		return -1;
	printf("retries exceeded after %.1f s\n", now() - began);
	for (int m = 1; m < 3; m++)
		if (expect_status(s, s->send_cq, m, IBV_WC_WR_FLUSH_ERR))
			return -1;
	for (int m = 0; m < messages_of(64); m++)
		if (expect_status(s, s->recv_cq, m, IBV_WC_WR_FLUSH_ERR))
			return -1;
	if (expect_fatal_event(s) || no_more(s, op))
		return -1;
	if (ibv_query_qp(s->rc, &attr, IBV_QP_STATE, &init) || attr.qp_state != IBV_QPS_ERR)
		return FAIL("the queue pair is in state %s", vu_state_name(attr.qp_state));
	return rv_barrier(&s->rv);
}

/* ---- Setting up ---- */

static struct ibv_qp *create_qp(struct side *s, enum ibv_qp_type type, uint32_t *inline_bytes)
{
	struct ibv_qp_init_attr init = {
		.send_cq = s->send_cq,
		.recv_cq = s->recv_cq,
		.qp_type = type,
		.cap = { .max_send_wr = DEPTH, .max_recv_wr = DEPTH, .max_send_sge = MAX_SGE,
			 .max_recv_sge = 2, .max_inline_data = INLINE_BYTES },
	};
	struct ibv_qp_attr attr = {
		.qp_state = IBV_QPS_INIT,
		.port_num = s->dev.port_num,
		.qkey = QKEY,
		.qp_access_flags = IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_READ,
	};
	struct ibv_qp *qp = ibv_create_qp(s->pd, &init);

	if (!qp)
		return NULL;
	*inline_bytes = init.cap.max_inline_data;
	if (ibv_modify_qp(qp, &attr, IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT |
			  (type == IBV_QPT_UD ? IBV_QP_QKEY : IBV_QP_ACCESS_FLAGS)))
		return NULL;
	return qp;
}

static int create_all(struct side *s)
{
	uint32_t ud_inline, rc_inline;

	s->arena = aligned_alloc(4096, ARENA);
	s->pd = ibv_alloc_pd(s->dev.ctx);
	s->channel = ibv_create_comp_channel(s->dev.ctx);
	s->send_cq = ibv_create_cq(s->dev.ctx, 2 * DEPTH, NULL, s->channel, 0);
	s->recv_cq = ibv_create_cq(s->dev.ctx, 2 * DEPTH, NULL, s->channel, 0);
	if (!s->arena || !s->pd || !s->channel || !s->send_cq || !s->recv_cq)
		return FAIL("PD, channel or CQ: %s", strerror(errno));
	memset(s->arena, 0, ARENA);
	s->mr = ibv_reg_mr(s->pd, s->arena, ARENA, IBV_ACCESS_LOCAL_WRITE |
			   IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_READ);
	if (!s->mr)
		return FAIL("MR: %s", strerror(errno));
	s->rc = create_qp(s, IBV_QPT_RC, &rc_inline);
	s->ud = create_qp(s, IBV_QPT_UD, &ud_inline);
	if (!s->rc || !s->ud)
		return FAIL("QP: %s", strerror(errno));
	s->mine = (struct hello){
		.address = (uintptr_t)s->arena,
		.rkey = s->mr->rkey,
		.rc_qpn = s->rc->qp_num,
		.ud_qpn = s->ud->qp_num,
		.psn = 0xfffff0 + is_client(), /* it wraps on the way */
		.mtu = 128u << s->dev.port.active_mtu,
		.inline_bytes = rc_inline < ud_inline ? rc_inline : ud_inline,
	};
	if (opt.mtu && (uint32_t)opt.mtu < s->mine.mtu)
		s->mine.mtu = (uint32_t)opt.mtu;
	return 0;
}

static struct ibv_ah_attr path(const struct side *s)
{
	return (struct ibv_ah_attr){
		.is_global = 1,
		.port_num = s->dev.port_num,
		.grh = { .dgid = s->rv.peer, .sgid_index = (uint8_t)s->dev.gid_index,
			 .hop_limit = 64, .traffic_class = (uint8_t)opt.traffic_class },
	};
}

static int connect_rc(struct side *s)
{
	struct ibv_qp_attr rtr = {
		.qp_state = IBV_QPS_RTR,
		.ah_attr = path(s),
		.path_mtu = (enum ibv_mtu)(__builtin_ctz(s->mtu) - 7),
		.dest_qp_num = s->theirs.rc_qpn,
		.rq_psn = s->theirs.psn,
		.max_dest_rd_atomic = 8,
		.min_rnr_timer = 12,
	};
	struct ibv_qp_attr rts = {
		.qp_state = IBV_QPS_RTS,
		.timeout = 14,
		.retry_cnt = 7,
		.rnr_retry = 7,
		.sq_psn = s->mine.psn,
		.max_rd_atomic = 8,
	};

	if (ibv_modify_qp(s->rc, &rtr, IBV_QP_STATE | IBV_QP_AV | IBV_QP_PATH_MTU |
			  IBV_QP_DEST_QPN | IBV_QP_RQ_PSN | IBV_QP_MAX_DEST_RD_ATOMIC |
			  IBV_QP_MIN_RNR_TIMER))
		return FAIL("RC QP not to RTR: %s", strerror(errno));
	if (ibv_modify_qp(s->rc, &rts, IBV_QP_STATE | IBV_QP_TIMEOUT | IBV_QP_RETRY_CNT |
			  IBV_QP_RNR_RETRY | IBV_QP_SQ_PSN | IBV_QP_MAX_QP_RD_ATOMIC))
		return FAIL("RC QP not to RTS: %s", strerror(errno));
	return 0;
}

static int connect_ud(struct side *s)
{
	struct ibv_qp_attr attr = { .qp_state = IBV_QPS_RTR };
	struct ibv_ah_attr to = path(s);

	if (ibv_modify_qp(s->ud, &attr, IBV_QP_STATE))
		return FAIL("UD QP not to RTR: %s", strerror(errno));
	attr = (struct ibv_qp_attr){ .qp_state = IBV_QPS_RTS, .sq_psn = s->mine.psn };
	if (ibv_modify_qp(s->ud, &attr, IBV_QP_STATE | IBV_QP_SQ_PSN))
		return FAIL("UD QP not to RTS: %s", strerror(errno));
	s->ah = ibv_create_ah(s->pd, &to);
	return s->ah ? 0 : FAIL("AH: %s", strerror(errno));
}

static int connect_all(struct side *s)
{
	if (rv_swap(&s->rv, &s->mine, &s->theirs, sizeof(s->mine)))
		return -1;
	s->mtu = s->mine.mtu < s->theirs.mtu ? s->mine.mtu : s->theirs.mtu;
	s->inline_bytes = s->mine.inline_bytes < s->theirs.inline_bytes ?
			  s->mine.inline_bytes : s->theirs.inline_bytes;
	if (connect_rc(s) || connect_ud(s))
		return -1;
	if (ibv_req_notify_cq(s->send_cq, 0) || ibv_req_notify_cq(s->recv_cq, 0))
		return FAIL("arming: %s", strerror(errno));
	return rv_barrier(&s->rv);
}

static void destroy_all(struct side *s)
{
	if (s->ah && ibv_destroy_ah(s->ah))
		printf("the AH stays\n");
	if (ibv_destroy_qp(s->rc) || ibv_destroy_qp(s->ud) || ibv_dereg_mr(s->mr) ||
	    ibv_destroy_cq(s->send_cq) || ibv_destroy_cq(s->recv_cq) ||
	    ibv_destroy_comp_channel(s->channel) || ibv_dealloc_pd(s->pd))
		printf("an object stays: %s\n", strerror(errno));
	vu_close(&s->dev);
	rv_part(&s->rv);
}

/* The GID that the TCP connection runs over. */
static int choose_gid(struct side *s)
{
	struct ibv_gid_entry entry;

	for (int i = 0; i < s->dev.port.gid_tbl_len; i++)
		if (!ibv_query_gid_ex(s->dev.ctx, s->dev.port_num, (uint32_t)i, &entry, 0) &&
		    entry.gid_type == IBV_GID_TYPE_ROCE_V2 &&
		    !memcmp(&entry.gid, &s->rv.local, sizeof(entry.gid))) {
			s->dev.gid_index = i;
			return 0;
		}
	return FAIL("the device has no GID for this address");
}

static int run(struct side *s)
{
	if (rv_meet(&s->rv, opt.server, PORT) || vu_open(&s->dev, opt.device, -1, NULL))
		return -1;
	if (choose_gid(s) || create_all(s) || connect_all(s))
		return -1;
	if (opt.broken ? run_broken(s) : run_all(s))
		return -1;
	destroy_all(s);
	return 0;
}

static void take_sizes(char *text)
{
	opt.size_count = 0;
	for (char *word = strtok(text, ","); word && opt.size_count < MAX_SIZES;
	     word = strtok(NULL, ","))
		opt.sizes[opt.size_count++] = (uint32_t)strtoul(word, NULL, 0);
}

int main(int argc, char **argv)
{
	static struct side side;
	int c, result;

	while ((c = getopt(argc, argv, "d:o:s:n:m:T:ef")) != -1) {
		switch (c) {
		case 'd': opt.device = optarg; break;
		case 'o': opt.only = optarg; break;
		case 's': take_sizes(optarg); break;
		case 'n': opt.messages = atoi(optarg); break;
		case 'm': opt.mtu = atoi(optarg); break;
		case 'T': opt.traffic_class = (int)strtol(optarg, NULL, 0); break;
		case 'e': opt.events = true; break;
		case 'f': opt.broken = true; break;
		default:
			fprintf(stderr, "usage: %s [-d DEVICE] [-o OPERATION,...] [-s SIZE,...] "
				"[-n MESSAGES] [-m MTU] [-T CLASS] [-e] [-f] [SERVER]\n", argv[0]);
			return 1;
		}
	}
	if (opt.messages < 1 || opt.messages > DEPTH) {
		fprintf(stderr, "1 to %d messages\n", DEPTH);
		return 1;
	}
	opt.server = argv[optind];
	result = run(&side);
	printf("data-verify: %s\n", result ? "FAIL 1" : "PASS");
	return result ? 1 : 0;
}
