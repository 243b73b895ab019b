// SPDX-License-Identifier: GPL-2.0
/* Host memory cache; see hmc.h. */
#include "hmc.h"

#include <algorithm>

#include "device.h"
#include "rdma.h"

namespace e810 {

namespace {

/* What the engine offers: a small one, so that a guest of 1 GiB can serve all of it. */
struct Offer {
	hw::HmcObject kind;
	uint32_t count;
	uint32_t size; /* log2 of an object's bytes, or a block size; see HmcObjectInfo::Size */
};

constexpr Offer offers[] = {
	{hw::HmcObject::qp, 512, 9},	  {hw::HmcObject::cq, 1024, 6},
	{hw::HmcObject::hte, 4096, 6},	  {hw::HmcObject::arp, 512, 6},
	{hw::HmcObject::apbvt, 1, 0},	  {hw::HmcObject::mr, 16384, 6},
	{hw::HmcObject::xf, 32768, 6},	  {hw::HmcObject::xffl, 32768, 4},
	{hw::HmcObject::q1, 131072, 6},	  {hw::HmcObject::q1fl, 131072, 4},
	{hw::HmcObject::timer, 4096, 6},  {hw::HmcObject::fsimc, 256, 6},
	{hw::HmcObject::fsiav, 512, 6},	  {hw::HmcObject::pble, 1 << 20, 0},
	{hw::HmcObject::rrf, 32768, 6},	  {hw::HmcObject::rrffl, 32768, 4},
	{hw::HmcObject::hdr, 512, 6},	  {hw::HmcObject::md, 1024, 6},
	{hw::HmcObject::ooisc, 32768, 6}, {hw::HmcObject::ooiscffl, 32768, 4},
};

consteval bool in_order()
{
	for (unsigned i = 0; i < hw::hmc_objects; i++)
		if (static_cast<unsigned>(offers[i].kind) != i ||
		    static_cast<unsigned>(hw::hmc_object_info[i].object) != i)
			return false;
	return std::size(offers) == hw::hmc_objects;
}
static_assert(in_order());

constexpr uint32_t hash_multiplier = 1;
constexpr uint32_t timer_bucket = 512;
constexpr uint32_t leaf_pbles = 512; /* in a leaf of a list of two levels */

uint32_t object_bytes(unsigned kind)
{
	const hw::HmcObjectInfo &info = hw::hmc_object_info[kind];

	return info.size == hw::HmcObjectInfo::log2_bytes ? 1u << offers[kind].size
							  : info.fixed_bytes;
}

} // namespace

PageList PageList::of(bool is_virtual, uint64_t address, uint32_t first_pble, uint32_t level)
{
	if (!is_virtual)
		return {address, 0, hw::PblLevel::contiguous};
	return {0, first_pble,
		level == static_cast<uint32_t>(hw::PblLevel::two) ? hw::PblLevel::two
								  : hw::PblLevel::one};
}

void Hmc::reset()
{
	objects_ = {};
	segments_ = {};
}

uint32_t Hmc::limit(hw::HmcObject kind)
{
	return offers[static_cast<unsigned>(kind)].count;
}

CqpResult Hmc::query_fpm(const hw::CqpWqe &wqe)
{
	hw::FpmBuffer buffer;

	for (unsigned kind = 0; kind < hw::hmc_objects; kind++) {
		const hw::HmcObjectInfo &info = hw::hmc_object_info[kind];

		if (info.size == hw::HmcObjectInfo::not_queried)
			continue;
		buffer.qw[info.query_word].set(hw::fpm_count.put(offers[kind].count) |
					       hw::fpm_size.put(offers[kind].size));
	}
	buffer.set(hw::fpm_query::first_sd, 0);
	buffer.set(hw::fpm_query::max_sds, max_segments);
	buffer.set(hw::fpm_query::max_ceqs, e810_ceqs(rdma_.dev.host));
	buffer.set(hw::fpm_query::hash_multiplier, hash_multiplier);
	buffer.set(hw::fpm_query::timer_bucket, timer_bucket);
	if (!rdma_.dev.memory.store(wqe.get(hw::cqp_fpm::addr), buffer))
		return CqpResult::fail(refusal::memory_fault);
	return CqpResult::ok();
}

CqpResult Hmc::commit_fpm(const hw::CqpWqe &wqe)
{
	uint64_t addr = wqe.get(hw::cqp_fpm::addr);
	auto buffer = rdma_.dev.memory.load<hw::FpmBuffer>(addr);
	std::array<Objects, hw::hmc_objects> objects;
	uint64_t base = 0;

	if (!buffer)
		return CqpResult::fail(refusal::memory_fault);
	TraceEvent line = rdma_.dev.trace.event("fpm");
	for (unsigned kind = 0; kind < hw::hmc_objects; kind++) {
		const hw::HmcObjectInfo &info = hw::hmc_object_info[kind];
		hw::Le64 &word = buffer->qw[info.commit_word];
		bool fixed = info.size == hw::HmcObjectInfo::not_queried;
		uint64_t count = fixed ? 1 : hw::fpm_count.take(word.get());

		line.u64(info.name, count);
		if (count > offers[kind].count)
			return CqpResult::fail(refusal::bad_parameter);
		objects[kind] = {static_cast<uint32_t>(count), object_bytes(kind), base};
		word.set(hw::fpm_count.put(fixed ? 0 : count) |
			 hw::fpm_base.put(base / hw::fpm_base_unit));
		base = irdma::align_up<uint64_t>(base + count * object_bytes(kind),
						 hw::fpm_base_unit);
	}
	if (base > max_segments * hw::sd_bytes)
		return CqpResult::fail(refusal::exhausted);
	if (!rdma_.dev.memory.store(addr, *buffer))
		return CqpResult::fail(refusal::memory_fault);
	objects_ = objects;
	return CqpResult::ok();
}

CqpResult Hmc::update_sds(const hw::CqpWqe &wqe)
{
	using namespace hw::cqp_sds;
	/* Entries in the request, then those in the buffer. */
	std::array<uint64_t, 2 * (inline_entries + 15)> words;
	uint64_t more = wqe.get(more_entries);
	size_t used = 0;
	auto add = [&](uint64_t command, uint64_t data) {
		words[used++] = command;
		words[used++] = data;
	};

	add(wqe.qw[0].get(), wqe.qw[1].get());
	if (wqe.get(entry1_valid))
		add(wqe.qw[4].get(), wqe.qw[5].get());
	if (wqe.get(entry2_valid))
		add(wqe.qw[6].get(), wqe.qw[7].get());
	if (more && !rdma_.dev.memory.read64(wqe.get(buffer) << buffer.lo,
					     std::span(words).subspan(used, 2 * more)))
		return CqpResult::fail(refusal::memory_fault);
	used += 2 * more;
	for (size_t i = wqe.get(skip_entry) ? 2 : 0; i < used; i += 2)
		if (!update_segment(words[i], words[i + 1]))
			return CqpResult::fail(refusal::bad_parameter);
	return CqpResult::ok();
}

bool Hmc::update_segment(uint64_t command, uint64_t data)
{
	using namespace hw::cqp_sds;
	uint64_t index = sd_index.take(command);

	rdma_.dev.trace.event("sd")
		.u64("index", index)
		.flag("valid", sd_valid.take(data))
		.flag("direct", sd_direct.take(data));
	if (index >= max_segments || !sd_write.take(command))
		return false;
	if (sd_valid.take(data) && sd_bp_count.take(data) != hw::pages_per_sd)
		return false;
	segments_[index] = {sd_valid.take(data) != 0, sd_direct.take(data) != 0,
			    sd_page.take(data) << sd_page.lo};
	return true;
}

CqpResult Hmc::pages_allocated(const hw::CqpWqe &)
{
	return CqpResult::ok();
}

std::optional<uint64_t> Hmc::translate(uint64_t private_address) const
{
	uint64_t index = private_address / hw::sd_bytes;
	uint64_t offset = private_address % hw::sd_bytes;

	if (index >= max_segments || !segments_[index].valid)
		return std::nullopt;
	const Segment &segment = segments_[index];
	if (segment.direct)
		return segment.address + offset;

	auto entry = rdma_.dev.memory.read64(segment.address + offset / 4096 * 8);
	if (!entry || !(*entry & hw::pd_entry_valid))
		return std::nullopt;
	return (*entry & ~0xfffULL) + offset % 4096;
}

bool Hmc::backed(hw::HmcObject kind, uint32_t index) const
{
	const Objects &objects = objects_[static_cast<unsigned>(kind)];

	return index < objects.count &&
	       translate(objects.base + static_cast<uint64_t>(index) * objects.bytes).has_value();
}

CqpResult Hmc::check(hw::HmcObject kind, uint32_t index) const
{
	if (index >= count(kind))
		return CqpResult::fail(refusal::bad_index);
	return backed(kind, index) ? CqpResult::ok() : CqpResult::unbacked();
}

std::optional<uint64_t> Hmc::pble(uint32_t index) const
{
	const Objects &pbles = objects_[static_cast<unsigned>(hw::HmcObject::pble)];

	if (index >= pbles.count)
		return std::nullopt;
	auto address = translate(pbles.base + static_cast<uint64_t>(index) * hw::pble_bytes);
	return address ? rdma_.dev.memory.read64(*address) : std::nullopt;
}

std::optional<uint64_t> Hmc::page(const PageList &list, uint64_t page) const
{
	if (page > UINT32_MAX - list.first_pble)
		return std::nullopt;
	if (list.level == hw::PblLevel::one)
		return pble(static_cast<uint32_t>(list.first_pble + page));

	auto root = pble(static_cast<uint32_t>(list.first_pble + page / leaf_pbles));
	if (!root || *root > UINT32_MAX - leaf_pbles)
		return std::nullopt;
	return pble(static_cast<uint32_t>(*root + page % leaf_pbles));
}

/* Memory comes in pages, so that it is enough to look for one in each. */
bool Hmc::has_pbles(uint64_t first, uint64_t number) const
{
	constexpr uint64_t step = hw::page_size / hw::pble_bytes;
	uint32_t total = count(hw::HmcObject::pble);

	if (first > total || number > total - first)
		return false;
	for (uint64_t i = 0; i < number; i += step)
		if (!backed(hw::HmcObject::pble, static_cast<uint32_t>(first + i)))
			return false;
	return !number || backed(hw::HmcObject::pble, static_cast<uint32_t>(first + number - 1));
}

bool Hmc::has_list(const PageList &list, uint64_t pages) const
{
	if (list.level == hw::PblLevel::contiguous)
		return true;
	if (list.level == hw::PblLevel::one)
		return has_pbles(list.first_pble, pages);

	uint64_t leaves = irdma::div_round_up(pages, leaf_pbles);

	if (!has_pbles(list.first_pble, leaves))
		return false;
	for (uint64_t i = 0; i < leaves; i++, pages -= std::min<uint64_t>(pages, leaf_pbles)) {
		auto leaf = pble(static_cast<uint32_t>(list.first_pble + i));

		if (!leaf || !has_pbles(*leaf, std::min<uint64_t>(pages, leaf_pbles)))
			return false;
	}
	return true;
}

std::optional<uint64_t> Hmc::address(const PageList &list, uint64_t offset) const
{
	if (list.level == hw::PblLevel::contiguous)
		return list.base + offset;

	auto start = page(list, offset / 4096);
	return start ? std::optional(*start + offset % 4096) : std::nullopt;
}

uint32_t Hmc::segments() const
{
	return static_cast<uint32_t>(std::count_if(segments_.begin(), segments_.end(),
						   [](const Segment &s) { return s.valid; }));
}

} // namespace e810
