// SPDX-License-Identifier: GPL-2.0
/*
 * LAN receive queues.
 *
 * The driver writes a queue's context into registers, enables it with QRX_CTRL, and puts empty buffers
 * between head (ours) and tail (its). A frame fills as many buffers as it needs; each descriptor is
 * replaced by a 32-byte write-back: length, packet type, checksum results, VLAN tag. The switch asks
 * has_room() first and has frames wait when a queue is short of buffers.
 */
#pragma once

#include <array>
#include <cstdint>

#include "capabilities.h"
#include "packet.h"
#include "reset_kind.h"

namespace e810 {

class Device;
class Vsi;

class LanRx {
public:
	explicit LanRx(Device &dev);

	/**
	 * Can @p queue take a frame of @p size bytes now? Also true where it would be dropped anyway
	 * (queue not enabled, frame too long), since waiting would not help.
	 */
	bool has_room(uint32_t queue, size_t size);

	/** Gives the VSI's queue a frame, or drops it if the queue cannot take it. */
	void deliver(const Vsi &vsi, Frame frame, const Headers &h);

	void reset(ResetKind kind);

private:
	struct Queue {
		bool enabled = false;
		uint64_t base = 0;
		uint32_t length = 0;
		uint32_t head = 0;
		uint32_t tail = 0;
		size_t buffer = 0; /* bytes of each */
		size_t most = 0;   /* bytes of a frame */

		uint32_t free() const { return (tail + length - head) % length; }
	};

	struct Result {
		uint16_t packet_type;
		uint16_t status;
		uint16_t vlan_tci;
	};

	void write_control(uint32_t queue, uint32_t value);
	void write_tail(uint32_t queue, uint32_t value);
	bool load_context(uint32_t queue, Queue &q) const;
	void fill(uint32_t number, Frame frame, const Result &result);
	bool write_back(const Queue &q, uint32_t index, size_t length, const Result &result,
			bool last);

	Device &dev_;
	std::array<Queue, lan_queues> queues_;
	/* A frame waits for buffers. */
	bool waiting_ = false;
};

} // namespace e810
