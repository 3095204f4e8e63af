/* The tables of a file, for who reads all of them and who looks for one address. */
#pragma once

#include "debuginfo/elf_symbols.h"
#include "debuginfo/symbol_candidates.h"

/* The better ones first. */
enum symbol_table {
    SYMBOL_TABLE_SYMTAB,
    SYMBOL_TABLE_MINIDEBUG, /* the .symtab in .gnu_debugdata */
    SYMBOL_TABLE_DYNSYM,
    SYMBOL_TABLE_COUNT,
};

/* ERR_NOT_FOUND when the file has none. */
enum err symbol_table_open(struct elf_file *file, enum symbol_table table,
                           struct elf_symbol_table *ret_entries, struct error *error);

/* Of a symbol that names code. The end is what the symbol itself says; a sizeless one has none. */
struct symbol_candidate symbol_candidate_of(const struct elf_symbol *symbol,
                                            enum symbol_table table);
