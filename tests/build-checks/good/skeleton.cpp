// SPDX-License-Identifier: GPL-2.0
/* The C++ half of the smallest module; with other.cpp it shares common.h. */
#include "skeleton.h"

#include "common.h"
#include "shim_sizes.h"

namespace {

class Derived final : public Common {
public:
	int value(int n) override { return Common::value(n) + SHIM_SIZEOF_MUTEX; }
};

} // namespace

int skeleton_work(int n)
{
	Derived derived;

	return common_other(derived) + common_sum(n);
}
