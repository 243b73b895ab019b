// SPDX-License-Identifier: GPL-2.0
/* Property "fail"; see refusals.h. */
#include "refusals.h"

#include <algorithm>
#include <charconv>
#include <utility>

#include "irdma/hw/cqp.h"

namespace e810 {

namespace hw = irdma::hw;

namespace {

/* Cuts @text at the last @mark and returns what follows; empty if there is none. */
std::string_view cut(std::string_view &text, char mark)
{
	size_t at = text.rfind(mark);

	if (at == text.npos)
		return {};
	std::string_view rest = text.substr(at + 1);
	text = text.substr(0, at);
	return rest;
}

/* The number that all of @text is; @otherwise for no text. Clears @ok if it is none. */
template <class T> T number(std::string_view text, int base, T otherwise, bool &ok)
{
	const char *end = text.data() + text.size();
	T value = otherwise;

	if (text.empty())
		return otherwise;
	auto [stop, error] = std::from_chars(text.data(), end, value, base);
	if (error != std::errc{} || stop != end)
		ok = false;
	return value;
}

/* Those that are no CQP commands; of the control queues see adminq.cpp. */
bool is_plain_step(std::string_view name)
{
	return name == "cpustatus" || name == "db-size" || name == "cqp-create" ||
	       name == "cqp-destroy" || name.starts_with("aq-");
}

bool has_field(const hw::Layout &layout, std::string_view name)
{
	return std::any_of(layout.fields, layout.fields + layout.count,
			   [&](const hw::Field &field) { return name == field.name; });
}

/* With a name of a field: a command that has it. */
bool is_step(std::string_view name, std::string_view field)
{
	if (field.empty() && is_plain_step(name))
		return true;
	for (unsigned opcode = 0; opcode < hw::cqp_opcodes; opcode++) {
		const hw::Layout layout = hw::cqp_layout(opcode);

		if (layout.count && name == layout.name)
			return field.empty() || has_field(layout, field);
	}
	return false;
}

} // namespace

bool Refusals::set(std::string_view rest)
{
	std::vector<Entry> entries;

	while (!rest.empty()) {
		size_t comma = rest.find(',');

		entries.push_back(parse(rest.substr(0, comma)));
		if (!entries.back().valid)
			return false;
		rest = comma == rest.npos ? std::string_view{} : rest.substr(comma + 1);
	}
	entries_ = std::move(entries);
	return true;
}

Refusals::Entry Refusals::parse(std::string_view text)
{
	Entry entry;
	std::string_view how = cut(text, '!');
	std::string_view codes = cut(text, '=');
	std::string_view minor = cut(codes, '.');

	entry.verdict.action = how.empty() || !codes.empty() ? Action::refuse : Action::none;
	parse_how(how, entry);
	entry.verdict.major = number<uint16_t>(codes, 16, default_major, entry.valid);
	entry.verdict.minor = number<uint16_t>(minor, 16, default_minor, entry.valid);
	entry.only = number<uint32_t>(cut(text, ':'), 10, 0, entry.valid);
	std::string_view field = cut(text, '@');
	entry.value = number<uint64_t>(cut(field, '-'), 10, 0, entry.valid);
	entry.field = field;
	entry.step = text;
	entry.valid = entry.valid && is_step(text, field);
	return entry;
}

void Refusals::parse_how(std::string_view how, Entry &entry)
{
	static constexpr struct {
		std::string_view name;
		Answer answer;
	} answers[] = {
		{"hold", Answer::hold},
		{"twice", Answer::twice},
		{"index", Answer::wrong_index},
		{"cookie", Answer::wrong_cookie},
		{"polarity", Answer::wrong_polarity},
	};

	if (how.empty())
		return;
	if (how == "mute") {
		entry.verdict.action = Action::mute;
		return;
	}
	if (how.starts_with("delay=")) {
		entry.verdict.answer = Answer::delay;
		entry.verdict.delay_ms = number<uint32_t>(how.substr(6), 10, 0, entry.valid);
		return;
	}
	for (const auto &known : answers)
		if (how == known.name)
			entry.verdict.answer = known.answer;
	entry.valid = entry.valid && entry.verdict.answer != Answer::normal;
}

Refusals::Verdict Refusals::ask(std::string_view step, const Fields &fields)
{
	const Entry *found = nullptr;

	for (Entry &entry : entries_) {
		if (entry.step != step ||
		    (!entry.field.empty() && (!fields || fields(entry.field) != entry.value)))
			continue;
		entry.seen++;
		if (!found && (!entry.only || entry.only == entry.seen))
			found = &entry;
	}
	if (!found)
		return {};
	made_++;
	return found->verdict;
}

void Refusals::restart()
{
	for (Entry &entry : entries_)
		entry.seen = 0;
}

} // namespace e810
