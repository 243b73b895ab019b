// SPDX-License-Identifier: GPL-2.0
/* Switch rules and the way of a received frame; see switch.h. */
#include "switch.h"

#include <algorithm>

#include "capabilities.h"
#include "device.h"

namespace e810 {

namespace {

constexpr size_t most_rules = 4096;
constexpr size_t most_lists = 1024;

/* Types of rule in a command */
enum : uint16_t {
	rule_lookup_rx = 0,
	rule_lookup_tx = 1,
	rule_vsi_list_set = 3,
	rule_vsi_list_clear = 4,
	rule_prune_list_set = 5,
	rule_prune_list_clear = 6,
};

/* Recipes that firmware has from the start */
enum : uint16_t {
	recipe_ethertype = 0,
	recipe_mac = 1,
	recipe_mac_vlan = 2,
	recipe_promiscuous = 3,
	recipe_vlan = 4,
	recipe_default = 5,
	recipe_ethertype_mac = 8,
	recipe_promiscuous_vlan = 9,
};

/* Lookup rule, byte offsets */
constexpr size_t rule_type = 0, rule_status = 2, rule_recipe = 4, rule_source = 6, rule_action = 8,
		 rule_index = 12, rule_header_length = 14, rule_header = 16;
/* List rule */
constexpr size_t list_index = 4, list_count = 6, list_vsis = 8;

/* Actions */
constexpr uint32_t action_type_mask = 3;
constexpr uint32_t action_forward = 0, action_prune = 2;
constexpr uint32_t action_list = 1u << 14;
constexpr uint32_t action_drop = 1u << 18;

constexpr uint16_t action_target(uint32_t action)
{
	return action >> 4 & 0x3ff;
}

constexpr uint16_t vlan_id_mask = 0xfff;

bool same_destination(Frame frame, Frame header)
{
	return std::equal(frame.begin(), frame.begin() + mac_size, header.begin());
}

/* Promiscuous rules stand for a kind of destination: broadcast, multicast or unicast. */
bool same_kind(Frame frame, Frame header)
{
	return is_multicast(frame) == is_multicast(header) &&
	       is_broadcast(frame) == is_broadcast(header);
}

} // namespace

void Switch::reset(ResetKind)
{
	rules_.clear();
	lists_.clear();
}

AqError Switch::get_config(AqCommand &cmd)
{
	constexpr size_t entry_size = 6;

	if (cmd.buffer.size() < entry_size)
		return AqError::einval;
	cmd.buffer.put16(0, 0); /* physical port 0 */
	cmd.buffer.put16(2, 1); /* switch 1 */
	cmd.buffer.put16(4, 0); /* PF 0 */
	cmd.params.put16(2, 0); /* nothing follows */
	cmd.params.put16(4, 1);
	cmd.answer = entry_size;
	return AqError::ok;
}

/* Calls @lookup or @list for each rule of the command; the first error ends it. */
AqError Switch::for_each_rule(AqCommand &cmd, Edit lookup, Edit list)
{
	uint16_t count = cmd.params.u16(0);
	size_t offset = 0;

	for (uint16_t i = 0; i < count; i++) {
		Bytes rest = cmd.buffer.part(offset);
		uint16_t type = rest.u16(rule_type);
		bool is_lookup = type == rule_lookup_rx || type == rule_lookup_tx;
		bool is_list = type >= rule_vsi_list_set && type <= rule_prune_list_clear;
		size_t size = is_lookup ? rule_header + rest.u16(rule_header_length)
					: list_vsis + 2u * rest.u16(list_count);

		if (!(is_lookup || is_list) || rest.size() < size) {
			dev_.guest_error("switch rule of type %u does not fit its command", type);
			return AqError::einval;
		}
		AqError error = (this->*(is_lookup ? lookup : list))(rest.part(0, size));

		rest.put16(rule_status, static_cast<uint16_t>(error));
		if (error != AqError::ok)
			return error;
		offset += size;
	}
	return AqError::ok;
}

AqError Switch::add_rules(AqCommand &cmd)
{
	return for_each_rule(cmd, &Switch::add_lookup, &Switch::edit_list);
}

AqError Switch::update_rules(AqCommand &cmd)
{
	return for_each_rule(cmd, &Switch::update_lookup, &Switch::edit_list);
}

AqError Switch::remove_rules(AqCommand &cmd)
{
	return for_each_rule(cmd, &Switch::remove_lookup, &Switch::remove_list);
}

AqError Switch::parse_lookup(Bytes bytes, Rule &rule) const
{
	rule.transmit = bytes.u16(rule_type) == rule_lookup_tx;
	rule.recipe = bytes.u16(rule_recipe);
	rule.source = bytes.u16(rule_source);
	rule.action = bytes.u32(rule_action);

	uint32_t type = rule.action & action_type_mask;
	bool known = rule.recipe <= recipe_default || rule.recipe == recipe_ethertype_mac ||
		     rule.recipe == recipe_promiscuous_vlan;

	/* Forwarding to a queue and large actions need what the model's firmware does not have. */
	if (!known || (type != action_forward && type != action_prune))
		return AqError::enosys;
	return AqError::ok;
}

AqError Switch::add_lookup(Bytes bytes)
{
	Rule rule;
	AqError error = parse_lookup(bytes, rule);
	uint16_t index = 1;

	if (error != AqError::ok)
		return error;
	if (bytes.size() < rule_header + header_size)
		return AqError::einval;
	if (rules_.size() >= most_rules)
		return AqError::enospc;
	std::copy_n(bytes.data() + rule_header, header_size, rule.header.begin());
	while (rules_.contains(index))
		index++;
	rules_[index] = rule;
	bytes.put16(rule_index, index);
	return AqError::ok;
}

AqError Switch::update_lookup(Bytes bytes)
{
	Rule rule;
	auto it = rules_.find(bytes.u16(rule_index));
	AqError error = parse_lookup(bytes, rule);

	if (error != AqError::ok)
		return error;
	if (it == rules_.end())
		return AqError::enoent;
	/* What is compared stays: an update changes the action. */
	it->second.action = rule.action;
	return AqError::ok;
}

AqError Switch::remove_lookup(Bytes bytes)
{
	return rules_.erase(bytes.u16(rule_index)) ? AqError::ok : AqError::enoent;
}

AqError Switch::edit_list(Bytes bytes)
{
	uint16_t type = bytes.u16(rule_type);
	uint16_t count = bytes.u16(list_count);
	uint16_t index = bytes.u16(list_index);
	bool set = type == rule_vsi_list_set || type == rule_prune_list_set;

	if (!lists_.contains(index) && lists_.size() >= most_lists)
		return AqError::enospc;
	auto &list = lists_[index];
	for (uint16_t i = 0; i < count; i++) {
		uint16_t vsi = bytes.u16(list_vsis + 2 * i);

		if (!set)
			list.erase(vsi);
		else if (dev_.vsis.find(vsi))
			list.insert(vsi);
		else
			return AqError::enoent;
	}
	return AqError::ok;
}

AqError Switch::remove_list(Bytes bytes)
{
	return lists_.erase(bytes.u16(list_index)) ? AqError::ok : AqError::enoent;
}

bool Switch::matches(const Rule &rule, Frame frame, const Headers &h) const
{
	uint16_t vlan = h.tagged ? h.vlan_tci & vlan_id_mask : 0;
	bool same_vlan = (get_be16(rule.header, 14) & vlan_id_mask) == vlan;
	bool same_type = get_be16(rule.header, 12) == h.ethertype;

	switch (rule.recipe) {
	/* Drivers add address rules as transmit rules; they hold for both directions. */
	case recipe_mac:
		return same_destination(frame, rule.header);
	case recipe_mac_vlan:
		return same_destination(frame, rule.header) && same_vlan;
	case recipe_ethertype:
		return !rule.transmit && same_type;
	case recipe_ethertype_mac:
		return !rule.transmit && same_type && same_destination(frame, rule.header);
	case recipe_promiscuous:
		return !rule.transmit && same_kind(frame, rule.header);
	case recipe_promiscuous_vlan:
		return !rule.transmit && same_kind(frame, rule.header) && same_vlan;
	default:
		return false;
	}
}

bool Switch::names(const Rule &rule, uint16_t vsi) const
{
	uint16_t target = action_target(rule.action);

	if (!(rule.action & action_list))
		return target == vsi;
	auto list = lists_.find(target);
	return list != lists_.end() && list->second.contains(vsi);
}

void Switch::add_targets(const Rule &rule, std::vector<uint16_t> &vsis) const
{
	uint16_t target = action_target(rule.action);
	auto add = [&](uint16_t vsi) {
		if (std::ranges::find(vsis, vsi) == vsis.end())
			vsis.push_back(vsi);
	};

	if (!(rule.action & action_list)) {
		add(target);
		return;
	}
	auto list = lists_.find(target);
	if (list != lists_.end())
		std::ranges::for_each(list->second, add);
}

bool Switch::vlan_listed(uint16_t vsi, uint16_t vlan) const
{
	return std::ranges::any_of(rules_, [&](const auto &entry) {
		const Rule &rule = entry.second;

		return rule.recipe == recipe_vlan &&
		       (get_be16(rule.header, 14) & vlan_id_mask) == vlan && names(rule, vsi);
	});
}

/* Finds the VSIs for a frame; false if a rule drops it. */
bool Switch::route(Frame frame, const Headers &h, std::vector<uint16_t> &vsis) const
{
	std::vector<uint16_t> fallback;
	uint16_t vlan = h.tagged ? h.vlan_tci & vlan_id_mask : 0;

	for (const auto &[index, rule] : rules_) {
		if (rule.recipe == recipe_default && !rule.transmit) {
			add_targets(rule, fallback);
		} else if (matches(rule, frame, h)) {
			if (rule.action & action_drop)
				return false;
			add_targets(rule, vsis);
		}
	}
	if (vsis.empty())
		vsis = std::move(fallback);
	std::erase_if(vsis, [&](uint16_t number) {
		const Vsi *vsi = dev_.vsis.find(number);

		return !vsi || (vsi->prunes_vlans() && !vlan_listed(number, vlan));
	});
	return true;
}

bool Switch::receive(Frame frame)
{
	Headers h = parse(frame);
	std::vector<uint16_t> vsis;

	if (!route(frame, h, vsis))
		return true;
	for (uint16_t number : vsis) {
		if (!dev_.lan_rx.has_room(dev_.vsis.find(number)->receive_queue(), frame.size()))
			return false;
	}
	for (uint16_t number : vsis)
		dev_.lan_rx.deliver(*dev_.vsis.find(number), frame, h);
	return true;
}

bool Switch::drops_sent(uint16_t vsi, Frame frame) const
{
	uint16_t ethertype = parse(frame).ethertype;

	return std::ranges::any_of(rules_, [&](const auto &entry) {
		const Rule &rule = entry.second;

		return rule.transmit && rule.source == vsi && rule.recipe == recipe_ethertype &&
		       rule.action & action_drop && get_be16(rule.header, 12) == ethertype;
	});
}

} // namespace e810
