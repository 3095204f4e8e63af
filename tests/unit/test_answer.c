#include "api/answer.h"

#include <sys/mman.h>
#include <unistd.h>

#include "base/fd.h"
#include "symbolizer/build/index_writer.h"
#include "tests/support/test.h"

#define ADDRESS_CHAIN 0x1000  /* _Z4leafv inlined into middle inlined into outermost */
#define ADDRESS_SINGLE 0x2000 /* plain, without a line */
#define ADDRESS_NOTHING 0x3000

/* An index of the two places above. */
struct fixture {
    struct index *index;
    struct answer *answer;
    struct answer_scope scope;
    struct request_context context;
    struct binary_id id;
};

static uint32_t add_function(struct index_writer *writer, const char *name, uint32_t flags,
                             uint32_t start_line, enum symbol_origin origin) {
    struct error error;
    struct index_function function = {
        .name = span_cstr(name),
        .start_line = start_line,
        .flags = flags,
        .origin = origin,
    };
    uint32_t number = 0;
    assert_int_equal(index_writer_function(writer, &function, &number, &error), ERR_OK);
    return number;
}

static uint32_t add_location(struct index_writer *writer, uint32_t function, const char *path,
                             uint32_t line, uint32_t column, uint32_t parent) {
    struct error error;
    struct index_location location = {
        .function = function, .line = line, .column = column, .parent = parent};
    uint32_t number = 0;
    if (path)
        assert_int_equal(index_writer_file(writer, span_cstr(path), &location.file, &error),
                         ERR_OK);
    assert_int_equal(index_writer_location(writer, &location, &number, &error), ERR_OK);
    return number;
}

static void add_interval(struct index_writer *writer, uint64_t begin, uint32_t location,
                         enum symbol_miss miss) {
    struct error error;
    struct pc_range range = {begin, begin + 0x10};
    assert_int_equal(index_writer_interval(writer, range, location, miss, &error), ERR_OK);
}

static void fill(struct index_writer *writer) {
    uint32_t leaf = add_function(writer, "_Z4leafv", SYMBOL_DEMANGLES, 10, SYMBOL_ORIGIN_DWARF);
    uint32_t middle = add_function(writer, "middle", 0, 20, SYMBOL_ORIGIN_DWARF);
    uint32_t outer =
        add_function(writer, "_Z9outermosti", SYMBOL_DEMANGLES, 30, SYMBOL_ORIGIN_DWARF);
    uint32_t plain = add_function(writer, "_Z5plainv", 0, 0, SYMBOL_ORIGIN_SYMTAB);
    uint32_t at = add_location(writer, outer, "/src/outer.cc", 33, 3, 0);
    at = add_location(writer, middle, "/src/middle.cc", 22, 2, at);
    at = add_location(writer, leaf, "/src/leaf.cc", 11, 1, at);
    add_interval(writer, ADDRESS_CHAIN, at, SYMBOL_MISS_NONE);
    add_interval(writer, ADDRESS_SINGLE, add_location(writer, plain, NULL, 0, 0, 0),
                 SYMBOL_MISS_NO_LINE);
}

static int set_up(void **state) {
    struct fixture *fixture = calloc(1, sizeof(*fixture));
    struct error error;
    CLEANUP(cleanup_index_writer) struct index_writer *writer = NULL;
    CLEANUP(cleanup_fd) int fd = memfd_create("index", MFD_CLOEXEC);
    assert_int_equal(index_writer_new((uint64_t)1 << 30, &writer, &error), ERR_OK);
    fill(writer);
    struct index_summary summary = {.has_dwarf = true};
    uint64_t size = 0;
    assert_int_equal(index_writer_finish(writer, &summary, fd, &size, &error), ERR_OK);
    assert_int_equal(index_open_fd(fd, &fixture->index, &error), ERR_OK);
    fixture->answer = answer_new();
    fixture->context = request_context_default("test");
    fixture->id = (struct binary_id){.kind = BINARY_ID_GNU, .text = "c0ffee"};
    fixture->scope = (struct answer_scope){
        .context = &fixture->context,
        .id = &fixture->id,
        .index = fixture->index,
        .inlines = true,
        .demangle = true,
    };
    *state = fixture;
    return 0;
}

static int tear_down(void **state) {
    struct fixture *fixture = *state;
    answer_free(fixture->answer);
    index_free(fixture->index);
    free(fixture);
    return 0;
}

static void start(struct fixture *fixture, uint64_t pc) {
    struct index_hit hit;
    index_lookup(fixture->index, &pc, 1, &hit);
    answer_start(fixture->answer, &fixture->scope, hit);
}

static struct answer_frame next(struct fixture *fixture) {
    struct answer_frame frame;
    assert_true(answer_render(fixture->answer, &frame));
    return frame;
}

static void assert_end(struct fixture *fixture, enum symbol_miss reason) {
    struct answer_frame frame;
    assert_false(answer_render(fixture->answer, &frame));
    assert_int_equal(answer_reason(fixture->answer), reason);
}

static void assert_text(struct span text, const char *expected) {
    assert_int_equal(text.size, strlen(expected));
    assert_memory_equal(text.data, expected, text.size);
}

static void a_chain_comes_leaf_first(void **state) {
    struct fixture *fixture = *state;
    start(fixture, ADDRESS_CHAIN + 5);
    struct answer_frame frame = next(fixture);
    assert_text(frame.function, "leaf()");
    assert_text(frame.system_name, "_Z4leafv");
    assert_text(frame.file, "/src/leaf.cc");
    assert_int_equal(frame.line, 11);
    assert_int_equal(frame.column, 1);
    assert_int_equal(frame.start_line, 10);
    assert_int_equal(frame.origin, SYMBOL_ORIGIN_DWARF);
    assert_text(next(fixture).function, "middle");
    frame = next(fixture);
    assert_text(frame.function, "outermost(int)");
    assert_int_equal(frame.line, 33);
    assert_end(fixture, SYMBOL_MISS_NONE);
}

static void names_stay_mangled_on_request_and_without_the_mark(void **state) {
    struct fixture *fixture = *state;
    start(fixture, ADDRESS_SINGLE);
    assert_text(next(fixture).function, "_Z5plainv");
    fixture->scope.demangle = false;
    start(fixture, ADDRESS_CHAIN);
    assert_text(next(fixture).function, "_Z4leafv");
}

static void without_inlines_the_outermost_function_stands_at_the_leafs_line(void **state) {
    struct fixture *fixture = *state;
    fixture->scope.inlines = false;
    start(fixture, ADDRESS_CHAIN);
    struct answer_frame frame = next(fixture);
    assert_text(frame.function, "outermost(int)");
    assert_text(frame.system_name, "_Z9outermosti");
    assert_text(frame.file, "/src/leaf.cc");
    assert_int_equal(frame.line, 11);
    assert_int_equal(frame.column, 1);
    assert_int_equal(frame.start_line, 30);
    assert_end(fixture, SYMBOL_MISS_NONE);
}

static void a_miss_has_its_reason(void **state) {
    struct fixture *fixture = *state;
    start(fixture, ADDRESS_NOTHING);
    assert_end(fixture, SYMBOL_MISS_NO_RANGE);
    start(fixture, ADDRESS_SINGLE);
    struct answer_frame frame = next(fixture);
    assert_int_equal(frame.file.size, 0);
    assert_int_equal(frame.line, 0);
    assert_int_equal(frame.origin, SYMBOL_ORIGIN_SYMTAB);
    assert_end(fixture, SYMBOL_MISS_NO_LINE);
}

static void who_may_not_resolve_gets_no_frame_and_is_told_so(void **state) {
    struct fixture *fixture = *state;
    fixture->context.roles = ROLE_UPLOAD;
    start(fixture, ADDRESS_CHAIN);
    assert_end(fixture, SYMBOL_MISS_DENIED);
    fixture->scope.inlines = false;
    start(fixture, ADDRESS_CHAIN);
    assert_end(fixture, SYMBOL_MISS_DENIED);
    start(fixture, ADDRESS_SINGLE);
    assert_end(fixture, SYMBOL_MISS_DENIED);
    start(fixture, ADDRESS_NOTHING);
    assert_end(fixture, SYMBOL_MISS_NO_RANGE);
}

static void a_denial_does_not_outlive_its_address(void **state) {
    struct fixture *fixture = *state;
    fixture->context.roles = 0;
    start(fixture, ADDRESS_CHAIN);
    assert_end(fixture, SYMBOL_MISS_DENIED);
    fixture->context.roles = ROLE_RESOLVE;
    start(fixture, ADDRESS_CHAIN);
    assert_text(next(fixture).system_name, "_Z4leafv");
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void) {
    const struct CMUnitTest tests[] = {
        TEST(a_chain_comes_leaf_first),
        TEST(names_stay_mangled_on_request_and_without_the_mark),
        TEST(without_inlines_the_outermost_function_stands_at_the_leafs_line),
        TEST(a_miss_has_its_reason),
        TEST(who_may_not_resolve_gets_no_frame_and_is_told_so),
        TEST(a_denial_does_not_outlive_its_address),
    };
    return cmocka_run_group_tests_name("answer", tests, NULL, NULL);
}
