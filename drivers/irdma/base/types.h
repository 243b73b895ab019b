// SPDX-License-Identifier: GPL-2.0
/*
 * Fixed-width integers, and the few language helpers that a freestanding C++
 * translation unit cannot take from a standard library.
 *
 * Neither kernel nor QEMU names appear here, so the same file serves the
 * driver and the device model.
 */
#ifndef IRDMA_BASE_TYPES_H
#define IRDMA_BASE_TYPES_H

namespace irdma {

using u8 = unsigned char;
using u16 = unsigned short;
using u32 = unsigned int;
using u64 = unsigned long long;
using s32 = int;
using s64 = long long;
using usize = decltype(sizeof(0));

static_assert(sizeof(u16) == 2 && sizeof(u32) == 4 && sizeof(u64) == 8);

/** Number of elements of an array. */
template <class T, usize N> constexpr usize array_size(const T (&)[N])
{
	return N;
}

template <class T> constexpr T min(T a, T b)
{
	return b < a ? b : a;
}

template <class T> constexpr T max(T a, T b)
{
	return a < b ? b : a;
}

/** Round @v up to a multiple of the power of two @align. */
template <class T> constexpr T align_up(T v, T align)
{
	return (v + align - 1) & ~(align - 1);
}

constexpr bool is_power_of_two(u64 v)
{
	return v && !(v & (v - 1));
}

/** Floor of the base-2 logarithm; @v must not be 0. */
constexpr unsigned log2_floor(u64 v)
{
	return 63 - static_cast<unsigned>(__builtin_clzll(v));
}

/** The smallest power of two that is not below @v; 1 for 0. */
constexpr u64 round_up_pow2(u64 v)
{
	return v <= 1 ? 1 : 1ULL << (log2_floor(v - 1) + 1);
}

constexpr u64 div_round_up(u64 v, u64 by)
{
	return (v + by - 1) / by;
}

template <class T> struct RemoveReference {
	using type = T;
};
template <class T> struct RemoveReference<T &> {
	using type = T;
};
template <class T> struct RemoveReference<T &&> {
	using type = T;
};

template <class T> constexpr typename RemoveReference<T>::type &&move(T &&v)
{
	return static_cast<typename RemoveReference<T>::type &&>(v);
}

template <class T> constexpr T exchange(T &slot, T value)
{
	T old = move(slot);
	slot = move(value);
	return old;
}

} // namespace irdma

#endif
