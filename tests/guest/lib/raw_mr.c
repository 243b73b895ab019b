// SPDX-License-Identifier: GPL-2.0
/* Verbs without the provider library; see raw_mr.h. */
#include "raw_mr.h"

#include <errno.h>
#include <rdma/ib_user_ioctl_cmds.h>
#include <rdma/ib_user_verbs.h>
#include <rdma/rdma_user_ioctl_cmds.h>
#include <sys/ioctl.h>
#include <unistd.h>

int raw_rereg_mr(struct ibv_mr *mr, int flags, struct ibv_pd *pd, void *addr,
		 uint64_t length, uint64_t iova, int access)
{
	struct ib_uverbs_rereg_mr_resp resp = {};
	struct {
		struct ib_uverbs_cmd_hdr hdr;
		struct ib_uverbs_rereg_mr body;
	} command = {
		.hdr = { IB_USER_VERBS_CMD_REREG_MR, sizeof(command) / 4, sizeof(resp) / 4 },
		.body = {
			.response = (uintptr_t)&resp,
			.mr_handle = mr->handle,
			.flags = (uint32_t)flags,
			.start = (uintptr_t)addr,
			.length = length,
			.hca_va = iova,
			.pd_handle = pd ? pd->handle : 0,
			.access_flags = (uint32_t)access,
		},
	};

	if (write(mr->context->cmd_fd, &command, sizeof(command)) != sizeof(command))
		return errno;
	mr->lkey = resp.lkey;
	mr->rkey = resp.rkey;
	return 0;
}

int raw_reg_dmabuf_mr(struct ibv_mr *mr, struct ibv_pd *pd, uint64_t offset,
		      uint64_t length, uint64_t iova, int fd, int access)
{
	enum { ATTRS = 9 };
	struct {
		struct ib_uverbs_ioctl_hdr hdr;
		struct ib_uverbs_attr attrs[ATTRS];
	} call = {
		.hdr = {
			.length = sizeof(call),
			.object_id = UVERBS_OBJECT_MR,
			.method_id = UVERBS_METHOD_REG_DMABUF_MR,
			.num_attrs = ATTRS,
			.driver_id = RDMA_DRIVER_IRDMA,
		},
		.attrs = {
#define ATTR(id, bytes, value)							\
			{ .attr_id = UVERBS_ATTR_REG_DMABUF_MR_##id, .len = (bytes), \
			  .flags = UVERBS_ATTR_F_MANDATORY, .data = (value) }
			ATTR(HANDLE, 0, 0),
			ATTR(PD_HANDLE, 0, pd->handle),
			ATTR(OFFSET, 8, offset),
			ATTR(LENGTH, 8, length),
			ATTR(IOVA, 8, iova),
			ATTR(FD, 4, (uint32_t)fd),
			ATTR(ACCESS_FLAGS, 4, (uint32_t)access),
			ATTR(RESP_LKEY, 4, (uintptr_t)&mr->lkey),
			ATTR(RESP_RKEY, 4, (uintptr_t)&mr->rkey),
#undef ATTR
		},
	};

	if (ioctl(pd->context->cmd_fd, RDMA_VERBS_IOCTL, &call))
		return errno;
	mr->context = pd->context;
	mr->pd = pd;
	mr->handle = (uint32_t)call.attrs[0].data;
	return 0;
}

int raw_dereg_mr(struct ibv_mr *mr)
{
	struct {
		struct ib_uverbs_cmd_hdr hdr;
		struct ib_uverbs_dereg_mr body;
	} command = {
		.hdr = { IB_USER_VERBS_CMD_DEREG_MR, sizeof(command) / 4, 0 },
		.body = { .mr_handle = mr->handle },
	};

	return write(mr->context->cmd_fd, &command, sizeof(command)) < 0 ? errno : 0;
}
