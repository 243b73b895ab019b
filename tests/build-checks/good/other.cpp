// SPDX-License-Identifier: GPL-2.0
/* A second object with the same inline code as skeleton.cpp. */
#include "common.h"

namespace {

class Another final : public Common {
};

} // namespace

int common_other(Common &common)
{
	Another another;

	return common.value(common_last(another.value(2) + common_sum(7)));
}
