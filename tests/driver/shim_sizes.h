/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Sizes of the kernel's types, which the build of the module measures: here of
 * their stand-ins in shim.cpp, which are no larger.
 */
#ifndef SHIM_SIZES_H
#define SHIM_SIZES_H

#define SHIM_SIZEOF_SPINLOCK 8
#define SHIM_SIZEOF_MUTEX 8
#define SHIM_SIZEOF_COMPLETION 8
#define SHIM_SIZEOF_DELAYED_WORK 8

#endif
