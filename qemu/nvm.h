// SPDX-License-Identifier: GPL-2.0
/*
 * Flash: a 1 MiB image made here, with as much in it as drivers look for.
 *
 * Shadow RAM (the first 64 KiB) has the control word, versions and the places of three banks: NVM, option
 * ROM and netlist. The driver reads it all through AdminQ command 0701. Nothing can be written.
 */
#pragma once

#include <cstdint>
#include <vector>

#include "adminq.h"

namespace e810 {

class Nvm {
public:
	explicit Nvm(Device &dev);

	AqError read(AqCommand &cmd);

private:
	void build();

	std::vector<uint8_t> flash_;
};

} // namespace e810
