// SPDX-License-Identifier: GPL-2.0
/*
 * Guest memory as the device sees it: bounded, typed DMA.
 *
 * Every address and length here may come from a hostile guest, so each access can fail and says so;
 * what was read is a copy, which the guest can no longer change under the reader. Used by all blocks.
 */
#pragma once

#include <bit>
#include <cstdint>
#include <cstring>
#include <optional>
#include <span>
#include <type_traits>

#include "glue.h"

namespace e810 {

static_assert(std::endian::native == std::endian::little,
	      "device structures are copied as they are");

class Memory {
public:
	explicit Memory(e810_host *host) : host_(host) {}

	/** Largest single transfer in bytes; more is a fault of the caller's bounds. */
	static constexpr size_t max_transfer = 4 << 20;

	/** Copies @p out.size() bytes from bus address @p addr. False: not readable, @p out undefined. */
	[[nodiscard]] bool read(uint64_t addr, std::span<uint8_t> out) const
	{
		return out.size() <= max_transfer && no_wrap(addr, out.size()) &&
		       e810_dma_read(host_, addr, out.data(), out.size());
	}

	/** Copies @p in to bus address @p addr. */
	[[nodiscard]] bool write(uint64_t addr, std::span<const uint8_t> in) const
	{
		return in.size() <= max_transfer && no_wrap(addr, in.size()) &&
		       e810_dma_write(host_, addr, in.data(), in.size());
	}

	/** Reads one plain little-endian object. */
	template <class T> [[nodiscard]] std::optional<T> load(uint64_t addr) const
	{
		static_assert(std::is_trivially_copyable_v<T>);
		T value;
		if (!read(addr, {reinterpret_cast<uint8_t *>(&value), sizeof(value)}))
			return std::nullopt;
		return value;
	}

	/** Writes one plain little-endian object. */
	template <class T> [[nodiscard]] bool store(uint64_t addr, const T &value) const
	{
		static_assert(std::is_trivially_copyable_v<T>);
		return write(addr, {reinterpret_cast<const uint8_t *>(&value), sizeof(value)});
	}

	[[nodiscard]] std::optional<uint64_t> read64(uint64_t addr) const
	{
		return load<uint64_t>(addr);
	}

	/** Reads consecutive 64-bit words. */
	[[nodiscard]] bool read64(uint64_t addr, std::span<uint64_t> out) const
	{
		return read(addr, {reinterpret_cast<uint8_t *>(out.data()), out.size_bytes()});
	}

	[[nodiscard]] bool write64(uint64_t addr, uint64_t value) const
	{
		return store(addr, value);
	}

	/** Writes consecutive 64-bit words. */
	[[nodiscard]] bool write64(uint64_t addr, std::span<const uint64_t> in) const
	{
		return write(addr, {reinterpret_cast<const uint8_t *>(in.data()), in.size_bytes()});
	}

private:
	static bool no_wrap(uint64_t addr, size_t len) { return addr + len >= addr; }

	e810_host *host_;
};

/*
 * A window on bytes that came from, or go to, the guest: little-endian fields at byte offsets.
 * Reading past the end gives 0 and writing there does nothing, so that a short buffer is harmless.
 */
class Bytes {
public:
	explicit Bytes(std::span<uint8_t> data) : data_(data) {}

	size_t size() const { return data_.size(); }
	uint8_t *data() const { return data_.data(); }

	template <class T> T get(size_t offset) const
	{
		T value = 0;
		if (fits(offset, sizeof(T)))
			std::memcpy(&value, data_.data() + offset, sizeof(T));
		return value;
	}

	template <class T> void put(size_t offset, T value) const
	{
		if (fits(offset, sizeof(T)))
			std::memcpy(data_.data() + offset, &value, sizeof(T));
	}

	uint8_t u8(size_t offset) const { return get<uint8_t>(offset); }
	uint16_t u16(size_t offset) const { return get<uint16_t>(offset); }
	uint32_t u32(size_t offset) const { return get<uint32_t>(offset); }
	uint64_t u64(size_t offset) const { return get<uint64_t>(offset); }
	void put8(size_t offset, uint8_t value) const { put(offset, value); }
	void put16(size_t offset, uint16_t value) const { put(offset, value); }
	void put32(size_t offset, uint32_t value) const { put(offset, value); }
	void put64(size_t offset, uint64_t value) const { put(offset, value); }

	/** The part [offset, offset + len), cut to what is there. */
	Bytes part(size_t offset, size_t len = SIZE_MAX) const
	{
		if (offset > data_.size())
			offset = data_.size();
		if (len > data_.size() - offset)
			len = data_.size() - offset;
		return Bytes(data_.subspan(offset, len));
	}

	void copy_in(size_t offset, std::span<const uint8_t> from) const
	{
		if (!from.empty() && fits(offset, from.size()))
			std::memcpy(data_.data() + offset, from.data(), from.size());
	}

	void fill(uint8_t value) const
	{
		if (!data_.empty())
			std::memset(data_.data(), value, data_.size());
	}

private:
	bool fits(size_t offset, size_t len) const
	{
		return offset <= data_.size() && len <= data_.size() - offset;
	}

	std::span<uint8_t> data_;
};

} // namespace e810
