// SPDX-License-Identifier: GPL-2.0
/*
 * Tables by which the engine addresses packets and finds the QP of a received one: ARP entries
 * (destination MACs), address handles, multicast groups, quad hash, port bitmap, own MACs.
 *
 * Each is filled by a command of the control QP with an index that the driver chooses.
 */
#pragma once

#include <algorithm>
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

	/** Destination MAC of an ARP entry, first byte on top; nullopt if it is not valid. */
	std::optional<uint64_t> arp_mac(uint64_t arp_index) const
	{
		return arp_index < arp_.size() ? arp_[arp_index] : std::nullopt;
	}

	/** Fields (hw::cqp_ah) of an address handle, or nullptr. */
	const hw::CqpWqe *handle(uint64_t index) const
	{
		return index < handles_.size() && handles_[index] ? &*handles_[index] : nullptr;
	}

	/** Calls @p take with the number of each queue pair in the multicast group of @p address. */
	template <class Take>
	void members(bool ipv4, const std::array<uint32_t, 4> &address, Take take) const
	{
		using namespace hw::cqp_mcast;

		for (const auto &group : groups_) {
			if (!group || group->command.get(hw::cqp_mcast::ipv4) != ipv4 ||
			    group->address() != address)
				continue;
			for (uint64_t member : group->members)
				if (member_valid.take(member))
					take(static_cast<uint32_t>(member_qp.take(member)));
		}
	}

	/** Is this a MAC that the driver has claimed (MANAGE_LOC_MAC)? */
	bool is_local_mac(uint64_t mac) const
	{
		return std::find(macs_.begin(), macs_.end(), std::optional(mac)) != macs_.end();
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

		std::array<uint32_t, 4> address() const;
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
