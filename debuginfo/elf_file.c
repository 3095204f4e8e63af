#include "debuginfo/elf_file.h"

#include <assert.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/cursor.h"
#include "base/fd.h"
#include "debuginfo/elf_file_internal.h"

/* Far above what linkers write; bounds the work that hostile tables can ask for. */
#define TABLE_COUNT_MAX ((uint64_t)1 << 20)

/* A longer section name is none of those we look for and reads as empty. */
#define SECTION_NAME_MAX ((size_t)1024)

#define INFLATED_SIZE_MAX_DEFAULT ((uint64_t)16 << 30)

/* The fields of the ELF header that say where the tables are. */
struct table_fields {
    uint64_t segment_offset;
    uint64_t section_offset;
    uint16_t segment_size;
    uint16_t segment_count;
    uint16_t section_size;
    uint16_t section_count;
    uint16_t names_index;
};

/* Both tables with their extended counts (gABI: e_shnum 0, PN_XNUM, SHN_XINDEX) resolved. */
struct table_layout {
    uint64_t segment_offset;
    uint64_t section_offset;
    uint64_t segment_count;
    uint64_t section_count;
    uint32_t names_index;
};

static size_t section_header_size(const struct elf_header *header) {
    return header->is_64 ? sizeof(Elf64_Shdr) : sizeof(Elf32_Shdr);
}

static size_t segment_header_size(const struct elf_header *header) {
    return header->is_64 ? sizeof(Elf64_Phdr) : sizeof(Elf32_Phdr);
}

static uint64_t cursor_word(struct cursor *cursor, bool is_64) {
    return is_64 ? cursor_u64(cursor) : cursor_u32(cursor);
}

static enum err check_ident(struct span bytes, struct elf_header *ret_header, struct error *error) {
    const unsigned char *ident = (const unsigned char *)bytes.data;
    if (bytes.size < EI_NIDENT || memcmp(ident, ELFMAG, SELFMAG) != 0)
        return error_set(error, ERR_MALFORMED, "not an ELF file");
    if (ident[EI_CLASS] != ELFCLASS32 && ident[EI_CLASS] != ELFCLASS64)
        return error_set(error, ERR_UNSUPPORTED, "unknown ELF class %u", ident[EI_CLASS]);
    if (ident[EI_DATA] != ELFDATA2LSB && ident[EI_DATA] != ELFDATA2MSB)
        return error_set(error, ERR_UNSUPPORTED, "unknown ELF byte order %u", ident[EI_DATA]);
    if (ident[EI_VERSION] != EV_CURRENT)
        return error_set(error, ERR_UNSUPPORTED, "unknown ELF version %u", ident[EI_VERSION]);
    *ret_header = (struct elf_header){
        .osabi = ident[EI_OSABI],
        .is_64 = ident[EI_CLASS] == ELFCLASS64,
        .big_endian = ident[EI_DATA] == ELFDATA2MSB,
    };
    return ERR_OK;
}

static enum err read_header(struct elf_file *file, struct table_fields *ret_fields,
                            struct error *error) {
    struct elf_header *header = &file->header;
    enum err err = check_ident(file->bytes, header, error);
    if (err)
        return err;
    struct cursor cursor = cursor_of(file->bytes, header->big_endian, "ELF header");
    cursor_skip(&cursor, EI_NIDENT);
    header->type = cursor_u16(&cursor);
    header->machine = cursor_u16(&cursor);
    cursor_skip(&cursor, 4);             /* e_version */
    cursor_word(&cursor, header->is_64); /* e_entry */
    struct table_fields fields = {0};
    fields.segment_offset = cursor_word(&cursor, header->is_64);
    fields.section_offset = cursor_word(&cursor, header->is_64);
    cursor_skip(&cursor, 4 + 2); /* e_flags, e_ehsize */
    fields.segment_size = cursor_u16(&cursor);
    fields.segment_count = cursor_u16(&cursor);
    fields.section_size = cursor_u16(&cursor);
    fields.section_count = cursor_u16(&cursor);
    fields.names_index = cursor_u16(&cursor);
    err = cursor_check(&cursor, error);
    if (err)
        return err;
    *ret_fields = fields;
    return ERR_OK;
}

/* `name_offset` is the offset in the section name table. */
static struct elf_section read_section(struct cursor *cursor, bool is_64, uint32_t index,
                                       uint32_t *ret_name_offset) {
    struct elf_section section = {.index = index};
    *ret_name_offset = cursor_u32(cursor);
    section.type = cursor_u32(cursor);
    section.flags = cursor_word(cursor, is_64);
    section.address = cursor_word(cursor, is_64);
    section.offset = cursor_word(cursor, is_64);
    section.size = cursor_word(cursor, is_64);
    section.link = cursor_u32(cursor);
    section.info = cursor_u32(cursor);
    section.alignment = cursor_word(cursor, is_64);
    section.entry_size = cursor_word(cursor, is_64);
    return section;
}

static enum err check_table(const struct elf_file *file, const char *what, uint64_t offset,
                            uint64_t count, size_t entry_size, struct error *error) {
    if (count > TABLE_COUNT_MAX)
        return error_set(error, ERR_LIMIT, "%llu %s headers, over the limit of %llu",
                         (unsigned long long)count, what, (unsigned long long)TABLE_COUNT_MAX);
    if (offset > file->bytes.size || count * entry_size > file->bytes.size - offset)
        return error_set(error, ERR_MALFORMED,
                         "%llu %s headers at offset %#llx do not lie in the file's %zu bytes",
                         (unsigned long long)count, what, (unsigned long long)offset,
                         file->bytes.size);
    return ERR_OK;
}

/* Counts that do not fit their field of the ELF header stand in section header 0. */
static enum err layout_of(const struct elf_file *file, const struct table_fields *fields,
                          struct table_layout *ret_layout, struct error *error) {
    const struct elf_header *header = &file->header;
    struct table_layout layout = {
        .segment_offset = fields->segment_offset,
        .segment_count = fields->segment_offset ? fields->segment_count : 0,
        .section_offset = fields->section_offset,
    };
    if (layout.section_offset) {
        struct cursor cursor = cursor_of(file->bytes, header->big_endian, "section header 0");
        cursor_seek(&cursor, layout.section_offset);
        uint32_t name_offset;
        struct elf_section first = read_section(&cursor, header->is_64, 0, &name_offset);
        enum err err = cursor_check(&cursor, error);
        if (err)
            return err;
        layout.section_count = fields->section_count ? fields->section_count : first.size;
        layout.names_index = fields->names_index == SHN_XINDEX ? first.link : fields->names_index;
        if (layout.segment_count == PN_XNUM)
            layout.segment_count = first.info;
    }
    if (layout.section_count && fields->section_size != section_header_size(header))
        return error_set(error, ERR_MALFORMED, "section headers of %u bytes", fields->section_size);
    if (layout.segment_count && fields->segment_size != segment_header_size(header))
        return error_set(error, ERR_MALFORMED, "program headers of %u bytes", fields->segment_size);
    *ret_layout = layout;
    return ERR_OK;
}

static enum err read_segments(struct elf_file *file, const struct table_layout *layout,
                              struct error *error) {
    const struct elf_header *header = &file->header;
    enum err err = check_table(file, "program", layout->segment_offset, layout->segment_count,
                               segment_header_size(header), error);
    if (err || layout->segment_count == 0)
        return err;
    file->segments = calloc(layout->segment_count, sizeof(*file->segments));
    if (!file->segments)
        return error_set(error, ERR_NO_MEMORY, "no memory for program headers");
    struct cursor cursor = cursor_of(file->bytes, header->big_endian, "program headers");
    cursor_seek(&cursor, layout->segment_offset);
    for (uint64_t i = 0; i < layout->segment_count; i++) {
        struct elf_segment *segment = &file->segments[i];
        segment->type = cursor_u32(&cursor);
        if (header->is_64)
            segment->flags = cursor_u32(&cursor);
        segment->offset = cursor_word(&cursor, header->is_64);
        segment->address = cursor_word(&cursor, header->is_64);
        cursor_word(&cursor, header->is_64); /* p_paddr */
        segment->file_size = cursor_word(&cursor, header->is_64);
        segment->memory_size = cursor_word(&cursor, header->is_64);
        if (!header->is_64)
            segment->flags = cursor_u32(&cursor);
        segment->alignment = cursor_word(&cursor, header->is_64);
    }
    file->segment_count = layout->segment_count;
    return cursor_check(&cursor, error);
}

static struct span name_at(struct span names, uint32_t offset) {
    if (offset >= names.size)
        return (struct span){NULL, 0};
    const char *start = names.data + offset;
    size_t left = names.size - offset;
    size_t bound = left < SECTION_NAME_MAX ? left : SECTION_NAME_MAX;
    const char *nul = memchr(start, 0, bound);
    return nul ? span_of(start, (size_t)(nul - start)) : (struct span){NULL, 0};
}

/* The table that holds the sections' names; none leaves all of them empty. */
static enum err section_names(const struct elf_file *file, uint32_t names_index,
                              struct span *ret_names, struct error *error) {
    *ret_names = (struct span){NULL, 0};
    if (names_index == SHN_UNDEF)
        return ERR_OK;
    if (names_index > file->section_count)
        return error_set(error, ERR_MALFORMED, "section names in section %u of %zu", names_index,
                         file->section_count);
    const struct elf_section *section = &file->sections[names_index - 1];
    enum err err = elf_section_stored(file, section, ret_names, error);
    return err ? error_prefix(error, "section names") : ERR_OK;
}

static enum err name_sections(struct elf_file *file, const struct table_layout *layout,
                              const uint32_t *name_offsets, struct error *error) {
    struct span names;
    enum err err = section_names(file, layout->names_index, &names, error);
    if (err)
        return err;
    for (size_t i = 0; i < file->section_count; i++)
        file->sections[i].name = name_at(names, name_offsets[i]);
    return ERR_OK;
}

static enum err read_sections(struct elf_file *file, const struct table_layout *layout,
                              struct error *error) {
    const struct elf_header *header = &file->header;
    size_t entry_size = section_header_size(header);
    enum err err = check_table(file, "section", layout->section_offset, layout->section_count,
                               entry_size, error);
    if (err || layout->section_count <= 1)
        return err;
    size_t count = layout->section_count - 1;
    CLEANUP(cleanup_free) uint32_t *name_offsets = calloc(count, sizeof(*name_offsets));
    file->sections = calloc(count, sizeof(*file->sections));
    file->slots = calloc(count, sizeof(*file->slots));
    if (!file->sections || !file->slots || !name_offsets)
        return error_set(error, ERR_NO_MEMORY, "no memory for %zu sections", count);
    struct cursor cursor = cursor_of(file->bytes, header->big_endian, "section headers");
    cursor_seek(&cursor, layout->section_offset + entry_size);
    for (size_t i = 0; i < count; i++)
        file->sections[i] = read_section(&cursor, header->is_64, (uint32_t)i + 1, &name_offsets[i]);
    err = cursor_check(&cursor, error);
    if (err)
        return err;
    file->section_count = count;
    return name_sections(file, layout, name_offsets, error);
}

static enum err read_all_headers(struct elf_file *file, struct error *error) {
    struct table_fields fields = {0};
    enum err err = read_header(file, &fields, error);
    if (err)
        return err;
    struct table_layout layout = {0};
    err = layout_of(file, &fields, &layout, error);
    if (err)
        return err;
    err = read_sections(file, &layout, error);
    if (err)
        return err;
    err = read_segments(file, &layout, error);
    if (err)
        return err;
    err = elf_object_place(file, error);
    if (err)
        return err;
    return elf_extents_compute(file, error);
}

enum err elf_file_open_memory(struct span bytes, const struct elf_limits *limits,
                              struct elf_file **ret_file, struct error *error) {
    CLEANUP(cleanup_elf_file) struct elf_file *file = calloc(1, sizeof(*file));
    if (!file)
        return error_set(error, ERR_NO_MEMORY, "no memory for an ELF file");
    file->bytes = bytes;
    file->inflated_size_max = INFLATED_SIZE_MAX_DEFAULT;
    if (limits && limits->inflated_size_max)
        file->inflated_size_max = limits->inflated_size_max;
    enum err err = read_all_headers(file, error);
    if (err)
        return err;
    *ret_file = TAKE(file);
    return ERR_OK;
}

enum err elf_file_open_fd(int fd, const struct elf_limits *limits, struct elf_file **ret_file,
                          struct error *error) {
    struct span bytes;
    enum err err = fd_map(fd, &bytes, error);
    if (err)
        return err;
    struct elf_file *file;
    err = elf_file_open_memory(bytes, limits, &file, error);
    if (err) {
        fd_unmap(bytes);
        return err;
    }
    file->is_mapped = true;
    *ret_file = file;
    return ERR_OK;
}

void elf_file_free(struct elf_file *file) {
    if (!file)
        return;
    elf_debug_image_free(file->debug_image);
    elf_minidebug_free(file->minidebug);
    elf_joined_free(file->joined);
    for (size_t i = 0; i < file->section_count; i++)
        if (file->slots[i].is_owned)
            free(file->slots[i].bytes);
    free(file->slots);
    free(file->sections);
    free(file->segments);
    free(file->extents);
    if (file->is_mapped)
        fd_unmap(file->bytes);
    free(file);
}

const struct elf_header *elf_file_header(const struct elf_file *file) {
    return &file->header;
}

struct span elf_file_bytes(const struct elf_file *file) {
    return file->bytes;
}

void elf_file_release(const struct elf_file *file, struct span bytes) {
    const uintptr_t page = (uintptr_t)sysconf(_SC_PAGESIZE);
    uintptr_t mapping = (uintptr_t)file->bytes.data;
    uintptr_t begin = (uintptr_t)bytes.data;
    if (!file->is_mapped || begin < mapping || begin - mapping > file->bytes.size ||
        bytes.size > file->bytes.size - (begin - mapping))
        return;
    /* Whole pages only; that it fails is no harm. */
    uintptr_t first = (begin + page - 1) / page * page;
    uintptr_t end = (begin + bytes.size) / page * page;
    if (first < end)
        madvise((char *)file->bytes.data + (first - mapping), end - first, MADV_DONTNEED);
}

size_t elf_file_section_count(const struct elf_file *file) {
    return file->section_count;
}

const struct elf_section *elf_file_section(const struct elf_file *file, size_t position) {
    assert(position < file->section_count);
    return &file->sections[position];
}

static bool name_matches(struct span have, struct span want) {
    if (span_equal(have, want))
        return true;
    /* ".zdebug_x" is the older spelling of a compressed ".debug_x". */
    return span_starts_with(want, ".debug_") && span_starts_with(have, ".zdebug_") &&
           span_equal(span_of(have.data + 2, have.size - 2), span_of(want.data + 1, want.size - 1));
}

const struct elf_section *elf_file_section_by_name(const struct elf_file *file, const char *name) {
    struct span want = span_cstr(name);
    const struct elf_section *first = NULL;
    const struct elf_section *first_of_group = NULL;
    for (size_t i = 0; i < file->section_count; i++) {
        const struct elf_section *section = &file->sections[i];
        if (!name_matches(section->name, want))
            continue;
        bool has_bytes = section->type != SHT_NOBITS && section->size > 0;
        if (has_bytes && !(section->flags & SHF_GROUP))
            return section;
        if (has_bytes && !first_of_group)
            first_of_group = section;
        if (!first)
            first = section;
    }
    return first_of_group ? first_of_group : first;
}

struct elf_contents_slot *elf_file_slot(struct elf_file *file, const struct elf_section *section) {
    size_t position = (size_t)(section - file->sections);
    assert(position < file->section_count);
    return &file->slots[position];
}

size_t elf_file_segment_count(const struct elf_file *file) {
    return file->segment_count;
}

const struct elf_segment *elf_file_segment(const struct elf_file *file, size_t position) {
    assert(position < file->segment_count);
    return &file->segments[position];
}

const char *elf_file_relocation_damage(const struct elf_file *file) {
    return file->relocation_damage.code ? file->relocation_damage.text : NULL;
}

void elf_file_set_beside(struct elf_file *file, struct elf_file *beside) {
    file->beside = beside;
}

static struct span section_bytes(struct elf_file *file, const char *name, uint64_t *ret_address) {
    const struct elf_section *section = elf_file_section_by_name(file, name);
    struct span bytes = {NULL, 0};
    struct error ignored;
    if (!section || elf_file_section_data(file, section, &bytes, &ignored))
        return (struct span){NULL, 0};
    *ret_address = section->address;
    return bytes;
}

struct span elf_file_loaded_bytes(struct elf_file *file, const char *name, uint64_t *ret_address) {
    struct span bytes = section_bytes(file, name, ret_address);
    if (bytes.size > 0 || !file->beside)
        return bytes;
    return section_bytes(file->beside, name, ret_address);
}
