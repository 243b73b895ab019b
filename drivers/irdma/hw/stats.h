// SPDX-License-Identifier: GPL-2.0
/*
 * Statistics of the protocol engine: where each counter lies in the buffer of
 * GATHER_STATS, and how many bits it has. Counters wrap.
 *
 * The names are those of the stock driver, which scripts and dashboards know
 * ("iw" and "tcp" are left from another protocol: iwInRdmaWrites counts RoCE
 * WRITEs).
 */
#ifndef IRDMA_HW_STATS_H
#define IRDMA_HW_STATS_H

#include "field.h"

namespace irdma::hw {

inline constexpr unsigned stats_words = 128;

struct Statistics : Words<stats_words> {};

inline constexpr Field statistics[] = {
	/* name, word, bits */
	{"ip4InDiscards", 3, 63, 32},
	{"ip4InTruncatedPkts", 3, 31, 0},
	{"ip4OutNoRoutes", 23, 55, 32},
	{"ip6InDiscards", 9, 63, 32},
	{"ip6InTruncatedPkts", 9, 31, 0},
	{"ip6OutNoRoutes", 23, 23, 0},
	{"tcpRetransSegs", 27, 63, 32},
	{"tcpInOptErrors", 25, 55, 32},
	{"tcpInProtoErrors", 25, 23, 0},
	{"rxVlanErrors", 0, 55, 32},
	{"ip4InOctets", 1, 47, 0},
	{"ip4InPkts", 2, 47, 0},
	{"ip4InReasmRqd", 4, 47, 0},
	{"ip4InMcastPkts", 6, 47, 0},
	{"ip4OutOctets", 13, 47, 0},
	{"ip4OutPkts", 14, 47, 0},
	{"ip4OutSegRqd", 15, 47, 0},
	{"ip4OutMcastPkts", 17, 47, 0},
	{"ip6InOctets", 7, 47, 0},
	{"ip6InPkts", 8, 47, 0},
	{"ip6InReasmRqd", 10, 47, 0},
	{"ip6InMcastPkts", 12, 47, 0},
	{"ip6OutOctets", 18, 47, 0},
	{"ip6OutPkts", 19, 47, 0},
	{"ip6OutSegRqd", 20, 47, 0},
	{"ip6OutMcastPkts", 22, 47, 0},
	{"tcpInSegs", 24, 63, 32},
	{"tcpOutSegs", 26, 47, 0},
	{"iwInRdmaReads", 31, 47, 0},
	{"iwInRdmaSends", 32, 47, 0},
	{"iwInRdmaWrites", 30, 47, 0},
	{"iwOutRdmaReads", 34, 47, 0},
	{"iwOutRdmaSends", 35, 47, 0},
	{"iwOutRdmaWrites", 33, 47, 0},
	{"iwRdmaBnd", 36, 47, 0},
	{"iwRdmaInv", 37, 47, 0},
	{"ip4InMcastOctets", 5, 47, 0},
	{"ip4OutMcastOctets", 16, 47, 0},
	{"ip6InMcastOctets", 11, 47, 0},
	{"ip6OutMcastOctets", 21, 47, 0},
	{"RxUDP", 28, 47, 0},
	{"TxUDP", 29, 47, 0},
	{"RxECNMrkd", 38, 55, 0},
	{"cnpHandled", 39, 31, 0},
	{"cnpIgnored", 39, 55, 32},
	{"cnpSent", 40, 31, 0},
};
static_assert(well_formed(statistics, stats_words));

/** How far a counter has come from @before to @now, if it has not wrapped more than once. */
constexpr u64 counter_delta(const Field &counter, u64 before, u64 now)
{
	return (now - before) & counter.max();
}

} // namespace irdma::hw

#endif
