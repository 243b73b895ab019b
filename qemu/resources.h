// SPDX-License-Identifier: GPL-2.0
/*
 * Resources that firmware hands out by number: VSI lists, Flow Director counters, profiles, TCAM entries.
 *
 * AdminQ commands 0208 and 0209. Ids index tables in the driver, so each type has its own bounded range.
 */
#pragma once

#include <bitset>
#include <cstdint>
#include <map>

#include "adminq.h"
#include "reset_kind.h"

namespace e810 {

class Resources {
public:
	explicit Resources(Device &dev) : dev_(dev) {}

	AqError allocate(AqCommand &cmd);
	AqError free(AqCommand &cmd);

	void reset(ResetKind kind);

private:
	static constexpr size_t most_ids = 1024;

	Device &dev_;
	/* Ids in use, by type. */
	std::map<uint16_t, std::bitset<most_ids>> used_;
};

} // namespace e810
