/*
 * What one shard of a source comes to: who executes where, by the units' own rules. A unit's
 * functions, inlined copies and rows are known together only while it is pushed; what is kept of
 * them is what answers, in records that refer to one another by number (counted from 1; 0: none)
 * and to strings that all shards share. Which unit answers where several claim an address is
 * decided when all shards are there (symbolizer/build/assembly.h).
 *
 * A shard is filled by one thread and then read; its memory comes from the build's budget.
 */
#pragma once

#include <stdbool.h>

#include "base/symbol_source.h"
#include "symbolizer/build/budget.h"
#include "symbolizer/build/index_writer.h"

/* What the copies of one function share. Names and files are shared strings. */
struct shard_subject {
    uint32_t name;
    uint32_t short_name; /* where the name is not mangled; else 0 */
    uint32_t file;
    uint32_t line;
    uint16_t flags;
    uint8_t origin;   /* enum symbol_origin */
    bool is_linkage;  /* the name may be mangled */
    uint32_t written; /* its number in the index; 0: not yet */
};

/* Who executes: a function, or a copy of one with the call that it replaces. Parents come first. */
struct shard_scope {
    uint32_t subject;
    uint32_t parent; /* 0: a function */
    uint32_t written;
    bool has_entry_pc; /* of functions only */
    union {
        struct index_place call; /* of a copy: where in its parent */
        uint64_t entry_pc;
    };
};

/* From `begin` up to the next interval of the stretch, or its end. */
struct shard_interval {
    uint64_t begin;
    uint32_t scope;
    struct index_place row;
};

/*
 * A run of addresses that one range of a function answers for within its unit: what of the range no
 * smaller one of the unit covers, cut where another sequence begins to give the rows.
 */
struct shard_stretch {
    uint64_t begin;
    uint64_t end;
    struct pc_range range;   /* of the function, whole */
    uint32_t function;       /* scope */
    uint32_t sequence;       /* that the rows are of; 0: the unit has no rows here */
    uint32_t interval_first; /* position */
    uint32_t interval_count;
    bool fits;      /* the function fits its unit's lines; see unit_flatten.h */
    bool unpainted; /* inlined copies could not be told */
};

/* A run of rows that no function of their own unit answers for. */
struct shard_orphan {
    uint64_t begin;
    uint64_t end;
    uint32_t sequence;
    uint32_t row_first; /* position; the first row is at or before `begin` */
    uint32_t row_count;
};

struct shard_row {
    uint64_t address;
    struct index_place place;
};

struct shard_counts {
    uint64_t functions;
    uint64_t inlined;
    uint64_t line_rows;
    uint64_t damage;
};

/* Zero-initialise with the budget. */
struct shard {
    struct memory_budget *budget;
    struct shard_subject *subjects;
    struct shard_scope *scopes;
    struct shard_interval *intervals;
    struct shard_stretch *stretches; /* in the order in which the functions were pushed */
    struct pc_range *sequences;      /* likewise */
    struct shard_orphan *orphans;
    struct shard_row *rows; /* of orphans */
    size_t subject_count, subject_capacity;
    size_t scope_count, scope_capacity;
    size_t interval_count, interval_capacity;
    size_t stretch_count, stretch_capacity;
    size_t sequence_count, sequence_capacity;
    size_t orphan_count, orphan_capacity;
    size_t row_count, row_capacity;
    struct shard_counts counts;
};

void shard_clear(struct shard *shard);

/* Makes it the empty shard, and keeps the memory. */
void shard_reset(struct shard *shard);

/* A copy in arrays of just the size that is needed. `to` is empty. */
enum err shard_copy(const struct shard *from, struct shard *to, struct error *error);

/* The interval that pc is in, counted from the stretch's first. */
uint32_t shard_interval_at(const struct shard *shard, const struct shard_stretch *stretch,
                           uint64_t pc);

/* Positions are 32 bits wide. */
#define SHARD_RECORDS_MAX ((size_t)UINT32_MAX - 1)

/* Room for one more of the records named; ERR_LIMIT, ERR_NO_MEMORY. */
#define SHARD_RESERVE(shard, array, count_name, capacity_name, error)                              \
    ((shard)->count_name >= SHARD_RECORDS_MAX                                                      \
         ? error_set((error), ERR_LIMIT, "too many " #array)                                       \
         : BUDGET_GROW((shard)->budget, (shard)->array, (shard)->capacity_name,                    \
                       (shard)->count_name + 1, (error)))
