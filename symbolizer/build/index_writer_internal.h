/* What collecting (index_writer*.c), numbering, encoding and laying out share. */
#pragma once

#include "symbolizer/build/index_writer.h"
#include "symbolizer/build/intern_table.h"
#include "symbolizer/build/keyed_hash.h"
#include "symbolizer/build/record_array.h"
#include "symbolizer/index/format.h"

/* Intervals that follow each other, holes among them records of their own, whose begins are less
 * than 4 GiB above the base. */
struct writer_block {
    uint64_t base;
    uint64_t end;
    uint32_t interval_first;
    uint32_t interval_count;
};

/* Reaches to the next of its block, or to the block's end. */
struct writer_interval {
    uint32_t begin; /* above the block's base */
    uint32_t scope; /* 0: none */
    uint32_t file;  /* string */
    uint32_t line;
    uint32_t column_miss; /* column << 2 | enum symbol_miss */
};

/* A function as index_writer_function was given it; compared byte by byte. */
struct writer_function {
    uint64_t entry_pc;
    uint32_t subject;
    uint32_t has_entry_pc;
};

/* A frame as index_writer_location was given it. */
struct writer_location {
    uint32_t function;
    uint32_t file;
    uint32_t line;
    uint32_t column;
    uint32_t parent;
};

/* What tells the scopes of locations apart. */
struct writer_caller {
    uint32_t function;
    uint32_t location; /* of the caller's frame */
};

struct writer_scope {
    uint64_t entry_pc;
    uint32_t subject;
    uint32_t parent;
    uint32_t call_file; /* string */
    uint32_t call_line;
    uint32_t call_column;
    uint16_t depth; /* frames of its chain */
    bool has_entry_pc;
};

struct index_writer {
    struct memory_budget budget;
    struct hash_key key;
    bool without_columns;
    struct intern_table strings_by_text;
    struct record_array string_ends; /* uint64_t */
    struct record_array string_bytes;
    struct record_array segments;  /* struct format_segment */
    struct record_array subjects;  /* struct index_subject */
    struct record_array scopes;    /* struct writer_scope */
    struct record_array intervals; /* struct writer_interval */
    struct record_array blocks;    /* struct writer_block */
    uint64_t interval_count;       /* without holes */

    /* index_writer_function and index_writer_location: what tells equal ones. */
    struct intern_table subjects_by_record;
    struct intern_table functions_by_record;
    struct intern_table locations_by_record;
    struct intern_table scopes_by_caller;
    struct record_array functions;       /* struct writer_function */
    struct record_array locations;       /* struct writer_location */
    struct record_array callers;         /* struct writer_caller, of scope_of_caller's positions */
    struct record_array caller_scopes;   /* uint32_t */
    struct record_array location_scopes; /* uint32_t */
};

/* The bytes of a string; they move when another is added. */
struct span index_writer_text(const struct index_writer *writer, uint32_t string);

/* The number of a record of the array that equals `record`, which is added if there is none. */
enum err index_writer_intern(struct index_writer *writer, struct intern_table *table,
                             struct record_array *array, const void *record, uint32_t *ret_number,
                             struct error *error);

/* As index_writer_stretch; `scope` may be 0, unless there is no miss. */
enum err index_writer_add_stretch(struct index_writer *writer, struct pc_range range,
                                  uint32_t scope, const struct index_place *row,
                                  enum symbol_miss miss, struct error *error);

/* Frees what only adding needs. */
void index_writer_end_adding(struct index_writer *writer);

static inline struct index_subject *writer_subject(const struct index_writer *writer,
                                                   uint32_t number) {
    return record_array_at(&writer->subjects, number - 1);
}

static inline struct writer_scope *writer_scope(const struct index_writer *writer,
                                                uint32_t number) {
    return record_array_at(&writer->scopes, number - 1);
}
