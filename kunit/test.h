// SPDX-License-Identifier: GPL-2.0
/*
 * How a test is written: a function without arguments that asks for what it
 * expects, and a table of them that makes a suite.
 *
 *	static void polarity_toggles()
 *	{
 *		EXPECT_EQ(lap_after(8), 1);
 *	}
 *	static constexpr bridge_case cases[] = {TEST(polarity_toggles)};
 *	SUITE(rings, cases)
 *
 * A failed EXPECT is said and the test goes on; REQUIRE leaves the function.
 */
#ifndef KUNIT_TEST_H
#define KUNIT_TEST_H

#include "base/types.h"
#include "bridge.h"

namespace irdma::test {

/** Say that the test has failed; a format as printf() has. */
__attribute__((format(printf, 3, 4))) void fail(const char *file, u32 line, const char *fmt, ...);
/** A line for who reads the results. */
__attribute__((format(printf, 1, 2))) void note(const char *fmt, ...);

/** Whether @condition holds; else it is said. */
bool expect(bool condition, const char *file, u32 line, const char *text);
/** The same for equality; @wanted is what is right. */
bool expect_equal(u64 got, u64 wanted, const char *file, u32 line, const char *text);

bool same_text(const char *a, const char *b);
/** Whether @text holds @part. */
bool contains(const char *text, const char *part);

template <class T> constexpr u64 as_number(T v)
{
	return static_cast<u64>(v);
}

/** Numbers that look random but are the same in each run. */
class Random {
public:
	explicit Random(u64 seed) : state_(seed * 2 + 1) {}
	u32 next()
	{
		state_ = state_ * 6364136223846793005ULL + 1442695040888963407ULL;
		return static_cast<u32>(state_ >> 33);
	}
	/** 0 .. @limit - 1. */
	u32 below(u32 limit) { return next() % limit; }
	/** @from .. @to. */
	u32 between(u32 from, u32 to) { return from + below(to - from + 1); }
	u64 next64() { return static_cast<u64>(next()) << 32 ^ static_cast<u64>(next()) << 8; }

private:
	u64 state_;
};

/** A callable, kept by value: a function, or a lambda that captures little. */
template <class> class Callback;
template <class R, class... Args> class Callback<R(Args...)> {
public:
	Callback() = default;
	template <class F> Callback(const F &function)
		: call_([](const void *kept, Args... args) -> R {
			  return (*static_cast<const F *>(kept))(args...);
		  })
	{
		static_assert(sizeof(F) <= sizeof(kept_) && __is_trivially_copyable(F));
		__builtin_memcpy(kept_, &function, sizeof(F));
	}
	explicit operator bool() const { return call_; }
	R operator()(Args... args) const { return call_(kept_, args...); }

private:
	u64 kept_[6] = {};
	R (*call_)(const void *, Args...) = nullptr;
};

} // namespace irdma::test

#define EXPECT(condition) ::irdma::test::expect(condition, __FILE__, __LINE__, #condition)
#define EXPECT_EQ(got, wanted)                                                            \
	::irdma::test::expect_equal(::irdma::test::as_number(got),                        \
				    ::irdma::test::as_number(wanted), __FILE__, __LINE__, \
				    #got " is " #wanted)
#define FAIL(...) ::irdma::test::fail(__FILE__, __LINE__, __VA_ARGS__)
#define REQUIRE(condition)              \
	do {                            \
		if (!EXPECT(condition)) \
			return;         \
	} while (0)

#define TEST(function)              \
	{                           \
#function, function \
	}
#define SUITE(name, cases)                             \
	extern "C" const bridge_suite name##_suite;    \
	extern "C" const bridge_suite name##_suite = { \
		#name, cases, static_cast<irdma::u32>(irdma::array_size(cases))};

#endif
