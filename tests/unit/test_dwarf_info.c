#include "debuginfo/dwarf_info.h"

#include <dwarf.h>

#include "debuginfo/dwarf_die.h"
#include "tests/support/dwarf_site.h"
#include "tests/support/test.h"

/* A unit DIE with a name and nothing below it. */
static void put_named_unit(struct dwarf_site *site, const struct dwarf_site_unit *unit,
                           const char *name) {
    size_t begin = begin_unit(site, unit);
    struct dwarf_bytes *bytes = unit->version < 5 && unit->type == DW_UT_type ? &site->types
                                                                              : &site->info;
    put_uleb(bytes, 1);
    put_text(bytes, name);
    end_unit(site, unit, begin);
}

static void declare_named_unit(struct dwarf_site *site, uint64_t tag) {
    declare(site, 1, tag, false, DW_AT_name, DW_FORM_string, 0);
    end_declarations(site);
}

static void expect_text(struct span text, const char *expected) {
    assert_true(span_equal_cstr(text, expected));
}

static void reads_headers_of_every_version_size_and_byte_order(void **state) {
    (void)state;
    const uint8_t address_sizes[] = {2, 4, 8};
    for (unsigned choice = 0; choice < 4 * 3 * 2 * 2; choice++) {
        const struct dwarf_site_unit unit = {
            .version = (uint16_t)(2 + choice % 4),
            .type = DW_UT_compile,
            .address_size = address_sizes[choice / 4 % 3],
            .offset_size = choice / 12 % 2 ? 8 : 4,
        };
        CLEANUP(dwarf_site_clear) struct dwarf_site site = {0};
        if (choice / 24)
            dwarf_site_set_big_endian(&site);
        declare_named_unit(&site, DW_TAG_compile_unit);
        put_named_unit(&site, &unit, "one.c");
        put_named_unit(&site, &unit, "two.c");
        dwarf_site_read(&site);
        assert_int_equal(dwarf_info_unit_count(site.units), 2);
        assert_null(dwarf_info_damage(site.units));
        const struct dwarf_unit *second = dwarf_info_unit(site.units, 1);
        assert_null(second->damage);
        assert_int_equal(second->bases.encoding.version, unit.version);
        assert_int_equal(second->bases.encoding.address_size, unit.address_size);
        assert_int_equal(second->bases.encoding.offset_size, unit.offset_size);
        assert_int_equal(second->offset, site.info.buffer.size / 2);
        assert_true(second->has_code);
        expect_text(second->name, "two.c");
    }
}

static void tells_the_kinds_of_version_5_units_apart(void **state) {
    (void)state;
    const struct {
        uint8_t type;
        uint64_t tag;
        bool has_id;
        bool has_code;
    } kinds[] = {
        {DW_UT_compile, DW_TAG_compile_unit, false, true},
        {DW_UT_partial, DW_TAG_partial_unit, false, true},
        {DW_UT_skeleton, DW_TAG_skeleton_unit, true, true},
        {DW_UT_split_compile, DW_TAG_compile_unit, true, true},
        {DW_UT_type, DW_TAG_type_unit, true, false},
        {DW_UT_split_type, DW_TAG_type_unit, true, false},
    };
    for (size_t i = 0; i < ARRAY_SIZE(kinds); i++) {
        CLEANUP(dwarf_site_clear) struct dwarf_site site = {0};
        declare_named_unit(&site, kinds[i].tag);
        const struct dwarf_site_unit unit = {.version = 5,
                                             .type = kinds[i].type,
                                             .address_size = 8,
                                             .offset_size = 4,
                                             .id = 0x1122334455667788,
                                             .type_offset = 24};
        put_named_unit(&site, &unit, "x");
        dwarf_site_read(&site);
        const struct dwarf_unit *read = dwarf_info_unit(site.units, 0);
        assert_null(read->damage);
        assert_int_equal(read->type, kinds[i].type);
        assert_int_equal(read->has_id, kinds[i].has_id);
        assert_int_equal(read->has_code, kinds[i].has_code);
        if (kinds[i].has_id)
            assert_true(read->id == 0x1122334455667788);
    }
}

static void the_unit_die_tells_the_kinds_of_old_units_apart(void **state) {
    (void)state;
    CLEANUP(dwarf_site_clear) struct dwarf_site site = {0};
    declare(&site, 1, DW_TAG_partial_unit, false, 0);
    declare(&site, 2, DW_TAG_compile_unit, false, DW_AT_GNU_dwo_name, DW_FORM_string,
            DW_AT_GNU_dwo_id, DW_FORM_data8, DW_AT_GNU_addr_base, DW_FORM_sec_offset,
            DW_AT_GNU_ranges_base, DW_FORM_sec_offset, 0);
    end_declarations(&site);
    size_t begin = begin_plain_unit(&site);
    put_uleb(&site.info, 1);
    end_plain_unit(&site, begin);
    begin = begin_plain_unit(&site);
    put_uleb(&site.info, 2);
    put_text(&site.info, "x.dwo");
    put_number(&site.info, 8, 77);
    put_number(&site.info, 4, 16);
    put_number(&site.info, 4, 32);
    end_plain_unit(&site, begin);
    dwarf_site_read(&site);
    assert_int_equal(dwarf_info_unit(site.units, 0)->type, DW_UT_partial);
    const struct dwarf_unit *skeleton = dwarf_info_unit(site.units, 1);
    assert_int_equal(skeleton->type, DW_UT_skeleton);
    assert_int_equal(skeleton->id, 77);
    assert_int_equal(skeleton->bases.addr_base, 16);
    assert_int_equal(skeleton->bases.gnu_ranges_base, 0);
    assert_int_equal(skeleton->gnu_ranges_base, 32);
    expect_text(skeleton->dwo_name, "x.dwo");
}

static void type_units_are_found_by_their_signature(void **state) {
    (void)state;
    CLEANUP(dwarf_site_clear) struct dwarf_site site = {0};
    declare_named_unit(&site, DW_TAG_type_unit);
    struct dwarf_site_unit unit = {
        .version = 4, .type = DW_UT_type, .address_size = 8, .offset_size = 4, .type_offset = 30};
    for (uint64_t id = 5; id > 0; id--) {
        unit.id = id << 60 | id;
        put_named_unit(&site, &unit, "t");
    }
    dwarf_site_read(&site);
    const struct dwarf_unit *found = dwarf_info_type_unit(site.units, (uint64_t)2 << 60 | 2);
    assert_non_null(found);
    assert_int_equal(found->number, 3);
    assert_true(found->in_types);
    assert_null(dwarf_info_type_unit(site.units, 2));
}

static void offsets_lead_to_the_unit_that_covers_them(void **state) {
    (void)state;
    CLEANUP(dwarf_site_clear) struct dwarf_site site = {0};
    declare_named_unit(&site, DW_TAG_compile_unit);
    const struct dwarf_site_unit unit = {
        .version = 4, .type = DW_UT_compile, .address_size = 8, .offset_size = 4};
    for (int i = 0; i < 3; i++)
        put_named_unit(&site, &unit, "x.c");
    dwarf_site_read(&site);
    size_t size = site.info.buffer.size / 3;
    for (size_t offset = 0; offset < 3 * size; offset++)
        assert_int_equal(dwarf_info_unit_at(site.units, offset)->number, offset / size);
    assert_null(dwarf_info_unit_at(site.units, 3 * size));
    assert_null(dwarf_info_unit_at(site.units, UINT64_MAX));
}

static void a_header_that_cannot_be_read_costs_its_unit(void **state) {
    (void)state;
    const struct dwarf_site_unit broken[] = {
        {.version = 1, .type = DW_UT_compile, .address_size = 8, .offset_size = 4},
        {.version = 6, .type = DW_UT_compile, .address_size = 8, .offset_size = 4},
        {.version = 4, .type = DW_UT_compile, .address_size = 3, .offset_size = 4},
        {.version = 5, .type = 0x80, .address_size = 8, .offset_size = 4},
        {.version = 4,
         .type = DW_UT_compile,
         .address_size = 8,
         .offset_size = 4,
         .abbrev_offset = 1000},
    };
    const struct dwarf_site_unit good = {
        .version = 4, .type = DW_UT_compile, .address_size = 8, .offset_size = 4};
    for (size_t i = 0; i < ARRAY_SIZE(broken); i++) {
        CLEANUP(dwarf_site_clear) struct dwarf_site site = {0};
        declare_named_unit(&site, DW_TAG_compile_unit);
        put_named_unit(&site, &broken[i], "bad.c");
        put_named_unit(&site, &good, "good.c");
        dwarf_site_read(&site);
        assert_int_equal(dwarf_info_unit_count(site.units), 2);
        assert_non_null(dwarf_info_unit(site.units, 0)->damage);
        assert_null(dwarf_info_unit(site.units, 1)->damage);
        assert_null(dwarf_info_damage(site.units));
    }
}

static void a_length_that_leads_outside_ends_the_list(void **state) {
    (void)state;
    const uint64_t lengths[] = {0xfffffff0, 0xfffffffe, 0x7fffffff, 200};
    for (size_t i = 0; i < ARRAY_SIZE(lengths); i++) {
        CLEANUP(dwarf_site_clear) struct dwarf_site site = {0};
        declare_named_unit(&site, DW_TAG_compile_unit);
        const struct dwarf_site_unit unit = {
            .version = 4, .type = DW_UT_compile, .address_size = 8, .offset_size = 4};
        put_named_unit(&site, &unit, "good.c");
        put_number(&site.info, 4, lengths[i]);
        put_bytes(&site.info, span_cstr("no unit at all"));
        dwarf_site_read(&site);
        assert_int_equal(dwarf_info_unit_count(site.units), 1);
        assert_non_null(dwarf_info_damage(site.units));
    }
}

static void zeros_between_units_are_padding(void **state) {
    (void)state;
    CLEANUP(dwarf_site_clear) struct dwarf_site site = {0};
    declare_named_unit(&site, DW_TAG_compile_unit);
    const struct dwarf_site_unit unit = {
        .version = 4, .type = DW_UT_compile, .address_size = 8, .offset_size = 4};
    put_named_unit(&site, &unit, "one.c");
    put_number(&site.info, 8, 0);
    put_named_unit(&site, &unit, "two.c");
    dwarf_site_read(&site);
    assert_int_equal(dwarf_info_unit_count(site.units), 2);
    assert_null(dwarf_info_damage(site.units));
    expect_text(dwarf_info_unit(site.units, 1)->name, "two.c");
}

static void a_unit_die_that_cannot_be_read_costs_its_unit(void **state) {
    (void)state;
    CLEANUP(dwarf_site_clear) struct dwarf_site site = {0};
    declare(&site, 1, DW_TAG_compile_unit, false, DW_AT_name, DW_FORM_string, 0);
    declare(&site, 2, DW_TAG_variable, false, 0);
    declare(&site, 3, DW_TAG_compile_unit, false, DW_AT_name, 0x7e, 0);
    end_declarations(&site);
    const uint8_t codes[] = {0, 1, 2, 3, 9};
    for (size_t i = 0; i < ARRAY_SIZE(codes); i++) {
        size_t begin = begin_plain_unit(&site);
        put_u8(&site.info, codes[i]);
        put_u8(&site.info, 'x'); /* of code 1: a string without its end */
        end_plain_unit(&site, begin);
    }
    size_t begin = begin_plain_unit(&site);
    end_plain_unit(&site, begin);
    dwarf_site_read(&site);
    assert_int_equal(dwarf_info_unit_count(site.units), 6);
    for (size_t i = 0; i < 6; i++)
        assert_non_null(dwarf_info_unit(site.units, i)->damage);
}

static void strings_are_found_through_every_form(void **state) {
    (void)state;
    CLEANUP(dwarf_site_clear) struct dwarf_site site = {0};
    declare(&site, 1, DW_TAG_compile_unit, false, DW_AT_name, DW_FORM_strx1, DW_AT_comp_dir,
            DW_FORM_line_strp, DW_AT_str_offsets_base, DW_FORM_sec_offset, DW_AT_dwo_name,
            DW_FORM_strp, 0);
    end_declarations(&site);
    put_text(&site.str, "zero");
    put_text(&site.str, "one.c");
    put_text(&site.line_str, "-/directory");
    put_number(&site.str_offsets, 8, 0xdead);
    put_number(&site.str_offsets, 4, 0);
    put_number(&site.str_offsets, 4, 5);
    const struct dwarf_site_unit unit = {
        .version = 5, .type = DW_UT_compile, .address_size = 8, .offset_size = 4};
    size_t begin = begin_unit(&site, &unit);
    put_uleb(&site.info, 1);
    put_u8(&site.info, 1);
    put_number(&site.info, 4, 1);
    put_number(&site.info, 4, 8);
    put_number(&site.info, 4, 5);
    end_unit(&site, &unit, begin);
    dwarf_site_read(&site);
    const struct dwarf_unit *read = dwarf_info_unit(site.units, 0);
    assert_null(read->damage);
    expect_text(read->name, "one.c");
    expect_text(read->comp_dir, "/directory");
    expect_text(read->dwo_name, "one.c");
}

static void bases_default_to_the_first_table_of_version_5(void **state) {
    (void)state;
    const struct dwarf_site_unit units[] = {
        {.version = 4, .type = DW_UT_compile, .address_size = 8, .offset_size = 4},
        {.version = 5, .type = DW_UT_compile, .address_size = 8, .offset_size = 4},
        {.version = 5, .type = DW_UT_compile, .address_size = 8, .offset_size = 8},
    };
    const uint64_t bases[] = {0, 8, 16};
    for (size_t i = 0; i < ARRAY_SIZE(units); i++) {
        CLEANUP(dwarf_site_clear) struct dwarf_site site = {0};
        declare_named_unit(&site, DW_TAG_compile_unit);
        put_named_unit(&site, &units[i], "x");
        dwarf_site_read(&site);
        const struct dwarf_unit_bases *read = &dwarf_info_unit(site.units, 0)->bases;
        assert_int_equal(read->str_offsets_base, bases[i]);
        assert_int_equal(read->addr_base, bases[i]);
        assert_false(read->has_rnglists_base);
        assert_false(read->has_low_pc);
    }
}

static void of_units_with_one_line_table_the_first_has_its_rows(void **state) {
    (void)state;
    CLEANUP(dwarf_site_clear) struct dwarf_site site = {0};
    declare(&site, 1, DW_TAG_partial_unit, false, DW_AT_stmt_list, DW_FORM_data4, 0);
    declare(&site, 2, DW_TAG_compile_unit, false, DW_AT_stmt_list, DW_FORM_sec_offset, 0);
    declare(&site, 3, DW_TAG_compile_unit, false, 0);
    end_declarations(&site);
    const uint8_t codes[] = {1, 2, 2, 3, 2};
    const uint8_t offsets[] = {10, 10, 10, 0, 20};
    const bool expected[] = {false, true, false, false, true};
    for (size_t i = 0; i < ARRAY_SIZE(codes); i++) {
        size_t begin = begin_plain_unit(&site);
        put_u8(&site.info, codes[i]);
        put_number(&site.info, 4, offsets[i]);
        end_plain_unit(&site, begin);
    }
    dwarf_site_read(&site);
    for (size_t i = 0; i < ARRAY_SIZE(codes); i++)
        assert_int_equal(dwarf_info_unit(site.units, i)->first_rows, expected[i]);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(reads_headers_of_every_version_size_and_byte_order),
        cmocka_unit_test(tells_the_kinds_of_version_5_units_apart),
        cmocka_unit_test(the_unit_die_tells_the_kinds_of_old_units_apart),
        cmocka_unit_test(type_units_are_found_by_their_signature),
        cmocka_unit_test(offsets_lead_to_the_unit_that_covers_them),
        cmocka_unit_test(a_header_that_cannot_be_read_costs_its_unit),
        cmocka_unit_test(a_length_that_leads_outside_ends_the_list),
        cmocka_unit_test(zeros_between_units_are_padding),
        cmocka_unit_test(a_unit_die_that_cannot_be_read_costs_its_unit),
        cmocka_unit_test(strings_are_found_through_every_form),
        cmocka_unit_test(bases_default_to_the_first_table_of_version_5),
        cmocka_unit_test(of_units_with_one_line_table_the_first_has_its_rows),
    };
    return cmocka_run_group_tests_name("dwarf_info", tests, NULL, NULL);
}
