#include "symbolizer/build/key_sort.h"

#include <stdlib.h>

#include "base/cleanup.h"
#include "tests/support/test.h"

static int compare(const void *left, const void *right) {
    uint64_t a = *(const uint64_t *)left;
    uint64_t b = *(const uint64_t *)right;
    return (a > b) - (a < b);
}

static uint64_t next_random(uint64_t *seed) {
    *seed ^= *seed << 13;
    *seed ^= *seed >> 7;
    *seed ^= *seed << 17;
    return *seed;
}

static void keys_come_out_as_qsort_leaves_them(void **state) {
    (void)state;
    uint64_t seed = 88172645463325252;
    for (size_t count = 0; count < 300; count++) {
        CLEANUP(cleanup_free) uint64_t *keys = calloc(2 * count + 1, sizeof(*keys));
        CLEANUP(cleanup_free) uint64_t *wanted = calloc(count + 1, sizeof(*wanted));
        assert_true(keys && wanted);
        /* Of few values some of the time, so that equal keys occur. */
        for (size_t i = 0; i < count; i++)
            wanted[i] = keys[i] = count % 3 ? next_random(&seed) : next_random(&seed) % 7;
        qsort(wanted, count, sizeof(*wanted), compare);
        key_sort(keys, count, keys + count);
        assert_memory_equal(keys, wanted, count * sizeof(*keys));
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(keys_come_out_as_qsort_leaves_them),
    };
    return cmocka_run_group_tests_name("key_sort", tests, NULL, NULL);
}
