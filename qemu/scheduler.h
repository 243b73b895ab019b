// SPDX-License-Identifier: GPL-2.0
/*
 * The transmit scheduler: a tree of nodes, with transmit queues and RDMA queue sets as leaves.
 *
 *	root - traffic class - ... - VSI - ... - queue groups - LAN queue or RDMA queue set
 *
 * The driver builds the tree by AdminQ commands and firmware keeps it: each node has an element id (TEID)
 * and 16 bytes of settings. The model keeps the tree and checks each change against it, but sends frames
 * in the order in which queues are served: bandwidths and priorities have no effect.
 */
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <optional>
#include <set>

#include "adminq.h"
#include "reset_kind.h"

namespace e810 {

class Scheduler {
public:
	explicit Scheduler(Device &dev);

	/** TEID of an RDMA queue set by the handle that the protocol engine gave it, if it is in the tree. */
	std::optional<uint32_t> rdma_qset(uint16_t handle) const;

	/** Adds the node of traffic class @p tc (1 to 7), if it is not there. Until reset it stays. */
	void add_class(unsigned int tc);
	/** TEID of the node of a traffic class that is there. */
	uint32_t class_node(unsigned int tc) const { return class_nodes_[tc]; }

	AqError get_default_topology(AqCommand &cmd);
	AqError query_resources(AqCommand &cmd);
	AqError get(AqCommand &cmd);
	AqError add(AqCommand &cmd);
	AqError configure(AqCommand &cmd);
	AqError move(AqCommand &cmd);
	AqError remove(AqCommand &cmd);
	AqError suspend(AqCommand &cmd);
	AqError resume(AqCommand &cmd);
	AqError add_rate_profiles(AqCommand &cmd);
	AqError remove_rate_profiles(AqCommand &cmd);
	AqError add_tx_queues(AqCommand &cmd);
	AqError disable_tx_queues(AqCommand &cmd);
	AqError add_rdma_qsets(AqCommand &cmd);

	void reset(ResetKind kind);

private:
	using Element = std::array<uint8_t, 16>;

	struct Node {
		uint32_t parent;
		unsigned int children;
		Element element;
	};

	/* What a leaf stands for: a LAN queue by number, or an RDMA queue set by handle. */
	struct Leaf {
		bool rdma;
		uint16_t id;
		auto operator<=>(const Leaf &) const = default;
	};

	void build_default();
	Node *find(uint32_t teid);
	bool is_inside(uint32_t teid, uint32_t ancestor);
	AqError insert(uint32_t parent, const Bytes &element, uint32_t &teid);
	void erase(uint32_t teid);
	AqError insert_leaf(Leaf leaf, uint32_t parent, const Bytes &element, uint32_t &teid);
	void erase_leaf(Leaf leaf);
	AqError set_suspended(AqCommand &cmd, bool suspended);
	AqError add_group(Bytes group, size_t &used);
	AqError remove_group(Bytes group, size_t &used);
	AqError move_group(Bytes group, size_t &used);
	AqError add_tx_group(Bytes group, size_t &used);
	AqError disable_tx_group(Bytes group, size_t &used);
	AqError add_rdma_group(Bytes group, size_t &used);
	AqError for_each_group(AqCommand &cmd, unsigned int count,
			       AqError (Scheduler::*run)(Bytes group, size_t &used));

	Device &dev_;
	std::map<uint32_t, Node> nodes_;
	std::map<Leaf, uint32_t> leaves_;
	std::array<uint32_t, 8> class_nodes_{}; /* 0: none */
	uint32_t next_teid_ = 0;
	std::set<uint16_t> rate_profiles_;
};

} // namespace e810
