// SPDX-License-Identifier: GPL-2.0
/* The kinds of reset a block can be given; see reset.h for what causes them. */
#pragma once

namespace e810 {

enum class ResetKind {
	power_on,	/* everything is lost */
	function_level, /* FLR through PCIe: the function as after power on, the DDP package stays */
	pf,		/* PFGEN_CTRL: the function's queues, VSIs and filters */
	core,		/* CORER: the whole device but its link and PCIe function */
	global,		/* GLOBR: CORER and the ports */
};

/** Name for the trace. */
constexpr const char *reset_name(ResetKind kind)
{
	switch (kind) {
	case ResetKind::power_on:
		return "power_on";
	case ResetKind::function_level:
		return "flr";
	case ResetKind::pf:
		return "pf";
	case ResetKind::core:
		return "core";
	case ResetKind::global:
		return "global";
	}
	return "?";
}

} // namespace e810
