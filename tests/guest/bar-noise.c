// SPDX-License-Identifier: GPL-2.0
/*
 * Writes to registers and doorbells of a card below its drivers, as a program
 * gone astray with the rights of root could: random values at random places
 * among those that it is given, and reads. It says how many accesses that were;
 * what they did to the kernel is to be seen in dmesg.
 *
 * The kernel must let BAR 0 be mapped while a driver has it: iomem=relaxed.
 */
#define _GNU_SOURCE
#include "lib/verbs_util.h"

#include <fcntl.h>
#include <getopt.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#define MAX_PLACES 64

struct place {
	uint32_t offset, length;
};

static uint64_t random_state = 1;

static uint32_t dice(void)
{
	return (uint32_t)(vu_random(&random_state) >> 32);
}

/* What a register might take for something: a small number, a bit, all, anything. */
static uint32_t value(void)
{
	switch (dice() % 5) {
	case 0:
		return dice() % 64;
	case 1:
		return dice() % 4096;
	case 2:
		return 1u << dice() % 32;
	case 3:
		return UINT32_MAX;
	default:
		return dice();
	}
}

/* OFFSET or OFFSET+LENGTH, bytes. */
static struct place parse(const char *text)
{
	char *end;
	struct place p = { .offset = (uint32_t)strtoul(text, &end, 0), .length = 4 };

	if (*end == '+')
		p.length = (uint32_t)strtoul(end + 1, &end, 0);
	if (*end || p.length < 4 || p.offset % 4) {
		fprintf(stderr, "bar-noise: what is %s?\n", text);
		exit(2);
	}
	return p;
}

static int usage(void)
{
	fprintf(stderr, "usage: bar-noise [-f FILE] [-s SEED] [-n COUNT] [-w MICROSECONDS] "
			"OFFSET[+LENGTH]...\n");
	return 2;
}

int main(int argc, char **argv)
{
	const char *file = "/sys/bus/pci/devices/0000:01:00.0/resource0";
	unsigned long count = 10000, writes = 0, pause_us = 0;
	struct place places[MAX_PLACES];
	volatile uint32_t *bar;
	struct stat st;
	int places_count, fd, c;

	while ((c = getopt(argc, argv, "f:s:n:w:")) != -1) {
		switch (c) {
		case 'f':
			file = optarg;
			break;
		case 's':
			random_state = strtoul(optarg, NULL, 0);
			break;
		case 'n':
			count = strtoul(optarg, NULL, 0);
			break;
		case 'w':
			pause_us = strtoul(optarg, NULL, 0);
			break;
		default:
			return usage();
		}
	}
	places_count = argc - optind;
	if (!random_state || places_count < 1 || places_count > MAX_PLACES)
		return usage();
	for (int i = 0; i < places_count; i++)
		places[i] = parse(argv[optind + i]);
	fd = open(file, O_RDWR | O_SYNC);
	if (fd < 0 || fstat(fd, &st)) {
		perror(file);
		return 2;
	}
	bar = mmap(NULL, (size_t)st.st_size, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	if (bar == MAP_FAILED) {
		perror("mmap");
		return 2;
	}
	for (unsigned long i = 0; i < count; i++) {
		const struct place *p = &places[dice() % (uint32_t)places_count];
		uint32_t at = (p->offset + dice() % (p->length / 4) * 4) / 4;

		if ((off_t)at * 4 >= st.st_size)
			continue;
		if (dice() % 4) {
			bar[at] = value();
			writes++;
		} else {
			(void)bar[at];
		}
		if (pause_us)
			usleep((useconds_t)pause_us);
	}
	printf("bar-noise: %lu writes of %lu accesses\n", writes, count);
	return 0;
}
