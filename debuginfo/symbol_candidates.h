/*
 * All symbols of a file that name code, each with how far it reaches: what symtab_source chooses
 * the winners from. Which symbols these are, and where those without a size end, is said there.
 */
#pragma once

#include "debuginfo/elf_file.h"
#include "debuginfo/symbol_winners.h"

/* Reasons for what was left out: one of each table, and one of who adds more. */
#define SYMBOL_DAMAGE_MAX 4

struct symbol_candidates {
    const struct elf_file *file;
    struct symbol_candidate *items;
    size_t count;
    size_t capacity;
    struct error damage[SYMBOL_DAMAGE_MAX];
    size_t damage_count;
};

/* Fills a zero-initialised list. A table that cannot be read is damage; ERR_NO_MEMORY, ERR_LIMIT
 * over UINT32_MAX symbols. End it with symbol_candidates_clear, also after a failure. */
enum err symbol_candidates_read(struct symbol_candidates *list, struct elf_file *file,
                                struct error *error);
void symbol_candidates_clear(struct symbol_candidates *list);

enum err symbol_candidates_add(struct symbol_candidates *list,
                               const struct symbol_candidate *candidate, struct error *error);

/* Remembers damage; past SYMBOL_DAMAGE_MAX the first reasons stay. */
void symbol_candidates_note(struct symbol_candidates *list, const struct error *error);

/* The end of the executable extent around pc; UINT64_MAX if no extents are known. */
uint64_t symbol_candidates_extent_end(const struct elf_file *file, uint64_t pc);
