/*
 * From what the shards come to, to ascending, disjoint intervals with a chain each: decides who
 * answers at every address where several could, once, so that a lookup only searches.
 *
 *   functions  DWARF functions before ELF symbols. Among functions see
 *              symbolizer/build/stretch_map.h
 *   lines      of the function's own unit; where that has no row, of whichever unit has one
 *              (symbolizer/build/line_layer.h)
 *   symbols    .symtab before .dynsym, earlier pushes before later ones; they name what no function
 *              covers
 *
 * The innermost frame has the row's file and line, each outer one the place of the call in it. A
 * row of line 0, or none, is a frame without line and the miss NO_LINE. Rows outside functions and
 * symbols answer with a nameless frame. Where inlined copies could not be told within bounds, the
 * function answers alone, with the miss INLINE_UNAVAILABLE.
 *
 * Time is O(n log n) in what the collection holds, whatever overlaps what; memory comes from its
 * budget. The order of all calls to the writer is that of addresses: the same whatever order the
 * shards were done in.
 */
#pragma once

#include "symbolizer/build/collection.h"
#include "symbolizer/build/index_writer.h"

/* Where code lies: what covered_bytes counts. Ascending and disjoint. */
struct assembly_extents {
    const struct pc_range *list;
    size_t count;
};

struct assembly_result {
    uint64_t covered_bytes;    /* within the extents, answered with at least a name */
    uint64_t symbol_functions; /* symbols that answer somewhere */
};

/* All pushes are done and names tried; the collection is of no use afterwards. Finishing the index
 * is the caller's. */
enum err assemble(struct collection *collection, const struct assembly_extents *extents,
                  struct index_writer *writer, struct assembly_result *ret_result,
                  struct error *error);
