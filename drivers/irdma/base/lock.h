// SPDX-License-Identifier: GPL-2.0
/*
 * Locks of the kernel as C++ objects, and guards that hold them for a scope.
 */
#ifndef IRDMA_BASE_LOCK_H
#define IRDMA_BASE_LOCK_H

#include "kernel.h"
#include "types.h"

namespace irdma {

/** Spinlock, always taken with interrupts off. @Class gives its lockdep class. */
class SpinLock {
public:
	explicit SpinLock(shim_lock_class cls) { shim_spin_init(&lock_, cls); }
	SpinLock(const SpinLock &) = delete;
	SpinLock &operator=(const SpinLock &) = delete;

private:
	friend class SpinGuard;
	shim_spinlock lock_;
};

/** Holds a SpinLock for a scope. */
class SpinGuard {
public:
	explicit SpinGuard(SpinLock &lock) : lock_(&lock.lock_), flags_(shim_spin_lock(lock_)) {}
	~SpinGuard() { unlock(); }
	SpinGuard(const SpinGuard &) = delete;
	SpinGuard &operator=(const SpinGuard &) = delete;

	/** Give it up before the scope ends. */
	void unlock()
	{
		if (lock_)
			shim_spin_unlock(exchange<shim_spinlock *>(lock_, nullptr), flags_);
	}

private:
	shim_spinlock *lock_;
	unsigned long flags_;
};

/** Mutex: may sleep. */
class Mutex {
public:
	explicit Mutex(shim_lock_class cls) { shim_mutex_init(&mutex_, cls); }
	~Mutex() { shim_mutex_destroy(&mutex_); }
	Mutex(const Mutex &) = delete;
	Mutex &operator=(const Mutex &) = delete;

private:
	friend class MutexGuard;
	shim_mutex mutex_;
};

/** Holds a Mutex for a scope. */
class MutexGuard {
public:
	explicit MutexGuard(Mutex &mutex) : mutex_(&mutex.mutex_) { shim_mutex_lock(mutex_); }
	~MutexGuard() { unlock(); }
	MutexGuard(const MutexGuard &) = delete;
	MutexGuard &operator=(const MutexGuard &) = delete;

	/** Give it up before the scope ends. */
	void unlock()
	{
		if (mutex_)
			shim_mutex_unlock(exchange<shim_mutex *>(mutex_, nullptr));
	}

private:
	shim_mutex *mutex_;
};

/** Something to wait for; may be completed in any context. */
class Completion {
public:
	Completion() { shim_completion_init(&c_); }
	Completion(const Completion &) = delete;
	Completion &operator=(const Completion &) = delete;

	void complete() { shim_complete(&c_); }
	void complete_all() { shim_complete_all(&c_); }

	/** May sleep. */
	void wait() { shim_wait(&c_); }

	/** May sleep. Whether it was completed within @ms milliseconds. */
	bool wait_ms(u32 ms) { return shim_wait_ms(&c_, ms); }

	/** Whether it was completed. Any context. */
	bool try_wait() { return shim_try_wait(&c_); }

private:
	shim_completion c_;
};

/** A function run later in process context. Must be cancelled before it goes away. */
class Work {
public:
	Work(void (*function)(void *arg), void *arg, shim_work_kind kind = SHIM_WORK_OBJECT)
	{
		shim_work_init(&work_, kind, function, arg);
	}
	Work(const Work &) = delete;
	Work &operator=(const Work &) = delete;

	bool queue(shim_device *dev) { return shim_work_queue(dev, &work_); }
	bool queue_ms(shim_device *dev, u32 ms) { return shim_work_queue_ms(dev, &work_, ms); }

	/** Returns when it neither waits nor runs. May sleep. */
	bool cancel() { return shim_work_cancel(&work_); }

private:
	shim_work work_;
};

} // namespace irdma

#endif
