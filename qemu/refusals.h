// SPDX-License-Identifier: GPL-2.0
/*
 * Property "fail": which steps the device shall refuse or answer wrongly, when, and how. It may be
 * set while the device runs.
 *
 *	fail=STEP[@FIELD-VALUE][:N][=MAJOR.MINOR][!HOW][,...]
 *
 * STEP is "cpustatus", "db-size", "cqp-create", "cqp-destroy", the name of a CQP command as in the
 * trace, or "aq-" and the name of an AdminQ command. "@FIELD-VALUE" means only CQP commands with that
 * value, decimal, in a field by its name in the trace. ":N" means only the Nth such step since the
 * property was set or power came, so that the step after it works. "=MAJOR.MINOR" gives the error codes of a CQP
 * command, in hexadecimal. HOW is for CQP commands: "mute" lets the device neither carry it out nor
 * ever answer. The others carry it out (with codes: refuse it) and spoil the answer:
 *
 *	hold		kept until it is released (see injections.h)
 *	delay=MS	comes later, in virtual time
 *	twice		comes twice
 *	index		names another WQE
 *	cookie		has another cookie
 *	polarity	has the valid bit of the lap before
 */
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace e810 {

class Refusals {
public:
	/**
	 * Replaces what was asked for before. False, and no change: @p steps is malformed or names
	 * a step that there is not.
	 */
	bool set(std::string_view steps);

	enum class Action { none, refuse, mute };
	/** What becomes of the answer to a command that is not mute. */
	enum class Answer { normal, hold, delay, twice, wrong_index, wrong_cookie, wrong_polarity };
	struct Verdict {
		Action action = Action::none;
		Answer answer = Answer::normal;
		uint32_t delay_ms = 0;
		uint16_t major = default_major;
		uint16_t minor = default_minor;
	};

	/** Value of a command's field of that name, if it has one. */
	using Fields = std::function<std::optional<uint64_t>(std::string_view)>;

	/** What to do with this occurrence of @p step; counts it. */
	Verdict ask(std::string_view step, const Fields &fields = {});

	/** How many steps were refused, or answered wrongly, as long as there is the card. */
	uint64_t made() const { return made_; }

	/** Counting of steps begins anew: power on. */
	void restart();

	static constexpr uint16_t default_major = 0xffff;
	/* Not a code of the hardware: a number that no driver takes for something else. */
	static constexpr uint16_t default_minor = 0x0fa1;

private:
	struct Entry {
		bool valid = true;
		std::string step;
		std::string field; /* empty: whatever its fields are */
		uint64_t value = 0;
		uint32_t only = 0; /* 0: each occurrence */
		uint32_t seen = 0;
		Verdict verdict;
	};

	static Entry parse(std::string_view text);
	static void parse_how(std::string_view how, Entry &entry);

	std::vector<Entry> entries_;
	uint64_t made_ = 0;
};

} // namespace e810
