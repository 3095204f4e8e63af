#include "symbolizer/build/intern_table.h"

#include "tests/support/test.h"

/* Number n stands for the contents n * n. */
static bool is_square_of(const void *context, uint32_t number) {
    return *(const uint64_t *)context == (uint64_t)number * number;
}

static uint32_t find(const struct intern_table *table, uint64_t hash, uint64_t contents) {
    return intern_table_find(table, hash, is_square_of, &contents);
}

static void add(struct intern_table *table, struct memory_budget *budget, uint64_t hash,
                uint32_t number) {
    struct error error;
    assert_int_equal(intern_table_reserve(table, budget, &error), ERR_OK);
    intern_table_add(table, hash, number);
}

static void finds_what_was_added_through_every_growth(void **state) {
    (void)state;
    struct intern_table table = {0};
    struct memory_budget budget = {.max = 1 << 24};
    assert_int_equal(find(&table, 1, 1), 0);
    for (uint32_t n = 1; n <= 5000; n++) {
        add(&table, &budget, n * 0x9e3779b97f4a7c15, n);
        assert_int_equal(find(&table, n * 0x9e3779b97f4a7c15, (uint64_t)n * n), n);
    }
    for (uint32_t n = 1; n <= 5000; n++)
        assert_int_equal(find(&table, n * 0x9e3779b97f4a7c15, (uint64_t)n * n), n);
    assert_int_equal(find(&table, 5001 * 0x9e3779b97f4a7c15, (uint64_t)5001 * 5001), 0);
    assert_int_equal(budget.used, table.capacity * sizeof(struct intern_slot));
    intern_table_clear(&table);
}

static void equal_hashes_are_told_apart_by_contents(void **state) {
    (void)state;
    struct intern_table table = {0};
    struct memory_budget budget = {.max = 1 << 20};
    for (uint32_t n = 1; n <= 100; n++)
        add(&table, &budget, 7, n);
    for (uint32_t n = 1; n <= 100; n++)
        assert_int_equal(find(&table, 7, (uint64_t)n * n), n);
    assert_int_equal(find(&table, 7, 3), 0);
    intern_table_clear(&table);
}

static void growth_over_the_budget_fails_and_keeps_the_contents(void **state) {
    (void)state;
    struct error error;
    struct intern_table table = {0};
    struct memory_budget budget = {.max = 1024};
    uint32_t n = 0;
    while (intern_table_reserve(&table, &budget, &error) == ERR_OK)
        intern_table_add(&table, n, n + 1), n++;
    assert_int_equal(error.code, ERR_LIMIT);
    assert_in_range(n, 48, 96);
    for (uint32_t i = 0; i < n; i++)
        assert_int_equal(find(&table, i, (uint64_t)(i + 1) * (i + 1)), i + 1);
    intern_table_clear(&table);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(finds_what_was_added_through_every_growth),
        cmocka_unit_test(equal_hashes_are_told_apart_by_contents),
        cmocka_unit_test(growth_over_the_budget_fails_and_keeps_the_contents),
    };
    return cmocka_run_group_tests_name("intern_table", tests, NULL, NULL);
}
