/*
 * Relocating the debug sections of ET_REL files, which before that hold zeros where addresses and
 * offsets belong: for x86-64, i386, AArch64, ARM, PowerPC, s390x, RISC-V (whose differences are
 * pairs of additions and subtractions, since its linker moves code), MIPS and SPARC, as far as
 * compilers use them in debug sections. It happens in a private copy when the section is first
 * read. Linked files are never relocated: a vmlinux (ET_EXEC) keeps its .rela.debug_* although they
 * were applied.
 *
 * The bytes are hostile: what lies outside of the section is left alone and, like a type that is
 * not known, noted once.
 */
#pragma once

#include "debuginfo/elf_file.h"

/* True for a section that is to be relocated and has relocations. */
bool elf_section_is_relocated(const struct elf_file *file, const struct elf_section *section);

/* Changes the section's inflated contents. Damage is noted in the file; ERR_NO_MEMORY. */
enum err elf_relocate(struct elf_file *file, const struct elf_section *section, char *bytes,
                      size_t size, struct error *error);
