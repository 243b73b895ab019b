// SPDX-License-Identifier: GPL-2.0
// Refused: drivers/irdma/x87.o: floating point or vector instruction in <one()>: fld1
void one();
void one()
{
	asm volatile("fld1");
}
