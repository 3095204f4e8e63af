#include "symbolizer/build/scope_table.h"

#include "tests/support/test.h"

static uint32_t start(struct scope_table *table, struct shard *shard) {
    struct error error;
    uint32_t number = 0;
    struct shard_scope scope = {.subject = 1};
    if (scope_table_start(table, shard, &scope, &number, &error))
        fail_msg("%s", error.text);
    return number;
}

static uint32_t copy(struct scope_table *table, struct shard *shard, uint32_t parent,
                     uint32_t line) {
    struct error error;
    uint32_t number = 0;
    struct shard_scope scope = {.subject = 1, .parent = parent, .call = {1, line, 0}};
    if (scope_table_copy(table, shard, &scope, &number, &error))
        fail_msg("%s", error.text);
    return number;
}

static void equal_copies_of_one_function_are_one_scope(void **state) {
    (void)state;
    struct memory_budget budget = {.max = 1 << 24};
    struct shard shard = {.budget = &budget};
    struct scope_table table = {0};
    uint32_t function = start(&table, &shard);
    uint32_t inner = copy(&table, &shard, function, 7);
    assert_true(function != inner);
    assert_int_equal(copy(&table, &shard, function, 7), inner);
    assert_true(copy(&table, &shard, inner, 7) != inner);
    assert_true(copy(&table, &shard, function, 8) != inner);
    /* A function of the same description is another one, and so are its copies. */
    uint32_t other = start(&table, &shard);
    assert_true(other != function);
    assert_true(copy(&table, &shard, other, 7) != inner);
    assert_int_equal(shard.scope_count, 6);
    scope_table_clear(&table, &budget);
    shard_clear(&shard);
    assert_int_equal(budget.used, 0);
}

static void many_copies_are_found_again_after_growth(void **state) {
    (void)state;
    struct memory_budget budget = {.max = 1 << 24};
    struct shard shard = {.budget = &budget};
    struct scope_table table = {0};
    for (int round = 0; round < 3; round++) {
        uint32_t function = start(&table, &shard);
        for (uint32_t line = 0; line < 5000; line++)
            assert_int_equal(copy(&table, &shard, function, line), function + 1 + line);
        for (uint32_t line = 0; line < 5000; line++)
            assert_int_equal(copy(&table, &shard, function, line), function + 1 + line);
    }
    scope_table_clear(&table, &budget);
    shard_clear(&shard);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(equal_copies_of_one_function_are_one_scope),
        cmocka_unit_test(many_copies_are_found_again_after_growth),
    };
    return cmocka_run_group_tests_name("scope_table", tests, NULL, NULL);
}
