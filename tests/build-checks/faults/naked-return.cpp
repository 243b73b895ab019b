// SPDX-License-Identifier: GPL-2.0
// Refused: 'naked' return found
void naked(int n);
void naked(int n)
{
	if (n)
		asm volatile("ret; int3");
}
