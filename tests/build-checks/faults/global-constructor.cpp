// SPDX-License-Identifier: GPL-2.0
// Refused: drivers/irdma/global-constructor.o: global constructor or destructor (_GLOBAL__sub_I
#include "skeleton.h"

int late;
int early = skeleton_work(late);
