// SPDX-License-Identifier: GPL-2.0
/* Firmware log configuration; see firmware_log.h. */
#include "firmware_log.h"

namespace e810 {

namespace {

/* Parameters: u8 flags, then at 4 u16 resolution and u16 count of modules */
constexpr uint8_t output_mask = 3; /* UART, AdminQ events */
constexpr uint8_t flag_register = 1 << 0;
constexpr uint8_t flag_registered = 1 << 2;
constexpr size_t param_resolution = 4, param_count = 6;

/* Buffer: an entry of u16 module and u8 level each */
constexpr size_t entry_size = 4, entry_level = 2;

} // namespace

void FirmwareLog::reset(ResetKind)
{
	*this = FirmwareLog{};
}

AqError FirmwareLog::configure(AqCommand &cmd)
{
	uint16_t count = cmd.params.u16(param_count);

	if (count > modules || count * entry_size > cmd.buffer.size())
		return AqError::einval;
	for (uint16_t i = 0; i < count; i++) {
		uint16_t module = cmd.buffer.u16(i * entry_size);

		if (module >= modules)
			return AqError::einval;
		levels_[module] = cmd.buffer.u8(i * entry_size + entry_level);
	}
	outputs_ = cmd.params.u8(0) & output_mask;
	resolution_ = cmd.params.u16(param_resolution);
	return AqError::ok;
}

AqError FirmwareLog::register_driver(AqCommand &cmd)
{
	registered_ = cmd.params.u8(0) & flag_register;
	return AqError::ok;
}

AqError FirmwareLog::query(AqCommand &cmd)
{
	if (cmd.buffer.size() < modules * entry_size)
		return AqError::enomem;
	cmd.buffer.fill(0);
	for (uint16_t i = 0; i < modules; i++) {
		cmd.buffer.put16(i * entry_size, i);
		cmd.buffer.put8(i * entry_size + entry_level, levels_[i]);
	}
	cmd.params.put8(0, outputs_ | (registered_ ? flag_registered : 0));
	cmd.params.put16(param_resolution, resolution_);
	cmd.params.put16(param_count, modules);
	return AqError::ok;
}

} // namespace e810
