// SPDX-License-Identifier: GPL-2.0
/*
 * Addresses as the driver keeps them: in CPU order, an IPv4 address in word 3.
 */
#ifndef IRDMA_BASE_NET_H
#define IRDMA_BASE_NET_H

#include "types.h"

namespace irdma {

/** An IPv4 or IPv6 address; word[0] is the most significant, IPv4 lies in word[3]. */
struct IpAddress {
	u32 word[4] = {};
	bool ipv4 = false;

	constexpr bool operator==(const IpAddress &) const = default;
};

/** A MAC address as a number, first byte in bits 47:40. */
constexpr u64 mac_number(const u8 mac[6])
{
	u64 n = 0;

	for (int i = 0; i < 6; i++)
		n = n << 8 | mac[i];
	return n;
}

} // namespace irdma

#endif
