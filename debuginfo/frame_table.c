#include "debuginfo/frame_table.h"

#include <assert.h>

#include "debuginfo/frame_entries.h"

/* The one form of table that linkers write (and that unwinders search). */
#define HEADER_VERSION 1
#define HEADER_ENTRY_ENCODING (EH_POINTER_FROM_DATA | EH_POINTER_S32)
#define HEADER_ENTRY_SIZE 8

/* .eh_frame_hdr: pairs of function and FDE, both relative to its own address. */
struct frame_header {
    struct span entries;
    uint64_t address; /* of .eh_frame_hdr */
    size_t count;
};

struct frame_table {
    const struct elf_file *file;
    struct frame_section section;
    struct frame_header header; /* count 0: not in use */
    struct pc_range *ranges;    /* ascending by begin; read when the header is not in use */
    size_t count;
    size_t capacity;
};

void frame_table_free(struct frame_table *table) {
    if (!table)
        return;
    free(table->ranges);
    free(table);
}

bool frame_table_is_from_header(const struct frame_table *table) {
    return table->header.count > 0;
}

/* --- finding the bytes ---------------------------------------------------------------------------
 */

static uint64_t section_address(const struct elf_file *file, const char *name) {
    const struct elf_section *section = elf_file_section_by_name(file, name);
    return section ? section->address : 0;
}

static struct eh_bases bases_of(const struct elf_file *file, uint64_t here) {
    uint64_t got = section_address(file, ".got.plt");
    return (struct eh_bases){
        .here = here,
        .text = section_address(file, ".text"),
        .data = got ? got : section_address(file, ".got"),
        .address_size = elf_file_header(file)->is_64 ? 8 : 4,
    };
}

static void find_section(struct elf_file *file, struct frame_section *section) {
    uint64_t address = 0;
    section->big_endian = elf_file_header(file)->big_endian;
    section->bytes = elf_file_loaded_bytes(file, ".eh_frame", &address);
    section->is_eh = section->bytes.size > 0;
    if (!section->is_eh)
        section->bytes = elf_file_loaded_bytes(file, ".debug_frame", &address);
    section->bases = bases_of(file, address);
}

/* --- the linker's table --------------------------------------------------------------------------
 */

static uint64_t header_word(const struct frame_table *table, size_t index, size_t word) {
    const struct frame_header *header = &table->header;
    struct cursor cursor = cursor_of(header->entries, table->section.big_endian, ".eh_frame_hdr");
    cursor_seek(&cursor, index * HEADER_ENTRY_SIZE + 4 * word);
    uint64_t value = header->address + (uint64_t)(int64_t)(int32_t)cursor_u32(&cursor);
    return table->section.bases.address_size == 4 ? (uint32_t)value : value;
}

static uint64_t header_function(const struct frame_table *table, size_t index) {
    return header_word(table, index, 0);
}

static bool header_is_sorted(const struct frame_table *table) {
    for (size_t i = 1; i < table->header.count; i++)
        if (header_function(table, i) < header_function(table, i - 1))
            return false;
    return true;
}

/* Takes the table into use if it is of the usual form, lies over our .eh_frame and is sorted. */
static void open_header(struct frame_table *table, struct elf_file *file) {
    uint64_t address = 0;
    struct span bytes = elf_file_loaded_bytes(file, ".eh_frame_hdr", &address);
    struct cursor cursor = cursor_of(bytes, table->section.big_endian, ".eh_frame_hdr");
    struct eh_bases bases = bases_of(file, address);
    bases.data = address;
    uint8_t version = cursor_u8(&cursor);
    uint8_t frames_encoding = cursor_u8(&cursor);
    uint8_t count_encoding = cursor_u8(&cursor);
    uint8_t entry_encoding = cursor_u8(&cursor);
    uint64_t frames;
    uint64_t count;
    if (version != HEADER_VERSION || entry_encoding != HEADER_ENTRY_ENCODING ||
        !eh_pointer_read(&cursor, frames_encoding, &bases, &frames) ||
        !eh_pointer_read(&cursor, count_encoding, &bases, &count))
        return;
    if (frames != table->section.bases.here || count > cursor_left(&cursor) / HEADER_ENTRY_SIZE)
        return;
    table->header = (struct frame_header){
        .entries = cursor_bytes(&cursor, count * HEADER_ENTRY_SIZE),
        .address = address,
        .count = count,
    };
    if (!header_is_sorted(table))
        table->header.count = 0;
}

/* How many of the table's functions begin at or below pc. */
static size_t header_count_upto(const struct frame_table *table, uint64_t pc) {
    size_t low = 0;
    size_t high = table->header.count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (header_function(table, middle) <= pc)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

/* The FDE behind an entry of the table; false when it is another one than the table says. */
static bool header_range(struct frame_table *table, size_t index, struct pc_range *ret_range) {
    uint64_t offset = header_word(table, index, 1) - table->section.bases.here;
    struct frame_entry entry;
    bool damaged = false;
    if (!frame_entry_read(&table->section, offset, &entry, &damaged) ||
        entry.kind != FRAME_ENTRY_FDE || entry.range.begin != header_function(table, index))
        return false;
    *ret_range = entry.range;
    return true;
}

/* --- all entries ---------------------------------------------------------------------------------
 */

static bool add_range(struct frame_table *table, struct pc_range range) {
    if (table->count == table->capacity) {
        size_t capacity = table->capacity ? 2 * table->capacity : 256;
        struct pc_range *grown = realloc(table->ranges, capacity * sizeof(*grown));
        if (!grown)
            return false;
        table->ranges = grown;
        table->capacity = capacity;
    }
    table->ranges[table->count++] = range;
    return true;
}

static int compare_ranges(const void *left, const void *right) {
    const struct pc_range *a = left;
    const struct pc_range *b = right;
    if (a->begin != b->begin)
        return a->begin < b->begin ? -1 : 1;
    return (a->end > b->end) - (a->end < b->end);
}

/* What cannot be read is left out: nobody is told more for it. False: no memory. */
static bool read_all(struct frame_table *table) {
    struct frame_entry entry;
    bool damaged = false;
    table->header.count = 0;
    for (uint64_t offset = 0; frame_entry_read(&table->section, offset, &entry, &damaged);
         offset = entry.end) {
        assert(entry.end > offset);
        if (entry.kind != FRAME_ENTRY_FDE || entry.range.begin >= entry.range.end ||
            !elf_file_is_executable(table->file, entry.range.begin))
            continue;
        if (!add_range(table, entry.range))
            return false;
    }
    if (table->count > 0)
        qsort(table->ranges, table->count, sizeof(*table->ranges), compare_ranges);
    return true;
}

static size_t count_upto(const struct frame_table *table, uint64_t pc) {
    size_t low = 0;
    size_t high = table->count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (table->ranges[middle].begin <= pc)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

/* --- the table ---------------------------------------------------------------------------------
 */

enum err frame_table_new(struct elf_file *file, struct frame_table **ret_table,
                         struct error *error) {
    CLEANUP(cleanup_frame_table) struct frame_table *table = calloc(1, sizeof(*table));
    if (!table)
        return error_set(error, ERR_NO_MEMORY, "no memory for a frame table");
    table->file = file;
    find_section(file, &table->section);
    if (table->section.bytes.size == 0)
        return error_set(error, ERR_NOT_FOUND, "the file has no .eh_frame and no .debug_frame");
    if (table->section.is_eh)
        open_header(table, file);
    if (table->header.count == 0 && !read_all(table))
        return error_set(error, ERR_NO_MEMORY, "no memory for a frame table");
    if (table->header.count == 0 && table->count == 0)
        return error_set(error, ERR_NOT_FOUND, "the file has no frames that can be read");
    *ret_table = TAKE(table);
    return ERR_OK;
}

/* Gives the linker's table up; without memory for our own there is none. */
static void distrust_header(struct frame_table *table) {
    if (!read_all(table))
        table->count = 0;
}

bool frame_table_find(struct frame_table *table, uint64_t pc, struct pc_range *ret_range) {
    struct pc_range range = {0};
    if (table->header.count > 0) {
        size_t upto = header_count_upto(table, pc);
        if (upto == 0)
            return false;
        if (!header_range(table, upto - 1, &range))
            distrust_header(table);
    }
    if (table->header.count == 0) {
        size_t upto = count_upto(table, pc);
        if (upto == 0)
            return false;
        range = table->ranges[upto - 1];
    }
    if (pc >= range.end)
        return false;
    *ret_range = range;
    return true;
}

bool frame_table_next(struct frame_table *table, uint64_t pc, uint64_t *ret_begin) {
    if (table->header.count > 0) {
        size_t upto = header_count_upto(table, pc);
        struct pc_range range;
        if (upto == table->header.count)
            return false;
        if (header_range(table, upto, &range)) {
            *ret_begin = range.begin;
            return true;
        }
        distrust_header(table);
    }
    size_t upto = count_upto(table, pc);
    if (upto == table->count)
        return false;
    *ret_begin = table->ranges[upto].begin;
    return true;
}
