// SPDX-License-Identifier: GPL-2.0
/*
 * The embedded switch: which VSI a frame goes to.
 *
 * The driver adds lookup rules (AdminQ 02a0): a recipe, which says what part of a frame is compared, a
 * dummy frame header with the values, and an action. A received frame goes to the VSIs of all rules that it
 * matches; if there are none, to those of default rules; else it is dropped. VLAN rules prune instead: a
 * VSI that prunes gets only frames of VLANs listed for it. Transmit rules can only drop here: frames
 * between VSIs of this function are not looped back.
 */
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <set>
#include <vector>

#include "adminq.h"
#include "packet.h"
#include "reset_kind.h"

namespace e810 {

class Switch {
public:
	explicit Switch(Device &dev) : dev_(dev) {}

	/** A frame from the wire. False: a receive queue has no room, try again later. */
	bool receive(Frame frame);

	/** Do the rules drop a frame that @p vsi sends? */
	bool drops_sent(uint16_t vsi, Frame frame) const;

	AqError get_config(AqCommand &cmd);
	AqError add_rules(AqCommand &cmd);
	AqError update_rules(AqCommand &cmd);
	AqError remove_rules(AqCommand &cmd);

	void reset(ResetKind kind);

private:
	static constexpr size_t header_size = 16;

	struct Rule {
		bool transmit;
		uint16_t recipe;
		uint16_t source; /* VSI of a transmit rule */
		uint32_t action;
		std::array<uint8_t, header_size> header;
	};

	using Edit = AqError (Switch::*)(Bytes rule);

	AqError for_each_rule(AqCommand &cmd, Edit lookup, Edit list);
	AqError add_lookup(Bytes rule);
	AqError update_lookup(Bytes rule);
	AqError remove_lookup(Bytes rule);
	AqError edit_list(Bytes rule);
	AqError remove_list(Bytes rule);
	AqError parse_lookup(Bytes bytes, Rule &rule) const;
	bool matches(const Rule &rule, Frame frame, const Headers &h) const;
	bool names(const Rule &rule, uint16_t vsi) const;
	bool vlan_listed(uint16_t vsi, uint16_t vlan) const;
	void add_targets(const Rule &rule, std::vector<uint16_t> &vsis) const;
	bool route(Frame frame, const Headers &h, std::vector<uint16_t> &vsis) const;

	Device &dev_;
	std::map<uint16_t, Rule> rules_;
	/* VSI lists and prune lists share their numbers: firmware gives them out by one allocator. */
	std::map<uint16_t, std::set<uint16_t>> lists_;
};

} // namespace e810
