// SPDX-License-Identifier: GPL-2.0
// Refused: drivers/irdma/undefined-symbol.o: undefined symbol nowhere::to_be_found(int)
namespace nowhere {

int to_be_found(int);
int found();
int found()
{
	return to_be_found(1);
}

} // namespace nowhere
