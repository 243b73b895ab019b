// SPDX-License-Identifier: GPL-2.0
/*
 * Talks to /dev/infiniband/uverbsN without any library, to reach what a library
 * never sends: driver data of every length, with right, zero and random
 * content, commands with random fields and handles, every command that there could be
 * with requests of all lengths, broken headers, and mmap() of every offset. Nothing is
 * judged here but that each call returns, and that a right request of each kind succeeds,
 * so that others like it get as far as they can; the test that runs this looks for
 * warnings in the kernel's log afterwards. Driver data is that of irdma. The sequence
 * depends on the seed alone.
 */
#define _GNU_SOURCE
#include "lib/verbs_util.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <getopt.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <unistd.h>
#include <rdma/ib_user_verbs.h>
#include <rdma/irdma-abi.h>

#define PAGE 4096UL
#define ARENA_PAGES 64
/* Where in the arena the queues are. */
#define CQ_PAGE 0UL
#define CQ_PAGES 8
#define SHADOW_PAGE 16UL
#define QP_PAGE 32UL
#define UD_PAGE 48UL
#define SGID_INDEX 1		/* the first IPv4 address, to which handles are made */
#define EXTRA_UDATA 32		/* bytes of driver data beyond what is known */
#define MAX_ERRNO 134
#define EX(command) ((command) | IB_USER_VERBS_CMD_FLAG_EXTENDED)

/** enum content - how driver data and fields are filled */
enum content { CONTENT_RIGHT, CONTENT_ZERO, CONTENT_RANDOM, CONTENT_KINDS };

static char path[300];
static uint64_t seed = 1;
static char *arena;
static int fd = -1;
static unsigned long counts[MAX_ERRNO];
static uint32_t response[256];
/* The queue pair that a right request makes. */
static unsigned long qp_page = QP_PAGE;
static uint8_t qp_type = IBV_QPT_RC;

static void count(int err)
{
	counts[err >= 0 && err < MAX_ERRNO ? err : MAX_ERRNO - 1]++;
}

static uint32_t below(uint32_t limit)
{
	return (uint32_t)(vu_random(&seed) >> 33) % limit;
}

/* A number of the kind that checks are forgotten for. */
static uint64_t odd_number(void)
{
	static const uint64_t numbers[] = {
		0, 1, 2, 7, 8, 255, 256, 4095, 4096, 0x7fffffff, 0x80000000,
		0xffffffff, 0x100000000, INT64_MAX, UINT64_MAX,
		0xffff888000000000,
	};

	switch (below(4)) {
	case 0:
		return vu_random(&seed);
	case 1:
		return numbers[below(ARRAY_SIZE(numbers))];
	case 2:
		return (uintptr_t)arena + below(ARENA_PAGES * PAGE);
	default:
		return below(16);
	}
}

static void random_fill(void *buf, size_t len)
{
	unsigned char *p = buf;
	uint64_t n;

	for (size_t i = 0; i < len; i += sizeof(n)) {
		n = odd_number();
		memcpy(p + i, &n, len - i < sizeof(n) ? len - i : sizeof(n));
	}
}

/* ---- commands ---- */

/** struct command - one command of the write() interface
 * @name: for the output
 * @number: IB_USER_VERBS_CMD_*, with the flag for an extended one
 * @core: bytes of the request that ib_uverbs looks at
 * @resp: bytes of the response before the driver's
 * @in: bytes of driver data that irdma knows
 * @out: bytes of driver response that irdma knows
 * @fill: fill in a right request and right driver data
 * @undo: command that destroys what this one made, its handle being the first
 *	  word of the response; 0 = none
 * @prepare: register the memory that a right request needs, or NULL
 */
struct command {
	const char *name;
	uint32_t number;
	size_t core;
	size_t resp;
	size_t in;
	size_t out;
	void (*fill)(void *core, void *udata);
	uint32_t undo;
	void (*prepare)(void);
};

/* Handles of the objects that the sweeps work on. */
static struct {
	uint32_t pd;
	uint32_t cq;
	uint32_t qp;
	uint32_t ud;
	uint32_t mr;
} handle;

static void fill_context(void *core, void *udata)
{
	struct irdma_alloc_ucontext_req *req = udata;

	(void)core;
	req->userspace_ver = IRDMA_ABI_VER;
}

static void fill_nothing(void *core, void *udata)
{
	(void)core;
	(void)udata;
}

static void fill_reg(void *core, void *udata, uint16_t type,
		     unsigned long page, unsigned long pages)
{
	struct ib_uverbs_reg_mr *cmd = core;
	struct irdma_mem_reg_req *req = udata;

	cmd->start = (uintptr_t)arena + page * PAGE;
	cmd->hca_va = cmd->start;
	cmd->length = pages * PAGE;
	cmd->pd_handle = handle.pd;
	cmd->access_flags = IBV_ACCESS_LOCAL_WRITE;
	req->reg_type = type;
}

static void fill_reg_mem(void *core, void *udata)
{
	fill_reg(core, udata, IRDMA_MEMREG_TYPE_MEM, QP_PAGE, 8);
}

/* Send queue, receive queue and a page for the device to write into. */
static void fill_reg_qp(void *core, void *udata)
{
	struct irdma_mem_reg_req *req = udata;

	fill_reg(core, udata, IRDMA_MEMREG_TYPE_QP, qp_page, 8);
	req->sq_pages = 4;
	req->rq_pages = 3;
}

static void fill_reg_cq(void *core, void *udata)
{
	struct irdma_mem_reg_req *req = udata;

	fill_reg(core, udata, IRDMA_MEMREG_TYPE_CQ, CQ_PAGE, CQ_PAGES);
	req->cq_pages = CQ_PAGES;
}

static void fill_reg_shadow(void *core, void *udata)
{
	struct irdma_mem_reg_req *req = udata;

	fill_reg(core, udata, IRDMA_MEMREG_TYPE_CQ, SHADOW_PAGE, 1);
	req->cq_pages = 1;
}

static void fill_cq_udata(void *udata)
{
	struct irdma_create_cq_req *req = udata;

	req->user_cq_buf = (uintptr_t)arena + CQ_PAGE * PAGE;
	req->user_shadow_area = (uintptr_t)arena + SHADOW_PAGE * PAGE;
}

static void fill_create_cq(void *core, void *udata)
{
	struct ib_uverbs_create_cq *cmd = core;

	cmd->cqe = 64;
	cmd->comp_channel = -1;
	fill_cq_udata(udata);
}

static void fill_ex_create_cq(void *core, void *udata)
{
	struct ib_uverbs_ex_create_cq *cmd = core;

	cmd->cqe = 64;
	cmd->comp_channel = -1;
	fill_cq_udata(udata);
}

static void fill_resize_cq(void *core, void *udata)
{
	struct ib_uverbs_resize_cq *cmd = core;
	struct irdma_resize_cq_req *req = udata;

	cmd->cq_handle = handle.cq;
	cmd->cqe = 32;
	req->user_cq_buffer = (uintptr_t)arena + CQ_PAGE * PAGE;
}

static void fill_create_qp(void *core, void *udata)
{
	struct ib_uverbs_create_qp *cmd = core;
	struct irdma_create_qp_req *req = udata;

	cmd->pd_handle = handle.pd;
	cmd->send_cq_handle = cmd->recv_cq_handle = handle.cq;
	cmd->max_send_wr = 256;		/* half of the ring, as libraries that size it ask */
	cmd->max_recv_wr = 32;
	cmd->max_send_sge = cmd->max_recv_sge = 1;
	cmd->qp_type = qp_type;
	req->user_wqe_bufs = (uintptr_t)arena + qp_page * PAGE;
	req->user_compl_ctx = 0x1234;
}

static void fill_ex_create_qp(void *core, void *udata)
{
	struct ib_uverbs_ex_create_qp *cmd = core;
	struct irdma_create_qp_req *req = udata;

	cmd->pd_handle = handle.pd;
	cmd->send_cq_handle = cmd->recv_cq_handle = handle.cq;
	cmd->max_send_wr = 256;		/* half of the ring, as libraries that size it ask */
	cmd->max_recv_wr = 32;
	cmd->max_send_sge = cmd->max_recv_sge = 1;
	cmd->qp_type = qp_type;
	req->user_wqe_bufs = (uintptr_t)arena + qp_page * PAGE;
}

static void fill_query_qp(void *core, void *udata)
{
	struct ib_uverbs_query_qp *cmd = core;

	(void)udata;
	cmd->qp_handle = handle.qp;
	cmd->attr_mask = IBV_QP_STATE;
}

static void fill_rereg_mr(void *core, void *udata)
{
	struct ib_uverbs_rereg_mr *cmd = core;

	(void)udata;
	cmd->mr_handle = handle.mr;
	cmd->flags = IBV_REREG_MR_CHANGE_ACCESS;
	cmd->access_flags = IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_READ;
}

static void fill_alloc_mw(void *core, void *udata)
{
	struct ib_uverbs_alloc_mw *cmd = core;

	(void)udata;
	cmd->pd_handle = handle.pd;
	cmd->mw_type = IBV_MW_TYPE_1;
}

/* A group of IPv4; the requests of joining and leaving it are alike. */
static void fill_mcast(void *core, void *udata)
{
	struct ib_uverbs_attach_mcast *cmd = core;

	(void)udata;
	cmd->gid[10] = cmd->gid[11] = 0xff;
	cmd->gid[12] = 239;
	cmd->gid[15] = 1;
	cmd->qp_handle = handle.ud;
}

static void fill_ex_modify_qp(void *core, void *udata)
{
	struct ib_uverbs_ex_modify_qp *cmd = core;
	struct irdma_modify_qp_req *req = udata;

	cmd->base.qp_handle = handle.qp;
	cmd->base.attr_mask = IBV_QP_STATE;
	cmd->base.qp_state = IBV_QPS_ERR;
	req->sq_flush = req->rq_flush = 1;
}

static void fill_modify_qp(void *core, void *udata)
{
	struct ib_uverbs_modify_qp *cmd = core;

	(void)udata;
	cmd->qp_handle = handle.qp;
	cmd->attr_mask = IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT |
			 IBV_QP_ACCESS_FLAGS;
	cmd->qp_state = IBV_QPS_INIT;
	cmd->port_num = 1;
}

static void fill_create_ah(void *core, void *udata)
{
	struct ib_uverbs_create_ah *cmd = core;

	(void)udata;
	cmd->pd_handle = handle.pd;
	cmd->attr.is_global = 1;
	cmd->attr.port_num = 1;
	cmd->attr.grh.sgid_index = SGID_INDEX;
	cmd->attr.grh.hop_limit = 1;
	cmd->attr.grh.dgid[10] = cmd->attr.grh.dgid[11] = 0xff;
	cmd->attr.grh.dgid[12] = 10;
	cmd->attr.grh.dgid[15] = 1;
}

static const struct command get_context = {
	"get-context", IB_USER_VERBS_CMD_GET_CONTEXT,
	sizeof(struct ib_uverbs_get_context),
	sizeof(struct ib_uverbs_get_context_resp),
	sizeof(struct irdma_alloc_ucontext_req),
	sizeof(struct irdma_alloc_ucontext_resp), fill_context, 0, NULL,
};

static void register_cq(void);
static void register_qp(void);

enum command_index {
	ALLOC_PD, REG_MR_MEM, REG_MR_QP, REG_MR_CQ, REG_MR_SHADOW, CREATE_CQ,
	EX_CREATE_CQ, RESIZE_CQ, CREATE_QP, EX_CREATE_QP, MODIFY_QP, EX_MODIFY_QP,
	QUERY_QP, CREATE_AH, REREG_MR, ALLOC_MW, ATTACH_MCAST, DETACH_MCAST,
	EX_QUERY_DEVICE,
};

static const struct command commands[] = {
	[ALLOC_PD] = { "alloc-pd", IB_USER_VERBS_CMD_ALLOC_PD,
		sizeof(struct ib_uverbs_alloc_pd),
		sizeof(struct ib_uverbs_alloc_pd_resp), 0,
		sizeof(struct irdma_alloc_pd_resp), fill_nothing,
		IB_USER_VERBS_CMD_DEALLOC_PD, NULL },
	[REG_MR_MEM] = { "reg-mr", IB_USER_VERBS_CMD_REG_MR,
		sizeof(struct ib_uverbs_reg_mr),
		sizeof(struct ib_uverbs_reg_mr_resp),
		sizeof(struct irdma_mem_reg_req), 0, fill_reg_mem,
		IB_USER_VERBS_CMD_DEREG_MR, NULL },
	[REG_MR_QP] = { "reg-mr of a QP", IB_USER_VERBS_CMD_REG_MR,
		sizeof(struct ib_uverbs_reg_mr),
		sizeof(struct ib_uverbs_reg_mr_resp),
		sizeof(struct irdma_mem_reg_req), 0, fill_reg_qp,
		IB_USER_VERBS_CMD_DEREG_MR, NULL },
	[REG_MR_SHADOW] = { "reg-mr of a shadow", IB_USER_VERBS_CMD_REG_MR,
		sizeof(struct ib_uverbs_reg_mr),
		sizeof(struct ib_uverbs_reg_mr_resp),
		sizeof(struct irdma_mem_reg_req), 0, fill_reg_shadow,
		IB_USER_VERBS_CMD_DEREG_MR, NULL },
	[REG_MR_CQ] = { "reg-mr of a CQ", IB_USER_VERBS_CMD_REG_MR,
		sizeof(struct ib_uverbs_reg_mr),
		sizeof(struct ib_uverbs_reg_mr_resp),
		sizeof(struct irdma_mem_reg_req), 0, fill_reg_cq,
		IB_USER_VERBS_CMD_DEREG_MR, NULL },
	[CREATE_CQ] = { "create-cq", IB_USER_VERBS_CMD_CREATE_CQ,
		sizeof(struct ib_uverbs_create_cq),
		sizeof(struct ib_uverbs_create_cq_resp),
		sizeof(struct irdma_create_cq_req),
		sizeof(struct irdma_create_cq_resp), fill_create_cq,
		IB_USER_VERBS_CMD_DESTROY_CQ, register_cq },
	[EX_CREATE_CQ] = { "ex-create-cq", EX(IB_USER_VERBS_EX_CMD_CREATE_CQ),
		sizeof(struct ib_uverbs_ex_create_cq),
		sizeof(struct ib_uverbs_ex_create_cq_resp),
		sizeof(struct irdma_create_cq_req),
		sizeof(struct irdma_create_cq_resp), fill_ex_create_cq,
		IB_USER_VERBS_CMD_DESTROY_CQ, register_cq },
	[RESIZE_CQ] = { "resize-cq", IB_USER_VERBS_CMD_RESIZE_CQ,
		sizeof(struct ib_uverbs_resize_cq),
		sizeof(struct ib_uverbs_resize_cq_resp),
		sizeof(struct irdma_resize_cq_req), 0, fill_resize_cq, 0,
		register_cq },
	[CREATE_QP] = { "create-qp", IB_USER_VERBS_CMD_CREATE_QP,
		sizeof(struct ib_uverbs_create_qp),
		sizeof(struct ib_uverbs_create_qp_resp),
		sizeof(struct irdma_create_qp_req),
		sizeof(struct irdma_create_qp_resp), fill_create_qp,
		IB_USER_VERBS_CMD_DESTROY_QP, register_qp },
	[EX_CREATE_QP] = { "ex-create-qp", EX(IB_USER_VERBS_EX_CMD_CREATE_QP),
		sizeof(struct ib_uverbs_ex_create_qp),
		sizeof(struct ib_uverbs_ex_create_qp_resp),
		sizeof(struct irdma_create_qp_req),
		sizeof(struct irdma_create_qp_resp), fill_ex_create_qp,
		IB_USER_VERBS_CMD_DESTROY_QP, register_qp },
	[MODIFY_QP] = { "modify-qp", IB_USER_VERBS_CMD_MODIFY_QP,
		sizeof(struct ib_uverbs_modify_qp), 0,
		sizeof(struct irdma_modify_qp_req), 0, fill_modify_qp, 0, NULL },
	[EX_MODIFY_QP] = { "ex-modify-qp", EX(IB_USER_VERBS_EX_CMD_MODIFY_QP),
		sizeof(struct ib_uverbs_ex_modify_qp),
		sizeof(struct ib_uverbs_ex_modify_qp_resp),
		sizeof(struct irdma_modify_qp_req),
		sizeof(struct irdma_modify_qp_resp), fill_ex_modify_qp, 0, NULL },
	[CREATE_AH] = { "create-ah", IB_USER_VERBS_CMD_CREATE_AH,
		sizeof(struct ib_uverbs_create_ah),
		sizeof(struct ib_uverbs_create_ah_resp), 0,
		sizeof(struct irdma_create_ah_resp), fill_create_ah,
		IB_USER_VERBS_CMD_DESTROY_AH, NULL },
	[QUERY_QP] = { "query-qp", IB_USER_VERBS_CMD_QUERY_QP,
		sizeof(struct ib_uverbs_query_qp),
		sizeof(struct ib_uverbs_query_qp_resp), 0, 0, fill_query_qp, 0, NULL },
	[REREG_MR] = { "rereg-mr", IB_USER_VERBS_CMD_REREG_MR,
		sizeof(struct ib_uverbs_rereg_mr),
		sizeof(struct ib_uverbs_rereg_mr_resp), 0, 0, fill_rereg_mr, 0, NULL },
	[ALLOC_MW] = { "alloc-mw", IB_USER_VERBS_CMD_ALLOC_MW,
		sizeof(struct ib_uverbs_alloc_mw),
		sizeof(struct ib_uverbs_alloc_mw_resp), 0, 0, fill_alloc_mw,
		IB_USER_VERBS_CMD_DEALLOC_MW, NULL },
	[ATTACH_MCAST] = { "attach-mcast", IB_USER_VERBS_CMD_ATTACH_MCAST,
		sizeof(struct ib_uverbs_attach_mcast), 0, 0, 0, fill_mcast, 0, NULL },
	[DETACH_MCAST] = { "detach-mcast", IB_USER_VERBS_CMD_DETACH_MCAST,
		sizeof(struct ib_uverbs_detach_mcast), 0, 0, 0, fill_mcast, 0, NULL },
	[EX_QUERY_DEVICE] = { "ex-query-device", EX(IB_USER_VERBS_EX_CMD_QUERY_DEVICE),
		sizeof(struct ib_uverbs_ex_query_device),
		sizeof(struct ib_uverbs_ex_query_device_resp), 0, 0, fill_nothing, 0,
		NULL },
};

/* Send a command; lengths in bytes. Return: errno, 0 on success. */
static int transmit(uint32_t number, const void *core, size_t core_len,
		    size_t resp_len, const void *udata, size_t in, size_t out)
{
	bool ex = number & IB_USER_VERBS_CMD_FLAG_EXTENDED;
	size_t unit = ex ? 8 : 4;
	unsigned char buf[1024];
	struct ib_uverbs_cmd_hdr hdr = { .command = number };
	struct ib_uverbs_ex_cmd_hdr ex_hdr = {
		.response = out + resp_len ? (uintptr_t)response : 0,
		.provider_in_words = (uint16_t)(in / 8),
		.provider_out_words = (uint16_t)(out / 8),
	};
	size_t len = sizeof(hdr);
	int err;

	if (ex) {
		memcpy(buf + len, &ex_hdr, sizeof(ex_hdr));
		len += sizeof(ex_hdr);
		hdr.in_words = (uint16_t)(core_len / unit);
		hdr.out_words = (uint16_t)(resp_len / unit);
	} else {
		hdr.in_words = (uint16_t)((len + core_len + in) / unit);
		hdr.out_words = (uint16_t)((resp_len + out) / unit);
	}
	memcpy(buf, &hdr, sizeof(hdr));
	memcpy(buf + len, core, core_len);
	if (in)
		memcpy(buf + len + core_len, udata, in);
	err = write(fd, buf, len + core_len + in) < 0 ? errno : 0;
	count(err);
	return err;
}

/* Fill in and send one command with @in and @out bytes of driver data. */
static int send_command(const struct command *cmd, size_t in, size_t out,
			enum content content, bool random_core)
{
	uint64_t core[32] = { 0 };
	uint64_t udata[32] = { 0 };
	bool ex = cmd->number & IB_USER_VERBS_CMD_FLAG_EXTENDED;

	cmd->fill(core, udata);
	if (content == CONTENT_ZERO)
		memset(udata, 0, sizeof(udata));
	else if (content == CONTENT_RANDOM)
		random_fill(udata, sizeof(udata));
	if (random_core)
		random_fill((char *)core + below((uint32_t)cmd->core) / 4 * 4,
			    4 + below(5) * 4);
	/* A request with a response begins with its address; at times none. */
	if (!ex && cmd->resp && (!random_core || below(16)))
		core[0] = (uintptr_t)response;
	return transmit(cmd->number, core, cmd->core, cmd->resp, udata, in,
			out);
}

/* Send a right command; a driver may use what it registers only once. */
static int send_right(enum command_index i)
{
	const struct command *cmd = &commands[i];

	return send_command(cmd, cmd->in, cmd->out, CONTENT_RIGHT, false);
}

static void register_cq(void)
{
	send_right(REG_MR_CQ);
	send_right(REG_MR_SHADOW);
}

static void register_qp(void)
{
	send_right(REG_MR_QP);
}

static void destroy(uint32_t number, uint32_t object)
{
	struct { uint64_t response; uint32_t handle; uint32_t reserved; } cq = {
		.response = (uintptr_t)response, .handle = object,
	};

	switch (number) {
	case IB_USER_VERBS_CMD_DESTROY_CQ:
	case IB_USER_VERBS_CMD_DESTROY_QP:
		transmit(number, &cq, sizeof(cq), 8, NULL, 0, 0);
		break;
	case 0:
		break;
	default:
		transmit(number, &object, sizeof(object), 0, NULL, 0, 0);
	}
}

/* ---- the device ---- */

static void reopen(void)
{
	if (fd >= 0) {
		/* Also what GET_CONTEXT opened, known or not. */
		close_range((unsigned int)fd, ~0U, 0);
	}
	fd = open(path, O_RDWR | O_CLOEXEC);
	if (fd < 0) {
		perror(path);
		exit(2);
	}
}

/* Open and make a context, a PD, a CQ and a QP, as far as the device lets. */
static void set_up(void)
{
	memset(&handle, 0, sizeof(handle));
	reopen();
	send_command(&get_context, get_context.in, get_context.out,
		     CONTENT_RIGHT, false);
	if (!send_right(ALLOC_PD))
		handle.pd = response[0];
	register_cq();
	if (!send_right(CREATE_CQ))
		handle.cq = response[0];
	register_qp();
	if (!send_right(CREATE_QP))
		handle.qp = response[0];
	send_right(MODIFY_QP);
	qp_page = UD_PAGE;
	qp_type = IBV_QPT_UD;
	register_qp();
	if (!send_right(CREATE_QP))
		handle.ud = response[0];
	qp_page = QP_PAGE;
	qp_type = IBV_QPT_RC;
	if (!send_right(REG_MR_MEM))
		handle.mr = response[0];
}

/* Whether a right request of each kind succeeds, on a device with all that it needs. */
static bool right_requests(void)
{
	bool right = true;
	int err;

	for (size_t i = 0; i < ARRAY_SIZE(commands); i++) {
		set_up();
		if (i == DETACH_MCAST)
			send_right(ATTACH_MCAST);
		if (commands[i].prepare)
			commands[i].prepare();
		err = send_right((enum command_index)i);
		if (err)
			printf("FAIL %s: %s\n", commands[i].name, vu_errno_name(err));
		right = right && !err;
	}
	return right;
}

/* ---- sweeps ---- */

/* Every length of driver data in both directions, each kind of content. */
static void sweep_lengths(const struct command *cmd, bool fresh)
{
	size_t unit = cmd->number & IB_USER_VERBS_CMD_FLAG_EXTENDED ? 8 : 4;
	size_t out_max = cmd->resp ? cmd->out + EXTRA_UDATA : 0;

	if (!fresh)
		set_up();
	for (int content = 0; content < CONTENT_KINDS; content++)
		for (size_t in = 0; in <= cmd->in + EXTRA_UDATA; in += unit)
			for (size_t out = 0; out <= out_max; out += unit) {
				if (fresh)
					reopen();
				if (cmd->prepare && content == CONTENT_RIGHT)
					cmd->prepare();
				if (!send_command(cmd, in, out, content, false))
					destroy(cmd->undo, response[0]);
			}
}

/* Every number of a command, known or not, with requests and driver data of several lengths. */
static void sweep_numbers(void)
{
	static const size_t lengths[] = { 0, 8, 24 };
	uint64_t core[16], udata[4];

	for (uint32_t number = 0; number < 2 * 64; number++) {
		uint32_t command = number < 64 ? number : EX(number - 64);

		set_up();
		for (size_t len = 0; len <= sizeof(core); len += 8)
			for (size_t i = 0; i < ARRAY_SIZE(lengths); i++)
				for (size_t o = 0; o < ARRAY_SIZE(lengths); o++) {
					random_fill(core, sizeof(core));
					random_fill(udata, sizeof(udata));
					transmit(command, core, len, len, udata,
						 lengths[i], lengths[o]);
				}
	}
}

/* Random commands, fields, handles, lengths; things pile up and go again. */
static void random_commands(unsigned long n)
{
	for (unsigned long i = 0; i < n; i++) {
		const struct command *cmd =
			&commands[below(ARRAY_SIZE(commands))];
		size_t in = cmd->in, out = cmd->out;

		if (i % 512 == 0)
			set_up();
		if (!below(4))
			in = below((uint32_t)cmd->in + EXTRA_UDATA) / 8 * 8;
		if (!below(4) && cmd->resp)
			out = below((uint32_t)cmd->out + EXTRA_UDATA) / 8 * 8;
		if (cmd->prepare && !below(4))
			cmd->prepare();
		send_command(cmd, in, out, below(CONTENT_KINDS), !below(2));
		if (!below(3))
			destroy(cmd->undo, below(32));
	}
}

/* Headers that are wrong, buffers that are short, unmapped or misaligned. */
static void random_headers(unsigned long n)
{
	set_up();
	for (unsigned long i = 0; i < n; i++) {
		unsigned char buf[256];
		struct ib_uverbs_cmd_hdr hdr = {
			.command = below(64), .in_words = (uint16_t)below(64),
			.out_words = (uint16_t)below(64),
		};
		size_t len = below(sizeof(buf));
		const void *from = buf;

		random_fill(buf, sizeof(buf));
		if (!below(4))
			hdr.command |= (uint32_t)vu_random(&seed);
		if (below(8))
			memcpy(buf, &hdr, sizeof(hdr));
		if (!below(8))
			from = (const void *)(uintptr_t)odd_number();
		count(write(fd, from, len) < 0 ? errno : 0);
		if (i % 256 == 255)
			set_up();
	}
}

static bool try_mmap(uint64_t page, size_t pages, int prot, int flags)
{
	void *p = mmap(NULL, pages * PAGE, prot, flags, fd,
		       (off_t)(page * PAGE));

	count(p == MAP_FAILED ? errno : 0);
	if (p == MAP_FAILED)
		return false;
	if (prot & PROT_READ)
		(void)*(volatile uint32_t *)p;
	munmap(p, pages * PAGE);
	return true;
}

static void sweep_mmap(uint64_t last)
{
	static const int prots[] = {
		PROT_READ, PROT_WRITE, PROT_READ | PROT_WRITE,
		PROT_READ | PROT_EXEC, PROT_NONE,
	};
	static const size_t pages[] = { 1, 2, 16 };
	int mapped = 0;

	set_up();
	for (uint64_t i = 0; i <= last + 64; i++) {
		uint64_t page = i <= last ? i : 1ULL << (i - last) % 51;
		bool any = false;

		for (size_t p = 0; p < ARRAY_SIZE(prots); p++)
			for (size_t n = 0; n < ARRAY_SIZE(pages); n++) {
				any |= try_mmap(page, pages[n], prots[p],
						MAP_SHARED);
				if (i < 16)
					any |= try_mmap(page, pages[n],
							prots[p], MAP_PRIVATE);
			}
		mapped += any;
	}
	printf("mmap: %d offsets can be mapped\n", mapped);
}

/* ---- */

/* Path of the uverbs device that belongs to an RDMA device. */
static int find_path(const char *device)
{
	static const char class[] = "/sys/class/infiniband_verbs";
	DIR *dir = opendir(class);
	struct dirent *entry;

	while (dir && (entry = readdir(dir))) {
		char file[300], name[64] = "";
		FILE *f;

		if (strncmp(entry->d_name, "uverbs", 6))
			continue;
		snprintf(file, sizeof(file), "%s/%.200s/ibdev", class,
			 entry->d_name);
		f = fopen(file, "r");
		if (!f)
			continue;
		if (fscanf(f, "%63s", name) != 1)
			name[0] = '\0';
		fclose(f);
		if (device && strcmp(device, name))
			continue;
		snprintf(path, sizeof(path), "/dev/infiniband/%.200s",
			 entry->d_name);
		closedir(dir);
		return 0;
	}
	if (dir)
		closedir(dir);
	fprintf(stderr, "no RDMA device%s%s\n", device ? " " : "",
		device ? device : "");
	return -1;
}

static void print_counts(const char *phase)
{
	printf("%s:", phase);
	for (int i = 0; i < MAX_ERRNO; i++)
		if (counts[i])
			printf(" %s %lu", i ? vu_errno_name(i) : "success",
			       counts[i]);
	printf("\n");
	memset(counts, 0, sizeof(counts));
}

static void run(unsigned long n, uint64_t last_page)
{
	sweep_lengths(&get_context, true);
	print_counts(get_context.name);
	for (size_t i = 0; i < ARRAY_SIZE(commands); i++) {
		sweep_lengths(&commands[i], false);
		print_counts(commands[i].name);
	}
	sweep_numbers();
	print_counts("all numbers");
	random_commands(n);
	print_counts("random commands");
	random_headers(n);
	print_counts("random headers");
	sweep_mmap(last_page);
	print_counts("mmap");
	close_range((unsigned int)fd, ~0U, 0);
}

int main(int argc, char **argv)
{
	static const char usage[] =
		"usage: uverbs-raw [-d DEVICE] [-s SEED] [-n COUNT] [-m PAGES]\n"
		"  -s  seed of the random sequence, not 0 (default 1)\n"
		"  -n  random commands and as many random headers (default 4000)\n"
		"  -m  last page offset of the mmap sweep (default 4096)\n";
	struct rlimit limit = { RLIM_INFINITY, RLIM_INFINITY };
	unsigned long n = 4000, last_page = 4096;
	const char *device = NULL;
	bool right;
	int c;

	setvbuf(stdout, NULL, _IOLBF, 0);
	while ((c = getopt(argc, argv, "d:s:n:m:h")) >= 0) {
		switch (c) {
		case 'd':
			device = optarg;
			break;
		case 's':
			seed = strtoull(optarg, NULL, 0);
			break;
		case 'n':
			n = strtoul(optarg, NULL, 0);
			break;
		case 'm':
			last_page = strtoul(optarg, NULL, 0);
			break;
		default:
			fputs(usage, c == 'h' ? stdout : stderr);
			return c == 'h' ? 0 : 2;
		}
	}
	if (!seed || find_path(device))
		return 2;
	setrlimit(RLIMIT_MEMLOCK, &limit);
	arena = mmap(NULL, ARENA_PAGES * PAGE, PROT_READ | PROT_WRITE,
		     MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (arena == MAP_FAILED) {
		perror("mmap");
		return 2;
	}
	right = right_requests();
	print_counts("right requests");
	run(n, last_page);
	printf("uverbs-raw: %s\n", right ? "PASS" : "FAIL");
	return right ? 0 : 1;
}
