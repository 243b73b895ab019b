// SPDX-License-Identifier: GPL-2.0
/*
 * C++ that the compiler emits in every object that uses it, for the linker to
 * keep one copy: inline and virtual functions, templates, a constant, a
 * reference type that BTF does not know.
 */
#ifndef COMMON_H
#define COMMON_H

inline const int common_table[] = {3, 5, 8, 13};

template <class T> [[gnu::noinline]] T common_sum(T n)
{
	T sum = 0;

	for (T i = 0; i < n; ++i)
		sum += common_table[i & 3];
	return sum;
}

template <class T> T common_last(T &&n)
{
	return n + 1;
}

class Common {
public:
	constexpr Common() = default;
	virtual int value(int n) { return common_sum(n); }

protected:
	~Common() = default;
};

int common_other(Common &common);

#endif
