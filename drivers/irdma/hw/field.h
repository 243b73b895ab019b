// SPDX-License-Identifier: GPL-2.0
/*
 * How the device lays out what it shares with the host: little-endian 64-bit
 * words, cut into bit fields.
 *
 * Every structure of the device is described once, as a list of named fields.
 * The driver writes and reads through the fields, the device model decodes
 * with the same ones, and traces print their names. A list asserts at compile
 * time that no two of its fields overlap.
 */
#ifndef IRDMA_HW_FIELD_H
#define IRDMA_HW_FIELD_H

#include "../base/types.h"

namespace irdma::hw {

constexpr u64 to_le64(u64 v)
{
#if __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__
	return __builtin_bswap64(v);
#else
	return v;
#endif
}

/** A 64-bit word as the device sees it: little endian in memory. */
class Le64 {
public:
	constexpr Le64() = default;
	constexpr explicit Le64(u64 v) : raw_(to_le64(v)) {}

	constexpr u64 get() const { return to_le64(raw_); }
	constexpr void set(u64 v) { raw_ = to_le64(v); }

	/** One load that the compiler may neither split, repeat nor drop. */
	u64 read_once() const { return to_le64(*static_cast<const volatile u64 *>(&raw_)); }

	/** One store that the compiler may neither split, repeat nor drop. */
	void write_once(u64 v) { *static_cast<volatile u64 *>(&raw_) = to_le64(v); }

private:
	u64 raw_ = 0;
};
static_assert(sizeof(Le64) == 8);

/**
 * A field: bits hi..lo of one 64-bit word of a structure.
 */
struct Field {
	const char *name; /**< as traces and messages print it */
	u8 word;	  /**< index of the 64-bit word in the structure */
	u8 hi;		  /**< highest bit, inclusive */
	u8 lo;		  /**< lowest bit */

	constexpr unsigned width() const { return hi - lo + 1u; }
	constexpr u64 max() const { return width() == 64 ? ~0ULL : (1ULL << width()) - 1; }
	constexpr u64 mask() const { return max() << lo; }

	/** The word with only this field set to @v; higher bits of @v are cut. */
	constexpr u64 put(u64 v) const { return (v & max()) << lo; }

	/** The field's value out of its word. */
	constexpr u64 take(u64 whole) const { return (whole >> lo) & max(); }
};

/** A structure of @Count words. */
template <unsigned Count> struct Words {
	static constexpr unsigned count = Count;

	Le64 qw[Count];

	constexpr u64 get(const Field &f) const { return f.take(qw[f.word].get()); }

	constexpr void set(const Field &f, u64 v)
	{
		qw[f.word].set((qw[f.word].get() & ~f.mask()) | f.put(v));
	}

	constexpr void clear()
	{
		for (Le64 &w : qw)
			w.set(0);
	}
};

/** Name and fields of a structure, for decoding. */
struct Layout {
	const char *name;
	const Field *fields;
	unsigned count;
};

template <usize N> constexpr Layout layout(const char *name, const Field (&fields)[N])
{
	return {name, fields, static_cast<unsigned>(N)};
}

/** Whether no two fields share a bit and all lie within @words words. */
template <usize N> consteval bool well_formed(const Field (&fields)[N], unsigned words)
{
	for (usize i = 0; i < N; i++) {
		if (fields[i].word >= words || fields[i].hi > 63 || fields[i].lo > fields[i].hi)
			return false;
		for (usize j = 0; j < i; j++)
			if (fields[i].word == fields[j].word &&
			    (fields[i].mask() & fields[j].mask()))
				return false;
	}
	return true;
}

} // namespace irdma::hw

#endif
