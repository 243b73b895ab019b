// SPDX-License-Identifier: GPL-2.0
/*
 * A bad cable on demand: property "fault=drop:0.01,dup:0.01,...;seed=N".
 *
 * Each RoCEv2 frame, in both directions, is lost, doubled, put behind the next one, changed in one
 * bit or late with the given probabilities. Each direction has a random sequence of its own, drawn
 * alike for each frame, so that the same frames with the same seed meet the same fate.
 */
#pragma once

#include <array>
#include <cstdint>
#include <deque>
#include <string_view>
#include <vector>

#include "deferred.h"

namespace e810 {

class RoceFaults {
public:
	using Frame = std::vector<uint8_t>;
	using Pass = void (*)(void *block, Frame &&frame);

	/**
	 * @p text: value of the property, or nullptr. @p direction: 0 or 1. Frames that get through
	 * come by @p pass, perhaps later.
	 */
	RoceFaults(Device &dev, const char *text, unsigned direction, Pass pass, void *block);

	bool valid() const { return valid_; }
	/** Does it do anything? If not, put() need not be called. */
	bool on() const { return on_; }

	/** How many frames it has done something to. */
	uint64_t made() const { return made_; }

	/** A frame enters the cable. */
	void put(Frame &&frame);

	/** Frames still in the cable are lost. */
	void reset() { late_.clear(); }

private:
	enum Kind { drop, dup, reorder, corrupt, delay, kinds };
	struct Late {
		int64_t due;
		bool behind_next;
		Frame frame;
	};

	bool parse(const char *text);
	bool parse_entry(std::string_view entry);
	uint64_t random();
	bool happens(Kind kind);
	void hold(Frame &&frame, bool behind_next, int64_t time);
	void let_go(bool next_passed);
	void tick() { let_go(false); }

	static constexpr size_t most_late = 256;

	std::array<double, kinds> probability_{};
	uint64_t state_ = 1;
	uint64_t made_ = 0;
	bool valid_ = true;
	bool on_ = false;
	std::deque<Late> late_;
	Pass pass_;
	void *block_;
	Timer timer_;
};

} // namespace e810
