#include "rpc/grpc_keepalive.h"

#include "tests/support/test.h"

#define SECOND ((int64_t)1000)
#define MINUTE (60 * SECOND)
#define HOUR (60 * MINUTE)
#define NOW (5 * HOUR)

static const struct grpc_keepalive_limits limits = {
    .time_ms = 2 * HOUR,
    .timeout_ms = 20 * SECOND,
    .ping_interval_min_ms = 5 * MINUTE,
    .idle_max_ms = 24 * HOUR,
};

static void a_silent_peer_is_pinged_once_and_given_up_when_it_stays_silent(void **state) {
    (void)state;
    struct grpc_keepalive self = grpc_keepalive_of(&limits, NOW, 0);
    int64_t due = NOW + 2 * HOUR;
    assert_int_equal(grpc_keepalive_check(&self, &limits, due - 1, NOW, true),
                     GRPC_KEEPALIVE_NOTHING);
    assert_int_equal(grpc_keepalive_check(&self, &limits, due, NOW, true), GRPC_KEEPALIVE_PING);
    assert_int_equal(grpc_keepalive_check(&self, &limits, due + 20 * SECOND - 1, NOW, true),
                     GRPC_KEEPALIVE_NOTHING);
    assert_int_equal(grpc_keepalive_check(&self, &limits, due + 20 * SECOND, NOW, true),
                     GRPC_KEEPALIVE_CLOSE);
}

static void any_word_of_the_peer_answers_the_ping(void **state) {
    (void)state;
    struct grpc_keepalive self = grpc_keepalive_of(&limits, NOW, 0);
    int64_t due = NOW + 2 * HOUR;
    assert_int_equal(grpc_keepalive_check(&self, &limits, due, NOW, false), GRPC_KEEPALIVE_PING);
    int64_t read_ms = due; /* answered in no time */
    assert_int_equal(grpc_keepalive_check(&self, &limits, due + 20 * SECOND, read_ms, false),
                     GRPC_KEEPALIVE_NOTHING);
    assert_int_equal(grpc_keepalive_check(&self, &limits, read_ms + 2 * HOUR, read_ms, false),
                     GRPC_KEEPALIVE_PING);
}

static void a_connection_goes_when_it_had_no_call_for_long_whatever_its_pings(void **state) {
    (void)state;
    struct grpc_keepalive self = grpc_keepalive_of(&limits, NOW, 0);
    int64_t due = NOW + 24 * HOUR;
    assert_int_equal(grpc_keepalive_check(&self, &limits, due - 1, due - 1, false),
                     GRPC_KEEPALIVE_NOTHING);
    assert_int_equal(grpc_keepalive_check(&self, &limits, due, due, true), GRPC_KEEPALIVE_NOTHING);
    assert_int_equal(grpc_keepalive_check(&self, &limits, due, due, false), GRPC_KEEPALIVE_SHUT);
    grpc_keepalive_idle(&self, due);
    assert_int_equal(grpc_keepalive_check(&self, &limits, due + 1, due, false),
                     GRPC_KEEPALIVE_NOTHING);
}

static void old_connections_go_a_little_apart(void **state) {
    (void)state;
    struct grpc_keepalive_limits aging = limits;
    aging.age_max_ms = 1000 * SECOND;
    int64_t earliest = INT64_MAX, latest = 0;
    for (unsigned spread = 0; spread < 100; spread++) {
        struct grpc_keepalive self = grpc_keepalive_of(&aging, NOW, spread);
        int64_t age_ms = 0;
        while (grpc_keepalive_check(&self, &aging, NOW + age_ms, NOW + age_ms, true) !=
               GRPC_KEEPALIVE_SHUT)
            age_ms += SECOND;
        earliest = age_ms < earliest ? age_ms : earliest;
        latest = age_ms > latest ? age_ms : latest;
    }
    assert_int_equal(earliest, 900 * SECOND);
    assert_int_equal(latest, 1100 * SECOND);
}

static void three_pings_too_early_are_too_many(void **state) {
    (void)state;
    struct grpc_keepalive self = grpc_keepalive_of(&limits, NOW, 0);
    assert_true(grpc_keepalive_take_ping(&self, &limits, NOW, true));
    assert_true(grpc_keepalive_take_ping(&self, &limits, NOW + 1, true));
    assert_true(grpc_keepalive_take_ping(&self, &limits, NOW + 2, true));
    assert_false(grpc_keepalive_take_ping(&self, &limits, NOW + 3, true));
}

static void pings_at_the_agreed_pace_are_welcome(void **state) {
    (void)state;
    struct grpc_keepalive self = grpc_keepalive_of(&limits, NOW, 0);
    for (int i = 0; i < 100; i++)
        assert_true(grpc_keepalive_take_ping(&self, &limits, NOW + (int64_t)i * 5 * MINUTE, true));
}

static void without_a_call_the_pace_is_slower_unless_it_is_allowed(void **state) {
    (void)state;
    struct grpc_keepalive_limits lenient = limits;
    lenient.pings_without_calls = true;
    struct grpc_keepalive strict = grpc_keepalive_of(&limits, NOW, 0);
    struct grpc_keepalive allowed = strict;
    bool welcome = true;
    for (int i = 0; i < 4; i++) {
        welcome = grpc_keepalive_take_ping(&strict, &limits, NOW + (int64_t)i * 5 * MINUTE, false);
        assert_true(
            grpc_keepalive_take_ping(&allowed, &lenient, NOW + (int64_t)i * 5 * MINUTE, false));
    }
    assert_false(welcome);
}

static void what_we_send_forgives_pings(void **state) {
    (void)state;
    struct grpc_keepalive self = grpc_keepalive_of(&limits, NOW, 0);
    for (int i = 0; i < 100; i++) {
        assert_true(grpc_keepalive_take_ping(&self, &limits, NOW + i, true));
        grpc_keepalive_sent(&self);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_silent_peer_is_pinged_once_and_given_up_when_it_stays_silent),
        cmocka_unit_test(any_word_of_the_peer_answers_the_ping),
        cmocka_unit_test(a_connection_goes_when_it_had_no_call_for_long_whatever_its_pings),
        cmocka_unit_test(old_connections_go_a_little_apart),
        cmocka_unit_test(three_pings_too_early_are_too_many),
        cmocka_unit_test(pings_at_the_agreed_pace_are_welcome),
        cmocka_unit_test(without_a_call_the_pace_is_slower_unless_it_is_allowed),
        cmocka_unit_test(what_we_send_forgives_pings),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
