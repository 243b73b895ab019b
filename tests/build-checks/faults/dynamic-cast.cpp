// SPDX-License-Identifier: GPL-2.0
// Refused: 'dynamic_cast' not permitted with '-fno-rtti'
#include "common.h"

class More : public Common {
public:
	int more;
};
More *more(Common *common);
More *more(Common *common)
{
	return dynamic_cast<More *>(common);
}
