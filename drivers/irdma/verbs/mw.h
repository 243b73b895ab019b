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

	Mw(Device &device, Stag stag, u32 pd) : device_(device), stag_(move(stag)), pd_(pd) {}
	/** May sleep. */
	~Mw();

	u32 stag() const { return stag_.value(); }

private:
	Device &device_;
	Stag stag_;
	const u32 pd_;
	bool in_device_ = false;
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
