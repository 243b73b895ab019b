// SPDX-License-Identifier: GPL-2.0
/*
 * Host memory cache: the device keeps its objects (QP, CQ, MR, PBLE ...) in
 * host memory. QUERY_FPM tells what it can use, COMMIT_FPM tells it how many of
 * each there shall be and returns where each kind begins in a linear space of
 * its own, and segment descriptors (SDs) back that space, 2 MiB each.
 */
#ifndef IRDMA_HW_HMC_H
#define IRDMA_HW_HMC_H

#include "field.h"

namespace irdma::hw {

inline constexpr u64 sd_bytes = 2ULL << 20;
inline constexpr u32 pages_per_sd = 512;
inline constexpr u32 fpm_base_unit = 512; /* bases come in units of 512 bytes */
inline constexpr u32 pble_bytes = 8;

struct FpmBuffer : Words<22> {};
static_assert(sizeof(FpmBuffer) == 176);

/** The kinds of objects, in the order in which they are laid out. */
enum class HmcObject : u8 {
	qp,
	cq,
	hte, /* hash table */
	arp,
	apbvt, /* port bitmap: fixed size, not counted */
	mr,
	xf,   /* transmit FIFO */
	xffl, /* its free list */
	q1,   /* incoming READs */
	q1fl,
	timer,
	fsimc, /* multicast groups */
	fsiav, /* address handles */
	pble,
	rrf,
	rrffl,
	hdr,
	md,
	ooisc,
	ooiscffl,
	count
};
inline constexpr unsigned hmc_objects = static_cast<unsigned>(HmcObject::count);

/**
 * Where an object stands in the QUERY_FPM and COMMIT_FPM buffers, and what the upper half of
 * its QUERY_FPM word means.
 */
struct HmcObjectInfo {
	HmcObject object;
	const char *name;
	u8 query_word;	/**< its word in the QUERY_FPM buffer */
	u8 commit_word; /**< its word in the COMMIT_FPM buffer */
	enum Size : u8 {
		log2_bytes,  /**< upper half: log2 of the object's bytes */
		block_size,  /**< upper half: objects of the paired kind per block */
		fixed,	     /**< size is fixed_bytes */
		not_queried, /**< not in QUERY_FPM */
	} size;
	u16 fixed_bytes; /**< bytes of one object where not given by the device */
};

inline constexpr HmcObjectInfo hmc_object_info[] = {
	{HmcObject::qp, "QP", 1, 0, HmcObjectInfo::log2_bytes, 0},
	{HmcObject::cq, "CQ", 2, 1, HmcObjectInfo::log2_bytes, 0},
	{HmcObject::hte, "HTE", 4, 3, HmcObjectInfo::log2_bytes, 0},
	{HmcObject::arp, "ARP", 5, 4, HmcObjectInfo::log2_bytes, 0},
	{HmcObject::apbvt, "APBVT", 0, 5, HmcObjectInfo::not_queried, 8192},
	{HmcObject::mr, "MR", 6, 6, HmcObjectInfo::log2_bytes, 0},
	{HmcObject::xf, "XF", 7, 7, HmcObjectInfo::log2_bytes, 0},
	{HmcObject::xffl, "XFFL", 8, 8, HmcObjectInfo::block_size, 4},
	{HmcObject::q1, "Q1", 9, 9, HmcObjectInfo::log2_bytes, 0},
	{HmcObject::q1fl, "Q1FL", 10, 10, HmcObjectInfo::block_size, 4},
	{HmcObject::timer, "TIMER", 11, 11, HmcObjectInfo::log2_bytes, 0},
	{HmcObject::fsimc, "FSIMC", 12, 12, HmcObjectInfo::log2_bytes, 0},
	{HmcObject::fsiav, "FSIAV", 13, 13, HmcObjectInfo::log2_bytes, 0},
	{HmcObject::pble, "PBLE", 14, 14, HmcObjectInfo::fixed, 8},
	{HmcObject::rrf, "RRF", 16, 16, HmcObjectInfo::log2_bytes, 0},
	{HmcObject::rrffl, "RRFFL", 17, 17, HmcObjectInfo::block_size, 4},
	{HmcObject::hdr, "HDR", 18, 18, HmcObjectInfo::log2_bytes, 0},
	{HmcObject::md, "MD", 19, 19, HmcObjectInfo::log2_bytes, 0},
	{HmcObject::ooisc, "OOISC", 20, 20, HmcObjectInfo::log2_bytes, 0},
	{HmcObject::ooiscffl, "OOISCFFL", 21, 21, HmcObjectInfo::block_size, 4},
};
static_assert(array_size(hmc_object_info) == hmc_objects);

/* QUERY_FPM: words that are not counts of objects. */
namespace fpm_query {
inline constexpr Field first_sd{"first_sd", 0, 13, 0};
inline constexpr Field max_sds{"max_sds", 0, 45, 32};
inline constexpr Field max_ceqs{"max_ceqs", 15, 9, 0};
inline constexpr Field hash_multiplier{"hash_multiplier", 15, 19, 16};
inline constexpr Field timer_bucket{"timer_bucket", 15, 47, 32};
inline constexpr Field fixed_fields[] = {
	first_sd, max_sds, max_ceqs, hash_multiplier, timer_bucket,
};
static_assert(well_formed(fixed_fields, 22));
} // namespace fpm_query

/* The two halves of an object's word (the word is the object's own). */
inline constexpr Field fpm_count{"count", 0, 31, 0};
inline constexpr Field fpm_qp_count{"count", 0, 18, 0}; /* of QPs */
inline constexpr Field fpm_cq_count{"count", 0, 19, 0}; /* of CQs */
inline constexpr Field fpm_size{"size", 0, 63, 32};	/* QUERY_FPM: see HmcObjectInfo::Size */
inline constexpr Field fpm_base{"base", 0, 63, 32};	/* COMMIT_FPM: in units of 512 bytes */

/* An entry of the page table of a paged segment. */
inline constexpr u64 pd_entry_valid = 1;

} // namespace irdma::hw

#endif
