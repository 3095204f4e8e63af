/*
 * Input: a byte of flags, DW_AT_ranges (1 byte), DW_AT_low_pc (8 bytes), the size of .debug_addr
 * (1 byte), .debug_addr, and the section with the lists.
 *     1 big endian   2 addresses of 4 bytes   4 no extents   8 version 4   16 an index
 *     32 no low_pc   64 offsets of 8 bytes    128 sound: must be read without damage
 *
 * Property: each range begins before its end and is live; there are no more ranges than entries
 * taken from the budget; with a smaller budget a prefix is read, and the loss is told. Sound lists
 * have ranges.
 */
#include <assert.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "debuginfo/dwarf_ranges.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define HEAD_SIZE 11

static const struct pc_range code[] = {{0x1000, 0x10000000}};

static void read_ranges(struct dwarf_range_reader *reader,
                        const struct dwarf_range_attributes *attributes, struct range_list *list) {
    struct error error;
    uint64_t budget = reader->budget;
    assert(dwarf_ranges_read(reader, attributes, list, &error) == ERR_OK);
    assert(reader->budget <= budget && list->count <= budget - reader->budget);
    uint8_t address_size = reader->bases->encoding.address_size;
    for (size_t i = 0; i < list->count; i++) {
        struct pc_range range = list->items[i];
        assert(range.begin < range.end && range.end <= dwarf_address_mask(address_size));
        assert(dwarf_is_live(reader->extents, range.begin, address_size));
    }
}

static void check_budgets(const struct dwarf_range_reader *whole,
                          const struct dwarf_range_attributes *attributes,
                          const struct range_list *list, uint64_t used) {
    for (uint64_t budget = 0; budget < used && budget < 40; budget++) {
        struct dwarf_range_reader reader = *whole;
        struct range_list prefix = {0};
        reader.budget = budget;
        reader.damaged = false;
        read_ranges(&reader, attributes, &prefix);
        assert(prefix.count <= list->count && reader.damaged);
        assert(prefix.count == 0 ||
               memcmp(prefix.items, list->items, prefix.count * sizeof(*list->items)) == 0);
        range_list_clear(&prefix);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    if (size < HEAD_SIZE || size - HEAD_SIZE < data[HEAD_SIZE - 1])
        return 0;
    uint8_t flags = data[0];
    size_t addr_size = data[HEAD_SIZE - 1];
    const uint8_t *lists = data + HEAD_SIZE + addr_size;
    struct span bytes = span_of(lists, size - HEAD_SIZE - addr_size);
    struct dwarf_sections sections = {
        .ranges = bytes, .rnglists = bytes, .addr = span_of(data + HEAD_SIZE, addr_size)};
    struct dwarf_unit_bases bases = {
        .encoding = {flags & 8 ? 4 : 5, flags & 2 ? 4 : 8, flags & 64 ? 8 : 4, flags & 1},
        .has_low_pc = !(flags & 32),
    };
    memcpy(&bases.low_pc, data + 2, sizeof(bases.low_pc));
    struct dwarf_extents extents = {code, flags & 4 ? 0 : 1};
    struct dwarf_range_reader reader = {&sections, &bases, &extents, DWARF_RANGE_BUDGET, false};
    struct dwarf_range_attributes attributes = {
        .has_ranges = true, .ranges = data[1], .ranges_is_index = flags & 16};
    struct range_list list = {0};
    read_ranges(&reader, &attributes, &list);
    if (flags & 128)
        assert(!reader.damaged && list.count > 0);
    check_budgets(&reader, &attributes, &list, DWARF_RANGE_BUDGET - reader.budget);
    range_list_clear(&list);
    return 0;
}
