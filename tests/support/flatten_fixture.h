/* Pushes synthetic symbols into a model, flattens it, and reads the index back as text. */
#pragma once

#include "base/symbol_source.h"
#include "symbolizer/build/flatten.h"
#include "symbolizer/build/symbol_model.h"

struct flatten_fixture {
    struct symbol_model *model;
    struct symbol_sink *sink;
    struct flatten_result result;
    uint64_t file_size;
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

void fixture_start(struct flatten_fixture *fixture);
void fixture_end(struct flatten_fixture *fixture);

void fixture_unit(struct flatten_fixture *fixture);
uint32_t fixture_function(struct flatten_fixture *fixture, const struct fixture_code *code);
uint32_t fixture_inlined(struct flatten_fixture *fixture, uint32_t parent,
                         const struct fixture_code *code);
/* Rows up to `end`. */
void fixture_sequence(struct flatten_fixture *fixture, const struct fixture_row *rows, size_t count,
                      uint64_t end);
void fixture_symbol(struct flatten_fixture *fixture, const char *name, uint64_t begin, uint64_t end,
                    enum symbol_origin origin);

/*
 * Flattens and asks the index about every address in [begin, end). One line per run of equal
 * answers, hexadecimal bounds first:
 *
 *     100-108 inner b.c:7:3 < outer a.c:5
 *     108-110 outer a.c:6 (no_line)
 *
 * Frames are leaf first; a frame without a name is "?", without a file "-"; the origin follows the
 * name as name/symtab unless it is dwarf; a name that demangles is followed by '*'. Addresses
 * without a range are left out. The caller frees the text.
 */
char *fixture_dump(struct flatten_fixture *fixture, uint64_t begin, uint64_t end);
