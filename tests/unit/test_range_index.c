#include "debuginfo/range_index.h"

#include <stdlib.h>

#include "base/cleanup.h"
#include "tests/support/test.h"

static void the_smallest_and_then_the_first_range_is_found(void **state) {
    (void)state;
    static const struct pc_range ranges[] = {{10, 100}, {20, 30}, {25, 35}, {20, 30}, {40, 41}};
    CLEANUP(range_index_clear) struct range_index index = {0};
    struct error error;
    for (uint32_t i = 0; i < ARRAY_SIZE(ranges); i++)
        assert_int_equal(range_index_add(&index, ranges[i], i, &error), ERR_OK);
    range_index_sort(&index);
    assert_null(range_index_smallest(&index, 9));
    assert_int_equal(range_index_smallest(&index, 10)->id, 0);
    assert_int_equal(range_index_smallest(&index, 20)->id, 1);
    assert_int_equal(range_index_smallest(&index, 29)->id, 1);
    assert_int_equal(range_index_smallest(&index, 30)->id, 2);
    assert_int_equal(range_index_smallest(&index, 40)->id, 4);
    assert_int_equal(range_index_smallest(&index, 99)->id, 0);
    assert_null(range_index_smallest(&index, 100));
}

static void any_ranges_are_found_as_by_looking_at_all_of_them(void **state) {
    (void)state;
    unsigned seed = 7;
    for (int round = 0; round < 200; round++) {
        CLEANUP(range_index_clear) struct range_index index = {0};
        struct pc_range ranges[20];
        struct error error;
        for (uint32_t i = 0; i < 20; i++) {
            uint64_t begin = (uint64_t)(rand_r(&seed) % 50);
            ranges[i] = (struct pc_range){begin, begin + 1 + (uint64_t)(rand_r(&seed) % 20)};
            assert_int_equal(range_index_add(&index, ranges[i], i, &error), ERR_OK);
        }
        range_index_sort(&index);
        for (uint64_t pc = 0; pc < 75; pc++) {
            size_t covering = 0;
            for (size_t i = 0; i < 20; i++)
                covering += ranges[i].begin <= pc && pc < ranges[i].end;
            size_t position = range_index_start(&index, pc);
            size_t found = 0;
            while (range_index_next(&index, pc, &position))
                found++;
            assert_int_equal(found, covering);
        }
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_smallest_and_then_the_first_range_is_found),
        cmocka_unit_test(any_ranges_are_found_as_by_looking_at_all_of_them),
    };
    return cmocka_run_group_tests_name("range_index", tests, NULL, NULL);
}
