// SPDX-License-Identifier: GPL-2.0
/*
 * Memory of a process that the device reaches: pinned pages, and the list that
 * the device has of them. Kinds: what an MR covers, and the rings of QPs and
 * CQs, which libirdma registers before it creates the QP or CQ.
 *
 * The memory is counted: the MR has a share in it, and so has a QP or CQ in
 * its ring. The pages stay pinned until the last of them has let go, in
 * whatever order they are destroyed.
 */
#ifndef IRDMA_VERBS_USER_MEMORY_H
#define IRDMA_VERBS_USER_MEMORY_H

#include "../base/atomic.h"
#include "../base/list.h"
#include "../base/lock.h"
#include "../base/memory.h"
#include "../base/result.h"
#include "../cqp/commands.h"
#include "../hmc/pble.h"

namespace irdma {

class Device;
class UserMemory;

/** Owner of a share in a process's memory. */
class UserMemoryRef {
public:
	UserMemoryRef() = default;
	/** Takes over the share that @memory was made with. */
	explicit UserMemoryRef(UserMemory *memory) : memory_(memory) {}
	UserMemoryRef(UserMemoryRef &&other)
		: memory_(exchange<UserMemory *>(other.memory_, nullptr))
	{
	}
	UserMemoryRef &operator=(UserMemoryRef &&other)
	{
		if (this != &other) {
			reset();
			memory_ = exchange<UserMemory *>(other.memory_, nullptr);
		}
		return *this;
	}
	~UserMemoryRef() { reset(); }

	/** Another share. */
	UserMemoryRef share() const;
	/** May sleep. */
	void reset();
	/** Keep the memory until the device is stopped: the device may still use it. */
	void bury();

	explicit operator bool() const { return memory_; }
	UserMemory *operator->() const { return memory_; }
	UserMemory &operator*() const { return *memory_; }
	UserMemory *release() { return exchange<UserMemory *>(memory_, nullptr); }

private:
	UserMemory *memory_ = nullptr;
};

/** What is to be pinned. */
struct UserRange {
	u64 start;  /**< address in the process; in a DMA-BUF: offset */
	u64 length; /**< bytes, not 0 */
	u64 va;	    /**< address by which the device is to find the first byte */
	u32 access; /**< SHIM_ACCESS_* */
	s32 dmabuf; /**< file descriptor of a DMA-BUF, or -1 */
};

class UserMemory {
public:
	/** How many levels the page list may have. */
	enum class Levels { one, two };

	/**
	 * Pin @range, in pages of the largest of @page_sizes (a set of powers of two) that fits
	 * it, and list the pages in PBLEs unless they are one run. May sleep.
	 *
	 * Return: the memory; the error of pinning; Error::not_supported if no page size fits;
	 * Error::no_memory if the page list is too long for the host memory cache.
	 */
	static Result<UserMemoryRef> pin(Device &device, const UserRange &range, u64 page_sizes,
					 Levels levels);

	/** Not to be made but by pin(). */
	UserMemory(Device &device, const UserRange &range, shim_umem *umem)
		: device_(device), range_(range), umem_(umem)
	{
	}
	~UserMemory() { shim_umem_put(umem_); }

	/** As pin() was asked for it; of a DMA-BUF the descriptor may be another's by now. */
	const UserRange &range() const { return range_; }

	u64 page_size() const { return 1ULL << page_shift_; }
	u64 pages() const { return shim_umem_pages(umem_, page_size()); }
	/** Whether the pages are one run; otherwise list() lists them. */
	bool contiguous() const { return !list_; }
	const PbleList &list() const { return list_; }
	/** Bus address of page @i. */
	u64 page(u64 i) const
	{
		return contiguous() ? first_page_ + i * page_size() : list_.page(i);
	}
	/** Whether @count pages from page @first on are one run. */
	bool one_run(u64 first, u64 count) const;
	/** Read @bytes that the process has written at @offset; not of a DMA-BUF. May sleep. */
	Status read(u64 offset, void *to, u64 bytes) const
	{
		return Status::from(shim_umem_copy(umem_, offset, to, bytes));
	}

private:
	friend class UserMemoryRef;
	friend class BuriedMemory;
	Status list_pages(Levels levels);

	Device &device_;
	const UserRange range_;
	shim_umem *umem_;
	PbleList list_;
	u64 first_page_ = 0;
	u32 page_shift_ = 0;
	Atomic<u32> refs_{1};
	ListNode<UserMemory> grave_{this};
};

/** Process memory of objects that died while the device could not be asked to let go of it. */
class BuriedMemory {
public:
	BuriedMemory() : lock_(SHIM_LOCK_UCONTEXT) {}
	/** When the device no longer reaches memory. May sleep. */
	~BuriedMemory();
	void bury(UserMemoryRef memory);

private:
	SpinLock lock_;
	List<UserMemory> list_;
};

} // namespace irdma

#endif
