// SPDX-License-Identifier: GPL-2.0
// Refused: [-Werror=frame-larger-than=]
int frame();
int frame()
{
	volatile char room[4096];

	room[0] = 1;
	return room[0];
}
