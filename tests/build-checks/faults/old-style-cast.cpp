// SPDX-License-Identifier: GPL-2.0
// Refused: [-Werror=old-style-cast]
unsigned int cast(long n);
unsigned int cast(long n)
{
	return (unsigned int)n;
}
