// SPDX-License-Identifier: GPL-2.0
// Refused: unbalanced
void unbalanced();
void unbalanced()
{
	asm volatile("push %rax");
}
