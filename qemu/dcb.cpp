// SPDX-License-Identifier: GPL-2.0
/* Traffic classes and priorities; see dcb.h. */
#include "dcb.h"

#include "device.h"

namespace e810 {

namespace {

/* PFC modes */
enum : uint8_t { pfc_none = 0, pfc_by_vlan = 1, pfc_by_dscp = 2 };

/* A TLV: type [15:9] and length [8:0] of what follows, big endian; type 127 goes on with OUI and subtype. */
constexpr size_t tlv_header = 2, tlv_oui = 4;
constexpr uint16_t tlv_organisation = 127;

/* OUI and subtype */
constexpr uint32_t ieee_ets = 0x0080c209;
constexpr uint32_t dscp_bandwidth = 0xffffff43;

/*
 * ETS configuration: number of classes [2:0] (0 means 8); priorities' classes, 4 bits each, the first
 * in the upper half; share of each class. That of DSCP mode has the same places, but no priorities.
 */
constexpr size_t ets_classes = 0, ets_priorities = 1, ets_shares = 5, ets_size = 21;

uint16_t be16(const Bytes &bytes, size_t at)
{
	return static_cast<uint16_t>(bytes.u8(at) << 8 | bytes.u8(at + 1));
}

} // namespace

Dcb::Dcb(Device &dev) : dev_(dev)
{
	dev.registers.claim<&Dcb::read_up2tc, nullptr>(this, regs::PRTDCB_TUP2TC);
}

void Dcb::reset(ResetKind)
{
	dscp_mode_ = false;
	settings_ = {};
}

uint32_t Dcb::read_up2tc(uint32_t)
{
	uint32_t value = 0;

	for (unsigned int up = 0; up < priorities; up++)
		value |= static_cast<uint32_t>(settings_.up2tc[up]) << 3 * up;
	return value;
}

AqError Dcb::set_pfc_mode(AqCommand &cmd)
{
	if (cmd.params.u8(0) > pfc_by_dscp)
		return AqError::einval;
	dscp_mode_ = cmd.params.u8(0) == pfc_by_dscp;
	return AqError::ok;
}

void Dcb::read_tlv(uint32_t type, Bytes value, Settings &settings) const
{
	unsigned int count = value.u8(ets_classes) & 7;

	if (type != (dscp_mode_ ? dscp_bandwidth : ieee_ets) || value.size() < ets_size)
		return;
	settings.class_mask = 1;
	for (unsigned int up = 0; up < priorities; up++) {
		uint8_t both = value.u8(ets_priorities + up / 2);

		/* In DSCP mode priorities are classes. */
		settings.up2tc[up] = dscp_mode_ ? (!count || up < count ? up : 0)
						: (up & 1 ? both : both >> 4) & 7;
		settings.class_mask |= static_cast<uint8_t>(1 << settings.up2tc[up]);
	}
	for (unsigned int tc = 0; tc < classes; tc++)
		settings.share[tc] = value.u8(ets_shares + tc);
}

AqError Dcb::set_local_mib(AqCommand &cmd)
{
	Bytes mib = cmd.buffer.part(0, cmd.params.u16(2));
	Settings wanted;
	size_t at = 0;

	while (at + tlv_header <= mib.size()) {
		uint16_t head = be16(mib, at);
		size_t length = head & 0x1ff;

		at += tlv_header;
		if (!head || at + length > mib.size())
			break;
		if (head >> 9 == tlv_organisation && length >= tlv_oui)
			read_tlv(static_cast<uint32_t>(be16(mib, at)) << 16 | be16(mib, at + 2),
				 mib.part(at + tlv_oui, length - tlv_oui), wanted);
		at += length;
	}
	apply(wanted);
	return AqError::ok;
}

void Dcb::apply(const Settings &settings)
{
	settings_ = settings;
	for (unsigned int tc = 1; tc < classes; tc++) {
		if (settings_.class_mask & 1 << tc)
			dev_.scheduler.add_class(tc);
	}
	dev_.trace.event("dcb")
		.flag("dscp", dscp_mode_)
		.hex("classes", settings_.class_mask)
		.hex("up2tc", read_up2tc(0));
}

AqError Dcb::query_port_ets(AqCommand &cmd)
{
	constexpr size_t answer_size = 64, valid = 0, shares = 8, nodes = 32;
	constexpr uint32_t no_node = 0xffffffff;

	if (cmd.buffer.size() < answer_size)
		return AqError::einval;
	cmd.buffer.fill(0);
	cmd.buffer.put8(valid, settings_.class_mask);
	for (unsigned int tc = 0; tc < classes; tc++) {
		bool exists = settings_.class_mask & 1 << tc;

		cmd.buffer.put8(shares + tc, exists ? settings_.share[tc] : 0);
		cmd.buffer.put32(nodes + 4 * tc, exists ? dev_.scheduler.class_node(tc) : no_node);
	}
	return AqError::ok;
}

} // namespace e810
