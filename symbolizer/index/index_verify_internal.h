/* The parts of index_verify. Each checks one kind of section behind right checksums. */
#pragma once

#include "symbolizer/index/index_internal.h"

enum err verify_damaged(enum format_section_kind kind, const char *what, struct error *error);
enum err verify_damaged_at(enum format_section_kind kind, uint64_t position, struct error *error);

/* Where the blocks of a packed section have come to. */
struct verify_blocks {
    enum format_section_kind kind;
    uint64_t end;
};

/* Whether the block that begins at `bytes` follows the one before; it ends behind `bit_count` bits
 * that begin at `bits`. */
static inline bool verify_block_follows(const struct index *index, struct verify_blocks *blocks,
                                        const uint8_t *bytes, const uint8_t *bits,
                                        uint64_t bit_count) {
    const uint8_t *section = index->sections[blocks->kind].bytes;
    bool follows = bytes == section + blocks->end;
    blocks->end = (uint64_t)(bits - section) + (bit_count + 7) / 8;
    return follows;
}

/* Whether the blocks fill their section. */
static inline bool verify_blocks_fill(const struct index *index,
                                      const struct verify_blocks *blocks) {
    return blocks->end == index->sections[blocks->kind].size - FORMAT_TAIL;
}

enum err verify_files(const struct index *index, struct error *error);
enum err verify_functions(const struct index *index, struct error *error);
enum err verify_scopes(const struct index *index, struct error *error);
enum err verify_intervals(const struct index *index, struct error *error);
