// SPDX-License-Identifier: GPL-2.0
/*
 * Sizes of kernel objects that C++ sets room aside for without seeing their
 * definitions. Compiled to assembly only; Kbuild makes shim_sizes.h of it.
 */
#include <linux/completion.h>
#include <linux/kbuild.h>
#include <linux/kref.h>
#include <linux/mutex.h>
#include <linux/refcount.h>
#include <linux/rwsem.h>
#include <linux/spinlock.h>
#include <linux/timer.h>
#include <linux/wait.h>
#include <linux/workqueue.h>
#include <linux/xarray.h>

/* SHIM_SIZEOF_<name> and SHIM_ALIGNOF_<name>, in bytes. */
#define OBJECT(name, type)				\
	DEFINE(SHIM_SIZEOF_##name, sizeof(type));	\
	DEFINE(SHIM_ALIGNOF_##name, __alignof__(type))

int main(void);
int main(void)
{
	OBJECT(SPINLOCK, spinlock_t);
	OBJECT(MUTEX, struct mutex);
	OBJECT(RW_SEMAPHORE, struct rw_semaphore);
	OBJECT(COMPLETION, struct completion);
	OBJECT(WAIT_QUEUE_HEAD, wait_queue_head_t);
	OBJECT(WORK, struct work_struct);
	OBJECT(DELAYED_WORK, struct delayed_work);
	OBJECT(TIMER, struct timer_list);
	OBJECT(REFCOUNT, refcount_t);
	OBJECT(KREF, struct kref);
	OBJECT(XARRAY, struct xarray);
	return 0;
}
