// SPDX-License-Identifier: GPL-2.0
// Refused: SSE register return with SSE disabled
int scaled(int n);
int scaled(int n)
{
	return static_cast<int>(n * 1.5);
}
