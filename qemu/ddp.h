// SPDX-License-Identifier: GPL-2.0
/*
 * Dynamic device personalization: the package that the driver downloads.
 *
 * The package's contents configure parser and switch, which are fixed in this model; kept is what the
 * driver asks back: that a package is active, and its name and version from the metadata section.
 */
#pragma once

#include <array>
#include <cstdint>

#include "adminq.h"
#include "reset_kind.h"

namespace e810 {

class Ddp {
public:
	explicit Ddp(Device &dev) : dev_(dev) {}

	/** A package is in force. */
	bool active() const { return active_; }

	AqError download(AqCommand &cmd);
	AqError update(AqCommand &cmd);
	AqError get_info(AqCommand &cmd);

	void reset(ResetKind kind);

private:
	void parse(Bytes buffer);

	Device &dev_;
	bool active_ = false;
	/* Metadata section: version (4 bytes), name (28), track id (4). */
	std::array<uint8_t, 36> metadata_{};
};

} // namespace e810
