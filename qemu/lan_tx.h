// SPDX-License-Identifier: GPL-2.0
/*
 * LAN transmit queues.
 *
 *	ring of 16-byte descriptors:   head (ours) -> [ctx][data][data EOP|RS] ... <- tail (doorbell)
 *
 * A packet is an optional context descriptor (segmentation) and data descriptors up to end of packet.
 * Descriptors that ask for it (RS) are marked done, and the queue's cause is raised. Queues are enabled and
 * disabled by the scheduler's AdminQ commands. A doorbell sends up to a budget within the register write;
 * the rest, and what the wire has no room for, is sent later.
 */
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "capabilities.h"
#include "deferred.h"
#include "memory.h"
#include "offload.h"
#include "reset_kind.h"

namespace e810 {

class Device;

class LanTx {
public:
	explicit LanTx(Device &dev);

	/** Enables @p queue with the 22-byte context of the add command. False: context out of range. */
	bool enable(uint16_t queue, Bytes context);
	void disable(uint16_t queue);

	/** The wire takes frames again. */
	void wire_ready() { run_all(); }

	void reset(ResetKind kind);

private:
	struct Queue {
		bool enabled = false;
		uint64_t base = 0;
		uint32_t length = 0;
		uint32_t head = 0;
		uint32_t tail = 0;
		uint16_t vsi = 0;
	};

	/* A packet being put together from descriptors. */
	struct Packet {
		std::vector<uint8_t> data;
		TxOffload offload;
		uint32_t next = 0; /* index after its last descriptor */
		bool complete = false;
		bool first_data = true;
		bool dummy = false;  /* carries a filter, is not sent */
		bool uplink = false; /* past the switch */
	};

	void doorbell(uint32_t queue, uint32_t value);
	void run_all();
	bool run(uint16_t number);
	bool gather(const Queue &q, Packet &packet) const;
	bool add_data(const Queue &q, uint64_t address, uint64_t word, Packet &packet) const;
	void send(const Queue &q, Packet &packet);
	bool complete(Queue &q, uint32_t next);
	void fail(uint16_t number, const char *why);

	Device &dev_;
	std::array<Queue, lan_queues> queues_;
	Deferred rest_;
};

} // namespace e810
