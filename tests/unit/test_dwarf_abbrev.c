#include "debuginfo/dwarf_abbrev.h"

#include <dwarf.h>

#include "debuginfo/dwarf_abbrev_cache.h"
#include "tests/support/dwarf_bytes.h"
#include "tests/support/test.h"

static const struct dwarf_encoding usual = {5, 8, 4, false};

static void put_declaration(struct dwarf_bytes *bytes, uint64_t code, uint64_t tag, bool children) {
    put_uleb(bytes, code);
    put_uleb(bytes, tag);
    put_u8(bytes, children);
}

static void put_attribute(struct dwarf_bytes *bytes, uint64_t attribute, uint64_t form) {
    put_uleb(bytes, attribute);
    put_uleb(bytes, form);
}

static struct dwarf_abbrevs *read_table(const struct dwarf_bytes *bytes, uint64_t offset) {
    struct dwarf_abbrevs *abbrevs = NULL;
    struct error error;
    uint64_t budget = 1 << 20;
    assert_int_equal(
        dwarf_abbrevs_read(dwarf_bytes_span(bytes), offset, &usual, &budget, &abbrevs, &error),
        ERR_OK);
    return abbrevs;
}

static void a_run_of_fixed_sizes_is_one_step(void **state) {
    (void)state;
    CLEANUP(dwarf_bytes_clear) struct dwarf_bytes bytes = {0};
    put_declaration(&bytes, 1, DW_TAG_base_type, false);
    put_attribute(&bytes, DW_AT_byte_size, DW_FORM_data1);
    put_attribute(&bytes, DW_AT_encoding, DW_FORM_data1);
    put_attribute(&bytes, DW_AT_name, DW_FORM_strp);
    put_attribute(&bytes, 0, 0);
    put_u8(&bytes, 0);
    CLEANUP(cleanup_dwarf_abbrevs) struct dwarf_abbrevs *abbrevs = read_table(&bytes, 0);
    const struct dwarf_abbrev *abbrev = dwarf_abbrevs_find(abbrevs, 1);
    assert_non_null(abbrev);
    assert_int_equal(abbrev->tag, DW_TAG_base_type);
    assert_int_equal(abbrev->skip_count, 0);
    assert_int_equal(abbrev->fixed_size, 6);
    assert_false(abbrevs->damaged);
    assert_null(dwarf_abbrevs_find(abbrevs, 2));
    assert_null(dwarf_abbrevs_find(abbrevs, 0));
}

static void variable_sizes_cut_a_run(void **state) {
    (void)state;
    CLEANUP(dwarf_bytes_clear) struct dwarf_bytes bytes = {0};
    put_declaration(&bytes, 1, DW_TAG_variable, false);
    put_attribute(&bytes, DW_AT_name, DW_FORM_strp);
    put_attribute(&bytes, DW_AT_decl_line, DW_FORM_udata);
    put_attribute(&bytes, DW_AT_type, DW_FORM_ref4);
    put_attribute(&bytes, DW_AT_location, DW_FORM_exprloc);
    put_attribute(&bytes, 0, 0);
    put_u8(&bytes, 0);
    CLEANUP(cleanup_dwarf_abbrevs) struct dwarf_abbrevs *abbrevs = read_table(&bytes, 0);
    const struct dwarf_abbrev *abbrev = dwarf_abbrevs_find(abbrevs, 1);
    assert_int_equal(abbrev->skip_count, 4);
    const struct dwarf_step *steps = abbrevs->steps + abbrev->skip_first;
    assert_int_equal(steps[0].kind, DWARF_STEP_FIXED);
    assert_int_equal(steps[1].kind, DWARF_STEP_LEB);
    assert_int_equal(steps[2].kind, DWARF_STEP_FIXED);
    assert_int_equal(steps[3].kind, DWARF_STEP_BLOCK);
}

static void functions_take_what_is_wanted_of_them(void **state) {
    (void)state;
    CLEANUP(dwarf_bytes_clear) struct dwarf_bytes bytes = {0};
    put_declaration(&bytes, 1, DW_TAG_subprogram, true);
    put_attribute(&bytes, DW_AT_external, DW_FORM_flag_present);
    put_attribute(&bytes, DW_AT_name, DW_FORM_strp);
    put_attribute(&bytes, DW_AT_decl_file, DW_FORM_implicit_const);
    put_sleb(&bytes, -3);
    put_attribute(&bytes, DW_AT_low_pc, DW_FORM_addr);
    put_attribute(&bytes, DW_AT_name, DW_FORM_data8);
    put_attribute(&bytes, 0, 0);
    put_u8(&bytes, 0);
    CLEANUP(cleanup_dwarf_abbrevs) struct dwarf_abbrevs *abbrevs = read_table(&bytes, 0);
    const struct dwarf_abbrev *abbrev = dwarf_abbrevs_find(abbrevs, 1);
    assert_int_equal(abbrev->flags, DWARF_ABBREV_DEFINED | DWARF_ABBREV_CHILDREN |
                                        DWARF_ABBREV_SUBPROGRAM | DWARF_ABBREV_SCOPE |
                                        DWARF_ABBREV_CODE);
    const struct dwarf_step *steps = abbrevs->steps + abbrev->take_first;
    assert_int_equal(abbrev->take_count, 4);
    assert_int_equal(steps[0].slot, DWARF_SLOT_NAME);
    assert_int_equal(steps[1].slot, DWARF_SLOT_DECL_FILE);
    assert_int_equal(steps[1].implicit_const, -3);
    assert_int_equal(steps[2].slot, DWARF_SLOT_LOW_PC);
    /* Of an attribute given twice the first counts; the other is stepped over. */
    assert_int_equal(steps[3].kind, DWARF_STEP_FIXED);
    assert_int_equal(steps[3].size, 8);
}

static void a_declaration_of_a_function_has_no_code(void **state) {
    (void)state;
    CLEANUP(dwarf_bytes_clear) struct dwarf_bytes bytes = {0};
    put_declaration(&bytes, 1, DW_TAG_subprogram, false);
    put_attribute(&bytes, DW_AT_name, DW_FORM_strp);
    put_attribute(&bytes, 0, 0);
    put_u8(&bytes, 0);
    CLEANUP(cleanup_dwarf_abbrevs) struct dwarf_abbrevs *abbrevs = read_table(&bytes, 0);
    assert_false(dwarf_abbrevs_find(abbrevs, 1)->flags & DWARF_ABBREV_CODE);
}

static void an_unknown_form_breaks_its_abbreviation_alone(void **state) {
    (void)state;
    CLEANUP(dwarf_bytes_clear) struct dwarf_bytes bytes = {0};
    put_declaration(&bytes, 1, DW_TAG_variable, false);
    put_attribute(&bytes, DW_AT_name, 0x7e);
    put_attribute(&bytes, DW_AT_type, DW_FORM_ref4);
    put_attribute(&bytes, 0, 0);
    put_declaration(&bytes, 2, DW_TAG_variable, false);
    put_attribute(&bytes, 0, 0);
    put_u8(&bytes, 0);
    CLEANUP(cleanup_dwarf_abbrevs) struct dwarf_abbrevs *abbrevs = read_table(&bytes, 0);
    assert_true(dwarf_abbrevs_find(abbrevs, 1)->flags & DWARF_ABBREV_BROKEN);
    assert_false(dwarf_abbrevs_find(abbrevs, 2)->flags & DWARF_ABBREV_BROKEN);
}

static void codes_far_apart_are_found_too(void **state) {
    (void)state;
    CLEANUP(dwarf_bytes_clear) struct dwarf_bytes bytes = {0};
    const uint64_t codes[] = {UINT64_MAX, 7, (uint64_t)1 << 40, 1};
    for (size_t i = 0; i < ARRAY_SIZE(codes); i++) {
        put_declaration(&bytes, codes[i], DW_TAG_variable + i, false);
        put_attribute(&bytes, 0, 0);
    }
    put_u8(&bytes, 0);
    CLEANUP(cleanup_dwarf_abbrevs) struct dwarf_abbrevs *abbrevs = read_table(&bytes, 0);
    for (size_t i = 0; i < ARRAY_SIZE(codes); i++)
        assert_int_equal(dwarf_abbrevs_find(abbrevs, codes[i])->tag, DW_TAG_variable + i);
    assert_null(dwarf_abbrevs_find(abbrevs, 2));
    assert_null(dwarf_abbrevs_find(abbrevs, UINT64_MAX - 1));
}

static void a_table_cut_short_keeps_what_came_before(void **state) {
    (void)state;
    CLEANUP(dwarf_bytes_clear) struct dwarf_bytes bytes = {0};
    put_declaration(&bytes, 1, DW_TAG_variable, false);
    put_attribute(&bytes, 0, 0);
    size_t whole = bytes.buffer.size;
    put_declaration(&bytes, 2, DW_TAG_variable, false);
    put_attribute(&bytes, DW_AT_decl_line, DW_FORM_implicit_const);
    put_sleb(&bytes, 1000);
    put_attribute(&bytes, 0, 0);
    size_t end = bytes.buffer.size;
    for (size_t size = whole; size < end; size++) {
        bytes.buffer.size = size;
        CLEANUP(cleanup_dwarf_abbrevs) struct dwarf_abbrevs *abbrevs = read_table(&bytes, 0);
        assert_true(abbrevs->damaged);
        assert_non_null(dwarf_abbrevs_find(abbrevs, 1));
        assert_null(dwarf_abbrevs_find(abbrevs, 2));
    }
}

static void one_declaration_is_found_without_the_table(void **state) {
    (void)state;
    CLEANUP(dwarf_bytes_clear) struct dwarf_bytes bytes = {0};
    put_u8(&bytes, 0xff); /* not ours */
    put_declaration(&bytes, 1, DW_TAG_variable, false);
    put_attribute(&bytes, DW_AT_decl_line, DW_FORM_implicit_const);
    put_sleb(&bytes, 77);
    put_attribute(&bytes, 0, 0);
    put_declaration(&bytes, 9, DW_TAG_compile_unit, true);
    put_attribute(&bytes, DW_AT_language, DW_FORM_data1);
    put_attribute(&bytes, 0, 0);
    put_u8(&bytes, 0);
    struct dwarf_declaration declaration;
    uint64_t budget = 100;
    struct span section = dwarf_bytes_span(&bytes);
    assert_true(dwarf_declaration_find(section, 1, 9, &budget, &declaration));
    assert_int_equal(declaration.tag, DW_TAG_compile_unit);
    assert_true(declaration.has_children);
    struct dwarf_specification specification;
    bool damaged = false;
    assert_true(dwarf_declaration_next(&declaration, &specification, &damaged));
    assert_int_equal(specification.attribute, DW_AT_language);
    assert_false(dwarf_declaration_next(&declaration, &specification, &damaged));
    assert_false(damaged);
    assert_false(dwarf_declaration_find(section, 1, 2, &budget, &declaration));
    assert_false(dwarf_declaration_find(section, section.size, 1, &budget, &declaration));
    budget = 2;
    assert_false(dwarf_declaration_find(section, 1, 9, &budget, &declaration));
    assert_int_equal(budget, 0);
}

static void units_share_the_table_that_they_name(void **state) {
    (void)state;
    CLEANUP(dwarf_bytes_clear) struct dwarf_bytes bytes = {0};
    put_u8(&bytes, 0);
    put_declaration(&bytes, 1, DW_TAG_compile_unit, false);
    put_attribute(&bytes, DW_AT_low_pc, DW_FORM_addr);
    put_attribute(&bytes, 0, 0);
    put_u8(&bytes, 0);
    CLEANUP(cleanup_dwarf_abbrev_cache)
    struct dwarf_abbrev_cache *cache = dwarf_abbrev_cache_new(dwarf_bytes_span(&bytes));
    const struct dwarf_encoding narrow = {4, 4, 4, false};
    const struct dwarf_abbrevs *one;
    const struct dwarf_abbrevs *other;
    struct error error;
    assert_int_equal(dwarf_abbrev_cache_get(cache, 1, &usual, &one, &error), ERR_OK);
    assert_int_equal(dwarf_abbrev_cache_get(cache, 1, &usual, &other, &error), ERR_OK);
    assert_ptr_equal(one, other);
    assert_int_equal(dwarf_abbrev_cache_get(cache, 1, &narrow, &other, &error), ERR_OK);
    assert_int_equal(dwarf_abbrevs_find(one, 1)->fixed_size, 8);
    assert_int_equal(dwarf_abbrevs_find(other, 1)->fixed_size, 4);
    assert_int_equal(dwarf_abbrev_cache_get(cache, 100, &usual, &other, &error), ERR_MALFORMED);
}

/* Each unit may name a place of its own inside one table, which would be read again for each. */
static void tables_that_overlap_too_much_are_refused(void **state) {
    (void)state;
    CLEANUP(dwarf_bytes_clear) struct dwarf_bytes bytes = {0};
    const size_t count = 20000;
    for (size_t i = 0; i < count; i++) {
        put_declaration(&bytes, 1, DW_TAG_variable, false);
        put_attribute(&bytes, 0, 0);
    }
    put_u8(&bytes, 0);
    CLEANUP(cleanup_dwarf_abbrev_cache)
    struct dwarf_abbrev_cache *cache = dwarf_abbrev_cache_new(dwarf_bytes_span(&bytes));
    enum err err = ERR_OK;
    size_t reads = 0;
    struct error error;
    for (; err == ERR_OK && reads < count; reads++) {
        const struct dwarf_abbrevs *abbrevs;
        err = dwarf_abbrev_cache_get(cache, 5 * reads, &usual, &abbrevs, &error);
    }
    assert_int_equal(err, ERR_LIMIT);
    assert_true(reads < 100);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_run_of_fixed_sizes_is_one_step),
        cmocka_unit_test(variable_sizes_cut_a_run),
        cmocka_unit_test(functions_take_what_is_wanted_of_them),
        cmocka_unit_test(a_declaration_of_a_function_has_no_code),
        cmocka_unit_test(an_unknown_form_breaks_its_abbreviation_alone),
        cmocka_unit_test(codes_far_apart_are_found_too),
        cmocka_unit_test(a_table_cut_short_keeps_what_came_before),
        cmocka_unit_test(one_declaration_is_found_without_the_table),
        cmocka_unit_test(units_share_the_table_that_they_name),
        cmocka_unit_test(tables_that_overlap_too_much_are_refused),
    };
    return cmocka_run_group_tests_name("dwarf_abbrev", tests, NULL, NULL);
}
