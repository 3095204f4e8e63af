/* Records synthetic symbols, pushes them as a source with shards does, assembles an index of them,
 * and reads it back as text. */
#pragma once

#include "base/symbol_source.h"
#include "symbolizer/build/assembly.h"
#include "symbolizer/build/collection.h"

struct fixture_record;

struct assembly_fixture {
    struct fixture_record *records;
    size_t count;
    size_t capacity;
    unsigned thread_count;    /* to push with; 1 unless the test says otherwise */
    unsigned units_per_shard; /* 2 unless the test says otherwise */

    /* Of the last index that was made. */
    struct assembly_result result;
    struct shard_counts counts;
};

struct fixture_row {
    uint64_t address;
    const char *file;
    uint32_t line;
    uint32_t column;
};

struct fixture_code {
    const char *name; /* NULL: none */
    struct pc_range ranges[8];
    const char *decl_file;
    uint32_t decl_line;
    const char *call_file;
    uint32_t call_line;
    uint32_t call_column;
    bool linkage;
};

/* What the strings point to must stay until the fixture has ended. */
void fixture_start(struct assembly_fixture *fixture);
void fixture_end(struct assembly_fixture *fixture);

void fixture_unit(struct assembly_fixture *fixture);
uint32_t fixture_function(struct assembly_fixture *fixture, const struct fixture_code *code);
uint32_t fixture_inlined(struct assembly_fixture *fixture, uint32_t parent,
                         const struct fixture_code *code);
/* Rows up to `end`. */
void fixture_sequence(struct assembly_fixture *fixture, const struct fixture_row *rows,
                      size_t count, uint64_t end);
void fixture_symbol(struct assembly_fixture *fixture, const char *name, uint64_t begin,
                    uint64_t end, enum symbol_origin origin);
/* Symbols that follow are those of another file. */
void fixture_end_symbols(struct assembly_fixture *fixture);

/* An index of what was recorded, in bytes that the caller frees; within a memory limit. */
enum err fixture_build(struct assembly_fixture *fixture, uint64_t memory_max,
                       struct span *ret_bytes, struct error *error);

/*
 * Makes an index and asks it about every address in [begin, end). One line per run of equal
 * answers, hexadecimal bounds first:
 *
 *     100-108 inner b.c:7:3 < outer a.c:5
 *     108-110 outer a.c:6 (no_line)
 *
 * Frames are leaf first; a frame without a name is "?", without a file "-"; the origin follows the
 * name as name/symtab unless it is dwarf; a name that demangles is followed by '*'. Addresses
 * without a range are left out. The caller frees the text.
 */
char *fixture_dump(struct assembly_fixture *fixture, uint64_t begin, uint64_t end);
