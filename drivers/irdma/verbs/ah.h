// SPDX-License-Identifier: GPL-2.0
/*
 * Address handle: where a UD send goes. The device keeps it as an object of
 * its own, made by a control command.
 *
 * The connection manager makes and destroys address handles with interrupts
 * off. CREATE_AH has to be over before a send may use the handle, so it is then
 * run without sleeping; DESTROY_AH is posted, and its callback frees the handle. If the
 * ring of the control QP is full, a work item waits for room instead.
 *
 * Processes make many handles for the same path: equal ones in a PD share one of
 * the device, which is counted. They are found by their contents in a small hash
 * table, each bucket with a mutex that is held over the commands, so that one is
 * never found that is not yet there, or no more.
 */
#ifndef IRDMA_VERBS_AH_H
#define IRDMA_VERBS_AH_H

#include "../base/id_table.h"
#include "../base/list.h"
#include "../base/lock.h"
#include "../cqp/cqp.h"
#include "../cqp/commands.h"
#include "arp.h"
#include "driver.h"
#include "pd.h"

namespace irdma {

class Ah;
class Device;

/** The handles of processes. */
class SharedAhs {
public:
	explicit SharedAhs(Device &device) : device_(device) {}

	/** The handle for @path in @pd, made if there is none. May sleep, as release(). */
	Result<Ah *> get(Pd &pd, const irdma_path &path);
	/** Give back what get() has given; the last one destroys it. */
	void release(Ah &ah);

private:
	struct Bucket {
		Mutex mutex{SHIM_MUTEX_AH};
		List<Ah> ahs;
	};
	Bucket &bucket_of(const Ah &ah);

	Device &device_;
	Bucket buckets_[64];
};

/** Handles that were to be destroyed without sleeping when the ring was full. */
class LateAhs {
public:
	explicit LateAhs(Device &device) : device_(device) {}

	/** @ah is destroyed soon. Any context. */
	void add(Ah &ah);
	/** No more come: destroy what is left. May sleep. */
	void finish();

private:
	static void run(void *late);
	Ah *take();

	Device &device_;
	SpinLock lock_{SHIM_LOCK_IDS};
	List<Ah> ahs_;
	Work work_{run, this};
};

class Ah {
public:
	/** Sleeps only if @may_sleep. */
	static Result<Ah *> create(Device &device, Pd &pd, const irdma_path &path, bool may_sleep);

	/** Not to be made but by create() and SharedAhs. */
	Ah(Device &device, Pd &pd, ArpEntry arp, const irdma_path &path);

	/** Destroys it in the device, and @this with it. Sleeps only if @may_sleep. */
	void release(bool may_sleep);

	/** As sends name it. */
	u32 number() const { return words_.ah; }
	bool shared() const { return users_; }
	Device &device() const { return device_; }

private:
	friend class SharedAhs;
	friend class LateAhs;
	Status make(bool may_sleep);
	void release_late();
	static void on_destroyed(void *arg, const CqpOutcome &outcome);

	Device &device_;
	Pd &pd_; /**< outlives it but for a destroy that does not sleep */
	Id id_;
	ArpEntry arp_;
	cmd::AhWords words_;
	u32 users_ = 0;		  /**< of a shared one, under the bucket's mutex */
	ListNode<Ah> node_{this}; /**< of the shared ones, or of the late */
};

inline Ah *from_c(irdma_ah *a)
{
	return reinterpret_cast<Ah *>(a);
}
inline irdma_ah *to_c(Ah *a)
{
	return reinterpret_cast<irdma_ah *>(a);
}

} // namespace irdma

#endif
