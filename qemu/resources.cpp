// SPDX-License-Identifier: GPL-2.0
/* Allocation of ids; see resources.h. */
#include "resources.h"

#include <algorithm>

#include "device.h"

namespace e810 {

namespace {

/* Buffer: u16 type, u16 count, then an id of 16 bits each */
constexpr size_t first_id = 4;
constexpr uint16_t type_mask = 0x7f;

/* How many ids a type has; 0: a pool, whose entries have no ids. */
struct Range {
	uint16_t type;
	uint16_t count;
};

constexpr Range ranges[] = {
	{0x03, 1024}, /* VSI list, replication */
	{0x04, 1024}, /* VSI list, pruning */
	{0x05, 64},   /* recipe */
	{0x21, 512},  /* Flow Director counter block */
	{0x22, 0},    /* Flow Director entries, guaranteed */
	{0x23, 0},    /* Flow Director entries, shared */
	{0x58, 128},  /* Flow Director profile */
	{0x59, 512},  /* Flow Director TCAM entry */
	{0x60, 128},  /* RSS profile */
	{0x61, 512},  /* RSS TCAM entry */
};

const Range *find(uint16_t type)
{
	const Range *found = std::ranges::find(ranges, type, &Range::type);

	return found == std::end(ranges) ? nullptr : found;
}

} // namespace

void Resources::reset(ResetKind)
{
	used_.clear();
}

AqError Resources::allocate(AqCommand &cmd)
{
	const Range *range = find(cmd.buffer.u16(0) & type_mask);
	uint16_t count = cmd.buffer.u16(2);
	uint16_t id = 0;

	if (!range)
		return AqError::einval;
	if (!range->count)
		return AqError::ok;
	if (count > (cmd.buffer.size() - first_id) / 2)
		return AqError::einval;

	auto &used = used_[range->type];
	if (range->count - used.count() < count)
		return AqError::enospc;
	for (uint16_t i = 0; i < count; i++) {
		while (used[id])
			id++;
		used[id] = true;
		cmd.buffer.put16(first_id + 2 * i, id);
	}
	return AqError::ok;
}

AqError Resources::free(AqCommand &cmd)
{
	const Range *range = find(cmd.buffer.u16(0) & type_mask);
	uint16_t count = cmd.buffer.u16(2);

	if (!range)
		return AqError::einval;
	if (!range->count)
		return AqError::ok;
	if (count > (cmd.buffer.size() - first_id) / 2)
		return AqError::einval;
	for (uint16_t i = 0; i < count; i++) {
		uint16_t id = cmd.buffer.u16(first_id + 2 * i);

		if (id >= range->count || !used_[range->type][id]) {
			dev_.guest_error("frees resource %#x %u, which it does not have",
					 range->type, id);
			return AqError::einval;
		}
		used_[range->type][id] = false;
	}
	return AqError::ok;
}

} // namespace e810
