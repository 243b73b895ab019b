// SPDX-License-Identifier: GPL-2.0
/*
 * Memory regions. Three kinds: of a process, registered at once with its
 * pages; of the kernel's, for all of memory; and of the kernel's for fast
 * registration, whose page list is filled by the consumer and made valid by a
 * REG_MR work request. A fourth has no STag: it hands rings of QPs and CQs to
 * the driver (ucontext.h).
 */
#ifndef IRDMA_VERBS_MR_H
#define IRDMA_VERBS_MR_H

#include "../device.h"
#include "../hw/limits.h"
#include "driver.h"
#include "pd.h"
#include "stag.h"
#include "ucontext.h"

namespace irdma {

/** Rights of an STag for SHIM_ACCESS_* @access. */
constexpr u32 stag_access(u32 access)
{
	u32 rights = hw::access::local_read;

	if (access & SHIM_ACCESS_LOCAL_WRITE)
		rights |= hw::access::local_write;
	if (access & SHIM_ACCESS_REMOTE_READ)
		rights |= hw::access::remote_read;
	if (access & SHIM_ACCESS_REMOTE_WRITE)
		rights |= hw::access::remote_write;
	if (access & SHIM_ACCESS_MW_BIND)
		rights |= hw::access::bind;
	return rights;
}

/** Bytes of a page. */
constexpr u64 bytes_of(hw::HostPage size)
{
	return u64{hw::page_size} << 9 * static_cast<u32>(size);
}
static_assert(bytes_of(hw::HostPage::size_2m) == hw::large_page_size &&
	      bytes_of(hw::HostPage::size_1g) == hw::huge_page_size);

/** What a fast registration maps: the page list as the consumer has left it. */
struct FastPages {
	PbleRun list;
	u64 va = 0;	/**< address of the first byte; REG_MR may come with another */
	u64 length = 0; /**< bytes */
	u32 count = 0;	/**< pages; 1 needs no list */
	hw::HostPage page_size = hw::HostPage::size_4k;

	/** Bus address of the first page; there is one. */
	u64 first_page() const { return list.entries()[0].get(); }
};

class Mr {
public:
	/** Pages that an MR for fast registration can be made for. */
	static constexpr u32 max_fast_pages = PblePool::max_run;

	/** May sleep, as all that make one. */
	static Result<Owner<Mr>> register_user(Device &device, const irdma_mr_params &params);
	static Result<Owner<Mr>> register_dma(Device &device, Pd &pd, u32 access);
	static Result<Owner<Mr>> alloc_fast(Device &device, Pd &pd, u32 pages);
	/**
	 * One that takes the place of this, which is left as it is. They share the pages if those
	 * stay the same.
	 */
	Result<Owner<Mr>> reregister(const irdma_mr_change &change) const;

	explicit Mr(Device &device) : device_(device) {}
	/** deregister() has gone well, or it has never been made. May sleep. */
	~Mr();

	/**
	 * Invalidate the STag. Memory that the device does not give back is buried, unless the
	 * caller @may_fail: then an error leaves everything as it was. May sleep.
	 */
	Status deregister(bool may_fail);

	/** 0 if it has none. */
	u32 stag() const { return stag_.value(); }
	Device &device() const { return device_; }

	/** What administrators see. */
	irdma_mr_details details() const;

	/** Fast registration: start, add to and end a page list. None sleeps. */
	void begin_pages();
	Status add_page(u64 bus);
	Status end_pages(u64 va, u64 length, u32 page_size);
	/** The list; null of one that is not for fast registration. */
	const FastPages *fast_pages() const { return fast_.get(); }

private:
	Status register_memory(Pd &pd, UserMemoryRef memory, u32 access);
	Status register_ring(const irdma_mr_params &params);
	Status register_stag(Pd &pd, cmd::RegMr command);
	template <class Command> Status run(const Command &command);
	void bury();

	Device &device_;
	Pd *pd_ = nullptr; /**< of an STag */
	Stag stag_;
	bool in_device_ = false; /**< the device knows the STag */

	/* Of a process. */
	u32 access_ = 0; /**< SHIM_ACCESS_* as asked for */
	UserMemoryRef memory_;
	Owner<Ring> ring_;
	Ucontext *uctx_ = nullptr; /**< that lists the ring */

	Owner<FastPages> fast_;
};

inline Mr *from_c(irdma_mr *m)
{
	return reinterpret_cast<Mr *>(m);
}
inline irdma_mr *to_c(Mr *m)
{
	return reinterpret_cast<irdma_mr *>(m);
}

} // namespace irdma

#endif
