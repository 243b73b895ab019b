// SPDX-License-Identifier: GPL-2.0
/*
 * Address handle: where a UD send goes. The device keeps it as an object of
 * its own, made by a control command.
 *
 * The connection manager makes and destroys address handles with interrupts
 * off. CREATE_AH has to be over before a send may use the handle, and the
 * interrupt that tells of it may be the one that is off, so create() then
 * takes the completions of the control QP itself, microseconds apart, for a
 * tenth of a second at most. What it gives up is freed when the device
 * answers, by the callback: the handle has two shares, the caller's and the
 * command's.
 */
#ifndef IRDMA_VERBS_AH_H
#define IRDMA_VERBS_AH_H

#include "../base/atomic.h"
#include "../base/id_table.h"
#include "../cqp/cqp.h"
#include "../cqp/commands.h"
#include "arp.h"
#include "driver.h"
#include "pd.h"

namespace irdma {

class Device;

class Ah {
public:
	/** Sleeps only if @may_sleep. */
	static Result<Ah *> create(Device &device, const Pd &pd, const irdma_path &path,
				   bool may_sleep);

	/** Not to be made but by create(). */
	Ah(Device &device, Id id, ArpEntry arp, const irdma_path &path)
		: device_(device), id_(move(id)), arp_(move(arp)), path_(path)
	{
	}
	/** Destroys it in the device, and @this with it. Sleeps only if @may_sleep. */
	void release(bool may_sleep);

	/** As sends name it. */
	u32 number() const { return id_.value(); }
	const irdma_path &path() const { return path_; }

private:
	void fill_words(const Pd &pd);
	Status create_waiting();
	Status create_polling();
	static void on_created(void *arg, const CqpOutcome &outcome);
	static void on_destroyed(void *arg, const CqpOutcome &outcome);
	void put();

	Device &device_;
	Id id_;
	ArpEntry arp_;
	const irdma_path path_;
	cmd::AhWords words_ = {};
	Atomic<u32> shares_{1};
	enum : u32 { running, done, failed };
	Atomic<u32> outcome_{running};
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
