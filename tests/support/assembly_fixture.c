#include "tests/support/assembly_fixture.h"

#include <stdio.h>
#include <stdlib.h>

#include "base/buffer.h"
#include "symbolizer/index/index.h"
#include "tests/support/index_fixture.h"
#include "tests/support/test.h"

enum record_kind {
    RECORD_UNIT,
    RECORD_FUNCTION,
    RECORD_INLINED,
    RECORD_SEQUENCE,
    RECORD_SYMBOL,
    RECORD_END_SYMBOLS,
};

struct fixture_record {
    enum record_kind kind;
    struct fixture_code code; /* of functions and copies */
    uint32_t parent;          /* a record */
    uint32_t node;            /* in the sink, while it is pushed */
    struct fixture_row *rows; /* of sequences */
    size_t row_count;
    uint64_t begin; /* of symbols; the end also of sequences */
    uint64_t end;
    enum symbol_origin origin;
};

static void must(enum err err, const struct error *error) {
    if (err)
        fail_msg("%s", error->text);
}

/* --- recording --- */

void fixture_start(struct assembly_fixture *fixture) {
    *fixture = (struct assembly_fixture){.thread_count = 1, .units_per_shard = 2};
}

void fixture_end(struct assembly_fixture *fixture) {
    for (size_t i = 0; i < fixture->count; i++)
        free(fixture->records[i].rows);
    free(fixture->records);
    *fixture = (struct assembly_fixture){0};
}

static uint32_t record(struct assembly_fixture *fixture, struct fixture_record added) {
    if (fixture->count == fixture->capacity) {
        fixture->capacity = fixture->capacity ? 2 * fixture->capacity : 64;
        fixture->records = realloc(fixture->records, fixture->capacity * sizeof(*fixture->records));
        assert_non_null(fixture->records);
    }
    fixture->records[fixture->count] = added;
    return (uint32_t)fixture->count++;
}

void fixture_unit(struct assembly_fixture *fixture) {
    record(fixture, (struct fixture_record){.kind = RECORD_UNIT});
}

uint32_t fixture_function(struct assembly_fixture *fixture, const struct fixture_code *code) {
    return record(fixture, (struct fixture_record){.kind = RECORD_FUNCTION, .code = *code});
}

uint32_t fixture_inlined(struct assembly_fixture *fixture, uint32_t parent,
                         const struct fixture_code *code) {
    return record(fixture,
                  (struct fixture_record){.kind = RECORD_INLINED, .code = *code, .parent = parent});
}

void fixture_sequence(struct assembly_fixture *fixture, const struct fixture_row *rows,
                      size_t count, uint64_t end) {
    struct fixture_row *copy = calloc(count + 1, sizeof(*copy));
    assert_non_null(copy);
    memcpy(copy, rows, count * sizeof(*copy));
    record(fixture, (struct fixture_record){
                        .kind = RECORD_SEQUENCE, .rows = copy, .row_count = count, .end = end});
}

void fixture_symbol(struct assembly_fixture *fixture, const char *name, uint64_t begin,
                    uint64_t end, enum symbol_origin origin) {
    record(fixture, (struct fixture_record){.kind = RECORD_SYMBOL,
                                            .code = {.name = name},
                                            .begin = begin,
                                            .end = end,
                                            .origin = origin});
}

void fixture_end_symbols(struct assembly_fixture *fixture) {
    record(fixture, (struct fixture_record){.kind = RECORD_END_SYMBOLS});
}

/* --- pushing --- */

static enum err file_of(struct symbol_sink *sink, const char *path, uint32_t *ret_number,
                        struct error *error) {
    *ret_number = 0;
    return path ? sink->ops->file(sink, span_cstr(path), ret_number, error) : ERR_OK;
}

static enum err subject_of(struct symbol_sink *sink, const struct fixture_code *code,
                           uint32_t *ret_subject, struct error *error) {
    struct sink_subject subject = {
        .name = span_cstr(code->name),
        .decl_line = code->decl_line,
        .origin = SYMBOL_ORIGIN_DWARF,
        .name_is_linkage = code->linkage,
    };
    enum err err = file_of(sink, code->decl_file, &subject.decl_file, error);
    return err ? err : sink->ops->subject(sink, &subject, ret_subject, error);
}

static size_t range_count(const struct fixture_code *code) {
    size_t count = 0;
    while (count < ARRAY_SIZE(code->ranges) && code->ranges[count].end)
        count++;
    return count;
}

static enum err push_function(struct symbol_sink *sink, struct fixture_record *pushed,
                              struct error *error) {
    const struct fixture_code *code = &pushed->code;
    struct sink_function function = {
        .ranges = code->ranges,
        .range_count = range_count(code),
        .entry_pc = code->ranges[0].begin,
        .has_entry_pc = true,
    };
    enum err err = subject_of(sink, code, &function.subject, error);
    return err ? err : sink->ops->function(sink, &function, &pushed->node, error);
}

static enum err push_inlined(struct symbol_sink *sink, const struct assembly_fixture *fixture,
                             struct fixture_record *pushed, struct error *error) {
    const struct fixture_code *code = &pushed->code;
    struct sink_inlined inlined = {
        .parent = fixture->records[pushed->parent].node,
        .ranges = code->ranges,
        .range_count = range_count(code),
        .call_line = code->call_line,
        .call_column = code->call_column,
    };
    enum err err = file_of(sink, code->call_file, &inlined.call_file, error);
    if (err == ERR_OK)
        err = subject_of(sink, code, &inlined.subject, error);
    return err ? err : sink->ops->inlined(sink, &inlined, &pushed->node, error);
}

static enum err push_sequence(struct symbol_sink *sink, const struct fixture_record *pushed,
                              struct error *error) {
    size_t count = pushed->row_count;
    struct sink_line *lines = calloc(count + 1, sizeof(*lines));
    assert_non_null(lines);
    enum err err = ERR_OK;
    for (size_t i = 0; err == ERR_OK && i < count; i++) {
        lines[i] = (struct sink_line){
            .address = pushed->rows[i].address,
            .line = pushed->rows[i].line,
            .column = pushed->rows[i].column,
        };
        err = file_of(sink, pushed->rows[i].file, &lines[i].file, error);
    }
    lines[count] = (struct sink_line){.address = pushed->end, .end_sequence = true};
    if (err == ERR_OK)
        err = sink->ops->sequence(sink, lines, count + 1, error);
    free(lines);
    return err;
}

static enum err push_record(struct symbol_sink *sink, const struct assembly_fixture *fixture,
                            struct fixture_record *pushed, struct error *error) {
    switch (pushed->kind) {
    case RECORD_UNIT:
        return sink->ops->unit(sink, &(struct sink_unit){0}, error);
    case RECORD_FUNCTION:
        return push_function(sink, pushed, error);
    case RECORD_INLINED:
        return push_inlined(sink, fixture, pushed, error);
    case RECORD_SEQUENCE:
        return push_sequence(sink, pushed, error);
    case RECORD_SYMBOL:
    case RECORD_END_SYMBOLS:
        break;
    }
    return ERR_OK;
}

/* --- a source of the recorded units --- */

struct replay {
    struct symbol_source source;
    const struct assembly_fixture *fixture;
};

static size_t count_shards(struct symbol_source *source) {
    const struct assembly_fixture *fixture = ((struct replay *)source)->fixture;
    size_t units = 0;
    for (size_t i = 0; i < fixture->count; i++)
        units += fixture->records[i].kind == RECORD_UNIT;
    return units / fixture->units_per_shard + 1;
}

static enum err push_shard(struct symbol_source *source, size_t shard, struct symbol_sink *sink,
                           struct error *error) {
    const struct assembly_fixture *fixture = ((struct replay *)source)->fixture;
    size_t units = 0;
    enum err err = ERR_OK;
    for (size_t i = 0; err == ERR_OK && i < fixture->count; i++) {
        units += fixture->records[i].kind == RECORD_UNIT;
        if (units > 0 && (units - 1) / fixture->units_per_shard == shard)
            err = push_record(sink, fixture, &fixture->records[i], error);
    }
    return err;
}

static const struct symbol_source_ops replay_ops = {
    .shard_count = count_shards,
    .push_shard = push_shard,
};

static enum err push_symbols(const struct assembly_fixture *fixture, struct symbol_map *symbols,
                             struct error *error) {
    enum err err = ERR_OK;
    for (size_t i = 0; err == ERR_OK && i < fixture->count; i++) {
        const struct fixture_record *pushed = &fixture->records[i];
        struct sink_symbol symbol = {
            .name = span_cstr(pushed->code.name),
            .begin = pushed->begin,
            .end = pushed->end,
            .entry_pc = pushed->begin,
            .origin = pushed->origin,
        };
        if (pushed->kind == RECORD_SYMBOL)
            err = symbols->sink.ops->symbol(&symbols->sink, &symbol, error);
        if (pushed->kind == RECORD_END_SYMBOLS)
            symbol_map_end_source(symbols);
    }
    return err;
}

static enum err collect(struct assembly_fixture *fixture, struct collection *collection,
                        struct error *error) {
    struct replay replay = {.source = {.ops = &replay_ops}, .fixture = fixture};
    enum err err = push_symbols(fixture, &collection->symbols, error);
    if (err == ERR_OK)
        err = collection_push(collection, &replay.source, fixture->thread_count, NULL, error);
    if (err == ERR_OK)
        collection_try_names(collection, fixture->thread_count);
    return err;
}

enum err fixture_build(struct assembly_fixture *fixture, uint64_t memory_max,
                       struct span *ret_bytes, struct error *error) {
    static const struct pc_range everything = {0, UINT64_MAX};
    struct assembly_extents extents = {&everything, 1};
    struct collection collection;
    struct index_writer *writer = NULL;
    must(index_writer_new((uint64_t)64 << 20, &writer, error), error);
    enum err err = collection_init(&collection, memory_max, error);
    if (err == ERR_OK)
        err = collect(fixture, &collection, error);
    if (err == ERR_OK)
        err = assemble(&collection, &extents, writer, &fixture->result, error);
    fixture->counts = collection_count(&collection);
    assert_true(collection.budget.peak <= memory_max);
    collection_clear(&collection);
    assert_true(collection.budget.used == 0);
    if (err == ERR_OK)
        *ret_bytes = index_fixture_finish(writer, &(struct index_summary){0});
    index_writer_free(writer);
    return err;
}

static struct index *built(struct assembly_fixture *fixture, struct span *ret_bytes) {
    struct error error;
    struct index *index = NULL;
    must(fixture_build(fixture, (uint64_t)256 << 20, ret_bytes, &error), &error);
    must(index_open_memory(*ret_bytes, &index, &error), &error);
    must(index_verify(index, &error), &error);
    return index;
}

/* --- reading --- */

static void print_frame(struct buffer *text, const struct symbol_frame *frame) {
    if (frame->name.size)
        buffer_append(text, frame->name.data, frame->name.size);
    else
        buffer_append_cstr(text, "?");
    if (frame->flags & SYMBOL_DEMANGLES)
        buffer_append_byte(text, '*');
    if (frame->origin != SYMBOL_ORIGIN_DWARF)
        buffer_printf(text, "/%s", symbol_origin_name(frame->origin));
    buffer_append_byte(text, ' ');
    if (frame->file.size)
        buffer_append(text, frame->file.data, frame->file.size);
    else
        buffer_append_cstr(text, "-");
    buffer_printf(text, ":%u", frame->line);
    if (frame->column)
        buffer_printf(text, ":%u", frame->column);
}

static void print_answer(const struct index *index, uint64_t pc, struct buffer *text) {
    static struct index_scratch scratch;
    struct index_hit hit;
    struct symbol_frame frame;
    index_lookup(index, &pc, 1, &hit);
    const char *separator = "";
    while (index_chain_next(index, &hit.chain, &scratch, &frame)) {
        buffer_append_cstr(text, separator);
        print_frame(text, &frame);
        separator = " < ";
    }
    if (hit.miss != SYMBOL_MISS_NONE && hit.miss != SYMBOL_MISS_NO_RANGE)
        buffer_printf(text, " (%s)", symbol_miss_name(hit.miss));
}

char *fixture_dump(struct assembly_fixture *fixture, uint64_t begin, uint64_t end) {
    struct span bytes;
    struct index *index = built(fixture, &bytes);
    struct buffer all = {0};
    struct buffer current = {0};
    struct buffer next = {0};
    uint64_t since = begin;
    for (uint64_t pc = begin;; pc++) {
        next.size = 0;
        if (pc < end)
            print_answer(index, pc, &next);
        if (pc > begin && pc < end && span_equal(buffer_span(&current), buffer_span(&next)))
            continue;
        if (current.size > 0)
            buffer_printf(&all, "%llx-%llx %s\n", (unsigned long long)since, (unsigned long long)pc,
                          buffer_cstr(&current));
        if (pc == end)
            break;
        since = pc;
        struct buffer kept = current;
        current = next;
        next = kept;
    }
    index_free(index);
    free((void *)bytes.data);
    buffer_clear(&current);
    buffer_clear(&next);
    buffer_cstr(&all);
    return all.data;
}
