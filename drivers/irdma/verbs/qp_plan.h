// SPDX-License-Identifier: GPL-2.0
/*
 * The plan of a modification: a pure function of what a QP is and what shall
 * change. It either refuses, with the attribute at fault, or says what the QP
 * becomes and what the device must be told. Nothing is touched here; qp.cpp
 * carries plans out. So the whole table of states and attributes is tested
 * without a device.
 *
 * Which attributes may come with which transition is ib_core's knowledge
 * (ib_modify_qp_is_ok()); the caller brings its answer. Limits of the values,
 * and what each value becomes in the QP context, are here.
 */
#ifndef IRDMA_VERBS_QP_PLAN_H
#define IRDMA_VERBS_QP_PLAN_H

#include "../base/result.h"
#include "../hw/qp_context.h"
#include "driver.h"

namespace irdma {

/** A QP before the change. */
struct QpNow {
	u32 type;		      /**< SHIM_QPT_* */
	bool user;		      /**< its rings belong to a process */
	const irdma_qp_change *attr;  /**< attributes as last set; mask: which ever were */
	const hw::QpContext *context; /**< as the device has it; in RESET: as for a new QP */
	hw::QpState hw_state;	      /**< invalid: the device does not have it */
};

/** What was found out for the plan beforehand. */
struct QpFacts {
	bool transition_ok;	/**< ib_core's answer for (state, next state, type, mask) */
	u32 attribute_at_fault; /**< else SHIM_QP_*: the one that is missing, or too much; or 0 */
	bool rings_blank;	/**< nothing was ever posted to a user's rings */
	u32 netdev_mtu;		/**< bytes */
	u8 priority;		/**< user priority of the new path, if the change brings one */
	bool priority_tagging;	/**< untagged traffic must carry a tag of VLAN 0 */
};

/** What to do, and what comes of it. */
struct QpPlan {
	irdma_qp_change attr;  /**< attributes afterwards */
	hw::QpContext context; /**< afterwards, but for arp_index, remote_endpoint, qs_handle */
	hw::QpState hw_state;  /**< afterwards */
	u8 priority;	       /**< of new_path */
	bool new_path;	       /**< ARP entry and queue set by attr.path and priority */
	bool drop_path; /**< afterwards no ARP entry, queue set of priority 0, context of a new QP */
	bool await_drained; /**< first wait until the SQ has drained */
	bool recreate;	    /**< first DESTROY_QP, CREATE_QP: the device's indexes return to 0 */
	bool modify;	    /**< MODIFY_QP to hw_state, with these flags: */
	bool arp_valid, cq_num_valid, ord_valid, mac_valid;
	bool flush_sq, flush_rq; /**< afterwards FLUSH_WQES */
	bool forget_work;	 /**< afterwards drop outstanding work without completions */
};

/** Why a change was refused. */
struct QpRefusal {
	const char *attribute;
	u64 value;
	const char *remark = "";
};

/** Verbs state that a change leads to. */
constexpr u32 next_state(const irdma_qp_change &now, const irdma_qp_change &change)
{
	return change.mask & SHIM_QP_STATE ? change.state : now.state;
}

/**
 * The largest path MTU that fits a netdev's MTU with all RoCE headers.
 *
 * The headers are counted as iboe_get_mtu() of the kernel does: IPv6, UDP, BTH, the largest
 * extended headers, ICRC. Return: bytes, one of 256 to 4096; 0 if not even 256 fits.
 */
constexpr u32 path_mtu_limit(u32 netdev_mtu)
{
	constexpr u32 headers = 40 + 8 + 12 + 4 + 28 + 4;

	for (u32 mtu = 4096; mtu >= 256; mtu /= 2)
		if (netdev_mtu >= mtu + headers)
			return mtu;
	return 0;
}

/**
 * Plan @change of the QP @now.
 *
 * Return: ok with @plan filled in, or an error with @refusal saying what is at fault:
 * Error::invalid, or Error::not_supported for what the device does not have.
 */
Status plan_modify(const QpNow &now, const QpFacts &facts, const irdma_qp_change &change,
		   QpPlan &plan, QpRefusal &refusal);

} // namespace irdma

#endif
