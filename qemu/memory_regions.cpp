// SPDX-License-Identifier: GPL-2.0
/* STags; see memory_regions.h. */
#include "memory_regions.h"

#include <algorithm>

#include "device.h"
#include "rdma.h"

namespace e810 {

namespace {

/* Bits of an index that number the region at least, however few regions were committed. */
constexpr unsigned min_number_bits = 14;

} // namespace

MemoryRegions::MemoryRegions(Rdma &rdma) : rdma_(rdma), regions_(Hmc::limit(hw::HmcObject::mr)) {}

uint32_t MemoryRegions::slot(uint64_t index) const
{
	uint32_t count = rdma_.hmc.count(hw::HmcObject::mr);
	unsigned bits = irdma::max(irdma::log2_floor(irdma::round_up_pow2(count)), min_number_bits);

	return static_cast<uint32_t>(index & ((1u << bits) - 1));
}

MemoryRegion *MemoryRegions::find(uint64_t index)
{
	uint32_t number = slot(index);

	if (number >= regions_.size() || !regions_[number].exists ||
	    regions_[number].index != index)
		return nullptr;
	return &regions_[number];
}

/* What all commands that make an STag have in common. */
CqpResult MemoryRegions::prepare(const hw::CqpWqe &wqe, MemoryRegion &region)
{
	using namespace hw::cqp_stag;
	uint64_t whole = wqe.get(hw::cqp_stag::index);
	uint32_t number = slot(whole);
	CqpResult place = rdma_.hmc.check(hw::HmcObject::mr, number);

	if (place.error)
		return place;
	if (regions_[number].exists)
		return CqpResult::fail(hw::cqp_error::invalid_state);
	region.exists = true;
	region.index = static_cast<uint32_t>(whole);
	region.pd = static_cast<uint32_t>(wqe.get(pd));
	region.key = static_cast<uint8_t>(wqe.get(key));
	return CqpResult::ok();
}

CqpResult MemoryRegions::alloc(const hw::CqpWqe &wqe)
{
	using namespace hw::cqp_stag;
	MemoryRegion region;
	CqpResult result = prepare(wqe, region);

	if (result.error)
		return result;
	region.is_window = !wqe.get(is_mr);
	region.window_type2 = region.is_window && !wqe.get(mw_wide);
	region.rights = static_cast<uint32_t>(wqe.get(hw::cqp_stag::access));
	region.remote_access = wqe.get(remote_access);
	region.page_size = static_cast<hw::HostPage>(wqe.get(page_size));
	region.pages =
		PageList::of(wqe.get(pbl_level), 0, static_cast<uint32_t>(wqe.get(first_pble)),
			     static_cast<uint32_t>(wqe.get(pbl_level)));
	regions_[slot(region.index)] = region;
	return result;
}

CqpResult MemoryRegions::reg(const hw::CqpWqe &wqe)
{
	using namespace hw::cqp_stag;
	MemoryRegion region;
	uint64_t level = wqe.get(pbl_level);
	CqpResult result = prepare(wqe, region);

	if (result.error)
		return result;
	if (level == 2 || wqe.get(page_size) > static_cast<uint64_t>(hw::HostPage::size_1g) ||
	    (level && wqe.get(first_pble) >= rdma_.hmc.count(hw::HmcObject::pble)))
		return CqpResult::fail(refusal::bad_parameter);
	region.valid = true;
	region.va_based = wqe.get(va_based);
	region.va = wqe.get(va);
	region.length = wqe.get(length);
	region.rights = static_cast<uint32_t>(wqe.get(hw::cqp_stag::access));
	region.remote_access = wqe.get(remote_access);
	region.page_size = static_cast<hw::HostPage>(wqe.get(page_size));
	region.pages =
		PageList::of(level, wqe.get(addr), static_cast<uint32_t>(wqe.get(first_pble)),
			     static_cast<uint32_t>(level));
	if (!rdma_.hmc.has_list(region.pages, region.page_count()))
		return CqpResult::fail(refusal::bad_parameter);
	regions_[slot(region.index)] = region;
	return result;
}

CqpResult MemoryRegions::reg_shared(const hw::CqpWqe &wqe)
{
	using namespace hw::cqp_stag;
	MemoryRegion *parent = find(wqe.get(parent_index));

	if (!parent || !parent->valid || parent->is_window)
		return CqpResult::fail(hw::cqp_error::stag_invalid);
	MemoryRegion region = *parent;
	CqpResult result = prepare(wqe, region);
	if (result.error)
		return result;
	region.va_based = wqe.get(va_based);
	region.va = wqe.get(va);
	region.rights = static_cast<uint32_t>(wqe.get(hw::cqp_stag::access));
	region.remote_access = wqe.get(remote_access);
	regions_[slot(region.index)] = region;
	return result;
}

CqpResult MemoryRegions::query(const hw::CqpWqe &wqe)
{
	MemoryRegion *region = find(wqe.get(hw::cqp_stag::index));

	if (!region || !region->valid)
		return CqpResult::fail(hw::cqp_error::stag_invalid);
	return CqpResult::ok();
}

CqpResult MemoryRegions::dealloc(const hw::CqpWqe &wqe)
{
	MemoryRegion *region = find(wqe.get(hw::cqp_stag::index));

	if (!region)
		return CqpResult::fail(hw::cqp_error::stag_invalid);
	*region = MemoryRegion{};
	return CqpResult::ok();
}

uint32_t MemoryRegions::in_use() const
{
	return static_cast<uint32_t>(std::count_if(regions_.begin(), regions_.end(),
						   [](const MemoryRegion &r) { return r.exists; }));
}

void MemoryRegions::reset()
{
	std::fill(regions_.begin(), regions_.end(), MemoryRegion{});
}

} // namespace e810
