// SPDX-License-Identifier: GPL-2.0
/*
 * Protection domain: a number that MRs, QPs and address handles carry, and by
 * which the device tells whether they belong together. No command makes it.
 */
#ifndef IRDMA_VERBS_PD_H
#define IRDMA_VERBS_PD_H

#include "../base/atomic.h"
#include "../base/id_table.h"

struct irdma_pd;

namespace irdma {

class Pd {
public:
	explicit Pd(Id id) : id_(move(id)) {}
	~Pd()
	{
		if (haunted_.load())
			id_.abandon();
	}

	u32 number() const { return id_.value(); }

	/**
	 * The device has not given up an object of this PD whose owner is gone. Nobody may get the
	 * number again, lest what is in the new PD can be reached through that object.
	 */
	void keep_number() { haunted_.store(true); }

	/** Memory windows in it. */
	Atomic<u32> windows{0};

private:
	Id id_;
	Atomic<bool> haunted_{false};
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
