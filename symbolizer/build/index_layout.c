/* The collected records as a file: buckets, section table, checksums. */
#include <assert.h>
#include <endian.h>
#include <errno.h>
#include <string.h>
#include <unistd.h>
#include <zlib.h>

#include "base/fd.h"
#include "symbolizer/build/index_writer_internal.h"

/* What is made only now, beside what the writer collected. */
struct layout {
    struct format_summary summary;
    struct format_id ids[INDEX_ID_MAX];
    size_t id_count;
    struct record_array blocks; /* struct format_block */
    struct record_array buckets;
    const void *data[FORMAT_SECTION_COUNT + 1]; /* by kind */
    struct format_section table[FORMAT_SECTION_COUNT];
    uint64_t file_size;
};

static void cleanup_layout(struct layout *layout) {
    record_array_clear(&layout->blocks);
    record_array_clear(&layout->buckets);
}

static enum err lay_out_ids(struct layout *layout, struct index_writer *writer,
                            const struct index_summary *summary, struct error *error) {
    assert(summary->id_count <= INDEX_ID_MAX);
    for (size_t i = 0; i < summary->id_count; i++) {
        uint32_t text = 0;
        enum err err = index_writer_string(writer, span_cstr(summary->ids[i].text), &text, error);
        if (err)
            return err;
        layout->ids[i] = (struct format_id){.kind = htole32((uint32_t)summary->ids[i].kind),
                                            .text = htole32(text)};
    }
    layout->id_count = summary->id_count;
    return ERR_OK;
}

static void lay_out_summary(struct layout *layout, const struct index_writer *writer,
                            const struct index_summary *summary) {
    unsigned contents = 0;
    contents |= summary->has_dwarf ? FORMAT_HAS_DWARF : 0;
    contents |= summary->has_pclntab ? FORMAT_HAS_PCLNTAB : 0;
    contents |= summary->has_symtab ? FORMAT_HAS_SYMTAB : 0;
    contents |= summary->has_dynsym ? FORMAT_HAS_DYNSYM : 0;
    contents |= summary->extents_exact ? FORMAT_EXTENTS_EXACT : 0;
    layout->summary = (struct format_summary){
        .machine = htole16(summary->machine),
        .contents = htole16((uint16_t)contents),
        .function_count = htole64(summary->function_count),
        .inlined_count = htole64(summary->inlined_count),
        .line_row_count = htole64(summary->line_row_count),
        .interval_count = htole64(writer->interval_count),
        .damage_count = htole64(summary->damage_count),
        .executable_bytes = htole64(summary->executable_bytes),
        .covered_bytes = htole64(summary->covered_bytes),
    };
}

/* About one bucket for eight intervals, were they spread evenly. */
static uint32_t choose_shift(const struct writer_block *block) {
    uint32_t shift = 0;
    while (block->last_begin >> shift > block->interval_count / 8)
        shift++;
    return shift;
}

static enum err lay_out_buckets(struct layout *layout, struct index_writer *writer,
                                const struct writer_block *block, uint32_t shift,
                                struct error *error) {
    size_t count = (size_t)(block->last_begin >> shift) + 2;
    enum err err = record_array_reserve(&layout->buckets, count, &writer->budget, error);
    if (err)
        return err;
    const struct format_interval *intervals =
        record_array_at(&writer->intervals, block->interval_first);
    uint32_t position = 0;
    for (size_t bucket = 0; bucket < count; bucket++) {
        while (position < block->interval_count &&
               le32toh(intervals[position].begin) >> shift < bucket)
            position++;
        uint32_t entry = htole32(position);
        err = record_array_add(&layout->buckets, &entry, 1, &writer->budget, error);
        if (err)
            return err;
    }
    return ERR_OK;
}

static enum err lay_out_block(struct layout *layout, struct index_writer *writer,
                              const struct writer_block *block, struct error *error) {
    size_t bucket_first = layout->buckets.count;
    uint32_t shift = 0;
    if (block->interval_count > FORMAT_BUCKETLESS_MAX) {
        shift = choose_shift(block);
        enum err err = lay_out_buckets(layout, writer, block, shift, error);
        if (err)
            return err;
    }
    if (layout->buckets.count > UINT32_MAX)
        return error_set(error, ERR_LIMIT, "the symbol index has too many intervals");
    struct format_block record = {
        .base = htole64(block->base),
        .end = htole64(block->end),
        .interval_first = htole32(block->interval_first),
        .interval_count = htole32(block->interval_count),
        .bucket_first = htole32((uint32_t)bucket_first),
        .bucket_count = htole32((uint32_t)(layout->buckets.count - bucket_first)),
        .bucket_shift = htole32(shift),
    };
    return record_array_add(&layout->blocks, &record, 1, &writer->budget, error);
}

static enum err lay_out_blocks(struct layout *layout, struct index_writer *writer,
                               struct error *error) {
    for (size_t i = 0; i < writer->blocks.count; i++) {
        enum err err = lay_out_block(layout, writer, record_array_at(&writer->blocks, i), error);
        if (err)
            return err;
    }
    return ERR_OK;
}

static void place_section(struct layout *layout, enum format_section_kind kind, const void *data,
                          uint64_t count, uint64_t record_size) {
    uint64_t offset = layout->file_size + -layout->file_size % FORMAT_ALIGNMENT;
    uint64_t size = count * record_size;
    layout->data[kind] = data;
    layout->table[kind - 1] = (struct format_section){
        .kind = htole32((uint32_t)kind),
        .checksum = htole32(size ? (uint32_t)crc32_z(0, data, size) : 0),
        .offset = htole64(offset),
        .size = htole64(size),
        .count = htole64(count),
    };
    layout->file_size = offset + size;
}

static void place_array(struct layout *layout, enum format_section_kind kind,
                        const struct record_array *array) {
    place_section(layout, kind, array->data, array->count, array->record_size);
}

static void place_sections(struct layout *layout, const struct index_writer *writer) {
    layout->file_size = sizeof(struct format_header) + sizeof(layout->table);
    place_section(layout, FORMAT_SUMMARY, &layout->summary, 1, sizeof(layout->summary));
    place_section(layout, FORMAT_IDS, layout->ids, layout->id_count, sizeof(layout->ids[0]));
    place_array(layout, FORMAT_SEGMENTS, &writer->segments);
    place_array(layout, FORMAT_BLOCKS, &layout->blocks);
    place_array(layout, FORMAT_BUCKETS, &layout->buckets);
    place_array(layout, FORMAT_INTERVALS, &writer->intervals);
    place_array(layout, FORMAT_LOCATIONS, &writer->locations);
    place_array(layout, FORMAT_FUNCTIONS, &writer->functions);
    place_array(layout, FORMAT_STRING_ENDS, &writer->string_ends);
    place_array(layout, FORMAT_STRING_BYTES, &writer->string_bytes);
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
            err = fd_write_all(fd, layout->data[kind], le64toh(entry->size), error);
        offset = le64toh(entry->offset) + le64toh(entry->size);
    }
    return err;
}

enum err index_writer_finish(struct index_writer *writer, const struct index_summary *summary,
                             int fd, uint64_t *ret_size, struct error *error) {
    CLEANUP(cleanup_layout)
    struct layout layout = {
        .blocks = {.record_size = sizeof(struct format_block)},
        .buckets = {.record_size = sizeof(uint32_t)},
    };
    enum err err = lay_out_ids(&layout, writer, summary, error);
    if (!err)
        err = lay_out_blocks(&layout, writer, error);
    if (err)
        return err;
    lay_out_summary(&layout, writer, summary);
    place_sections(&layout, writer);
    if (layout.file_size > writer->budget.max)
        return error_set(error, ERR_LIMIT, "the symbol index has %llu bytes, over the limit",
                         (unsigned long long)layout.file_size);
    err = write_file(&layout, fd, error);
    if (!err)
        *ret_size = layout.file_size;
    return err;
}
