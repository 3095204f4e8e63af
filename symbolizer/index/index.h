/*
 * A symbol index, opened for reading: address in, frames out. The file's layout is in
 * symbolizer/index/format.h. Every read is bounds-checked, since a disk or a compromised worker can
 * hand us anything: damage found at lookup answers SYMBOL_MISS_NO_RANGE and is counted, it never
 * crashes and never reads outside the file.
 *
 * Threads: an open index is immutable; any number of threads may read it at once.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/binary_id.h"
#include "base/cleanup.h"
#include "base/error.h"
#include "base/symbol.h"

/* The version this build writes. A file of another version is ERR_UNSUPPORTED: rebuild it. */
#define INDEX_FORMAT_VERSION 2

struct index;

/* Maps the file; the fd may be closed afterwards. Checks header, section table and bounds, not the
 * sections' checksums (index_verify does). ERR_MALFORMED, ERR_UNSUPPORTED, ERR_IO. When the file
 * is cut short later, what is gone reads as zeros (base/map_guard.h): see index_is_intact. */
enum err index_open_fd(int fd, struct index **ret_index, struct error *error);

/* The bytes must outlive the index. */
enum err index_open_memory(struct span bytes, struct index **ret_index, struct error *error);

void index_free(struct index *index);
DEFINE_CLEANUP(index, struct index, index_free)

/* Recomputes every section's checksum and walks all records; ERR_MALFORMED names the section. Any
 * changed byte is noticed. Reads the whole file. */
enum err index_verify(const struct index *index, struct error *error);

/* False once a read came upon a page of the file that is no more: answers may be wrong. */
bool index_is_intact(const struct index *index);

uint64_t index_size(const struct index *index);

/* How often a lookup or a walk came across damage since the index was opened. */
uint64_t index_damage_count(const struct index *index);

#define INDEX_ID_MAX 8

/* What was known of the inputs when the index was built. */
struct index_summary {
    struct binary_id ids[INDEX_ID_MAX];
    size_t id_count;
    uint16_t machine; /* EM_* */
    bool has_dwarf;
    bool has_pclntab;
    bool has_symtab;
    bool has_dynsym;
    bool without_columns;    /* the index was made to hold none */
    uint64_t function_count; /* functions with code of their own, all origins */
    uint64_t inlined_count;  /* inlined copies */
    uint64_t line_row_count;
    uint64_t interval_count;
    uint64_t location_count;
    uint64_t damage_count;     /* units or names that could not be read */
    uint64_t executable_bytes; /* 0 when unknown */
    uint64_t covered_bytes;    /* of them, answered with at least a name */
    bool extents_exact;        /* false: executable_bytes was inferred or is unknown */
};

void index_summary_read(const struct index *index, struct index_summary *ret_summary);

/* Executable ranges and PT_LOADs, for turning runtime addresses into ELF addresses. */
struct index_segment {
    uint64_t offset;
    uint64_t address;
    uint64_t file_size;
    uint64_t memory_size;
    uint32_t flags; /* PF_* */
};

size_t index_segment_count(const struct index *index);
struct index_segment index_segment_at(const struct index *index, size_t position);

/* Where a walk over the frames of an answer stands. The fields are the reader's own, except that
 * `scope` is 0 when no frame is left. */
struct index_chain {
    uint32_t scope;
    uint32_t line;
    uint32_t file;
    uint32_t column;
    uint16_t depth; /* frames that were walked */
    bool exact;
};

/* The outcome for one address: frames to walk, or a miss. */
struct index_hit {
    struct index_chain chain;
    enum symbol_miss miss; /* NONE, NO_RANGE, NO_LINE or INLINE_UNAVAILABLE */
};

/* Looks up `count` addresses in any order; ret_hits[i] answers pcs[i]. Allocates nothing. */
void index_lookup(const struct index *index, const uint64_t *pcs, size_t count,
                  struct index_hit *ret_hits);

/* Walks all intervals in ascending order, holes left out. Start with a zero-initialised position;
 * false at the end. What is damaged is counted and left out. */
struct index_position {
    uint32_t stretch;
    uint32_t block;
    uint32_t record;
    uint32_t run;
    uint64_t upper;
};

bool index_interval_next(const struct index *index, struct index_position *position,
                         struct pc_range *ret_range, struct index_hit *ret_hit);

/* A frame whose paths are numbers: who asks for many frames meets the same paths again and again,
 * and can keep what he made of them. */
struct index_frame {
    struct span name;    /* in the index, and lives as long */
    uint64_t entry_pc;   /* valid if has_entry_pc */
    uint32_t function;   /* a number that equal functions share */
    uint32_t file;       /* for index_path; 0: unknown */
    uint32_t start_file; /* likewise */
    uint32_t line;       /* as in struct symbol_frame, like what follows */
    uint32_t column;
    uint32_t start_line;
    uint32_t flags;
    enum symbol_origin origin;
    bool has_entry_pc;
};

/* Walks a chain as index_chain_next does, but up to `max` frames at once, which is faster, and
 * leaves the paths where they are. Returns how many frames there were; less than `max`: no more. */
size_t index_frames(const struct index *index, struct index_chain *chain, size_t max,
                    struct index_frame *ret_frames);

/* Room for paths, which are stored in two pieces. */
#define INDEX_PATH_ROOM 4096

/* The path of a frame's file: in the index or in `room` of INDEX_PATH_ROOM bytes. Empty for 0. */
struct span index_path(const struct index *index, uint32_t file, char *room);

/*
 * Walks a chain, leaf first. Start with a copy of a hit's; each call yields one frame and moves on;
 * false at the end. At most FRAME_COUNT_MAX frames, also in a damaged file. The spans point
 * into the index or into `scratch` and live until the next call with the same scratch.
 */
struct index_scratch {
    char bytes[2 * INDEX_PATH_ROOM];
};

bool index_chain_next(const struct index *index, struct index_chain *chain,
                      struct index_scratch *scratch, struct symbol_frame *ret_frame);
