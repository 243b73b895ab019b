/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Allocations of the kernel that fail on purpose, in a kernel that can (6.12-san):
 * the n-th that this task makes, counted from fault_arm() on. Filters say which of them
 * count at all, by where in the kernel the call comes from.
 */
#ifndef FAULT_H
#define FAULT_H

#include <stdbool.h>
#include <stdint.h>

/** struct fault_range - addresses of code in the kernel */
struct fault_range {
	uint64_t start, end;
};

/**
 * fault_setup() - let allocations of all kinds fail, without a word in the log
 *
 * Return: 0, or -1 after a message on stderr.
 */
int fault_setup(void);

/**
 * fault_code() - where code is
 * @module: that has it, loaded; NULL: the kernel itself
 * @function: only this one; NULL: all of the module
 *
 * Return: the range, empty after a message on stderr if there is none.
 */
struct fault_range fault_code(const char *module, const char *function);

/**
 * fault_filter() - count only allocations below some code
 * @below: it; NULL: all
 * @except: not if this code is above them as well; NULL: none
 *
 * Return: 0, or -1 after a message on stderr.
 */
int fault_filter(const struct fault_range *below, const struct fault_range *except);

/**
 * fault_chance() - let allocations of any task fail, if they pass the filter
 * @percent: of them; 0: none any more
 *
 * Return: 0, or -1 after a message on stderr.
 */
int fault_chance(unsigned int percent);

/** fault_arm() - from now on, the @n-th allocation of this task fails */
void fault_arm(unsigned int n);

/** fault_disarm() - no longer; returns whether one has failed */
bool fault_disarm(void);

#endif
