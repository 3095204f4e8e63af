#include "tests/support/flatten_fixture.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>

#include <cmocka.h>

#include "base/buffer.h"
#include "base/fd.h"
#include "symbolizer/index/index.h"

static void must(enum err err, const struct error *error) {
    if (err)
        fail_msg("%s", error->text);
}

void fixture_start(struct flatten_fixture *fixture) {
    struct error error;
    *fixture = (struct flatten_fixture){0};
    must(symbol_model_new((uint64_t)256 << 20, &fixture->model, &error), &error);
    fixture->sink = symbol_model_sink(fixture->model);
}

void fixture_end(struct flatten_fixture *fixture) {
    symbol_model_free(fixture->model);
    fixture->model = NULL;
}

void fixture_unit(struct flatten_fixture *fixture) {
    struct error error;
    struct sink_unit unit = {0};
    must(fixture->sink->ops->unit(fixture->sink, &unit, &error), &error);
}

static uint32_t file_of(struct flatten_fixture *fixture, const char *path) {
    struct error error;
    uint32_t number = 0;
    if (path)
        must(fixture->sink->ops->file(fixture->sink, span_cstr(path), &number, &error), &error);
    return number;
}

static size_t range_count(const struct fixture_code *code) {
    size_t count = 0;
    while (count < ARRAY_SIZE(code->ranges) && code->ranges[count].end)
        count++;
    return count;
}

static uint32_t subject_of(struct flatten_fixture *fixture, const struct fixture_code *code) {
    struct error error;
    uint32_t number = 0;
    struct sink_subject subject = {
        .name = span_cstr(code->name),
        .decl_file = file_of(fixture, code->decl_file),
        .decl_line = code->decl_line,
        .origin = SYMBOL_ORIGIN_DWARF,
        .name_is_linkage = code->linkage,
    };
    must(fixture->sink->ops->subject(fixture->sink, &subject, &number, &error), &error);
    return number;
}

uint32_t fixture_function(struct flatten_fixture *fixture, const struct fixture_code *code) {
    struct error error;
    uint32_t node = 0;
    struct sink_function function = {
        .subject = subject_of(fixture, code),
        .ranges = code->ranges,
        .range_count = range_count(code),
        .entry_pc = code->ranges[0].begin,
        .has_entry_pc = true,
    };
    must(fixture->sink->ops->function(fixture->sink, &function, &node, &error), &error);
    return node;
}

uint32_t fixture_inlined(struct flatten_fixture *fixture, uint32_t parent,
                         const struct fixture_code *code) {
    struct error error;
    uint32_t node = 0;
    struct sink_inlined inlined = {
        .parent = parent,
        .subject = subject_of(fixture, code),
        .ranges = code->ranges,
        .range_count = range_count(code),
        .call_file = file_of(fixture, code->call_file),
        .call_line = code->call_line,
        .call_column = code->call_column,
    };
    must(fixture->sink->ops->inlined(fixture->sink, &inlined, &node, &error), &error);
    return node;
}

void fixture_sequence(struct flatten_fixture *fixture, const struct fixture_row *rows, size_t count,
                      uint64_t end) {
    struct error error;
    struct sink_line *lines = calloc(count + 1, sizeof(*lines));
    assert_non_null(lines);
    for (size_t i = 0; i < count; i++) {
        lines[i] = (struct sink_line){
            .address = rows[i].address,
            .file = file_of(fixture, rows[i].file),
            .line = rows[i].line,
            .column = rows[i].column,
        };
    }
    lines[count] = (struct sink_line){.address = end, .end_sequence = true};
    must(fixture->sink->ops->sequence(fixture->sink, lines, count + 1, &error), &error);
    free(lines);
}

void fixture_symbol(struct flatten_fixture *fixture, const char *name, uint64_t begin, uint64_t end,
                    enum symbol_origin origin) {
    struct error error;
    struct sink_symbol symbol = {
        .name = span_cstr(name), .begin = begin, .end = end, .entry_pc = begin, .origin = origin};
    must(fixture->sink->ops->symbol(fixture->sink, &symbol, &error), &error);
}

static struct index *built(struct flatten_fixture *fixture) {
    struct error error;
    struct index_writer *writer = NULL;
    struct index *index = NULL;
    struct index_summary summary = {0};
    struct pc_range everything = {0, UINT64_MAX};
    struct flatten_extents extents = {&everything, 1};
    symbol_model_end_source(fixture->model);
    must(index_writer_new((uint64_t)64 << 20, &writer, &error), &error);
    must(flatten(fixture->model, &extents, writer, &fixture->result, &error), &error);
    int fd = memfd_create("index", MFD_CLOEXEC);
    assert_true(fd >= 0);
    must(index_writer_finish(writer, &summary, fd, &fixture->file_size, &error), &error);
    index_writer_free(writer);
    must(index_open_fd(fd, &index, &error), &error);
    fd_close(fd);
    must(index_verify(index, &error), &error);
    return index;
}

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

char *fixture_dump(struct flatten_fixture *fixture, uint64_t begin, uint64_t end) {
    struct index *index = built(fixture);
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
    buffer_clear(&current);
    buffer_clear(&next);
    buffer_cstr(&all);
    return all.data;
}
