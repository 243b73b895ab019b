// SPDX-License-Identifier: GPL-2.0
/* Property "fail"; see refusals.h. */
#include "refusals.h"

#include <charconv>

namespace e810 {

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

template <class T> T number(std::string_view text, int base, T otherwise)
{
	T value;

	if (std::from_chars(text.data(), text.data() + text.size(), value, base).ec != std::errc{})
		return otherwise;
	return value;
}

} // namespace

Refusals::Refusals(const char *steps)
{
	std::string_view rest = steps ? steps : "";

	while (!rest.empty()) {
		size_t comma = rest.find(',');

		entries_.push_back(parse(rest.substr(0, comma)));
		rest = comma == rest.npos ? std::string_view{} : rest.substr(comma + 1);
	}
}

Refusals::Entry Refusals::parse(std::string_view text)
{
	Entry entry;
	bool mute = cut(text, '!') == "mute";
	std::string_view codes = cut(text, '=');
	std::string_view minor = cut(codes, '.');

	entry.verdict.action = mute ? Action::mute : Action::refuse;
	entry.verdict.major = number<uint16_t>(codes, 16, default_major);
	entry.verdict.minor = number<uint16_t>(minor, 16, default_minor);
	entry.only = number<uint32_t>(cut(text, ':'), 10, 0);
	entry.step = text;
	return entry;
}

Refusals::Verdict Refusals::ask(std::string_view step)
{
	Verdict verdict;

	for (Entry &entry : entries_) {
		if (entry.step != step)
			continue;
		entry.seen++;
		if (verdict.action == Action::none && (!entry.only || entry.only == entry.seen))
			verdict = entry.verdict;
	}
	return verdict;
}

void Refusals::restart()
{
	for (Entry &entry : entries_)
		entry.seen = 0;
}

} // namespace e810
