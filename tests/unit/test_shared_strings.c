#include "symbolizer/build/shared_strings.h"

#include <stdio.h>

#include "symbolizer/build/thread_team.h"
#include "tests/support/test.h"

#define STRING_COUNT 20000

static struct shared_strings *new_strings(struct memory_budget *budget) {
    struct error error;
    struct shared_strings *strings = NULL;
    assert_int_equal(shared_strings_new(budget, &strings, &error), ERR_OK);
    return strings;
}

static uint32_t intern(struct shared_strings *strings, struct span bytes, bool is_linkage) {
    struct error error;
    uint32_t number = 0;
    if (shared_strings_intern(strings, bytes, is_linkage, &number, &error))
        fail_msg("%s", error.text);
    return number;
}

static void equal_bytes_get_an_equal_number_and_never_zero(void **state) {
    (void)state;
    struct memory_budget budget = {.max = 1 << 20};
    struct shared_strings *strings = new_strings(&budget);
    uint32_t a = intern(strings, span_cstr("a.c"), false);
    uint32_t b = intern(strings, span_of("b\0c", 3), false);
    uint32_t empty = intern(strings, span_cstr(""), false);
    assert_true(a && b && empty && a != b && b != empty && a != empty);
    assert_int_equal(intern(strings, span_cstr("a.c"), false), a);
    assert_true(span_equal(shared_strings_get(strings, b), span_of("b\0c", 3)));
    assert_int_equal(shared_strings_get(strings, empty).size, 0);
    assert_int_equal(shared_strings_get(strings, 0).size, 0);
    shared_strings_free(strings);
    assert_int_equal(budget.used, 0);
}

static void only_names_said_to_be_mangled_are_tried(void **state) {
    (void)state;
    struct memory_budget budget = {.max = 1 << 20};
    struct shared_strings *strings = new_strings(&budget);
    uint32_t said = intern(strings, span_cstr("_Z1fv"), true);
    uint32_t unsaid = intern(strings, span_cstr("_Z1gv"), false);
    uint32_t nonsense = intern(strings, span_cstr("_Znonsense_"), true);
    for (unsigned i = 0; i < SHARED_STRINGS_STRIPES; i++)
        shared_strings_try_stripe(strings, i);
    assert_true(shared_strings_entry(strings, said)->demangles);
    assert_false(shared_strings_entry(strings, unsaid)->demangles);
    assert_false(shared_strings_entry(strings, nonsense)->demangles);
    shared_strings_free(strings);
}

struct interning {
    struct shared_strings *strings;
    atomic_uint thread;
    uint32_t numbers[4][STRING_COUNT];
};

static void intern_all(void *context) {
    struct interning *interning = context;
    unsigned thread = atomic_fetch_add(&interning->thread, 1);
    for (unsigned i = 0; i < STRING_COUNT; i++) {
        /* Each thread in an order of its own, so that each is sometimes the first. */
        unsigned which = (i * (2 * thread + 1)) % STRING_COUNT;
        char text[32];
        int size = snprintf(text, sizeof(text), "name_%u", which);
        interning->numbers[thread][which] =
            intern(interning->strings, span_of(text, (size_t)size), false);
    }
}

static void threads_get_equal_numbers_for_equal_bytes(void **state) {
    (void)state;
    static struct interning interning;
    struct memory_budget budget = {.max = 16 << 20};
    interning.strings = new_strings(&budget);
    thread_team_run(4, intern_all, &interning);
    for (unsigned i = 0; i < STRING_COUNT; i++) {
        char text[32];
        snprintf(text, sizeof(text), "name_%u", i);
        struct span got = shared_strings_get(interning.strings, interning.numbers[0][i]);
        assert_true(span_equal_cstr(got, text));
        for (unsigned thread = 1; thread < atomic_load(&interning.thread); thread++)
            if (interning.numbers[thread][i])
                assert_int_equal(interning.numbers[thread][i], interning.numbers[0][i]);
    }
    shared_strings_free(interning.strings);
    assert_int_equal(budget.used, 0);
}

static void any_budget_ends_in_success_or_a_limit(void **state) {
    (void)state;
    enum err err = ERR_LIMIT;
    for (uint64_t max = 1; err; max += max / 8 + 64) {
        struct memory_budget budget = {.max = max};
        struct shared_strings *strings = new_strings(&budget);
        struct error error;
        err = ERR_OK;
        for (unsigned i = 0; err == ERR_OK && i < 3000; i++) {
            char text[32];
            uint32_t number;
            int size = snprintf(text, sizeof(text), "name_%u", i);
            err =
                shared_strings_intern(strings, span_of(text, (size_t)size), false, &number, &error);
        }
        assert_true(err == ERR_OK || err == ERR_LIMIT);
        assert_true(budget.peak <= max);
        shared_strings_free(strings);
        assert_int_equal(budget.used, 0);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(equal_bytes_get_an_equal_number_and_never_zero),
        cmocka_unit_test(only_names_said_to_be_mangled_are_tried),
        cmocka_unit_test(threads_get_equal_numbers_for_equal_bytes),
        cmocka_unit_test(any_budget_ends_in_success_or_a_limit),
    };
    return cmocka_run_group_tests_name("shared_strings", tests, NULL, NULL);
}
