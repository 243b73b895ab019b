// SPDX-License-Identifier: GPL-2.0
/* The protocol engine's place in the device; see rdma.h. */
#include "rdma.h"

#include "device.h"

namespace e810 {

Rdma::Rdma(Device &dev) : dev_(dev) {}

void Rdma::reset(ResetKind) {}

bool Rdma::receive(std::span<const uint8_t>)
{
	return false;
}

void Rdma::wire_ready() {}

} // namespace e810
