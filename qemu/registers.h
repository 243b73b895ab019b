// SPDX-License-Identifier: GPL-2.0
/*
 * Registers of BAR0 and who answers for them.
 *
 * A register nobody claims reads back what was last written, which is what most of the device's
 * configuration registers do. A block claims a run of consecutive 32-bit registers with a read and
 * a write handler; a handler that is left out (nullptr) gives that behaviour for its direction.
 * Claims are made while the device is built, then sorted once and looked up by bisection.
 */
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

namespace e810 {

class Registers {
public:
	Registers();

	/**
	 * Claims @p count registers from byte offset @p first for @p block.
	 *
	 * Read is uint32_t (Block::*)(uint32_t index) or nullptr, Write is
	 * void (Block::*)(uint32_t index, uint32_t value) or nullptr; index counts registers from
	 * @p first. Only before seal().
	 */
	template <auto Read, auto Write, class Block>
	void claim(Block *block, uint32_t first, uint32_t count = 1)
	{
		Claim c{first, count, block, nullptr, nullptr};

		if constexpr (Read != nullptr)
			c.read = [](void *b, uint32_t i) {
				return (static_cast<Block *>(b)->*Read)(i);
			};
		if constexpr (Write != nullptr)
			c.write = [](void *b, uint32_t i, uint32_t v) {
				(static_cast<Block *>(b)->*Write)(i, v);
			};
		claims_.push_back(c);
	}

	/** A register that reads @p value whatever is written. */
	void constant(uint32_t offset, uint32_t value);

	/** Sorts the claims. False if two of them overlap: a fault in the model. */
	[[nodiscard]] bool seal();

	/** A guest's access; @p offset is a multiple of 4 below the size of BAR0. */
	uint32_t read(uint32_t offset);
	void write(uint32_t offset, uint32_t value);

	/** The stored value, without handlers: for blocks. */
	uint32_t get(uint32_t offset) const { return values_[offset / 4]; }
	void set(uint32_t offset, uint32_t value) { values_[offset / 4] = value; }

	/** All stored values to 0. */
	void clear();

private:
	struct Claim {
		uint32_t first;
		uint32_t count;
		void *block;
		uint32_t (*read)(void *block, uint32_t index);
		void (*write)(void *block, uint32_t index, uint32_t value);
	};

	struct Release {
		void operator()(uint32_t *values) const;
	};

	const Claim *find(uint32_t offset) const;

	std::vector<Claim> claims_;
	/* Mapped, not allocated: of the 32 MiB only the pages that are used take memory. */
	std::unique_ptr<uint32_t[], Release> values_;
};

} // namespace e810
