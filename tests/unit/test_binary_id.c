#include "base/binary_id.h"

#include <string.h>

#include "tests/support/test.h"

static enum err parse(enum binary_id_kind kind, const char *text, struct binary_id *id) {
    struct error error;
    return binary_id_parse(kind, span_cstr(text), id, &error);
}

static void gnu_ids_fold_to_lower_case(void **state) {
    (void)state;
    struct binary_id id;
    assert_int_equal(parse(BINARY_ID_GNU, "AbCd01", &id), ERR_OK);
    assert_string_equal(id.text, "abcd01");
    assert_int_equal(id.kind, BINARY_ID_GNU);
}

static void what_identifies_nothing_is_no_id(void **state) {
    (void)state;
    struct binary_id id;
    assert_int_equal(parse(BINARY_ID_GNU, "", &id), ERR_INVALID);
    assert_int_equal(parse(BINARY_ID_GNU, "ab", &id), ERR_INVALID);
    assert_int_equal(parse(BINARY_ID_GNU, "abc", &id), ERR_INVALID);
    assert_int_equal(parse(BINARY_ID_GNU, "00000000", &id), ERR_INVALID);
    assert_int_equal(parse(BINARY_ID_GNU, "xyzw", &id), ERR_INVALID);
    assert_int_equal(parse(BINARY_ID_GO, "redacted", &id), ERR_INVALID);
    assert_int_equal(parse(BINARY_ID_UUID, "00000000-0000-0000-0000-000000000000", &id),
                     ERR_INVALID);
    assert_int_equal(parse(BINARY_ID_HTLHASH, "abcd", &id), ERR_INVALID);
    assert_int_equal(parse((enum binary_id_kind)9, "abcd", &id), ERR_INVALID);
}

static void lengths_are_bounded(void **state) {
    (void)state;
    struct binary_id id;
    char text[400];
    memset(text, 'a', sizeof(text));
    text[128] = '\0';
    assert_int_equal(parse(BINARY_ID_GNU, text, &id), ERR_OK);
    text[128] = 'a';
    text[130] = '\0';
    assert_int_equal(parse(BINARY_ID_GNU, text, &id), ERR_INVALID);
    text[130] = 'a';
    text[255] = '\0';
    assert_int_equal(parse(BINARY_ID_GO, text, &id), ERR_OK);
    text[255] = 'a';
    text[256] = '\0';
    assert_int_equal(parse(BINARY_ID_GO, text, &id), ERR_INVALID);
}

static void go_ids_may_hold_slashes_but_no_control_bytes(void **state) {
    (void)state;
    struct binary_id id;
    struct error error;
    assert_int_equal(parse(BINARY_ID_GO, "abc/../d_e-f/G", &id), ERR_OK);
    assert_string_equal(id.text, "abc/../d_e-f/G");
    assert_int_equal(binary_id_parse(BINARY_ID_GO, span_of("ab\0cd", 5), &id, &error), ERR_INVALID);
    assert_int_equal(parse(BINARY_ID_GO, "ab\ncd", &id), ERR_INVALID);
    assert_int_equal(parse(BINARY_ID_GO, "ab cd", &id), ERR_INVALID);
}

static void uuids_keep_their_shape(void **state) {
    (void)state;
    struct binary_id id;
    assert_int_equal(parse(BINARY_ID_UUID, "01234567-89AB-cdef-0123-456789abcdef", &id), ERR_OK);
    assert_string_equal(id.text, "01234567-89ab-cdef-0123-456789abcdef");
    assert_int_equal(parse(BINARY_ID_UUID, "0123456789abcdef0123456789abcdef", &id), ERR_INVALID);
    assert_int_equal(parse(BINARY_ID_UUID, "01234567-89ab-cdef-0123-456789abcdeg", &id),
                     ERR_INVALID);
}

static void kind_names_go_both_ways(void **state) {
    (void)state;
    for (int kind = BINARY_ID_GNU; kind <= BINARY_ID_UUID; kind++) {
        enum binary_id_kind back;
        const char *name = binary_id_kind_name((enum binary_id_kind)kind);
        assert_true(binary_id_kind_from_name(span_cstr(name), &back));
        assert_int_equal(back, kind);
    }
    enum binary_id_kind kind;
    assert_false(binary_id_kind_from_name(span_cstr("GNU"), &kind));
    assert_null(binary_id_kind_name((enum binary_id_kind)0));
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(gnu_ids_fold_to_lower_case),
        cmocka_unit_test(what_identifies_nothing_is_no_id),
        cmocka_unit_test(lengths_are_bounded),
        cmocka_unit_test(go_ids_may_hold_slashes_but_no_control_bytes),
        cmocka_unit_test(uuids_keep_their_shape),
        cmocka_unit_test(kind_names_go_both_ways),
    };
    return cmocka_run_group_tests_name("binary_id", tests, NULL, NULL);
}
