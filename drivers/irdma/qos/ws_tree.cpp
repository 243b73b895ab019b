// SPDX-License-Identifier: GPL-2.0
/* The work-scheduler tree; see ws_tree.h. */
#include "ws_tree.h"

#include "../cqp/commands.h"
#include "../device.h"
#include "../hw/limits.h"

namespace irdma {

static_assert(SHIM_MAX_TC == hw::max_traffic_classes);

static constexpr u32 root_node = 0;

/** A node as the device is told of it. */
struct WsTree::Node {
	u32 number;
	u32 parent;
	u8 traffic_class;
	u8 weight;
	bool leaf;
	bool enabled;
};

WsTree::Node WsTree::inner_node(u32 number, u32 parent)
{
	return {.number = number,
		.parent = parent,
		.traffic_class = 0,
		.weight = 1,
		.leaf = false,
		.enabled = true};
}

WsTree::Node WsTree::leaf_node(u32 number, u8 tc, u8 weight) const
{
	return {.number = number,
		.parent = vsi_node_.value(),
		.traffic_class = tc,
		.weight = weight,
		.leaf = true,
		.enabled = true};
}

Status WsTree::create()
{
	return ids_.create(root_node + 1, hw::max_ws_nodes);
}

Result<u32> WsTree::command(u32 op, const Node &node)
{
	return device_.cqp.run(cmd::WorkSchedNode{
		.node_op = op,
		.node = node.number,
		.parent = node.parent,
		.vsi = device_.port.vsi,
		.traffic_class = node.traffic_class,
		.weight = node.weight,
		.priority_type = hw::cqp_ws::priority_weighted,
		.leaf = node.leaf,
		.enable = node.enabled,
	});
}

/** Return: whether it is gone. */
bool WsTree::delete_node(const Node &node)
{
	auto deleted = command(hw::cqp_ws::op_delete, node);

	if (!deleted.ok() && !device_.dead())
		shim_log_limited(device_.shim, SHIM_WARN, "work-scheduler node %u stays: error %d",
				 node.number, deleted.code());
	return deleted.ok();
}

void WsTree::delete_leaf_node(Id id, const Node &node)
{
	if (delete_node(node))
		return;
	leaf_stays_ = true;
	id.abandon();
}

/* Root and VSI node. */
Status WsTree::add_trunk()
{
	if (!root_) {
		IRDMA_TRY(command(hw::cqp_ws::op_add, inner_node(root_node, root_node)));
		root_ = true;
	}
	if (!vsi_node_) {
		auto id = Id::alloc(ids_);

		IRDMA_TRY(id);
		IRDMA_TRY(command(hw::cqp_ws::op_add, inner_node(id.value().value(), root_node)));
		vsi_node_ = id.take();
	}
	return {};
}

void WsTree::remove_trunk_if_bare()
{
	for (const Leaf &l : leaf_)
		if (l.node)
			return;
	if (leaf_stays_)
		return;
	if (vsi_node_) {
		if (!delete_node(inner_node(vsi_node_.value(), root_node)))
			return;
		vsi_node_.reset();
	}
	if (root_)
		root_ = !delete_node(inner_node(root_node, root_node));
}

/* A leaf carries traffic once ice has its queue set too. */
Status WsTree::make_leaf(u8 tc, Leaf &leaf, const Node &node)
{
	Node disabled = node;

	disabled.enabled = false;
	auto added = command(hw::cqp_ws::op_add, disabled);
	IRDMA_TRY(added);
	leaf.qs_handle = static_cast<u16>(added.value());

	Status made = Status::from(shim_qset_add(device_.shim, leaf.qs_handle, tc, &leaf.teid));
	if (made.ok()) {
		made = command(hw::cqp_ws::op_modify, node).status();
		if (!made.ok())
			shim_qset_del(device_.shim, leaf.qs_handle, tc, leaf.teid);
	}
	if (!made.ok())
		delete_leaf_node(move(leaf.node), node);
	return made;
}

Status WsTree::add_leaf(u8 tc, u8 weight)
{
	if (leaf_[tc].node)
		return {};

	Leaf leaf;
	Status made = add_trunk();

	if (made.ok()) {
		auto id = Id::alloc(ids_);

		made = id.status();
		if (made.ok()) {
			leaf.node = id.take();
			leaf.weight = weight;
			made = make_leaf(tc, leaf, leaf_node(leaf.node.value(), tc, weight));
		}
	}
	if (made.ok())
		leaf_[tc] = move(leaf);
	else
		remove_trunk_if_bare();
	return made;
}

void WsTree::remove_leaf(u8 tc)
{
	Leaf leaf = move(leaf_[tc]);

	if (!leaf.node)
		return;
	leaf_[tc] = {};

	const Node node = leaf_node(leaf.node.value(), tc, leaf.weight);

	delete_leaf_node(move(leaf.node), node);
	shim_qset_del(device_.shim, leaf.qs_handle, tc, leaf.teid);
	remove_trunk_if_bare();
}

void WsTree::show(shim_text *text) const
{
	if (root_)
		shim_print(text, "node %u root\n", root_node);
	if (vsi_node_)
		shim_print(text, "node %u parent %u vsi %u\n", vsi_node_.value(), root_node,
			   device_.port.vsi);
	for (u32 tc = 0; tc < SHIM_MAX_TC; tc++) {
		const Leaf &leaf = leaf_[tc];

		if (leaf.node)
			shim_print(text,
				   "node %u parent %u class %u weight %u qs_handle %u teid %#x\n",
				   leaf.node.value(), vsi_node_.value(), tc,
				   static_cast<u32>(leaf.weight), static_cast<u32>(leaf.qs_handle),
				   leaf.teid);
	}
}

} // namespace irdma
