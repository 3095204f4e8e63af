/*
 * What kinds of symbol data an ELF file holds: decided by bytes that are there, not by the mere
 * name of a section.
 */
#pragma once

#include <stdbool.h>

#include "debuginfo/elf_file.h"

struct elf_contents {
    bool has_dwarf;   /* a non-empty .debug_info and .debug_abbrev (or .zdebug_*) */
    bool has_pclntab; /* a non-empty section whose name ends in gopclntab */
    bool has_symtab;  /* .symtab, also one in .gnu_debugdata, with at least one defined function
                       * or untyped code symbol */
    bool has_dynsym;  /* likewise .dynsym */
};

void elf_contents_read(struct elf_file *file, struct elf_contents *ret_contents);
