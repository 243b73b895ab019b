// SPDX-License-Identifier: GPL-2.0
/*
 * The link to ice, which owns the PCI function and lends it.
 *
 * What its public header (iidc.h) does not give is read from its private
 * structures, at the offsets that scripts/kbuild/ice-layout took from the type
 * information of the ice.ko that this module is built for. No other ice gets
 * here: the symbol versions of the functions used below cover struct ice_pf.
 */
#include <linux/net/intel/iidc.h>
#include <linux/rtnetlink.h>

#include "ice_layout.h"
#include "shim_device.h"

/* Where a member of one of ice's structures lies; its size is checked. */
#define ICE_MEMBER(type, base, name) ({					\
	BUILD_BUG_ON(sizeof(type) != name##_SIZE);			\
	(type *)((u8 *)(base) + name##_OFFSET);				\
})
#define ICE_GET(type, base, name) (*ICE_MEMBER(type, base, name))

struct ice_vsi;

/* The function's main VSI, by ice's convention the first; NULL if there is none. */
static struct ice_vsi *main_vsi(struct ice_pf *pf)
{
	struct ice_vsi **vsis = ICE_GET(struct ice_vsi **, pf, ICE_PF_VSI);
	struct ice_vsi *vsi = vsis ? vsis[0] : NULL;

	if (vsi && ICE_GET(u32, vsi, ICE_VSI_TYPE) != ICE_VSI_PF)
		return NULL;
	return vsi;
}

/**
 * shim_link_init() - learn from ice what it lends
 * @dev: gets function, registers, vectors and netdev
 * @adev: the auxiliary device
 * @pf: ice's structure of the function
 *
 * Return: 0; -ENODEV, which has been logged, if this driver cannot serve the function.
 */
int shim_link_init(struct shim_device *dev, struct auxiliary_device *adev, struct ice_pf *pf)
{
	void *hw = (u8 *)pf + ICE_PF_HW_OFFSET;
	struct msix_entry *entries = ICE_GET(struct msix_entry *, pf, ICE_PF_MSIX_ENTRIES);
	struct ice_vsi *vsi = main_vsi(pf);

	if (!(ICE_GET(u8, pf, ICE_PF_RDMA_MODE) & IIDC_RDMA_PROTOCOL_ROCEV2)) {
		dev_err(&adev->dev, "function is in iWARP mode, only RoCEv2 is supported\n");
		return -ENODEV;
	}

	dev->adev = adev;
	dev->pf = pf;
	dev->pdev = ICE_GET(struct pci_dev *, pf, ICE_PF_PDEV);
	dev->regs = ICE_GET(void __iomem *, hw, ICE_HW_HW_ADDR);
	dev->pf_id = ICE_GET(u8, hw, ICE_HW_PF_ID);
	dev->vectors = ICE_GET(u16, pf, ICE_PF_NUM_RDMA_MSIX);
	dev->netdev = vsi ? ICE_GET(struct net_device *, vsi, ICE_VSI_NETDEV) : NULL;
	if (!dev->netdev || !entries || !dev->vectors || !dev->regs) {
		dev_err(&adev->dev, "ice lends no %s\n",
			!vsi ? "VSI" : !dev->netdev ? "netdev" :
			!dev->regs ? "registers" : "interrupt vectors");
		return -ENODEV;
	}
	dev->msix = entries + ICE_GET(u16, pf, ICE_PF_RDMA_BASE_VECTOR);
	dev->vsi = ICE_GET(u16, vsi, ICE_VSI_VSI_NUM);
	return 0;
}

/**
 * shim_device_of() - the device that is bound to a function
 * @pf: ice's structure of the function
 *
 * Context: From an event of ice, which holds the lock of the auxiliary device.
 * Return: the device, or NULL if none is.
 */
struct shim_device *shim_device_of(struct ice_pf *pf)
{
	struct auxiliary_device *adev = ICE_GET(struct auxiliary_device *, pf, ICE_PF_ADEV);

	return adev ? auxiliary_get_drvdata(adev) : NULL;
}

/**
 * shim_get_port_info() - what identifies the port
 * @dev: the device
 * @info: gets it
 */
void shim_get_port_info(struct shim_device *dev, struct shim_port_info *info)
{
	info->pf_id = dev->pf_id;
	info->vsi = dev->vsi;
	info->mtu = READ_ONCE(dev->netdev->mtu);
	memcpy(info->mac, dev->netdev->dev_addr, sizeof(info->mac));
	info->pci_vendor = dev->pdev->vendor;
	info->pci_device = dev->pdev->device;
	info->pci_revision = dev->pdev->revision;
}

/**
 * shim_get_qos() - traffic classes and priorities of the port, as DCB has them
 * @dev: the device
 * @qos: gets them
 *
 * Context: May sleep.
 */
void shim_get_qos(struct shim_device *dev, struct shim_qos *qos)
{
	struct iidc_qos_params params = {};
	int i;

	static_assert(SHIM_MAX_TC == IEEE_8021QAZ_MAX_TCS);
	static_assert(SHIM_MAX_UP == IIDC_MAX_USER_PRIORITY);
	static_assert(sizeof(qos->dscp2up) == IIDC_MAX_DSCP_MAPPING);

	ice_get_qos_params(dev->pf, &params);
	memset(qos, 0, sizeof(*qos));
	qos->num_tc = params.num_tc;
	qos->vport_relative_bw = params.vport_relative_bw;
	qos->vport_priority_type = params.vport_priority_type;
	qos->dscp_mode = params.pfc_mode == IIDC_DSCP_PFC_MODE;
	memcpy(qos->up2tc, params.up2tc, sizeof(qos->up2tc));
	if (qos->dscp_mode)
		memcpy(qos->dscp2up, params.dscp_map, sizeof(qos->dscp2up));
	for (i = 0; i < SHIM_MAX_TC; i++) {
		qos->tc[i].relative_bw = params.tc_info[i].rel_bw;
		qos->tc[i].priority_type = params.tc_info[i].prio_type;
	}
}

/**
 * shim_qset_add() - register a queue set with ice's scheduler
 * @dev: the device
 * @qs_handle: the queue set's number, as the device gave it
 * @tc: its traffic class
 * @teid: gets the scheduler's number for it
 *
 * Context: May sleep.
 * Return: 0 or a negative errno.
 */
int shim_qset_add(struct shim_device *dev, u16 qs_handle, u8 tc, u32 *teid)
{
	struct iidc_rdma_qset_params qset = {
		.qs_handle = qs_handle,
		.vport_id = dev->vsi,
		.tc = tc,
	};
	int err = ice_add_rdma_qset(dev->pf, &qset);

	if (!err)
		*teid = qset.teid;
	return err;
}

/**
 * shim_qset_del() - take a queue set back from ice's scheduler
 * @dev: the device
 * @qs_handle: as it was added
 * @tc: as it was added
 * @teid: what shim_qset_add() gave
 *
 * Context: May sleep.
 */
void shim_qset_del(struct shim_device *dev, u16 qs_handle, u8 tc, u32 teid)
{
	struct iidc_rdma_qset_params qset = {
		.teid = teid,
		.qs_handle = qs_handle,
		.vport_id = dev->vsi,
		.tc = tc,
	};
	int err = ice_del_rdma_qset(dev->pf, &qset);

	if (err)
		shim_log(dev, SHIM_DBG, "ice refuses to remove queue set %u: %d", qs_handle, err);
}

/**
 * shim_vsi_filter() - let RoCEv2 traffic of the VSI reach the engine, or no longer
 * @dev: the device
 * @enable: which of the two
 *
 * Context: May sleep.
 * Return: 0 or a negative errno.
 */
int shim_vsi_filter(struct shim_device *dev, bool enable)
{
	return ice_rdma_update_vsi_filter(dev->pf, dev->vsi, enable);
}

/**
 * shim_request_reset() - ask ice to reset the function
 * @dev: the device; it will be removed and probed anew
 *
 * A change of traffic classes that came by DCB's netlink holds rtnl, and with it waits for the end
 * of a reset, which itself needs rtnl: ice would hang for ever. So none begins while somebody has it.
 *
 * Context: May sleep; returns at once.
 * Return: 0; -EAGAIN if it cannot be asked for just now; -EBUSY if a reset is under way; another
 * errno if ice does not reset any more.
 */
int shim_request_reset(struct shim_device *dev)
{
	int err;

	if (!rtnl_trylock())
		return -EAGAIN;
	err = ice_rdma_request_reset(dev->pf, IIDC_PFR);
	rtnl_unlock();
	return err;
}
