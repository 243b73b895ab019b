// SPDX-License-Identifier: GPL-2.0
// Refused: drivers/irdma/global-destructor.o: global constructor or destructor (_GLOBAL__sub_
#include "skeleton.h"

struct Owner {
	~Owner() { skeleton_work(0); }
};
Owner owner;
