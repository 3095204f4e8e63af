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
    struct record_array blocks; /* struct writer_block */
    uint64_t interval_count;    /* without holes */
};

/* 0 for the empty string. */
enum err index_writer_string(struct index_writer *writer, struct span text, uint32_t *ret_string,
                             struct error *error);
