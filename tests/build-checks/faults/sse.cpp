// SPDX-License-Identifier: GPL-2.0
// Refused: drivers/irdma/sse.o: floating point or vector instruction in <copy()>: movaps
void copy();
void copy()
{
	asm volatile("movaps %xmm0, %xmm1");
}
