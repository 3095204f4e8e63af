#include "api/missing_ids.h"

#include <stdio.h>

#include "tests/support/test.h"

static struct binary_id id_of(unsigned number) {
    struct binary_id id = {.kind = BINARY_ID_GNU};
    snprintf(id.text, sizeof(id.text), "%08x", number + 1);
    return id;
}

static struct missing_ids *make(size_t count_max) {
    struct missing_ids *missing = NULL;
    struct error error;
    assert_int_equal(missing_ids_new(count_max, &missing, &error), ERR_OK);
    return missing;
}

static void note(struct missing_ids *missing, const char *tenant, unsigned number, unsigned times,
                 int64_t now_ms) {
    struct binary_id id = id_of(number);
    for (unsigned i = 0; i < times; i++)
        missing_ids_note(missing, tenant, &id, now_ms);
}

static void the_most_asked_come_first(void **state) {
    (void)state;
    CLEANUP(cleanup_missing_ids) struct missing_ids *missing = make(0);
    struct missing_id top[3];
    note(missing, "a", 1, 3, 10);
    note(missing, "a", 2, 5, 20);
    note(missing, "a", 3, 3, 30);
    note(missing, "a", 1, 1, 40);
    assert_int_equal(missing_ids_top(missing, "a", top, 3), 3);
    struct binary_id wanted[] = {id_of(2), id_of(1), id_of(3)};
    for (size_t i = 0; i < 3; i++)
        assert_true(binary_id_equal(&top[i].id, &wanted[i]));
    assert_int_equal(top[1].count, 4);
    assert_int_equal(top[1].error, 0);
    assert_int_equal(top[1].first_ms, 10);
    assert_int_equal(top[1].last_ms, 40);
    assert_int_equal(missing_ids_top(missing, "a", top, 1), 1);
    assert_int_equal(top[0].count, 5);
}

static void tenants_do_not_see_each_other(void **state) {
    (void)state;
    CLEANUP(cleanup_missing_ids) struct missing_ids *missing = make(0);
    struct missing_id top[1];
    note(missing, "a", 1, 1, 10);
    assert_int_equal(missing_ids_top(missing, "b", top, 1), 0);
    note(missing, "b", 2, 1, 10);
    assert_int_equal(missing_ids_top(missing, "b", top, 1), 1);
    struct binary_id wanted = id_of(2);
    assert_true(binary_id_equal(&top[0].id, &wanted));
}

static void what_was_uploaded_is_forgotten(void **state) {
    (void)state;
    CLEANUP(cleanup_missing_ids) struct missing_ids *missing = make(64);
    struct missing_id top[64];
    for (unsigned i = 0; i < 50; i++)
        note(missing, "a", i, 1 + i * 7 % 50, 10);
    for (unsigned i = 0; i < 50; i += 2) {
        struct binary_id id = id_of(i);
        missing_ids_forget(missing, "a", &id);
        missing_ids_forget(missing, "a", &id);
    }
    assert_int_equal(missing_ids_top(missing, "a", top, 64), 25);
    for (size_t i = 1; i < 25; i++)
        assert_true(top[i - 1].count >= top[i].count);
}

/* The guarantee of the sketch: with m places and n questions, an id asked more than n/m times is
 * there, and a count is too high by no more than its error. */
static void often_asked_ids_stay_among_many_others(void **state) {
    (void)state;
    enum { PLACES = 32, OTHERS = 5000 };
    CLEANUP(cleanup_missing_ids) struct missing_ids *missing = make(PLACES);
    struct missing_id top[PLACES];
    unsigned asked = 0;
    for (unsigned i = 0; i < OTHERS; i++) {
        note(missing, "a", 100 + i, 1, i);
        if (i % 4 == 0) {
            note(missing, "a", 1, 1, i);
            asked++;
        }
        if (i % 500 == 0)
            missing_ids_top(missing, "a", top, PLACES);
    }
    assert_int_equal(missing_ids_top(missing, "a", top, PLACES), PLACES);
    struct binary_id wanted = id_of(1);
    assert_true(binary_id_equal(&top[0].id, &wanted));
    assert_true(top[0].count >= asked);
    assert_true(top[0].count - top[0].error <= asked);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_most_asked_come_first),
        cmocka_unit_test(tenants_do_not_see_each_other),
        cmocka_unit_test(what_was_uploaded_is_forgotten),
        cmocka_unit_test(often_asked_ids_stay_among_many_others),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
