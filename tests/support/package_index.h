/* Writes the index of a .dwp by hand. */
#pragma once

#include "tests/support/dwarf_bytes.h"

struct package_index_row {
    uint64_t id;
    uint32_t offsets[4];
    uint32_t sizes[4];
};

struct package_index_site {
    uint16_t version; /* 2 or 5 */
    uint32_t slot_count;
    uint32_t columns[4]; /* DW_SECT_* */
    uint32_t column_count;
    const struct package_index_row *rows;
    uint32_t row_count; /* fewer than slots */
};

void put_package_index(struct dwarf_bytes *bytes, const struct package_index_site *site);
