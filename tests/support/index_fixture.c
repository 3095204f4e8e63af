#include "tests/support/index_fixture.h"

#include <endian.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>
#include <zlib.h>

#include "base/fd.h"
#include "symbolizer/index/format.h"

static void must(enum err err, const struct error *error) {
    if (err == ERR_OK)
        return;
    fprintf(stderr, "index fixture: %s\n", error->text);
    abort();
}

struct span index_fixture_finish(struct index_writer *writer, const struct index_summary *summary) {
    struct error error = {0};
    uint64_t size = 0;
    size_t read = 0;
    CLEANUP(cleanup_fd) int fd = memfd_create("index", MFD_CLOEXEC);
    must(index_writer_finish(writer, summary, fd, &size, &error), &error);
    char *bytes = malloc(size);
    if (!bytes || lseek(fd, 0, SEEK_SET) != 0)
        abort();
    must(fd_read_full(fd, bytes, size, &read, &error), &error);
    if (read != size || lseek(fd, 0, SEEK_END) != (off_t)size)
        abort();
    return span_of(bytes, size);
}

static uint32_t add_function(struct index_writer *writer, const char *name, const char *file,
                             uint32_t line, uint64_t entry_pc) {
    struct error error = {0};
    uint32_t number = 0;
    struct index_function function = {
        .name = span_cstr(name),
        .start_file = span_cstr(file),
        .start_line = line,
        .origin = file ? SYMBOL_ORIGIN_DWARF : SYMBOL_ORIGIN_SYMTAB,
        .entry_pc = entry_pc,
        .has_entry_pc = entry_pc != 0,
    };
    must(index_writer_function(writer, &function, &number, &error), &error);
    return number;
}

static uint32_t add_location(struct index_writer *writer, const struct index_location *location) {
    struct error error = {0};
    uint32_t number = 0;
    must(index_writer_location(writer, location, &number, &error), &error);
    return number;
}

static void add_example(struct index_writer *writer) {
    struct error error = {0};
    uint32_t a_c = 0;
    uint32_t a_h = 0;
    must(index_writer_file(writer, span_cstr("a.c"), &a_c, &error), &error);
    must(index_writer_file(writer, span_cstr("a.h"), &a_h, &error), &error);
    uint32_t main = add_function(writer, "main", "a.c", 3, 0x401000);
    uint32_t twice = add_function(writer, "twice", "a.h", 1, 0);
    uint32_t fini = add_function(writer, "_fini", NULL, 0, 0x401020);
    uint32_t body = add_location(writer, &(struct index_location){main, a_c, 4, 5, 0});
    uint32_t call = add_location(writer, &(struct index_location){main, a_c, 5, 9, 0});
    uint32_t inlined = add_location(writer, &(struct index_location){twice, a_h, 2, 0, call});
    uint32_t bare = add_location(writer, &(struct index_location){fini, 0, 0, 0, 0});
    must(index_writer_interval(writer, (struct pc_range){0x401000, 0x401008}, body,
                               SYMBOL_MISS_NONE, &error),
         &error);
    must(index_writer_interval(writer, (struct pc_range){0x401008, 0x401010}, inlined,
                               SYMBOL_MISS_NONE, &error),
         &error);
    must(index_writer_interval(writer, (struct pc_range){0x401020, 0x401024}, bare,
                               SYMBOL_MISS_NO_LINE, &error),
         &error);
    struct index_segment segment = {0, 0x400000, 0x1000, 0x1000, 5};
    must(index_writer_segment(writer, &segment, &error), &error);
}

struct span index_fixture_example(void) {
    struct error error = {0};
    struct index_summary summary = {
        .ids = {{.kind = BINARY_ID_GNU, .text = "0badc0de"}},
        .id_count = 1,
        .machine = 62,
        .has_dwarf = true,
        .has_symtab = true,
        .function_count = 2,
        .inlined_count = 1,
        .line_row_count = 3,
        .executable_bytes = 36,
        .covered_bytes = 20,
        .extents_exact = true,
    };
    CLEANUP(cleanup_index_writer) struct index_writer *writer = NULL;
    must(index_writer_new(1 << 20, &writer, &error), &error);
    add_example(writer);
    return index_fixture_finish(writer, &summary);
}

struct span index_fixture_comb(uint32_t count) {
    struct error error = {0};
    struct index_summary summary = {.machine = 62};
    CLEANUP(cleanup_index_writer) struct index_writer *writer = NULL;
    must(index_writer_new(1 << 24, &writer, &error), &error);
    uint32_t f = add_function(writer, "f", "f.c", 1, 0x1000);
    uint32_t g = add_function(writer, "g", "f.c", 2, 0);
    for (uint32_t i = 0; i < count; i++) {
        uint32_t call = add_location(writer, &(struct index_location){f, 0, 1000 + i % 3, 0, 0});
        uint32_t body = add_location(writer, &(struct index_location){g, 0, i + 1, 0, call});
        struct pc_range range = {0x1000 + 2 * (uint64_t)i, 0x1001 + 2 * (uint64_t)i};
        must(index_writer_interval(writer, range, body, SYMBOL_MISS_NONE, &error), &error);
    }
    return index_fixture_finish(writer, &summary);
}

struct span index_fixture_chains(unsigned count, unsigned depth) {
    struct error error = {0};
    struct index_summary summary = {.machine = 62};
    CLEANUP(cleanup_index_writer) struct index_writer *writer = NULL;
    must(index_writer_new(1 << 26, &writer, &error), &error);
    for (unsigned i = 0; i < count; i++) {
        char name[16];
        snprintf(name, sizeof(name), "f%u", i);
        uint32_t function = add_function(writer, name, "f.c", 1, 0);
        uint32_t location = 0;
        for (unsigned frame = 0; frame < depth; frame++)
            location =
                add_location(writer, &(struct index_location){function, 0, frame + 1, 0, location});
        struct pc_range range = {0x1000 + i, 0x1001 + i};
        must(index_writer_interval(writer, range, location, SYMBOL_MISS_NONE, &error), &error);
    }
    return index_fixture_finish(writer, &summary);
}

void index_fixture_repair_header(char *bytes, uint64_t file_size) {
    const size_t table_size = FORMAT_SECTION_COUNT * sizeof(struct format_section);
    struct format_header header;
    memcpy(&header, bytes, sizeof(header));
    header.file_size = htole64(file_size);
    header.checksum = 0;
    uLong sum = crc32_z(0, (const unsigned char *)&header, sizeof(header));
    sum = crc32_z(sum, (const unsigned char *)bytes + sizeof(header), table_size);
    header.checksum = htole32((uint32_t)sum);
    memcpy(bytes, &header, sizeof(header));
}

void index_fixture_repair(char *bytes, size_t size) {
    if (size < sizeof(struct format_header) + FORMAT_SECTION_COUNT * sizeof(struct format_section))
        return;
    for (size_t i = 0; i < FORMAT_SECTION_COUNT; i++) {
        struct format_section entry;
        char *at = bytes + sizeof(struct format_header) + i * sizeof(entry);
        memcpy(&entry, at, sizeof(entry));
        uint64_t offset = le64toh(entry.offset);
        uint64_t length = le64toh(entry.size);
        if (offset > size || length > size - offset)
            continue;
        uLong sum = crc32_z(0, (const unsigned char *)bytes + offset, length);
        entry.checksum = htole32((uint32_t)sum);
        memcpy(at, &entry, sizeof(entry));
    }
    index_fixture_repair_header(bytes, size);
}
