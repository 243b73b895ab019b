// SPDX-License-Identifier: GPL-2.0
/* What tests say, and comparing texts; see test.h. */
#include "test.h"

namespace irdma::test {

namespace {
constexpr u32 line_bytes = 240;
} // namespace

void fail(const char *file, u32 line, const char *fmt, ...)
{
	char text[line_bytes];
	__builtin_va_list args;

	__builtin_va_start(args, fmt);
	bridge_format(text, sizeof(text), fmt, args);
	__builtin_va_end(args);
	bridge_fail(file, line, text);
}

void note(const char *fmt, ...)
{
	char text[line_bytes];
	__builtin_va_list args;

	__builtin_va_start(args, fmt);
	bridge_format(text, sizeof(text), fmt, args);
	__builtin_va_end(args);
	bridge_note(text);
}

bool expect(bool condition, const char *file, u32 line, const char *text)
{
	if (!condition)
		fail(file, line, "%s: it is false", text);
	return condition;
}

bool expect_equal(u64 got, u64 wanted, const char *file, u32 line, const char *text)
{
	if (got != wanted)
		fail(file, line, "%s: it is 0x%llx, not 0x%llx", text, got, wanted);
	return got == wanted;
}

bool same_text(const char *a, const char *b)
{
	while (*a && *a == *b) {
		a++;
		b++;
	}
	return *a == *b;
}

bool contains(const char *text, const char *part)
{
	for (; *text; text++) {
		u32 i = 0;

		while (part[i] && text[i] == part[i])
			i++;
		if (!part[i])
			return true;
	}
	return !*part;
}

} // namespace irdma::test
