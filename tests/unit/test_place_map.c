#include "debuginfo/place_map.h"

#include "base/cleanup.h"
#include "tests/support/test.h"

static void every_place_and_index_has_a_number_of_its_own(void **state) {
    (void)state;
    static const char bytes[5000];
    CLEANUP(place_map_clear) struct place_map map = {0};
    struct error error;
    uint32_t *number;
    for (uint32_t round = 0; round < 2; round++) {
        for (uint32_t i = 0; i < sizeof(bytes); i++) {
            for (uint32_t index = 0; index < 3; index++) {
                assert_int_equal(place_map_at(&map, bytes + i, index, &number, &error), ERR_OK);
                assert_int_equal(*number, round == 0 ? 0 : 3 * i + index + 1);
                *number = 3 * i + index + 1;
            }
        }
    }
    assert_int_equal(map.used, 3 * sizeof(bytes));
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_place_and_index_has_a_number_of_its_own),
    };
    return cmocka_run_group_tests_name("place_map", tests, NULL, NULL);
}
