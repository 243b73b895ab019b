// SPDX-License-Identifier: GPL-2.0
/*
 * Sizes and values that the C++ needs of the kernel it is built for. Compiled
 * to assembly, from which kbuild makes shim_sizes.h; no code of it is linked.
 */
#include <linux/kbuild.h>
#include <linux/completion.h>
#include <linux/mutex.h>
#include <linux/spinlock.h>
#include <linux/workqueue.h>
#include <rdma/ib_verbs.h>

void shim_sizes(void);

void shim_sizes(void)
{
	DEFINE(SHIM_SIZEOF_SPINLOCK, sizeof(spinlock_t));
	DEFINE(SHIM_SIZEOF_MUTEX, sizeof(struct mutex));
	DEFINE(SHIM_SIZEOF_COMPLETION, sizeof(struct completion));
	DEFINE(SHIM_SIZEOF_DELAYED_WORK, sizeof(struct delayed_work));
	DEFINE(SHIM_IB_WC_REG_MR, IB_WC_REG_MR);
}
