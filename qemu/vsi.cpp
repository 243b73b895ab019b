// SPDX-License-Identifier: GPL-2.0
/* VSI commands and properties; see vsi.h. */
#include "vsi.h"

#include <algorithm>

#include "capabilities.h"
#include "device.h"

namespace e810 {

namespace {

/* Numbers below are those that firmware keeps for itself. */
constexpr uint16_t first_vsi = 8;
constexpr uint16_t number_mask = 0x3ff;
constexpr uint16_t number_valid = 1 << 15;

/* Sections of the properties: bit in the first 16-bit word, place and length in bytes. */
struct Section {
	uint8_t bit;
	uint8_t at;
	uint8_t size;
};

constexpr Section sections[] = {
	{0, 2, 4},    /* switch */
	{1, 6, 2},    /* security */
	{2, 8, 8},    /* inner VLAN */
	{3, 24, 4},   /* outer tag */
	{4, 16, 4},   /* ingress priorities */
	{5, 20, 4},   /* egress priorities */
	{6, 28, 50},  /* queue mapping */
	{7, 78, 6},   /* queueing options */
	{8, 84, 4},   /* outer priorities */
	{11, 90, 10}, /* Flow Director */
	{12, 100, 4}, /* PASID */
};

/* Fields */
constexpr size_t switch_flags2 = 4;
constexpr uint8_t vlan_prune_enable = 1 << 0;
constexpr size_t inner_vlan_flags = 12;
constexpr uint8_t vlan_emode_mask = 3 << 3;
constexpr uint8_t vlan_emode_nothing = 3 << 3;
constexpr size_t mapping_flags = 28;
constexpr uint16_t mapping_scattered = 1 << 0;
constexpr size_t queue_mapping = 30; /* 16 words: first queue and count, or a queue each */
constexpr size_t tc_mapping = 62;
constexpr uint16_t queue_mask = 0x7ff;
constexpr size_t queue_option_flags = 80;
constexpr uint8_t pe_filter_enable = 1 << 0;

} // namespace

void Vsi::update(Bytes props)
{
	uint16_t valid = props.u16(0);

	for (const Section &s : sections) {
		if (valid & 1 << s.bit && props.size() >= size_t{s.at} + s.size)
			std::copy_n(props.data() + s.at, s.size, props_.begin() + s.at);
	}
}

uint32_t Vsi::receive_queue() const
{
	uint32_t offset = u16(tc_mapping) & queue_mask;

	if (u16(mapping_flags) & mapping_scattered)
		return u16(queue_mapping + 2 * (offset & 15)) & queue_mask;
	return (u16(queue_mapping) & queue_mask) + offset;
}

bool Vsi::prunes_vlans() const
{
	return u8(switch_flags2) & vlan_prune_enable;
}

bool Vsi::strips_vlan() const
{
	return (u8(inner_vlan_flags) & vlan_emode_mask) != vlan_emode_nothing;
}

bool Vsi::pe_enabled() const
{
	return u8(queue_option_flags) & pe_filter_enable;
}

void Vsis::reset(ResetKind)
{
	vsis_.clear();
}

const Vsi *Vsis::find(uint16_t number) const
{
	auto it = vsis_.find(number);

	return it == vsis_.end() ? nullptr : &it->second;
}

bool Vsis::pe_enabled() const
{
	return std::ranges::any_of(vsis_,
				   [](const auto &entry) { return entry.second.pe_enabled(); });
}

void Vsis::answer(AqCommand &cmd, uint16_t number)
{
	cmd.params.put16(0, number);
	cmd.params.put16(2, 0);
	cmd.params.put16(4, static_cast<uint16_t>(vsis_.size()));
	cmd.params.put16(6, static_cast<uint16_t>(max_vsis - vsis_.size()));
}

AqError Vsis::add(AqCommand &cmd)
{
	uint16_t wanted = cmd.params.u16(0);
	uint16_t number = wanted & number_mask;

	if (cmd.buffer.size() < Vsi::props_size)
		return AqError::einval;
	if (vsis_.size() >= max_vsis)
		return AqError::enospc;
	if (!(wanted & number_valid)) {
		for (number = first_vsi; find(number); number++)
			;
	} else if (find(number)) {
		return AqError::eexist;
	}
	vsis_[number].update(cmd.buffer);
	answer(cmd, number);
	return AqError::ok;
}

AqError Vsis::update(AqCommand &cmd)
{
	uint16_t number = cmd.params.u16(0) & number_mask;
	auto it = vsis_.find(number);

	if (it == vsis_.end())
		return AqError::enoent;
	if (cmd.buffer.size() < Vsi::props_size)
		return AqError::einval;
	it->second.update(cmd.buffer);
	dev_.trace.event("vsi").u64("vsi", number).flag("pe", it->second.pe_enabled());
	answer(cmd, number);
	return AqError::ok;
}

AqError Vsis::free(AqCommand &cmd)
{
	uint16_t number = cmd.params.u16(0) & number_mask;

	if (!vsis_.erase(number))
		return AqError::enoent;
	answer(cmd, number);
	return AqError::ok;
}

} // namespace e810
