#include "cache/catalog_objects.h"

#include <stdio.h>
#include <string.h>

#include "cache/catalog_builds.h"
#include "tests/support/catalog_fixture.h"
#include "tests/support/test.h"

static int64_t put(struct catalog_fixture *f, const char *tenant, const char *contents,
                   enum artifact_type type) {
    struct object_row row = {
        .digest = catalog_fixture_digest(contents),
        .size = strlen(contents),
        .type = type,
        .uploader = "agent",
        .trust_rank = -3,
        .contents = CONTENTS_DWARF | CONTENTS_SYMTAB,
        .created_ms = 1000,
    };
    int64_t object_id = 0;
    assert_int_equal(catalog_object_put(&f->txn, tenant, &row, &object_id, &f->error), ERR_OK);
    assert_true(object_id > 0);
    return object_id;
}

static enum err name(struct catalog_fixture *f, const char *tenant, const char *id_prefix,
                     int64_t object_id, enum verification verification) {
    struct binary_id id = catalog_fixture_id(id_prefix);
    return catalog_alias_put(&f->txn, tenant, &id, object_id, verification, &f->error);
}

static size_t find(struct catalog_fixture *f, const char *tenant, const char *id_prefix,
                   struct object_row ret_rows[static OBJECTS_PER_ID_MAX]) {
    struct binary_id id = catalog_fixture_id(id_prefix);
    size_t count = 999;
    assert_int_equal(catalog_objects_by_id(&f->txn, tenant, &id, ret_rows, &count, &f->error),
                     ERR_OK);
    return count;
}

static void an_object_is_found_by_its_names(void **state) {
    struct catalog_fixture *f = *state;
    int64_t object_id = put(f, TENANT_DEFAULT, "bytes", ARTIFACT_EXECUTABLE);
    assert_int_equal(name(f, TENANT_DEFAULT, "aa", object_id, VERIFICATION_NOTE), ERR_OK);
    assert_int_equal(name(f, TENANT_DEFAULT, "bb", object_id, VERIFICATION_NONE), ERR_OK);
    struct object_row rows[OBJECTS_PER_ID_MAX];
    assert_int_equal(find(f, TENANT_DEFAULT, "aa", rows), 1);
    struct digest digest = catalog_fixture_digest("bytes");
    assert_int_equal(rows[0].object_id, object_id);
    assert_true(digest_equal(&rows[0].digest, &digest));
    assert_int_equal(rows[0].size, 5);
    assert_int_equal(rows[0].type, ARTIFACT_EXECUTABLE);
    assert_string_equal(rows[0].uploader, "agent");
    assert_int_equal(rows[0].trust_rank, -3);
    assert_int_equal(rows[0].contents, CONTENTS_DWARF | CONTENTS_SYMTAB);
    assert_int_equal(rows[0].created_ms, 1000);
    assert_int_equal(rows[0].verification, VERIFICATION_NOTE);
    assert_int_equal(find(f, TENANT_DEFAULT, "bb", rows), 1);
    assert_int_equal(rows[0].verification, VERIFICATION_NONE);
    assert_int_equal(find(f, TENANT_DEFAULT, "cc", rows), 0);
}

static void equal_bytes_of_one_type_are_one_object(void **state) {
    struct catalog_fixture *f = *state;
    int64_t first = put(f, TENANT_DEFAULT, "bytes", ARTIFACT_EXECUTABLE);
    assert_int_equal(put(f, TENANT_DEFAULT, "bytes", ARTIFACT_EXECUTABLE), first);
    assert_int_not_equal(put(f, TENANT_DEFAULT, "bytes", ARTIFACT_DEBUGINFO), first);
    assert_int_not_equal(put(f, TENANT_DEFAULT, "other bytes", ARTIFACT_EXECUTABLE), first);
}

static void an_object_number_is_never_used_again(void **state) {
    struct catalog_fixture *f = *state;
    int64_t first = put(f, TENANT_DEFAULT, "bytes", ARTIFACT_EXECUTABLE);
    catalog_fixture_sql(f, "DELETE FROM object");
    assert_true(put(f, TENANT_DEFAULT, "bytes", ARTIFACT_EXECUTABLE) > first);
}

static void a_name_keeps_its_stronger_verification(void **state) {
    struct catalog_fixture *f = *state;
    int64_t object_id = put(f, TENANT_DEFAULT, "bytes", ARTIFACT_EXECUTABLE);
    struct object_row rows[OBJECTS_PER_ID_MAX];
    const enum verification given[] = {VERIFICATION_NONE, VERIFICATION_HASH, VERIFICATION_NOTE};
    const enum verification kept[] = {VERIFICATION_NONE, VERIFICATION_HASH, VERIFICATION_HASH};
    for (size_t i = 0; i < ARRAY_SIZE(given); i++) {
        assert_int_equal(name(f, TENANT_DEFAULT, "aa", object_id, given[i]), ERR_OK);
        assert_int_equal(find(f, TENANT_DEFAULT, "aa", rows), 1);
        assert_int_equal(rows[0].verification, kept[i]);
    }
}

static void a_name_of_nothing_is_refused(void **state) {
    struct catalog_fixture *f = *state;
    assert_int_equal(name(f, TENANT_DEFAULT, "aa", 12345, VERIFICATION_NONE), ERR_NOT_FOUND);
}

static void objects_of_an_id_come_newest_first_and_bounded(void **state) {
    struct catalog_fixture *f = *state;
    int64_t newest = 0;
    for (int i = 0; i < OBJECTS_PER_ID_MAX + 5; i++) {
        char contents[32];
        snprintf(contents, sizeof(contents), "bytes %d", i);
        newest = put(f, TENANT_DEFAULT, contents, ARTIFACT_DEBUGINFO);
        assert_int_equal(name(f, TENANT_DEFAULT, "aa", newest, VERIFICATION_NOTE), ERR_OK);
    }
    struct object_row rows[OBJECTS_PER_ID_MAX];
    assert_int_equal(find(f, TENANT_DEFAULT, "aa", rows), OBJECTS_PER_ID_MAX);
    for (int i = 0; i < OBJECTS_PER_ID_MAX; i++)
        assert_int_equal(rows[i].object_id, newest - i);
}

static void the_names_of_an_object_come_strongest_first(void **state) {
    struct catalog_fixture *f = *state;
    int64_t object_id = put(f, TENANT_DEFAULT, "bytes", ARTIFACT_EXECUTABLE);
    int64_t another = put(f, TENANT_DEFAULT, "other bytes", ARTIFACT_EXECUTABLE);
    assert_int_equal(name(f, TENANT_DEFAULT, "aa", object_id, VERIFICATION_NONE), ERR_OK);
    assert_int_equal(name(f, TENANT_DEFAULT, "bb", object_id, VERIFICATION_HASH), ERR_OK);
    assert_int_equal(name(f, TENANT_DEFAULT, "cc", object_id, VERIFICATION_NOTE), ERR_OK);
    assert_int_equal(name(f, TENANT_DEFAULT, "dd", another, VERIFICATION_NOTE), ERR_OK);
    struct binary_id ids[ALIASES_PER_OBJECT_MAX];
    size_t count = 0;
    assert_int_equal(
        catalog_aliases_of_object(&f->txn, TENANT_DEFAULT, object_id, ids, &count, &f->error),
        ERR_OK);
    assert_int_equal(count, 3);
    assert_memory_equal(ids[0].text, "bb", 2);
    assert_memory_equal(ids[1].text, "cc", 2);
    assert_memory_equal(ids[2].text, "aa", 2);
    assert_int_equal(
        catalog_aliases_of_object(&f->txn, TENANT_DEFAULT, 999, ids, &count, &f->error), ERR_OK);
    assert_int_equal(count, 0);
}

static struct digest ensure(struct catalog_fixture *f, const char *key_text, int64_t object_id) {
    struct digest key = catalog_fixture_digest(key_text);
    struct build_input input = {.object_id = object_id, .role = 1};
    struct build_row row;
    assert_int_equal(
        catalog_build_ensure(&f->txn, TENANT_DEFAULT, &key, &input, 1, 1000, &row, &f->error),
        ERR_OK);
    return key;
}

static void end(struct catalog_fixture *f, const struct digest *key, enum build_state build_state) {
    struct build_row row = {.key = *key, .state = build_state};
    assert_int_equal(catalog_build_update(&f->txn, TENANT_DEFAULT, &row, &f->error), ERR_OK);
}

static void assert_soundness(struct catalog_fixture *f, enum object_soundness wanted) {
    struct object_row rows[OBJECTS_PER_ID_MAX];
    assert_int_equal(find(f, TENANT_DEFAULT, "aa", rows), 1);
    assert_int_equal(rows[0].soundness, wanted);
}

static void an_object_is_broken_when_all_its_builds_failed_for_good(void **state) {
    struct catalog_fixture *f = *state;
    int64_t object_id = put(f, TENANT_DEFAULT, "bytes", ARTIFACT_DEBUGINFO);
    name(f, TENANT_DEFAULT, "aa", object_id, VERIFICATION_NOTE);
    assert_soundness(f, OBJECT_SOUND);
    struct digest first = ensure(f, "a", object_id);
    assert_soundness(f, OBJECT_SOUND);
    end(f, &first, BUILD_UNSUPPORTED);
    assert_soundness(f, OBJECT_UNSUPPORTED);
    struct digest second = ensure(f, "b", object_id);
    static const struct {
        enum build_state state;
        enum object_soundness soundness;
    } rows[] = {
        {BUILD_QUEUED, OBJECT_SOUND},
        {BUILD_RUNNING, OBJECT_SOUND},
        {BUILD_OK, OBJECT_SOUND},
        {BUILD_FAILED, OBJECT_SOUND},
        {BUILD_MALFORMED, OBJECT_BROKEN},
        {BUILD_KILLED, OBJECT_BROKEN},
        {BUILD_UNSUPPORTED, OBJECT_UNSUPPORTED},
    };
    for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
        end(f, &second, rows[i].state);
        assert_soundness(f, rows[i].soundness);
    }
}

static void an_object_that_is_gone_is_not_found_until_it_is_put_again(void **state) {
    struct catalog_fixture *f = *state;
    struct object_row rows[OBJECTS_PER_ID_MAX];
    struct digest digest = catalog_fixture_digest("bytes");
    bool changed = false;
    int64_t object_id = put(f, TENANT_DEFAULT, "bytes", ARTIFACT_DEBUGINFO);
    int64_t theirs = put(f, "other", "bytes", ARTIFACT_DEBUGINFO);
    name(f, TENANT_DEFAULT, "aa", object_id, VERIFICATION_NOTE);
    name(f, "other", "aa", theirs, VERIFICATION_NOTE);
    assert_int_equal(
        catalog_objects_set_gone(&f->txn, &digest, OBJECT_MISSING, &changed, &f->error), ERR_OK);
    assert_true(changed);
    assert_int_equal(find(f, TENANT_DEFAULT, "aa", rows), 0);
    assert_int_equal(find(f, "other", "aa", rows), 0);
    assert_int_equal(
        catalog_objects_set_gone(&f->txn, &digest, OBJECT_DAMAGED, &changed, &f->error), ERR_OK);
    assert_false(changed);
    assert_int_equal(put(f, TENANT_DEFAULT, "bytes", ARTIFACT_DEBUGINFO), object_id);
    assert_int_equal(find(f, TENANT_DEFAULT, "aa", rows), 1);
}

static void no_tenant_sees_the_objects_of_another(void **state) {
    struct catalog_fixture *f = *state;
    int64_t mine = put(f, TENANT_DEFAULT, "mine", ARTIFACT_EXECUTABLE);
    assert_int_equal(name(f, TENANT_DEFAULT, "aa", mine, VERIFICATION_NOTE), ERR_OK);
    struct object_row rows[OBJECTS_PER_ID_MAX];
    struct binary_id ids[ALIASES_PER_OBJECT_MAX];
    size_t count = 999;
    assert_int_equal(find(f, "other", "aa", rows), 0);
    assert_int_equal(catalog_aliases_of_object(&f->txn, "other", mine, ids, &count, &f->error),
                     ERR_OK);
    assert_int_equal(count, 0);
    /* Neither can it put a name on one, nor is its own copy the same object. */
    assert_int_equal(name(f, "other", "aa", mine, VERIFICATION_NOTE), ERR_NOT_FOUND);
    int64_t theirs = put(f, "other", "mine", ARTIFACT_EXECUTABLE);
    assert_int_equal(name(f, "other", "bb", theirs, VERIFICATION_NOTE), ERR_OK);
    assert_int_equal(find(f, TENANT_DEFAULT, "bb", rows), 0);
    assert_int_equal(find(f, TENANT_DEFAULT, "aa", rows), 1);
}

#define TEST(name)                                                                                 \
    cmocka_unit_test_setup_teardown(name, catalog_fixture_set_up, catalog_fixture_tear_down)

int main(void) {
    const struct CMUnitTest tests[] = {
        TEST(an_object_is_found_by_its_names),
        TEST(equal_bytes_of_one_type_are_one_object),
        TEST(an_object_number_is_never_used_again),
        TEST(a_name_keeps_its_stronger_verification),
        TEST(a_name_of_nothing_is_refused),
        TEST(objects_of_an_id_come_newest_first_and_bounded),
        TEST(the_names_of_an_object_come_strongest_first),
        TEST(an_object_is_broken_when_all_its_builds_failed_for_good),
        TEST(an_object_that_is_gone_is_not_found_until_it_is_put_again),
        TEST(no_tenant_sees_the_objects_of_another),
    };
    return cmocka_run_group_tests_name("catalog_objects", tests, NULL, NULL);
}
