// SPDX-License-Identifier: GPL-2.0
/* Access through STags; see roce_memory.h. */
#include "roce_memory.h"

#include <algorithm>

#include "device.h"
#include "rdma.h"

namespace e810 {

namespace {

using enum hw::AeCode;

constexpr uint32_t stag_index(uint32_t stag)
{
	return stag >> 8;
}

/* All memory: made by REG_MR with length 0. */
bool unbounded(const MemoryRegion &region)
{
	return !region.length && !region.is_window &&
	       region.pages.level == hw::PblLevel::contiguous;
}

bool within(const MemoryRegion &region, uint64_t address, uint64_t length)
{
	uint64_t start = region.va_based ? region.va : 0;

	return unbounded(region) || (address >= start && length <= region.length &&
				     address - start <= region.length - length);
}

/* Offset from the beginning of the region's first page. */
uint64_t page_list_offset(const MemoryRegion &region, uint64_t address)
{
	if (!region.va_based)
		return region.va + address;
	return (region.va & (bytes_of(region.page_size) - 1)) + (address - region.va);
}

} // namespace

void FragmentList::add(const Fragment &fragment)
{
	if (!fragment.length || count == most)
		return;
	fragments[count++] = fragment;
	length += fragment.length;
}

/* The region with that key in the queue pair's protection domain. */
RoceFault RoceMemory::find(const QueuePair &qp, uint32_t stag, MemoryRegion *&region) const
{
	region = rdma_.regions.find(stag_index(stag));
	if (!region)
		return amp_unallocated_stag;
	if (region->pd != qp.pd())
		return amp_bad_pd;
	return std::nullopt;
}

RoceFault RoceMemory::check(const QueuePair &qp, const Fragment &what, uint32_t right,
			    const MemoryRegion *&region) const
{
	MemoryRegion *named;

	if (RoceFault fault = find(qp, what.stag, named))
		return fault;
	region = named;
	if (!region->valid)
		return amp_invalid_stag;
	if (region->key != (what.stag & 0xff))
		return amp_bad_stag_key;
	if ((region->rights & right) != right)
		return amp_rights_violation;
	if (what.address + what.length < what.address)
		return amp_to_wrap;
	if (!within(*region, what.address, what.length))
		return amp_bounds_violation;
	if (region->is_window) {
		region = rdma_.regions.find(region->parent);
		if (!region || !region->valid || region->is_window)
			return amp_invalid_stag;
		if (!within(*region, what.address, what.length))
			return amp_bounds_violation;
	}
	return std::nullopt;
}

RoceFault RoceMemory::check_remote(const QueuePair &qp, const Fragment &what, uint32_t right) const
{
	const MemoryRegion *region;

	return check(qp, what, right, region);
}

bool RoceMemory::transfer(uint64_t bus, std::span<uint8_t> bytes, Direction direction) const
{
	return direction == Direction::read ? rdma_.dev.memory.read(bus, bytes)
					    : rdma_.dev.memory.write(bus, bytes);
}

/* Without a region, @p address is a bus address. */
RoceFault RoceMemory::copy(const MemoryRegion *region, uint64_t address, std::span<uint8_t> bytes,
			   Direction direction) const
{
	uint64_t page = region ? bytes_of(region->page_size) : 0;
	uint64_t offset = region ? page_list_offset(*region, address) : address;

	if (!region || region->pages.level == hw::PblLevel::contiguous) {
		uint64_t base = region ? region->pages.base : 0;

		return transfer(base + offset, bytes, direction) ? std::nullopt
								 : RoceFault(lce_qp_catastrophic);
	}
	while (!bytes.empty()) {
		size_t part = std::min<uint64_t>(bytes.size(), page - offset % page);
		auto start = rdma_.hmc.page(region->pages, offset / page);

		if (!start || !transfer(*start + offset % page, bytes.first(part), direction))
			return lce_qp_catastrophic;
		bytes = bytes.subspan(part);
		offset += part;
	}
	return std::nullopt;
}

RoceFault RoceMemory::read_remote(const QueuePair &qp, const Fragment &from,
				  std::span<uint8_t> out) const
{
	const MemoryRegion *region;

	if (out.empty())
		return std::nullopt;
	if (RoceFault fault = check(qp, from, hw::access::remote_read, region))
		return fault;
	return copy(region, from.address, out, Direction::read);
}

RoceFault RoceMemory::write_remote(const QueuePair &qp, const Fragment &to,
				   std::span<const uint8_t> in) const
{
	const MemoryRegion *region;

	if (in.empty())
		return std::nullopt;
	if (RoceFault fault = check(qp, to, hw::access::remote_write, region))
		return fault;
	/* Direction::write only reads the bytes. */
	return copy(region, to.address, {const_cast<uint8_t *>(in.data()), in.size()},
		    Direction::write);
}

RoceFault RoceMemory::copy_list(const QueuePair &qp, const FragmentList &list, uint64_t offset,
				std::span<uint8_t> bytes, Direction direction) const
{
	uint32_t right =
		direction == Direction::read ? hw::access::local_read : hw::access::local_write;

	for (size_t i = 0; i < list.count && !bytes.empty(); i++) {
		const Fragment &fragment = list.fragments[i];
		const MemoryRegion *region = nullptr;

		if (offset >= fragment.length) {
			offset -= fragment.length;
			continue;
		}
		size_t part = std::min<uint64_t>(bytes.size(), fragment.length - offset);
		/* STag 0 is all memory, for queue pairs of the kernel. */
		if (!fragment.stag && !qp.get(hw::qpc::priv_enable))
			return stag_zero_invalid;
		if (fragment.stag)
			if (RoceFault fault = check(qp, fragment, right, region))
				return fault;
		if (RoceFault fault =
			    copy(region, fragment.address + offset, bytes.first(part), direction))
			return fault;
		bytes = bytes.subspan(part);
		offset = 0;
	}
	return bytes.empty() ? std::nullopt : RoceFault(wqe_invalid_frag_data);
}

RoceFault RoceMemory::gather(const QueuePair &qp, const FragmentList &from, uint64_t offset,
			     std::span<uint8_t> out) const
{
	return copy_list(qp, from, offset, out, Direction::read);
}

RoceFault RoceMemory::scatter(const QueuePair &qp, const FragmentList &to, uint64_t offset,
			      std::span<const uint8_t> in) const
{
	return copy_list(qp, to, offset, {const_cast<uint8_t *>(in.data()), in.size()},
			 Direction::write);
}

RoceFault RoceMemory::fast_register(const QueuePair &qp, const hw::Quantum &wqe)
{
	using namespace hw::sq_fastreg;
	uint64_t level = wqe.get(pbl_level);
	uint64_t pble = wqe.get(first_pble_hi) << first_pble_lo.width() | wqe.get(first_pble_lo);
	MemoryRegion *region;

	if (!qp.get(hw::qpc::fastreg_enable))
		return priv_operation_denied;
	if (RoceFault fault =
		    find(qp, static_cast<uint32_t>(wqe.get(hw::sq_fastreg::index) << 8), region))
		return fault;
	if (region->is_window)
		return amp_fastreg_mw_stag;
	if (region->valid)
		return amp_fastreg_valid_stag;
	if (level == 2 ||
	    wqe.get(hw::sq_fastreg::page_size) > static_cast<uint64_t>(hw::HostPage::size_1g))
		return amp_fastreg_invalid_pbl_hps_cfg;
	if (level && pble >= rdma_.hmc.count(hw::HmcObject::pble))
		return amp_fastreg_pble_mismatch;
	if (!wqe.get(length))
		return amp_fastreg_invalid_length;
	region->va_based = wqe.get(va_based);
	region->va = wqe.get(va);
	region->length = wqe.get(length);
	region->page_size = static_cast<hw::HostPage>(wqe.get(hw::sq_fastreg::page_size));
	region->pages = PageList::of(level, wqe.get(page) << page.lo, static_cast<uint32_t>(pble),
				     static_cast<uint32_t>(level));
	if (!rdma_.hmc.has_list(region->pages, region->page_count()))
		return amp_fastreg_pble_mismatch;
	region->key = static_cast<uint8_t>(wqe.get(key));
	region->rights = static_cast<uint32_t>(wqe.get(hw::sq_fastreg::access));
	region->valid = true;
	return std::nullopt;
}

RoceFault RoceMemory::invalidate(const QueuePair &qp, uint32_t stag, bool remote)
{
	MemoryRegion *region;

	if (RoceFault fault = find(qp, stag, region))
		return fault;
	if (!region->valid)
		return amp_invalid_stag;
	if (region->key != (stag & 0xff))
		return amp_bad_stag_key;
	if (region->is_window && !region->window_type2)
		return amp_invalidate_type1_mw;
	if (remote && !(region->rights & (hw::access::remote_read | hw::access::remote_write)))
		return amp_invalidate_no_remote_access_rights;
	region->valid = false;
	rdma_.stats.count(qp.context, counter::invalidations);
	return std::nullopt;
}

RoceFault RoceMemory::bind(const QueuePair &qp, const hw::Quantum &wqe)
{
	using namespace hw::sq_bind;
	MemoryRegion *window;

	if (!qp.get(hw::qpc::bind_enable))
		return amp_mwbind_bind_disabled;
	if (RoceFault fault = find(qp, static_cast<uint32_t>(wqe.get(mw_stag)), window))
		return fault;
	if (!window->is_window)
		return amp_mwbind_of_mr_stag;
	if (window->window_type2 == static_cast<bool>(wqe.get(type1)))
		return amp_mwbind_wrong_type;
	if (window->window_type2 && window->valid)
		return amp_mwbind_valid_stag;
	if (wqe.get(length))
		return bind_to(qp, wqe, *window);
	window->valid = false;
	window->key = static_cast<uint8_t>(wqe.get(mw_stag));
	return std::nullopt;
}

RoceFault RoceMemory::bind_to(const QueuePair &qp, const hw::Quantum &wqe, MemoryRegion &window)
{
	using namespace hw::sq_bind;
	auto rights = static_cast<uint32_t>(wqe.get(hw::sq_bind::access));
	auto stag = static_cast<uint32_t>(wqe.get(parent_stag));
	MemoryRegion *parent;

	if (RoceFault fault = find(qp, stag, parent))
		return fault;
	if (parent->is_window)
		return amp_mwbind_to_mw_stag;
	if (!parent->valid || parent->key != (stag & 0xff))
		return amp_mwbind_to_invalid_parent;
	if (!parent->va_based)
		return amp_mwbind_to_zero_based_stag;
	if (!(parent->rights & hw::access::bind) ||
	    ((rights & hw::access::remote_write) && !(parent->rights & hw::access::local_write)))
		return amp_mwbind_invalid_rights;
	if (!wqe.get(va_based) && !window.window_type2)
		return amp_mwbind_zero_based_type1_mw;
	if (!wqe.get(va_based))
		return amp_mwbind_invalid_rights;
	if (!within(*parent, wqe.get(va), wqe.get(length)))
		return amp_mwbind_invalid_bounds;
	window.valid = true;
	window.key = static_cast<uint8_t>(wqe.get(mw_stag));
	window.va_based = true;
	window.va = wqe.get(va);
	window.length = wqe.get(length);
	window.rights = rights;
	window.parent = stag_index(stag);
	rdma_.stats.count(qp.context, counter::binds);
	return std::nullopt;
}

} // namespace e810
