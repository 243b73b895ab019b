// SPDX-License-Identifier: GPL-2.0
/*
 * The work-scheduler tree, which shares the port among queue sets.
 *
 *	root (0) --- VSI node --- leaf of traffic class 0 = queue set
 *	                     \--- leaf of traffic class 3 = queue set
 *
 * Root and VSI node come with the first leaf and go with the last. A leaf has
 * a queue-set handle from the device, for QP contexts, and a place in ice's
 * scheduler. The caller (qos.cpp) counts users and serializes.
 *
 * A node that the device does not delete stays: its number is not used again,
 * and neither is what it hangs on deleted or added anew.
 */
#ifndef IRDMA_QOS_WS_TREE_H
#define IRDMA_QOS_WS_TREE_H

#include "../base/id_table.h"
#include "../base/result.h"
#include "driver.h"

namespace irdma {

class Device;

class WsTree {
public:
	explicit WsTree(Device &device) : device_(device) {}

	Status create();

	/** The leaf of @tc is there afterwards; a new one has @weight, 1 to 100. May sleep. */
	Status add_leaf(u8 tc, u8 weight);
	/** It is gone afterwards, if there was one. May sleep. */
	void remove_leaf(u8 tc);
	/** Handle of the queue set; 0 if there is no leaf. */
	u16 qs_handle(u8 tc) const { return leaf_[tc].qs_handle; }
	/** The nodes, for debugfs. */
	void show(shim_text *text) const;

private:
	struct Node;
	struct Leaf {
		Id node; /**< empty: there is no leaf */
		u8 weight = 0;
		u16 qs_handle = 0;
		u32 teid = 0; /**< of ice */
	};

	static Node inner_node(u32 number, u32 parent);
	Node leaf_node(u32 number, u8 tc, u8 weight) const;
	Result<u32> command(u32 op, const Node &node);
	bool delete_node(const Node &node);
	void delete_leaf_node(Id id, const Node &node);
	Status add_trunk();
	void remove_trunk_if_bare();
	Status make_leaf(u8 tc, Leaf &leaf, const Node &node);

	Device &device_;
	IdTable ids_;
	bool root_ = false;
	Id vsi_node_;
	bool leaf_stays_ = false; /**< one that the device did not delete */
	Leaf leaf_[SHIM_MAX_TC];
};

} // namespace irdma

#endif
