// SPDX-License-Identifier: GPL-2.0
// Refused: sparse.c:9:16: error: incorrect type in return expression
#include <linux/types.h>

u32 wrong_order(__le32 v);

u32 wrong_order(__le32 v)
{
	return v;
}
