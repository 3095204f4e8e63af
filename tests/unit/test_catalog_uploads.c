#include "cache/catalog_uploads.h"

#include <stdio.h>
#include <string.h>

#include "cache/catalog_objects.h"
#include "tests/support/catalog_fixture.h"
#include "tests/support/test.h"

static struct upload_row row_of(const char *upload_id, const char *id_prefix, const char *hash) {
    struct upload_row row = {
        .id = catalog_fixture_id(id_prefix),
        .type = ARTIFACT_DEBUGINFO,
        .declared_size = 1234,
        .state = UPLOAD_UPLOADING,
        .uploader = "agent",
        .started_ms = 1000,
    };
    snprintf(row.upload_id, sizeof(row.upload_id), "%s", upload_id);
    snprintf(row.hash, sizeof(row.hash), "%s", hash);
    return row;
}

static void insert(struct catalog_fixture *f, const char *tenant, const struct upload_row *row) {
    assert_int_equal(catalog_upload_insert(&f->txn, tenant, row, &f->error), ERR_OK);
}

static void update(struct catalog_fixture *f, const char *tenant, struct upload_row *row,
                   enum upload_state state, int64_t finished_ms) {
    row->state = state;
    row->finished_ms = finished_ms;
    assert_int_equal(catalog_upload_update(&f->txn, tenant, row, &f->error), ERR_OK);
}

static struct upload_row get(struct catalog_fixture *f, const char *upload_id) {
    struct upload_row row;
    assert_int_equal(catalog_upload_get(&f->txn, TENANT_DEFAULT, upload_id, &row, &f->error),
                     ERR_OK);
    return row;
}

static enum err latest(struct catalog_fixture *f, const char *tenant, const char *id_prefix,
                       enum artifact_type type, struct upload_row *ret_row) {
    struct binary_id id = catalog_fixture_id(id_prefix);
    return catalog_upload_latest(&f->txn, tenant, &id, type, ret_row, &f->error);
}

static void an_upload_comes_back_as_it_was_stored(void **state) {
    struct catalog_fixture *f = *state;
    struct upload_row row = row_of("u1", "aa", "h1");
    row.declared_size = INT64_MAX;
    insert(f, TENANT_DEFAULT, &row);
    struct upload_row read = get(f, "u1");
    assert_string_equal(read.upload_id, "u1");
    assert_true(binary_id_equal(&read.id, &row.id));
    assert_int_equal(read.type, ARTIFACT_DEBUGINFO);
    assert_string_equal(read.hash, "h1");
    assert_true(read.declared_size == INT64_MAX);
    assert_int_equal(read.state, UPLOAD_UPLOADING);
    assert_string_equal(read.reason, "");
    assert_string_equal(read.uploader, "agent");
    assert_int_equal(read.started_ms, 1000);
    assert_int_equal(read.finished_ms, 0);
    assert_int_equal(read.object_id, 0);
}

static void the_longest_texts_fit(void **state) {
    struct catalog_fixture *f = *state;
    struct upload_row row = row_of("12345678-1234-1234-1234-123456789012", "aa", "");
    memset(row.hash, 'h', UPLOAD_HASH_MAX);
    memset(row.reason, 'r', sizeof(row.reason) - 1);
    memset(row.uploader, 'u', sizeof(row.uploader) - 1);
    insert(f, TENANT_DEFAULT, &row);
    struct upload_row read = get(f, row.upload_id);
    assert_string_equal(read.hash, row.hash);
    assert_string_equal(read.reason, row.reason);
    assert_string_equal(read.uploader, row.uploader);
}

static void a_size_that_sqlite_cannot_hold_is_refused(void **state) {
    struct catalog_fixture *f = *state;
    struct upload_row row = row_of("u1", "aa", "h1");
    row.declared_size = (uint64_t)INT64_MAX + 1;
    assert_int_equal(catalog_upload_insert(&f->txn, TENANT_DEFAULT, &row, &f->error), ERR_LIMIT);
}

static void an_upload_id_is_used_once_per_tenant(void **state) {
    struct catalog_fixture *f = *state;
    struct upload_row row = row_of("u1", "aa", "h1");
    insert(f, TENANT_DEFAULT, &row);
    assert_int_equal(catalog_upload_insert(&f->txn, TENANT_DEFAULT, &row, &f->error), ERR_EXISTS);
    insert(f, "other", &row);
}

static void an_update_changes_state_reason_end_and_object(void **state) {
    struct catalog_fixture *f = *state;
    struct upload_row row = row_of("u1", "aa", "h1");
    insert(f, TENANT_DEFAULT, &row);
    struct object_row object = {.digest = catalog_fixture_digest("x"), .type = ARTIFACT_DEBUGINFO};
    assert_int_equal(
        catalog_object_put(&f->txn, TENANT_DEFAULT, &object, &row.object_id, &f->error), ERR_OK);
    memcpy(row.reason, "because", sizeof("because"));
    memcpy(row.hash, "not written", sizeof("not written"));
    update(f, TENANT_DEFAULT, &row, UPLOAD_UPLOADED, 5000);
    struct upload_row read = get(f, "u1");
    assert_int_equal(read.state, UPLOAD_UPLOADED);
    assert_string_equal(read.reason, "because");
    assert_int_equal(read.finished_ms, 5000);
    assert_int_equal(read.object_id, row.object_id);
    assert_string_equal(read.hash, "h1");
}

static void an_upload_cannot_refer_to_an_object_that_is_not_there(void **state) {
    struct catalog_fixture *f = *state;
    struct upload_row row = row_of("u1", "aa", "h1");
    insert(f, TENANT_DEFAULT, &row);
    row.object_id = 77;
    assert_int_equal(catalog_upload_update(&f->txn, TENANT_DEFAULT, &row, &f->error),
                     ERR_NOT_FOUND);
}

static void what_is_not_there_is_not_found(void **state) {
    struct catalog_fixture *f = *state;
    struct upload_row row = row_of("u1", "aa", "h1");
    assert_int_equal(catalog_upload_get(&f->txn, TENANT_DEFAULT, "u1", &row, &f->error),
                     ERR_NOT_FOUND);
    assert_int_equal(catalog_upload_update(&f->txn, TENANT_DEFAULT, &row, &f->error),
                     ERR_NOT_FOUND);
    assert_int_equal(latest(f, TENANT_DEFAULT, "aa", ARTIFACT_DEBUGINFO, &row), ERR_NOT_FOUND);
}

static void the_latest_upload_is_the_last_inserted_even_if_the_clock_went_back(void **state) {
    struct catalog_fixture *f = *state;
    struct upload_row first = row_of("u1", "aa", "h1"), second = row_of("u2", "aa", "h2");
    struct upload_row other_id = row_of("u3", "ab", "h1"), other_type = row_of("u4", "aa", "h1");
    second.started_ms = first.started_ms - 500;
    other_type.type = ARTIFACT_EXECUTABLE;
    insert(f, TENANT_DEFAULT, &first);
    insert(f, TENANT_DEFAULT, &second);
    insert(f, TENANT_DEFAULT, &other_id);
    insert(f, TENANT_DEFAULT, &other_type);
    struct upload_row read;
    assert_int_equal(latest(f, TENANT_DEFAULT, "aa", ARTIFACT_DEBUGINFO, &read), ERR_OK);
    assert_string_equal(read.upload_id, "u2");
    update(f, TENANT_DEFAULT, &second, UPLOAD_ABANDONED, 1);
    assert_int_equal(latest(f, TENANT_DEFAULT, "aa", ARTIFACT_DEBUGINFO, &read), ERR_OK);
    assert_string_equal(read.upload_id, "u1");
    assert_int_equal(latest(f, TENANT_DEFAULT, "aa", ARTIFACT_EXECUTABLE, &read), ERR_OK);
    assert_string_equal(read.upload_id, "u4");
}

static uint64_t count_failed(struct catalog_fixture *f, const char *tenant, const char *id_prefix,
                             enum artifact_type type, const char *hash, int64_t since_ms) {
    struct binary_id id = catalog_fixture_id(id_prefix);
    uint64_t count = 999;
    assert_int_equal(
        catalog_upload_count_failed(&f->txn, tenant, &id, type, hash, since_ms, &count, &f->error),
        ERR_OK);
    return count;
}

static void failures_are_counted_per_id_type_hash_and_time(void **state) {
    struct catalog_fixture *f = *state;
    struct upload_row rows[] = {row_of("u1", "aa", "h1"), row_of("u2", "aa", "h1"),
                                row_of("u3", "aa", "h2"), row_of("u4", "ab", "h1"),
                                row_of("u5", "aa", "h1")};
    for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
        insert(f, TENANT_DEFAULT, &rows[i]);
        update(f, TENANT_DEFAULT, &rows[i], i == 4 ? UPLOAD_UPLOADED : UPLOAD_FAILED,
               2000 + (int64_t)i);
    }
    assert_int_equal(count_failed(f, TENANT_DEFAULT, "aa", ARTIFACT_DEBUGINFO, "h1", 0), 2);
    assert_int_equal(count_failed(f, TENANT_DEFAULT, "aa", ARTIFACT_DEBUGINFO, "h1", 2001), 1);
    assert_int_equal(count_failed(f, TENANT_DEFAULT, "aa", ARTIFACT_DEBUGINFO, "h1", 2002), 0);
    assert_int_equal(count_failed(f, TENANT_DEFAULT, "aa", ARTIFACT_EXECUTABLE, "h1", 0), 0);
    assert_int_equal(count_failed(f, "other", "aa", ARTIFACT_DEBUGINFO, "h1", 0), 0);
}

static bool held(struct catalog_fixture *f, const char *tenant, const char *hash) {
    struct binary_id id = catalog_fixture_id("aa");
    bool held = false;
    assert_int_equal(
        catalog_upload_hash_held(&f->txn, tenant, &id, ARTIFACT_DEBUGINFO, hash, &held, &f->error),
        ERR_OK);
    return held;
}

static void a_hash_is_held_once_its_upload_is_stored(void **state) {
    struct catalog_fixture *f = *state;
    struct upload_row row = row_of("u1", "aa", "h1");
    insert(f, TENANT_DEFAULT, &row);
    assert_false(held(f, TENANT_DEFAULT, "h1"));
    update(f, TENANT_DEFAULT, &row, UPLOAD_UPLOADED, 1);
    assert_true(held(f, TENANT_DEFAULT, "h1"));
    assert_false(held(f, TENANT_DEFAULT, "h2"));
    assert_false(held(f, "other", "h1"));
}

static void a_start_interrupts_what_was_uploading_for_all_tenants(void **state) {
    struct catalog_fixture *f = *state;
    struct upload_row mine = row_of("u1", "aa", "h1"), done = row_of("u2", "aa", "h1");
    insert(f, TENANT_DEFAULT, &mine);
    insert(f, TENANT_DEFAULT, &done);
    insert(f, "other", &mine);
    update(f, TENANT_DEFAULT, &done, UPLOAD_UPLOADED, 1);
    uint64_t count = 0;
    assert_int_equal(catalog_uploads_fail_unfinished(&f->txn, "restart", 9000, &count, &f->error),
                     ERR_OK);
    assert_int_equal(count, 2);
    struct upload_row read = get(f, "u1");
    assert_int_equal(read.state, UPLOAD_INTERRUPTED);
    assert_string_equal(read.reason, "restart");
    assert_int_equal(read.finished_ms, 9000);
    assert_int_equal(get(f, "u2").state, UPLOAD_UPLOADED);
    assert_int_equal(count_failed(f, TENANT_DEFAULT, "aa", ARTIFACT_DEBUGINFO, "h1", 0), 0);
}

static int64_t invited(struct catalog_fixture *f, const char *tenant, enum artifact_type type) {
    struct binary_id id = catalog_fixture_id("aa");
    int64_t invited_ms = -1;
    assert_int_equal(catalog_invitation_get(&f->txn, tenant, &id, type, &invited_ms, &f->error),
                     ERR_OK);
    return invited_ms;
}

static void an_invitation_is_remembered_and_renewed(void **state) {
    struct catalog_fixture *f = *state;
    struct binary_id id = catalog_fixture_id("aa");
    assert_int_equal(invited(f, TENANT_DEFAULT, ARTIFACT_DEBUGINFO), 0);
    for (int64_t at_ms = 100; at_ms <= 200; at_ms += 100) {
        assert_int_equal(catalog_invitation_set(&f->txn, TENANT_DEFAULT, &id, ARTIFACT_DEBUGINFO,
                                                at_ms, &f->error),
                         ERR_OK);
        assert_int_equal(invited(f, TENANT_DEFAULT, ARTIFACT_DEBUGINFO), at_ms);
    }
    assert_int_equal(invited(f, TENANT_DEFAULT, ARTIFACT_EXECUTABLE), 0);
    assert_int_equal(invited(f, "other", ARTIFACT_DEBUGINFO), 0);
}

static void no_tenant_sees_the_uploads_of_another(void **state) {
    struct catalog_fixture *f = *state;
    struct upload_row row = row_of("u1", "aa", "h1"), read;
    insert(f, TENANT_DEFAULT, &row);
    assert_int_equal(catalog_upload_get(&f->txn, "other", "u1", &read, &f->error), ERR_NOT_FOUND);
    assert_int_equal(latest(f, "other", "aa", ARTIFACT_DEBUGINFO, &read), ERR_NOT_FOUND);
    assert_int_equal(catalog_upload_update(&f->txn, "other", &row, &f->error), ERR_NOT_FOUND);
}

static void an_unknown_tenant_is_not_found(void **state) {
    struct catalog_fixture *f = *state;
    struct upload_row row = row_of("u1", "aa", "h1");
    assert_int_equal(catalog_upload_insert(&f->txn, "nobody", &row, &f->error), ERR_NOT_FOUND);
    assert_string_equal(f->error.text, "no tenant \"nobody\"");
    char longer[TENANT_NAME_MAX + 100];
    memset(longer, 't', sizeof(longer) - 1);
    longer[sizeof(longer) - 1] = '\0';
    assert_int_equal(catalog_upload_get(&f->txn, longer, "u1", &row, &f->error), ERR_NOT_FOUND);
    assert_int_equal(catalog_upload_get(&f->txn, "", "u1", &row, &f->error), ERR_NOT_FOUND);
}

static void a_damaged_row_is_an_error_and_no_overrun(void **state) {
    struct catalog_fixture *f = *state;
    struct upload_row row = row_of("u1", "aa", "h1");
    insert(f, TENANT_DEFAULT, &row);
    catalog_fixture_sql(f, "UPDATE upload SET reason = printf('%.*c', 600, 'x')");
    assert_int_equal(catalog_upload_get(&f->txn, TENANT_DEFAULT, "u1", &row, &f->error), ERR_IO);
    catalog_fixture_sql(f, "UPDATE upload SET reason = '', declared_size = -1");
    assert_int_equal(catalog_upload_get(&f->txn, TENANT_DEFAULT, "u1", &row, &f->error), ERR_IO);
    assert_non_null(strstr(f->error.text, "damaged row"));
}

#define TEST(name)                                                                                 \
    cmocka_unit_test_setup_teardown(name, catalog_fixture_set_up, catalog_fixture_tear_down)

int main(void) {
    const struct CMUnitTest tests[] = {
        TEST(an_upload_comes_back_as_it_was_stored),
        TEST(the_longest_texts_fit),
        TEST(a_size_that_sqlite_cannot_hold_is_refused),
        TEST(an_upload_id_is_used_once_per_tenant),
        TEST(an_update_changes_state_reason_end_and_object),
        TEST(an_upload_cannot_refer_to_an_object_that_is_not_there),
        TEST(what_is_not_there_is_not_found),
        TEST(the_latest_upload_is_the_last_inserted_even_if_the_clock_went_back),
        TEST(failures_are_counted_per_id_type_hash_and_time),
        TEST(a_hash_is_held_once_its_upload_is_stored),
        TEST(a_start_interrupts_what_was_uploading_for_all_tenants),
        TEST(an_invitation_is_remembered_and_renewed),
        TEST(no_tenant_sees_the_uploads_of_another),
        TEST(an_unknown_tenant_is_not_found),
        TEST(a_damaged_row_is_an_error_and_no_overrun),
    };
    return cmocka_run_group_tests_name("catalog_uploads", tests, NULL, NULL);
}
