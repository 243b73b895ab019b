// SPDX-License-Identifier: GPL-2.0
/* Allocations that fail on purpose; see fault.h and Documentation/fault-injection of the kernel. */
#define _GNU_SOURCE
#include "fault.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define DEBUGFS "/sys/kernel/debug/"

static const char *const kinds[] = { "failslab", "fail_page_alloc" };
static int nth = -1;		/* /proc/self/fail-nth */

static int set(const char *kind, const char *option, const char *value)
{
	char path[96];
	bool right;
	int fd;

	snprintf(path, sizeof(path), DEBUGFS "%s/%s", kind, option);
	fd = open(path, O_WRONLY);
	right = fd >= 0 && write(fd, value, strlen(value)) > 0;
	if (!right)
		fprintf(stderr, "%s: %s\n", path, strerror(errno));
	if (fd >= 0)
		close(fd);
	return right ? 0 : -1;
}

static int set_all(const char *option, const char *value)
{
	return set(kinds[0], option, value) || set(kinds[1], option, value) ? -1 : 0;
}

static int set_address(const char *option, uint64_t value)
{
	char text[24];

	snprintf(text, sizeof(text), "0x%" PRIx64, value);
	return set_all(option, text);
}

int fault_setup(void)
{
	nth = open("/proc/self/fail-nth", O_RDWR);
	if (nth < 0) {
		perror("/proc/self/fail-nth");
		return -1;
	}
	return set_all("verbose", "0") || set_all("ignore-gfp-wait", "N") ||
	       set("fail_page_alloc", "ignore-gfp-highmem", "N") ||
	       set("fail_page_alloc", "min-order", "0") ? -1 : 0;
}

/* Next function of /proc/kallsyms that is of that module, or of the kernel itself; false: none. */
static bool next_function(FILE *file, const char *module, uint64_t *address, char *name)
{
	char line[512], of[64], type;
	int fields;

	while (fgets(line, sizeof(line), file)) {
		fields = sscanf(line, "%" SCNx64 " %c %255s [%63[^]]", address, &type, name, of);
		if (fields < 3 || !strchr("tT", type))
			continue;
		if (module ? fields == 4 && !strcmp(of, module) : fields == 3)
			return true;
	}
	return false;
}

struct fault_range fault_code(const char *module, const char *function)
{
	struct fault_range range = { 0, 0 };
	uint64_t first = UINT64_MAX, last = 0, after = UINT64_MAX, address;
	char name[256];
	FILE *file = fopen("/proc/kallsyms", "r");

	while (file && next_function(file, module, &address, name)) {
		first = address < first ? address : first;
		last = address > last ? address : last;
		if (function && !strcmp(name, function))
			range.start = address;
	}
	if (!function)
		range = (struct fault_range){ first, last + 4096 };
	if (file)
		rewind(file);
	/* They are in no order: the function ends where the one behind it begins. */
	while (file && range.start && function && next_function(file, module, &address, name))
		if (address > range.start && address < after)
			range.end = after = address;
	if (file)
		fclose(file);
	if (range.end <= range.start)
		fprintf(stderr, "no code of %s in %s\n", function ?: "any function",
			module ?: "the kernel");
	return range;
}

int fault_filter(const struct fault_range *below, const struct fault_range *except)
{
	static const struct fault_range all = { 0, UINT64_MAX }, none = { 0, 0 };

	below = below ?: &all;
	except = except ?: &none;
	return set_address("require-start", below->start) ||
	       set_address("require-end", below->end) ||
	       set_address("reject-start", except->start) ||
	       set_address("reject-end", except->end) ? -1 : 0;
}

int fault_chance(unsigned int percent)
{
	char text[16];

	snprintf(text, sizeof(text), "%u", percent);
	return set_all("times", "-1") || set_all("probability", text) ? -1 : 0;
}

void fault_arm(unsigned int n)
{
	char text[16];
	int length = snprintf(text, sizeof(text), "%u", n);

	if (pwrite(nth, text, length, 0) != length) {
		perror("fail-nth");
		exit(2);
	}
}

bool fault_disarm(void)
{
	char text[16] = "";

	if (pread(nth, text, sizeof(text) - 1, 0) <= 0) {
		perror("fail-nth");
		exit(2);
	}
	fault_arm(0);
	return atoi(text) == 0;
}
