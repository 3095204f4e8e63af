#include "debuginfo/dwarf_ranges.h"

#include <dwarf.h>

#include "debuginfo/dwarf_cursor.h"

/* One list being read. */
struct list_walk {
    struct dwarf_range_reader *reader;
    struct range_list *list;
    struct cursor cursor;
    uint64_t base;
    uint64_t mask; /* the largest address */
    uint8_t address_size;
    bool base_is_dead; /* nothing that counts from it is live */
};

static enum err add_range(struct list_walk *walk, uint64_t begin, uint64_t end,
                          struct error *error) {
    begin &= walk->mask;
    end &= walk->mask;
    if (begin >= end || !dwarf_is_live(walk->reader->extents, begin, walk->address_size))
        return ERR_OK;
    return range_list_add(walk->list, (struct pc_range){begin, end}, error);
}

/* The last byte of all addresses cannot be covered, so that the end is a number. */
static enum err add_length(struct list_walk *walk, uint64_t begin, uint64_t length,
                           struct error *error) {
    begin &= walk->mask;
    if (length > walk->mask - begin)
        length = walk->mask - begin;
    return add_range(walk, begin, begin + length, error);
}

/* Offsets count from the base and may be negative: a cold part below the rest of its function. */
static enum err add_offsets(struct list_walk *walk, uint64_t begin, uint64_t end,
                            struct error *error) {
    if (walk->base_is_dead)
        return ERR_OK;
    return add_range(walk, walk->base + begin, walk->base + end, error);
}

static void set_base(struct list_walk *walk, uint64_t base) {
    walk->base = base & walk->mask;
    walk->base_is_dead = dwarf_is_tombstone(walk->base, walk->address_size);
}

static struct list_walk start_walk(struct dwarf_range_reader *reader, struct span section,
                                   const char *name, struct range_list *list) {
    const struct dwarf_unit_bases *bases = reader->bases;
    struct list_walk walk = {
        .reader = reader,
        .list = list,
        .cursor = cursor_of(section, bases->encoding.big_endian, name),
        .mask = dwarf_address_mask(bases->encoding.address_size),
        .address_size = bases->encoding.address_size,
    };
    set_base(&walk, bases->has_low_pc ? bases->low_pc : 0);
    return walk;
}

/* False at the end of what may be read. */
static bool take_entry(struct list_walk *walk) {
    if (walk->reader->budget == 0 || cursor_failed(&walk->cursor))
        return false;
    walk->reader->budget--;
    return true;
}

/*
 * Pairs of addresses, a pair of zeros at the end (DWARF 4, 2.17.3). The largest address in front
 * makes the second one the base of what follows, but for the one pair of two tombstones: that is
 * a dropped function, and the base stays.
 */
static enum err read_pairs(struct list_walk *walk, struct error *error) {
    while (take_entry(walk)) {
        uint64_t begin = cursor_unsigned(&walk->cursor, walk->address_size);
        uint64_t end = cursor_unsigned(&walk->cursor, walk->address_size);
        if (cursor_failed(&walk->cursor))
            break;
        if (begin == 0 && end == 0)
            return ERR_OK;
        enum err err = ERR_OK;
        if (begin != walk->mask)
            err = add_offsets(walk, begin, end, error);
        else if (end != walk->mask)
            set_base(walk, end);
        if (err)
            return err;
    }
    walk->reader->damaged = true;
    return ERR_OK;
}

/* An index of .debug_addr. What it does not name is as dead as what was dropped. */
static uint64_t read_indexed(struct list_walk *walk) {
    uint64_t index = cursor_uleb128(&walk->cursor);
    uint64_t address = walk->mask;
    if (!cursor_failed(&walk->cursor) &&
        !dwarf_address_at(walk->reader->sections, walk->reader->bases, index, &address))
        walk->reader->damaged = true;
    return address;
}

static uint64_t read_plain(struct list_walk *walk) {
    return cursor_unsigned(&walk->cursor, walk->address_size);
}

/* The entry behind its kind byte (DWARF 5, 7.25). All of an entry is read before any is used, so
 * that one cut short says nothing. */
static enum err read_entry(struct list_walk *walk, uint8_t kind, struct error *error) {
    struct cursor *cursor = &walk->cursor;
    uint64_t first;
    uint64_t second = 0;
    if (kind == DW_RLE_base_addressx || kind == DW_RLE_startx_endx || kind == DW_RLE_startx_length)
        first = read_indexed(walk);
    else
        first = kind == DW_RLE_offset_pair ? cursor_uleb128(cursor) : read_plain(walk);
    if (kind == DW_RLE_startx_endx)
        second = read_indexed(walk);
    else if (kind == DW_RLE_start_end)
        second = read_plain(walk);
    else if (kind != DW_RLE_base_addressx && kind != DW_RLE_base_address)
        second = cursor_uleb128(cursor);
    if (cursor_failed(cursor))
        return ERR_OK;
    switch (kind) {
    case DW_RLE_base_addressx:
    case DW_RLE_base_address:
        set_base(walk, first);
        return ERR_OK;
    case DW_RLE_offset_pair:
        return add_offsets(walk, first, second, error);
    case DW_RLE_startx_endx:
    case DW_RLE_start_end:
        return add_range(walk, first, second, error);
    default:
        return add_length(walk, first, second, error);
    }
}

static enum err read_entries(struct list_walk *walk, struct error *error) {
    while (take_entry(walk)) {
        uint8_t kind = cursor_u8(&walk->cursor);
        if (cursor_failed(&walk->cursor) || kind > DW_RLE_start_length)
            break;
        if (kind == DW_RLE_end_of_list)
            return ERR_OK;
        enum err err = read_entry(walk, kind, error);
        if (err)
            return err;
    }
    walk->reader->damaged = true;
    return ERR_OK;
}

/* Where the offsets of the unit's lists begin: behind the header of the first table, if the unit
 * does not say, as units of a .dwo do not (DWARF 5, 7.28). */
static uint64_t offsets_begin(const struct dwarf_range_reader *reader) {
    if (reader->bases->has_rnglists_base)
        return reader->bases->rnglists_base;
    return reader->bases->encoding.offset_size == 8 ? 20 : 12;
}

/* The list that DW_FORM_rnglistx means; the number of them stands before the first offset. */
static bool find_list(struct dwarf_range_reader *reader, uint64_t index, uint64_t *ret_offset) {
    const struct dwarf_encoding *encoding = &reader->bases->encoding;
    uint64_t base = offsets_begin(reader);
    struct cursor cursor =
        cursor_of(reader->sections->rnglists, encoding->big_endian, ".debug_rnglists");
    if (base < 4)
        return false;
    cursor_seek(&cursor, base - 4);
    if (index >= cursor_u32(&cursor))
        return false;
    cursor_skip(&cursor, index * encoding->offset_size);
    uint64_t offset = cursor_unsigned(&cursor, encoding->offset_size);
    if (cursor_failed(&cursor) || offset > UINT64_MAX - base)
        return false;
    *ret_offset = base + offset;
    return true;
}

static enum err read_list(struct dwarf_range_reader *reader,
                          const struct dwarf_range_attributes *attributes, struct range_list *list,
                          struct error *error) {
    const struct dwarf_unit_bases *bases = reader->bases;
    uint64_t offset = attributes->ranges;
    if (bases->encoding.version < 5) {
        struct list_walk walk = start_walk(reader, reader->sections->ranges, ".debug_ranges", list);
        cursor_seek(&walk.cursor, bases->gnu_ranges_base);
        cursor_skip(&walk.cursor, offset);
        return read_pairs(&walk, error);
    }
    if (attributes->ranges_is_index && !find_list(reader, offset, &offset)) {
        reader->damaged = true;
        return ERR_OK;
    }
    struct list_walk walk = start_walk(reader, reader->sections->rnglists, ".debug_rnglists", list);
    cursor_seek(&walk.cursor, offset);
    return read_entries(&walk, error);
}

enum err dwarf_ranges_read(struct dwarf_range_reader *reader,
                           const struct dwarf_range_attributes *attributes, struct range_list *list,
                           struct error *error) {
    list->count = 0;
    if (attributes->has_ranges)
        return read_list(reader, attributes, list, error);
    if (!attributes->has_low_pc || !attributes->has_high_pc)
        return ERR_OK;
    struct list_walk walk = start_walk(reader, (struct span){NULL, 0}, "", list);
    if (attributes->high_pc_is_size)
        return add_length(&walk, attributes->low_pc, attributes->high_pc, error);
    return add_range(&walk, attributes->low_pc, attributes->high_pc, error);
}

bool dwarf_address_at(const struct dwarf_sections *sections, const struct dwarf_unit_bases *bases,
                      uint64_t index, uint64_t *ret_address) {
    uint8_t size = bases->encoding.address_size;
    if (size == 0 || bases->addr_base > sections->addr.size ||
        index >= (sections->addr.size - bases->addr_base) / size)
        return false;
    struct cursor cursor = cursor_of(sections->addr, bases->encoding.big_endian, ".debug_addr");
    cursor_seek(&cursor, bases->addr_base + index * size);
    *ret_address = cursor_unsigned(&cursor, size);
    return true;
}
