/*
 * The ELF symbol tables .symtab, the one in .gnu_debugdata (elf_minidebug.h) and .dynsym as a
 * source, in this order of preference: functions, IFUNCs and, as a fallback, untyped symbols in
 * executable extents; classified by address, not by section index; never TLS, ABS, SECTION, FILE,
 * OBJECT, undefined, mapping symbols ($a $t $d $x) or .L labels; sized symbols win over sizeless,
 * containing ones over preceding; nothing answers beyond st_size; a sizeless symbol reaches to the
 * next symbol, FDE or end of its extent in .symtab; in .dynsym, which shows a few functions only,
 * to the end of its own FDE, or answers nothing beyond its first byte where it has none; global
 * over local, then weak; @VERSION is stripped; bit 0 of ARM functions is cleared; SHN_XINDEX is
 * understood.
 *
 * A linker's stub for calls of `f` (elf_plt.h), where no symbol names it, is `f@plt`.
 */
#pragma once

#include "base/symbol_source.h"
#include "debuginfo/elf_file.h"

#define SYMTAB_NAMES_MAX SINK_SYMBOL_NAMES_MAX

/*
 * All names of code that begins at pc, the better ones first, with the one that answers there among
 * them if it begins there; stubs are left out. At most SYMTAB_NAMES_MAX; they belong to the source.
 * ERR_NO_MEMORY, ERR_LIMIT. Once something was pushed from the source, any number of threads may
 * ask.
 */
enum err symtab_source_names(struct symbol_source *source, uint64_t pc,
                             struct span ret_names[static SYMTAB_NAMES_MAX], size_t *ret_count,
                             struct error *error);

/*
 * The file must outlive the source. Nothing is read before it is needed: a few single questions are
 * answered by going over the tables, and what is pushed or asked often by a sorted table. A file
 * without symbols gives an empty source. ERR_NO_MEMORY.
 */
enum err symtab_source_new(struct elf_file *file, struct symbol_source **ret_source,
                           struct error *error);
