/* The lists of directories and files in the header of a line table (DWARF 5, 6.2.4). */
#include <dwarf.h>
#include <stdlib.h>
#include <string.h>

#include "debuginfo/dwarf_cursor.h"
#include "debuginfo/dwarf_line_internal.h"

enum err line_entry_list_add(struct line_entry_list *list, struct line_entry entry,
                             struct error *error) {
    if (list->count == list->capacity) {
        size_t capacity = list->capacity ? 2 * list->capacity : 64;
        struct line_entry *grown = reallocarray(list->items, capacity, sizeof(*grown));
        if (!grown)
            return error_set(error, ERR_NO_MEMORY, "no memory for %zu files", capacity);
        list->items = grown;
        list->capacity = capacity;
    }
    list->items[list->count++] = entry;
    return ERR_OK;
}

static uint32_t to_directory(uint64_t index) {
    return index < UINT32_MAX ? (uint32_t)index : UINT32_MAX;
}

bool line_file_read(const struct dwarf_line_table *table, struct cursor *cursor,
                    struct line_entry *ret_file) {
    size_t offset = (size_t)((const char *)cursor->position - table->sections->line.data);
    struct span name = cursor_cstring(cursor);
    if (name.size == 0)
        return false;
    *ret_file = (struct line_entry){.name = offset, .form = DW_FORM_string};
    ret_file->directory = to_directory(cursor_uleb128(cursor));
    cursor_uleb128(cursor); /* time */
    cursor_uleb128(cursor); /* size */
    return !cursor_failed(cursor);
}

/* Versions 2 to 4: strings, then files, an empty name at the end of each list. */
static enum err read_plain_lists(struct dwarf_line_table *table, struct cursor *cursor,
                                 struct error *error) {
    for (;;) {
        size_t offset = cursor_offset(cursor);
        struct span name = cursor_cstring(cursor);
        if (name.size == 0)
            break;
        struct line_entry entry = {.name = offset, .form = DW_FORM_string};
        enum err err = line_entry_list_add(&table->directories, entry, error);
        if (err)
            return err;
    }
    struct line_entry file;
    while (line_file_read(table, cursor, &file)) {
        enum err err = line_entry_list_add(&table->files, file, error);
        if (err)
            return err;
    }
    return ERR_OK;
}

struct entry_field {
    uint64_t content; /* DW_LNCT_* */
    uint64_t form;
};

struct entry_format {
    struct entry_field fields[255];
    uint8_t count;
};

static void read_format(struct cursor *cursor, struct entry_format *format) {
    format->count = cursor_u8(cursor);
    for (unsigned i = 0; i < format->count; i++) {
        format->fields[i].content = cursor_uleb128(cursor);
        format->fields[i].form = cursor_uleb128(cursor);
    }
}

/*
 * A value of any form that an entry may have (DWARF 5, 6.2.4.1; vendors' content types may have
 * others). All take at least one byte, which bounds the lists. Blocks have no value. A form we do
 * not know is a failure, since its size is not known.
 */
static uint64_t read_value(const struct dwarf_line_table *table, struct cursor *cursor,
                           uint64_t form) {
    switch (form) {
    case DW_FORM_data1:
    case DW_FORM_strx1:
    case DW_FORM_flag:
        return cursor_u8(cursor);
    case DW_FORM_data2:
    case DW_FORM_strx2:
        return cursor_u16(cursor);
    case DW_FORM_strx3:
        return cursor_unsigned(cursor, 3);
    case DW_FORM_data4:
    case DW_FORM_strx4:
        return cursor_u32(cursor);
    case DW_FORM_data8:
        return cursor_u64(cursor);
    case DW_FORM_udata:
    case DW_FORM_strx:
        return cursor_uleb128(cursor);
    case DW_FORM_sdata:
        return (uint64_t)cursor_sleb128(cursor);
    case DW_FORM_strp:
    case DW_FORM_line_strp:
    case DW_FORM_strp_sup:
    case DW_FORM_GNU_strp_alt:
    case DW_FORM_sec_offset:
        return cursor_unsigned(cursor, table->offset_size);
    case DW_FORM_data16:
        cursor_skip(cursor, 16);
        return 0;
    case DW_FORM_block:
        cursor_skip(cursor, cursor_uleb128(cursor));
        return 0;
    case DW_FORM_block1:
        cursor_skip(cursor, cursor_u8(cursor));
        return 0;
    case DW_FORM_block2:
        cursor_skip(cursor, cursor_u16(cursor));
        return 0;
    case DW_FORM_block4:
        cursor_skip(cursor, cursor_u32(cursor));
        return 0;
    case DW_FORM_string: {
        size_t offset = cursor_offset(cursor);
        cursor_cstring(cursor);
        return offset;
    }
    default:
        cursor->failed = true;
        return 0;
    }
}

static struct line_entry read_entry(const struct dwarf_line_table *table, struct cursor *cursor,
                                    const struct entry_format *format) {
    struct line_entry entry = {0};
    for (unsigned i = 0; i < format->count; i++) {
        const struct entry_field *field = &format->fields[i];
        uint64_t value = read_value(table, cursor, field->form);
        if (field->content == DW_LNCT_path) {
            entry.name = value;
            entry.form = (uint16_t)field->form;
        } else if (field->content == DW_LNCT_directory_index) {
            entry.directory = to_directory(value);
        }
    }
    return entry;
}

static enum err read_formatted_list(const struct dwarf_line_table *table, struct cursor *cursor,
                                    struct line_entry_list *list, struct error *error) {
    struct entry_format format;
    read_format(cursor, &format);
    uint64_t count = cursor_uleb128(cursor);
    if (format.count == 0 && count > 0)
        cursor->failed = true;
    for (uint64_t i = 0; i < count && !cursor_failed(cursor); i++) {
        struct line_entry entry = read_entry(table, cursor, &format);
        enum err err = cursor_failed(cursor) ? ERR_OK : line_entry_list_add(list, entry, error);
        if (err)
            return err;
    }
    return ERR_OK;
}

enum err line_entries_read(struct dwarf_line_table *table, struct cursor *cursor,
                           struct error *error) {
    enum err err;
    if (table->version < 5) {
        err = read_plain_lists(table, cursor, error);
    } else {
        err = read_formatted_list(table, cursor, &table->directories, error);
        if (!err)
            err = read_formatted_list(table, cursor, &table->files, error);
    }
    table->files_damaged = cursor_failed(cursor);
    return err;
}
