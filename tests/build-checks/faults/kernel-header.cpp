// SPDX-License-Identifier: GPL-2.0
// Refused: linux/types.h: No such file or directory
#include <linux/types.h>
