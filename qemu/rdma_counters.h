// SPDX-License-Identifier: GPL-2.0
/*
 * The counters of hw::statistics that the transport counts, by names of the model.
 */
#pragma once

#include <iterator>
#include <string_view>

#include "irdma/hw/stats.h"

namespace e810 {

namespace hw = irdma::hw;

/* "Octets" are of IP packets; multicasts ("mc") are counted apart. */
namespace counter {

consteval const hw::Field &find(std::string_view name)
{
	for (const hw::Field &field : hw::statistics)
		if (name == field.name)
			return field;
	return hw::statistics[std::size(
		hw::statistics)]; /* no such counter: refused when compiled */
}

inline constexpr const hw::Field &rx_vlan_errors = find("rxVlanErrors");
inline constexpr const hw::Field &ip4_rx_octets = find("ip4InOctets");
inline constexpr const hw::Field &ip4_rx_packets = find("ip4InPkts");
inline constexpr const hw::Field &ip4_rx_discarded = find("ip4InDiscards");
inline constexpr const hw::Field &ip4_rx_mc_octets = find("ip4InMcastOctets");
inline constexpr const hw::Field &ip4_rx_mc_packets = find("ip4InMcastPkts");
inline constexpr const hw::Field &ip6_rx_octets = find("ip6InOctets");
inline constexpr const hw::Field &ip6_rx_packets = find("ip6InPkts");
inline constexpr const hw::Field &ip6_rx_discarded = find("ip6InDiscards");
inline constexpr const hw::Field &ip6_rx_mc_octets = find("ip6InMcastOctets");
inline constexpr const hw::Field &ip6_rx_mc_packets = find("ip6InMcastPkts");
inline constexpr const hw::Field &ip4_tx_octets = find("ip4OutOctets");
inline constexpr const hw::Field &ip4_tx_packets = find("ip4OutPkts");
inline constexpr const hw::Field &ip4_tx_mc_octets = find("ip4OutMcastOctets");
inline constexpr const hw::Field &ip4_tx_mc_packets = find("ip4OutMcastPkts");
inline constexpr const hw::Field &ip6_tx_octets = find("ip6OutOctets");
inline constexpr const hw::Field &ip6_tx_packets = find("ip6OutPkts");
inline constexpr const hw::Field &ip6_tx_mc_octets = find("ip6OutMcastOctets");
inline constexpr const hw::Field &ip6_tx_mc_packets = find("ip6OutMcastPkts");
inline constexpr const hw::Field &retransmitted = find("tcpRetransSegs");
inline constexpr const hw::Field &udp_rx_packets = find("RxUDP");
inline constexpr const hw::Field &udp_tx_packets = find("TxUDP");
inline constexpr const hw::Field &rdma_rx_writes = find("iwInRdmaWrites");
inline constexpr const hw::Field &rdma_rx_reads = find("iwInRdmaReads");
inline constexpr const hw::Field &rdma_rx_sends = find("iwInRdmaSends");
inline constexpr const hw::Field &rdma_tx_writes = find("iwOutRdmaWrites");
inline constexpr const hw::Field &rdma_tx_reads = find("iwOutRdmaReads");
inline constexpr const hw::Field &rdma_tx_sends = find("iwOutRdmaSends");
inline constexpr const hw::Field &binds = find("iwRdmaBnd");
inline constexpr const hw::Field &invalidations = find("iwRdmaInv");
inline constexpr const hw::Field &rx_ecn_marked = find("RxECNMrkd");
inline constexpr const hw::Field &cnp_handled = find("cnpHandled");
inline constexpr const hw::Field &cnp_ignored = find("cnpIgnored");
inline constexpr const hw::Field &cnp_sent = find("cnpSent");

} // namespace counter

} // namespace e810
