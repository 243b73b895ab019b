// SPDX-License-Identifier: GPL-2.0
/*
 * Atomic counters and memory barriers, by the compiler's builtins: the kernel's
 * own are macros over types that C++ cannot include.
 */
#ifndef IRDMA_BASE_ATOMIC_H
#define IRDMA_BASE_ATOMIC_H

#include "types.h"

namespace irdma {

/** Keep the compiler from moving memory accesses across. */
inline void compiler_barrier()
{
	asm volatile("" ::: "memory");
}

/** Loads before it are done before loads after it, as seen by the device. */
inline void dma_read_barrier()
{
#if defined(__x86_64__)
	compiler_barrier();
#else
	__atomic_thread_fence(__ATOMIC_SEQ_CST);
#endif
}

/** Stores before it are seen by the device before stores after it. */
inline void dma_write_barrier()
{
#if defined(__x86_64__)
	compiler_barrier();
#else
	__atomic_thread_fence(__ATOMIC_SEQ_CST);
#endif
}

/** Everything before it is done before anything after it, loads after stores included. */
inline void full_barrier()
{
	__atomic_thread_fence(__ATOMIC_SEQ_CST);
}

/** A value read and written whole by several CPUs. Sequentially consistent. */
template <class T> class Atomic {
public:
	constexpr Atomic(T v = T{}) : v_(v) {}
	Atomic(const Atomic &) = delete;
	Atomic &operator=(const Atomic &) = delete;

	T load() const { return __atomic_load_n(&v_, __ATOMIC_ACQUIRE); }
	void store(T v) { __atomic_store_n(&v_, v, __ATOMIC_RELEASE); }
	T exchange(T v) { return __atomic_exchange_n(&v_, v, __ATOMIC_SEQ_CST); }
	T add(T n) { return __atomic_add_fetch(&v_, n, __ATOMIC_SEQ_CST); }
	T sub(T n) { return __atomic_sub_fetch(&v_, n, __ATOMIC_SEQ_CST); }

	/** Set to @to if it is @from; whether it was. */
	bool compare_exchange(T from, T to)
	{
		return __atomic_compare_exchange_n(&v_, &from, to, false, __ATOMIC_SEQ_CST,
						   __ATOMIC_SEQ_CST);
	}

private:
	T v_;
};

} // namespace irdma

#endif
