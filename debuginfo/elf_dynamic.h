/*
 * The dynamic symbol table as the loader finds it: through PT_DYNAMIC (gABI 4.2, "Dynamic
 * Section"), for files whose section headers were stripped. Nothing there says how many symbols
 * there are but the hash tables that name each of them.
 *
 * The bytes are hostile: addresses are mapped through PT_LOADs to bytes that are in the file, and
 * every table is bounded by them.
 */
#pragma once

#include "debuginfo/elf_file.h"

struct elf_dynamic_symbols {
    struct span symbols; /* DT_SYMTAB, cut at the count that the hash tables tell */
    struct span strings; /* DT_STRTAB, DT_STRSZ */
};

/* ERR_NOT_FOUND when the file has no PT_DYNAMIC or no symbols there; ERR_MALFORMED when its tables
 * lie outside the file or no hash table tells their size. */
enum err elf_dynamic_symbols_find(const struct elf_file *file,
                                  struct elf_dynamic_symbols *ret_symbols, struct error *error);

/* PowerPC64's function descriptors by DT_PPC64_OPD. False when there are none. */
bool elf_dynamic_descriptors(const struct elf_file *file, struct span *ret_bytes,
                             uint64_t *ret_address);

/* DT_PLTGOT; 0 when there is none. */
uint64_t elf_dynamic_plt_got(const struct elf_file *file);
