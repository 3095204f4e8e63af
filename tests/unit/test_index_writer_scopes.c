#include "symbolizer/build/index_writer.h"

#include <stdlib.h>

#include "tests/support/index_fixture.h"
#include "tests/support/test.h"

static void must(enum err err, const struct error *error) {
    if (err)
        fail_msg("%s", error->text);
}

static uint32_t string(struct index_writer *writer, const char *text) {
    struct error error;
    uint32_t number = 0;
    must(index_writer_string(writer, span_cstr(text), &number, &error), &error);
    return number;
}

static uint32_t subject(struct index_writer *writer, const char *name, uint32_t line) {
    struct error error;
    uint32_t number = 0;
    struct index_subject subject = {.name = string(writer, name),
                                    .file = string(writer, "a.c"),
                                    .line = line,
                                    .origin = SYMBOL_ORIGIN_DWARF};
    must(index_writer_subject(writer, &subject, &number, &error), &error);
    return number;
}

static struct index_writer *new_writer(void) {
    struct error error;
    struct index_writer *writer = NULL;
    must(index_writer_new(1 << 20, &writer, &error), &error);
    return writer;
}

static void assert_frame(struct symbol_frame frame, const char *name, uint32_t line,
                         uint32_t column) {
    assert_true(span_equal_cstr(frame.name, name));
    assert_true(span_equal_cstr(frame.file, "a.c"));
    assert_int_equal(frame.line, line);
    assert_int_equal(frame.column, column);
}

static void a_scope_and_a_row_come_back_as_a_chain(void **state) {
    (void)state;
    struct error error;
    struct index_writer *writer = new_writer();
    uint32_t file = string(writer, "a.c");
    struct index_scope outer = {.subject = subject(writer, "outer", 3), .has_entry_pc = true};
    outer.entry_pc = 0x100;
    uint32_t outer_number = 0;
    must(index_writer_scope(writer, &outer, &outer_number, &error), &error);
    struct index_scope inner = {
        .subject = subject(writer, "inner", 30), .parent = outer_number, .call = {file, 5, 9}};
    uint32_t inner_number = 0;
    must(index_writer_scope(writer, &inner, &inner_number, &error), &error);
    must(index_writer_stretch(writer, (struct pc_range){0x100, 0x108}, inner_number,
                              &(struct index_place){file, 31, 2}, SYMBOL_MISS_NONE, &error),
         &error);
    struct span bytes = index_fixture_finish(writer, &(struct index_summary){0});
    struct index *index = NULL;
    must(index_open_memory(bytes, &index, &error), &error);
    must(index_verify(index, &error), &error);

    uint64_t pc = 0x104;
    struct index_hit hit;
    struct index_scratch scratch;
    struct symbol_frame frame;
    index_lookup(index, &pc, 1, &hit);
    assert_true(index_chain_next(index, &hit.chain, &scratch, &frame));
    assert_frame(frame, "inner", 31, 2);
    assert_false(frame.has_entry_pc);
    assert_true(index_chain_next(index, &hit.chain, &scratch, &frame));
    assert_frame(frame, "outer", 5, 9);
    assert_true(frame.has_entry_pc && frame.entry_pc == 0x100);
    assert_int_equal(frame.start_line, 3);
    assert_false(index_chain_next(index, &hit.chain, &scratch, &frame));
    index_free(index);
    free((void *)bytes.data);
    index_writer_free(writer);
}

static void unknown_numbers_are_refused(void **state) {
    (void)state;
    struct error error;
    struct index_writer *writer = new_writer();
    uint32_t known = subject(writer, "f", 1);
    uint32_t number = 0;
    assert_int_equal(
        index_writer_subject(writer, &(struct index_subject){.name = 100}, &number, &error),
        ERR_INVALID);
    assert_int_equal(index_writer_scope(writer, &(struct index_scope){0}, &number, &error),
                     ERR_INVALID);
    struct index_scope orphan = {.subject = known, .parent = 1};
    assert_int_equal(index_writer_scope(writer, &orphan, &number, &error), ERR_INVALID);
    assert_int_equal(index_writer_stretch(writer, (struct pc_range){1, 2}, 0,
                                          &(struct index_place){0}, SYMBOL_MISS_NO_LINE, &error),
                     ERR_INVALID);
    index_writer_free(writer);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_scope_and_a_row_come_back_as_a_chain),
        cmocka_unit_test(unknown_numbers_are_refused),
    };
    return cmocka_run_group_tests_name("index_writer_scopes", tests, NULL, NULL);
}
