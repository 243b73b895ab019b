// SPDX-License-Identifier: GPL-2.0
/* The least of a LAN driver; see lan_driver.h. */
#include "lan_driver.h"

#include <cstdio>
#include <cstdlib>

#include "lan_regs.h"

using namespace e810;

namespace {

constexpr uint32_t admin_entries = 16;
constexpr uint32_t enable = 1u << 31;

void put_le(Octets &to, size_t at, uint64_t value, size_t size)
{
	std::memcpy(to.data() + at, &value, size);
}

} // namespace

LanDriver::LanDriver(const char *fail)
{
	const char *error;

	host.fail = fail;
	host.keep_sent = true;
	host.device = e810_device_new(&host, &error);
	if (!host.device) {
		std::printf("no device: %s\n", error);
		std::exit(1);
	}
	e810_device_reset(host.device, E810_BUS_RESET_POWER_ON);
	open_admin();
}

LanDriver::~LanDriver()
{
	e810_device_free(host.device);
}

void LanDriver::open_admin()
{
	const struct {
		uint32_t base;
		uint64_t ring;
	} rings[] = {{regs::PF_FW_ATQBAL, lan_place::admin_send},
		     {regs::PF_FW_ARQBAL, lan_place::admin_receive}};

	for (const auto &r : rings) {
		write(r.base + 0x300, 0);
		write(r.base + 0x400, 0);
		write(r.base + 0x200, admin_entries | enable);
		write(r.base, static_cast<uint32_t>(r.ring));
		write(r.base + 0x100, 0);
	}
	/* Events: a descriptor has its buffer's length and address. */
	for (uint32_t i = 0; i < admin_entries; i++) {
		uint64_t desc = lan_place::admin_receive + i * 32;

		put(desc + 4, uint16_t{512});
		put(desc + 24, uint32_t{0});
		put(desc + 28, static_cast<uint32_t>(lan_place::event + i * 512));
	}
	write(regs::PF_FW_ARQBAL + 0x400, admin_entries - 1);
}

void LanDriver::run(uint16_t opcode, Admin &admin)
{
	uint32_t at = read(regs::PF_FW_ATQBAL + 0x300) % admin_entries;
	uint64_t desc = lan_place::admin_send + at * 32;
	bool has_data = !admin.data.empty();

	put(desc, static_cast<uint16_t>(1 << 13 | (has_data ? 1 << 12 | 1 << 10 : 0)));
	put(desc + 2, opcode);
	put(desc + 4, static_cast<uint16_t>(admin.data.size()));
	put(desc + 16, admin.params);
	if (has_data) {
		put(desc + 24, uint32_t{0});
		put(desc + 28, static_cast<uint32_t>(lan_place::command));
		put_bytes(lan_place::command, admin.data);
	}
	write(regs::PF_FW_ATQBAL + 0x400, (at + 1) % admin_entries);
	admin.flags = get<uint16_t>(desc);
	admin.datalen = get<uint16_t>(desc + 4);
	admin.retval = get<uint16_t>(desc + 6);
	std::memcpy(admin.params, host.memory.data() + desc + 16, 16);
	std::memcpy(admin.data.data(), host.memory.data() + lan_place::command, admin.data.size());
}

uint16_t LanDriver::result(uint16_t opcode, Admin admin)
{
	run(opcode, admin);
	return admin.retval;
}

uint16_t LanDriver::add_vsi(uint8_t flags2)
{
	Admin admin;

	admin.data.resize(128);
	put_le(admin.data, 0, 1 << 0 | 1 << 2 | 1 << 6, 2); /* switch, VLAN and queues */
	put_le(admin.data, 4, flags2, 1);
	run(0x0210, admin);
	return static_cast<uint16_t>(admin.params[0] | admin.params[1] << 8);
}

uint16_t LanDriver::add_rule(uint16_t type, uint16_t recipe, uint32_t action,
			     std::span<const uint8_t> header)
{
	Admin admin;

	admin.params[0] = 1;
	admin.data.resize(32);
	put_le(admin.data, 0, type, 2);
	put_le(admin.data, 4, recipe, 2);
	put_le(admin.data, 6, 8, 2);
	put_le(admin.data, 8, action, 4);
	put_le(admin.data, 14, 16, 2);
	std::memcpy(admin.data.data() + 16, header.data(), header.size());
	return result(0x02a0, admin);
}

uint16_t LanDriver::add_tx_queue(uint32_t parent, uint16_t queue, uint32_t entries, uint16_t vsi)
{
	Admin admin;

	admin.params[0] = 1;
	admin.data.resize(8 + 48);
	put_le(admin.data, 0, parent, 4);
	put_le(admin.data, 4, 1, 1);
	put_le(admin.data, 8, queue, 2);
	put_le(admin.data, 16, lan_place::tx_ring >> 7, 8);
	put_le(admin.data, 16 + 10, vsi, 2);
	put_le(admin.data, 16 + 16, uint64_t{entries} << 7, 4);
	tx_tail = 0;
	return result(0x0c30, admin);
}

void LanDriver::tx(uint64_t address, uint64_t word)
{
	put(lan_place::tx_ring + tx_tail * 16, address);
	put(lan_place::tx_ring + tx_tail * 16 + 8, word);
	tx_tail = (tx_tail + 1) % tx_entries;
}

void LanDriver::send(const Octets &packet, uint64_t word)
{
	constexpr uint64_t eop_rs = 3 << 4;
	/* Descriptors hold at most 14 bits of length. */
	constexpr size_t most = 12288;

	put_bytes(lan_place::tx_data, packet);
	for (size_t at = 0; at < packet.size(); at += most) {
		size_t length = std::min(most, packet.size() - at);
		bool last = at + length == packet.size();

		tx(lan_place::tx_data + at, word | uint64_t{length} << 34 | (last ? eop_rs : 0));
	}
	ring_tx();
}

void LanDriver::ring_tx()
{
	write(regs::QTX_COMM_DBELL, tx_tail);
}

void LanDriver::open_rx()
{
	const uint64_t base = lan_place::rx_ring >> 7;
	const uint32_t words[8] = {
		0,
		static_cast<uint32_t>(base),
		rx_entries << 25,
		1u << 20 | rx_buffer / 128 << 6,
		0,
		9728u << 14,
	};

	for (uint32_t i = 0; i < 8; i++)
		write(regs::QRX_CONTEXT + i * regs::QRX_CONTEXT_STRIDE, words[i]);
	for (uint32_t i = 0; i < rx_entries; i++)
		put(lan_place::rx_ring + i * 32, lan_place::rx_data + i * rx_buffer);
	write(regs::QRX_TAIL, rx_entries - 1);
	write(regs::QRX_CTRL, 1);
}
