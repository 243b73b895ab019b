// SPDX-License-Identifier: GPL-2.0
/* Port, PHY and link commands; see port.h. */
#include "port.h"

#include "capabilities.h"
#include "device.h"

namespace e810 {

namespace {

constexpr uint16_t opcode_link_status = 0x0607;

/* The one PHY type: 100GBASE-CR4, a passive copper cable. */
constexpr uint64_t phy_100gbase_cr4 = 1ull << 51;
constexpr uint16_t speed_100g = 1 << 10;
constexpr uint8_t fec_rs_528 = 1 << 6;

/* PHY capabilities and configuration, byte 16 */
constexpr uint8_t phy_link_enabled = 1 << 3;
constexpr uint8_t phy_autoneg = 1 << 4;
constexpr uint8_t phy_an_clause_73 = 1 << 2;
constexpr uint8_t module_type[3] = {0x80, 0x01, 0x86}; /* QSFP, passive copper */
constexpr size_t phy_config_size = 24;
constexpr size_t phy_caps_size = 560;

/* Link status, byte 2 and 3 */
constexpr uint8_t link_is_up = 0xe1; /* link, port, media and signal */
constexpr uint8_t link_media_only = 0x40;
constexpr uint8_t an_complete_qualified = 0x81;

} // namespace

bool Port::link_up() const
{
	return enabled_ && e810_link_is_up(dev_.host);
}

void Port::reset(ResetKind kind)
{
	events_ = false;
	/* The function's resets leave the port as it is, except one that models power. */
	if (kind != ResetKind::pf)
		enabled_ = true;
	reported_up_ = link_up();
}

void Port::link_changed()
{
	bool up = link_up();

	if (up == reported_up_)
		return;
	reported_up_ = up;
	dev_.trace.event("link").flag("up", up);
	if (events_)
		report();
}

void Port::report()
{
	const uint8_t params[16] = {0, 0, 1, 0}; /* events are enabled */

	dev_.adminq.post(opcode_link_status, params, link_status());
}

void Port::set_enabled(bool enabled)
{
	enabled_ = enabled;
	link_changed();
}

std::array<uint8_t, Port::link_status_size> Port::link_status() const
{
	std::array<uint8_t, link_status_size> bytes{};
	Bytes status(bytes);
	bool up = link_up();

	status.put8(2, up ? link_is_up : link_media_only);
	status.put16(6, max_mtu);
	if (up) {
		status.put8(3, an_complete_qualified);
		status.put16(10, speed_100g);
		status.put64(16, phy_100gbase_cr4);
	}
	return bytes;
}

AqError Port::read_mac(AqCommand &cmd)
{
	constexpr uint16_t flag_lan_address_valid = 1 << 4;

	if (cmd.buffer.size() < 8)
		return AqError::einval;
	cmd.buffer.put16(0, 0); /* port 0, type LAN */
	cmd.buffer.copy_in(2, {e810_mac(dev_.host), E810_MAC_LEN});
	cmd.params.put16(0, flag_lan_address_valid);
	cmd.params.put8(4, 1);
	return AqError::ok;
}

AqError Port::get_phy_caps(AqCommand &cmd)
{
	constexpr uint16_t report_mode_mask = 0xe, report_active = 1 << 2;
	bool active = (cmd.params.u16(2) & report_mode_mask) == report_active;
	bool enabled = !active || enabled_;

	if (cmd.buffer.size() < phy_caps_size)
		return AqError::einval;
	cmd.buffer.fill(0);
	cmd.buffer.put64(0, phy_100gbase_cr4);
	cmd.buffer.put8(16, phy_autoneg | (enabled ? phy_link_enabled : 0));
	cmd.buffer.put8(17, phy_an_clause_73);
	cmd.buffer.put8(34, fec_rs_528);
	cmd.buffer.copy_in(37, module_type);
	return AqError::ok;
}

AqError Port::set_phy_config(AqCommand &cmd)
{
	if (cmd.buffer.size() < phy_config_size)
		return AqError::einval;
	set_enabled(cmd.buffer.u8(16) & phy_link_enabled);
	return AqError::ok;
}

AqError Port::restart_an(AqCommand &cmd)
{
	constexpr uint8_t flag_link_enable = 1 << 2;

	set_enabled(cmd.params.u8(2) & flag_link_enable);
	return AqError::ok;
}

AqError Port::get_link_status(AqCommand &cmd)
{
	enum { events_disable = 2, events_enable = 3 };
	uint16_t request = cmd.params.u16(2) & 3;

	if (request == events_disable || request == events_enable)
		events_ = request == events_enable;
	cmd.params.put16(2, events_);
	reported_up_ = link_up();
	cmd.buffer.fill(0);
	cmd.buffer.copy_in(0, link_status());
	return AqError::ok;
}

} // namespace e810
