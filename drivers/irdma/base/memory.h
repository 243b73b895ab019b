// SPDX-License-Identifier: GPL-2.0
/*
 * Owners of memory: objects from the kernel's allocator, arrays, and DMA
 * memory. Each gives back what it owns when it goes away.
 */
#ifndef IRDMA_BASE_MEMORY_H
#define IRDMA_BASE_MEMORY_H

#include "kernel.h"
#include "result.h"
#include "types.h"

/* In tests on a host there is a standard library. */
#if __STDC_HOSTED__
#include <new>
#else
inline void *operator new(irdma::usize, void *at) noexcept
{
	return at;
}
#endif

namespace irdma {

/** Destroy and free an object made by make(). */
template <class T> void destroy(T *object)
{
	if (!object)
		return;
	object->~T();
	shim_free(object);
}

/** Sole owner of an object from the heap. */
template <class T> class Owner {
public:
	Owner() = default;
	explicit Owner(T *object) : object_(object) {}
	Owner(Owner &&other) : object_(other.release()) {}
	Owner &operator=(Owner &&other)
	{
		if (this != &other) {
			destroy(object_);
			object_ = other.release();
		}
		return *this;
	}
	~Owner() { destroy(object_); }

	T *get() const { return object_; }
	T *operator->() const { return object_; }
	T &operator*() const { return *object_; }
	explicit operator bool() const { return object_; }
	T *release() { return exchange<T *>(object_, nullptr); }

private:
	T *object_ = nullptr;
};

/**
 * Allocate and construct a T; may sleep.
 *
 * Return: the owner; an empty one when there is no memory.
 */
template <class T, class... Args> [[nodiscard]] Owner<T> make(Args &&...args)
{
	void *mem = shim_zalloc(sizeof(T));

	return mem ? Owner<T>(new (mem) T(static_cast<Args &&>(args)...)) : Owner<T>();
}

/** Owner of a zeroed array of trivial elements. */
template <class T> class Array {
public:
	Array() = default;
	Array(Array &&other)
		: data_(exchange<T *>(other.data_, nullptr)),
		  count_(exchange<usize>(other.count_, 0))
	{
	}
	Array &operator=(Array &&other)
	{
		if (this != &other) {
			shim_free(data_);
			data_ = exchange<T *>(other.data_, nullptr);
			count_ = exchange<usize>(other.count_, 0);
		}
		return *this;
	}
	~Array() { shim_free(data_); }

	/** May sleep. */
	static Result<Array> create(usize count)
	{
		Array a;

		if (count > ~0ULL / sizeof(T))
			return Error::no_memory;
		a.data_ = static_cast<T *>(shim_zalloc(count * sizeof(T)));
		if (!a.data_)
			return Error::no_memory;
		a.count_ = count;
		return move(a);
	}

	usize count() const { return count_; }
	T *data() const { return data_; }
	T &operator[](usize i) const { return data_[i]; }

private:
	T *data_ = nullptr;
	usize count_ = 0;
};

/** Owner of coherent DMA memory. */
class DmaBuffer {
public:
	DmaBuffer() = default;
	DmaBuffer(DmaBuffer &&other) { take(other); }
	DmaBuffer &operator=(DmaBuffer &&other)
	{
		if (this != &other) {
			reset();
			take(other);
		}
		return *this;
	}
	~DmaBuffer() { reset(); }

	/** Zeroed, aligned to a page at least; may sleep. */
	static Result<DmaBuffer> create(shim_device *dev, u64 bytes)
	{
		DmaBuffer b;

		b.cpu_ = shim_dma_alloc(dev, bytes, &b.bus_);
		if (!b.cpu_)
			return Error::no_memory;
		b.dev_ = dev;
		b.bytes_ = bytes;
		return move(b);
	}

	void reset()
	{
		if (cpu_)
			shim_dma_free(dev_, bytes_, cpu_, bus_);
		cpu_ = nullptr;
	}

	/** Never free it: the device may still write to it. */
	void abandon() { cpu_ = nullptr; }

	explicit operator bool() const { return cpu_; }
	u64 bus() const { return bus_; }
	u64 bytes() const { return bytes_; }
	void *cpu() const { return cpu_; }
	template <class T> T *as(u64 offset = 0) const
	{
		return reinterpret_cast<T *>(static_cast<u8 *>(cpu_) + offset);
	}

private:
	void take(DmaBuffer &other)
	{
		dev_ = other.dev_;
		cpu_ = exchange<void *>(other.cpu_, nullptr);
		bus_ = other.bus_;
		bytes_ = other.bytes_;
	}

	shim_device *dev_ = nullptr;
	void *cpu_ = nullptr;
	u64 bus_ = 0;
	u64 bytes_ = 0;
};

} // namespace irdma

#endif
