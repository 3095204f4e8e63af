/* Blocks of scopes, functions and files, and the exceptions that blocks end with. */
#include <assert.h>

#include "symbolizer/index/index_internal.h"

/* --- exceptions --- */

#define WIDTH_BITS 6

bool exception_list_open(const uint8_t *bits, uint64_t at, uint64_t bit_count, uint32_t count,
                         unsigned position_bits, unsigned miss_bits,
                         struct exception_list *ret_list) {
    if (at > bit_count || bit_count - at < 2 * WIDTH_BITS)
        return false;
    struct exception_list list = {
        .bits = bits,
        .at = at + 2 * WIDTH_BITS,
        .count = count,
        .position_bits = (uint8_t)position_bits,
        .miss_bits = (uint8_t)miss_bits,
        .file_bits = (uint8_t)bit_field(bits, at, WIDTH_BITS),
        .line_bits = (uint8_t)bit_field(bits, at + WIDTH_BITS, WIDTH_BITS),
    };
    if (list.file_bits > 32 || list.line_bits > 32 || exception_list_end(&list) > bit_count)
        return false;
    *ret_list = list;
    return true;
}

struct exception exception_list_get(const struct exception_list *list, uint32_t number) {
    assert(number < list->count);
    uint64_t at = list->at + (uint64_t)number * (list->position_bits + list->miss_bits +
                                                 (unsigned)list->file_bits + list->line_bits);
    struct exception exception;
    exception.position = (uint32_t)bit_field(list->bits, at, list->position_bits);
    at += list->position_bits;
    exception.miss = (uint32_t)bit_field(list->bits, at, list->miss_bits);
    at += list->miss_bits;
    exception.file = (uint32_t)bit_field(list->bits, at, list->file_bits);
    at += list->file_bits;
    exception.line = (uint32_t)bit_field(list->bits, at, list->line_bits);
    return exception;
}

bool exception_list_find(const struct exception_list *list, uint32_t position,
                         struct exception *ret_exception) {
    uint32_t low = 0;
    uint32_t high = list->count;
    while (low < high) {
        uint32_t middle = low + (high - low) / 2;
        if (exception_list_get(list, middle).position < position)
            low = middle + 1;
        else
            high = middle;
    }
    if (low == list->count)
        return false;
    *ret_exception = exception_list_get(list, low);
    return ret_exception->position == position;
}

/* --- scopes --- */

/* Base and width in front of the entry pcs. */
#define ENTRY_BASE_BITS 64
#define ENTRY_WIDTH_BITS 7

static bool open_entries(struct scope_block *block, uint64_t rows_end) {
    block->tail_at = rows_end;
    if (block->entry_mask == 0)
        return true;
    if (block->bit_count - rows_end < ENTRY_BASE_BITS + ENTRY_WIDTH_BITS)
        return false;
    block->entry_base = bit_field_wide(block->bits, rows_end, ENTRY_BASE_BITS);
    block->entry_bits =
        (uint8_t)bit_field(block->bits, rows_end + ENTRY_BASE_BITS, ENTRY_WIDTH_BITS);
    block->entries_at = rows_end + ENTRY_BASE_BITS + ENTRY_WIDTH_BITS;
    block->tail_at = block->entries_at +
                     (uint64_t)__builtin_popcountll(block->entry_mask) * block->entry_bits;
    return block->entry_bits <= 64 && block->tail_at <= block->bit_count;
}

bool index_scope_block(const struct index *index, uint64_t position,
                       struct scope_block *ret_block) {
    struct format_scope_block header;
    const uint8_t *bytes;
    uint64_t size;
    if (!index_packed_block(index, FORMAT_SCOPES, position, sizeof(header), &bytes, &size))
        return false;
    memcpy(&header, bytes, sizeof(header));
    struct scope_block *block = ret_block;
    block->bits = bytes + sizeof(header);
    block->bit_count = (size - sizeof(header)) * 8;
    block->entry_mask = le64toh(header.entry_mask);
    block->record_count = index_block_records(index->sections[FORMAT_SCOPES].count, position);
    block->function_base = le32toh(header.function_base);
    block->exception_count = header.exception_count;
    block->function_bits = header.function_bits;
    block->parent_bits = header.parent_bits;
    block->line_bits = header.line_bits;
    block->column_bits = header.column_bits;
    if (header.function_bits > 32 || header.parent_bits > 32 || header.line_bits > 32 ||
        header.column_bits > 32)
        return false;
    uint64_t row_bits = (uint64_t)header.function_bits + header.parent_bits + header.line_bits +
                        header.column_bits;
    uint64_t rows_end = block->record_count * row_bits;
    return rows_end <= block->bit_count && open_entries(block, rows_end);
}

struct scope_record scope_block_get(const struct scope_block *block, uint32_t record) {
    uint64_t row_bits = (uint64_t)block->function_bits + block->parent_bits + block->line_bits +
                        block->column_bits;
    uint64_t at = record * row_bits;
    struct scope_record scope;
    scope.function = block->function_base +
                     (uint32_t)bit_field(block->bits, at, block->function_bits);
    at += block->function_bits;
    scope.parent = (uint32_t)bit_field(block->bits, at, block->parent_bits);
    at += block->parent_bits;
    scope.line_code = (uint32_t)bit_field(block->bits, at, block->line_bits);
    at += block->line_bits;
    scope.column = (uint32_t)bit_field(block->bits, at, block->column_bits);
    return scope;
}

uint64_t scope_block_entry(const struct scope_block *block, uint32_t record) {
    uint64_t before = block->entry_mask & (((uint64_t)1 << record) - 1);
    uint64_t at = block->entries_at + (uint64_t)__builtin_popcountll(before) * block->entry_bits;
    return block->entry_base + bit_field_wide(block->bits, at, block->entry_bits);
}

/* --- functions --- */

bool index_function_block(const struct index *index, uint64_t position,
                          struct function_block *ret_block) {
    struct format_function_block header;
    const uint8_t *bytes;
    uint64_t size;
    if (!index_packed_block(index, FORMAT_FUNCTIONS, position, sizeof(header), &bytes, &size))
        return false;
    memcpy(&header, bytes, sizeof(header));
    struct function_block *block = ret_block;
    block->bits = bytes + sizeof(header);
    block->bit_count = (size - sizeof(header)) * 8;
    block->name_base = le64toh(header.name_base);
    block->record_count = index_block_records(index->sections[FORMAT_FUNCTIONS].count, position);
    block->file_base = le32toh(header.file_base);
    block->attribute_base = le32toh(header.attribute_base);
    block->end_bits = header.end_bits;
    block->file_bits = header.file_bits;
    block->line_bits = header.line_bits;
    block->attribute_bits = header.attribute_bits;
    uint64_t row_bits = (uint64_t)header.end_bits + header.file_bits + header.line_bits +
                        header.attribute_bits;
    return header.end_bits <= 57 && header.file_bits <= 32 && header.line_bits <= 32 &&
           header.attribute_bits <= 32 && block->record_count * row_bits <= block->bit_count;
}

/* The bytes of a section from base + begin to base + end. */
static bool section_span(const struct index *index, enum format_section_kind kind, uint64_t base,
                         uint64_t begin, uint64_t end, struct span *ret_span) {
    const struct index_section *section = &index->sections[kind];
    if (begin > end || base > section->size || end > section->size - base)
        return false;
    *ret_span = span_of(section->bytes + base + begin, end - begin);
    return true;
}

bool index_function(const struct index *index, uint32_t number,
                    struct function_record *ret_record) {
    struct function_block block;
    uint32_t position = number - 1;
    if (position >= index->sections[FORMAT_FUNCTIONS].count ||
        !index_function_block(index, position / FORMAT_BLOCK_RECORDS, &block))
        return false;
    uint32_t record = position % FORMAT_BLOCK_RECORDS;
    uint64_t row_bits = (uint64_t)block.end_bits + block.file_bits + block.line_bits +
                        block.attribute_bits;
    uint64_t at = record * row_bits;
    uint64_t begin = record ? bit_field(block.bits, at - row_bits, block.end_bits) : 0;
    uint64_t end = bit_field(block.bits, at, block.end_bits);
    at += block.end_bits;
    ret_record->file = block.file_base + (uint32_t)bit_field(block.bits, at, block.file_bits);
    at += block.file_bits;
    ret_record->line = (uint32_t)bit_field(block.bits, at, block.line_bits);
    at += block.line_bits;
    ret_record->attributes = block.attribute_base +
                             (uint32_t)bit_field(block.bits, at, block.attribute_bits);
    return section_span(index, FORMAT_NAME_BYTES, block.name_base, begin, end, &ret_record->name);
}

/* --- files --- */

bool index_file_block(const struct index *index, uint64_t position, struct file_block *ret_block) {
    struct format_file_block header;
    const uint8_t *bytes;
    uint64_t size;
    if (!index_packed_block(index, FORMAT_FILES, position, sizeof(header), &bytes, &size))
        return false;
    memcpy(&header, bytes, sizeof(header));
    struct file_block *block = ret_block;
    block->bits = bytes + sizeof(header);
    block->bit_count = (size - sizeof(header)) * 8;
    block->path_base = le64toh(header.path_base);
    block->record_count = index_block_records(index->sections[FORMAT_FILES].count, position);
    block->directory_base = le32toh(header.directory_base);
    block->end_bits = header.end_bits;
    block->directory_bits = header.directory_bits;
    uint64_t row_bits = (uint64_t)header.end_bits + header.directory_bits;
    return header.end_bits <= 57 && header.directory_bits <= 32 &&
           block->record_count * row_bits <= block->bit_count;
}

static bool directory_bytes(const struct index *index, uint32_t number, struct span *ret_bytes) {
    const struct index_section *ends = &index->sections[FORMAT_DIRECTORY_ENDS];
    *ret_bytes = (struct span){NULL, 0};
    if (number == 0)
        return true;
    if (number > ends->count)
        return false;
    const uint8_t *end_at = ends->bytes + (uint64_t)(number - 1) * sizeof(uint32_t);
    uint64_t begin = number == 1 ? 0 : index_load_u32(end_at - sizeof(uint32_t));
    return section_span(index, FORMAT_DIRECTORY_BYTES, 0, begin, index_load_u32(end_at), ret_bytes);
}

bool index_file_parts(const struct index *index, uint32_t number, struct file_parts *ret_parts) {
    struct file_block block;
    uint32_t position = number - 1;
    if (position >= index->sections[FORMAT_FILES].count ||
        !index_file_block(index, position / FORMAT_BLOCK_RECORDS, &block))
        return false;
    uint32_t record = position % FORMAT_BLOCK_RECORDS;
    uint64_t row_bits = (uint64_t)block.end_bits + block.directory_bits;
    uint64_t at = record * row_bits;
    uint64_t begin = record ? bit_field(block.bits, at - row_bits, block.end_bits) : 0;
    uint64_t end = bit_field(block.bits, at, block.end_bits);
    uint32_t directory = block.directory_base +
                         (uint32_t)bit_field(block.bits, at + block.end_bits, block.directory_bits);
    return section_span(index, FORMAT_PATH_BYTES, block.path_base, begin, end, &ret_parts->name) &&
           directory_bytes(index, directory, &ret_parts->directory);
}

bool index_file(const struct index *index, uint32_t number, char *room, struct span *ret_path) {
    struct file_parts parts;
    *ret_path = (struct span){NULL, 0};
    if (number == 0)
        return true;
    if (!index_file_parts(index, number, &parts))
        return false;
    if (parts.directory.size == 0) {
        *ret_path = parts.name;
        return true;
    }
    if (parts.directory.size > FORMAT_JOINED_PATH_MAX ||
        parts.name.size > FORMAT_JOINED_PATH_MAX - parts.directory.size)
        return false;
    memcpy(room, parts.directory.data, parts.directory.size);
    memcpy(room + parts.directory.size, parts.name.data, parts.name.size);
    *ret_path = span_of(room, parts.directory.size + parts.name.size);
    return true;
}
