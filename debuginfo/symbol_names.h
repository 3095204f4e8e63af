/*
 * Symbols by their names, and data by its address: single questions about an ELF file's symbol
 * table, .symtab or, where there is none, .dynsym. Each reads the table from its beginning. What
 * answers for code addresses is symbol_scan.h.
 */
#pragma once

#include "debuginfo/elf_file.h"

/* A defined symbol of code or data. Its name lives as long as the file. */
struct named_symbol {
    struct span name; /* without @VERSION */
    uint64_t value;
    uint64_t size;
};

/* Those of that very name, in the order of the table, up to count_max. */
size_t symbol_names_find(struct elf_file *file, struct span name, struct named_symbol *ret_symbols,
                         size_t count_max);

/* The symbol that covers an address, code or data; of several the one that begins last, and then
 * the larger one. One without a size covers its own address. */
bool symbol_names_at(struct elf_file *file, uint64_t address, struct named_symbol *ret_symbol);
