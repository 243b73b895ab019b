// SPDX-License-Identifier: GPL-2.0
// Refused: type_traits: No such file or directory
#include <type_traits>
