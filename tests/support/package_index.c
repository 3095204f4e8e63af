#include "tests/support/package_index.h"

#include "tests/support/test.h"

/* The first free slot on the way that a search takes. */
static uint32_t find_slot(const uint32_t *slots, uint32_t slot_count, uint64_t id) {
    uint32_t slot = (uint32_t)(id % slot_count);
    uint32_t step = (uint32_t)((id >> 32) % slot_count) | 1;
    while (slots[slot] != 0)
        slot = (slot + step) % slot_count;
    return slot;
}

static void put_cells(struct dwarf_bytes *bytes, const uint32_t *cells, uint32_t count) {
    for (uint32_t i = 0; i < count; i++)
        put_number(bytes, 4, cells[i]);
}

void put_package_index(struct dwarf_bytes *bytes, const struct package_index_site *site) {
    uint32_t slots[64] = {0};
    assert_true(site->slot_count <= 64 && site->row_count < site->slot_count);
    for (uint32_t i = 0; i < site->row_count; i++)
        slots[find_slot(slots, site->slot_count, site->rows[i].id)] = i + 1;
    put_number(bytes, site->version == 5 ? 2 : 4, site->version);
    if (site->version == 5)
        put_number(bytes, 2, 0);
    put_number(bytes, 4, site->column_count);
    put_number(bytes, 4, site->row_count);
    put_number(bytes, 4, site->slot_count);
    for (uint32_t i = 0; i < site->slot_count; i++)
        put_number(bytes, 8, slots[i] ? site->rows[slots[i] - 1].id : 0);
    put_cells(bytes, slots, site->slot_count);
    put_cells(bytes, site->columns, site->column_count);
    for (uint32_t i = 0; i < site->row_count; i++)
        put_cells(bytes, site->rows[i].offsets, site->column_count);
    for (uint32_t i = 0; i < site->row_count; i++)
        put_cells(bytes, site->rows[i].sizes, site->column_count);
}
