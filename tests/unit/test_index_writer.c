#include "symbolizer/build/index_writer.h"

#include <ctype.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "base/fd.h"
#include "symbolizer/index/format.h"
#include "symbolizer/index/index_internal.h"
#include "tests/support/index_fixture.h"
#include "tests/support/test.h"

/* The header's own text, from which the worked example is read. */
__asm__(".section .rodata\n"
        "format_header_text: .incbin \"symbolizer/index/format.h\"\n"
        ".byte 0\n"
        ".previous\n");
extern const char format_header_text[];

static struct index_writer *new_writer(uint64_t size_max) {
    struct error error;
    struct index_writer *writer = NULL;
    assert_int_equal(index_writer_new(size_max, &writer, &error), ERR_OK);
    return writer;
}

static struct index *open_bytes(struct span bytes) {
    struct error error = {0};
    struct index *index = NULL;
    if (index_open_memory(bytes, &index, &error) || index_verify(index, &error))
        fail_msg("%s", error.text);
    return index;
}

static uint32_t function_named(struct index_writer *writer, const char *name) {
    struct error error;
    uint32_t number = 0;
    struct index_function function = {.name = span_cstr(name), .origin = SYMBOL_ORIGIN_DWARF};
    assert_int_equal(index_writer_function(writer, &function, &number, &error), ERR_OK);
    return number;
}

static uint32_t location_of(struct index_writer *writer, uint32_t function, uint32_t line,
                            uint32_t parent) {
    struct error error;
    uint32_t number = 0;
    struct index_location location = {.function = function, .line = line, .parent = parent};
    assert_int_equal(index_writer_location(writer, &location, &number, &error), ERR_OK);
    return number;
}

static void add_interval(struct index_writer *writer, uint64_t begin, uint64_t end,
                         uint32_t location, enum symbol_miss miss) {
    struct error error;
    struct pc_range range = {begin, end};
    assert_int_equal(index_writer_interval(writer, range, location, miss, &error), ERR_OK);
}

static struct index_hit hit_at(const struct index *index, uint64_t pc) {
    struct index_hit hit;
    index_lookup(index, &pc, 1, &hit);
    return hit;
}

/* The line of the only frame; 0: there is no frame. */
static void assert_hit(const struct index *index, uint64_t pc, uint32_t line,
                       enum symbol_miss miss) {
    struct index_scratch scratch;
    struct symbol_frame frame = {.line = 0};
    struct index_hit hit = hit_at(index, pc);
    assert_int_equal(hit.miss, miss);
    assert_int_equal(index_chain_next(index, &hit.chain, &scratch, &frame), line != 0);
    assert_int_equal(frame.line, line);
    assert_false(index_chain_next(index, &hit.chain, &scratch, &frame));
}

/* The value of the hex digits up to a character that is none; *text moves behind them. */
static unsigned take_hex(const char **text) {
    char *end = NULL;
    unsigned long value = strtoul(*text, &end, 16);
    assert_true(end > *text && value <= 0xffff);
    *text = end;
    return (unsigned)value;
}

static bool is_hex_pair(const char *text) {
    return isxdigit(text[0]) && isxdigit(text[1]) && (text[2] == ' ' || text[2] == '\n');
}

/* Lines of the form " *   0010: 01 02 03  words". */
static size_t example_from_header(unsigned char *bytes, size_t size_max) {
    size_t size = 0;
    const char *line = strstr(format_header_text, "\n *   0000: ");
    assert_non_null(line);
    for (; strncmp(line, "\n *   ", 6) == 0; line = strchr(line + 1, '\n')) {
        const char *text = line + 6;
        assert_int_equal(take_hex(&text), size);
        assert_int_equal(*text, ':');
        for (text += 2; size < size_max && is_hex_pair(text); text += *text == ' ')
            bytes[size++] = (unsigned char)take_hex(&text);
    }
    return size;
}

static void the_worked_example_is_what_the_writer_writes(void **state) {
    (void)state;
    unsigned char documented[2048];
    struct span written = index_fixture_example();
    size_t size = example_from_header(documented, sizeof(documented));
    if (size != written.size || memcmp(documented, written.data, size) != 0) {
        for (size_t i = 0; i < written.size; i += 16) {
            fprintf(stderr, " *   %04zx:", i);
            for (size_t j = i; j < i + 16 && j < written.size; j++)
                fprintf(stderr, " %02x", (unsigned char)written.data[j]);
            fprintf(stderr, "\n");
        }
        fail_msg("the example has %zu bytes in the header and %zu written", size, written.size);
    }
    free((void *)written.data);
}

static void equal_contents_get_equal_numbers(void **state) {
    (void)state;
    struct error error;
    struct index_writer *writer = new_writer(1 << 20);
    uint32_t first = 0;
    uint32_t again = 0;
    uint32_t other = 0;
    assert_int_equal(index_writer_file(writer, span_cstr("a.c"), &first, &error), ERR_OK);
    assert_int_equal(index_writer_file(writer, span_cstr("b.c"), &other, &error), ERR_OK);
    assert_int_equal(index_writer_file(writer, span_cstr("a.c"), &again, &error), ERR_OK);
    assert_int_equal(first, again);
    assert_int_not_equal(first, other);
    assert_int_equal(index_writer_file(writer, span_cstr(""), &other, &error), ERR_OK);
    assert_int_equal(other, 0);
    uint32_t f = function_named(writer, "f");
    assert_int_equal(function_named(writer, "f"), f);
    assert_int_not_equal(function_named(writer, "g"), f);
    assert_int_equal(location_of(writer, f, 7, 0), location_of(writer, f, 7, 0));
    assert_int_not_equal(location_of(writer, f, 7, 0), location_of(writer, f, 8, 0));
    index_writer_free(writer);
}

static void adjacent_intervals_with_the_same_answer_are_joined(void **state) {
    (void)state;
    struct index_writer *writer = new_writer(1 << 20);
    uint32_t location = location_of(writer, function_named(writer, "f"), 1, 0);
    add_interval(writer, 0x10, 0x20, location, SYMBOL_MISS_NONE);
    add_interval(writer, 0x20, 0x30, location, SYMBOL_MISS_NONE);
    add_interval(writer, 0x30, 0x40, location, SYMBOL_MISS_NO_LINE);
    add_interval(writer, 0x41, 0x50, location, SYMBOL_MISS_NO_LINE);
    struct span bytes = index_fixture_finish(writer, &(struct index_summary){0});
    struct index *index = open_bytes(bytes);
    struct index_summary summary;
    index_summary_read(index, &summary);
    assert_int_equal(summary.interval_count, 3);
    assert_int_equal(summary.location_count, 1);
    assert_hit(index, 0x0f, 0, SYMBOL_MISS_NO_RANGE);
    assert_hit(index, 0x2f, 1, SYMBOL_MISS_NONE);
    assert_hit(index, 0x3f, 1, SYMBOL_MISS_NO_LINE);
    assert_hit(index, 0x40, 0, SYMBOL_MISS_NO_RANGE);
    assert_hit(index, 0x4f, 1, SYMBOL_MISS_NO_LINE);
    assert_hit(index, 0x50, 0, SYMBOL_MISS_NO_RANGE);
    index_free(index);
    free((void *)bytes.data);
    index_writer_free(writer);
}

static void addresses_may_span_all_64_bits(void **state) {
    (void)state;
    struct index_writer *writer = new_writer(1 << 20);
    uint32_t f = function_named(writer, "f");
    uint32_t at[8];
    for (uint32_t i = 0; i < 8; i++)
        at[i] = location_of(writer, f, i + 1, 0);
    add_interval(writer, 0, 1, at[0], SYMBOL_MISS_NONE);
    /* Begins on the last offset that the first block can hold, and reaches far beyond. */
    add_interval(writer, UINT32_MAX, 0x900000000, at[1], SYMBOL_MISS_NONE);
    add_interval(writer, 0x900000000, 0x900000001, at[2], SYMBOL_MISS_NONE);
    add_interval(writer, 0xa00000000, 0xa00000010, at[3], SYMBOL_MISS_NONE);
    add_interval(writer, 0xffffffff81000000, 0xffffffff81000100, at[4], SYMBOL_MISS_NONE);
    add_interval(writer, UINT64_MAX - 1, UINT64_MAX, at[5], SYMBOL_MISS_NONE);
    struct span bytes = index_fixture_finish(writer, &(struct index_summary){0});
    struct index *index = open_bytes(bytes);
    assert_hit(index, 0, 1, SYMBOL_MISS_NONE);
    assert_hit(index, 1, 0, SYMBOL_MISS_NO_RANGE);
    assert_hit(index, UINT32_MAX - 1, 0, SYMBOL_MISS_NO_RANGE);
    assert_hit(index, UINT32_MAX, 2, SYMBOL_MISS_NONE);
    assert_hit(index, (uint64_t)UINT32_MAX + 1, 2, SYMBOL_MISS_NONE);
    assert_hit(index, 0x8ffffffff, 2, SYMBOL_MISS_NONE);
    assert_hit(index, 0x900000000, 3, SYMBOL_MISS_NONE);
    assert_hit(index, 0x900000001, 0, SYMBOL_MISS_NO_RANGE);
    assert_hit(index, 0xa0000000f, 4, SYMBOL_MISS_NONE);
    assert_hit(index, 0xffffffff810000ff, 5, SYMBOL_MISS_NONE);
    assert_hit(index, UINT64_MAX - 2, 0, SYMBOL_MISS_NO_RANGE);
    assert_hit(index, UINT64_MAX - 1, 6, SYMBOL_MISS_NONE);
    assert_hit(index, UINT64_MAX, 0, SYMBOL_MISS_NO_RANGE);
    index_free(index);
    free((void *)bytes.data);
    index_writer_free(writer);
}

static void a_chain_of_the_greatest_depth_comes_back_whole(void **state) {
    (void)state;
    struct error error;
    struct index_writer *writer = new_writer(1 << 24);
    uint32_t f = function_named(writer, "f");
    uint32_t location = 0;
    for (uint32_t i = 1; i <= FRAME_COUNT_MAX; i++)
        location = location_of(writer, f, i, location);
    add_interval(writer, 0x1000, 0x1001, location, SYMBOL_MISS_NONE);
    struct index_location one_more = {.function = f, .line = 1, .parent = location};
    uint32_t number = 0;
    assert_int_equal(index_writer_location(writer, &one_more, &number, &error), ERR_LIMIT);
    struct span bytes = index_fixture_finish(writer, &(struct index_summary){0});
    struct index *index = open_bytes(bytes);
    struct index_scratch scratch;
    struct symbol_frame frame;
    uint32_t line = FRAME_COUNT_MAX;
    struct index_chain chain = hit_at(index, 0x1000).chain;
    for (; index_chain_next(index, &chain, &scratch, &frame); line--) {
        assert_int_equal(frame.line, line);
        assert_true(span_equal_cstr(frame.name, "f"));
    }
    assert_int_equal(line, 0);
    /* The same in one go, and in pieces that are no multiple of what is walked at once. */
    static struct index_frame frames[FRAME_COUNT_MAX + 1];
    static const size_t pieces[] = {FRAME_COUNT_MAX + 1, 300, 1};
    for (size_t i = 0; i < ARRAY_SIZE(pieces); i++) {
        size_t count = 0;
        chain = hit_at(index, 0x1000).chain;
        while (chain.scope != 0)
            count += index_frames(index, &chain, pieces[i], frames + count);
        assert_int_equal(count, FRAME_COUNT_MAX);
        for (size_t j = 0; j < count; j++)
            assert_int_equal(frames[j].line, FRAME_COUNT_MAX - j);
    }
    index_free(index);
    free((void *)bytes.data);
    index_writer_free(writer);
}

static void a_frame_keeps_what_was_written(void **state) {
    (void)state;
    struct error error;
    struct index_writer *writer = new_writer(1 << 20);
    struct index_function function = {
        .name = span_of("a\0b", 3),
        .start_file = span_cstr("/src/x.h"),
        .start_line = 12,
        .flags = SYMBOL_DEMANGLES | SYMBOL_WRAPPER,
        .origin = SYMBOL_ORIGIN_GOPCLNTAB,
        .entry_pc = 0,
        .has_entry_pc = true,
    };
    struct index_location location = {.line = UINT32_MAX, .column = FORMAT_COLUMN_MAX};
    uint32_t number = 0;
    assert_int_equal(index_writer_function(writer, &function, &location.function, &error), ERR_OK);
    assert_int_equal(index_writer_file(writer, span_cstr("y.c"), &location.file, &error), ERR_OK);
    assert_int_equal(index_writer_location(writer, &location, &number, &error), ERR_OK);
    add_interval(writer, 8, 9, number, SYMBOL_MISS_NONE);
    location.column++;
    assert_int_equal(index_writer_location(writer, &location, &number, &error), ERR_OK);
    add_interval(writer, 9, 10, number, SYMBOL_MISS_INLINE_UNAVAILABLE);
    struct span bytes = index_fixture_finish(writer, &(struct index_summary){0});
    struct index *index = open_bytes(bytes);
    struct index_scratch scratch;
    struct symbol_frame frame;
    struct index_chain chain = hit_at(index, 8).chain;
    assert_true(index_chain_next(index, &chain, &scratch, &frame));
    assert_true(span_equal(frame.name, function.name));
    assert_true(span_equal_cstr(frame.file, "y.c"));
    assert_true(span_equal_cstr(frame.start_file, "/src/x.h"));
    assert_int_equal(frame.line, UINT32_MAX);
    assert_int_equal(frame.column, FORMAT_COLUMN_MAX);
    assert_int_equal(frame.start_line, 12);
    assert_int_equal(frame.flags, SYMBOL_DEMANGLES | SYMBOL_WRAPPER);
    assert_int_equal(frame.origin, SYMBOL_ORIGIN_GOPCLNTAB);
    assert_true(frame.has_entry_pc && frame.entry_pc == 0);
    assert_false(index_chain_next(index, &chain, &scratch, &frame));
    assert_int_equal(hit_at(index, 9).miss, SYMBOL_MISS_INLINE_UNAVAILABLE);
    chain = hit_at(index, 9).chain;
    assert_true(index_chain_next(index, &chain, &scratch, &frame));
    assert_int_equal(frame.column, 0);
    index_free(index);
    free((void *)bytes.data);
    index_writer_free(writer);
}

static void columns_can_be_left_out(void **state) {
    (void)state;
    struct error error;
    struct index_writer *writer = new_writer(1 << 20);
    index_writer_leave_out_columns(writer);
    struct index_location location = {
        .function = function_named(writer, "f"), .line = 7, .column = 3};
    uint32_t number = 0;
    for (uint64_t pc = 0x10; pc < 0x30; pc += 0x10, location.column++) {
        assert_int_equal(index_writer_location(writer, &location, &number, &error), ERR_OK);
        add_interval(writer, pc, pc + 0x10, number, SYMBOL_MISS_NONE);
    }
    struct span bytes = index_fixture_finish(writer, &(struct index_summary){0});
    struct index *index = open_bytes(bytes);
    struct index_summary summary;
    index_summary_read(index, &summary);
    assert_true(summary.without_columns);
    /* They differ in nothing else, so they are one interval. */
    assert_int_equal(summary.interval_count, 1);
    struct index_chain chain = hit_at(index, 0x20).chain;
    struct index_frame frame;
    assert_int_equal(index_frames(index, &chain, 1, &frame), 1);
    assert_int_equal(frame.line, 7);
    assert_int_equal(frame.column, 0);
    index_free(index);
    free((void *)bytes.data);
    index_writer_free(writer);
}

static void an_index_of_nothing_answers_nothing(void **state) {
    (void)state;
    struct index_writer *writer = new_writer(1 << 20);
    struct span bytes = index_fixture_finish(writer, &(struct index_summary){0});
    struct index *index = open_bytes(bytes);
    assert_hit(index, 0, 0, SYMBOL_MISS_NO_RANGE);
    assert_hit(index, UINT64_MAX, 0, SYMBOL_MISS_NO_RANGE);
    struct index_position position = {0};
    struct pc_range range;
    struct index_hit hit;
    assert_false(index_interval_next(index, &position, &range, &hit));
    index_free(index);
    free((void *)bytes.data);
    index_writer_free(writer);
}

/* Names that need more than a row of one load, any byte in them, and paths in all shapes. */
static void names_and_paths_of_all_sizes_come_back(void **state) {
    (void)state;
    static const size_t sizes[] = {0, 1, 63, 255, 256, 65535, 65536, 3000000};
    enum { COUNT = 3 * FORMAT_BLOCK_RECORDS };
    struct error error;
    struct index_writer *writer = new_writer((uint64_t)1 << 30);
    char *name = test_malloc(3000000);
    char path[8192];
    for (uint32_t i = 0; i < COUNT; i++) {
        size_t size = sizes[i % ARRAY_SIZE(sizes)];
        memset(name, (int)(i & 0xff), size);
        memset(path, 'd', sizeof(path));
        size_t path_size = i % 7 ? 40 + i : sizeof(path) - i;
        path[(size_t)(i % 5) * 8] = '/';
        path[path_size - 1] = (char)i;
        struct index_function function = {.name = span_of(name, size),
                                          .start_line = i % 3 ? UINT32_MAX - i : 0,
                                          .flags = i % 4 ? i & 0xffff : 0,
                                          .origin = (enum symbol_origin)(i % 5)};
        struct index_location location = {.line = i};
        uint32_t number = 0;
        assert_int_equal(
            index_writer_file(writer, span_of(path, path_size), &location.file, &error), ERR_OK);
        assert_int_equal(index_writer_function(writer, &function, &location.function, &error),
                         ERR_OK);
        assert_int_equal(index_writer_location(writer, &location, &number, &error), ERR_OK);
        add_interval(writer, i, i + 1, number, SYMBOL_MISS_NONE);
    }
    struct span bytes = index_fixture_finish(writer, &(struct index_summary){0});
    struct index *index = open_bytes(bytes);
    for (uint32_t i = 0; i < COUNT; i++) {
        struct index_scratch scratch;
        struct symbol_frame frame;
        struct index_chain chain = hit_at(index, i).chain;
        assert_true(index_chain_next(index, &chain, &scratch, &frame));
        assert_int_equal(frame.name.size, sizes[i % ARRAY_SIZE(sizes)]);
        if (frame.name.size)
            assert_int_equal((unsigned char)frame.name.data[frame.name.size - 1], i & 0xff);
        assert_int_equal(frame.line, i);
        assert_int_equal(frame.start_line, i % 3 ? UINT32_MAX - i : 0);
        assert_int_equal(frame.flags, i % 4 ? i & 0xffff : 0);
        assert_int_equal(frame.origin, i % 5);
        assert_int_equal(frame.file.size, i % 7 ? 40 + i : sizeof(path) - i);
        assert_int_equal((unsigned char)frame.file.data[frame.file.size - 1], i & 0xff);
        assert_int_equal(frame.file.data[(size_t)(i % 5) * 8], '/');
        assert_int_equal(frame.start_file.size, 0);
    }
    assert_int_equal(index_damage_count(index), 0);
    index_free(index);
    free((void *)bytes.data);
    test_free(name);
    index_writer_free(writer);
}

static void identical_calls_give_identical_bytes(void **state) {
    (void)state;
    struct span first = index_fixture_example();
    struct span second = index_fixture_example();
    assert_true(span_equal(first, second));
    free((void *)first.data);
    free((void *)second.data);
}

static void what_makes_no_sense_is_refused(void **state) {
    (void)state;
    struct error error;
    struct index_writer *writer = new_writer(1 << 20);
    uint32_t number = 0;
    uint32_t location = location_of(writer, function_named(writer, "f"), 1, 0);
    struct index_location stranger = {.function = 2};
    assert_int_equal(index_writer_location(writer, &stranger, &number, &error), ERR_INVALID);
    stranger = (struct index_location){.parent = 2};
    assert_int_equal(index_writer_location(writer, &stranger, &number, &error), ERR_INVALID);
    stranger = (struct index_location){.file = 9};
    assert_int_equal(index_writer_location(writer, &stranger, &number, &error), ERR_INVALID);
    const struct {
        struct pc_range range;
        uint32_t location;
        enum symbol_miss miss;
    } refused[] = {
        {{0x20, 0x20}, location, SYMBOL_MISS_NONE},
        {{0x0f, 0x11}, location, SYMBOL_MISS_NONE},
        {{0x18, 0x30}, location, SYMBOL_MISS_NONE},
        {{0x30, 0x40}, location + 1, SYMBOL_MISS_NONE},
        {{0x30, 0x40}, 0, SYMBOL_MISS_NONE},
        {{0x30, 0x40}, 0, SYMBOL_MISS_NO_RANGE},
        {{0x30, 0x40}, location, SYMBOL_MISS_DENIED},
    };
    add_interval(writer, 0x10, 0x20, location, SYMBOL_MISS_NONE);
    for (size_t i = 0; i < ARRAY_SIZE(refused); i++)
        assert_int_equal(index_writer_interval(writer, refused[i].range, refused[i].location,
                                               refused[i].miss, &error),
                         ERR_INVALID);
    index_writer_free(writer);
}

static void the_limit_bounds_memory(void **state) {
    (void)state;
    struct error error;
    struct index_writer *writer = new_writer(64 << 10);
    enum err err = ERR_OK;
    unsigned added = 0;
    for (; err == ERR_OK && added < 100000; added++) {
        char path[32];
        uint32_t number;
        snprintf(path, sizeof(path), "/src/%u.c", added);
        err = index_writer_file(writer, span_cstr(path), &number, &error);
    }
    assert_int_equal(err, ERR_LIMIT);
    assert_in_range(added, 500, 5000);
    index_writer_free(writer);
}

/* Some of everything; the first failure. */
static enum err write_some(struct index_writer *writer, int fd, struct error *error) {
    uint64_t size = 0;
    uint32_t location = 0;
    enum err err = ERR_OK;
    for (uint32_t i = 0; i < 50 && !err; i++) {
        char name[16];
        uint32_t number = 0;
        snprintf(name, sizeof(name), "f%u", i);
        struct index_function function = {.name = span_cstr(name), .start_file = span_cstr("a.c")};
        err = index_writer_function(writer, &function, &number, error);
        struct index_location record = {.function = number, .line = i, .parent = location};
        if (!err)
            err = index_writer_location(writer, &record, &location, error);
        if (!err)
            err = index_writer_interval(writer,
                                        (struct pc_range){2 * (uint64_t)i, 2 * (uint64_t)i + 1},
                                        location, SYMBOL_MISS_NONE, error);
        if (!err)
            err = index_writer_segment(writer, &(struct index_segment){0}, error);
    }
    struct index_summary summary = {.ids = {{BINARY_ID_GNU, "0badc0de"}}, .id_count = 1};
    return err ? err : index_writer_finish(writer, &summary, fd, &size, error);
}

static void every_limit_ends_in_an_error_or_a_sound_file(void **state) {
    (void)state;
    unsigned written = 0;
    for (uint64_t size_max = 0; size_max < 20000; size_max += 23) {
        struct error error = {0};
        CLEANUP(cleanup_fd) int fd = memfd_create("limited", MFD_CLOEXEC);
        CLEANUP(cleanup_index_writer) struct index_writer *writer = new_writer(size_max);
        CLEANUP(cleanup_index) struct index *index = NULL;
        enum err err = write_some(writer, fd, &error);
        if (err != ERR_OK) {
            assert_int_equal(err, ERR_LIMIT);
            continue;
        }
        written++;
        assert_int_equal(index_open_fd(fd, &index, &error), ERR_OK);
        assert_int_equal(index_verify(index, &error), ERR_OK);
        assert_true(index_size(index) <= size_max);
    }
    assert_in_range(written, 10, 800);
}

static void a_write_that_fails_is_reported(void **state) {
    (void)state;
    struct error error;
    struct index_writer *writer = new_writer(1 << 20);
    uint64_t size = 7;
    CLEANUP(cleanup_fd) int full = memfd_create("full", MFD_CLOEXEC | MFD_ALLOW_SEALING);
    assert_int_equal(fcntl(full, F_ADD_SEALS, F_SEAL_GROW), 0);
    assert_int_equal(index_writer_finish(writer, &(struct index_summary){0}, full, &size, &error),
                     ERR_IO);
    assert_int_equal(size, 7);
    index_writer_free(writer);
}

/* --- a random index against a plain array of what was put in --- */

struct model_interval {
    struct pc_range range;
    uint32_t location;
    enum symbol_miss miss;
    uint32_t lines[6]; /* of the chain, leaf first */
    uint32_t depth;
};

static uint64_t random_state;

static uint32_t random_below(uint32_t bound) {
    random_state = random_state * 6364136223846793005 + 1442695040888963407;
    return (uint32_t)((random_state >> 33) % bound);
}

static void random_chain(struct index_writer *writer, struct model_interval *model) {
    char name[16];
    model->depth = 1 + random_below(6);
    model->location = 0;
    for (uint32_t i = model->depth; i-- > 0;) {
        model->lines[i] = 1 + random_below(50);
        snprintf(name, sizeof(name), "f%u", model->lines[i] % 20);
        model->location =
            location_of(writer, function_named(writer, name), model->lines[i], model->location);
    }
}

static uint64_t random_gap(void) {
    switch (random_below(12)) {
    case 0:
        return (uint64_t)random_below(1000) << 30;
    case 1:
    case 2:
        return random_below(100000);
    case 3:
    case 4:
        return 1;
    default:
        return 0;
    }
}

static void assert_chain(const struct index *index, struct index_chain chain,
                         const struct model_interval *model) {
    struct index_scratch scratch;
    struct symbol_frame frame;
    char name[16];
    for (uint32_t i = 0; i < model->depth; i++) {
        assert_true(index_chain_next(index, &chain, &scratch, &frame));
        assert_int_equal(frame.line, model->lines[i]);
        snprintf(name, sizeof(name), "f%u", model->lines[i] % 20);
        assert_true(span_equal_cstr(frame.name, name));
    }
    assert_false(index_chain_next(index, &chain, &scratch, &frame));
}

#define MODEL_COUNT 3000

static void assert_model(const struct index *index, const struct model_interval *model) {
    for (size_t i = 0; i < MODEL_COUNT; i++) {
        uint64_t length = model[i].range.end - model[i].range.begin;
        const uint64_t pcs[] = {
            model[i].range.end - 1,
            model[i].range.begin,
            model[i].range.begin + random_below((uint32_t)length),
            model[i].range.end,
            model[i].range.begin - 1,
        };
        struct index_hit hits[5];
        index_lookup(index, pcs, 5, hits);
        for (size_t j = 0; j < 3; j++) {
            assert_int_equal(hits[j].miss, model[i].miss);
            assert_chain(index, hits[j].chain, &model[i]);
        }
        bool gap_after = i + 1 == MODEL_COUNT || model[i + 1].range.begin > pcs[3];
        bool gap_before = i == 0 || model[i - 1].range.end <= pcs[4];
        assert_int_equal(hits[3].miss == SYMBOL_MISS_NO_RANGE, gap_after);
        assert_int_equal(hits[4].miss == SYMBOL_MISS_NO_RANGE, gap_before);
    }
}

/* Whole batches, by the instructions that every processor has and by those of this one. */
static void assert_batches(struct index *index, const struct model_interval *model) {
    static struct index_hit hits[2][MODEL_COUNT];
    static struct index_frame frames[2][FRAME_COUNT_MAX];
    uint64_t pcs[MODEL_COUNT];
    bool fast = index->processor_is_fast;
    for (size_t i = 0; i < MODEL_COUNT; i++)
        pcs[i] = model[i].range.begin +
                 random_below((uint32_t)(model[i].range.end - model[i].range.begin));
    for (unsigned way = 0; way < 2; way++) {
        index->processor_is_fast = way && fast;
        index_lookup(index, pcs, MODEL_COUNT, hits[way]);
    }
    assert_memory_equal(hits[0], hits[1], sizeof(hits[0]));
    for (size_t i = 0; i < MODEL_COUNT; i++) {
        assert_chain(index, hits[0][i].chain, &model[i]);
        size_t counts[2];
        for (unsigned way = 0; way < 2; way++) {
            index->processor_is_fast = way && fast;
            struct index_chain chain = hits[way][i].chain;
            counts[way] = index_frames(index, &chain, FRAME_COUNT_MAX, frames[way]);
            assert_int_equal(chain.scope, 0);
        }
        assert_int_equal(counts[0], model[i].depth);
        assert_int_equal(counts[1], model[i].depth);
        for (uint32_t j = 0; j < model[i].depth; j++) {
            assert_int_equal(frames[0][j].line, model[i].lines[j]);
            assert_int_equal(frames[1][j].line, model[i].lines[j]);
            assert_true(span_equal(frames[0][j].name, frames[1][j].name));
        }
    }
}

static void assert_walk(const struct index *index, const struct model_interval *model) {
    struct index_position position = {0};
    struct index_hit hit;
    struct pc_range range;
    size_t i = 0;
    while (index_interval_next(index, &position, &range, &hit)) {
        /* The writer has joined neighbours with the same answer. */
        assert_true(i < MODEL_COUNT && range.begin == model[i].range.begin);
        while (i < MODEL_COUNT && model[i].range.end <= range.end) {
            assert_int_equal(hit.miss, model[i].miss);
            assert_chain(index, hit.chain, &model[i]);
            i++;
        }
        assert_true(model[i - 1].range.end == range.end);
    }
    assert_int_equal(i, MODEL_COUNT);
}

static void every_address_of_a_random_index_answers_as_the_model(void **state) {
    (void)state;
    static const enum symbol_miss misses[] = {SYMBOL_MISS_NONE, SYMBOL_MISS_NONE,
                                              SYMBOL_MISS_NO_LINE, SYMBOL_MISS_INLINE_UNAVAILABLE};
    struct model_interval *model = test_calloc(MODEL_COUNT, sizeof(*model));
    for (unsigned round = 1; round <= 8; round++) {
        random_state = round;
        struct index_writer *writer = new_writer(1 << 24);
        uint64_t next = random_below(1 << 20) + 1;
        for (size_t i = 0; i < MODEL_COUNT; i++) {
            next += random_gap();
            model[i].range = (struct pc_range){next, next + 1 + random_below(200)};
            next = model[i].range.end;
            model[i].miss = misses[random_below(4)];
            random_chain(writer, &model[i]);
            add_interval(writer, model[i].range.begin, model[i].range.end, model[i].location,
                         model[i].miss);
        }
        struct span bytes = index_fixture_finish(writer, &(struct index_summary){0});
        struct index *index = open_bytes(bytes);
        assert_model(index, model);
        assert_batches(index, model);
        assert_walk(index, model);
        assert_int_equal(index_damage_count(index), 0);
        index_free(index);
        free((void *)bytes.data);
        index_writer_free(writer);
    }
    test_free(model);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_worked_example_is_what_the_writer_writes),
        cmocka_unit_test(equal_contents_get_equal_numbers),
        cmocka_unit_test(adjacent_intervals_with_the_same_answer_are_joined),
        cmocka_unit_test(addresses_may_span_all_64_bits),
        cmocka_unit_test(a_chain_of_the_greatest_depth_comes_back_whole),
        cmocka_unit_test(a_frame_keeps_what_was_written),
        cmocka_unit_test(columns_can_be_left_out),
        cmocka_unit_test(an_index_of_nothing_answers_nothing),
        cmocka_unit_test(names_and_paths_of_all_sizes_come_back),
        cmocka_unit_test(identical_calls_give_identical_bytes),
        cmocka_unit_test(what_makes_no_sense_is_refused),
        cmocka_unit_test(the_limit_bounds_memory),
        cmocka_unit_test(every_limit_ends_in_an_error_or_a_sound_file),
        cmocka_unit_test(a_write_that_fails_is_reported),
        cmocka_unit_test(every_address_of_a_random_index_answers_as_the_model),
    };
    return cmocka_run_group_tests_name("index_writer", tests, NULL, NULL);
}
