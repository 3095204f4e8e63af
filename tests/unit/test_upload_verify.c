#include "ingest/upload_verify.h"

#include <stdio.h>

#include "tests/support/test.h"

#define HASH_OF_BYTES "00112233445566778899aabbccddeeff"

static struct binary_id id_of(enum binary_id_kind kind, const char *text) {
    struct binary_id id;
    struct error error;
    assert_int_equal(binary_id_parse(kind, span_cstr(text), &id, &error), ERR_OK);
    return id;
}

/* An ELF file with a GNU and a Go note. */
static struct report elf_report(void) {
    struct report report = {.status = REPORT_OK};
    report.summary.ids[0] = id_of(BINARY_ID_GNU, "abcdef01");
    report.summary.ids[1] = id_of(BINARY_ID_GO, "aa/bb/cc");
    report.summary.ids[2] = id_of(BINARY_ID_HTLHASH, HASH_OF_BYTES);
    report.summary.id_count = 3;
    report.summary.has_dwarf = true;
    report.summary.has_dynsym = true;
    return report;
}

static struct upload_identity accepts(enum binary_id_kind kind, const char *text,
                                      const struct report *report) {
    struct binary_id claimed = id_of(kind, text);
    struct upload_identity identity;
    struct error error = {0};
    enum err err = upload_verify(&claimed, report, &identity, &error);
    if (err != ERR_OK)
        fail_msg("%s", error.text);
    return identity;
}

static void refuses(enum binary_id_kind kind, const char *text, const struct report *report,
                    enum err wanted, const char *wanted_text) {
    struct binary_id claimed = id_of(kind, text);
    struct upload_identity identity;
    struct error error;
    assert_int_equal(upload_verify(&claimed, report, &identity, &error), wanted);
    assert_string_equal(error.text, wanted_text);
}

static void assert_name(const struct upload_identity *identity, size_t position,
                        enum binary_id_kind kind, const char *text,
                        enum verification verification) {
    assert_true(position < identity->name_count);
    assert_int_equal(identity->names[position].id.kind, kind);
    assert_string_equal(identity->names[position].id.text, text);
    assert_int_equal(identity->names[position].verification, verification);
}

static void a_proven_gnu_id_brings_the_other_names_along(void **state) {
    (void)state;
    struct report report = elf_report();
    struct upload_identity identity = accepts(BINARY_ID_GNU, "ABCDEF01", &report);
    assert_int_equal(identity.name_count, 3);
    assert_name(&identity, 0, BINARY_ID_GNU, "abcdef01", VERIFICATION_NOTE);
    assert_name(&identity, 1, BINARY_ID_GO, "aa/bb/cc", VERIFICATION_NOTE);
    assert_name(&identity, 2, BINARY_ID_HTLHASH, HASH_OF_BYTES, VERIFICATION_HASH);
    assert_int_equal(identity.contents, CONTENTS_DWARF | CONTENTS_DYNSYM);
}

static void another_gnu_id_is_refused(void **state) {
    (void)state;
    struct report report = elf_report();
    refuses(BINARY_ID_GNU, "abcdef02", &report, ERR_INVALID,
            "build ID mismatch: the file says abcdef01, the upload claims abcdef02");
}

static void a_file_without_the_note_is_refused(void **state) {
    (void)state;
    struct report report = elf_report();
    report.summary.ids[0] = report.summary.ids[2];
    report.summary.id_count = 1;
    refuses(BINARY_ID_GNU, "abcdef01", &report, ERR_INVALID,
            "build ID mismatch: the file has no gnu build ID, the upload claims abcdef01");
    refuses(BINARY_ID_GO, "aa/bb/cc", &report, ERR_INVALID,
            "build ID mismatch: the file has no go build ID, the upload claims aa/bb/cc");
}

static void a_go_id_must_equal_the_go_note(void **state) {
    (void)state;
    struct report report = elf_report();
    struct upload_identity identity = accepts(BINARY_ID_GO, "aa/bb/cc", &report);
    assert_name(&identity, 0, BINARY_ID_GO, "aa/bb/cc", VERIFICATION_NOTE);
    refuses(BINARY_ID_GO, "aa/bb/dd", &report, ERR_INVALID,
            "build ID mismatch: the file says aa/bb/cc, the upload claims aa/bb/dd");
}

static void a_file_id_is_proven_only_by_the_whole_file(void **state) {
    (void)state;
    struct report report = elf_report();
    struct upload_identity identity = accepts(BINARY_ID_HTLHASH, HASH_OF_BYTES, &report);
    assert_int_equal(identity.name_count, 3);
    assert_name(&identity, 0, BINARY_ID_HTLHASH, HASH_OF_BYTES, VERIFICATION_HASH);

    identity = accepts(BINARY_ID_HTLHASH, "ffeeddccbbaa99887766554433221100", &report);
    assert_int_equal(identity.name_count, 4);
    assert_name(&identity, 0, BINARY_ID_HTLHASH, "ffeeddccbbaa99887766554433221100",
                VERIFICATION_NONE);
    assert_name(&identity, 3, BINARY_ID_HTLHASH, HASH_OF_BYTES, VERIFICATION_HASH);
}

static void as_many_names_as_a_report_can_hold_fit(void **state) {
    (void)state;
    struct report report = elf_report();
    for (size_t i = 0; i < INDEX_ID_MAX; i++) {
        char text[16];
        snprintf(text, sizeof(text), "go/%zu", i);
        report.summary.ids[i] = id_of(BINARY_ID_GO, text);
    }
    report.summary.id_count = INDEX_ID_MAX;
    struct upload_identity identity = accepts(BINARY_ID_HTLHASH, HASH_OF_BYTES, &report);
    assert_int_equal(identity.name_count, INDEX_ID_MAX + 1);
}

static void what_is_no_elf_file_is_refused_with_the_reason(void **state) {
    (void)state;
    struct report report = {.status = REPORT_MALFORMED, .reason = "not an ELF file"};
    refuses(BINARY_ID_GNU, "abcdef01", &report, ERR_INVALID, "malformed: not an ELF file");
    refuses(BINARY_ID_HTLHASH, HASH_OF_BYTES, &report, ERR_INVALID, "malformed: not an ELF file");
    report.status = REPORT_LIMIT;
    refuses(BINARY_ID_GNU, "abcdef01", &report, ERR_INVALID, "limit: not an ELF file");
}

static void a_file_that_kills_the_parser_is_refused(void **state) {
    (void)state;
    struct report report = {.status = REPORT_KILLED, .reason = "killed by SIGSEGV"};
    refuses(BINARY_ID_GNU, "abcdef01", &report, ERR_INVALID, "parser_killed: killed by SIGSEGV");
}

static void our_own_trouble_is_not_held_against_the_file(void **state) {
    (void)state;
    struct report report = {.status = REPORT_FAILED, .reason = "no memory"};
    refuses(BINARY_ID_GNU, "abcdef01", &report, ERR_UNAVAILABLE,
            "the file could not be checked: no memory");
}

static void unparsed_types_have_the_claimed_name_alone(void **state) {
    (void)state;
    struct binary_id claimed = id_of(BINARY_ID_UUID, "01234567-89ab-cdef-0123-456789abcdef");
    struct upload_identity identity = upload_identity_claimed(&claimed);
    assert_int_equal(identity.name_count, 1);
    assert_name(&identity, 0, BINARY_ID_UUID, claimed.text, VERIFICATION_NONE);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_proven_gnu_id_brings_the_other_names_along),
        cmocka_unit_test(another_gnu_id_is_refused),
        cmocka_unit_test(a_file_without_the_note_is_refused),
        cmocka_unit_test(a_go_id_must_equal_the_go_note),
        cmocka_unit_test(a_file_id_is_proven_only_by_the_whole_file),
        cmocka_unit_test(as_many_names_as_a_report_can_hold_fit),
        cmocka_unit_test(what_is_no_elf_file_is_refused_with_the_reason),
        cmocka_unit_test(a_file_that_kills_the_parser_is_refused),
        cmocka_unit_test(our_own_trouble_is_not_held_against_the_file),
        cmocka_unit_test(unparsed_types_have_the_claimed_name_alone),
    };
    return cmocka_run_group_tests_name("upload_verify", tests, NULL, NULL);
}
