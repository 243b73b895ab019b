// SPDX-License-Identifier: GPL-2.0
/* The scheduler tree and its commands; see scheduler.h. */
#include "scheduler.h"

#include <algorithm>

#include "device.h"

namespace e810 {

namespace {

constexpr uint32_t no_teid = 0xffffffff;
constexpr unsigned int layers = 9;
constexpr unsigned int most_nodes = 4096;
constexpr unsigned int most_siblings = 64;
constexpr unsigned int rdma_qsets = 64;
constexpr uint16_t rate_profiles_per_kind = 64;

/* An element in commands: parent TEID, own TEID, settings */
constexpr size_t element_size = 24, element_teid = 4, element_data = 8, data_size = 16;
/* A group of elements starts with the parent's TEID and a count */
constexpr size_t group_header = 8;

/* Settings: type, valid sections, generic, flags, then CIR and EIR profile and weight */
constexpr size_t data_type = 0, data_flags = 3;
constexpr uint8_t flag_suspended = 1;
enum : uint8_t { type_root = 1, type_tc = 2, type_generic = 3, type_entry = 4, type_leaf = 5 };

/* The tree after reset: a single branch, TEID 1 to 9. */
constexpr uint8_t default_types[layers] = {
	type_root,    type_tc,	    type_entry,	  type_generic, type_generic,
	type_generic, type_generic, type_generic, type_leaf,
};
constexpr uint32_t root_teid = 1;
constexpr uint32_t tc_teid = 2;

/* Rate profiles of a command: an entry of 12 bytes each, profile id at byte 2 */
constexpr size_t profile_size = 12, profile_id = 2;

} // namespace

Scheduler::Scheduler(Device &dev) : dev_(dev)
{
	build_default();
}

void Scheduler::build_default()
{
	nodes_.clear();
	for (uint32_t i = 0; i < layers; i++) {
		Node node{i ? i : no_teid, i + 1 < layers, {}};
		Bytes data(node.element);

		data.put8(data_type, default_types[i]);
		data.put8(1, 7);   /* generic, CIR and EIR sections are valid */
		data.put16(6, 4);  /* CIR weight */
		data.put16(10, 4); /* EIR weight */
		nodes_[i + 1] = node;
	}
	next_teid_ = layers + 1;
	class_nodes_ = {tc_teid};
}

void Scheduler::reset(ResetKind)
{
	build_default();
	leaves_.clear();
	rate_profiles_.clear();
}

Scheduler::Node *Scheduler::find(uint32_t teid)
{
	auto it = nodes_.find(teid);

	return it == nodes_.end() ? nullptr : &it->second;
}

std::optional<uint32_t> Scheduler::rdma_qset(uint16_t handle) const
{
	auto it = leaves_.find({true, handle});

	if (it == leaves_.end())
		return std::nullopt;
	return it->second;
}

/* A class that is no longer used keeps its node: the driver suspends what it has below. */
void Scheduler::add_class(unsigned int tc)
{
	if (class_nodes_[tc])
		return;

	Node node{root_teid, 0, nodes_[tc_teid].element};

	class_nodes_[tc] = next_teid_++;
	nodes_[class_nodes_[tc]] = node;
	nodes_[root_teid].children++;
}

/* Is @teid the node @ancestor or below it? */
bool Scheduler::is_inside(uint32_t teid, uint32_t ancestor)
{
	/* A parent always exists, so the walk ends at the root. */
	while (teid != ancestor) {
		Node *node = find(teid);

		if (!node)
			return false;
		teid = node->parent;
	}
	return true;
}

AqError Scheduler::insert(uint32_t parent, const Bytes &element, uint32_t &teid)
{
	Node *above = find(parent);

	if (!above || above->element[data_type] == type_leaf) {
		dev_.guest_error("scheduler has no node %#x to add to", parent);
		return AqError::einval;
	}
	if (nodes_.size() >= most_nodes || above->children >= most_siblings)
		return AqError::enospc;

	Node node{parent, 0, {}};
	std::copy_n(element.data(), data_size, node.element.begin());
	teid = next_teid_++;
	nodes_[teid] = node;
	above->children++;
	return AqError::ok;
}

void Scheduler::erase(uint32_t teid)
{
	if (Node *above = find(find(teid)->parent))
		above->children--;
	nodes_.erase(teid);
}

AqError Scheduler::insert_leaf(Leaf leaf, uint32_t parent, const Bytes &element, uint32_t &teid)
{
	if (leaves_.contains(leaf)) {
		dev_.guest_error("%s %u is already in the scheduler",
				 leaf.rdma ? "queue set" : "queue", leaf.id);
		return AqError::eexist;
	}
	AqError error = insert(parent, element, teid);

	if (error == AqError::ok) {
		find(teid)->element[data_type] = type_leaf;
		leaves_[leaf] = teid;
	}
	return error;
}

void Scheduler::erase_leaf(Leaf leaf)
{
	auto it = leaves_.find(leaf);

	if (it == leaves_.end())
		return;
	erase(it->second);
	leaves_.erase(it);
}

/* Calls @run for each of @count groups, which follow each other in the buffer. */
AqError Scheduler::for_each_group(AqCommand &cmd, unsigned int count,
				  AqError (Scheduler::*run)(Bytes group, size_t &used))
{
	size_t offset = 0;

	for (unsigned int i = 0; i < count; i++) {
		size_t used = 0;
		AqError error = (this->*run)(cmd.buffer.part(offset), used);

		if (error != AqError::ok)
			return error;
		offset += used;
	}
	cmd.params.put16(2, static_cast<uint16_t>(count));
	return AqError::ok;
}

AqError Scheduler::get_default_topology(AqCommand &cmd)
{
	size_t offset = group_header;
	uint16_t count = 0;

	if (cmd.buffer.size() < group_header + layers * element_size)
		return AqError::einval;
	cmd.buffer.fill(0);
	for (uint32_t teid = root_teid; teid <= layers; teid++) {
		Node *node = find(teid);

		if (!node)
			break;
		cmd.buffer.put32(offset, node->parent);
		cmd.buffer.put32(offset + element_teid, teid);
		cmd.buffer.copy_in(offset + element_data, node->element);
		offset += element_size;
		count++;
	}
	cmd.buffer.put32(0, no_teid);
	cmd.buffer.put16(4, count);
	cmd.params.put8(1, 1); /* branches */
	return AqError::ok;
}

AqError Scheduler::query_resources(AqCommand &cmd)
{
	constexpr size_t record_size = 32;
	Bytes header = cmd.buffer.part(0, record_size);

	if (cmd.buffer.size() < record_size * (layers + 1))
		return AqError::einval;
	cmd.buffer.fill(0);
	header.put16(0, layers);
	header.put16(2, layers);
	header.put8(5, 8); /* congestion domains of device and function */
	header.put8(6, 8);
	header.put16(8, rdma_qsets);
	for (unsigned int layer = 0; layer < layers; layer++) {
		Bytes record = cmd.buffer.part(record_size * (layer + 1), record_size);

		record.put8(0, static_cast<uint8_t>(layer));
		record.put16(2, 512); /* nodes of device and function */
		record.put16(4, 512);
		record.put16(10, layer == 0 ? 1 : layer == 1 ? 8 : most_siblings);
		for (size_t kind = 12; kind <= 16; kind += 2) /* CIR, EIR, shared */
			record.put16(kind, rate_profiles_per_kind);
	}
	return AqError::ok;
}

AqError Scheduler::get(AqCommand &cmd)
{
	uint16_t count = cmd.params.u16(0);

	if (count * element_size > cmd.buffer.size())
		return AqError::einval;
	for (uint16_t i = 0; i < count; i++) {
		Bytes element = cmd.buffer.part(i * element_size, element_size);
		Node *node = find(element.u32(element_teid));

		if (!node)
			return AqError::enoent;
		element.put32(0, node->parent);
		element.copy_in(element_data, node->element);
	}
	cmd.params.put16(2, count);
	return AqError::ok;
}

AqError Scheduler::add_group(Bytes group, size_t &used)
{
	uint32_t parent = group.u32(0);
	uint16_t count = group.u16(4);

	used = group_header + count * element_size;
	if (used > group.size())
		return AqError::einval;
	for (uint16_t i = 0; i < count; i++) {
		Bytes element = group.part(group_header + i * element_size, element_size);
		uint32_t teid;
		AqError error = insert(parent, element.part(element_data), teid);

		if (error != AqError::ok)
			return error;
		element.put32(0, parent);
		element.put32(element_teid, teid);
	}
	return AqError::ok;
}

AqError Scheduler::add(AqCommand &cmd)
{
	return for_each_group(cmd, cmd.params.u16(0), &Scheduler::add_group);
}

AqError Scheduler::configure(AqCommand &cmd)
{
	uint16_t count = cmd.params.u16(0);

	if (count * element_size > cmd.buffer.size())
		return AqError::einval;
	for (uint16_t i = 0; i < count; i++) {
		Bytes element = cmd.buffer.part(i * element_size, element_size);
		Node *node = find(element.u32(element_teid));

		if (!node)
			return AqError::enoent;
		/* Type and flags are firmware's. */
		Bytes data(node->element);
		uint8_t type = data.u8(data_type), flags = data.u8(data_flags);
		data.copy_in(0, {element.data() + element_data, data_size});
		data.put8(data_type, type);
		data.put8(data_flags, flags);
	}
	cmd.params.put16(2, count);
	return AqError::ok;
}

AqError Scheduler::move_group(Bytes group, size_t &used)
{
	constexpr size_t move_header = 12;
	uint32_t from = group.u32(0), to = group.u32(4);
	uint16_t count = group.u16(8);

	used = move_header + count * 4u;
	if (used > group.size() || !find(to))
		return AqError::einval;
	for (uint16_t i = 0; i < count; i++) {
		uint32_t teid = group.u32(move_header + i * 4u);
		Node *node = find(teid);

		if (!node || node->parent != from || !find(from) || is_inside(to, teid)) {
			dev_.guest_error("scheduler cannot move node %#x from %#x to %#x", teid,
					 from, to);
			return AqError::einval;
		}
		if (find(to)->children >= most_siblings)
			return AqError::enospc;
		find(from)->children--;
		find(to)->children++;
		node->parent = to;
	}
	return AqError::ok;
}

AqError Scheduler::move(AqCommand &cmd)
{
	return for_each_group(cmd, cmd.params.u16(0), &Scheduler::move_group);
}

AqError Scheduler::remove_group(Bytes group, size_t &used)
{
	uint32_t parent = group.u32(0);
	uint16_t count = group.u16(4);

	used = group_header + count * 4u;
	if (used > group.size())
		return AqError::einval;
	for (uint16_t i = 0; i < count; i++) {
		uint32_t teid = group.u32(group_header + i * 4u);
		Node *node = find(teid);
		bool queue = std::ranges::any_of(leaves_,
						 [&](auto &leaf) { return leaf.second == teid; });
		bool own = teid == root_teid ||
			   std::ranges::find(class_nodes_, teid) != class_nodes_.end();

		if (!node || node->parent != parent || node->children || queue || own) {
			dev_.guest_error("scheduler cannot delete node %#x below %#x", teid,
					 parent);
			return AqError::einval;
		}
		erase(teid);
	}
	return AqError::ok;
}

AqError Scheduler::remove(AqCommand &cmd)
{
	return for_each_group(cmd, cmd.params.u16(0), &Scheduler::remove_group);
}

AqError Scheduler::set_suspended(AqCommand &cmd, bool suspended)
{
	uint16_t count = cmd.params.u16(0);

	if (count * 4u > cmd.buffer.size())
		return AqError::einval;
	for (uint16_t i = 0; i < count; i++) {
		Node *node = find(cmd.buffer.u32(i * 4u));

		if (!node)
			return AqError::enoent;
		uint8_t &flags = node->element[data_flags];
		flags = suspended ? flags | flag_suspended : flags & ~flag_suspended;
	}
	cmd.params.put16(2, count);
	return AqError::ok;
}

AqError Scheduler::suspend(AqCommand &cmd)
{
	return set_suspended(cmd, true);
}

AqError Scheduler::resume(AqCommand &cmd)
{
	return set_suspended(cmd, false);
}

AqError Scheduler::add_rate_profiles(AqCommand &cmd)
{
	uint16_t count = cmd.params.u16(0);

	if (count * profile_size > cmd.buffer.size())
		return AqError::einval;
	for (uint16_t i = 0; i < count; i++) {
		uint16_t id = 1;

		while (rate_profiles_.contains(id))
			id++;
		if (id > 3 * rate_profiles_per_kind)
			return AqError::enospc;
		rate_profiles_.insert(id);
		cmd.buffer.put16(i * profile_size + profile_id, id);
	}
	cmd.params.put16(2, count);
	return AqError::ok;
}

AqError Scheduler::remove_rate_profiles(AqCommand &cmd)
{
	uint16_t count = cmd.params.u16(0);

	if (count * profile_size > cmd.buffer.size())
		return AqError::einval;
	for (uint16_t i = 0; i < count; i++) {
		if (!rate_profiles_.erase(cmd.buffer.u16(i * profile_size + profile_id)))
			return AqError::enoent;
	}
	cmd.params.put16(2, count);
	return AqError::ok;
}

AqError Scheduler::add_tx_group(Bytes group, size_t &used)
{
	constexpr size_t entry_size = 48, entry_teid = 4, entry_context = 8, context_size = 22,
			 entry_element = 32;
	uint32_t parent = group.u32(0);
	uint8_t count = group.u8(4);

	used = group_header + count * entry_size;
	if (used > group.size())
		return AqError::einval;
	for (uint8_t i = 0; i < count; i++) {
		Bytes entry = group.part(group_header + i * entry_size, entry_size);
		uint16_t queue = entry.u16(0);
		uint32_t teid;
		AqError error =
			insert_leaf({false, queue}, parent, entry.part(entry_element), teid);

		if (error != AqError::ok)
			return error;
		if (!dev_.lan_tx.enable(queue, entry.part(entry_context, context_size))) {
			erase_leaf({false, queue});
			return AqError::einval;
		}
		entry.put32(entry_teid, teid);
	}
	return AqError::ok;
}

AqError Scheduler::add_tx_queues(AqCommand &cmd)
{
	return for_each_group(cmd, cmd.params.u8(0), &Scheduler::add_tx_group);
}

AqError Scheduler::disable_tx_group(Bytes group, size_t &used)
{
	constexpr size_t ids = 6;
	constexpr uint16_t id_is_rdma = 1 << 15;
	uint8_t count = group.u8(4);

	/* Groups are aligned to 4 bytes. */
	used = (ids + count * 2u + 3) & ~size_t{3};
	if (ids + count * 2u > group.size())
		return AqError::einval;
	for (uint8_t i = 0; i < count; i++) {
		uint16_t id = group.u16(ids + i * 2u);
		Leaf leaf{(id & id_is_rdma) != 0, static_cast<uint16_t>(id & ~id_is_rdma)};

		if (!leaves_.contains(leaf))
			return AqError::enoent;
		if (!leaf.rdma)
			dev_.lan_tx.disable(leaf.id);
		erase_leaf(leaf);
	}
	return AqError::ok;
}

AqError Scheduler::disable_tx_queues(AqCommand &cmd)
{
	uint16_t timeout = cmd.params.u16(2);
	AqError error = for_each_group(cmd, cmd.params.u8(1), &Scheduler::disable_tx_group);

	cmd.params.put16(2, timeout); /* this command counts elsewhere */
	return error;
}

AqError Scheduler::add_rdma_group(Bytes group, size_t &used)
{
	uint32_t parent = group.u32(0);
	uint16_t count = group.u16(4);

	used = group_header + count * element_size;
	if (used > group.size())
		return AqError::einval;
	for (uint16_t i = 0; i < count; i++) {
		Bytes entry = group.part(group_header + i * element_size, element_size);
		uint32_t teid;
		AqError error =
			insert_leaf({true, entry.u16(0)}, parent, entry.part(element_data), teid);

		if (error != AqError::ok)
			return error;
		entry.put32(element_teid, teid);
	}
	return AqError::ok;
}

AqError Scheduler::add_rdma_qsets(AqCommand &cmd)
{
	return for_each_group(cmd, cmd.params.u8(0), &Scheduler::add_rdma_group);
}

} // namespace e810
