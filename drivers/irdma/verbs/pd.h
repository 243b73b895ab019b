// SPDX-License-Identifier: GPL-2.0
/*
 * Protection domain: a number that MRs, QPs and address handles carry, and by
 * which the device tells whether they belong together. No command makes it.
 */
#ifndef IRDMA_VERBS_PD_H
#define IRDMA_VERBS_PD_H

#include "../base/id_table.h"

struct irdma_pd;

namespace irdma {

class Pd {
public:
	explicit Pd(Id id) : id_(move(id)) {}

	u32 number() const { return id_.value(); }

private:
	Id id_;
};

inline Pd *from_c(irdma_pd *p)
{
	return reinterpret_cast<Pd *>(p);
}
inline irdma_pd *to_c(Pd *p)
{
	return reinterpret_cast<irdma_pd *>(p);
}

} // namespace irdma

#endif
