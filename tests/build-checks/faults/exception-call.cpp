// SPDX-License-Identifier: GPL-2.0
// Refused: drivers/irdma/exception-call.o: exception handling (__cxa_throw)
extern "C" void __cxa_throw(void *, void *, void (*)(void *));
void thrower();
void thrower()
{
	__cxa_throw(nullptr, nullptr, nullptr);
}
