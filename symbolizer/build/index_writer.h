/*
 * Writes an index file (symbolizer/index/format.h) from already resolved intervals. Strings,
 * files, functions and locations are interned: equal contents get equal numbers. Not thread-safe.
 * Identical calls give identical bytes.
 *
 * Memory: the records as they will stand in the file, in arrays that grow by half, plus hash tables
 * of 8-byte slots that are at least three eighths full. At most about three times the file's size
 * while an array or a table grows. Sections are written from where they lie, without a copy.
 */
#pragma once

#include <stdint.h>

#include "base/cleanup.h"
#include "base/error.h"
#include "symbolizer/index/index.h"

struct index_writer;

/* size_max bounds the memory taken and the file written; reaching it is ERR_LIMIT. */
enum err index_writer_new(uint64_t size_max, struct index_writer **ret_writer, struct error *error);
void index_writer_free(struct index_writer *writer);
DEFINE_CLEANUP(index_writer, struct index_writer, index_writer_free)

/* Before anything else: columns are taken as unknown, which makes a smaller index. */
void index_writer_leave_out_columns(struct index_writer *writer);

/* Everywhere: 0 stands for "none". */
struct index_function {
    struct span name;
    struct span start_file;
    uint32_t start_line;
    uint32_t flags; /* of enum symbol_flags */
    enum symbol_origin origin;
    uint64_t entry_pc;
    bool has_entry_pc;
};

struct index_location {
    uint32_t function; /* from index_writer_function */
    uint32_t file;     /* from index_writer_file */
    uint32_t line;
    uint32_t column;
    uint32_t parent; /* location of the caller's frame; 0 in the outermost */
};

enum err index_writer_file(struct index_writer *writer, struct span path, uint32_t *ret_file,
                           struct error *error);
enum err index_writer_function(struct index_writer *writer, const struct index_function *function,
                               uint32_t *ret_function, struct error *error);
enum err index_writer_location(struct index_writer *writer, const struct index_location *location,
                               uint32_t *ret_location, struct error *error);

/* Ascending and disjoint, else ERR_INVALID. `miss` is NONE, NO_LINE or INLINE_UNAVAILABLE; with
 * NONE there must be a location, with the others there may be. Adjacent intervals with the same
 * answer are joined. */
enum err index_writer_interval(struct index_writer *writer, struct pc_range range,
                               uint32_t location, enum symbol_miss miss, struct error *error);

/*
 * The same for a builder that has told equal records apart itself, in the terms that an index is
 * kept in: who executes (a scope), and the row of the line table. Nothing is looked up in a table
 * of what is there already, so calls are cheap; what equals something given before is kept twice.
 * Rows of one function come close to one another, whatever order the functions are in.
 */

/* Equal bytes get an equal number; the empty string is 0. For names and files of what follows. */
enum err index_writer_string(struct index_writer *writer, struct span text, uint32_t *ret_string,
                             struct error *error);

/* What all copies of one function share. */
struct index_subject {
    uint32_t name; /* from index_writer_string */
    uint32_t file; /* likewise; where it is declared */
    uint32_t line;
    uint32_t flags; /* of enum symbol_flags */
    enum symbol_origin origin;
};

/* A place in a source file; all zero: unknown. */
struct index_place {
    uint32_t file; /* from index_writer_string */
    uint32_t line;
    uint32_t column;
};

/* A function's own code, or one copy of it with the place of the call that it replaces. */
struct index_scope {
    uint32_t subject;
    uint32_t parent;         /* the scope it is inlined into; 0: none */
    struct index_place call; /* in the parent */
    uint64_t entry_pc;       /* valid if has_entry_pc */
    bool has_entry_pc;
};

enum err index_writer_subject(struct index_writer *writer, const struct index_subject *subject,
                              uint32_t *ret_subject, struct error *error);
enum err index_writer_scope(struct index_writer *writer, const struct index_scope *scope,
                            uint32_t *ret_scope, struct error *error);

/* As index_writer_interval; `scope` is never 0. */
enum err index_writer_stretch(struct index_writer *writer, struct pc_range range, uint32_t scope,
                              const struct index_place *row, enum symbol_miss miss,
                              struct error *error);

enum err index_writer_segment(struct index_writer *writer, const struct index_segment *segment,
                              struct error *error);

/* How much there is so far, holes and joined intervals not counted. Locations are scopes: functions
 * and inlined copies, each by the place of its call. */
uint64_t index_writer_interval_count(const struct index_writer *writer);
uint64_t index_writer_location_count(const struct index_writer *writer);

/* The most memory that was taken. */
uint64_t index_writer_memory_peak(const struct index_writer *writer);

/* Once, at the end. Writes the file at the start of the fd, which is an empty file. The counts that
 * the writer knows itself (intervals, locations) replace those in `summary`. ret_size: bytes
 * written. */
enum err index_writer_finish(struct index_writer *writer, const struct index_summary *summary,
                             int fd, uint64_t *ret_size, struct error *error);
