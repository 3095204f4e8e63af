/*
 * Property: whatever the bytes, an ELF file opens or is refused with a reason; sections, ids and
 * symbols then keep the promises of their headers, and libdw gets nothing that makes it crash.
 */
#include <assert.h>
#include <elfutils/libdw.h>
#include <stdint.h>

#include "debuginfo/contents.h"
#include "debuginfo/frame_table.h"
#include "debuginfo/identity.h"
#include "debuginfo/symtab_source.h"

#define INFLATED_SIZE_MAX ((uint64_t)64 << 20)

/* Symbols that are asked for one by one, each of a source of its own. */
#define FRESH_COUNT_MAX 50

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* Reads the first and last bytes, for a sanitizer to see whether they are there. */
static void touch(struct span bytes) {
    volatile char sum = 0;
    if (bytes.size > 0)
        sum = (char)(bytes.data[0] + bytes.data[bytes.size - 1]);
    (void)sum;
}

static void check_sections(struct elf_file *file) {
    uint64_t inflated = 0;
    for (size_t i = 0; i < elf_file_section_count(file); i++) {
        const struct elf_section *section = elf_file_section(file, i);
        touch(section->name);
        struct span bytes;
        struct error error = {0};
        if (elf_file_section_data(file, section, &bytes, &error)) {
            assert(error.text[0]);
            continue;
        }
        touch(bytes);
        struct span all = elf_file_bytes(file);
        if (bytes.size > 0 && (bytes.data < all.data || bytes.data >= all.data + all.size))
            inflated += bytes.size;
    }
    assert(inflated <= INFLATED_SIZE_MAX);
}

static void check_extents(const struct elf_file *file) {
    const struct pc_range *extents;
    size_t count;
    bool exact;
    elf_file_executable_extents(file, &extents, &count, &exact);
    for (size_t i = 0; i < count; i++) {
        assert(extents[i].begin < extents[i].end);
        assert(i == 0 || extents[i - 1].end <= extents[i].begin);
        assert(elf_file_is_executable(file, extents[i].begin));
        assert(elf_file_is_executable(file, extents[i].end - 1));
    }
}

/* --- frames -------------------------------------------------------------------------------------
 */

static void check_frames(struct elf_file *file) {
    CLEANUP(cleanup_frame_table) struct frame_table *table = NULL;
    struct error error = {0};
    if (frame_table_new(file, &table, &error))
        return;
    uint64_t pc = 0;
    uint64_t begin;
    for (int i = 0; i < 1000 && frame_table_next(table, pc, &begin); i++) {
        assert(begin > pc);
        struct pc_range range;
        if (frame_table_find(table, begin, &range))
            assert(range.begin <= begin && begin < range.end);
        pc = begin;
    }
}

/* --- symbols ------------------------------------------------------------------------------------
 */

struct check_sink {
    struct symbol_sink base;
    struct symbol_source *source;
    struct elf_file *file;
    uint64_t last_end;
    unsigned count;
    bool has_symbol; /* besides stubs, which imported names call */
    bool is_damaged;
};

static void check_resolve(struct symbol_source *source, const struct sink_symbol *symbol,
                          uint64_t pc) {
    struct frame_list frames = {0};
    struct error error;
    enum err err = source->ops->resolve(source, pc, &frames, &error);
    assert(err == ERR_OK && frames.count == 1);
    assert(span_equal(frames.frames[0].name, symbol->name));
    assert(frames.frames[0].entry_pc == symbol->entry_pc);
    frame_list_clear(&frames);
}

/* A source that nothing was pushed from goes over the tables. */
static void check_fresh(struct elf_file *file, const struct sink_symbol *symbol) {
    CLEANUP(cleanup_symbol_source) struct symbol_source *fresh = NULL;
    struct error error;
    enum err err = symtab_source_new(file, &fresh, &error);
    assert(err == ERR_OK);
    check_resolve(fresh, symbol, symbol->begin);
    check_resolve(fresh, symbol, symbol->end - 1);
}

static enum err take_symbol(struct symbol_sink *base, const struct sink_symbol *symbol,
                            struct error *error) {
    (void)error;
    struct check_sink *sink = (struct check_sink *)base;
    assert(symbol->begin < symbol->end && symbol->begin >= sink->last_end);
    assert(symbol->entry_pc <= symbol->begin && symbol->name.size > 0);
    assert(elf_file_is_executable(sink->file, symbol->begin));
    touch(symbol->name);
    sink->last_end = symbol->end;
    const char *suffix = symbol->name.data + symbol->name.size - strlen("@plt");
    sink->has_symbol |= symbol->name.size < 5 || memcmp(suffix, "@plt", 4) != 0;
    check_resolve(sink->source, symbol, symbol->begin);
    check_resolve(sink->source, symbol, symbol->end - 1);
    if (sink->count++ < FRESH_COUNT_MAX && !sink->is_damaged)
        check_fresh(sink->file, symbol);
    return ERR_OK;
}

static void take_damage(struct symbol_sink *base, const char *what) {
    assert(what[0]);
    ((struct check_sink *)base)->is_damaged = true;
}

static void check_symbols(struct elf_file *file, const struct elf_contents *contents) {
    static const struct symbol_sink_ops ops = {.symbol = take_symbol, .damage = take_damage};
    CLEANUP(cleanup_symbol_source) struct symbol_source *source = NULL;
    struct error error = {0};
    enum err err = symtab_source_new(file, &source, &error);
    assert(err == ERR_OK);
    struct check_sink sink = {.base.ops = &ops, .source = source, .file = file};
    err = source->ops->push(source, &sink.base, &error);
    assert(err == ERR_OK);
    assert(sink.has_symbol <= (contents->has_symtab || contents->has_dynsym));
}

/* --- libdw ---------------------------------------------------------------------------------------
 */

static void check_debug_elf(struct elf_file *file) {
    Elf *elf;
    struct error error = {0};
    if (elf_file_debug_elf(file, &elf, &error)) {
        assert(error.text[0]);
        return;
    }
    Dwarf *dwarf = dwarf_begin_elf(elf, DWARF_C_READ, NULL);
    if (dwarf)
        dwarf_end(dwarf);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    CLEANUP(cleanup_elf_file) struct elf_file *file = NULL;
    struct elf_limits limits = {.inflated_size_max = INFLATED_SIZE_MAX};
    struct error error = {0};
    enum err err = elf_file_open_memory(span_of(data, size), &limits, &file, &error);
    if (err) {
        assert(err == ERR_MALFORMED || err == ERR_UNSUPPORTED || err == ERR_LIMIT);
        assert(error.code == err && error.text[0]);
        return 0;
    }
    struct elf_identity identity;
    elf_identity_read(file, &identity);
    assert(strlen(identity.htlhash.text) == 32);
    struct elf_contents contents;
    elf_contents_read(file, &contents);
    check_extents(file);
    check_frames(file);
    check_symbols(file, &contents);
    check_debug_elf(file);
    check_sections(file);
    return 0;
}
