#include "symbolizer/index/index.h"

#include <assert.h>
#include <stdlib.h>
#include <zlib.h>

#include "base/fd.h"
#include "symbolizer/index/index_internal.h"

_Static_assert(sizeof(FORMAT_MAGIC) - 1 == FORMAT_MAGIC_SIZE, "the magic fills its field");

static const struct section_shape {
    const char *name;
    uint8_t record_size; /* 0: records differ in size */
    bool is_packed;
} shapes[FORMAT_SECTION_COUNT + 1] = {
    [FORMAT_SUMMARY] = {"summary", sizeof(struct format_summary), false},
    [FORMAT_IDS] = {"ids", 0, false},
    [FORMAT_SEGMENTS] = {"segments", sizeof(struct format_segment), false},
    [FORMAT_STRETCHES] = {"stretches", sizeof(struct format_stretch), false},
    [FORMAT_INTERVAL_OFFSETS] = {"interval_offsets", sizeof(uint32_t), false},
    [FORMAT_INTERVALS] = {"intervals", 0, true},
    [FORMAT_SCOPE_OFFSETS] = {"scope_offsets", sizeof(uint32_t), false},
    [FORMAT_SCOPES] = {"scopes", 0, true},
    [FORMAT_FUNCTION_OFFSETS] = {"function_offsets", sizeof(uint32_t), false},
    [FORMAT_FUNCTIONS] = {"functions", 0, true},
    [FORMAT_FILE_OFFSETS] = {"file_offsets", sizeof(uint32_t), false},
    [FORMAT_FILES] = {"files", 0, true},
    [FORMAT_DIRECTORY_ENDS] = {"directory_ends", sizeof(uint32_t), false},
    [FORMAT_DIRECTORY_BYTES] = {"directory_bytes", 1, false},
    [FORMAT_PATH_BYTES] = {"path_bytes", 1, false},
    [FORMAT_NAME_BYTES] = {"name_bytes", 1, false},
};

const char *index_section_name(enum format_section_kind kind) {
    assert(kind >= 1 && kind <= FORMAT_SECTION_COUNT);
    return shapes[kind].name;
}

uint64_t index_record_size(enum format_section_kind kind) {
    assert(kind >= 1 && kind <= FORMAT_SECTION_COUNT);
    return shapes[kind].record_size;
}

bool index_section_is_packed(enum format_section_kind kind) {
    assert(kind >= 1 && kind <= FORMAT_SECTION_COUNT);
    return shapes[kind].is_packed;
}

/* What fits the references to the section's records. */
static uint64_t record_count_max(enum format_section_kind kind) {
    switch (kind) {
    case FORMAT_SUMMARY:
        return 1;
    case FORMAT_IDS:
        return INDEX_ID_MAX;
    case FORMAT_DIRECTORY_BYTES:
    case FORMAT_PATH_BYTES:
    case FORMAT_NAME_BYTES:
        return UINT64_MAX;
    default:
        return UINT32_MAX;
    }
}

static bool section_size_fits(enum format_section_kind kind, uint64_t size, uint64_t count) {
    if (count > record_count_max(kind))
        return false;
    if (index_section_is_packed(kind))
        return size >= FORMAT_TAIL;
    uint64_t record_size = index_record_size(kind);
    return record_size == 0 || (size % record_size == 0 && size / record_size == count);
}

#define TABLE_SIZE (FORMAT_SECTION_COUNT * sizeof(struct format_section))

static uint32_t header_checksum(struct format_header header, const uint8_t *table) {
    header.checksum = 0;
    uLong sum = crc32_z(0, (const uint8_t *)&header, sizeof(header));
    return (uint32_t)crc32_z(sum, table, TABLE_SIZE);
}

static enum err check_header(struct span bytes, struct error *error) {
    struct format_header header;
    if (bytes.size < sizeof(header) || memcmp(bytes.data, FORMAT_MAGIC, FORMAT_MAGIC_SIZE) != 0)
        return error_set(error, ERR_MALFORMED, "not a symbol index");
    memcpy(&header, bytes.data, sizeof(header));
    if (le32toh(header.version) != INDEX_FORMAT_VERSION)
        return error_set(error, ERR_UNSUPPORTED, "symbol index of version %u, not %u",
                         le32toh(header.version), INDEX_FORMAT_VERSION);
    if (le32toh(header.section_count) != FORMAT_SECTION_COUNT || header.reserved != 0)
        return error_set(error, ERR_MALFORMED, "the symbol index's header is damaged");
    if (le64toh(header.file_size) != bytes.size || bytes.size - sizeof(header) < TABLE_SIZE)
        return error_set(error, ERR_MALFORMED, "the symbol index has %zu bytes instead of %llu",
                         bytes.size, (unsigned long long)le64toh(header.file_size));
    const uint8_t *table = (const uint8_t *)bytes.data + sizeof(header);
    if (le32toh(header.checksum) != header_checksum(header, table))
        return error_set(error, ERR_MALFORMED, "the symbol index's header has a wrong checksum");
    return ERR_OK;
}

/* *offset is the end of the section before, and becomes the end of this one. */
static bool read_section(struct span bytes, enum format_section_kind kind, uint64_t *offset,
                         struct index_section *ret_section) {
    struct format_section entry;
    memcpy(&entry, bytes.data + sizeof(struct format_header) + (kind - 1) * sizeof(entry),
           sizeof(entry));
    uint64_t size = le64toh(entry.size);
    uint64_t count = le64toh(entry.count);
    uint64_t padding = -*offset % FORMAT_ALIGNMENT;
    if (le32toh(entry.kind) != (uint32_t)kind || padding > bytes.size - *offset ||
        le64toh(entry.offset) != *offset + padding)
        return false;
    *offset += padding;
    if (size > bytes.size - *offset || !section_size_fits(kind, size, count))
        return false;
    *ret_section = (struct index_section){
        .bytes = (const uint8_t *)bytes.data + *offset,
        .size = size,
        .count = count,
        .limit = index_section_is_packed(kind) ? size - FORMAT_TAIL : size,
        .checksum = le32toh(entry.checksum),
        .mean_size = count ? (uint32_t)(size / count) : 0,
    };
    *offset += size;
    return true;
}

/* Scopes, functions and files: whether there are as many offsets as blocks. */
static bool blocks_match(const struct index *index, enum format_section_kind kind) {
    uint64_t count = index->sections[kind].count;
    return index->sections[kind - 1].count ==
           (count + FORMAT_BLOCK_RECORDS - 1) / FORMAT_BLOCK_RECORDS;
}

static enum err read_sections(struct index *index, struct error *error) {
    uint64_t offset = sizeof(struct format_header) + TABLE_SIZE;
    for (unsigned kind = 1; kind <= FORMAT_SECTION_COUNT; kind++) {
        if (!read_section(index->bytes, kind, &offset, &index->sections[kind]))
            return error_set(error, ERR_MALFORMED, "the symbol index's section %s is misplaced",
                             index_section_name(kind));
    }
    if (!blocks_match(index, FORMAT_SCOPES) || !blocks_match(index, FORMAT_FUNCTIONS) ||
        !blocks_match(index, FORMAT_FILES))
        return error_set(error, ERR_MALFORMED, "the symbol index's sections do not fit each other");
    if (offset != index->bytes.size || index->sections[FORMAT_SUMMARY].count != 1)
        return error_set(error, ERR_MALFORMED, "the symbol index's sections do not fill the file");
    return ERR_OK;
}

static bool processor_is_fast(void) {
#ifdef BIT_WAYS_FAST
    return __builtin_cpu_supports("popcnt") && __builtin_cpu_supports("bmi") &&
           __builtin_cpu_supports("bmi2");
#else
    return false;
#endif
}

/* More stretches than open looks at: what it reads stays the same however large the file is. */
#define STRETCHES_LOOKED_AT 16

static void find_first_stretch(struct index *index) {
    for (uint64_t i = 0; i < STRETCHES_LOOKED_AT && i < index->sections[FORMAT_STRETCHES].count;
         i++) {
        struct format_stretch stretch = index_stretch(index, i);
        if (stretch.block_count > index->first.block_count &&
            index_stretch_is_sound(index, &stretch))
            index->first = stretch;
    }
}

/* One piece of memory; freeing its first member frees it all. */
struct allocation {
    struct index index;
    atomic_uint_fast64_t damage_count;
};

enum err index_open_memory(struct span bytes, struct index **ret_index, struct error *error) {
    enum err err = check_header(bytes, error);
    if (err)
        return err;
    struct allocation *allocation = calloc(1, sizeof(*allocation));
    if (!allocation)
        return error_set(error, ERR_NO_MEMORY, "no memory to open a symbol index");
    struct index *index = &allocation->index;
    index->damage_count = &allocation->damage_count;
    index->bytes = bytes;
    index->processor_is_fast = processor_is_fast();
    err = read_sections(index, error);
    if (err) {
        index_free(index);
        return err;
    }
    find_first_stretch(index);
    *ret_index = index;
    return ERR_OK;
}

enum err index_open_fd(int fd, struct index **ret_index, struct error *error) {
    struct span bytes;
    enum err err = fd_map(fd, &bytes, error);
    if (err)
        return err;
    if (!bytes.data)
        return error_set(error, ERR_MALFORMED, "an empty file is no symbol index");
    struct map_guard *guard = map_guard_add(bytes);
    if (!guard)
        err = error_set(error, ERR_NO_MEMORY, "no memory to map a symbol index");
    else
        err = index_open_memory(bytes, ret_index, error);
    if (err) {
        map_guard_remove(guard);
        fd_unmap(bytes);
    } else {
        (*ret_index)->guard = guard;
    }
    return err;
}

void index_free(struct index *index) {
    if (!index)
        return;
    if (index->guard) {
        map_guard_remove(index->guard);
        fd_unmap(index->bytes);
    }
    free(index);
}

bool index_is_intact(const struct index *index) {
    return !index->guard || !map_guard_was_hit(index->guard);
}

uint64_t index_size(const struct index *index) {
    return index->bytes.size;
}

uint64_t index_damage_count(const struct index *index) {
    return atomic_load_explicit(index->damage_count, memory_order_relaxed);
}

bool index_take_id(struct span *ids, struct binary_id *ret_id) {
    struct error error;
    if (ids->size < 2)
        return false;
    unsigned kind = (unsigned char)ids->data[0];
    size_t size = (unsigned char)ids->data[1];
    if (size > ids->size - 2 || !binary_id_kind_name((enum binary_id_kind)kind) ||
        binary_id_parse((enum binary_id_kind)kind, span_of(ids->data + 2, size), ret_id, &error))
        return false;
    *ids = span_of(ids->data + 2 + size, ids->size - 2 - size);
    return true;
}

static void read_ids(const struct index *index, struct index_summary *summary) {
    const struct index_section *section = &index->sections[FORMAT_IDS];
    struct span left = span_of(section->bytes, section->size);
    while (summary->id_count < section->count && summary->id_count < INDEX_ID_MAX) {
        if (!index_take_id(&left, &summary->ids[summary->id_count])) {
            index_note_damage(index);
            return;
        }
        summary->id_count++;
    }
}

void index_summary_read(const struct index *index, struct index_summary *ret_summary) {
    struct format_summary raw;
    memcpy(&raw, index->sections[FORMAT_SUMMARY].bytes, sizeof(raw));
    uint16_t contents = le16toh(raw.contents);
    *ret_summary = (struct index_summary){
        .machine = le16toh(raw.machine),
        .has_dwarf = contents & FORMAT_HAS_DWARF,
        .has_pclntab = contents & FORMAT_HAS_PCLNTAB,
        .has_symtab = contents & FORMAT_HAS_SYMTAB,
        .has_dynsym = contents & FORMAT_HAS_DYNSYM,
        .without_columns = contents & FORMAT_WITHOUT_COLUMNS,
        .extents_exact = contents & FORMAT_EXTENTS_EXACT,
        .function_count = le64toh(raw.function_count),
        .inlined_count = le64toh(raw.inlined_count),
        .line_row_count = le64toh(raw.line_row_count),
        .interval_count = le64toh(raw.interval_count),
        .location_count = le64toh(raw.location_count),
        .damage_count = le64toh(raw.damage_count),
        .executable_bytes = le64toh(raw.executable_bytes),
        .covered_bytes = le64toh(raw.covered_bytes),
    };
    read_ids(index, ret_summary);
}

size_t index_segment_count(const struct index *index) {
    return index->sections[FORMAT_SEGMENTS].count;
}

struct index_segment index_segment_at(const struct index *index, size_t position) {
    assert(position < index->sections[FORMAT_SEGMENTS].count);
    struct format_segment raw;
    memcpy(&raw, index->sections[FORMAT_SEGMENTS].bytes + position * sizeof(raw), sizeof(raw));
    return (struct index_segment){
        .offset = le64toh(raw.offset),
        .address = le64toh(raw.address),
        .file_size = le64toh(raw.file_size),
        .memory_size = le64toh(raw.memory_size),
        .flags = le32toh(raw.flags),
    };
}
