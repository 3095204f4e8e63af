/*
 * The ELF symbols of all inputs: the sink that symbol tables are pushed into, and who of them
 * answers at an address. Symbols of a later push give way to those of an earlier one, and those of
 * .dynsym to those of any .symtab.
 *
 * Filled by one thread; once settled any number of threads may ask.
 */
#pragma once

#include "base/symbol_source.h"
#include "symbolizer/build/shared_strings.h"
#include "symbolizer/build/sweep.h"

struct mapped_symbol {
    uint64_t begin;
    uint64_t end;
    uint64_t entry_pc;
    uint32_t name;       /* shared string */
    uint32_t name_first; /* of all names at its entry, the better ones first */
    uint32_t name_count; /* 0: `name` is the only one */
    uint32_t rank;       /* smaller wins */
    enum symbol_origin origin;
    uint32_t written; /* for the caller, as in struct shared_string */
};

/* Start with symbol_map_init. */
struct symbol_map {
    struct symbol_sink sink;
    struct memory_budget *budget;
    struct shared_strings *strings;
    struct mapped_symbol *list;
    size_t count, capacity;
    uint32_t *names; /* shared strings */
    size_t all_name_count, name_capacity;
    struct sweep_segments segments; /* ids are positions in the list */
    uint32_t source;                /* pushes ended so far */
    uint64_t damage;
};

#define SYMBOL_NONE UINT32_MAX

void symbol_map_init(struct symbol_map *map, struct memory_budget *budget,
                     struct shared_strings *strings);
void symbol_map_clear(struct symbol_map *map);

/* To be called after each push: the next counts as later. */
void symbol_map_end_source(struct symbol_map *map);

/* When all are pushed. */
enum err symbol_map_settle(struct symbol_map *map, struct error *error);

/* The position of the symbol that answers at pc, or SYMBOL_NONE, and up to where that holds. */
uint32_t symbol_map_at(const struct symbol_map *map, uint64_t pc, uint64_t *ret_end);
