// SPDX-License-Identifier: GPL-2.0
/*
 * User context: one process that has the device open. It knows the memory that
 * the process has registered as rings, and the QP or CQ that is then created
 * finds it here by its address.
 */
#ifndef IRDMA_VERBS_UCONTEXT_H
#define IRDMA_VERBS_UCONTEXT_H

#include "user_memory.h"

struct irdma_ucontext;

namespace irdma {

enum class RingKind : u8 { qp, cq };

/** Pages of a ring registration, 4 KiB each. The page of a QP's shadow area follows its queues. */
struct RingPages {
	u32 sq = 0, rq = 0, cq = 0;
};

/** A ring registration: a member of the MR, which lists it. */
struct Ring {
	RingKind kind = RingKind::qp;
	u64 va = 0; /**< in the process, page aligned */
	RingPages pages;
	UserMemoryRef memory;
	bool claimed = false; /**< a QP or CQ uses it; under the user context's lock */
	ListNode<Ring> node{this};
};

class Ucontext;

/**
 * Owner of the use of a ring: nobody else gets it meanwhile, and its pages stay pinned. The
 * registration may go before.
 */
class RingClaim {
public:
	RingClaim() = default;
	/** Takes over what Ucontext has claimed for it. */
	RingClaim(Ucontext &uctx, UserMemoryRef memory) : uctx_(&uctx), memory_(move(memory)) {}
	RingClaim(RingClaim &&other)
		: uctx_(exchange<Ucontext *>(other.uctx_, nullptr)), memory_(move(other.memory_))
	{
	}
	RingClaim &operator=(RingClaim &&other);
	~RingClaim() { reset(); }

	/** Another may have the ring. May sleep. */
	void reset();
	/** The device may still use the ring: keep its memory, and let no other have it. */
	void bury();

	explicit operator bool() const { return uctx_; }
	UserMemory *operator->() const { return &*memory_; }
	UserMemory &operator*() const { return *memory_; }

private:
	Ucontext *uctx_ = nullptr;
	UserMemoryRef memory_;
};

/** A ring as the QP or CQ that uses it sees it. */
struct QpRing {
	cmd::QueueMemory sq = {}, rq = {}; /**< virtual_map is the same for both */
	u64 shadow = 0;			   /**< bus address of the shadow area */
	u32 sq_bytes = 0, rq_bytes = 0;
	RingClaim memory;
};

struct CqRing {
	cmd::QueueMemory queue = {};
	u64 first_page = 0; /**< bus address */
	u32 bytes = 0;
	RingClaim memory;
};

class Ucontext {
public:
	explicit Ucontext(bool raw_attributes)
		: raw_attributes_(raw_attributes), lock_(SHIM_LOCK_UCONTEXT)
	{
	}
	~Ucontext();

	/** Whether sizes of QPs come as the application gave them; otherwise in quanta. */
	bool raw_attributes() const { return raw_attributes_; }

	/** Any context. */
	void add(Ring &ring);
	void remove(Ring &ring);

	/**
	 * Claim the ring of a QP, registered at @va. A ring serves one QP at a time; one that could
	 * not be made, or is gone, has left it for another.
	 *
	 * Return: Error::no_entry if there is none, or only one in use.
	 */
	Result<QpRing> take_qp_ring(u64 va);
	/** The same of a CQ: its ring, or the page of its shadow area. */
	Result<CqRing> take_cq_ring(u64 va);

	/** Held while a CQ of the process moves to another ring: threads may resize the same one. */
	Mutex &resizing() { return resizing_; }

private:
	friend class RingClaim;
	RingClaim take(RingKind kind, u64 va, RingPages &pages);
	void give_back(const UserMemory &memory);

	const bool raw_attributes_;
	SpinLock lock_;
	List<Ring> rings_;
	Mutex resizing_{SHIM_MUTEX_CQ};
};

inline Ucontext *from_c(irdma_ucontext *u)
{
	return reinterpret_cast<Ucontext *>(u);
}
inline irdma_ucontext *to_c(Ucontext *u)
{
	return reinterpret_cast<irdma_ucontext *>(u);
}

} // namespace irdma

#endif
