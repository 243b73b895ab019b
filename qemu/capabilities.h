// SPDX-License-Identifier: GPL-2.0
/* What the function has: numbers that capabilities report and blocks keep to. */
#pragma once

#include <cstdint>

namespace e810 {

/** LAN queues of the function, transmit and receive each; the first is number 0. */
constexpr uint32_t lan_queues = 256;
/** VSIs of the function. */
constexpr uint32_t max_vsis = 384;
/** Entries of an RSS table of the function, and log2 of the most queues it spreads over. */
constexpr uint32_t rss_table_size = 2048;
constexpr uint32_t rss_queue_bits = 11;
/** Flow Director filters: guaranteed to a VSI, and shared. */
constexpr uint32_t fd_guaranteed = 1024;
constexpr uint32_t fd_shared = 14336;
/** Largest frame of the port in bytes. */
constexpr uint32_t max_mtu = 9728;

} // namespace e810
