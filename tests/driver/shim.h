// SPDX-License-Identifier: GPL-2.0
/*
 * A stand-in for the kernel below parts of the driver: what shim.cpp counts, and
 * how a check is reported.
 */
#pragma once

#include <cstdio>
#include <cstdlib>

#include "kernel.h"

/** Allocations that are out. */
extern long shim_allocations;
/** Allocations that succeed from now on, before all fail; negative: no limit. */
extern long shim_allocations_left;
/** How often the driver complained of what cannot happen. */
extern int shim_warnings;

/** Ends the program if @p ok does not hold. */
#define CHECK(ok)                                                                             \
	do {                                                                                  \
		if (!(ok)) {                                                                  \
			std::fprintf(stderr, "%s:%d: not so: %s\n", __FILE__, __LINE__, #ok); \
			std::exit(1);                                                         \
		}                                                                             \
	} while (0)
