// SPDX-License-Identifier: GPL-2.0
/* JSON lines; see trace.h. */
#include "trace.h"

#include <cinttypes>

#include "glue.h"

namespace e810 {

namespace {

void append_escaped(std::string &out, std::string_view text)
{
	char code[8];

	for (unsigned char c : text) {
		if (c == '"' || c == '\\') {
			out += '\\';
			out += static_cast<char>(c);
		} else if (c < 0x20 || c >= 0x7f) {
			/* Bytes, not characters: guest strings need not be UTF-8. */
			std::snprintf(code, sizeof(code), "\\u%04x", c);
			out += code;
		} else {
			out += static_cast<char>(c);
		}
	}
}

} // namespace

TraceEvent::TraceEvent(Trace *trace, const char *name) : trace_(trace)
{
	if (!trace_)
		return;
	line_ += '{';
	i64("t", e810_now());
	str("ev", name);
}

TraceEvent::~TraceEvent()
{
	if (!trace_)
		return;
	while (depth_)
		end();
	line_ += "}\n";
	trace_->write(line_);
}

void TraceEvent::key(const char *name)
{
	if (!first_)
		line_ += ',';
	first_ = false;
	line_ += '"';
	append_escaped(line_, name);
	line_ += "\":";
}

void TraceEvent::number(const char *format, uint64_t value)
{
	char text[32];

	std::snprintf(text, sizeof(text), format, value);
	line_ += text;
}

TraceEvent &TraceEvent::u64(const char *name, uint64_t value)
{
	if (trace_) {
		key(name);
		number("%" PRIu64, value);
	}
	return *this;
}

TraceEvent &TraceEvent::i64(const char *name, int64_t value)
{
	if (trace_) {
		key(name);
		line_ += std::to_string(value);
	}
	return *this;
}

TraceEvent &TraceEvent::hex(const char *name, uint64_t value)
{
	if (trace_) {
		key(name);
		number("\"0x%" PRIx64 "\"", value);
	}
	return *this;
}

TraceEvent &TraceEvent::flag(const char *name, bool value)
{
	if (trace_) {
		key(name);
		line_ += value ? "true" : "false";
	}
	return *this;
}

TraceEvent &TraceEvent::str(const char *name, std::string_view value)
{
	if (trace_) {
		key(name);
		line_ += '"';
		append_escaped(line_, value);
		line_ += '"';
	}
	return *this;
}

TraceEvent &TraceEvent::bytes(const char *name, std::span<const uint8_t> value)
{
	if (trace_) {
		key(name);
		line_ += '"';
		for (uint8_t byte : value)
			number("%02" PRIx64, byte);
		line_ += '"';
	}
	return *this;
}

TraceEvent &TraceEvent::words(const char *name, std::span<const uint64_t> value)
{
	const char *separator = "";

	if (!trace_)
		return *this;
	key(name);
	line_ += '[';
	for (uint64_t word : value) {
		line_ += separator;
		number("\"0x%" PRIx64 "\"", word);
		separator = ",";
	}
	line_ += ']';
	return *this;
}

TraceEvent &TraceEvent::begin(const char *name)
{
	if (trace_) {
		key(name);
		line_ += '{';
		first_ = true;
		depth_++;
	}
	return *this;
}

TraceEvent &TraceEvent::end()
{
	if (trace_ && depth_) {
		line_ += '}';
		first_ = false;
		depth_--;
	}
	return *this;
}

Trace::~Trace()
{
	if (file_)
		std::fclose(file_);
}

bool Trace::open(const char *path)
{
	file_ = std::fopen(path, "w");
	return file_ != nullptr;
}

void Trace::write(const std::string &line)
{
	std::fwrite(line.data(), 1, line.size(), file_);
	std::fflush(file_);
}

} // namespace e810
