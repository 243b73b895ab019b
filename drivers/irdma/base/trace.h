// SPDX-License-Identifier: GPL-2.0
/* Whether anybody listens to a tracepoint; see kernel.h. */
#ifndef IRDMA_BASE_TRACE_H
#define IRDMA_BASE_TRACE_H

#include "kernel.h"

namespace irdma {

/** Whether @point is switched on: what it tells is worked out only then. Any context. */
inline bool tracing(shim_tracepoint point)
{
	u32 on = __atomic_load_n(&shim_tracing, __ATOMIC_RELAXED);

	return __builtin_expect(on >> point & 1, 0);
}

} // namespace irdma

#endif
