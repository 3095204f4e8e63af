#include "symbolizer/build/symbol_model.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>

#include <cmocka.h>

#include "symbolizer/build/symbol_model_internal.h"

static struct symbol_model *new_model(uint64_t memory_max) {
    struct symbol_model *model = NULL;
    struct error error;
    assert_int_equal(symbol_model_new(memory_max, &model, &error), ERR_OK);
    return model;
}

static void must(enum err err, const struct error *error) {
    if (err)
        fail_msg("%s", error->text);
}

static void push_unit(struct symbol_model *model) {
    struct error error;
    struct symbol_sink *sink = symbol_model_sink(model);
    must(sink->ops->unit(sink, &(struct sink_unit){0}, &error), &error);
}

static enum err push_function(struct symbol_model *model, const char *name, struct pc_range range,
                              uint32_t *ret_node, struct error *error) {
    struct symbol_sink *sink = symbol_model_sink(model);
    struct sink_subject subject = {.name = span_cstr(name), .origin = SYMBOL_ORIGIN_DWARF};
    struct sink_function function = {
        .ranges = &range,
        .range_count = 1,
        .entry_pc = range.begin,
        .has_entry_pc = true,
    };
    enum err err = sink->ops->subject(sink, &subject, &function.subject, error);
    return err ? err : sink->ops->function(sink, &function, ret_node, error);
}

static void equal_paths_get_equal_numbers_and_never_zero(void **state) {
    (void)state;
    struct symbol_model *model = new_model(1 << 20);
    struct symbol_sink *sink = symbol_model_sink(model);
    struct error error;
    uint32_t a = 0;
    uint32_t b = 0;
    uint32_t again = 0;
    uint32_t empty = 0;
    must(sink->ops->file(sink, span_cstr("a.c"), &a, &error), &error);
    must(sink->ops->file(sink, span_of("b\0c", 3), &b, &error), &error);
    must(sink->ops->file(sink, span_cstr("a.c"), &again, &error), &error);
    must(sink->ops->file(sink, span_cstr(""), &empty, &error), &error);
    assert_true(a != 0 && b != 0 && empty != 0 && a != b);
    assert_int_equal(a, again);
    assert_true(span_equal(string_table_get(model->files, b), span_of("b\0c", 3)));
    symbol_model_free(model);
}

static void copies_of_one_function_share_its_description(void **state) {
    (void)state;
    struct symbol_model *model = new_model(1 << 20);
    struct symbol_sink *sink = symbol_model_sink(model);
    struct error error;
    uint32_t function = 0;
    uint32_t copies[2] = {0};
    struct pc_range range = {0x10, 0x20};
    push_unit(model);
    must(push_function(model, "f", range, &function, &error), &error);
    for (uint32_t i = 0; i < 2; i++) {
        struct sink_subject subject = {.name = span_cstr("g"), .origin = SYMBOL_ORIGIN_DWARF};
        struct sink_inlined inlined = {
            .parent = function, .ranges = &range, .range_count = 1, .call_line = i};
        must(sink->ops->subject(sink, &subject, &inlined.subject, &error), &error);
        must(sink->ops->inlined(sink, &inlined, &copies[i], &error), &error);
    }
    assert_true(copies[0] != copies[1]);
    assert_int_equal(model->nodes[copies[0]].function, model->nodes[copies[1]].function);
    assert_int_equal(model->nodes[copies[1]].call_line, 1);
    assert_int_equal(symbol_model_count(model).functions, 1);
    assert_int_equal(symbol_model_count(model).inlined, 2);
    symbol_model_free(model);
}

static void rows_that_change_no_answer_are_not_kept(void **state) {
    (void)state;
    struct symbol_model *model = new_model(1 << 20);
    struct symbol_sink *sink = symbol_model_sink(model);
    struct error error;
    static const struct sink_line lines[] = {
        {.address = 0, .line = 1},
        {.address = 4, .line = 1},
        {.address = 8, .line = 2},
        {.address = 8, .line = 1},
        {.address = 12, .line = 3},
        {.address = 12, .line = 4},
        {.address = 16, .end_sequence = true},
    };
    push_unit(model);
    must(sink->ops->sequence(sink, lines, ARRAY_SIZE(lines), &error), &error);
    assert_int_equal(model->sequence_count, 1);
    assert_int_equal(model->row_count, 2);
    assert_int_equal(model->rows[1].address, 12);
    assert_int_equal(model->rows[1].line, 4);
    assert_int_equal(symbol_model_count(model).line_rows, 6);
    symbol_model_free(model);
}

static void empty_ranges_and_symbols_are_not_kept(void **state) {
    (void)state;
    struct symbol_model *model = new_model(1 << 20);
    struct symbol_sink *sink = symbol_model_sink(model);
    struct error error;
    uint32_t node = 0;
    push_unit(model);
    must(push_function(model, "f", (struct pc_range){8, 8}, &node, &error), &error);
    assert_int_equal(model->nodes[node].range_count, 0);
    struct sink_symbol symbol = {.name = span_cstr("s"), .begin = 8, .end = 8};
    must(sink->ops->symbol(sink, &symbol, &error), &error);
    assert_int_equal(model->symbol_count, 0);
    symbol_model_free(model);
}

/* With every budget up to what suffices: a limit is an error, and nothing leaks or breaks. */
static void any_budget_ends_in_success_or_a_limit(void **state) {
    (void)state;
    bool fits = false;
    for (uint64_t memory_max = 1; !fits; memory_max += memory_max / 8 + 64) {
        struct symbol_model *model = new_model(memory_max);
        struct symbol_sink *sink = symbol_model_sink(model);
        struct error error = {0};
        enum err err = sink->ops->unit(sink, &(struct sink_unit){0}, &error);
        for (uint64_t i = 0; err == ERR_OK && i < 3000; i++) {
            char name[32];
            uint32_t node;
            snprintf(name, sizeof(name), "function_%u", (unsigned)i);
            err = push_function(model, name, (struct pc_range){16 * i, 16 * i + 8}, &node, &error);
        }
        if (err)
            assert_int_equal(err, ERR_LIMIT);
        assert_true(model->budget.used <= memory_max);
        fits = err == ERR_OK;
        symbol_model_free(model);
        assert_true(memory_max < (uint64_t)16 << 20);
    }
}

static void damage_is_counted(void **state) {
    (void)state;
    struct symbol_model *model = new_model(1 << 20);
    struct symbol_sink *sink = symbol_model_sink(model);
    sink->ops->damage(sink, "a unit");
    sink->ops->damage(sink, "a name");
    assert_int_equal(symbol_model_count(model).damage, 2);
    symbol_model_free(model);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(equal_paths_get_equal_numbers_and_never_zero),
        cmocka_unit_test(copies_of_one_function_share_its_description),
        cmocka_unit_test(rows_that_change_no_answer_are_not_kept),
        cmocka_unit_test(empty_ranges_and_symbols_are_not_kept),
        cmocka_unit_test(any_budget_ends_in_success_or_a_limit),
        cmocka_unit_test(damage_is_counted),
    };
    return cmocka_run_group_tests_name("symbol_model", tests, NULL, NULL);
}
