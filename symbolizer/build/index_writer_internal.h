/* What collecting (index_writer.c) and laying out (index_layout.c) share. */
#pragma once

#include "symbolizer/build/index_writer.h"
#include "symbolizer/build/intern_table.h"
#include "symbolizer/build/keyed_hash.h"
#include "symbolizer/build/record_array.h"
#include "symbolizer/index/format.h"

/* A stretch of intervals as in struct format_block, in the machine's byte order. */
struct writer_block {
    uint64_t base;
    uint64_t end;
    uint32_t interval_first;
    uint32_t interval_count;
    uint32_t last_begin;
    uint32_t last_value;
};

/* A function as format_function without an entry pc, and its number once it is a record. */
struct writer_subject {
    struct format_function record;
    uint32_t function; /* 0: not needed yet */
};

struct writer_scope {
    uint32_t function;
    uint32_t caller; /* location of the frame around it; 0: none */
};

struct index_writer {
    struct memory_budget budget;
    struct hash_key key;
    struct intern_table strings_by_text;
    struct intern_table functions_by_record;
    struct intern_table locations_by_record;
    /* Records in the file's byte order, ready to be written. */
    struct record_array segments;
    struct record_array intervals;
    struct record_array locations;
    struct record_array functions;
    struct record_array string_ends;
    struct record_array string_bytes;
    struct record_array blocks;   /* struct writer_block */
    struct record_array subjects; /* struct writer_subject */
    struct record_array scopes;   /* struct writer_scope */
    uint64_t interval_count;      /* without holes */
};

/* A record that is not looked for among those that are there. */
enum err index_writer_add_function(struct index_writer *writer,
                                   const struct format_function *record, uint32_t *ret_function,
                                   struct error *error);
