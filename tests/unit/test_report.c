#include "symbolizer/protocol/report.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/buffer.h"
#include "base/cleanup.h"
#include "base/fd.h"

static enum err parse(const char *text, struct report *ret_report) {
    struct error error;
    return report_parse(span_cstr(text), ret_report, &error);
}

/* Through a real fd, as it travels. */
static struct span written(const struct report *report) {
    struct error error;
    int fd = memfd_create("report", MFD_CLOEXEC);
    assert_true(fd >= 0);
    assert_int_equal(report_write(report, fd, &error), ERR_OK);
    struct span bytes;
    assert_int_equal(fd_map(fd, &bytes, &error), ERR_OK);
    fd_close(fd);
    return bytes;
}

static void add_id(struct report *report, enum binary_id_kind kind, const char *text) {
    struct error error;
    struct index_summary *summary = &report->summary;
    assert_int_equal(
        binary_id_parse(kind, span_cstr(text), &summary->ids[summary->id_count++], &error), ERR_OK);
}

static void everything_in_a_report_survives(void **state) {
    (void)state;
    struct report report = {
        .status = REPORT_LIMIT, .reason = "too large", .size = UINT64_MAX, .memory_peak = 7};
    struct index_summary *summary = &report.summary;
    add_id(&report, BINARY_ID_GNU, "0123456789abcdef");
    add_id(&report, BINARY_ID_GO, "a/b/c/d");
    summary->machine = UINT16_MAX;
    summary->has_dwarf = summary->has_dynsym = summary->extents_exact = true;
    summary->function_count = 1;
    summary->inlined_count = 2;
    summary->line_row_count = 3;
    summary->interval_count = 4;
    summary->location_count = 5;
    summary->damage_count = 6;
    summary->executable_bytes = 7;
    summary->covered_bytes = 8;
    assert_true(report_add_need(&report, REPORT_NEED_ALTLINK, span_cstr("beef")));
    assert_true(report_add_need(&report, REPORT_NEED_DWO, span_cstr("0123456789abcdef")));
    assert_true(report_add_need(&report, REPORT_NEED_DEBUGLINK, span_cstr("a file.debug")));

    struct span bytes = written(&report);
    struct report again;
    struct error error;
    assert_int_equal(report_parse(bytes, &again, &error), ERR_OK);
    fd_unmap(bytes);
    assert_int_equal(again.status, REPORT_LIMIT);
    assert_string_equal(again.reason, "too large");
    assert_int_equal(again.summary.id_count, 2);
    assert_true(binary_id_equal(&again.summary.ids[1], &report.summary.ids[1]));
    assert_int_equal(again.summary.machine, UINT16_MAX);
    assert_true(again.summary.has_dwarf && again.summary.has_dynsym);
    assert_false(again.summary.has_pclntab || again.summary.has_symtab);
    assert_true(again.summary.extents_exact);
    assert_memory_equal(&again.summary.function_count, &summary->function_count,
                        offsetof(struct index_summary, extents_exact) -
                            offsetof(struct index_summary, function_count));
    assert_true(again.size == UINT64_MAX);
    assert_int_equal(again.memory_peak, 7);
    assert_int_equal(again.need_count, 3);
    assert_int_equal(again.needs[2].kind, REPORT_NEED_DEBUGLINK);
    assert_string_equal(again.needs[2].value, "a file.debug");
}

static void the_largest_report_can_be_read(void **state) {
    (void)state;
    struct report report = {.status = REPORT_FAILED};
    memset(report.reason, 'r', sizeof(report.reason) - 1);
    char text[BINARY_ID_TEXT_MAX + 1];
    memset(text, 'x', BINARY_ID_TEXT_MAX);
    text[BINARY_ID_TEXT_MAX] = '\0';
    for (size_t i = 0; i < INDEX_ID_MAX; i++)
        add_id(&report, BINARY_ID_GO, text);
    for (size_t i = 0; i < REPORT_NEED_MAX; i++)
        assert_true(report_add_need(&report, REPORT_NEED_DEBUGLINK, span_cstr(text)));
    assert_false(report_add_need(&report, REPORT_NEED_DEBUGLINK, span_cstr("one more")));
    struct span bytes = written(&report);
    struct report again;
    struct error error;
    assert_int_equal(report_parse(bytes, &again, &error), ERR_OK);
    fd_unmap(bytes);
    assert_int_equal(again.need_count, REPORT_NEED_MAX);
    assert_string_equal(again.reason, report.reason);
}

static void a_report_without_its_end_is_refused(void **state) {
    (void)state;
    struct report report;
    const char *whole = "status ok\nsize 12\nend\n";
    assert_int_equal(parse(whole, &report), ERR_OK);
    assert_int_equal(report.size, 12);
    for (size_t size = 0; size < strlen(whole); size++) {
        struct error error;
        assert_int_equal(report_parse(span_of(whole, size), &report, &error), ERR_MALFORMED);
    }
    assert_int_equal(parse("status ok\nend\n\n", &report), ERR_MALFORMED);
    assert_int_equal(parse("status ok\nend\nstatus ok\nend\n", &report), ERR_MALFORMED);
}

static void unknown_keys_and_words_are_skipped(void **state) {
    (void)state;
    struct report report;
    assert_int_equal(
        parse("status ok\nmood fine \x01\xff, thanks\ncontents dwarf,pdb\nend\n", &report), ERR_OK);
    assert_true(report.summary.has_dwarf);
}

static void malformed_lines_are_refused(void **state) {
    (void)state;
    static const char *const lines[] = {
        "status ok",     /* a second time */
        "machine 65536", /* over 16 bits */
        "machine -1",
        "machine",
        "machine ",
        "size 1 ",
        "size 18446744073709551616",
        "size 1\nsize 1",
        "functions 0x10",
        "extents_exact 2",
        "contents ",
        "contents dwarf,",
        "contents dwarf dynsym",
        "contents dwarf\ncontents dwarf",
        "id gnu",
        "id gnu zz",
        "id gnu 0000",
        "id isbn 1234",
        "need altlink",
        "need altlink xyz",
        "need dwo 1234",
        "need debuglink ../../etc/passwd",
        "need debuglink ..",
        "need debuglink a\x1b[0m",
        "need debuglink a\xff",
        "need bread 1234",
        "reason for ok",
        "UPPER 1",
        " size 1",
        "",
        "a_key_longer_than_any_that_we_would_write 1",
    };
    for (size_t i = 0; i < sizeof(lines) / sizeof(lines[0]); i++) {
        char text[256];
        snprintf(text, sizeof(text), "status ok\n%s\nend\n", lines[i]);
        struct report report = {.size = 99};
        if (parse(text, &report) != ERR_MALFORMED)
            fail_msg("accepted: %s", lines[i]);
        assert_int_equal(report.size, 99);
    }
}

static void the_status_must_be_one_that_a_worker_writes(void **state) {
    (void)state;
    struct report report;
    assert_int_equal(parse("size 1\nend\n", &report), ERR_MALFORMED);
    assert_int_equal(parse("status killed\nend\n", &report), ERR_MALFORMED);
    assert_int_equal(parse("status OK\nend\n", &report), ERR_MALFORMED);
    assert_int_equal(parse("status \nend\n", &report), ERR_MALFORMED);
    assert_int_equal(parse("status failed\nend\n", &report), ERR_OK);
    assert_string_equal(report_status_name(REPORT_KILLED), "killed");
    assert_null(report_status_name((enum report_status)0));
    assert_null(report_status_name((enum report_status)7));
}

/* "status ok", a line `count` times, "end". */
static enum err parse_repeated(const char *line, int count) {
    CLEANUP(buffer_clear) struct buffer text = {0};
    struct report report;
    buffer_append_cstr(&text, "status ok\n");
    for (int i = 0; i < count; i++)
        buffer_printf(&text, "%s\n", line);
    buffer_append_cstr(&text, "end\n");
    return parse(buffer_cstr(&text), &report);
}

static void too_many_ids_or_needs_are_refused(void **state) {
    (void)state;
    assert_int_equal(parse_repeated("id gnu abcd", INDEX_ID_MAX), ERR_OK);
    assert_int_equal(parse_repeated("id gnu abcd", INDEX_ID_MAX + 1), ERR_MALFORMED);
    assert_int_equal(parse_repeated("need altlink abcd", REPORT_NEED_MAX), ERR_OK);
    assert_int_equal(parse_repeated("need altlink abcd", REPORT_NEED_MAX + 1), ERR_MALFORMED);
}

static void reasons_are_made_printable_on_both_sides(void **state) {
    (void)state;
    struct report report;
    assert_int_equal(
        parse("status failed\nreason a\tb\x7f\xff\xc2\x85\xc3\xa9 end\nend\n", &report), ERR_OK);
    assert_string_equal(report.reason, "a?b???\xc3\xa9 end");
    struct report hostile = {.status = REPORT_MALFORMED, .reason = "bad\nstatus ok\nend\n"};
    struct span bytes = written(&hostile);
    struct error error;
    assert_int_equal(report_parse(bytes, &report, &error), ERR_OK);
    fd_unmap(bytes);
    assert_int_equal(report.status, REPORT_MALFORMED);
    assert_string_equal(report.reason, "bad?status ok?end?");
}

static void long_reasons_are_cut_at_a_character(void **state) {
    (void)state;
    CLEANUP(buffer_clear) struct buffer text = {0};
    buffer_append_cstr(&text, "status failed\nreason ");
    for (int i = 0; i < 400; i++)
        buffer_append_cstr(&text, "\xc3\xa9");
    buffer_append_cstr(&text, "\nend\n");
    struct report report;
    assert_int_equal(parse(buffer_cstr(&text), &report), ERR_OK);
    assert_int_equal(strlen(report.reason), 510);
}

static void an_oversized_report_is_refused(void **state) {
    (void)state;
    static const char head[] = "status ok\nmood ";
    static const char tail[] = "\nend\n";
    for (size_t over = 0; over <= 1; over++) {
        CLEANUP(buffer_clear) struct buffer text = {0};
        buffer_append_cstr(&text, head);
        while (text.size < REPORT_SIZE_MAX + over - strlen(tail))
            buffer_append_byte(&text, 'x');
        buffer_append_cstr(&text, tail);
        struct report report;
        struct error error;
        assert_int_equal(report_parse(buffer_span(&text), &report, &error),
                         over ? ERR_MALFORMED : ERR_OK);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(everything_in_a_report_survives),
        cmocka_unit_test(the_largest_report_can_be_read),
        cmocka_unit_test(a_report_without_its_end_is_refused),
        cmocka_unit_test(unknown_keys_and_words_are_skipped),
        cmocka_unit_test(malformed_lines_are_refused),
        cmocka_unit_test(the_status_must_be_one_that_a_worker_writes),
        cmocka_unit_test(too_many_ids_or_needs_are_refused),
        cmocka_unit_test(reasons_are_made_printable_on_both_sides),
        cmocka_unit_test(long_reasons_are_cut_at_a_character),
        cmocka_unit_test(an_oversized_report_is_refused),
    };
    return cmocka_run_group_tests_name("report", tests, NULL, NULL);
}
