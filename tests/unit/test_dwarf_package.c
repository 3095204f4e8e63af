#include "debuginfo/dwarf_package.h"

#include "tests/support/package_index.h"
#include "tests/support/test.h"

static struct dwarf_package_index *open_index(struct dwarf_bytes *bytes) {
    struct dwarf_package_index *index;
    struct error error;
    assert_int_equal(dwarf_package_index_new(dwarf_bytes_span(bytes), bytes->big_endian,
                                             ".debug_cu_index", &index, &error),
                     ERR_OK);
    return index;
}

static void refuse_index(struct dwarf_bytes *bytes, enum err expected) {
    struct dwarf_package_index *index;
    struct error error;
    assert_int_equal(dwarf_package_index_new(dwarf_bytes_span(bytes), bytes->big_endian,
                                             ".debug_cu_index", &index, &error),
                     expected);
}

/* All collide in a table of four slots; the last one by its step too. */
static const struct package_index_row rows[] = {
    {0x0000000100000004, {0x100, 10, 0, 0}, {0x50, 5, 0, 0}},
    {0x0000000300000008, {0x000, 15, 7, 0}, {0x100, 6, 3, 0}},
    {0x000000010000000c, {0x200, 30, 0, 0}, {0x10, 7, 0, 0}},
};

static const struct package_index_site old_site = {2, 4, {1, 3, 6, 0}, 3, rows, 3};

static void finds_units_by_id_in_both_versions_and_byte_orders(void **state) {
    (void)state;
    for (unsigned i = 0; i < 4; i++) {
        struct dwarf_bytes bytes = {.big_endian = i & 1};
        struct package_index_site site = old_site;
        site.version = i & 2 ? 5 : 2;
        put_package_index(&bytes, &site);
        struct dwarf_package_index *index = open_index(&bytes);
        assert_int_equal(dwarf_package_index_unit_count(index), 3);
        for (unsigned row = 0; row < 3; row++) {
            struct dwarf_parts parts;
            assert_true(dwarf_package_index_find(index, rows[row].id, &parts));
            assert_int_equal(parts.info.offset, rows[row].offsets[0]);
            assert_int_equal(parts.info.size, rows[row].sizes[0]);
            assert_int_equal(parts.abbrev.offset, rows[row].offsets[1]);
            assert_int_equal(parts.str_offsets.offset, rows[row].offsets[2]);
            assert_int_equal(parts.str_offsets.size, rows[row].sizes[2]);
            assert_int_equal(parts.line.size, 0);
        }
        struct dwarf_parts parts;
        assert_false(dwarf_package_index_find(index, 4, &parts));
        dwarf_package_index_free(index);
        dwarf_bytes_clear(&bytes);
    }
}

static void finds_units_by_their_place(void **state) {
    (void)state;
    struct dwarf_bytes bytes = {.big_endian = false};
    put_package_index(&bytes, &old_site);
    struct dwarf_package_index *index = open_index(&bytes);
    struct dwarf_parts parts;
    assert_true(dwarf_package_index_at(index, 0, &parts));
    assert_int_equal(parts.abbrev.offset, 15);
    assert_true(dwarf_package_index_at(index, 0xff, &parts));
    assert_int_equal(parts.abbrev.offset, 15);
    assert_true(dwarf_package_index_at(index, 0x100, &parts));
    assert_int_equal(parts.abbrev.offset, 10);
    assert_false(dwarf_package_index_at(index, 0x150, &parts)); /* between two */
    assert_true(dwarf_package_index_at(index, 0x20f, &parts));
    assert_false(dwarf_package_index_at(index, 0x210, &parts));
    assert_false(dwarf_package_index_at(index, UINT64_MAX, &parts));
    dwarf_package_index_free(index);
    dwarf_bytes_clear(&bytes);
}

static void columns_mean_what_the_version_says(void **state) {
    (void)state;
    for (uint16_t version = 2; version <= 5; version += 3) {
        struct dwarf_bytes bytes = {.big_endian = false};
        struct package_index_site site = {version, 4, {8, 2, 4, 77}, 4, rows, 3};
        put_package_index(&bytes, &site);
        struct dwarf_package_index *index = open_index(&bytes);
        struct dwarf_parts parts;
        assert_true(dwarf_package_index_find(index, rows[1].id, &parts));
        assert_int_equal(parts.rnglists.size, version == 5 ? 0x100 : 0);
        assert_int_equal(parts.info.offset, 15); /* of .debug_types */
        assert_int_equal(parts.line.size, 3);
        dwarf_package_index_free(index);
        dwarf_bytes_clear(&bytes);
    }
}

static void an_empty_index_has_no_units(void **state) {
    (void)state;
    struct dwarf_bytes bytes = {.big_endian = false};
    struct dwarf_package_index *index = open_index(&bytes);
    struct dwarf_parts parts;
    assert_int_equal(dwarf_package_index_unit_count(index), 0);
    assert_false(dwarf_package_index_find(index, 0, &parts));
    assert_false(dwarf_package_index_at(index, 0, &parts));
    dwarf_package_index_free(index);
}

static void a_search_ends_in_a_full_table(void **state) {
    (void)state;
    struct dwarf_bytes bytes = {.big_endian = false};
    put_package_index(&bytes, &old_site);
    for (unsigned slot = 0; slot < 4; slot++)
        patch_number(&bytes, 16 + 4 * 8 + 4 * slot, 4, 1);
    struct dwarf_package_index *index = open_index(&bytes);
    struct dwarf_parts parts;
    assert_false(dwarf_package_index_find(index, 0x123456789, &parts));
    dwarf_package_index_free(index);
    dwarf_bytes_clear(&bytes);
}

static void a_row_that_is_not_there_is_no_unit(void **state) {
    (void)state;
    struct dwarf_bytes bytes = {.big_endian = false};
    put_package_index(&bytes, &old_site);
    for (unsigned slot = 0; slot < 4; slot++)
        patch_number(&bytes, 16 + 4 * 8 + 4 * slot, 4, 4);
    struct dwarf_package_index *index = open_index(&bytes);
    struct dwarf_parts parts;
    assert_false(dwarf_package_index_find(index, rows[0].id, &parts));
    dwarf_package_index_free(index);
    dwarf_bytes_clear(&bytes);
}

static void refuses_what_it_cannot_read(void **state) {
    (void)state;
    struct dwarf_bytes bytes = {.big_endian = false};
    put_package_index(&bytes, &old_site);
    patch_number(&bytes, 0, 4, 3);
    refuse_index(&bytes, ERR_UNSUPPORTED);
    patch_number(&bytes, 0, 4, 2);
    patch_number(&bytes, 12, 4, 3); /* slots: no power of two */
    refuse_index(&bytes, ERR_MALFORMED);
    patch_number(&bytes, 12, 4, 4);
    patch_number(&bytes, 8, 4, 0xffffffff); /* units */
    refuse_index(&bytes, ERR_MALFORMED);
    patch_number(&bytes, 8, 4, 3);
    patch_number(&bytes, 4, 4, 0); /* columns */
    refuse_index(&bytes, ERR_MALFORMED);
    patch_number(&bytes, 4, 4, 3);
    struct dwarf_package_index *index = open_index(&bytes);
    dwarf_package_index_free(index);
    bytes.buffer.size--;
    refuse_index(&bytes, ERR_MALFORMED);
    bytes.buffer.size = 15;
    refuse_index(&bytes, ERR_MALFORMED);
    dwarf_bytes_clear(&bytes);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(finds_units_by_id_in_both_versions_and_byte_orders),
        cmocka_unit_test(finds_units_by_their_place),
        cmocka_unit_test(columns_mean_what_the_version_says),
        cmocka_unit_test(an_empty_index_has_no_units),
        cmocka_unit_test(a_search_ends_in_a_full_table),
        cmocka_unit_test(a_row_that_is_not_there_is_no_unit),
        cmocka_unit_test(refuses_what_it_cannot_read),
    };
    return cmocka_run_group_tests_name("dwarf_package", tests, NULL, NULL);
}
