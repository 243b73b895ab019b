// SPDX-License-Identifier: GPL-2.0
// Refused: drivers/irdma/static-destructor.o: undefined symbol
#include "skeleton.h"

struct Owner {
	~Owner() { skeleton_work(0); }
};
Owner &owner();
Owner &owner()
{
	static Owner it;

	return it;
}
