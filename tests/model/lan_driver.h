// SPDX-License-Identifier: GPL-2.0
/*
 * The least of a driver for the model's LAN side: AdminQ commands one by one, a VSI, a transmit and a
 * receive ring in guest memory laid out by hand. Used by the test programs.
 */
#pragma once

#include <cstdint>
#include <cstring>
#include <span>
#include <vector>

#include "host.h"

/* Where things lie in guest memory. */
namespace lan_place {
constexpr uint64_t admin_send = 0x1000;
constexpr uint64_t admin_receive = 0x2000;
constexpr uint64_t command = 0x4000;
constexpr uint64_t event = 0x8000;
constexpr uint64_t tx_ring = 0x10000;
constexpr uint64_t rx_ring = 0x20000;
constexpr uint64_t tx_data = 0x100000;
constexpr uint64_t rx_data = 0x200000; /* buffer n at + rx_buffer * n */
} // namespace lan_place

constexpr uint32_t tx_entries = 64, rx_entries = 16, rx_buffer = 1024;

using Octets = std::vector<uint8_t>;

/** An AdminQ command: goes in with parameters and data, comes out with those of the answer. */
struct Admin {
	uint8_t params[16] = {};
	Octets data;
	uint16_t retval = 0xffff;
	uint16_t flags = 0;
	uint16_t datalen = 0;
};

class LanDriver {
public:
	explicit LanDriver(const char *fail = "");
	~LanDriver();

	uint32_t read(uint32_t reg) { return e810_device_read(host.device, reg); }
	void write(uint32_t reg, uint32_t value) { e810_device_write(host.device, reg, value); }

	template <class T> T get(uint64_t addr) const
	{
		T value;
		std::memcpy(&value, host.memory.data() + addr, sizeof(value));
		return value;
	}
	template <class T> void put(uint64_t addr, const T &value)
	{
		std::memcpy(host.memory.data() + addr, &value, sizeof(value));
	}
	void put_bytes(uint64_t addr, std::span<const uint8_t> bytes)
	{
		std::memcpy(host.memory.data() + addr, bytes.data(), bytes.size());
	}

	/** Sets up the AdminQ's rings. */
	void open_admin();
	/** Runs a command; has_data: with a buffer, of the size of @p admin.data. */
	void run(uint16_t opcode, Admin &admin);
	/** The same, giving only the result. */
	uint16_t result(uint16_t opcode, Admin admin = {});

	/** A VSI whose frames go to queue 0, which accepts the MAC address @p mac. Returns its number. */
	uint16_t add_vsi(uint8_t flags2 = 0);
	uint16_t add_rule(uint16_t type, uint16_t recipe, uint32_t action,
			  std::span<const uint8_t> header);

	/** Adds transmit queue 0 below scheduler node @p parent. Returns the result. */
	uint16_t add_tx_queue(uint32_t parent, uint16_t queue = 0, uint32_t entries = tx_entries,
			      uint16_t vsi = 8);
	/** Puts a descriptor into the transmit ring. */
	void tx(uint64_t address, uint64_t word);
	/** A packet of one data descriptor; @p word is or'ed into its second word. */
	void send(const Octets &packet, uint64_t word);
	void ring_tx();

	/** Enables receive queue 0 and gives it all buffers but one. */
	void open_rx();

	e810_host host;
	uint32_t tx_tail = 0;
};
