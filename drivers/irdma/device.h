// SPDX-License-Identifier: GPL-2.0
/*
 * One RDMA function: its parts, in the order in which they come up, and the
 * numbers of its objects.
 *
 * Bring-up is a table of steps (device.cpp), each with its undo; tear-down
 * walks it backwards.
 */
#ifndef IRDMA_DEVICE_H
#define IRDMA_DEVICE_H

#include "base/atomic.h"
#include "base/dma_pool.h"
#include "base/id_table.h"
#include "cqp/commands.h"
#include "cqp/cqp.h"
#include "driver.h"
#include "eq/event_queues.h"
#include "hmc/hmc.h"
#include "hmc/pble.h"
#include "qos/qos.h"
#include "verbs/ah.h"
#include "verbs/arp.h"
#include "verbs/qp_table.h"
#include "verbs/mcast.h"
#include "verbs/stats.h"
#include "verbs/user_memory.h"

namespace irdma {

/** DMA memory of objects that died while the device could not be asked to let go of them. */
class Graveyard {
public:
	~Graveyard();
	/** Keep @memory until the device is stopped. May sleep. */
	void bury(DmaBuffer memory);

private:
	struct Grave;
	SpinLock lock_{SHIM_LOCK_IDS};
	Grave *graves_ = nullptr;
};

class Device {
public:
	explicit Device(shim_device *shim);

	/** Bring it up. May sleep. */
	Status start();
	/** Take down what is up. May sleep. */
	void stop();

	/** Register access: byte offsets in BAR 0. */
	u32 read(u32 offset) const { return shim_reg_read(shim, offset); }
	void write(u32 offset, u32 value) const { shim_reg_write(shim, offset, value); }

	/** Whether no command will be answered any more. */
	bool dead() const { return dead_.load(); }

	/** Whether somebody whose object the device does not give up can be told to try again. */
	bool can_try_again() const { return !dead() && !removing_.load(); }

	/**
	 * The device has stopped answering or is beyond repair: say why, end all commands, ask ice
	 * for a reset. Only the first call does anything. Any context.
	 */
	void declare_dead(const char *why);

	/** The same, if the device was reset by others or is off the bus. Any context. */
	void on_lost();

	/** Consumers are there: from now on a dead device is reset, and they are told. */
	void on_registered();

	/**
	 * Being removed; a device that is reset or gone is dead, and not reset once more. May sleep.
	 *
	 * Return: whether it is there: neither being reset nor off the bus.
	 */
	bool on_removal();

	/** The engine cannot be stopped: it may use our memory for ever. */
	void keep_memory() { keep_memory_ = true; }
	bool keeps_memory() const { return keep_memory_; }

	/** Numbers of objects in use, for debugfs. Any context. */
	void show_numbers(shim_text *text) const;

	/** What the registers say after ice has reported these causes (PFINT_OICR). */
	void on_critical_error(u32 oicr);

	shim_device *const shim;
	shim_port_info port = {};
	u16 fw_major = 0, fw_minor = 0;

	/* Parts, in the order of bring-up; destroyed in the reverse order. */
	Graveyard graveyard;
	DmaPool dma_pool;
	BuriedMemory buried_memory;
	Cqp cqp;
	Hmc hmc;
	EventQueues events;
	PblePool pbles;
	ArpTable arp;
	Qos qos;
	QpTable qps; /**< for polling; created with qp_ids, for the same numbers */
	McastGroups mcast;
	SharedAhs shared_ahs;
	LateAhs late_ahs;
	Statistics statistics;

	/* Numbers of objects. */
	IdTable pd_ids, cq_ids, qp_ids, stag_ids, ah_ids, mcast_ids;
	u32 stag_index_bits = 0; /**< bits of an STag's index that number MRs */

private:
	struct Step;
	static const Step steps[];

	Status wait_for_engine();
	Status check_doorbells();
	Status create_id_tables();
	Status read_features();
	bool die();
	bool on_bus() const;
	void report_death();
	void trace(const char *what, const char *why, u32 attempt, int error) const;
	void plan_reset();
	static void reset(void *device);

	Atomic<bool> dead_{false};
	Atomic<bool> removing_{false};
	SpinLock life_lock_{SHIM_LOCK_DEVICE}; /**< events are dispatched under it */
	bool registered_ = false;	       /**< there are consumers; under the lock */
	bool reported_ = false;		       /**< they know that it is dead; under the lock */
	bool keep_memory_ = false;
	Work reset_work_;
	unsigned up_ = 0; /**< steps that are up */
};

/* The C handles of driver.h are pointers to these. */
inline Device *from_c(irdma_device *d)
{
	return reinterpret_cast<Device *>(d);
}
inline irdma_device *to_c(Device *d)
{
	return reinterpret_cast<irdma_device *>(d);
}

} // namespace irdma

#endif
