// SPDX-License-Identifier: GPL-2.0
/*
 * The device's trace: one JSON object a line, for comparing what two drivers do.
 *
 * Property "trace=FILE" turns it on. A block writes an event with named, decoded fields:
 *
 *	trace.event("cqp").str("op", "create_qp").u64("qp", id).hex("ctx", addr);
 *
 * which becomes {"t":1234,"ev":"cqp","op":"create_qp","qp":5,"ctx":"0x1000"}, "t" being virtual time
 * in ns. The line is written and flushed at the end of the statement. While tracing is off each call
 * is one test of a pointer.
 */
#pragma once

#include <cstdint>
#include <cstdio>
#include <span>
#include <string>
#include <string_view>

namespace e810 {

class Trace;

/** One line under construction; written when it goes out of scope. */
class TraceEvent {
public:
	TraceEvent(Trace *trace, const char *name);
	~TraceEvent();
	TraceEvent(const TraceEvent &) = delete;
	TraceEvent &operator=(const TraceEvent &) = delete;

	/** True while tracing; lets a caller skip work that only feeds fields. */
	bool on() const { return trace_ != nullptr; }

	TraceEvent &u64(const char *name, uint64_t value);
	TraceEvent &i64(const char *name, int64_t value);
	/** A number better read in hexadecimal (address, key, code), as a string "0x...". */
	TraceEvent &hex(const char *name, uint64_t value);
	TraceEvent &flag(const char *name, bool value);
	TraceEvent &str(const char *name, std::string_view value);
	/** Bytes as a string of hexadecimal digits. */
	TraceEvent &bytes(const char *name, std::span<const uint8_t> value);
	/** 64-bit words as an array of "0x..." strings. */
	TraceEvent &words(const char *name, std::span<const uint64_t> value);
	/** Opens a nested object; fields go into it until the matching end(). */
	TraceEvent &begin(const char *name);
	TraceEvent &end();

private:
	void key(const char *name);
	void number(const char *format, uint64_t value);

	Trace *trace_;
	std::string line_;
	unsigned int depth_ = 0;
	bool first_ = true;
};

class Trace {
public:
	Trace() = default;
	~Trace();
	Trace(const Trace &) = delete;
	Trace &operator=(const Trace &) = delete;

	/** Starts tracing to @p path, replacing what was there. False: it cannot be opened. */
	[[nodiscard]] bool open(const char *path);

	bool on() const { return file_ != nullptr; }
	TraceEvent event(const char *name) { return TraceEvent(on() ? this : nullptr, name); }

private:
	friend class TraceEvent;
	void write(const std::string &line);

	FILE *file_ = nullptr;
};

} // namespace e810
