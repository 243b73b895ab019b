// SPDX-License-Identifier: GPL-2.0
/*
 * Locks, completions, deferred work and time for the C++ side.
 *
 * The C++ sets room aside for the kernel's objects without seeing them;
 * SHIM_SIZEOF_* is their size in this very kernel.
 */
#include <linux/completion.h>
#include <linux/delay.h>
#include <linux/ktime.h>
#include <linux/mutex.h>
#include <linux/random.h>
#include <linux/spinlock.h>
#include <linux/timex.h>

#include "shim_device.h"

static_assert(sizeof(struct shim_spinlock) >= sizeof(spinlock_t));
static_assert(sizeof(struct shim_mutex) >= sizeof(struct mutex));
static_assert(sizeof(struct shim_completion) >= sizeof(struct completion));
static_assert(sizeof_field(struct shim_work, opaque) >= sizeof(struct delayed_work));

/* One lockdep class for each of enum shim_lock_class: all are made by the same two functions. */
static struct lock_class_key lock_keys[SHIM_LOCK_CLASSES];
#define LOCK_NAME(cls, name) [cls] = (name),
static const char *const lock_names[SHIM_LOCK_CLASSES] = { SHIM_LOCK_LIST(LOCK_NAME) };

static spinlock_t *spinlock_of(struct shim_spinlock *lock)
{
	return (spinlock_t *)lock->opaque;
}

static struct mutex *mutex_of(struct shim_mutex *mutex)
{
	return (struct mutex *)mutex->opaque;
}

static struct completion *completion_of(struct shim_completion *c)
{
	return (struct completion *)c->opaque;
}

static struct delayed_work *dwork_of(struct shim_work *work)
{
	return (struct delayed_work *)work->opaque;
}

/**
 * shim_spin_init() - make a spinlock
 * @lock: room for it
 * @cls: its lockdep class
 */
void shim_spin_init(struct shim_spinlock *lock, enum shim_lock_class cls)
{
	spin_lock_init(spinlock_of(lock));
	lockdep_set_class_and_name(spinlock_of(lock), &lock_keys[cls], lock_names[cls]);
}

/**
 * shim_spin_lock() - take a spinlock, with interrupts off
 * @lock: the lock
 *
 * Return: the flags for shim_spin_unlock().
 */
unsigned long shim_spin_lock(struct shim_spinlock *lock)
	__acquires(lock)
{
	unsigned long flags;

	spin_lock_irqsave(spinlock_of(lock), flags);
	return flags;
}

/**
 * shim_spin_unlock() - give a spinlock up
 * @lock: the lock
 * @flags: what shim_spin_lock() returned
 */
void shim_spin_unlock(struct shim_spinlock *lock, unsigned long flags)
	__releases(lock)
{
	spin_unlock_irqrestore(spinlock_of(lock), flags);
}

/**
 * shim_mutex_init() - make a mutex
 * @mutex: room for it
 * @cls: its lockdep class
 */
void shim_mutex_init(struct shim_mutex *mutex, enum shim_lock_class cls)
{
	mutex_init(mutex_of(mutex));
	lockdep_set_class_and_name(mutex_of(mutex), &lock_keys[cls], lock_names[cls]);
}

/**
 * shim_mutex_destroy() - end a mutex
 * @mutex: the mutex, which nobody holds
 */
void shim_mutex_destroy(struct shim_mutex *mutex)
{
	mutex_destroy(mutex_of(mutex));
}

/**
 * shim_mutex_lock() - take a mutex
 * @mutex: the mutex
 *
 * Context: May sleep.
 */
void shim_mutex_lock(struct shim_mutex *mutex)
{
	mutex_lock(mutex_of(mutex));
}

/**
 * shim_mutex_unlock() - give a mutex up
 * @mutex: the mutex
 */
void shim_mutex_unlock(struct shim_mutex *mutex)
{
	mutex_unlock(mutex_of(mutex));
}

/**
 * shim_completion_init() - make a completion
 * @c: room for it; may lie on the stack
 */
void shim_completion_init(struct shim_completion *c)
{
	init_completion(completion_of(c));
}

/**
 * shim_complete() - wake one waiter, now or to come
 * @c: the completion
 *
 * Context: Any.
 */
void shim_complete(struct shim_completion *c)
{
	complete(completion_of(c));
}

/**
 * shim_complete_all() - wake all waiters, now and to come
 * @c: the completion
 *
 * Context: Any.
 */
void shim_complete_all(struct shim_completion *c)
{
	complete_all(completion_of(c));
}

/**
 * shim_wait() - wait until it is completed
 * @c: the completion
 *
 * Context: May sleep; signals do not interrupt it.
 */
void shim_wait(struct shim_completion *c)
{
	wait_for_completion(completion_of(c));
}

/**
 * shim_wait_ms() - wait until it is completed, or time has run out
 * @c: the completion
 * @ms: for how long, milliseconds
 *
 * Context: May sleep; signals do not interrupt it.
 * Return: milliseconds left, at least 1; 0 if time ran out.
 */
u32 shim_wait_ms(struct shim_completion *c, u32 ms)
{
	unsigned long left = wait_for_completion_timeout(completion_of(c), msecs_to_jiffies(ms));

	return left ? max(1U, jiffies_to_msecs(left)) : 0;
}

/**
 * shim_try_wait() - take a completion if it is there
 * @c: the completion
 *
 * Context: Any.
 * Return: whether it was there.
 */
bool shim_try_wait(struct shim_completion *c)
{
	return try_wait_for_completion(completion_of(c));
}

static void run_work(struct work_struct *ws)
{
	struct shim_work *work =
		container_of((u8 (*)[SHIM_SIZEOF_DELAYED_WORK])to_delayed_work(ws),
			     struct shim_work, opaque);

	work->function(work->arg);
}

/**
 * shim_work_init() - make a work item
 * @work: room for it
 * @kind: which workqueue runs it
 * @function: what to run
 * @arg: its argument
 */
void shim_work_init(struct shim_work *work, enum shim_work_kind kind,
		    void (*function)(void *arg), void *arg)
{
	work->kind = kind;
	work->function = function;
	work->arg = arg;
	INIT_DELAYED_WORK(dwork_of(work), run_work);
}

/**
 * shim_work_queue() - have a work item run as soon as may be
 * @dev: whose workqueue
 * @work: the work item
 *
 * Context: Any.
 * Return: true if it was not already waiting to run.
 */
bool shim_work_queue(struct shim_device *dev, struct shim_work *work)
{
	return queue_delayed_work(dev->workqueues[work->kind], dwork_of(work), 0);
}

/**
 * shim_work_queue_ms() - have a work item run later
 * @dev: whose workqueue
 * @work: the work item
 * @delay_ms: after how long, milliseconds
 *
 * Context: Any.
 * Return: true if it was not already waiting to run.
 */
bool shim_work_queue_ms(struct shim_device *dev, struct shim_work *work, u32 delay_ms)
{
	return queue_delayed_work(dev->workqueues[work->kind], dwork_of(work),
				  msecs_to_jiffies(delay_ms));
}

/**
 * shim_work_cancel() - take a work item back, and wait until it does not run
 * @work: the work item
 *
 * Context: May sleep.
 * Return: true if it was waiting to run.
 */
bool shim_work_cancel(struct shim_work *work)
{
	return cancel_delayed_work_sync(dwork_of(work));
}

/**
 * shim_work_flush() - wait until all work of a device that is due has run
 * @dev: the device
 *
 * Context: May sleep.
 */
void shim_work_flush(struct shim_device *dev)
{
	int i;

	for (i = 0; i < SHIM_WORK_KINDS; i++)
		flush_workqueue(dev->workqueues[i]);
}

/**
 * shim_now_ms() - time since boot
 *
 * Context: Any.
 * Return: milliseconds; never goes back.
 */
u64 shim_now_ms(void)
{
	return ktime_to_ms(ktime_get());
}

/**
 * shim_now_ns() - the same in nanoseconds
 *
 * Context: Any.
 * Return: nanoseconds.
 */
u64 shim_now_ns(void)
{
	return ktime_get_ns();
}

/**
 * shim_ticks() - a clock that is read quickly, for short times on one CPU
 *
 * Context: Any; it may jump when the CPU changes.
 * Return: shim_ticks_per_ms() of them are a millisecond.
 */
u64 shim_ticks(void)
{
#ifdef CONFIG_X86
	if (tsc_khz)
		return get_cycles();
#endif
	return ktime_get_ns();
}

/**
 * shim_ticks_per_ms() - how fast shim_ticks() runs
 *
 * Context: Any.
 * Return: ticks a millisecond.
 */
u32 shim_ticks_per_ms(void)
{
#ifdef CONFIG_X86
	if (tsc_khz)
		return tsc_khz;
#endif
	return NSEC_PER_MSEC;
}

/**
 * shim_udelay() - wait without sleeping
 * @us: microseconds, a few at most
 */
void shim_udelay(u32 us)
{
	udelay(us);
}

/**
 * shim_sleep_us() - sleep
 * @us: microseconds; it takes up to twice as long
 *
 * Context: May sleep.
 */
void shim_sleep_us(u32 us)
{
	usleep_range(us, 2 * us);
}

/**
 * shim_random() - a random number
 *
 * Context: Any.
 * Return: 32 random bits.
 */
u32 shim_random(void)
{
	return get_random_u32();
}
