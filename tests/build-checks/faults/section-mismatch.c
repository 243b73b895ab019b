// SPDX-License-Identifier: GPL-2.0
// Refused: section mismatch in reference: user
#include <linux/init.h>

int user(int n);

static noinline int __init gone(int n)
{
	asm volatile("" : "+r"(n));
	return n;
}

int user(int n)
{
	return gone(n);
}
