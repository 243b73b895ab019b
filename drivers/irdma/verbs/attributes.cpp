// SPDX-License-Identifier: GPL-2.0
/*
 * What a device can do: for ib_core, and for the provider library. Numbers of
 * objects are what the host memory cache was given, not what happens to be
 * free at the moment.
 */
#include "../device.h"

#include "../hw/limits.h"
#include "../hw/regs.h"
#include "cq.h"
#include "driver.h"
#include "mr.h"

using namespace irdma;

/* Feature flags of libirdma. */
static constexpr u64 feature_rts_ae = 1 << 0;
static constexpr u64 feature_cq_resize = 1 << 1;
static constexpr u8 generation_2 = 2;

static constexpr u32 max_wrs =
	(hw::max_wq_quanta - hw::sq_reserved_quanta) / hw::max_quanta_per_wqe;

/**
 * irdma_query_device() - limits of the device
 * @device: the device
 * @attr: gets them
 *
 * Any context.
 */
void irdma_query_device(irdma_device *device, irdma_device_attr *attr)
{
	Device &d = *from_c(device);

	*attr = {
		.max_mr_size = hw::max_mr_bytes,
		.page_size_cap = hw::page_size | hw::large_page_size | hw::huge_page_size,
		.max_qp = d.qp_ids.capacity(),
		.max_qp_wr = max_wrs,
		.max_sge = hw::max_sge,
		.max_cq = d.cq_ids.capacity(),
		.max_cqe = Cq::max_entries,
		.max_mr = d.stag_ids.capacity(),
		.max_mw = d.stag_ids.capacity(),
		.max_pd = d.pd_ids.capacity(),
		.max_ah = d.ah_ids.capacity(),
		.max_ird = hw::max_ird,
		.max_ord = hw::max_ord,
		.max_inline = hw::max_inline_bytes,
		.max_mcast_grp = d.mcast_ids.capacity(),
		.max_mcast_qp_attach = hw::mcast_members_per_group,
		.max_fast_reg_pages = Mr::max_fast_pages,
		.max_message = hw::max_message_bytes,
		.fw_major = d.fw_major,
		.fw_minor = d.fw_minor,
		.comp_vectors = d.events.ceq_count(),
	};
}

/**
 * irdma_get_uk_attr() - limits as the provider library wants them
 * @attr: gets them
 *
 * All devices have the same. Any context.
 */
void irdma_get_uk_attr(irdma_device *, irdma_uk_attr *attr)
{
	*attr = {
		.feature_flags = feature_rts_ae | feature_cq_resize,
		.max_frags = hw::max_sge,
		.max_read_sges = hw::max_sge,
		.max_inline = hw::max_inline_bytes,
		.max_rq_quanta = hw::max_wq_quanta,
		.max_sq_quanta = hw::max_wq_quanta,
		.min_cq_size = 1,
		.max_cq_size = Cq::max_entries + 1, /* the library's limit is below it */
		.max_sq_chunk = hw::max_quanta_per_wqe,
		.min_wq_size = hw::min_wq_wqes,
		.hw_rev = generation_2,
		.db_page_offset = hw::reg::db_page_offset,
	};
}
