// SPDX-License-Identifier: GPL-2.0
/*
 * Work scheduler: the tree that shares the port among queue pairs.
 *
 *	root -- node of a VSI -- leaf of a traffic class = queue set
 *
 * The driver numbers the nodes; a leaf gets a queue-set handle, which the contexts of queue pairs
 * name and which `ice` is told with AdminQ 0c33. A root is its own parent. Nothing is scheduled by
 * it.
 */
#pragma once

#include <array>
#include <bitset>
#include <cstdint>

#include "cqp_result.h"
#include "irdma/hw/limits.h"

namespace e810 {

class WorkScheduler {
public:
	CqpResult command(const hw::CqpWqe &wqe);

	/** Is there a leaf with this queue-set handle? */
	bool handle_valid(uint32_t handle) const
	{
		return handle && handle < handles_.size() && handles_[handle];
	}

	uint32_t in_use() const;
	void reset() { *this = WorkScheduler{}; }

private:
	struct Node {
		bool exists = false;
		bool leaf = false;
		bool enabled = false;
		uint16_t parent = 0;
		uint16_t children = 0;
		uint16_t handle = 0;
	};

	CqpResult add(const hw::CqpWqe &wqe, uint32_t id);
	CqpResult modify(const hw::CqpWqe &wqe, uint32_t id);
	CqpResult remove(uint32_t id);

	static constexpr size_t max_nodes = hw::max_ws_nodes + 1;

	std::array<Node, max_nodes> nodes_{};
	std::bitset<max_nodes> handles_{1}; /* handle 0 is nobody's */
};

} // namespace e810
