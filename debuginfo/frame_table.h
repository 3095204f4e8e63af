/*
 * Which addresses the FDEs of .eh_frame, or else of .debug_frame, cover: where functions begin and
 * end in files that say little else. It never says what they are called.
 *
 * .eh_frame_hdr is a sorted table of them made by the linker. It is used as it lies there after its
 * order was checked, and each answer is held against the FDE itself; where that fails, and in files
 * without the table, all entries are read and sorted.
 *
 * Not thread-safe: a lookup may make that choice.
 */
#pragma once

#include "base/cleanup.h"
#include "debuginfo/elf_file.h"

struct frame_table;

/* The file must outlive the table. ERR_NOT_FOUND when it has no frames that can be read;
 * ERR_NO_MEMORY. */
enum err frame_table_new(struct elf_file *file, struct frame_table **ret_table,
                         struct error *error);
void frame_table_free(struct frame_table *table);
DEFINE_CLEANUP(frame_table, struct frame_table, frame_table_free)

/* The FDE that covers pc; false when there is none. */
bool frame_table_find(struct frame_table *table, uint64_t pc, struct pc_range *ret_range);

/* Where the first FDE above pc begins; false when there is none. */
bool frame_table_next(struct frame_table *table, uint64_t pc, uint64_t *ret_begin);

/* True while the linker's table is in use. */
bool frame_table_is_from_header(const struct frame_table *table);
