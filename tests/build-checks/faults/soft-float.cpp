// SPDX-License-Identifier: GPL-2.0
// Refused: drivers/irdma/soft-float.o: floating point (call of __floatsidf)
extern "C" long __floatsidf(int n);
long converted(int n);
long converted(int n)
{
	return __floatsidf(n);
}
