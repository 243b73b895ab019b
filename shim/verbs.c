// SPDX-License-Identifier: GPL-2.0
/*
 * Verbs: the ib_device itself: registration with ib_core, attributes of device
 * and port, and events that concern all of it.
 *
 * The entry points of struct ib_device_ops are spread over the verbs_*.c, one
 * file a kind of object. Each checks the driver data of its call, gathers what
 * ib_core knows, and hands plain structs to the C++ side.
 */
#include <linux/dma-mapping.h>
#include <linux/etherdevice.h>
#include <net/addrconf.h>
#include <rdma/ib_addr.h>
#include <rdma/ib_mad.h>
#include <rdma/ib_pack.h>
#include <rdma/irdma-abi.h>

#include "verbs.h"

#define PORT 1
#define GID_TABLE 32
#define PKEY_TABLE 1
#define TIMESTAMP_MASK 0x1ffff /* bits of a completion's timestamp */

/* ---- Attributes ---- */

static int query_device(struct ib_device *ibdev, struct ib_device_attr *props,
			struct ib_udata *udata)
{
	struct shim_device *dev = to_shim(ibdev);
	struct irdma_device_attr attr;

	if (udata->inlen || udata->outlen)
		return -EINVAL;

	irdma_query_device(dev->irdma, &attr);
	memset(props, 0, sizeof(*props));
	addrconf_addr_eui48((u8 *)&props->sys_image_guid, dev->netdev->dev_addr);
	props->fw_ver = (u64)attr.fw_major << 32 | attr.fw_minor;
	props->vendor_id = dev->pdev->vendor;
	props->vendor_part_id = dev->pdev->device;
	props->hw_ver = dev->pdev->revision;
	props->device_cap_flags = IB_DEVICE_MEM_WINDOW | IB_DEVICE_MEM_MGT_EXTENSIONS |
				  IB_DEVICE_RC_RNR_NAK_GEN;
	props->kernel_cap_flags = IBK_LOCAL_DMA_LKEY;
	props->page_size_cap = attr.page_size_cap;
	props->max_mr_size = attr.max_mr_size;
	props->max_qp = attr.max_qp;
	props->max_qp_wr = attr.max_qp_wr;
	props->max_send_sge = attr.max_sge;
	props->max_recv_sge = attr.max_sge;
	props->max_sge_rd = attr.max_sge;
	props->max_cq = attr.max_cq;
	props->max_cqe = attr.max_cqe;
	props->max_mr = attr.max_mr;
	props->max_mw = attr.max_mw;
	props->max_pd = attr.max_pd;
	props->max_ah = attr.max_ah;
	props->max_qp_rd_atom = attr.max_ird;
	props->max_qp_init_rd_atom = attr.max_ord;
	props->max_pkeys = PKEY_TABLE;
	props->max_mcast_grp = attr.max_mcast_grp;
	props->max_mcast_qp_attach = attr.max_mcast_qp_attach;
	props->max_total_mcast_qp_attach = attr.max_mcast_grp * attr.max_mcast_qp_attach;
	props->max_fast_reg_page_list_len = attr.max_fast_reg_pages;
	props->timestamp_mask = TIMESTAMP_MASK;
	return 0;
}

static int query_port(struct ib_device *ibdev, u32 port, struct ib_port_attr *props)
{
	struct shim_device *dev = to_shim(ibdev);
	struct net_device *netdev = dev->netdev;
	struct irdma_device_attr attr;

	irdma_query_device(dev->irdma, &attr);
	props->max_mtu = IB_MTU_4096;
	/* What is left of a frame for the payload. */
	props->active_mtu = iboe_get_mtu(netdev->mtu) ?: IB_MTU_256;
	/* RoCE has no LIDs: 0 is the reserved one. */
	props->lid = 0;
	if (netif_running(netdev) && netif_carrier_ok(netdev)) {
		props->state = IB_PORT_ACTIVE;
		props->phys_state = IB_PORT_PHYS_STATE_LINK_UP;
	} else {
		props->state = IB_PORT_DOWN;
		props->phys_state = IB_PORT_PHYS_STATE_DISABLED;
	}
	props->gid_tbl_len = GID_TABLE;
	props->ip_gids = true;
	props->pkey_tbl_len = PKEY_TABLE;
	props->port_cap_flags |= IB_PORT_CM_SUP | IB_PORT_REINIT_SUP;
	props->max_msg_sz = attr.max_message;
	/* Fails only while the netdev goes away; nothing is left to report of the port then. */
	ib_get_eth_speed(ibdev, port, &props->active_speed, &props->active_width);
	return 0;
}

static int query_pkey(struct ib_device *ibdev, u32 port, u16 index, u16 *pkey)
{
	if (index >= PKEY_TABLE)
		return -EINVAL;
	*pkey = IB_DEFAULT_PKEY_FULL;
	return 0;
}

static enum rdma_link_layer get_link_layer(struct ib_device *ibdev, u32 port)
{
	return IB_LINK_LAYER_ETHERNET;
}

static int get_port_immutable(struct ib_device *ibdev, u32 port,
			      struct ib_port_immutable *immutable)
{
	immutable->core_cap_flags = RDMA_CORE_PORT_IBA_ROCE_UDP_ENCAP;
	immutable->gid_tbl_len = GID_TABLE;
	immutable->pkey_tbl_len = PKEY_TABLE;
	immutable->max_mad_size = IB_MGMT_MAD_SIZE;
	return 0;
}

static void get_fw_string(struct ib_device *ibdev, char *str)
{
	struct irdma_device_attr attr;

	irdma_query_device(to_shim(ibdev)->irdma, &attr);
	snprintf(str, IB_FW_VERSION_NAME_MAX, "%u.%u", attr.fw_major, attr.fw_minor);
}

/* The description is for people, such as "host device" by rdma-ndd; the hardware has none. */
static int modify_device(struct ib_device *ibdev, int mask, struct ib_device_modify *modify)
{
	if (mask & ~IB_DEVICE_MODIFY_NODE_DESC)
		return -EOPNOTSUPP;
	if (mask & IB_DEVICE_MODIFY_NODE_DESC)
		memcpy(ibdev->node_desc, modify->node_desc, sizeof(ibdev->node_desc));
	return 0;
}

/* ---- Registration ---- */

static const struct ib_device_ops ops = {
	.owner = THIS_MODULE,
	.driver_id = RDMA_DRIVER_IRDMA,
	.uverbs_abi_ver = IRDMA_ABI_VER,

	.query_device = query_device,
	.modify_device = modify_device,
	.query_port = query_port,
	.query_pkey = query_pkey,
	.get_link_layer = get_link_layer,
	.get_port_immutable = get_port_immutable,
	.get_dev_fw_str = get_fw_string,
	.alloc_hw_port_stats = shim_alloc_statistics,
	.get_hw_stats = shim_get_statistics,

	.fill_res_qp_entry = shim_fill_qp,
	.fill_res_qp_entry_raw = shim_fill_qp_raw,
	.fill_res_cq_entry = shim_fill_cq,
	.fill_res_mr_entry = shim_fill_mr,

	.alloc_ucontext = shim_alloc_ucontext,
	.dealloc_ucontext = shim_dealloc_ucontext,
	.disassociate_ucontext = shim_disassociate_ucontext,
	.mmap = shim_mmap,
	.mmap_free = shim_mmap_free,

	.alloc_pd = shim_alloc_pd,
	.dealloc_pd = shim_dealloc_pd,

	.create_cq = shim_create_cq,
	.destroy_cq = shim_destroy_cq,
#ifdef SHIM_CQ_ENDS_IN_STEPS
	.pre_destroy_cq = shim_pre_destroy_cq,
	.post_destroy_cq = shim_post_destroy_cq,
#endif
	.resize_cq = shim_resize_cq,
	.req_notify_cq = shim_req_notify_cq,
	.poll_cq = shim_poll_cq,

	.create_qp = shim_create_qp,
	.modify_qp = shim_modify_qp,
	.query_qp = shim_query_qp,
	.destroy_qp = shim_destroy_qp,
	.post_send = shim_post_send,
	.post_recv = shim_post_recv,
	.attach_mcast = shim_attach_mcast,
	.detach_mcast = shim_detach_mcast,

	.reg_user_mr = shim_reg_user_mr,
	.reg_user_mr_dmabuf = shim_reg_user_mr_dmabuf,
	.rereg_user_mr = shim_rereg_user_mr,
	.get_dma_mr = shim_get_dma_mr,
	.alloc_mr = shim_alloc_mr,
	.map_mr_sg = shim_map_mr_sg,
	.dereg_mr = shim_dereg_mr,
	.alloc_mw = shim_alloc_mw,
	.dealloc_mw = shim_dealloc_mw,

	.create_ah = shim_create_ah,
	.create_user_ah = shim_create_ah,
	.query_ah = shim_query_ah,
	.destroy_ah = shim_destroy_ah,

	INIT_RDMA_OBJ_SIZE(ib_ucontext, shim_ucontext, ib),
	INIT_RDMA_OBJ_SIZE(ib_pd, shim_pd, ib),
	INIT_RDMA_OBJ_SIZE(ib_cq, shim_cq, ib),
	INIT_RDMA_OBJ_SIZE(ib_qp, shim_qp, ib),
	INIT_RDMA_OBJ_SIZE(ib_mw, shim_mw, ib),
	INIT_RDMA_OBJ_SIZE(ib_ah, shim_ah, ib),
};

/**
 * shim_ib_register() - register the device with ib_core, as irdma0 or the next free number
 * @dev: the device, whose C++ side is up: consumers make objects while this runs
 *
 * Context: May sleep.
 * Return: 0 or a negative errno.
 */
int shim_ib_register(struct shim_device *dev)
{
	struct ib_device *ibdev = &dev->ibdev;
	struct irdma_device_attr attr;
	int err;

	irdma_query_device(dev->irdma, &attr);
	ibdev->node_type = RDMA_NODE_IB_CA;
	addrconf_addr_eui48((u8 *)&ibdev->node_guid, dev->netdev->dev_addr);
	ibdev->phys_port_cnt = 1;
	ibdev->num_comp_vectors = attr.comp_vectors;
	ibdev->local_dma_lkey = 0;
	ibdev->dev.parent = &dev->pdev->dev;
	ib_set_device_ops(ibdev, &ops);

	err = ib_device_set_netdev(ibdev, dev->netdev, PORT);
	if (err)
		return err;
	dma_set_max_seg_size(&dev->pdev->dev, UINT_MAX);
	return ib_register_device(ibdev, "irdma%d", &dev->pdev->dev);
}

/**
 * shim_ib_unregister() - undo shim_ib_register()
 * @dev: the device
 *
 * Context: May sleep. When it returns all objects of processes and of the kernel are gone.
 */
void shim_ib_unregister(struct shim_device *dev)
{
	shim_port_event(dev, false);
	ib_unregister_device(&dev->ibdev);
}

/* ---- Events ---- */

static void dispatch(struct shim_device *dev, enum ib_event_type type)
{
	struct ib_event ev = {
		.device = &dev->ibdev,
		.element.port_num = PORT,
		.event = type,
	};

	ib_dispatch_event(&ev);
}

/**
 * shim_port_event() - tell all consumers that the port is up or down
 * @dev: the device, registered
 * @active: up
 *
 * Context: Any.
 */
void shim_port_event(struct shim_device *dev, bool active)
{
	dispatch(dev, active ? IB_EVENT_PORT_ACTIVE : IB_EVENT_PORT_ERR);
}

/**
 * shim_device_fatal() - tell all consumers that the device is beyond repair
 * @dev: the device, registered
 *
 * Context: Any.
 */
void shim_device_fatal(struct shim_device *dev)
{
	dispatch(dev, IB_EVENT_DEVICE_FATAL);
}
