#include "symbolizer/build/record_array.h"

#include "tests/support/test.h"

static void keeps_records_through_growth_and_pays_for_them(void **state) {
    (void)state;
    struct error error;
    struct memory_budget budget = {.max = 1 << 20};
    struct record_array array = {.record_size = sizeof(uint32_t)};
    for (uint32_t i = 0; i < 10000; i++)
        assert_int_equal(record_array_add(&array, &i, 1, &budget, &error), ERR_OK);
    for (uint32_t i = 0; i < 10000; i++)
        assert_int_equal(*(uint32_t *)record_array_at(&array, i), i);
    assert_int_equal(record_array_size(&array), 40000);
    assert_int_equal(budget.used, array.capacity * sizeof(uint32_t));
    assert_in_range(budget.used, 40000, 60000);
    record_array_clear(&array);
}

static void the_budget_is_shared_and_never_passed(void **state) {
    (void)state;
    struct error error = {0};
    struct memory_budget budget = {.max = 1000};
    struct record_array first = {.record_size = 1};
    struct record_array second = {.record_size = 1};
    char bytes[600] = {1};
    assert_int_equal(record_array_add(&first, bytes, 600, &budget, &error), ERR_OK);
    assert_int_equal(record_array_add(&second, bytes, 401, &budget, &error), ERR_LIMIT);
    assert_int_equal(budget.used, 600);
    assert_int_equal(record_array_add(&second, bytes, 400, &budget, &error), ERR_OK);
    assert_int_equal(record_array_add(&first, bytes, 1, &budget, &error), ERR_LIMIT);
    assert_int_equal(first.count, 600);
    assert_int_equal(record_array_add(&first, NULL, 0, &budget, &error), ERR_OK);
    record_array_clear(&first);
    record_array_clear(&second);
}

static void a_count_that_overflows_is_refused(void **state) {
    (void)state;
    struct error error;
    struct memory_budget budget = {.max = UINT64_MAX};
    struct record_array array = {.record_size = 40};
    assert_int_equal(record_array_reserve(&array, SIZE_MAX / 4, &budget, &error), ERR_LIMIT);
    assert_int_equal(record_array_reserve(&array, SIZE_MAX, &budget, &error), ERR_LIMIT);
    assert_int_equal(budget.used, 0);
    record_array_clear(&array);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(keeps_records_through_growth_and_pays_for_them),
        cmocka_unit_test(the_budget_is_shared_and_never_passed),
        cmocka_unit_test(a_count_that_overflows_is_refused),
    };
    return cmocka_run_group_tests_name("record_array", tests, NULL, NULL);
}
