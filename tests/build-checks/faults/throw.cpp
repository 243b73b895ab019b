// SPDX-License-Identifier: GPL-2.0
// Refused: exception handling disabled
int thrower(int n);
int thrower(int n)
{
	if (n)
		throw n;
	return 0;
}
