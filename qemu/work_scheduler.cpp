// SPDX-License-Identifier: GPL-2.0
/* Work scheduler; see work_scheduler.h. */
#include "work_scheduler.h"

#include <algorithm>

namespace e810 {

CqpResult WorkScheduler::command(const hw::CqpWqe &wqe)
{
	uint32_t id = static_cast<uint32_t>(wqe.get(hw::cqp_ws::node));

	switch (wqe.get(hw::cqp_ws::node_op)) {
	case hw::cqp_ws::op_add:
		return add(wqe, id);
	case hw::cqp_ws::op_modify:
		return modify(wqe, id);
	case hw::cqp_ws::op_delete:
		return remove(id);
	}
	return CqpResult::fail(refusal::bad_parameter);
}

CqpResult WorkScheduler::add(const hw::CqpWqe &wqe, uint32_t id)
{
	uint32_t parent = static_cast<uint32_t>(wqe.get(hw::cqp_ws::parent));
	bool root = parent == id;
	bool leaf = wqe.get(hw::cqp_ws::leaf);
	Node node;

	if (nodes_[id].exists)
		return CqpResult::fail(hw::cqp_error::invalid_state);
	if (root ? leaf : !nodes_[parent].exists || nodes_[parent].leaf)
		return CqpResult::fail(refusal::bad_parameter);
	node.exists = true;
	node.leaf = leaf;
	node.enabled = wqe.get(hw::cqp_ws::enable);
	node.parent = static_cast<uint16_t>(parent);
	if (leaf) {
		/* There are as many handles as nodes less one, and no root is a leaf. */
		while (handles_[node.handle])
			node.handle++;
		handles_.set(node.handle);
	}
	nodes_[id] = node;
	if (!root)
		nodes_[parent].children++;
	return CqpResult::ok(node.handle);
}

CqpResult WorkScheduler::modify(const hw::CqpWqe &wqe, uint32_t id)
{
	if (!nodes_[id].exists)
		return CqpResult::fail(hw::cqp_error::invalid_state);
	nodes_[id].enabled = wqe.get(hw::cqp_ws::enable);
	return CqpResult::ok(nodes_[id].handle);
}

CqpResult WorkScheduler::remove(uint32_t id)
{
	Node &node = nodes_[id];

	if (!node.exists || node.children)
		return CqpResult::fail(hw::cqp_error::invalid_state);
	if (node.parent != id)
		nodes_[node.parent].children--;
	if (node.leaf)
		handles_.reset(node.handle);
	node = Node{};
	return CqpResult::ok();
}

uint32_t WorkScheduler::in_use() const
{
	return static_cast<uint32_t>(std::count_if(nodes_.begin(), nodes_.end(),
						   [](const Node &n) { return n.exists; }));
}

} // namespace e810
