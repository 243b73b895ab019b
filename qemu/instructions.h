/* SPDX-License-Identifier: GPL-2.0 */
/* The type "instruction-counter"; see instructions.c. */
#ifndef E810_QEMU_INSTRUCTIONS_H
#define E810_QEMU_INSTRUCTIONS_H

/** instruction_counter_register() - Make the type known to QEMU; when the plugin is loaded. */
void instruction_counter_register(void);

#endif
