// SPDX-License-Identifier: GPL-2.0
/*
 * Property "fail" as the protocol engine reads it: which steps it shall refuse, when, and how.
 *
 *	fail=STEP[:N][=MAJOR.MINOR][!mute][,...]
 *
 * STEP is "cpustatus", "db-size", "cqp-create", or the name of a CQP command as in the trace. ":N"
 * means only the Nth such command since power on, so that the command after it works.
 * "=MAJOR.MINOR" gives the error codes, in hexadecimal. "!mute" lets the device never answer,
 * instead of with an error. Steps of other blocks may stand in the same list.
 */
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

namespace e810 {

class Refusals {
public:
	/** @p steps is the property's text, or nullptr. It must outlive this object. */
	explicit Refusals(const char *steps);

	/** Is the property's text well formed, and does it name steps that there are? */
	bool valid() const;

	enum class Action { none, refuse, mute };
	struct Verdict {
		Action action = Action::none;
		uint16_t major = default_major;
		uint16_t minor = default_minor;
	};

	/** What to do with this occurrence of @p step; counts it. */
	Verdict ask(std::string_view step);

	/** Counting begins anew: power on. */
	void restart();

	static constexpr uint16_t default_major = 0xffff;
	/* Not a code of the hardware: a number that no driver takes for something else. */
	static constexpr uint16_t default_minor = 0x0fa1;

private:
	struct Entry {
		bool valid = true;
		std::string_view step;
		uint32_t only = 0; /* 0: each occurrence */
		uint32_t seen = 0;
		Verdict verdict;
	};

	static Entry parse(std::string_view text);

	std::vector<Entry> entries_;
};

} // namespace e810
