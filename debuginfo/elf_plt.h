/*
 * The stubs through which calls leave a file (procedure linkage table): which code jumps through
 * which slot of the global offset table, and so to which imported function. The code bytes are
 * read, since linkers lay stubs out in many ways: a stub is one of a known shape whose slot a
 * relocation names. x86-64, i386, AArch64, ARM, RISC-V.
 *
 * The bytes are hostile; the work is linear in the sections and relocations.
 */
#pragma once

#include "debuginfo/elf_file.h"

struct elf_plt_stub {
    uint64_t begin;
    uint64_t end;
    uint32_t symbol; /* index in .dynsym; not 0 */
};

struct elf_plt {
    struct elf_plt_stub *stubs; /* ascending and disjoint within each section */
    size_t count;
};

void elf_plt_clear(struct elf_plt *plt);

/* No stubs where the machine is none of those above, or the file has no code of stubs. What is
 * damaged is left out; ERR_NO_MEMORY. End it with elf_plt_clear. */
enum err elf_plt_read(struct elf_file *file, struct elf_plt *ret_plt, struct error *error);

/* True if pc lies in a section that can hold stubs; cheap. */
bool elf_plt_may_cover(const struct elf_file *file, uint64_t pc);
