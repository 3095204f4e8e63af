/*
 * MiniDebugInfo: section .gnu_debugdata holds an ELF file, compressed by xz, whose .symtab names
 * the functions that a stripped executable's .dynsym does not (GDB manual, "Debugging information
 * in a special section").
 */
#pragma once

#include "debuginfo/elf_file.h"

/* Symbol tables alone; the largest ones seen are some tens of MiB. */
#define MINIDEBUG_SIZE_MAX ((size_t)256 << 20)

/*
 * The file inside, opened once; it belongs to `file` and counts against its limits. One inside of
 * that is never looked at. ERR_NOT_FOUND when there is none; what xz_inflate and
 * elf_file_open_memory say about it.
 */
enum err elf_file_minidebug(struct elf_file *file, struct elf_file **ret_inner,
                            struct error *error);
