// SPDX-License-Identifier: GPL-2.0
/*
 * A control queue: a pair of descriptor rings between the driver and the device's firmware.
 *
 *	driver --ATQ--> commands --> Handler, which completes them in place
 *	driver <--ARQ-- events   <-- post()
 *
 * There are three of one make: AdminQ (firmware), mailbox (virtual functions) and sideband (other
 * chips on the card). Registers of a ring, from its base: BAL +0, BAH +0x80 * k, LEN, head and tail,
 * in steps that differ (see Layout). The driver writes LEN with the enable bit before the addresses,
 * so nothing is read before the tail moves. Commands are completed within the write of the tail.
 */
#pragma once

#include <cstdint>
#include <span>

#include "interrupts.h"
#include "memory.h"
#include "reset_kind.h"

namespace e810 {

class Device;

/** A control queue descriptor as it is in memory. */
struct ControlDescriptor {
	uint16_t flags;
	uint16_t opcode;
	uint16_t datalen;
	uint16_t retval;
	uint32_t cookie[2];
	uint8_t params[16]; /* indirect: [8..11] address high, [12..15] address low */

	static constexpr uint16_t flag_done = 1 << 0;
	static constexpr uint16_t flag_complete = 1 << 1;
	static constexpr uint16_t flag_error = 1 << 2;
	static constexpr uint16_t flag_read = 1 << 10; /* the buffer holds data for the device */
	static constexpr uint16_t flag_buffer = 1 << 12;
	static constexpr uint16_t flag_no_interrupt = 1 << 13; /* the driver polls */

	uint64_t address() const
	{
		uint32_t high, low;
		std::memcpy(&high, params + 8, 4);
		std::memcpy(&low, params + 12, 4);
		return uint64_t{high} << 32 | low;
	}
};
static_assert(sizeof(ControlDescriptor) == 32);

class ControlQueue {
public:
	/** Register offsets of one queue pair; the five of a ring are BAL, BAH, LEN, head, tail. */
	struct Layout {
		uint32_t send[5];
		uint32_t receive[5];
	};

	/** Executes one command and sets flags, retval, datalen and params for its completion. */
	using Handler = void (*)(void *block, ControlDescriptor &desc);

	ControlQueue(Device &dev, const char *name, const Layout &layout, Cause cause,
		     Handler handler, void *block);

	/**
	 * Gives the driver an event with @p data, and interrupts. If the driver has no room, the event
	 * is lost and the queue's overflow bit set, as in hardware.
	 */
	void post(uint16_t opcode, std::span<const uint8_t, 16> params,
		  std::span<const uint8_t> data);

private:
	enum { bal, bah, len, head, tail };

	uint32_t entries(const uint32_t (&ring)[5]) const;
	uint64_t slot(const uint32_t (&ring)[5], uint32_t index) const;
	void write_send_tail(uint32_t index, uint32_t value);

	Device &dev_;
	const char *name_;
	Layout layout_;
	Cause cause_;
	Handler handler_;
	void *block_;
};

} // namespace e810
