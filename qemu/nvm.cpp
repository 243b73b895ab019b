// SPDX-License-Identifier: GPL-2.0
/* Flash image and its reading; see nvm.h. */
#include "nvm.h"

#include <numeric>
#include <string_view>

#include "device.h"

namespace e810 {

namespace {

constexpr size_t flash_size = 1 << 20;
constexpr size_t shadow_ram_size = 64 << 10;
constexpr size_t unit = 4096; /* of sizes and places in bank pointers */

/* Shadow RAM, word numbers */
enum : size_t {
	word_control = 0x00,
	word_version = 0x18,
	word_eetrack = 0x2d,
	word_nvm_bank = 0x42,
	word_orom_bank = 0x44,
	word_netlist_bank = 0x46,
};

constexpr uint16_t control_valid = 0x0040;
constexpr uint16_t nvm_version = 0x4012;
constexpr uint32_t eetrack = 0x80015dab;
constexpr uint16_t bank_in_units = 0x8000;

/* Banks: place and size in units of 4 KiB. Each has a second one, not active, behind it. */
constexpr uint16_t nvm_at = 0x10, nvm_size = 0x10;
constexpr uint16_t orom_at = 0x40, orom_size = 1;
constexpr uint16_t netlist_at = 0x60, netlist_size = 1;

/* The copy of shadow RAM in the NVM bank follows its signature header, in words. */
constexpr size_t css_header_words = 352;

constexpr uint32_t orom_version = 0x01'0a0100; /* 1.2561.0 as the driver prints it */
constexpr std::string_view orom_name = "E810 model";

/* Netlist */
constexpr uint16_t netlist_type = 0x011b;
constexpr uint16_t netlist_words = 0x30;

} // namespace

Nvm::Nvm(Device &dev) : flash_(flash_size, 0xff)
{
	/* [7:5]: log2 of shadow RAM in KiB. FLA bit 6: flash is not blank. */
	dev.registers.constant(regs::GLNVM_GENS, 6 << 5);
	dev.registers.constant(regs::GLNVM_FLA, 1 << 6);
	build();
}

void Nvm::build()
{
	Bytes flash(flash_);
	Bytes shadow = flash.part(0, shadow_ram_size);
	Bytes nvm = flash.part(nvm_at * unit, nvm_size * unit).part(css_header_words * 2);
	Bytes orom = flash.part(orom_at * unit, orom_size * unit);
	Bytes netlist = flash.part(netlist_at * unit, netlist_size * unit);

	shadow.fill(0);
	for (Bytes words : {shadow, nvm}) {
		words.put16(2 * word_version, nvm_version);
		words.put32(2 * word_eetrack, eetrack);
	}
	shadow.put16(2 * word_control, control_valid);
	shadow.put32(2 * word_nvm_bank, uint32_t{nvm_size} << 16 | bank_in_units | nvm_at);
	shadow.put32(2 * word_orom_bank, uint32_t{orom_size} << 16 | bank_in_units | orom_at);
	shadow.put32(2 * word_netlist_bank,
		     uint32_t{netlist_size} << 16 | bank_in_units | netlist_at);

	/* Option ROM: one block "$CIV" whose 74 bytes add up to 0. */
	Bytes civ = orom.part(0, 74);
	civ.fill(0);
	civ.copy_in(0, {reinterpret_cast<const uint8_t *>("$CIV"), 4});
	civ.put32(5, orom_version);
	civ.put8(9, static_cast<uint8_t>(orom_name.size()));
	civ.copy_in(10, {reinterpret_cast<const uint8_t *>(orom_name.data()), orom_name.size()});
	civ.put8(4, static_cast<uint8_t>(-std::accumulate(civ.data(), civ.data() + civ.size(), 0)));

	/* Netlist without nodes: words 6 on are its identity. */
	netlist.part(0, 2 * netlist_words).fill(0);
	netlist.put16(0, netlist_type);
	netlist.put16(4, netlist_words);
}

AqError Nvm::read(AqCommand &cmd)
{
	constexpr uint8_t flag_flash_only = 1 << 7;
	size_t offset = cmd.params.u16(0) | size_t{cmd.params.u8(2)} << 16;
	size_t len = cmd.params.u16(6);
	size_t limit = cmd.params.u8(3) & flag_flash_only ? flash_size : shadow_ram_size;

	if (cmd.params.u16(4) != 0) /* modules: only the flat flash */
		return AqError::einval;
	if (offset > limit || len > limit - offset || len > cmd.buffer.size())
		return AqError::einval;
	cmd.buffer.copy_in(0, {flash_.data() + offset, len});
	cmd.answer = len;
	return AqError::ok;
}

} // namespace e810
