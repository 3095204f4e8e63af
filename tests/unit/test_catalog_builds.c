#include "cache/catalog_builds.h"

#include <stdio.h>

#include "cache/catalog_objects.h"
#include "tests/support/catalog_fixture.h"
#include "tests/support/test.h"

static int64_t put_object(struct catalog_fixture *f, const char *tenant, const char *contents) {
    struct object_row row = {.digest = catalog_fixture_digest(contents),
                             .type = ARTIFACT_DEBUGINFO};
    int64_t object_id = 0;
    assert_int_equal(catalog_object_put(&f->txn, tenant, &row, &object_id, &f->error), ERR_OK);
    return object_id;
}

static struct digest ensure(struct catalog_fixture *f, const char *tenant, const char *key_text,
                            int64_t now_ms) {
    struct digest key = catalog_fixture_digest(key_text);
    int64_t object_id = put_object(f, tenant, "main");
    struct build_input input = {.object_id = object_id, .role = 1};
    struct build_row row;
    assert_int_equal(
        catalog_build_ensure(&f->txn, tenant, &key, &input, 1, now_ms, &row, &f->error), ERR_OK);
    return key;
}

static struct build_row get(struct catalog_fixture *f, const struct digest *key) {
    struct build_row row;
    assert_int_equal(catalog_build_get(&f->txn, TENANT_DEFAULT, key, &row, &f->error), ERR_OK);
    return row;
}

static void end(struct catalog_fixture *f, const char *tenant, const struct digest *key,
                enum build_state build_state) {
    struct build_row row = {.key = *key, .state = build_state};
    assert_int_equal(catalog_build_update(&f->txn, tenant, &row, &f->error), ERR_OK);
}

static void a_new_build_is_queued_with_its_inputs(void **state) {
    struct catalog_fixture *f = *state;
    struct digest key = catalog_fixture_digest("key");
    struct build_input inputs[2] = {{.role = 1}, {.role = 2}};
    inputs[0].object_id = put_object(f, TENANT_DEFAULT, "main");
    inputs[1].object_id = put_object(f, TENANT_DEFAULT, "debug");
    struct build_row row;
    assert_int_equal(
        catalog_build_ensure(&f->txn, TENANT_DEFAULT, &key, inputs, 2, 1000, &row, &f->error),
        ERR_OK);
    assert_true(digest_equal(&row.key, &key));
    assert_int_equal(row.state, BUILD_QUEUED);
    assert_int_equal(row.queued_ms, 1000);
    assert_int_equal(row.attempts, 0);
    struct build_input read[BUILD_INPUT_MAX];
    size_t count = 0;
    assert_int_equal(catalog_build_inputs(&f->txn, TENANT_DEFAULT, &key, read, &count, &f->error),
                     ERR_OK);
    assert_int_equal(count, 2);
    const char *contents[] = {"main", "debug"};
    for (size_t i = 0; i < ARRAY_SIZE(contents); i++) {
        struct digest digest = catalog_fixture_digest(contents[i]);
        assert_int_equal(read[i].object_id, inputs[i].object_id);
        assert_true(digest_equal(&read[i].digest, &digest));
        assert_int_equal(read[i].role, inputs[i].role);
    }
}

static void ensuring_again_leaves_the_build_as_it_is(void **state) {
    struct catalog_fixture *f = *state;
    struct digest key = ensure(f, TENANT_DEFAULT, "key", 1000);
    end(f, TENANT_DEFAULT, &key, BUILD_OK);
    ensure(f, TENANT_DEFAULT, "key", 2000);
    struct build_row row = get(f, &key);
    assert_int_equal(row.state, BUILD_OK);
    assert_int_equal(row.queued_ms, 1000);
    struct build_input read[BUILD_INPUT_MAX];
    size_t count = 0;
    assert_int_equal(catalog_build_inputs(&f->txn, TENANT_DEFAULT, &key, read, &count, &f->error),
                     ERR_OK);
    assert_int_equal(count, 1);
}

static void a_build_of_an_object_that_is_not_there_is_refused(void **state) {
    struct catalog_fixture *f = *state;
    struct digest key = catalog_fixture_digest("key");
    struct build_input input = {.object_id = 77, .role = 1};
    struct build_row row;
    assert_int_equal(
        catalog_build_ensure(&f->txn, TENANT_DEFAULT, &key, &input, 1, 1000, &row, &f->error),
        ERR_NOT_FOUND);
}

static void an_update_writes_all_but_key_and_queue_time(void **state) {
    struct catalog_fixture *f = *state;
    struct digest key = ensure(f, TENANT_DEFAULT, "key", 1000);
    struct build_row row = {
        .key = key,
        .state = BUILD_KILLED,
        .reason = "killed by SIGSEGV",
        .queued_ms = 5,
        .finished_ms = 2000,
        .expires_ms = 3000,
        .attempts = 4,
        .index_size = 5000,
    };
    assert_int_equal(catalog_build_update(&f->txn, TENANT_DEFAULT, &row, &f->error), ERR_OK);
    struct build_row read = get(f, &key);
    assert_int_equal(read.state, BUILD_KILLED);
    assert_string_equal(read.reason, "killed by SIGSEGV");
    assert_int_equal(read.queued_ms, 1000);
    assert_int_equal(read.finished_ms, 2000);
    assert_int_equal(read.expires_ms, 3000);
    assert_int_equal(read.attempts, 4);
    assert_int_equal(read.index_size, 5000);
}

static void an_unknown_build_is_not_found(void **state) {
    struct catalog_fixture *f = *state;
    struct build_row row = {.key = catalog_fixture_digest("none"), .state = BUILD_OK};
    struct build_input inputs[BUILD_INPUT_MAX];
    struct binary_id id = catalog_fixture_id("aa");
    size_t count = 0;
    assert_int_equal(catalog_build_update(&f->txn, TENANT_DEFAULT, &row, &f->error), ERR_NOT_FOUND);
    assert_int_equal(catalog_build_get(&f->txn, TENANT_DEFAULT, &row.key, &row, &f->error),
                     ERR_NOT_FOUND);
    assert_int_equal(
        catalog_build_inputs(&f->txn, TENANT_DEFAULT, &row.key, inputs, &count, &f->error),
        ERR_NOT_FOUND);
    assert_int_equal(
        catalog_generation_set_pending(&f->txn, TENANT_DEFAULT, &id, &row.key, &f->error),
        ERR_NOT_FOUND);
}

struct visit {
    struct digest keys[8];
    char tenants[8][TENANT_NAME_MAX + 1];
    size_t count;
    size_t count_max;
};

static bool note_visit(void *argument, const char *tenant, const struct digest *key) {
    struct visit *visit = argument;
    snprintf(visit->tenants[visit->count], sizeof(visit->tenants[0]), "%s", tenant);
    visit->keys[visit->count++] = *key;
    return visit->count < visit->count_max;
}

static void the_queue_holds_all_tenants_oldest_first(void **state) {
    struct catalog_fixture *f = *state;
    struct digest second = ensure(f, TENANT_DEFAULT, "b", 2000);
    struct digest first = ensure(f, "other", "a", 1000);
    struct digest third = ensure(f, TENANT_DEFAULT, "c", 3000);
    struct digest done = ensure(f, TENANT_DEFAULT, "d", 500);
    end(f, TENANT_DEFAULT, &done, BUILD_OK);
    struct visit visit = {.count_max = 8};
    assert_int_equal(catalog_builds_queued(&f->txn, note_visit, &visit, &f->error), ERR_OK);
    assert_int_equal(visit.count, 3);
    assert_true(digest_equal(&visit.keys[0], &first));
    assert_true(digest_equal(&visit.keys[1], &second));
    assert_true(digest_equal(&visit.keys[2], &third));
    assert_string_equal(visit.tenants[0], "other");
    assert_string_equal(visit.tenants[1], TENANT_DEFAULT);
    struct visit short_visit = {.count_max = 2};
    assert_int_equal(catalog_builds_queued(&f->txn, note_visit, &short_visit, &f->error), ERR_OK);
    assert_int_equal(short_visit.count, 2);
}

static void a_start_queues_again_what_was_running(void **state) {
    struct catalog_fixture *f = *state;
    struct digest running = ensure(f, TENANT_DEFAULT, "a", 1000);
    struct digest theirs = ensure(f, "other", "a", 1000);
    struct digest done = ensure(f, TENANT_DEFAULT, "b", 1000);
    end(f, TENANT_DEFAULT, &running, BUILD_RUNNING);
    end(f, "other", &theirs, BUILD_RUNNING);
    end(f, TENANT_DEFAULT, &done, BUILD_MALFORMED);
    uint64_t count = 0;
    assert_int_equal(catalog_builds_requeue_running(&f->txn, &count, &f->error), ERR_OK);
    assert_int_equal(count, 2);
    assert_int_equal(get(f, &running).state, BUILD_QUEUED);
    assert_int_equal(get(f, &done).state, BUILD_MALFORMED);
}

static struct generation_row generation(struct catalog_fixture *f, const char *tenant,
                                        const char *id_prefix) {
    struct binary_id id = catalog_fixture_id(id_prefix);
    struct generation_row row;
    assert_int_equal(catalog_generation_get(&f->txn, tenant, &id, &row, &f->error), ERR_OK);
    return row;
}

static void set_pending(struct catalog_fixture *f, const char *tenant, const char *id_prefix,
                        const struct digest *key) {
    struct binary_id id = catalog_fixture_id(id_prefix);
    assert_int_equal(catalog_generation_set_pending(&f->txn, tenant, &id, key, &f->error), ERR_OK);
}

static void finish(struct catalog_fixture *f, const struct digest *key) {
    end(f, TENANT_DEFAULT, key, BUILD_OK);
    assert_int_equal(catalog_generations_promote(&f->txn, TENANT_DEFAULT, key, &f->error), ERR_OK);
}

static void an_id_without_generation_reads_as_zero(void **state) {
    struct generation_row row = generation(*state, TENANT_DEFAULT, "aa");
    assert_int_equal(row.number, 0);
    assert_false(row.has_serving);
    assert_false(row.has_pending);
}

static void a_finished_build_serves_every_id_that_waits_for_it(void **state) {
    struct catalog_fixture *f = *state;
    struct digest first = ensure(f, TENANT_DEFAULT, "a", 1000);
    struct digest second = ensure(f, TENANT_DEFAULT, "b", 1000);
    set_pending(f, TENANT_DEFAULT, "aa", &first);
    set_pending(f, TENANT_DEFAULT, "bb", &first);
    set_pending(f, TENANT_DEFAULT, "cc", &second);
    struct generation_row row = generation(f, TENANT_DEFAULT, "aa");
    assert_int_equal(row.number, 0);
    assert_true(row.has_pending && !row.has_serving);
    assert_true(digest_equal(&row.pending, &first));
    finish(f, &first);
    const char *const ids[] = {"aa", "bb"};
    for (size_t i = 0; i < ARRAY_SIZE(ids); i++) {
        row = generation(f, TENANT_DEFAULT, ids[i]);
        assert_int_equal(row.number, 1);
        assert_true(row.has_serving && !row.has_pending);
        assert_true(digest_equal(&row.serving, &first));
    }
    assert_false(generation(f, TENANT_DEFAULT, "cc").has_serving);
}

static void the_old_build_serves_until_the_new_one_is_done(void **state) {
    struct catalog_fixture *f = *state;
    struct digest first = ensure(f, TENANT_DEFAULT, "a", 1000);
    struct digest second = ensure(f, TENANT_DEFAULT, "b", 1000);
    set_pending(f, TENANT_DEFAULT, "aa", &first);
    finish(f, &first);
    set_pending(f, TENANT_DEFAULT, "aa", &second);
    struct generation_row row = generation(f, TENANT_DEFAULT, "aa");
    assert_int_equal(row.number, 1);
    assert_true(row.has_serving && row.has_pending);
    assert_true(digest_equal(&row.serving, &first));
    assert_true(digest_equal(&row.pending, &second));
    finish(f, &second);
    row = generation(f, TENANT_DEFAULT, "aa");
    assert_int_equal(row.number, 2);
    assert_true(digest_equal(&row.serving, &second));
    assert_false(row.has_pending);
}

static void a_build_that_is_done_already_serves_at_once(void **state) {
    struct catalog_fixture *f = *state;
    struct digest key = ensure(f, TENANT_DEFAULT, "a", 1000);
    end(f, TENANT_DEFAULT, &key, BUILD_OK);
    set_pending(f, TENANT_DEFAULT, "aa", &key);
    struct generation_row row = generation(f, TENANT_DEFAULT, "aa");
    assert_int_equal(row.number, 1);
    assert_true(row.has_serving && !row.has_pending);
    /* To be told the same again is no change. */
    set_pending(f, TENANT_DEFAULT, "aa", &key);
    assert_int_equal(generation(f, TENANT_DEFAULT, "aa").number, 1);
}

static void going_back_to_the_serving_build_forgets_the_pending_one(void **state) {
    struct catalog_fixture *f = *state;
    struct digest first = ensure(f, TENANT_DEFAULT, "a", 1000);
    struct digest second = ensure(f, TENANT_DEFAULT, "b", 1000);
    set_pending(f, TENANT_DEFAULT, "aa", &first);
    finish(f, &first);
    set_pending(f, TENANT_DEFAULT, "aa", &second);
    set_pending(f, TENANT_DEFAULT, "aa", &first);
    struct generation_row row = generation(f, TENANT_DEFAULT, "aa");
    assert_false(row.has_pending);
    assert_int_equal(row.number, 1);
    finish(f, &second);
    row = generation(f, TENANT_DEFAULT, "aa");
    assert_true(digest_equal(&row.serving, &first));
    assert_int_equal(row.number, 1);
}

static size_t ids_of(struct catalog_fixture *f, const struct digest *key,
                     struct binary_id ret_ids[static IDS_PER_BUILD_MAX]) {
    size_t count = 999;
    assert_int_equal(
        catalog_generation_ids(&f->txn, TENANT_DEFAULT, key, ret_ids, &count, &f->error), ERR_OK);
    return count;
}

static void forget(struct catalog_fixture *f, const char *id_prefix, const struct digest *key) {
    struct binary_id id = catalog_fixture_id(id_prefix);
    assert_int_equal(catalog_generation_forget(&f->txn, TENANT_DEFAULT, &id, key, &f->error),
                     ERR_OK);
}

static void a_build_knows_the_ids_that_it_answers_for_or_shall(void **state) {
    struct catalog_fixture *f = *state;
    struct digest first = ensure(f, TENANT_DEFAULT, "a", 1000);
    struct digest second = ensure(f, TENANT_DEFAULT, "b", 1000);
    set_pending(f, TENANT_DEFAULT, "aa", &first);
    finish(f, &first);
    set_pending(f, TENANT_DEFAULT, "aa", &second);
    set_pending(f, TENANT_DEFAULT, "bb", &second);
    struct binary_id ids[IDS_PER_BUILD_MAX];
    struct binary_id aa = catalog_fixture_id("aa");
    assert_int_equal(ids_of(f, &first, ids), 1);
    assert_true(binary_id_equal(&ids[0], &aa));
    assert_int_equal(ids_of(f, &second, ids), 2);
    struct digest unknown = catalog_fixture_digest("c");
    assert_int_equal(ids_of(f, &unknown, ids), 0);
}

static void forgetting_a_build_changes_what_it_was_to_the_id(void **state) {
    struct catalog_fixture *f = *state;
    struct digest first = ensure(f, TENANT_DEFAULT, "a", 1000);
    struct digest second = ensure(f, TENANT_DEFAULT, "b", 1000);
    set_pending(f, TENANT_DEFAULT, "aa", &first);
    finish(f, &first);
    set_pending(f, TENANT_DEFAULT, "aa", &second);
    forget(f, "aa", &second);
    struct generation_row row = generation(f, TENANT_DEFAULT, "aa");
    assert_true(row.has_serving && !row.has_pending);
    assert_int_equal(row.number, 1);
    forget(f, "aa", &second);
    forget(f, "aa", &first);
    row = generation(f, TENANT_DEFAULT, "aa");
    assert_false(row.has_serving || row.has_pending);
    assert_int_equal(row.number, 2);
}

static void no_tenant_sees_the_builds_of_another(void **state) {
    struct catalog_fixture *f = *state;
    struct digest key = ensure(f, TENANT_DEFAULT, "a", 1000);
    set_pending(f, TENANT_DEFAULT, "aa", &key);
    struct build_row row = {.key = key, .state = BUILD_OK};
    struct binary_id id = catalog_fixture_id("aa");
    assert_int_equal(catalog_build_get(&f->txn, "other", &key, &row, &f->error), ERR_NOT_FOUND);
    assert_int_equal(catalog_build_update(&f->txn, "other", &row, &f->error), ERR_NOT_FOUND);
    assert_int_equal(catalog_generation_set_pending(&f->txn, "other", &id, &key, &f->error),
                     ERR_NOT_FOUND);
    assert_false(generation(f, "other", "aa").has_pending);
    /* The same key in another tenant is another build, with answers of its own. */
    struct digest theirs = ensure(f, "other", "a", 1000);
    assert_true(digest_equal(&theirs, &key));
    set_pending(f, "other", "aa", &theirs);
    finish(f, &key);
    assert_true(generation(f, TENANT_DEFAULT, "aa").has_serving);
    assert_false(generation(f, "other", "aa").has_serving);
    struct build_row untouched;
    assert_int_equal(catalog_build_get(&f->txn, "other", &key, &untouched, &f->error), ERR_OK);
    assert_int_equal(untouched.state, BUILD_QUEUED);
}

#define TEST(name)                                                                                 \
    cmocka_unit_test_setup_teardown(name, catalog_fixture_set_up, catalog_fixture_tear_down)

int main(void) {
    const struct CMUnitTest tests[] = {
        TEST(a_new_build_is_queued_with_its_inputs),
        TEST(ensuring_again_leaves_the_build_as_it_is),
        TEST(a_build_of_an_object_that_is_not_there_is_refused),
        TEST(an_update_writes_all_but_key_and_queue_time),
        TEST(an_unknown_build_is_not_found),
        TEST(the_queue_holds_all_tenants_oldest_first),
        TEST(a_start_queues_again_what_was_running),
        TEST(an_id_without_generation_reads_as_zero),
        TEST(a_finished_build_serves_every_id_that_waits_for_it),
        TEST(the_old_build_serves_until_the_new_one_is_done),
        TEST(a_build_that_is_done_already_serves_at_once),
        TEST(going_back_to_the_serving_build_forgets_the_pending_one),
        TEST(a_build_knows_the_ids_that_it_answers_for_or_shall),
        TEST(forgetting_a_build_changes_what_it_was_to_the_id),
        TEST(no_tenant_sees_the_builds_of_another),
    };
    return cmocka_run_group_tests_name("catalog_builds", tests, NULL, NULL);
}
