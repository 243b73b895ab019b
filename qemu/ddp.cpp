// SPDX-License-Identifier: GPL-2.0
/* Package download and information; see ddp.h. */
#include "ddp.h"

#include <algorithm>

#include "device.h"

namespace e810 {

namespace {

constexpr size_t package_buffer = 4096;
/* A buffer: u16 section count, u16 end of data, then section entries: u32 type, u16 offset, u16 size */
constexpr size_t section_entries = 4;
constexpr size_t section_entry_size = 8;
constexpr uint16_t max_sections = (package_buffer - section_entries) / section_entry_size;
constexpr uint32_t section_metadata = 1;

/* An entry of the package list: metadata as above, then four flag bytes. */
constexpr size_t info_size = 40;
constexpr size_t info_in_nvm = 36, info_active = 37;
/* Version of the package format that the NVM's own package stands for. */
constexpr uint8_t nvm_package_version[4] = {1, 3, 0, 0};

} // namespace

void Ddp::reset(ResetKind kind)
{
	/* The function's own resets leave the device's configuration alone. */
	if (kind == ResetKind::pf || kind == ResetKind::function_level)
		return;
	active_ = false;
	metadata_.fill(0);
}

void Ddp::parse(Bytes buffer)
{
	uint16_t sections = std::min(buffer.u16(0), max_sections);

	for (uint16_t i = 0; i < sections; i++) {
		Bytes entry =
			buffer.part(section_entries + i * section_entry_size, section_entry_size);

		if (entry.u32(0) != section_metadata)
			continue;
		Bytes section = buffer.part(entry.u16(4), entry.u16(6));
		if (section.size() >= metadata_.size())
			std::copy_n(section.data(), metadata_.size(), metadata_.begin());
	}
}

AqError Ddp::download(AqCommand &cmd)
{
	constexpr uint8_t flag_last = 1 << 0;
	bool last = cmd.params.u8(0) & flag_last;

	if (cmd.buffer.size() != package_buffer)
		return AqError::einval;
	if (active_)
		return AqError::eexist;
	parse(cmd.buffer);
	cmd.params.put64(0, 0); /* no error offset, no error */
	if (!last)
		return AqError::ok;
	active_ = true;
	dev_.trace.event("ddp").bytes("version", std::span(metadata_).first(4));
	return AqError::ok;
}

AqError Ddp::update(AqCommand &cmd)
{
	if (!active_)
		return AqError::eperm;
	cmd.params.put64(0, 0);
	return AqError::ok;
}

AqError Ddp::get_info(AqCommand &cmd)
{
	Bytes nvm = cmd.buffer.part(4, info_size);
	Bytes loaded = cmd.buffer.part(4 + info_size, info_size);
	uint32_t count = active_ ? 2 : 1;

	if (cmd.buffer.size() < 4 + 2 * info_size)
		return AqError::enomem;
	cmd.buffer.fill(0);
	cmd.buffer.put32(0, count);
	nvm.copy_in(0, nvm_package_version);
	nvm.put8(info_in_nvm, 1);
	if (active_) {
		loaded.copy_in(0, metadata_);
		loaded.put8(info_active, 1);
	}
	return AqError::ok;
}

} // namespace e810
