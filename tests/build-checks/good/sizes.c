// SPDX-License-Identifier: GPL-2.0
/* In the place of shim/sizes.c: the sizes that the smallest module uses. */
#include <linux/completion.h>
#include <linux/kbuild.h>
#include <linux/mutex.h>

void sizes(void);

void sizes(void)
{
	DEFINE(SHIM_SIZEOF_COMPLETION, sizeof(struct completion));
	DEFINE(SHIM_SIZEOF_MUTEX, sizeof(struct mutex));
}
