// SPDX-License-Identifier: GPL-2.0
// Refused: [-Werror=unused-variable]
void warned();
void warned()
{
	int unused;
}
