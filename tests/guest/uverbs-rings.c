// SPDX-License-Identifier: GPL-2.0
/*
 * Rings of queue pairs and CQs as a process hands them in, without a library, which
 * would always do it right: memory that the process may not write to; rings that a
 * creation has used that came to nothing, because of its values, or because the answer
 * could not be written; rings used by two, or again. And a modification whose answer
 * cannot be written. Each call must end as irdma's documentation has it.
 */
#define _GNU_SOURCE
#include "lib/verbs_util.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>
#include <rdma/ib_user_verbs.h>
#include <rdma/irdma-abi.h>

#define PAGE 4096UL
#define PATH "/dev/infiniband/uverbs0"
#define EX(command) ((command) | IB_USER_VERBS_CMD_FLAG_EXTENDED)
/* Pages of the rings: a CQ's, its shadow area, those of a queue pair. */
#define CQ_PAGES 8UL
#define SQ_PAGES 4UL
#define RQ_PAGES 3UL
#define QP_PAGES (SQ_PAGES + RQ_PAGES + 1)

static int fd;
static int failures;
static uint32_t pd;
/* The first page takes answers, the second nothing. */
static char *answers;
static char *cq_ring, *shadow, *qp_ring;

/** struct call - a command of the write() interface
 * @number: IB_USER_VERBS_CMD_*
 * @core: request
 * @core_bytes: its size
 * @resp_bytes: bytes of the response before the driver's
 * @in: driver data
 * @in_bytes: its size
 * @out_bytes: bytes of the driver's response
 * @broken: the driver's response cannot be written
 */
struct call {
	uint32_t number;
	const void *core;
	size_t core_bytes;
	size_t resp_bytes;
	const void *in;
	size_t in_bytes;
	size_t out_bytes;
	bool broken;
};

static void *response_of(const struct call *c)
{
	return answers + (c->broken ? PAGE - c->resp_bytes : 0);
}

/* Give a command; its response is at *@response. Return: errno, 0 on success. */
static int give(const struct call *c, void **response)
{
	bool ex = c->number & IB_USER_VERBS_CMD_FLAG_EXTENDED;
	struct ib_uverbs_cmd_hdr hdr = { .command = c->number };
	struct ib_uverbs_ex_cmd_hdr ex_hdr = {
		.response = (uintptr_t)response_of(c),
		.provider_in_words = (uint16_t)(c->in_bytes / 8),
		.provider_out_words = (uint16_t)(c->out_bytes / 8),
	};
	size_t unit = ex ? 8 : 4, len = sizeof(hdr);
	char buf[512];

	if (ex) {
		memcpy(buf + len, &ex_hdr, sizeof(ex_hdr));
		len += sizeof(ex_hdr);
		hdr.in_words = (uint16_t)(c->core_bytes / unit);
		hdr.out_words = (uint16_t)(c->resp_bytes / unit);
	} else {
		hdr.in_words = (uint16_t)((len + c->core_bytes + c->in_bytes) / unit);
		hdr.out_words = (uint16_t)((c->resp_bytes + c->out_bytes) / unit);
	}
	memcpy(buf, &hdr, sizeof(hdr));
	memcpy(buf + len, c->core, c->core_bytes);
	memcpy(buf + len + c->core_bytes, c->in, c->in_bytes);
	if (response)
		*response = response_of(c);
	len += c->core_bytes + c->in_bytes;
	return write(fd, buf, len) < 0 ? errno : 0;
}

static void expect(const char *what, int got, int wanted)
{
	bool right = got == wanted;

	printf("%s: %s%s%s\n", what, vu_errno_name(got), right ? "" : ", expected was ",
	       right ? "" : vu_errno_name(wanted));
	failures += !right;
}

/* ---- commands ---- */

/* Give a call that makes an object; *@handle, if wanted, gets what its response begins with. */
static int create(const struct call *c, uint32_t *handle)
{
	void *response;
	int err = give(c, &response);

	if (!err && handle)
		*handle = *(uint32_t *)response;
	return err;
}

static int open_context(void)
{
	struct ib_uverbs_get_context core = { .response = (uintptr_t)answers };
	struct irdma_alloc_ucontext_req in = { .userspace_ver = IRDMA_ABI_VER };
	struct call c = {
		IB_USER_VERBS_CMD_GET_CONTEXT, &core, sizeof(core),
		sizeof(struct ib_uverbs_get_context_resp), &in, sizeof(in),
		sizeof(struct irdma_alloc_ucontext_resp), false,
	};

	return give(&c, NULL);
}

static int alloc_pd(void)
{
	struct ib_uverbs_alloc_pd core = { .response = (uintptr_t)answers };
	struct call c = {
		IB_USER_VERBS_CMD_ALLOC_PD, &core, sizeof(core),
		sizeof(struct ib_uverbs_alloc_pd_resp), "", 0,
		sizeof(struct irdma_alloc_pd_resp), false,
	};
	void *response;
	int err = give(&c, &response);

	pd = *(uint32_t *)response;
	return err;
}

/* Register a ring; *@handle gets its handle. */
static int reg(const void *at, unsigned long pages, uint16_t type, uint32_t *handle)
{
	struct ib_uverbs_reg_mr core = {
		.response = (uintptr_t)answers, .start = (uintptr_t)at, .hca_va = (uintptr_t)at,
		.length = pages * PAGE, .pd_handle = pd,
	};
	struct irdma_mem_reg_req in = { .reg_type = type };
	struct call c = {
		IB_USER_VERBS_CMD_REG_MR, &core, sizeof(core),
		sizeof(struct ib_uverbs_reg_mr_resp), &in, sizeof(in), 0, false,
	};

	if (type == IRDMA_MEMREG_TYPE_CQ) {
		in.cq_pages = (uint16_t)pages;
	} else {
		in.sq_pages = SQ_PAGES;
		in.rq_pages = RQ_PAGES;
	}
	return create(&c, handle);
}

static int dereg(uint32_t handle)
{
	struct ib_uverbs_dereg_mr core = { .mr_handle = handle };
	struct call c = { IB_USER_VERBS_CMD_DEREG_MR, &core, sizeof(core), 0, "", 0, 0, false };

	return give(&c, NULL);
}

static int create_cq(uint32_t cqe, bool broken, uint32_t *handle)
{
	struct ib_uverbs_create_cq core = { .cqe = cqe, .comp_channel = -1 };
	struct irdma_create_cq_req in = {
		.user_cq_buf = (uintptr_t)cq_ring, .user_shadow_area = (uintptr_t)shadow,
	};
	struct call c = {
		IB_USER_VERBS_CMD_CREATE_CQ, &core, sizeof(core),
		sizeof(struct ib_uverbs_create_cq_resp), &in, sizeof(in),
		sizeof(struct irdma_create_cq_resp), broken,
	};

	core.response = (uintptr_t)response_of(&c);
	return create(&c, handle);
}

static int create_qp(uint32_t cq, uint32_t send_wr, bool broken, uint32_t *handle)
{
	struct ib_uverbs_create_qp core = {
		.pd_handle = pd, .send_cq_handle = cq, .recv_cq_handle = cq,
		.max_send_wr = send_wr, .max_recv_wr = 32, .max_send_sge = 1,
		.max_recv_sge = 1, .qp_type = IBV_QPT_RC,
	};
	struct irdma_create_qp_req in = { .user_wqe_bufs = (uintptr_t)qp_ring };
	struct call c = {
		IB_USER_VERBS_CMD_CREATE_QP, &core, sizeof(core),
		sizeof(struct ib_uverbs_create_qp_resp), &in, sizeof(in),
		sizeof(struct irdma_create_qp_resp), broken,
	};

	core.response = (uintptr_t)response_of(&c);
	return create(&c, handle);
}

/* To INIT. */
static int modify_qp(uint32_t qp, bool broken)
{
	struct ib_uverbs_ex_modify_qp core = {
		.base = {
			.qp_handle = qp, .qp_state = IBV_QPS_INIT, .port_num = 1,
			.attr_mask = IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT |
				     IBV_QP_ACCESS_FLAGS,
		},
	};
	struct irdma_modify_qp_req in = { 0 };
	struct call c = {
		EX(IB_USER_VERBS_EX_CMD_MODIFY_QP), &core, sizeof(core),
		sizeof(struct ib_uverbs_ex_modify_qp_resp), &in, sizeof(in),
		sizeof(struct irdma_modify_qp_resp), broken,
	};

	return give(&c, NULL);
}

static int query_state(uint32_t qp)
{
	struct ib_uverbs_query_qp core = {
		.response = (uintptr_t)answers, .qp_handle = qp, .attr_mask = IBV_QP_STATE,
	};
	struct call c = {
		IB_USER_VERBS_CMD_QUERY_QP, &core, sizeof(core),
		sizeof(struct ib_uverbs_query_qp_resp), "", 0, 0, false,
	};
	void *response;

	if (give(&c, &response))
		return -1;
	return ((struct ib_uverbs_query_qp_resp *)response)->qp_state;
}

static int destroy(uint32_t number, uint32_t handle)
{
	struct { uint64_t response; uint32_t handle, reserved; } core = {
		(uintptr_t)answers, handle, 0,
	};
	struct call c = { number, &core, sizeof(core), 8, "", 0, 0, false };

	return give(&c, NULL);
}

/* ---- what is tried ---- */

static char *map(unsigned long pages, int prot, int flags, int file)
{
	char *p = mmap(NULL, pages * PAGE, prot, flags, file, 0);

	if (p == MAP_FAILED) {
		perror("mmap");
		exit(2);
	}
	return p;
}

/* The device writes to rings: what the process may only read must not become one. */
static void try_read_only(void)
{
	char *memory, name[] = "/tmp/rings.XXXXXX";
	int file = mkstemp(name);

	if (file < 0 || ftruncate(file, 16 * PAGE))
		exit(2);
	close(file);
	file = open(name, O_RDONLY);
	memory = map(16, PROT_READ, MAP_SHARED, file);
	expect("CQ ring in a file, read only", reg(memory, CQ_PAGES, IRDMA_MEMREG_TYPE_CQ, NULL),
	       EFAULT);
	expect("QP rings in a file, read only", reg(memory, QP_PAGES, IRDMA_MEMREG_TYPE_QP, NULL),
	       EFAULT);
	memory = map(16, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1);
	expect("CQ ring, read only", reg(memory, CQ_PAGES, IRDMA_MEMREG_TYPE_CQ, NULL), EFAULT);
	unlink(name);
}

static uint32_t try_cq(void)
{
	uint32_t cq = 0, ring = 0;

	expect("register a CQ's ring", reg(cq_ring, CQ_PAGES, IRDMA_MEMREG_TYPE_CQ, &ring), 0);
	expect("CQ without shadow area", create_cq(64, false, NULL), ENOENT);
	expect("register its shadow area", reg(shadow, 1, IRDMA_MEMREG_TYPE_CQ, NULL), 0);
	expect("CQ of more entries than the ring", create_cq(1 << 16, false, NULL), EINVAL);
	expect("CQ whose answer cannot be written", create_cq(64, true, NULL), EFAULT);
	expect("CQ", create_cq(64, false, &cq), 0);
	expect("another CQ in the same ring", create_cq(64, false, NULL), ENOENT);
	expect("destroy CQ", destroy(IB_USER_VERBS_CMD_DESTROY_CQ, cq), 0);
	expect("CQ in the ring of the last", create_cq(64, false, &cq), 0);
	expect("deregister the ring in use", dereg(ring), 0);
	return cq;
}

static void try_qp(uint32_t cq)
{
	uint32_t qp = 0, rings = 0;

	expect("register QP rings", reg(qp_ring, QP_PAGES, IRDMA_MEMREG_TYPE_QP, &rings), 0);
	expect("QP of no size", create_qp(cq, 0, false, NULL), EINVAL);
	expect("QP larger than its rings", create_qp(cq, 4096, false, NULL), EINVAL);
	expect("QP whose answer cannot be written", create_qp(cq, 256, true, NULL), EFAULT);
	expect("QP", create_qp(cq, 256, false, &qp), 0);
	expect("another QP in the same rings", create_qp(cq, 256, false, NULL), ENOENT);

	expect("INIT whose answer cannot be written", modify_qp(qp, true), EFAULT);
	failures += query_state(qp) != IBV_QPS_RESET;
	printf("then the state is %s\n", vu_state_name(query_state(qp)));
	expect("INIT", modify_qp(qp, false), 0);
	failures += query_state(qp) != IBV_QPS_INIT;

	expect("deregister the rings in use", dereg(rings), 0);
	expect("register them anew", reg(qp_ring, QP_PAGES, IRDMA_MEMREG_TYPE_QP, &rings), 0);
	expect("destroy QP", destroy(IB_USER_VERBS_CMD_DESTROY_QP, qp), 0);
	expect("QP in the new registration", create_qp(cq, 256, false, &qp), 0);
	expect("destroy QP", destroy(IB_USER_VERBS_CMD_DESTROY_QP, qp), 0);
	expect("QP in the rings of the last", create_qp(cq, 256, false, &qp), 0);
}

int main(void)
{
	setvbuf(stdout, NULL, _IOLBF, 0);
	fd = open(PATH, O_RDWR | O_CLOEXEC);
	if (fd < 0) {
		perror(PATH);
		return 2;
	}
	answers = map(2, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1);
	mprotect(answers + PAGE, PAGE, PROT_NONE);
	cq_ring = map(CQ_PAGES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1);
	shadow = map(1, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1);
	qp_ring = map(QP_PAGES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1);
	if (open_context() || alloc_pd()) {
		perror("open");
		return 2;
	}
	try_read_only();
	try_qp(try_cq());
	printf("uverbs-rings: %s\n", failures ? "FAIL" : "PASS");
	return failures ? 1 : 0;
}
