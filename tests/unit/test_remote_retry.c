#include "cli/remote_retry.h"

#include "base/clock.h"
#include "tests/support/test.h"

static void pauses_double_up_to_half_a_minute(void **state) {
    (void)state;
    const int64_t longest_ms[] = {500, 1000, 2000, 4000, 8000, 16000, 30000, 30000};
    for (unsigned i = 0; i < sizeof(longest_ms) / sizeof(longest_ms[0]); i++)
        assert_int_equal(remote_retry_pause_ms(i, 0), longest_ms[i]);
    assert_int_equal(remote_retry_pause_ms(UINT32_MAX, 0), 30000);
}

static void chance_shortens_a_pause_by_up_to_a_half(void **state) {
    (void)state;
    int64_t shortest_ms = INT64_MAX;
    for (uint32_t random = 0; random < 10000; random++) {
        int64_t pause_ms = remote_retry_pause_ms(2, random * 2654435761u);
        assert_in_range(pause_ms, 1000, 2000);
        shortest_ms = pause_ms < shortest_ms ? pause_ms : shortest_ms;
    }
    assert_in_range(shortest_ms, 1000, 1010);
}

static void without_tries_left_there_is_no_pause(void **state) {
    (void)state;
    struct remote_retry retry = {.left = 0, .deadline_ms = INT64_MAX};
    assert_false(remote_retry_wait(&retry));
    assert_int_equal(retry.count, 0);
}

static void a_pause_past_the_deadline_is_not_made(void **state) {
    (void)state;
    struct remote_retry retry = {.left = 3, .deadline_ms = clock_mono_ms() + 100};
    assert_false(remote_retry_wait(&retry));
    assert_int_equal(retry.left, 3);
    retry.deadline_ms = clock_mono_ms() - 1;
    assert_int_equal(remote_retry_left_ms(&retry, 1000), 0);
    retry.deadline_ms = INT64_MAX;
    assert_int_equal(remote_retry_left_ms(&retry, 1000), 1000);
}

static void a_pause_uses_up_one_try(void **state) {
    (void)state;
    struct remote_retry retry = {.left = 1, .deadline_ms = INT64_MAX};
    assert_true(remote_retry_wait(&retry));
    assert_int_equal(retry.count, 1);
    assert_false(remote_retry_wait(&retry));
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(pauses_double_up_to_half_a_minute),
        cmocka_unit_test(chance_shortens_a_pause_by_up_to_a_half),
        cmocka_unit_test(without_tries_left_there_is_no_pause),
        cmocka_unit_test(a_pause_past_the_deadline_is_not_made),
        cmocka_unit_test(a_pause_uses_up_one_try),
    };
    return cmocka_run_group_tests_name("remote_retry", tests, NULL, NULL);
}
