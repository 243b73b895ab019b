// SPDX-License-Identifier: GPL-2.0
/*
 * Host memory cache; see hmc.h.
 *
 *   FPM    | QP | CQ | HTE | ... | PBLE ...... | RRF | ... |   linear, a base for each kind
 *   SDs    | 0 | 1 | 2 | 3 |             | 9 | 10 |            2 MiB each
 *
 * All kinds but the PBLEs are backed at bring-up; the PBLE pool backs its
 * segments when it needs them. The counts are those that the stock driver
 * chooses for the same device, with no more QPs than limits_sel asks for.
 */
#include "hmc.h"

#include "../cqp/commands.h"
#include "../device.h"
#include "../hw/limits.h"

namespace irdma {

using HmcObject = hw::HmcObject;
using HmcObjectInfo = hw::HmcObjectInfo;

namespace {

/*
 * QPs by limits_sel, as users of E810 drivers know it. The last is what no device offers, and it
 * keeps the arithmetic below within 64 bits, counts within 32.
 */
constexpr u32 max_qps[] = {128, 1024, 2048, 4096, 16384, 65536, 131072, 262144};
static_assert(array_size(max_qps) == SHIM_LIMITS_SEL_MAX + 1);
constexpr u32 max_objects = 1u << 28;
constexpr u32 max_log2_bytes = 16;
constexpr u32 max_block = 1024;
constexpr u32 max_mrs = 1u << 24; /* bits of an STag's index */

/* Units in which too large wishes shrink. */
constexpr u32 unit = 1024;
constexpr u32 min_qps = 128;
constexpr u32 min_addresses = 256;
constexpr unsigned max_rounds = 2000;

constexpr u64 pbles_per_sd = hw::sd_bytes / hw::pble_bytes;

const hw::Field &count_field(HmcObject kind)
{
	switch (kind) {
	case HmcObject::qp:
		return hw::fpm_qp_count;
	case HmcObject::cq:
		return hw::fpm_cq_count;
	default:
		return hw::fpm_count;
	}
}

} // namespace

/** What is to be had of the kinds that the others depend on. */
struct Hmc::Wish {
	u32 qps, mrs, pbles;
};

/** Segment descriptors to be set or cleared, up to three a command. */
struct Hmc::SdBatch {
	explicit SdBatch(Device &d) : device(d) {}

	Status add(const cmd::SdEntry &entry)
	{
		command.entry[command.count++] = entry;
		return command.count == hw::cqp_sds::inline_entries ? flush() : Status();
	}

	Status flush()
	{
		if (!command.count)
			return {};
		command.hmc_fn = device.port.pf_id;
		Status done = device.cqp.run(command).status();
		command.count = 0;
		return done;
	}

	Device &device;
	cmd::UpdateSds command = {};
};

Hmc::Hmc(Device &device) : device_(device) {}

Hmc::~Hmc()
{
	for (usize i = 0; i < segments_.count(); i++)
		segments_[i].reset();
}

/* ---- What the device offers ---- */

Status Hmc::query()
{
	auto buffer = DmaBuffer::create(device_.shim, sizeof(hw::FpmBuffer));

	IRDMA_TRY(buffer);
	auto done = device_.cqp.run(cmd::QueryFpm{
		.buffer = buffer.value().bus(),
		.hmc_fn = device_.port.pf_id,
	});
	if (!done.ok()) {
		device_.graveyard.bury(buffer.take());
		return done.status();
	}
	Status read = read_query(*buffer.value().as<hw::FpmBuffer>());
	if (!read.ok())
		shim_log(device_.shim, SHIM_ERR,
			 "device offers a host memory cache that cannot be");
	return read;
}

Status Hmc::read_query(const hw::FpmBuffer &answer)
{
	namespace f = hw::fpm_query;

	first_sd_ = static_cast<u32>(answer.get(f::first_sd));
	max_sds_ = static_cast<u32>(answer.get(f::max_sds));
	max_ceqs_ = static_cast<u32>(answer.get(f::max_ceqs));
	hash_multiplier_ = static_cast<u32>(answer.get(f::hash_multiplier));
	timer_bucket_ = static_cast<u32>(answer.get(f::timer_bucket));
	if (!max_sds_ || !max_ceqs_ || !hash_multiplier_)
		return Error::protocol;

	for (const HmcObjectInfo &info : hw::hmc_object_info) {
		Object &o = object(info.object);
		u64 word = answer.qw[info.query_word].get();
		u32 size = static_cast<u32>(hw::fpm_size.take(word));

		if (info.size == HmcObjectInfo::not_queried) {
			o = {.max_count = 1, .bytes = info.fixed_bytes};
			continue;
		}
		o.max_count = static_cast<u32>(count_field(info.object).take(word));
		o.bytes = info.fixed_bytes;
		if (info.size == HmcObjectInfo::log2_bytes) {
			if (size > max_log2_bytes)
				return Error::protocol;
			o.bytes = 1u << size;
		} else if (info.size == HmcObjectInfo::block_size) {
			if (size > max_block || (!size && o.max_count))
				return Error::protocol;
			o.block = size;
		}
		if (o.max_count > max_objects)
			return Error::protocol;
	}
	if (!object(HmcObject::xffl).block || !object(HmcObject::q1fl).block ||
	    !object(HmcObject::qp).max_count || !object(HmcObject::cq).max_count ||
	    !object(HmcObject::mr).max_count || object(HmcObject::mr).max_count > max_mrs)
		return Error::protocol;
	return {};
}

/* ---- How many of each ---- */

/** READs that may be under way at the responders of @qps QPs. */
u32 Hmc::q1_count(u32 qps) const
{
	return static_cast<u32>(round_up_pow2(2ULL * hw::max_ird * qps + 512));
}

void Hmc::set_counts(const Wish &wish)
{
	auto count = [this](HmcObject kind) -> u32 & { return object(kind).count; };
	auto offered = [this](HmcObject kind) { return object(kind).max_count; };
	auto blocks = [this](HmcObject list, HmcObject of) {
		const Object &free_list = object(list);

		return free_list.block ? object(of).count / free_list.block : 0;
	};
	/* No more groups than can be named, so that the product stays within 32 bits. */
	u32 groups = min(count(HmcObject::fsimc), hw::max_mcast_groups);
	u32 hashed = align_up(wish.qps + groups, 512u);

	count(HmcObject::qp) = wish.qps;
	count(HmcObject::cq) = min(2 * wish.qps, count(HmcObject::cq));
	count(HmcObject::mr) = wish.mrs;
	count(HmcObject::pble) = wish.pbles;
	count(HmcObject::hte) = static_cast<u32>(round_up_pow2(hashed)) * hash_multiplier_;
	count(HmcObject::xf) = 4 * object(HmcObject::xffl).block * wish.qps;
	count(HmcObject::xffl) = blocks(HmcObject::xffl, HmcObject::xf);
	count(HmcObject::q1) = q1_count(wish.qps);
	count(HmcObject::q1fl) = blocks(HmcObject::q1fl, HmcObject::q1);
	count(HmcObject::timer) = (align_up(wish.qps, 512u) / 512 + 1) * timer_bucket_;
	count(HmcObject::hdr) = wish.qps;
	if (offered(HmcObject::rrf))
		count(HmcObject::rrf) = 32 * wish.qps;
	if (offered(HmcObject::rrffl))
		count(HmcObject::rrffl) = blocks(HmcObject::rrffl, HmcObject::rrf);
	if (offered(HmcObject::ooisc))
		count(HmcObject::ooisc) = 32 * wish.qps;
	if (offered(HmcObject::ooiscffl))
		count(HmcObject::ooiscffl) = blocks(HmcObject::ooiscffl, HmcObject::ooisc);
}

/** Segments that the counts call for. */
u64 Hmc::segments_needed() const
{
	u64 bytes = 0;

	for (const Object &o : object_)
		bytes += align_up(o.size(), static_cast<u64>(hw::fpm_base_unit));
	return div_round_up(bytes, hw::sd_bytes);
}

/**
 * Start from all that the device offers, with so many QPs, and shrink until it fits into its segments:
 * page lists first, then MRs, QPs and addresses.
 */
Status Hmc::choose_counts()
{
	for (Object &o : object_)
		o.count = o.max_count;

	u32 qps = min(object(HmcObject::qp).max_count, max_qps[shim_limits_sel()]);
	Wish wish = {.qps = 1u << log2_floor(qps),
		     .mrs = object(HmcObject::mr).max_count,
		     .pbles = object(HmcObject::pble).max_count};
	u32 &groups = object(HmcObject::fsimc).count;
	u32 &handles = object(HmcObject::fsiav).count;
	auto halve = [](u32 &count) {
		if (count > min_addresses)
			count /= 2;
	};

	while (wish.qps && q1_count(wish.qps) > object(HmcObject::q1).max_count)
		wish.qps /= 2;

	for (unsigned round = 1; wish.qps && round <= max_rounds; round++) {
		set_counts(wish);
		u64 needed = segments_needed();

		if (needed <= max_sds_) {
			if (round > 1)
				object(HmcObject::pble).count +=
					static_cast<u32>((max_sds_ - needed) * pbles_per_sd);
			return {};
		}
		u64 excess = needed - max_sds_;

		if (excess > 128) {
			if (round % 2 == 0 && wish.qps > min_qps) {
				wish.qps /= 2;
			} else {
				wish.mrs /= 2;
				wish.pbles /= 2;
			}
			continue;
		}
		if (wish.pbles > 512 * unit * excess) {
			wish.pbles -= static_cast<u32>(256 * unit * excess);
			continue;
		}
		if (wish.pbles > 100 * unit) {
			wish.pbles -= 10 * unit;
		} else if (wish.pbles > unit) {
			wish.pbles -= unit;
		} else if (wish.qps <= min_qps) {
			halve(groups);
			halve(handles);
		}
		if (wish.mrs > unit)
			wish.mrs -= unit;
		if (round % 10 == 0 && wish.qps > min_qps) {
			wish.qps /= 2;
			halve(handles);
		}
	}
	shim_log(device_.shim, SHIM_ERR, "no number of QPs fits into the device's %u segments",
		 max_sds_);
	return Error::invalid;
}

Status Hmc::commit()
{
	IRDMA_TRY(choose_counts());

	auto buffer = DmaBuffer::create(device_.shim, sizeof(hw::FpmBuffer));

	IRDMA_TRY(buffer);
	auto &fpm = *buffer.value().as<hw::FpmBuffer>();

	for (const HmcObjectInfo &info : hw::hmc_object_info)
		if (info.size != HmcObjectInfo::not_queried)
			fpm.qw[info.commit_word].set(object(info.object).count);

	auto done = device_.cqp.run(cmd::CommitFpm{
		.buffer = buffer.value().bus(),
		.hmc_fn = device_.port.pf_id,
	});
	if (!done.ok()) {
		device_.graveyard.bury(buffer.take());
		return done.status();
	}
	Status read = read_commit(fpm);
	if (!read.ok())
		shim_log(device_.shim, SHIM_ERR, "device lays out its host memory cache wrongly");
	return read;
}

/** No kind may have more than was asked for, lie beyond the segments, or on top of another. */
Status Hmc::read_commit(const hw::FpmBuffer &answer)
{
	u64 limit = (first_sd_ + max_sds_) * hw::sd_bytes;

	for (const HmcObjectInfo &info : hw::hmc_object_info) {
		Object &o = object(info.object);
		u64 word = answer.qw[info.commit_word].get();
		u32 count = static_cast<u32>(count_field(info.object).take(word));

		o.base = hw::fpm_base.take(word) * hw::fpm_base_unit;
		if (info.size != HmcObjectInfo::not_queried) {
			if (count > o.count || (!count && o.count))
				return Error::protocol;
			o.count = count;
		}
		if (o.end() > limit)
			return Error::protocol;
	}
	for (const Object &a : object_)
		for (const Object &b : object_)
			if (&a != &b && a.size() && b.size() && a.base < b.end() &&
			    b.base < a.end())
				return Error::protocol;
	return {};
}

/* ---- Segments ---- */

Status Hmc::allocate()
{
	SdBatch batch(device_);
	u64 end = 0;

	for (const Object &o : object_)
		end = max(end, o.end());
	auto segments = Array<DmaBuffer>::create(div_round_up(end, hw::sd_bytes));
	IRDMA_TRY(segments);
	segments_ = segments.take();

	Status done = [&]() -> Status {
		for (u32 sd = 0; sd < segments_.count(); sd++) {
			if (!holds_static(sd))
				continue;
			IRDMA_TRY(add_memory(sd));
			IRDMA_TRY(batch.add(set_entry(sd)));
		}
		IRDMA_TRY(batch.flush());
		return device_.cqp.run(cmd::ShmcPagesAllocated{.hmc_fn = device_.port.pf_id})
			.status();
	}();
	if (!done.ok())
		release();
	return done;
}

/** Whether segment @sd holds any object that must be there from the start. */
bool Hmc::holds_static(u32 sd) const
{
	u64 from = sd * hw::sd_bytes;

	for (const HmcObjectInfo &info : hw::hmc_object_info) {
		const Object &o = object_[static_cast<u8>(info.object)];

		if (info.object != HmcObject::pble && o.size() && o.base < from + hw::sd_bytes &&
		    o.end() > from)
			return true;
	}
	return false;
}

Status Hmc::add_memory(u32 sd)
{
	auto memory = DmaBuffer::create(device_.shim, hw::sd_bytes);

	IRDMA_TRY(memory);
	segments_[sd] = memory.take();
	backed_bytes_ += hw::sd_bytes;
	return {};
}

cmd::SdEntry Hmc::set_entry(u32 sd) const
{
	return {.index = sd, .valid = true, .direct = true, .addr = segments_[sd].bus()};
}

Result<u8 *> Hmc::back_segment(u32 sd)
{
	if (sd >= segments_.count())
		return Error::no_memory;
	if (!segments_[sd]) {
		SdBatch batch(device_);

		IRDMA_TRY(add_memory(sd));
		Status done = batch.add(set_entry(sd));
		if (done.ok())
			done = batch.flush();
		if (!done.ok()) {
			device_.graveyard.bury(move(segments_[sd]));
			backed_bytes_ -= hw::sd_bytes;
			return done;
		}
	}
	return segments_[sd].as<u8>();
}

void Hmc::release()
{
	SdBatch batch(device_);

	for (u32 sd = 0; sd < segments_.count() && !device_.dead(); sd++) {
		if (!segments_[sd])
			continue;
		/* A refusal has been logged; the memory stays until the engine is off. */
		(void)batch.add({.index = sd, .valid = false, .direct = true, .addr = 0});
	}
	if (!device_.dead())
		(void)batch.flush();
	backed_bytes_ = 0;
}

void Hmc::show(shim_text *text) const
{
	shim_print(text, "segments_from %u\nsegments_allowed %u\nbacked_bytes %llu\n", first_sd_,
		   max_sds_, backed_bytes_);
	shim_print(text, "%-10s %10s %10s %6s %14s\n", "kind", "count", "offered", "bytes", "base");
	for (const hw::HmcObjectInfo &info : hw::hmc_object_info) {
		const Object &o = object_[static_cast<u8>(info.object)];

		shim_print(text, "%-10s %10u %10u %6u %#14llx\n", info.name, o.count, o.max_count,
			   o.bytes, o.base);
	}
}

} // namespace irdma
