// SPDX-License-Identifier: GPL-2.0
// Refused: drivers/irdma/avx.o: floating point or vector instruction in <clear()>: vzeroupper
void clear();
void clear()
{
	asm volatile("vzeroupper");
}
