/* SPDX-License-Identifier: GPL-2.0 */
/* What the C and the C++ of the smallest module know of each other. */
#ifndef SKELETON_H
#define SKELETON_H

#ifdef __cplusplus
extern "C" {
#endif

int skeleton_work(int n);

#ifdef __cplusplus
}
#endif

#endif
