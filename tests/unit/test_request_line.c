#include "cli/request_line.h"

#include "base/cleanup.h"
#include "tests/support/test.h"

static struct request_line parsed(const char *line, const char *object) {
    struct request_line request;
    if (!request_line_parse(span_cstr(line), object, QUESTIONS_LLVM, &request))
        fail_msg("not read: %s", line);
    return request;
}

static void addresses_are_read_in_every_radix(void **state) {
    (void)state;
    static const struct {
        const char *line;
        uint64_t address;
    } cases[] = {
        {"0x1156", 0x1156},
        {"0X10", 16},
        {"4438", 4438},
        {"010", 8},
        {"0o17", 15},
        {"0b11", 3},
        {"0", 0},
        {"00", 0},
        {"0xaF", 175},
        {"0xffffffffffffffff", UINT64_MAX},
        {"18446744073709551615", UINT64_MAX},
    };
    for (size_t i = 0; i < ARRAY_SIZE(cases); i++)
        assert_true(parsed(cases[i].line, "f").address == cases[i].address);
}

static void an_offset_in_a_section_is_read(void **state) {
    (void)state;
    struct request_line request = parsed(".text+0x10", "object");
    assert_true(span_equal_cstr(request.section, ".text"));
    assert_int_equal(request.address, 16);
    request = parsed("CODE 'some file' .text.hot.a+b+12 behind", NULL);
    assert_true(span_equal_cstr(request.module, "some file"));
    assert_true(span_equal_cstr(request.section, ".text.hot.a+b"));
    assert_int_equal(request.address, 12);
    assert_int_equal(parsed("0x10", "object").section.size, 0);
}

static void what_is_no_address_is_refused(void **state) {
    (void)state;
    static const char *const lines[] = {
        "",
        " ",
        "0x",
        "0x1g",
        "08",
        "0b2",
        "1156x",
        "0x10000000000000000",
        "18446744073709551616",
        "CODE ",
        "FILE:f 0x10",
        "BUILDID:abcd 0x10",
        ".text+",
        ".text+x",
    };
    for (size_t i = 0; i < ARRAY_SIZE(lines); i++) {
        struct request_line request;
        assert_false(request_line_parse(span_cstr(lines[i]), "object", QUESTIONS_LLVM, &request));
        assert_true(span_equal_cstr(request.module, "object"));
        assert_non_null(request.problem);
    }
}

static void a_symbol_may_stand_for_the_address(void **state) {
    (void)state;
    static const struct {
        const char *line;
        const char *symbol;
        uint64_t offset;
    } cases[] = {
        {"main", "main", 0},     {"main+4", "main", 4},    {"main+0x10 behind", "main", 16},
        {"CODE f+1", "f", 1},    {"a+b+2", "a+b", 2},      {"operator+", "operator+", 0},
        {"main+x", "main+x", 0}, {"+5", "+5", 0},          {"-1", "-1", 0},
        {".text", ".text", 0},   {"DATA main", "main", 0}, {"\tx", "x", 0},
    };
    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        struct request_line request = parsed(cases[i].line, "object");
        assert_true(span_equal_cstr(request.symbol, cases[i].symbol));
        assert_true(request.address == cases[i].offset);
    }
    assert_int_equal(parsed("0x10", "object").symbol.size, 0);
}

static void a_file_or_build_id_may_have_a_prefix(void **state) {
    (void)state;
    struct request_line request = parsed("CODE FILE: \"a b\" 0x10", NULL);
    assert_true(span_equal_cstr(request.module, "a b"));
    assert_false(request.module_is_build_id);
    request = parsed("BUILDID:ABcd main", NULL);
    assert_true(span_equal_cstr(request.module, "ABcd"));
    assert_true(request.module_is_build_id);
    assert_true(span_equal_cstr(request.symbol, "main"));
}

static void llvms_addr2line_reads_hexadecimal(void **state) {
    (void)state;
    static const struct {
        const char *line;
        uint64_t address;
    } cases[] = {{"10", 16}, {"0x10", 16}, {"0X1f", 31}, {"abc", 0xabc}, {"010", 16}};
    struct request_line request;
    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        assert_true(
            request_line_parse(span_cstr(cases[i].line), "object", QUESTIONS_LLVM_HEX, &request));
        assert_true(request.address == cases[i].address && request.symbol.size == 0);
    }
    assert_true(request_line_parse(span_cstr("main+10"), "object", QUESTIONS_LLVM_HEX, &request));
    assert_true(span_equal_cstr(request.symbol, "main") && request.address == 10);
    assert_false(request_line_parse(span_cstr("9x"), "object", QUESTIONS_LLVM_HEX, &request));
}

static void spaces_around_and_words_behind_do_not_matter(void **state) {
    (void)state;
    assert_int_equal(parsed("  0x10  ", "f").address, 0x10);
    assert_int_equal(parsed("0x10 extra words", "f").address, 0x10);
    assert_int_equal(parsed("0x10\r", "f").address, 0x10);
}

static void the_line_names_its_file_when_no_object_is_given(void **state) {
    (void)state;
    struct request_line request = parsed("bin/true 0x10", NULL);
    assert_true(span_equal_cstr(request.module, "bin/true"));
    assert_int_equal(request.address, 0x10);
    request = parsed("CODE \"a b\" 32", NULL);
    assert_true(span_equal_cstr(request.module, "a b"));
    assert_int_equal(request.address, 32);
    request = parsed("'it \"is\"' 1", NULL);
    assert_true(span_equal_cstr(request.module, "it \"is\""));
}

static void a_file_without_an_address_or_quote_is_refused(void **state) {
    (void)state;
    static const char *const lines[] = {"0x1156",
                                        "file",
                                        "file 9z",
                                        "\"file 0x10",
                                        "'",
                                        "",
                                        "FILE:",
                                        "FILE:file",
                                        "FILE:FILE:file 1",
                                        "BUILDID:",
                                        "BUILDID:xyz 1",
                                        "BUILDID:FILE:ab 1",
                                        "\"\" 1"};
    for (size_t i = 0; i < ARRAY_SIZE(lines); i++) {
        struct request_line request;
        assert_false(request_line_parse(span_cstr(lines[i]), NULL, QUESTIONS_LLVM, &request));
    }
}

static void verbs_are_told_apart(void **state) {
    (void)state;
    assert_int_equal(parsed("CODE 0x1", "f").verb, REQUEST_CODE);
    assert_int_equal(parsed("DATA 0x1", "f").verb, REQUEST_DATA);
    assert_int_equal(parsed("FRAME f 0x1", NULL).verb, REQUEST_FRAME);
}

static void gnu_addresses_are_hexadecimal_as_far_as_digits_go(void **state) {
    (void)state;
    static const struct {
        const char *text;
        uint64_t address;
    } cases[] = {
        {"1156", 0x1156},
        {"0x1156", 0x1156},
        {"0X1156", 0x1156},
        {" \t1156", 0x1156},
        {"foo", 0xf},
        {"", 0},
        {"zz", 0},
        {"-1", 0},
        {"1156zz", 0x1156},
        {"1156 zz", 0x1156},
        {"ffffffffffffffff", UINT64_MAX},
        {"10000000000000000", UINT64_MAX},
        {"ABcd", 0xabcd},
    };
    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        struct request_line request;
        request_line_parse_gnu(span_cstr(cases[i].text), &request);
        assert_true(request.address == cases[i].address && !request.problem);
    }
}

static void gnu_words_without_hexadecimal_digits_are_symbols(void **state) {
    (void)state;
    static const struct {
        const char *text;
        const char *symbol;
        uint64_t offset;
    } cases[] = {
        {"main", "main", 0},    {"main+4", "main", 4},    {"main +4", "main", 4},
        {"main+ 4", "main", 4}, {"main+010z", "main", 8}, {"main+0x1f+3", "main", 31},
        {"\tmain", "main", 0},  {"_1", "_1", 0},          {"main+zz", "main", 0},
        {"fx", "", 15},         {"+xf", "", 0},           {"+3", "", 3},
    };
    struct request_line request;
    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        request_line_parse_gnu(span_cstr(cases[i].text), &request);
        assert_true(span_equal_cstr(request.symbol, cases[i].symbol));
        assert_true(request.address == cases[i].offset);
    }
    request_line_parse_gnu(span_cstr(".text+10"), &request);
    assert_true(span_equal_cstr(request.section, ".text") && request.address == 16);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(addresses_are_read_in_every_radix),
        cmocka_unit_test(an_offset_in_a_section_is_read),
        cmocka_unit_test(what_is_no_address_is_refused),
        cmocka_unit_test(spaces_around_and_words_behind_do_not_matter),
        cmocka_unit_test(the_line_names_its_file_when_no_object_is_given),
        cmocka_unit_test(a_file_without_an_address_or_quote_is_refused),
        cmocka_unit_test(verbs_are_told_apart),
        cmocka_unit_test(a_symbol_may_stand_for_the_address),
        cmocka_unit_test(a_file_or_build_id_may_have_a_prefix),
        cmocka_unit_test(llvms_addr2line_reads_hexadecimal),
        cmocka_unit_test(gnu_words_without_hexadecimal_digits_are_symbols),
        cmocka_unit_test(gnu_addresses_are_hexadecimal_as_far_as_digits_go),
    };
    return cmocka_run_group_tests_name("request_line", tests, NULL, NULL);
}
