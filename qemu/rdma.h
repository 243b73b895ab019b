// SPDX-License-Identifier: GPL-2.0
/*
 * The protocol engine (RDMA): its blocks, and the engine as the rest of the device sees it.
 *
 *	Cqp ---- commands ----> Hmc, EventQueues, CompletionQueues, QueuePairs, MemoryRegions,
 *	                        AddressTables, WorkScheduler, RdmaStats
 *	Doorbells -----------> QueuePairs (work), CompletionQueues (arm, acknowledge)
 *	QueuePairs, Cqp, Roce -> CompletionQueues -> EventQueues -> Interrupts
 *	Wire <--- frames ---> Roce <---> QueuePairs, MemoryRegions, AddressTables
 *
 * Device owns the engine, resets it, and offers it received RoCEv2 frames before the LAN rings get
 * them. All numbers that a guest gives are checked by the block that owns the table.
 */
#pragma once

#include <cstdint>
#include <span>

#include "address_tables.h"
#include "completion_queues.h"
#include "cqp.h"
#include "doorbells.h"
#include "event_queues.h"
#include "hmc.h"
#include "injections.h"
#include "memory_regions.h"
#include "queue_pairs.h"
#include "rdma_stats.h"
#include "refusals.h"
#include "reset_kind.h"
#include "roce.h"
#include "work_scheduler.h"

namespace e810 {

class Device;

class Rdma {
public:
	explicit Rdma(Device &device);

	/** Every kind of reset leaves the engine without a CQP and without objects. */
	void reset(ResetKind kind);

	/**
	 * A received IPv4 or IPv6 frame to UDP port 4791, Ethernet header first, without FCS.
	 * True: the engine has taken it. False: it goes to the LAN rings.
	 */
	bool receive(std::span<const uint8_t> frame);

	/** The wire takes frames again after Wire::ready() was false. */
	void wire_ready();

	/* For the blocks. */

	/** Forgets all objects, as when the CQP goes. */
	void reset_objects();

	/** DMA of the engine itself failed: what an OICR cause tells the driver. */
	void memory_error(const char *what);

	/** Traces a write to one of the engine's registers. */
	void trace_register(const char *name, uint32_t value);

	/** Traces how many objects of each kind there are. */
	void trace_objects(const char *event);

	/* Commands that concern no block. */
	CqpResult query_features(const hw::CqpWqe &wqe);
	CqpResult set_up_map(const hw::CqpWqe &wqe);
	CqpResult nop(const hw::CqpWqe &wqe);

	Device &dev;
	Hmc hmc;
	EventQueues events;
	CompletionQueues cqs;
	QueuePairs qps;
	MemoryRegions regions;
	AddressTables addresses;
	WorkScheduler scheduler;
	RdmaStats stats;
	Doorbells doorbells;
	Roce roce;
	Refusals refusals;
	Cqp cqp;
	Injections injections;

private:
	uint32_t read_doorbell_size(uint32_t);
	uint32_t read_cpu_status(uint32_t);
	void write_page_invalidation(uint32_t, uint32_t value);
};

} // namespace e810
