// SPDX-License-Identifier: GPL-2.0
/*
 * What the driver makes of each asynchronous event: one table, by code.
 */
#ifndef IRDMA_EQ_AE_TABLE_H
#define IRDMA_EQ_AE_TABLE_H

#include "../hw/ae_codes.h"
#include "../hw/cqe.h"

namespace irdma {

/** What an event calls for. */
enum class AeAction : u8 {
	ignore,	      /**< a matter of course */
	report,	      /**< say so, nothing else */
	qp_error,     /**< QP to ERROR, work flushed, event to the consumer */
	sq_drained,   /**< QP: suspended, SQD is reached */
	cq_error,     /**< event to the CQ's consumer */
	device_fatal, /**< the device needs a reset */
};

/** What the number in the event's entry is. */
enum class AeObject : u8 {
	by_source, /**< as aeqe::source says */
	qp,
	cq,
	device, /**< nothing: it is about the function */
};

struct AeInfo {
	hw::AeCode code;
	AeAction action;
	AeObject object;
	hw::FlushCode sq_flush; /**< status of the request at fault, if the SQ's */
	hw::FlushCode rq_flush; /**< the same for the RQ */
	u8 qp_event;		/**< SHIM_EVENT_* handed to the QP's consumer */
	const char *meaning;	/**< for people: what happened, and what to look at */
};

/** Which part of an object an event comes from, hw::AeSource, in words. */
const char *ae_source_name(u32 source);

/** The entry of @code; a general one for codes that the table does not have. */
const AeInfo &ae_info(u32 code);

} // namespace irdma

#endif
