/*
 * Input: a byte of flags and .debug_cu_index or .debug_tu_index.
 *     1 big endian   128 sound: must be read, and every unit found
 *
 * Property: a unit found at a place holds it; there are no more units than the bytes have room
 * for; searches end. Each id of a sound table is found.
 */
#include <assert.h>
#include <stdint.h>

#include "base/cursor.h"
#include "debuginfo/dwarf_package.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check_place(const struct dwarf_package_index *index, uint64_t offset) {
    struct dwarf_parts parts;
    if (dwarf_package_index_at(index, offset, &parts))
        assert(parts.info.offset <= offset && offset - parts.info.offset < parts.info.size);
}

/* The ids in the slots of a table of either version begin at byte 16. */
static void check_ids(const struct dwarf_package_index *index, struct span bytes, uint8_t flags) {
    struct cursor cursor = cursor_of(bytes, flags & 1, "index");
    cursor_skip(&cursor, 12);
    uint32_t slot_count = cursor_u32(&cursor);
    for (uint32_t i = 0; i < slot_count && i < 1000 && !cursor_failed(&cursor); i++) {
        uint64_t id = cursor_u64(&cursor);
        struct dwarf_parts parts;
        bool found = dwarf_package_index_find(index, id, &parts);
        if (found)
            check_place(index, parts.info.offset);
        assert(found || id == 0 || !(flags & 128));
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    if (size < 1)
        return 0;
    uint8_t flags = data[0];
    struct span bytes = span_of(data + 1, size - 1);
    struct error error = {0};
    struct dwarf_package_index *index = NULL;
    enum err err = dwarf_package_index_new(bytes, flags & 1, "index", &index, &error);
    assert(err == ERR_OK || (error.code == err && error.text[0]));
    assert(err == ERR_OK || !(flags & 128));
    if (err == ERR_OK) {
        assert(dwarf_package_index_unit_count(index) <= size / 8);
        check_ids(index, bytes, flags);
        for (unsigned bit = 0; bit < 64; bit++)
            check_place(index, (uint64_t)0xff << bit);
        check_place(index, 0);
    }
    dwarf_package_index_free(index);
    return 0;
}
