/* The encoded sections as a file: section table, checksums. */
#include <assert.h>
#include <endian.h>
#include <errno.h>
#include <string.h>
#include <unistd.h>
#include <zlib.h>

#include "base/fd.h"
#include "symbolizer/build/index_encode.h"

/* Sections in place, with their table. */
struct layout {
    struct index_encoder encoder;
    struct format_section table[FORMAT_SECTION_COUNT];
    uint64_t file_size;
};

static void cleanup_layout(struct layout *layout) {
    index_numbering_clear(&layout->encoder.numbering);
    index_sections_clear(&layout->encoder.sections);
}

static enum err encode_ids(struct index_encoder *encoder, const struct index_summary *summary,
                           struct error *error) {
    assert(summary->id_count <= INDEX_ID_MAX);
    for (size_t i = 0; i < summary->id_count; i++) {
        struct span text = span_cstr(summary->ids[i].text);
        const uint8_t head[] = {(uint8_t)summary->ids[i].kind, (uint8_t)text.size};
        enum err err = index_encode_bytes(encoder, FORMAT_IDS, head, sizeof(head), error);
        if (err == ERR_OK)
            err = index_encode_bytes(encoder, FORMAT_IDS, text.data, text.size, error);
        if (err)
            return err;
    }
    encoder->sections.counts[FORMAT_IDS] = summary->id_count;
    return ERR_OK;
}
_Static_assert(BINARY_ID_TEXT_MAX <= UINT8_MAX, "the size of an id is one byte");

static enum err encode_summary(struct index_encoder *encoder, const struct index_summary *summary,
                               struct error *error) {
    const struct index_writer *writer = encoder->writer;
    unsigned contents = 0;
    contents |= summary->has_dwarf ? FORMAT_HAS_DWARF : 0;
    contents |= summary->has_pclntab ? FORMAT_HAS_PCLNTAB : 0;
    contents |= summary->has_symtab ? FORMAT_HAS_SYMTAB : 0;
    contents |= summary->has_dynsym ? FORMAT_HAS_DYNSYM : 0;
    contents |= summary->extents_exact ? FORMAT_EXTENTS_EXACT : 0;
    contents |= writer->without_columns ? FORMAT_WITHOUT_COLUMNS : 0;
    struct format_summary record = {
        .machine = htole16(summary->machine),
        .contents = htole16((uint16_t)contents),
        .function_count = htole64(summary->function_count),
        .inlined_count = htole64(summary->inlined_count),
        .line_row_count = htole64(summary->line_row_count),
        .interval_count = htole64(writer->interval_count),
        .location_count = htole64(index_writer_location_count(writer)),
        .damage_count = htole64(summary->damage_count),
        .executable_bytes = htole64(summary->executable_bytes),
        .covered_bytes = htole64(summary->covered_bytes),
    };
    encoder->sections.counts[FORMAT_SUMMARY] = 1;
    return index_encode_bytes(encoder, FORMAT_SUMMARY, &record, sizeof(record), error);
}

static enum err encode_segments(struct index_encoder *encoder, struct error *error) {
    const struct record_array *segments = &encoder->writer->segments;
    encoder->sections.counts[FORMAT_SEGMENTS] = segments->count;
    return index_encode_bytes(encoder, FORMAT_SEGMENTS, segments->data, record_array_size(segments),
                              error);
}

static enum err encode(struct index_encoder *encoder, const struct index_summary *summary,
                       struct error *error) {
    index_writer_end_adding(encoder->writer);
    index_sections_start(&encoder->sections);
    enum err err = index_numbering_make(&encoder->numbering, encoder->writer, error);
    if (err == ERR_OK)
        err = encode_summary(encoder, summary, error);
    if (err == ERR_OK)
        err = encode_ids(encoder, summary, error);
    if (err == ERR_OK)
        err = encode_segments(encoder, error);
    if (err == ERR_OK)
        err = index_encode_intervals(encoder, error);
    if (err == ERR_OK)
        err = index_encode_scopes(encoder, error);
    if (err == ERR_OK)
        err = index_encode_functions(encoder, error);
    return err ? err : index_encode_files(encoder, error);
}

static void place_section(struct layout *layout, enum format_section_kind kind) {
    const struct record_array *bytes = &layout->encoder.sections.bytes[kind];
    uint64_t offset = layout->file_size + -layout->file_size % FORMAT_ALIGNMENT;
    uint32_t checksum = 0;
    if (bytes->count)
        checksum = (uint32_t)crc32_z(0, (const uint8_t *)bytes->data, bytes->count);
    layout->table[kind - 1] = (struct format_section){
        .kind = htole32((uint32_t)kind),
        .checksum = htole32(checksum),
        .offset = htole64(offset),
        .size = htole64(bytes->count),
        .count = htole64(layout->encoder.sections.counts[kind]),
    };
    layout->file_size = offset + bytes->count;
}

static struct format_header make_header(const struct layout *layout) {
    struct format_header header = {
        .version = htole32(INDEX_FORMAT_VERSION),
        .section_count = htole32(FORMAT_SECTION_COUNT),
        .file_size = htole64(layout->file_size),
    };
    memcpy(header.magic, FORMAT_MAGIC, FORMAT_MAGIC_SIZE);
    uLong sum = crc32_z(0, (const uint8_t *)&header, sizeof(header));
    sum = crc32_z(sum, (const uint8_t *)layout->table, sizeof(layout->table));
    header.checksum = htole32((uint32_t)sum);
    return header;
}

static enum err write_file(const struct layout *layout, int fd, struct error *error) {
    static const char zeros[FORMAT_ALIGNMENT];
    if (lseek(fd, 0, SEEK_SET) < 0)
        return error_set_errno(error, ERR_IO, errno, "cannot seek in the symbol index");
    struct format_header header = make_header(layout);
    enum err err = fd_write_all(fd, &header, sizeof(header), error);
    if (!err)
        err = fd_write_all(fd, layout->table, sizeof(layout->table), error);
    uint64_t offset = sizeof(header) + sizeof(layout->table);
    for (unsigned kind = 1; kind <= FORMAT_SECTION_COUNT && !err; kind++) {
        const struct format_section *entry = &layout->table[kind - 1];
        err = fd_write_all(fd, zeros, le64toh(entry->offset) - offset, error);
        if (!err)
            err = fd_write_all(fd, layout->encoder.sections.bytes[kind].data, le64toh(entry->size),
                               error);
        offset = le64toh(entry->offset) + le64toh(entry->size);
    }
    return err;
}

enum err index_writer_finish(struct index_writer *writer, const struct index_summary *summary,
                             int fd, uint64_t *ret_size, struct error *error) {
    CLEANUP(cleanup_layout) struct layout layout = {.encoder = {.writer = writer}};
    enum err err = encode(&layout.encoder, summary, error);
    if (err)
        return err;
    layout.file_size = sizeof(struct format_header) + sizeof(layout.table);
    for (unsigned kind = 1; kind <= FORMAT_SECTION_COUNT; kind++)
        place_section(&layout, kind);
    if (layout.file_size > writer->budget.max)
        return error_set(error, ERR_LIMIT, "the symbol index has %llu bytes, over the limit",
                         (unsigned long long)layout.file_size);
    err = write_file(&layout, fd, error);
    if (!err)
        *ret_size = layout.file_size;
    return err;
}
