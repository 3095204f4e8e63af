/*
 * The index of a DWARF package (.dwp): .debug_cu_index or .debug_tu_index, of version 2 (GNU
 * DebugFission, for DWARF 4) or 5 (DWARF 5, 7.3.5). It tells which part of each section of the
 * package belongs to a unit; offsets in the unit count from where its part begins.
 *
 * The bytes are hostile. What the index states is not checked against the sections it speaks of:
 * whoever uses a part does so when reading there. Immutable once made; the bytes must stay.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/cleanup.h"
#include "base/error.h"
#include "base/span.h"

struct dwarf_package_index;

/* Where a part begins and how long it is; both 0 if the unit has none. */
struct dwarf_part {
    uint64_t offset;
    uint64_t size;
};

/* What one unit has. */
struct dwarf_parts {
    struct dwarf_part info; /* of .debug_info; of .debug_types for a type unit of version 2 */
    struct dwarf_part abbrev;
    struct dwarf_part line;
    struct dwarf_part str_offsets;
    struct dwarf_part rnglists;
};

/* An empty section gives an index without units. ERR_MALFORMED, ERR_UNSUPPORTED, ERR_NO_MEMORY;
 * `name` is that of the section. */
enum err dwarf_package_index_new(struct span section, bool big_endian, const char *name,
                                 struct dwarf_package_index **ret_index, struct error *error);
void dwarf_package_index_free(struct dwarf_package_index *index);
DEFINE_CLEANUP(dwarf_package_index, struct dwarf_package_index, dwarf_package_index_free)

size_t dwarf_package_index_unit_count(const struct dwarf_package_index *index);

/* The unit with that DWO id or type signature; false if there is none. By the hash table. */
bool dwarf_package_index_find(const struct dwarf_package_index *index, uint64_t id,
                              struct dwarf_parts *ret_parts);

/* The unit whose part of .debug_info holds the offset; false if there is none. O(log n). */
bool dwarf_package_index_at(const struct dwarf_package_index *index, uint64_t info_offset,
                            struct dwarf_parts *ret_parts);
