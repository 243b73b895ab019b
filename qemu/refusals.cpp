// SPDX-License-Identifier: GPL-2.0
/* Property "fail"; see refusals.h. */
#include "refusals.h"

#include <algorithm>
#include <charconv>

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

bool is_step(std::string_view name)
{
	if (name == "cpustatus" || name == "db-size" || name == "cqp-create")
		return true;
	for (unsigned opcode = 0; opcode < hw::cqp_opcodes; opcode++) {
		const hw::Layout layout = hw::cqp_layout(opcode);

		if (layout.count && name == layout.name)
			return true;
	}
	/* Those of the control queues, see adminq.cpp. */
	return name.starts_with("aq-");
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
	std::string_view answer = cut(text, '!');
	std::string_view codes = cut(text, '=');
	std::string_view minor = cut(codes, '.');

	entry.valid = answer.empty() || answer == "mute";
	entry.verdict.action = answer.empty() ? Action::refuse : Action::mute;
	entry.verdict.major = number<uint16_t>(codes, 16, default_major, entry.valid);
	entry.verdict.minor = number<uint16_t>(minor, 16, default_minor, entry.valid);
	entry.only = number<uint32_t>(cut(text, ':'), 10, 0, entry.valid);
	entry.step = text;
	entry.valid = entry.valid && is_step(text);
	return entry;
}

bool Refusals::valid() const
{
	return std::all_of(entries_.begin(), entries_.end(),
			   [](const Entry &e) { return e.valid; });
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
