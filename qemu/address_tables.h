// SPDX-License-Identifier: GPL-2.0
/*
 * Tables by which the engine addresses packets and finds the QP of a received one: ARP entries
 * (destination MACs), address handles, multicast groups, quad hash, port bitmap, own MACs.
 *
 * Each is filled by a command of the control QP with an index that the driver chooses.
 */
#pragma once

#include <array>
#include <bitset>
#include <cstdint>
#include <optional>
#include <vector>

#include "cqp_result.h"
#include "irdma/hw/limits.h"

namespace e810 {

class Rdma;

class AddressTables {
public:
	explicit AddressTables(Rdma &rdma);

	CqpResult manage_arp(const hw::CqpWqe &wqe);
	CqpResult create_ah(const hw::CqpWqe &wqe);
	CqpResult modify_ah(const hw::CqpWqe &wqe);
	CqpResult destroy_ah(const hw::CqpWqe &wqe);
	CqpResult create_mcast(const hw::CqpWqe &wqe);
	CqpResult modify_mcast(const hw::CqpWqe &wqe);
	CqpResult destroy_mcast(const hw::CqpWqe &wqe);
	CqpResult manage_qhash(const hw::CqpWqe &wqe);
	CqpResult manage_apbvt(const hw::CqpWqe &wqe);
	CqpResult alloc_loc_mac(const hw::CqpWqe &wqe);
	CqpResult manage_loc_mac(const hw::CqpWqe &wqe);

	bool arp_valid(uint32_t index) const
	{
		return index < arp_.size() && arp_[index].has_value();
	}

	/** Address handles in use. */
	uint32_t handles_in_use() const;
	/** Multicast groups in use. */
	uint32_t groups_in_use() const;
	void reset();

private:
	struct MulticastGroup {
		hw::CqpWqe command;
		std::array<uint64_t, hw::mcast_members_per_group> members;
	};

	CqpResult set_ah(const hw::CqpWqe &wqe, bool create);
	CqpResult set_mcast(const hw::CqpWqe &wqe, bool create);

	static constexpr size_t local_macs = 64;
	static constexpr size_t max_hashes = 4096;

	Rdma &rdma_;
	std::vector<std::optional<uint64_t>> arp_; /* MAC as a number, first byte on top */
	/* Handles as commanded: every field of the command is one of the handle. */
	std::vector<std::optional<hw::CqpWqe>> handles_;
	std::vector<std::optional<MulticastGroup>> groups_;
	std::vector<hw::CqpWqe> hashes_;
	std::bitset<65536> ports_;
	std::array<std::optional<uint64_t>, local_macs> macs_;
};

} // namespace e810
