// SPDX-License-Identifier: GPL-2.0
// Refused: [-Werror=missing-prototypes]
int undeclared(void)
{
	return 0;
}
