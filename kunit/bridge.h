/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The border between the tests, which are C++, and KUnit, which is C: how
 * suites are told to KUnit, how a test says what it found, and the little that
 * the fake device (fake/) needs of the kernel. Implemented by bridge.c.
 *
 * All of it is called in the thread of a test and may sleep.
 */
#ifndef KUNIT_BRIDGE_H
#define KUNIT_BRIDGE_H

#include "kernel.h"

#ifdef __cplusplus
#define BRIDGE_VA_LIST __builtin_va_list
#define BRIDGE_NORETURN [[noreturn]]
extern "C" {
#else
#include <linux/stdarg.h>
#define BRIDGE_VA_LIST va_list
#define BRIDGE_NORETURN __noreturn
#endif

/** A test: what KUnit calls a case. */
struct bridge_case {
	const char *name;
	void (*run)(void);
};

/** A suite; bridge.c has the list of them. */
struct bridge_suite {
	const char *name;
	const struct bridge_case *cases;
	u32 count;
};

/* Say that the running test has failed, and go on. */
void bridge_fail(const char *file, u32 line, const char *text);
/* End the running test at once; what it owns is lost. */
BRIDGE_NORETURN void bridge_abort(void);
/* A line for who reads the results. */
void bridge_note(const char *text);

/* Memory as the kernel has it, zeroed; @guarded: with unmapped pages around it. NULL: none. */
void *bridge_alloc(u64 bytes, bool guarded);
void bridge_free(void *mem, bool guarded);
/* vsnprintf() of the kernel. */
void bridge_format(char *to, u64 size, const char *fmt, BRIDGE_VA_LIST args);
/* Of what takes long, each how manieth shall run. */
u32 bridge_stride(void);
/* ib_modify_qp_is_ok() of the kernel's ib_core. */
bool bridge_modify_qp_is_ok(u32 from, u32 to, u32 qp_type, u32 mask);
/* rdma_get_udp_sport() of the kernel's headers. */
u16 bridge_udp_sport(u32 flow_label, u32 own_qp, u32 dest_qp);

#ifdef __cplusplus
} /* extern "C" */
#endif

#endif
