// SPDX-License-Identifier: GPL-2.0
/*
 * Driver data of processes: how much each call must bring, and how much room
 * it must have for the answer. Called by the shims before they copy anything.
 */
#include "../base/types.h"
#include "driver.h"

using namespace irdma;

/** Bytes at least; @optional: none at all will do as well. */
struct LeastUdata {
	irdma_call call;
	u8 in, out;
	bool optional;
};

static constexpr LeastUdata least[] = {
	{IRDMA_CALL_CONTEXT, SHIM_UDATA_CONTEXT_IN, SHIM_UDATA_CONTEXT_OUT, false},
	{IRDMA_CALL_PD, 0, SHIM_UDATA_PD_OUT, false},
	{IRDMA_CALL_CREATE_CQ, SHIM_UDATA_CREATE_CQ_IN, SHIM_UDATA_CREATE_CQ_OUT, false},
	{IRDMA_CALL_RESIZE_CQ, SHIM_UDATA_RESIZE_CQ_IN, 0, false},
	{IRDMA_CALL_CREATE_QP, SHIM_UDATA_CREATE_QP_IN, SHIM_UDATA_CREATE_QP_OUT, false},
	{IRDMA_CALL_MODIFY_QP, SHIM_UDATA_MODIFY_QP_IN, SHIM_UDATA_MODIFY_QP_OUT, true},
	{IRDMA_CALL_MR, SHIM_UDATA_MR_IN, 0, false},
	{IRDMA_CALL_AH, 0, SHIM_UDATA_AH_OUT, false},
};

/**
 * irdma_udata_ok() - whether the driver data of a call will do
 * @call: the call
 * @in: bytes that the process brings
 * @out: bytes that it has room for
 *
 * What is missing of later additions is 0, and what is newer than us is not looked at.
 *
 * Any context. Return: true if it is as much as the first provider libraries have.
 */
bool irdma_udata_ok(irdma_call call, u64 in, u64 out)
{
	for (const LeastUdata &l : least)
		if (l.call == call)
			return (in >= l.in || (l.optional && !in)) &&
			       (out >= l.out || (l.optional && !out));
	return false;
}
