// SPDX-License-Identifier: GPL-2.0
/*
 * What the programs of rules share: CHECK() prints a line for a rule that is broken, and counts it.
 */
#pragma once

#include <cstdio>

/** Rules broken so far. */
inline int broken;

/** Note that the rule of that text, in that line, holds or is broken. */
inline void check(bool holds, const char *rule, int line)
{
	if (!holds) {
		std::printf("FAIL line %d: %s\n", line, rule);
		broken++;
	}
}
#define CHECK(condition) check(condition, #condition, __LINE__)
