// SPDX-License-Identifier: GPL-2.0
// Refused: drivers/irdma/exception-table.o: exception table (section .gcc_except_table)
asm(".pushsection .gcc_except_table, \"a\"\n\t.byte 0xff\n\t.popsection");
