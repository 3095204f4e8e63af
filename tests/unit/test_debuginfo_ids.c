#include "api/debuginfo_ids.h"

#include <string.h>

#include "tests/support/test.h"

/* Numbers of BuildIDType on the wire. */
enum { UNKNOWN = 0, GNU = 1, HASH = 2, GO = 3, SOURCE_MAP_DEBUG_ID = 4 };

static void expect_id(const char *text, int type, enum binary_id_kind kind, const char *canonical) {
    struct binary_id id;
    struct error error;
    if (debuginfo_id_parse(text, type, &id, &error) != ERR_OK)
        fail_msg("%s: %s", text, error.text);
    assert_int_equal(id.kind, kind);
    assert_string_equal(id.text, canonical);
}

static void expect_refused(const char *text, int type) {
    struct binary_id id;
    struct error error;
    assert_int_equal(debuginfo_id_parse(text, type, &id, &error), ERR_INVALID);
}

static void each_type_has_its_kind(void **state) {
    (void)state;
    expect_id("ABCDEF01", GNU, BINARY_ID_GNU, "abcdef01");
    expect_id("0123456789abcdef0123456789abcdef", HASH, BINARY_ID_HTLHASH,
              "0123456789abcdef0123456789abcdef");
    expect_id("aB/cD/eF", GO, BINARY_ID_GO, "aB/cD/eF");
    expect_id("01234567-89AB-cdef-0123-456789abcdef", SOURCE_MAP_DEBUG_ID, BINARY_ID_UUID,
              "01234567-89ab-cdef-0123-456789abcdef");
}

static void old_clients_that_send_no_type_are_understood(void **state) {
    (void)state;
    expect_id("abcdef01", UNKNOWN, BINARY_ID_GNU, "abcdef01");
    expect_id("aB/cD/eF", UNKNOWN, BINARY_ID_GO, "aB/cD/eF");
    expect_id("01234567-89AB-cdef-0123-456789abcdef", UNKNOWN, BINARY_ID_UUID,
              "01234567-89ab-cdef-0123-456789abcdef");
    expect_refused("000000", UNKNOWN);
    expect_refused("abcde", UNKNOWN);
    expect_refused("a b", UNKNOWN);
}

static void short_ids_are_refused_in_the_words_of_parca(void **state) {
    (void)state;
    for (int type = UNKNOWN; type <= SOURCE_MAP_DEBUG_ID; type++) {
        struct binary_id id;
        struct error error;
        assert_int_equal(debuginfo_id_parse("ab", type, &id, &error), ERR_INVALID);
        assert_string_equal(error.text, "unexpectedly short input");
    }
}

static void ids_not_of_their_kind_are_refused(void **state) {
    (void)state;
    expect_refused("../../etc/passwd", GNU);
    expect_refused("abcdef01", HASH);
    expect_refused("redacted", GO);
    expect_refused("abcdef01", SOURCE_MAP_DEBUG_ID);
    expect_refused("abcdef01", 5);
    expect_refused("abcdef01", -1);
}

static void types_are_known_or_refused(void **state) {
    (void)state;
    static const enum artifact_type types[] = {ARTIFACT_DEBUGINFO, ARTIFACT_EXECUTABLE,
                                               ARTIFACT_SOURCES, ARTIFACT_SOURCE_MAP};
    struct error error;
    enum artifact_type type;
    for (int i = 0; i < 4; i++) {
        assert_int_equal(debuginfo_type_parse(i, &type, &error), ERR_OK);
        assert_int_equal(type, types[i]);
    }
    assert_int_equal(debuginfo_type_parse(4, &type, &error), ERR_INVALID);
    assert_int_equal(debuginfo_type_parse(-1, &type, &error), ERR_INVALID);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_type_has_its_kind),
        cmocka_unit_test(old_clients_that_send_no_type_are_understood),
        cmocka_unit_test(short_ids_are_refused_in_the_words_of_parca),
        cmocka_unit_test(ids_not_of_their_kind_are_refused),
        cmocka_unit_test(types_are_known_or_refused),
    };
    return cmocka_run_group_tests_name("debuginfo_ids", tests, NULL, NULL);
}
