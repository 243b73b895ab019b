// SPDX-License-Identifier: GPL-2.0
/*
 * The C half of the smallest module that the build accepts: it uses every
 * function of ice, each generated header, and the C++ beside it.
 */
#include <linux/completion.h>
#include <linux/module.h>
#include <linux/net/intel/iidc.h>

#include "ice_layout.h"
#include "shim_sizes.h"
#include "skeleton.h"

static int __init skeleton_init(void)
{
	struct iidc_rdma_qset_params qset = {};
	struct iidc_qos_params qos = {};
	struct ice_pf *pf = NULL;

	BUILD_BUG_ON(SHIM_SIZEOF_COMPLETION != sizeof(struct completion));
	if (skeleton_work(ICE_PF_HW_OFFSET)) {
		ice_get_qos_params(pf, &qos);
		ice_add_rdma_qset(pf, &qset);
		ice_del_rdma_qset(pf, &qset);
		ice_rdma_request_reset(pf, IIDC_PFR);
		ice_rdma_update_vsi_filter(pf, 0, false);
	}
	return 0;
}
module_init(skeleton_init);

static void __exit skeleton_exit(void)
{
}
module_exit(skeleton_exit);

MODULE_DESCRIPTION("Smallest module that the build accepts");
MODULE_LICENSE("GPL");
