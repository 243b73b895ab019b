/* SPDX-License-Identifier: GPL-2.0 */
/*
 * What the two halves of the faulty module know of each other.
 * tests/test_sanitized.py builds it and says what each fault must report.
 */
#ifndef FAULTS_H
#define FAULTS_H

#ifdef __cplusplus
extern "C" {
#endif

/* Make a fault in C++; 0, or -1 if there is none of that name. */
int faults_of_cpp(const char *name);

/* Memory of the kernel, for C++. */
void *faults_allocate(unsigned long size);
void faults_free(const void *memory);

#ifdef __cplusplus
}
#endif

#endif
