// SPDX-License-Identifier: GPL-2.0
/*
 * The AdminQ: how the driver talks to the device's firmware.
 *
 * Commands are a table (adminq.cpp) of opcode, name and handler; handlers belong to the block whose
 * state they touch. This block reads a command's buffer, calls the handler, and writes buffer and
 * result back. Commands that concern no other block (version, locks, shutdown) are its own.
 * The mailbox and sideband queues are here too: nobody is at their other end.
 */
#pragma once

#include <cstdint>

#include "control_queue.h"
#include "memory.h"
#include "reset_kind.h"

namespace e810 {

class Device;

/** Results of AdminQ commands, as in a completion's retval. */
enum class AqError : uint16_t {
	ok = 0,
	eperm = 1,
	enoent = 2,
	enomem = 9,
	ebusy = 12,
	eexist = 13,
	einval = 14,
	enospc = 16,
	enosys = 17,
};

/** A command while it is executed. */
struct AqCommand {
	uint16_t opcode;
	/** The 16 bytes of parameters, which are also those of the answer. */
	Bytes params;
	/** The command's data, or room for the answer (zeros then). Size: as the driver says, bounded. */
	Bytes buffer;
	/** How many bytes of the buffer to give back; all, unless the handler says less. */
	size_t answer;
};

class AdminQueue {
public:
	explicit AdminQueue(Device &dev);

	/** An event for the driver; see ControlQueue::post(). */
	void post(uint16_t opcode, std::span<const uint8_t, 16> params,
		  std::span<const uint8_t> data)
	{
		admin_.post(opcode, params, data);
	}

	void reset(ResetKind kind);

	/** Commands without state, or whose effect is not modelled: succeed and give back what came. */
	AqError accept(AqCommand &cmd);
	/** Commands that the modelled firmware does not have. */
	AqError refuse(AqCommand &cmd);
	AqError no_such_node(AqCommand &cmd);
	AqError get_version(AqCommand &cmd);
	AqError shutdown(AqCommand &cmd);
	AqError request_resource(AqCommand &cmd);
	AqError release_resource(AqCommand &cmd);
	AqError list_capabilities(AqCommand &cmd);

private:
	static void run_admin(void *block, ControlDescriptor &desc);
	static void run_nobody(void *block, ControlDescriptor &desc);
	void run(ControlDescriptor &desc);

	Device &dev_;
	ControlQueue admin_;
	ControlQueue mailbox_;
	ControlQueue sideband_;
	/* Locks by resource id: NVM 1, change 3, global configuration 4. */
	static constexpr unsigned int resources = 8;
	bool held_[resources] = {};
};

} // namespace e810
