/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Differences between the kernels that the module is built for (6.1 to 6.12),
 * so that no other file asks for a version.
 */
#ifndef SHIM_COMPAT_H
#define SHIM_COMPAT_H

#include <linux/version.h>

#if LINUX_VERSION_CODE < KERNEL_VERSION(6, 1, 0)
#error "irdma needs Linux 6.1 or newer"
#endif

#endif
