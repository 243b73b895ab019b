// SPDX-License-Identifier: GPL-2.0
/* Addressing tables; see address_tables.h. */
#include "address_tables.h"

#include <algorithm>

#include "device.h"
#include "rdma.h"

namespace e810 {

AddressTables::AddressTables(Rdma &rdma)
	: rdma_(rdma), arp_(Hmc::limit(hw::HmcObject::arp)),
	  handles_(Hmc::limit(hw::HmcObject::fsiav)), groups_(Hmc::limit(hw::HmcObject::fsimc))
{
}

CqpResult AddressTables::manage_arp(const hw::CqpWqe &wqe)
{
	using namespace hw::cqp_arp;
	uint32_t entry = static_cast<uint32_t>(wqe.get(hw::cqp_arp::index));
	CqpResult place = rdma_.hmc.check(hw::HmcObject::arp, entry);

	if (place.error)
		return place;
	if (wqe.get(query))
		return arp_[entry] ? CqpResult::ok()
				   : CqpResult::fail(hw::cqp_error::invalid_state);
	if (wqe.get(entry_valid))
		arp_[entry] = wqe.get(mac);
	else
		arp_[entry].reset();
	return CqpResult::ok();
}

CqpResult AddressTables::set_ah(const hw::CqpWqe &wqe, bool create)
{
	uint32_t index = static_cast<uint32_t>(wqe.get(hw::cqp_ah::ah));
	CqpResult place = rdma_.hmc.check(hw::HmcObject::fsiav, index);

	if (place.error)
		return place;
	if (handles_[index].has_value() == create)
		return CqpResult::fail(hw::cqp_error::invalid_state);
	if (!arp_valid(static_cast<uint32_t>(wqe.get(hw::cqp_ah::arp_index))))
		return CqpResult::fail(refusal::bad_parameter);
	handles_[index] = wqe;
	return CqpResult::ok();
}

CqpResult AddressTables::create_ah(const hw::CqpWqe &wqe)
{
	return set_ah(wqe, true);
}

CqpResult AddressTables::modify_ah(const hw::CqpWqe &wqe)
{
	return set_ah(wqe, false);
}

CqpResult AddressTables::destroy_ah(const hw::CqpWqe &wqe)
{
	uint64_t index = wqe.get(hw::cqp_ah::ah);

	if (index >= handles_.size() || !handles_[index])
		return CqpResult::fail(hw::cqp_error::invalid_state);
	handles_[index].reset();
	return CqpResult::ok();
}

/* Most significant word first; an IPv4 address in the last. */
std::array<uint32_t, 4> AddressTables::MulticastGroup::address() const
{
	using namespace hw::cqp_mcast;
	std::array<uint32_t, 4> words{};

	words[3] = static_cast<uint32_t>(command.get(dest_ip3));
	if (!command.get(ipv4)) {
		words[0] = static_cast<uint32_t>(command.get(dest_ip0));
		words[1] = static_cast<uint32_t>(command.get(dest_ip1));
		words[2] = static_cast<uint32_t>(command.get(dest_ip2));
	}
	return words;
}

CqpResult AddressTables::set_mcast(const hw::CqpWqe &wqe, bool create)
{
	uint32_t index = static_cast<uint32_t>(wqe.get(hw::cqp_mcast::group));
	CqpResult place = rdma_.hmc.check(hw::HmcObject::fsimc, index);
	MulticastGroup group{wqe, {}};

	if (place.error)
		return place;
	if (groups_[index].has_value() == create)
		return CqpResult::fail(hw::cqp_error::invalid_state);
	if (!rdma_.dev.memory.read64(wqe.get(hw::cqp_mcast::members_addr), group.members))
		return CqpResult::fail(refusal::memory_fault);
	for (uint64_t member : group.members)
		if (hw::cqp_mcast::member_valid.take(member))
			rdma_.dev.trace.event("member")
				.u64("group", index)
				.u64("qp", hw::cqp_mcast::member_qp.take(member))
				.u64("port", hw::cqp_mcast::member_port.take(member));
	groups_[index] = group;
	return CqpResult::ok();
}

CqpResult AddressTables::create_mcast(const hw::CqpWqe &wqe)
{
	return set_mcast(wqe, true);
}

CqpResult AddressTables::modify_mcast(const hw::CqpWqe &wqe)
{
	return set_mcast(wqe, false);
}

CqpResult AddressTables::destroy_mcast(const hw::CqpWqe &wqe)
{
	uint64_t index = wqe.get(hw::cqp_mcast::group);

	if (index >= groups_.size() || !groups_[index])
		return CqpResult::fail(hw::cqp_error::invalid_state);
	groups_[index].reset();
	return CqpResult::ok();
}

CqpResult AddressTables::manage_qhash(const hw::CqpWqe &wqe)
{
	using namespace hw::cqp_qhash;
	enum : uint64_t { remove, add, modify };
	/* Two entries are the same if they match the same packets. */
	auto same = [&](const hw::CqpWqe &entry) {
		return entry.get(dest_port) == wqe.get(dest_port) &&
		       entry.get(src_port) == wqe.get(src_port) &&
		       entry.get(ipv4) == wqe.get(ipv4) &&
		       entry.get(entry_type) == wqe.get(entry_type) &&
		       entry.get(vlan) == wqe.get(vlan) &&
		       std::equal(entry.qw + 4, entry.qw + 8, wqe.qw + 4,
				  [](hw::Le64 a, hw::Le64 b) { return a.get() == b.get(); });
	};
	auto found = std::find_if(hashes_.begin(), hashes_.end(), same);
	bool known = found != hashes_.end();

	switch (wqe.get(manage)) {
	case add:
		if (known)
			return CqpResult::fail(hw::cqp_error::invalid_state);
		if (hashes_.size() == max_hashes)
			return CqpResult::fail(refusal::exhausted);
		hashes_.push_back(wqe);
		return CqpResult::ok();
	case modify:
		if (known)
			*found = wqe;
		break;
	case remove:
		if (known)
			hashes_.erase(found);
		break;
	default:
		return CqpResult::fail(refusal::bad_parameter);
	}
	return known ? CqpResult::ok() : CqpResult::fail(hw::cqp_error::invalid_state);
}

CqpResult AddressTables::manage_apbvt(const hw::CqpWqe &wqe)
{
	ports_[wqe.get(hw::cqp_apbvt::port)] = wqe.get(hw::cqp_apbvt::add);
	return CqpResult::ok();
}

CqpResult AddressTables::alloc_loc_mac(const hw::CqpWqe &)
{
	auto free = std::find(macs_.begin(), macs_.end(), std::nullopt);

	if (free == macs_.end())
		return CqpResult::fail(refusal::exhausted);
	*free = 0;
	return CqpResult::ok(static_cast<uint32_t>(free - macs_.begin()));
}

CqpResult AddressTables::manage_loc_mac(const hw::CqpWqe &wqe)
{
	using namespace hw::cqp_mac;
	std::optional<uint64_t> &entry = macs_[wqe.get(hw::cqp_mac::index)];

	if (!entry)
		return CqpResult::fail(hw::cqp_error::invalid_state);
	if (wqe.get(hw::cqp_mac::free))
		entry.reset();
	else
		entry = wqe.get(mac);
	return CqpResult::ok();
}

uint32_t AddressTables::handles_in_use() const
{
	return static_cast<uint32_t>(std::count_if(handles_.begin(), handles_.end(),
						   [](const auto &h) { return h.has_value(); }));
}

uint32_t AddressTables::groups_in_use() const
{
	return static_cast<uint32_t>(std::count_if(groups_.begin(), groups_.end(),
						   [](const auto &g) { return g.has_value(); }));
}

void AddressTables::reset()
{
	std::fill(arp_.begin(), arp_.end(), std::nullopt);
	std::fill(handles_.begin(), handles_.end(), std::nullopt);
	std::fill(groups_.begin(), groups_.end(), std::nullopt);
	hashes_.clear();
	ports_.reset();
	macs_.fill(std::nullopt);
}

} // namespace e810
