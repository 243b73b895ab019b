// SPDX-License-Identifier: GPL-2.0
/*
 * What a function that can fail returns: Status (nothing or an errno) or
 * Result<T> (a value or an errno). Neither may be dropped unread.
 */
#ifndef IRDMA_BASE_RESULT_H
#define IRDMA_BASE_RESULT_H

#include "kernel.h"
#include "types.h"

namespace irdma {

/** Error numbers, as the kernel has them but positive. */
enum class Error : int {
	io = SHIM_EIO,
	again = SHIM_EAGAIN,
	no_memory = SHIM_ENOMEM,
	access = SHIM_EACCES,
	fault = SHIM_EFAULT,
	busy = SHIM_EBUSY,
	exists = SHIM_EEXIST,
	no_device = SHIM_ENODEV,
	invalid = SHIM_EINVAL,
	no_entry = SHIM_ENOENT,
	no_space = SHIM_ENOSPC,
	protocol = SHIM_EPROTO,
	overflow = SHIM_EOVERFLOW,
	not_supported = SHIM_EOPNOTSUPP,
	timed_out = SHIM_ETIMEDOUT,
	cancelled = SHIM_ECANCELED,
};

/** Success, or an error. */
class [[nodiscard]] Status {
public:
	constexpr Status() = default;
	constexpr Status(Error e) : code_(-static_cast<int>(e)) {}

	/** From a kernel function's return value: 0, or a negative errno. */
	static constexpr Status from(int code)
	{
		Status s;
		s.code_ = code < 0 ? code : 0;
		return s;
	}

	constexpr bool ok() const { return !code_; }

	/** 0 or a negative errno. */
	constexpr int code() const { return code_; }
	constexpr bool is(Error e) const { return code_ == -static_cast<int>(e); }

private:
	int code_ = 0;
};

/** A value, or an error. T must be movable and have a default value. */
template <class T> class [[nodiscard]] Result {
public:
	Result(Error e) : status_(e) {}
	Result(T value) : value_(move(value)) {}

	/** A failure passed up from another call; @s must not be a success. */
	Result(Status s) : status_(s) {}

	bool ok() const { return status_.ok(); }
	Status status() const { return status_; }
	int code() const { return status_.code(); }

	/** Only of a success. */
	T &value() { return value_; }
	const T &value() const { return value_; }
	T take() { return move(value_); }

private:
	T value_{};
	Status status_;
};

constexpr Status status_of(Status s)
{
	return s;
}

template <class T> Status status_of(const Result<T> &r)
{
	return r.status();
}
} // namespace irdma

/** Leave the function with the error of @expr, if it is one. */
#define IRDMA_TRY(expr)                                                 \
	do {                                                            \
		::irdma::Status try_status_ = ::irdma::status_of(expr); \
		if (!try_status_.ok())                                  \
			return try_status_;                             \
	} while (0)

#endif
