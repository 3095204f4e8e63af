#include "debuginfo/dwarf_line.h"

#include <dwarf.h>

#include "tests/support/line_table.h"
#include "tests/support/test.h"

#define LLVM_SOURCE 0x2001 /* DW_LNCT_LLVM_source */

static void put_old_file(struct line_site *site, const char *name, uint64_t directory) {
    put_text(&site->line, name);
    put_uleb(&site->line, directory);
    put_uleb(&site->line, 0x7fffffff); /* time */
    put_uleb(&site->line, 300);        /* size */
}

static void expect_joined(struct line_site *site, uint64_t index,
                          const struct dwarf_line_origin *origin, const char *path) {
    struct buffer joined = {0};
    buffer_append_cstr(&joined, "what was there before");
    dwarf_line_path(site->table, index, origin, &joined);
    assert_string_equal(buffer_cstr(&joined), path);
    buffer_clear(&joined);
}

static void expect_path(struct line_site *site, uint64_t index, const char *comp_dir,
                        const char *path) {
    const struct dwarf_line_origin origin = {.comp_dir = span_cstr(comp_dir),
                                             .name = span_cstr("unit.c")};
    expect_joined(site, index, &origin, path);
}

/* Without the compilation directory. */
static void expect_relative(struct line_site *site, uint64_t index, const char *path) {
    const struct dwarf_line_origin origin = {
        .comp_dir = span_cstr("/comp"), .name = span_cstr("unit.c"), .is_left_out = true};
    expect_joined(site, index, &origin, path);
}

static void open_site(struct line_site *site) {
    line_site_begin_program(site);
    line_site_finish(site);
    assert_int_equal(line_site_open(site), ERR_OK);
}

static void begin_old(struct line_site *site) {
    line_site_init(site);
    line_site_begin(site);
    put_text(&site->line, "/inc");
    put_text(&site->line, "rel");
    put_text(&site->line, "C:\\inc");
    put_u8(&site->line, 0);
    put_old_file(site, "a.c", 0);
    put_old_file(site, "b.h", 1);
    put_old_file(site, "c.h", 2);
    put_old_file(site, "/abs/d.h", 2);
    put_old_file(site, "e.h", 3);
    put_old_file(site, "f.h", 99);
    put_old_file(site, "d:/g.h", 1);
    put_u8(&site->line, 0);
}

static void old_files_count_from_1_and_directory_0_is_the_units(void **state) {
    (void)state;
    struct line_site site;
    begin_old(&site);
    open_site(&site);
    assert_int_equal(dwarf_line_table_file_count(site.table), 8);
    assert_false(dwarf_line_table_files_damaged(site.table));
    expect_path(&site, 1, "/comp", "/comp/a.c");
    expect_path(&site, 2, "/comp", "/inc/b.h");
    expect_path(&site, 3, "/comp", "/comp/rel/c.h");
    expect_path(&site, 4, "/comp", "/abs/d.h");
    expect_relative(&site, 1, "a.c");
    expect_relative(&site, 2, "/inc/b.h");
    expect_relative(&site, 3, "rel/c.h");
    expect_relative(&site, 4, "/abs/d.h");
    expect_relative(&site, 99, "unit.c");
    expect_path(&site, 5, "/comp", "C:\\inc\\e.h");
    expect_path(&site, 6, "/comp", "f.h");
    expect_path(&site, 7, "/comp", "d:/g.h");
    expect_path(&site, 1, "/", "/a.c");
    expect_path(&site, 1, "", "a.c");
    expect_path(&site, 3, "", "rel/c.h");
    expect_path(&site, 3, "E:\\comp", "E:\\comp\\rel\\c.h");
    expect_path(&site, 3, "E:/comp", "E:/comp/rel/c.h");
    line_site_clear(&site);
}

static void an_index_that_is_not_there_means_the_units_own_file(void **state) {
    (void)state;
    struct line_site site;
    begin_old(&site);
    open_site(&site);
    static const uint64_t indexes[] = {0, 8, DWARF_ROW_FILE_MAX, UINT64_MAX};
    for (size_t i = 0; i < ARRAY_SIZE(indexes); i++) {
        assert_false(dwarf_line_table_has_file(site.table, indexes[i]));
        expect_path(&site, indexes[i], "/comp", "/comp/unit.c");
    }
    assert_true(dwarf_line_table_has_file(site.table, 1));
    assert_true(dwarf_line_table_has_file(site.table, 7));
    dwarf_line_table_close(site.table);
    expect_path(&site, 1, "/comp", "/comp/unit.c");
    line_site_clear(&site);
}

static void put_format(struct line_site *site, unsigned count, ...) {
    va_list list;
    va_start(list, count);
    put_u8(&site->line, (uint8_t)count);
    for (unsigned i = 0; i < 2 * count; i++)
        put_uleb(&site->line, va_arg(list, unsigned));
    va_end(list);
}

static void begin_new(struct line_site *site, const char *directory_0, const char *directory_1) {
    line_site_init(site);
    site->version = 5;
    line_site_begin(site);
    put_format(site, 1, DW_LNCT_path, DW_FORM_string);
    put_uleb(&site->line, 2);
    put_text(&site->line, directory_0);
    put_text(&site->line, directory_1);
    put_format(site, 2, DW_LNCT_directory_index, DW_FORM_udata, DW_LNCT_path, DW_FORM_string);
    put_uleb(&site->line, 4);
    for (unsigned i = 0; i < 4; i++) {
        put_uleb(&site->line, i); /* directories 2 and 3 are not there */
        put_text(&site->line, i == 3 ? "/abs/x.c" : "x.c");
    }
    open_site(site);
}

static void new_files_and_directories_count_from_0(void **state) {
    (void)state;
    struct line_site site;
    begin_new(&site, "/comp", "/inc");
    assert_int_equal(dwarf_line_table_file_count(site.table), 4);
    assert_true(dwarf_line_table_has_file(site.table, 0));
    expect_path(&site, 0, "/comp", "/comp/x.c");
    expect_path(&site, 1, "/comp", "/inc/x.c");
    expect_path(&site, 2, "/comp", "x.c");
    expect_path(&site, 3, "/comp", "/abs/x.c");
    expect_path(&site, 4, "/comp", "/comp/unit.c");
    expect_relative(&site, 0, "x.c");
    expect_relative(&site, 1, "/inc/x.c");
    expect_relative(&site, 4, "unit.c");
    line_site_clear(&site);
    begin_new(&site, "/comp", "rel");
    expect_relative(&site, 1, "rel/x.c");
    line_site_clear(&site);
}

static void a_relative_compilation_directory_is_not_joined_with_itself(void **state) {
    (void)state;
    struct line_site site;
    begin_new(&site, "./nptl", "./nptl/sub");
    expect_path(&site, 0, "./nptl", "./nptl/x.c");
    expect_path(&site, 1, "./nptl", "./nptl/sub/x.c");
    expect_path(&site, 4, "./nptl", "./nptl/unit.c");
    line_site_clear(&site);
    begin_new(&site, "./nptl", "../include");
    expect_path(&site, 1, "./nptl", "./nptl/../include/x.c");
    line_site_clear(&site);
    begin_new(&site, "./nptl", "./nptl2");
    expect_path(&site, 1, "./nptl", "./nptl/./nptl2/x.c");
    line_site_clear(&site);
    begin_new(&site, "sub", "rel");
    expect_path(&site, 0, "/comp", "/comp/sub/x.c");
    expect_path(&site, 0, "", "sub/x.c");
    line_site_clear(&site);
}

static void names_of_windows_are_absolute(void **state) {
    (void)state;
    struct line_site site;
    begin_new(&site, "C:\\work", "\\\\host\\share");
    expect_path(&site, 0, "/comp", "C:\\work\\x.c");
    expect_path(&site, 1, "/comp", "\\\\host\\share\\x.c");
    expect_path(&site, 9, "C:\\work", "C:\\work\\unit.c");
    line_site_clear(&site);
    begin_new(&site, "C:\\", "1:/x");
    expect_path(&site, 0, "", "C:\\x.c");
    expect_path(&site, 1, "/comp", "/comp/1:/x/x.c");
    line_site_clear(&site);
}

/* A table whose file has the name in `form` and, around it, fields of other forms. */
static void begin_form(struct line_site *site, unsigned form, uint8_t size, uint64_t value) {
    line_site_init(site);
    site->version = 5;
    put_text(&site->line_str, "in line_str");
    put_text(&site->line_str, "x.c");
    put_text(&site->str, "in str");
    put_text(&site->str, "y.c");
    put_number(&site->str_offsets, 8, 0); /* a header */
    put_number(&site->str_offsets, 4, 0);
    put_number(&site->str_offsets, 4, 7);
    site->bases.str_offsets_base = 8;
    line_site_begin(site);
    put_format(site, 1, DW_LNCT_path, DW_FORM_string);
    put_uleb(&site->line, 1);
    put_text(&site->line, "/d");
    put_format(site, 9, DW_LNCT_MD5, DW_FORM_data16, LLVM_SOURCE, DW_FORM_line_strp, DW_LNCT_path,
               form, DW_LNCT_timestamp, DW_FORM_block, DW_LNCT_size, DW_FORM_data8, 0x3000,
               DW_FORM_block1, 0x3001, DW_FORM_sdata, DW_LNCT_directory_index, DW_FORM_data2,
               0x3002, DW_FORM_block4);
    put_uleb(&site->line, 1);
    put_bytes(&site->line, span_of("0123456789abcdef", 16));
    put_number(&site->line, 4, 0);
    put_number(&site->line, size, value);
    put_uleb(&site->line, 3);
    put_bytes(&site->line, span_of("abc", 3));
    put_number(&site->line, 8, 77);
    put_u8(&site->line, 0);
    put_sleb(&site->line, -1000);
    put_number(&site->line, 2, 0);
    put_number(&site->line, 4, 2);
    put_bytes(&site->line, span_of("ab", 2));
    open_site(site);
}

static void a_name_may_have_any_form(void **state) {
    (void)state;
    static const struct {
        unsigned form;
        uint8_t size;
        uint64_t value;
        const char *path;
    } cases[] = {
        {DW_FORM_line_strp, 4, 12, "/d/x.c"},
        {DW_FORM_strp, 4, 7, "/d/y.c"},
        {DW_FORM_strx, 1, 1, "/d/y.c"},
        {DW_FORM_strx1, 1, 1, "/d/y.c"},
        {DW_FORM_strx2, 2, 1, "/d/y.c"},
        {DW_FORM_strx3, 3, 1, "/d/y.c"},
        {DW_FORM_strx4, 4, 1, "/d/y.c"},
        {DW_FORM_string, 2, 'z', "/d/z"},
        {DW_FORM_strx, 1, 2, ""},
        {DW_FORM_line_strp, 4, 1000, ""},
        {DW_FORM_strp_sup, 4, 0, ""},
        {DW_FORM_GNU_strp_alt, 4, 0, ""},
        {DW_FORM_udata, 1, 0, ""},
    };
    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        struct line_site site;
        begin_form(&site, cases[i].form, cases[i].size, cases[i].value);
        assert_false(dwarf_line_table_files_damaged(site.table));
        assert_int_equal(dwarf_line_table_file_count(site.table), 1);
        expect_path(&site, 0, "/comp", cases[i].path);
        line_site_clear(&site);
    }
}

static void an_unknown_form_costs_the_files_and_not_the_rows(void **state) {
    (void)state;
    struct line_site site;
    line_site_init(&site);
    site.version = 5;
    line_site_begin(&site);
    put_format(&site, 1, DW_LNCT_path, DW_FORM_string);
    put_uleb(&site.line, 1);
    put_text(&site.line, "/d");
    put_format(&site, 1, DW_LNCT_path, DW_FORM_exprloc + 0x1000);
    put_uleb(&site.line, 1);
    put_u8(&site.line, 0);
    line_site_begin_program(&site);
    put_set_address(&site, 0x1000);
    put_copy(&site);
    put_advance_pc(&site, 4);
    put_end_sequence(&site);
    assert_string_equal(line_site_visit(&site), "1000:1 -1004\n");
    assert_true(dwarf_line_table_files_damaged(site.table));
    expect_path(&site, 1, "/comp", "/comp/unit.c");
    line_site_clear(&site);
}

static void a_list_longer_than_the_header_keeps_what_is_there(void **state) {
    (void)state;
    struct line_site site;
    line_site_init(&site);
    site.version = 5;
    line_site_begin(&site);
    put_format(&site, 1, DW_LNCT_path, DW_FORM_string);
    put_uleb(&site.line, 1);
    put_text(&site.line, "/d");
    put_format(&site, 1, DW_LNCT_path, DW_FORM_string);
    put_uleb(&site.line, UINT64_MAX);
    put_text(&site.line, "x.c");
    open_site(&site);
    assert_true(dwarf_line_table_files_damaged(site.table));
    assert_int_equal(dwarf_line_table_file_count(site.table), 1);
    expect_path(&site, 0, "/comp", "/d/x.c");
    line_site_clear(&site);
}

static void entries_without_fields_are_damage(void **state) {
    (void)state;
    struct line_site site;
    line_site_init(&site);
    site.version = 5;
    line_site_begin(&site);
    put_format(&site, 0);
    put_uleb(&site.line, UINT64_MAX);
    open_site(&site);
    assert_true(dwarf_line_table_files_damaged(site.table));
    assert_int_equal(dwarf_line_table_file_count(site.table), 0);
    line_site_clear(&site);
}

static void old_lists_without_end_are_damage(void **state) {
    (void)state;
    struct line_site site;
    line_site_init(&site);
    line_site_begin(&site);
    put_u8(&site.line, 0);
    put_old_file(&site, "a.c", 0);
    open_site(&site);
    assert_true(dwarf_line_table_files_damaged(site.table));
    assert_int_equal(dwarf_line_table_file_count(site.table), 2);
    expect_path(&site, 1, "/comp", "/comp/a.c");
    line_site_clear(&site);
}

static void the_program_may_define_files(void **state) {
    (void)state;
    struct line_site site;
    begin_old(&site);
    line_site_begin_program(&site);
    put_extended(&site, DW_LNE_define_file, span_of("new.c\0\1\0\0", 9));
    put_set_address(&site, 0x1000);
    put_u8(&site.line, DW_LNS_set_file);
    put_uleb(&site.line, 8);
    put_copy(&site);
    put_advance_pc(&site, 4);
    put_end_sequence(&site);
    for (unsigned i = 0; i < 2; i++) {
        assert_string_equal(line_site_visit(&site), "1000:1 -1004\n");
        assert_int_equal(dwarf_line_table_file_count(site.table), 9);
        expect_path(&site, site.last.rows[0].file, "/comp", "/inc/new.c");
    }
    line_site_clear(&site);
}

static void names_without_bounds_are_left_out(void **state) {
    (void)state;
    struct line_site site;
    line_site_init(&site);
    line_site_begin(&site);
    put_u8(&site.line, 0);
    char *name = calloc(1, DWARF_PATH_SIZE_MAX + 2);
    assert_non_null(name);
    memset(name, 'a', DWARF_PATH_SIZE_MAX + 1);
    put_old_file(&site, name, 0);
    put_u8(&site.line, 0);
    free(name);
    open_site(&site);
    expect_path(&site, 1, "/comp", "");
    line_site_clear(&site);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(old_files_count_from_1_and_directory_0_is_the_units),
        cmocka_unit_test(an_index_that_is_not_there_means_the_units_own_file),
        cmocka_unit_test(new_files_and_directories_count_from_0),
        cmocka_unit_test(a_relative_compilation_directory_is_not_joined_with_itself),
        cmocka_unit_test(names_of_windows_are_absolute),
        cmocka_unit_test(a_name_may_have_any_form),
        cmocka_unit_test(an_unknown_form_costs_the_files_and_not_the_rows),
        cmocka_unit_test(a_list_longer_than_the_header_keeps_what_is_there),
        cmocka_unit_test(entries_without_fields_are_damage),
        cmocka_unit_test(old_lists_without_end_are_damage),
        cmocka_unit_test(the_program_may_define_files),
        cmocka_unit_test(names_without_bounds_are_left_out),
    };
    return cmocka_run_group_tests_name("dwarf_line_files", tests, NULL, NULL);
}
