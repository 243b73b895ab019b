// SPDX-License-Identifier: GPL-2.0
/*
 * Memory windows: an STag that a work request binds to a part of an MR.
 */
#ifndef IRDMA_VERBS_MW_H
#define IRDMA_VERBS_MW_H

#include "pd.h"
#include "stag.h"

struct irdma_mw;

namespace irdma {

class Mw {
public:
	/** @type1: bound by ibv_bind_mw, else by a posted request. May sleep. */
	static Result<Owner<Mw>> create(Device &device, Pd &pd, bool type1);

	Mw(Device &device, Stag stag, Pd &pd) : device_(device), stag_(move(stag)), pd_(pd)
	{
		pd_.windows.add(1);
	}
	~Mw() { pd_.windows.sub(1); }

	/** As Mr::deregister(). */
	Status deallocate(bool may_fail);

	u32 stag() const { return stag_.value(); }

private:
	Device &device_;
	Stag stag_;
	Pd &pd_;
};

inline Mw *from_c(irdma_mw *m)
{
	return reinterpret_cast<Mw *>(m);
}
inline irdma_mw *to_c(Mw *m)
{
	return reinterpret_cast<irdma_mw *>(m);
}

} // namespace irdma

#endif
