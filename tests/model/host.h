// SPDX-License-Identifier: GPL-2.0
/*
 * A stand-in for QEMU below the device model: guest memory, interrupts, timers and deferred work,
 * as glue.h asks for them. Implements the functions of glue.h; the test programs look at its state.
 */
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "glue.h"

struct e810_host {
	static constexpr size_t memory_bytes = 64 << 20;

	std::vector<uint8_t> memory = std::vector<uint8_t>(memory_bytes);
	std::vector<unsigned int> messages = std::vector<unsigned int>(E810_MAX_VECTORS);
	std::string fail;	    /* property "fail" */
	std::string trace;	    /* property "trace" */
	std::string fault;	    /* property "fault" */
	uint64_t hole = UINT64_MAX; /* this page of memory cannot be reached */
	/* Called amid each read of several words from that address, and after one of a single word. */
	std::function<void(uint64_t)> during_read;
	uint8_t mac[E810_MAC_LEN] = {0x52, 0x54, 0, 0xe8, 0x10, 1};
	e810_device *device = nullptr;

	/* The network backend */
	bool link_up = true;
	bool backend_full = false;		/* it takes one more frame, then calls back */
	unsigned int receive_ready = 0;		/* how often the device asked for held frames */
	std::vector<std::vector<uint8_t>> sent; /* frames, if keep_sent */
	bool keep_sent = false;

	/** Runs timers that have expired and deferred work, until there is none; at most a few
	 * rounds. */
	void settle();
};

/** Virtual time in ns; a test moves it. */
extern int64_t host_time;
