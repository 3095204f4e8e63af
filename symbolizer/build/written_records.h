/*
 * The records of shards as those of the index: each is written when it is first needed, so that
 * nothing is in the index that answers nowhere, and equal functions of different shards are
 * written once.
 */
#pragma once

#include "symbolizer/build/collection.h"
#include "symbolizer/build/index_writer.h"
#include "symbolizer/build/intern_table.h"
#include "symbolizer/build/keyed_hash.h"

/* Rows and calls that follow each other are in few files: what these have as numbers is at hand. */
#define WRITTEN_FILES_AT_HAND 64u

struct written_file {
    uint32_t string; /* 0: none */
    uint32_t number;
};

/* Start with written_records_init. */
struct written_records {
    struct collection *collection;
    struct index_writer *writer;
    struct hash_key key;
    struct intern_table table;      /* of subjects */
    struct index_subject *subjects; /* by number */
    size_t subject_count, subject_capacity;
    uint32_t nameless;         /* scope of rows that nothing names; 0: not made yet */
    uint64_t symbol_functions; /* symbols that were written */
    struct written_file files[WRITTEN_FILES_AT_HAND];
    uint32_t path[FRAME_COUNT_MAX];
};

void written_records_init(struct written_records *records, struct collection *collection,
                          struct index_writer *writer);
void written_records_clear(struct written_records *records);

/* The number of a file, which is a shared string, in the index. */
enum err written_file(struct written_records *records, uint32_t string, uint32_t *ret_string,
                      struct error *error);

/* A scope and those around it. */
enum err written_scope(struct written_records *records, struct shard *shard, uint32_t scope,
                       uint32_t *ret_scope, struct error *error);

/* The scope of a symbol; SYMBOL_NONE: one without a name. */
enum err written_symbol(struct written_records *records, uint32_t symbol, uint32_t *ret_scope,
                        struct error *error);
