#include "debuginfo/dwarf_ranges.h"

#include <dwarf.h>

#include "base/cleanup.h"
#include "tests/support/dwarf_bytes.h"
#include "tests/support/test.h"

static const struct pc_range code[] = {{0x1000, 0x9000}};

/* Everything one read needs; a test fills in the sections. */
struct site {
    struct dwarf_bytes bytes;
    struct dwarf_bytes addr;
    struct dwarf_sections sections;
    struct dwarf_unit_bases bases;
    struct dwarf_extents extents;
    struct dwarf_range_reader reader;
    struct range_list list;
};

static void begin_site(struct site *site, uint16_t version, uint8_t address_size) {
    *site = (struct site){0};
    site->bases.encoding = (struct dwarf_encoding){version, address_size, 4, false};
    site->extents = (struct dwarf_extents){code, 1};
}

static void end_site(struct site *site) {
    dwarf_bytes_clear(&site->bytes);
    dwarf_bytes_clear(&site->addr);
    range_list_clear(&site->list);
}

static void read_attributes(struct site *site, const struct dwarf_range_attributes *attributes) {
    site->sections.ranges = dwarf_bytes_span(&site->bytes);
    site->sections.rnglists = dwarf_bytes_span(&site->bytes);
    site->sections.addr = dwarf_bytes_span(&site->addr);
    site->reader = (struct dwarf_range_reader){&site->sections, &site->bases, &site->extents,
                                               DWARF_RANGE_BUDGET, false};
    struct error error;
    assert_int_equal(dwarf_ranges_read(&site->reader, attributes, &site->list, &error), ERR_OK);
}

static void read_list(struct site *site, uint64_t offset) {
    read_attributes(site, &(struct dwarf_range_attributes){.has_ranges = true, .ranges = offset});
}

static void expect_range(const struct site *site, size_t position, uint64_t begin, uint64_t end) {
    assert_true(position < site->list.count);
    assert_int_equal(site->list.items[position].begin, begin);
    assert_int_equal(site->list.items[position].end, end);
}

static void put_pair(struct site *site, uint64_t first, uint64_t second) {
    put_number(&site->bytes, site->bases.encoding.address_size, first);
    put_number(&site->bytes, site->bases.encoding.address_size, second);
}

static void low_and_high_pc_are_one_range(void **state) {
    (void)state;
    struct site site;
    begin_site(&site, 4, 8);
    struct dwarf_range_attributes attributes = {
        .has_low_pc = true, .has_high_pc = true, .low_pc = 0x1000, .high_pc = 0x1010};
    read_attributes(&site, &attributes);
    assert_int_equal(site.list.count, 1);
    expect_range(&site, 0, 0x1000, 0x1010);
    attributes.high_pc_is_size = true;
    attributes.high_pc = 8;
    read_attributes(&site, &attributes);
    assert_int_equal(site.list.count, 1);
    expect_range(&site, 0, 0x1000, 0x1008);
    end_site(&site);
}

static void what_is_empty_backward_or_half_stated_has_no_range(void **state) {
    (void)state;
    struct site site;
    begin_site(&site, 4, 8);
    struct dwarf_range_attributes attributes = {
        .has_low_pc = true, .has_high_pc = true, .low_pc = 0x1000, .high_pc = 0x1000};
    read_attributes(&site, &attributes);
    assert_int_equal(site.list.count, 0);
    attributes.high_pc = 0xfff;
    read_attributes(&site, &attributes);
    assert_int_equal(site.list.count, 0);
    attributes.has_high_pc = false;
    read_attributes(&site, &attributes);
    assert_int_equal(site.list.count, 0);
    assert_false(site.reader.damaged);
    end_site(&site);
}

static void a_size_past_all_addresses_ends_with_them(void **state) {
    (void)state;
    struct site site;
    begin_site(&site, 4, 4);
    struct dwarf_range_attributes attributes = {.has_low_pc = true,
                                                .has_high_pc = true,
                                                .high_pc_is_size = true,
                                                .low_pc = 0x1000,
                                                .high_pc = UINT64_MAX};
    read_attributes(&site, &attributes);
    assert_int_equal(site.list.count, 1);
    expect_range(&site, 0, 0x1000, UINT32_MAX);
    end_site(&site);
}

static void every_kind_of_tombstone_is_dead(void **state) {
    (void)state;
    static const uint64_t tombstones[] = {0, 1, UINT64_MAX, UINT64_MAX - 1};
    for (size_t i = 0; i < ARRAY_SIZE(tombstones); i++) {
        struct site site;
        begin_site(&site, 4, 8);
        struct dwarf_range_attributes attributes = {.has_low_pc = true,
                                                    .has_high_pc = true,
                                                    .high_pc_is_size = true,
                                                    .low_pc = tombstones[i],
                                                    .high_pc = 0x2006};
        read_attributes(&site, &attributes);
        assert_int_equal(site.list.count, 0);
        end_site(&site);
    }
}

static void without_extents_only_the_largest_addresses_are_dead(void **state) {
    (void)state;
    struct site site;
    begin_site(&site, 4, 4);
    site.extents.count = 0;
    put_pair(&site, 0x10, 0x20);
    put_pair(&site, 0xfffffffe, 0xffffffff);
    put_pair(&site, 0, 0);
    read_list(&site, 0);
    assert_int_equal(site.list.count, 1);
    expect_range(&site, 0, 0x10, 0x20);
    end_site(&site);
}

static void pairs_count_from_the_unit_and_then_from_the_base_entry(void **state) {
    (void)state;
    struct site site;
    begin_site(&site, 4, 4);
    site.bases.has_low_pc = true;
    site.bases.low_pc = 0x2000;
    put_pair(&site, 0x10, 0x20);
    put_pair(&site, 0xffffffff, 0x3000);
    put_pair(&site, 0, 8);
    put_pair(&site, 0xfffffff0, 0xfffffff8); /* below the base */
    put_pair(&site, 0, 0);
    read_list(&site, 0);
    assert_int_equal(site.list.count, 3);
    expect_range(&site, 0, 0x2010, 0x2020);
    expect_range(&site, 1, 0x3000, 0x3008);
    expect_range(&site, 2, 0x2ff0, 0x2ff8);
    assert_false(site.reader.damaged);
    end_site(&site);
}

static void a_pair_of_tombstones_is_no_base_entry(void **state) {
    (void)state;
    struct site site;
    begin_site(&site, 4, 8);
    put_pair(&site, 0x1000, 0x1010);
    put_pair(&site, UINT64_MAX, UINT64_MAX);
    put_pair(&site, 0x2000, 0x2010);
    put_pair(&site, 0, 0);
    read_list(&site, 0);
    assert_int_equal(site.list.count, 2);
    expect_range(&site, 1, 0x2000, 0x2010);
    end_site(&site);
}

static void nothing_counts_from_a_dead_base(void **state) {
    (void)state;
    struct site site;
    begin_site(&site, 4, 8);
    put_pair(&site, UINT64_MAX, UINT64_MAX - 1);
    put_pair(&site, 0x1002, 0x1012); /* wraps around to code */
    put_pair(&site, UINT64_MAX, 0x2000);
    put_pair(&site, 0, 4);
    put_pair(&site, 0, 0);
    read_list(&site, 0);
    assert_int_equal(site.list.count, 1);
    expect_range(&site, 0, 0x2000, 0x2004);
    end_site(&site);
}

static void a_list_without_end_is_damage_and_keeps_what_was_read(void **state) {
    (void)state;
    struct site site;
    begin_site(&site, 4, 8);
    put_pair(&site, 0x1000, 0x1010);
    put_number(&site.bytes, 8, 0x2000);
    read_list(&site, 0);
    assert_int_equal(site.list.count, 1);
    assert_true(site.reader.damaged);
    read_list(&site, 1000);
    assert_int_equal(site.list.count, 0);
    assert_true(site.reader.damaged);
    end_site(&site);
}

static void a_version_4_dwo_counts_from_the_ranges_base(void **state) {
    (void)state;
    struct site site;
    begin_site(&site, 4, 8);
    put_pair(&site, 0, 0);
    put_pair(&site, 0x1000, 0x1010);
    put_pair(&site, 0, 0);
    site.bases.gnu_ranges_base = 16;
    read_list(&site, 0);
    assert_int_equal(site.list.count, 1);
    expect_range(&site, 0, 0x1000, 0x1010);
    end_site(&site);
}

/* One entry of each kind; in .debug_addr after 8 bytes of header 0x4000, 0x4010, 0x5000. */
static void put_all_kinds(struct site *site) {
    put_number(&site->addr, 8, 0);
    put_number(&site->addr, 8, 0x4000);
    put_number(&site->addr, 8, 0x4010);
    put_number(&site->addr, 8, 0x5000);
    site->bases.addr_base = 8;
    put_u8(&site->bytes, DW_RLE_offset_pair);
    put_uleb(&site->bytes, 0x100);
    put_uleb(&site->bytes, 0x180);
    put_u8(&site->bytes, DW_RLE_startx_endx);
    put_uleb(&site->bytes, 0);
    put_uleb(&site->bytes, 1);
    put_u8(&site->bytes, DW_RLE_startx_length);
    put_uleb(&site->bytes, 2);
    put_uleb(&site->bytes, 0x20);
    put_u8(&site->bytes, DW_RLE_start_end);
    put_pair(site, 0x6000, 0x6004);
    put_u8(&site->bytes, DW_RLE_start_length);
    put_number(&site->bytes, 8, 0x7000);
    put_uleb(&site->bytes, 8);
    put_u8(&site->bytes, DW_RLE_base_addressx);
    put_uleb(&site->bytes, 2);
    put_u8(&site->bytes, DW_RLE_offset_pair);
    put_uleb(&site->bytes, 1);
    put_uleb(&site->bytes, 2);
    put_u8(&site->bytes, DW_RLE_base_address);
    put_number(&site->bytes, 8, 0x8000);
    put_u8(&site->bytes, DW_RLE_offset_pair);
    put_uleb(&site->bytes, 3);
    put_uleb(&site->bytes, 4);
    put_u8(&site->bytes, DW_RLE_end_of_list);
}

static void only_offset_pairs_use_the_base(void **state) {
    (void)state;
    struct site site;
    begin_site(&site, 5, 8);
    site.bases.has_low_pc = true;
    site.bases.low_pc = 0x1000;
    put_all_kinds(&site);
    read_list(&site, 0);
    assert_false(site.reader.damaged);
    assert_int_equal(site.list.count, 7);
    expect_range(&site, 0, 0x1100, 0x1180);
    expect_range(&site, 1, 0x4000, 0x4010);
    expect_range(&site, 2, 0x5000, 0x5020);
    expect_range(&site, 3, 0x6000, 0x6004);
    expect_range(&site, 4, 0x7000, 0x7008);
    expect_range(&site, 5, 0x5001, 0x5002);
    expect_range(&site, 6, 0x8003, 0x8004);
    end_site(&site);
}

static void dead_and_live_entries_may_mix(void **state) {
    (void)state;
    struct site site;
    begin_site(&site, 5, 8);
    put_number(&site.addr, 8, UINT64_MAX);
    put_u8(&site.bytes, DW_RLE_startx_length);
    put_uleb(&site.bytes, 0);
    put_uleb(&site.bytes, 0x2000);
    put_u8(&site.bytes, DW_RLE_start_length);
    put_number(&site.bytes, 8, 0x1000);
    put_uleb(&site.bytes, 4);
    put_u8(&site.bytes, DW_RLE_base_addressx);
    put_uleb(&site.bytes, 0);
    put_u8(&site.bytes, DW_RLE_offset_pair);
    put_uleb(&site.bytes, 0x1001);
    put_uleb(&site.bytes, 0x1100);
    put_u8(&site.bytes, DW_RLE_end_of_list);
    read_list(&site, 0);
    assert_int_equal(site.list.count, 1);
    expect_range(&site, 0, 0x1000, 0x1004);
    assert_false(site.reader.damaged);
    end_site(&site);
}

static void an_index_outside_of_debug_addr_costs_one_entry(void **state) {
    (void)state;
    struct site site;
    begin_site(&site, 5, 8);
    put_u8(&site.bytes, DW_RLE_startx_length);
    put_uleb(&site.bytes, UINT64_MAX);
    put_uleb(&site.bytes, 4);
    put_u8(&site.bytes, DW_RLE_start_length);
    put_number(&site.bytes, 8, 0x1000);
    put_uleb(&site.bytes, 4);
    put_u8(&site.bytes, DW_RLE_end_of_list);
    read_list(&site, 0);
    assert_int_equal(site.list.count, 1);
    assert_true(site.reader.damaged);
    end_site(&site);
}

static void an_unknown_entry_ends_the_list_as_damage(void **state) {
    (void)state;
    struct site site;
    begin_site(&site, 5, 8);
    put_u8(&site.bytes, DW_RLE_start_length + 1);
    put_u8(&site.bytes, DW_RLE_end_of_list);
    read_list(&site, 0);
    assert_int_equal(site.list.count, 0);
    assert_true(site.reader.damaged);
    end_site(&site);
}

/* A table of two lists, [0x1000, 0x1001) and [0x1000, 0x1002). */
static void put_table(struct site *site, uint8_t offset_size) {
    size_t length = begin_length(&site->bytes, offset_size);
    put_number(&site->bytes, 2, 5);
    put_u8(&site->bytes, 8);
    put_u8(&site->bytes, 0);
    put_number(&site->bytes, 4, 2);
    put_number(&site->bytes, offset_size, (uint64_t)2 * offset_size);
    put_number(&site->bytes, offset_size, (uint64_t)2 * offset_size + 11);
    for (uint8_t size = 1; size <= 2; size++) {
        put_u8(&site->bytes, DW_RLE_start_length);
        put_number(&site->bytes, 8, 0x1000);
        put_uleb(&site->bytes, size);
        put_u8(&site->bytes, DW_RLE_end_of_list);
    }
    end_length(&site->bytes, length, offset_size);
}

static void read_indexed(struct site *site, uint64_t index) {
    read_attributes(site, &(struct dwarf_range_attributes){
                              .has_ranges = true, .ranges_is_index = true, .ranges = index});
}

static void a_list_index_counts_from_the_stated_base(void **state) {
    (void)state;
    struct site site;
    begin_site(&site, 5, 8);
    put_number(&site.bytes, 8, 0);
    put_table(&site, 4);
    site.bases.has_rnglists_base = true;
    site.bases.rnglists_base = 8 + 12;
    read_indexed(&site, 1);
    assert_int_equal(site.list.count, 1);
    expect_range(&site, 0, 0x1000, 0x1002);
    assert_false(site.reader.damaged);
    end_site(&site);
}

static void a_dwo_without_base_uses_the_first_table(void **state) {
    (void)state;
    for (uint8_t offset_size = 4; offset_size <= 8; offset_size += 4) {
        struct site site;
        begin_site(&site, 5, 8);
        site.bases.encoding.offset_size = offset_size;
        put_table(&site, offset_size);
        read_indexed(&site, 0);
        assert_int_equal(site.list.count, 1);
        expect_range(&site, 0, 0x1000, 0x1001);
        end_site(&site);
    }
}

static void a_list_index_past_the_table_is_damage(void **state) {
    (void)state;
    struct site site;
    begin_site(&site, 5, 8);
    put_table(&site, 4);
    read_indexed(&site, 2);
    assert_int_equal(site.list.count, 0);
    assert_true(site.reader.damaged);
    site.bases.has_rnglists_base = true;
    site.bases.rnglists_base = 3;
    read_indexed(&site, 0);
    assert_true(site.reader.damaged);
    site.bases.rnglists_base = UINT64_MAX;
    read_indexed(&site, 0);
    assert_true(site.reader.damaged);
    end_site(&site);
}

static void the_budget_bounds_what_is_read(void **state) {
    (void)state;
    struct site site;
    begin_site(&site, 5, 8);
    put_all_kinds(&site);
    read_list(&site, 0);
    size_t all = site.list.count;
    site.reader.budget = 3;
    struct dwarf_range_attributes attributes = {.has_ranges = true};
    struct error error;
    assert_int_equal(dwarf_ranges_read(&site.reader, &attributes, &site.list, &error), ERR_OK);
    assert_true(site.list.count < all);
    assert_int_equal(site.reader.budget, 0);
    assert_true(site.reader.damaged);
    end_site(&site);
}

static void reads_big_endian_addresses(void **state) {
    (void)state;
    struct site site;
    begin_site(&site, 3, 4);
    site.bases.encoding.big_endian = true;
    site.bytes.big_endian = true;
    site.addr.big_endian = true;
    put_pair(&site, 0x1000, 0x1010);
    put_pair(&site, 0, 0);
    put_number(&site.addr, 4, 0x12345678);
    read_list(&site, 0);
    expect_range(&site, 0, 0x1000, 0x1010);
    uint64_t address;
    assert_true(dwarf_address_at(&site.sections, &site.bases, 0, &address));
    assert_int_equal(address, 0x12345678);
    assert_false(dwarf_address_at(&site.sections, &site.bases, 1, &address));
    end_site(&site);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(low_and_high_pc_are_one_range),
        cmocka_unit_test(what_is_empty_backward_or_half_stated_has_no_range),
        cmocka_unit_test(a_size_past_all_addresses_ends_with_them),
        cmocka_unit_test(every_kind_of_tombstone_is_dead),
        cmocka_unit_test(without_extents_only_the_largest_addresses_are_dead),
        cmocka_unit_test(pairs_count_from_the_unit_and_then_from_the_base_entry),
        cmocka_unit_test(a_pair_of_tombstones_is_no_base_entry),
        cmocka_unit_test(nothing_counts_from_a_dead_base),
        cmocka_unit_test(a_list_without_end_is_damage_and_keeps_what_was_read),
        cmocka_unit_test(a_version_4_dwo_counts_from_the_ranges_base),
        cmocka_unit_test(only_offset_pairs_use_the_base),
        cmocka_unit_test(dead_and_live_entries_may_mix),
        cmocka_unit_test(an_index_outside_of_debug_addr_costs_one_entry),
        cmocka_unit_test(an_unknown_entry_ends_the_list_as_damage),
        cmocka_unit_test(a_list_index_counts_from_the_stated_base),
        cmocka_unit_test(a_dwo_without_base_uses_the_first_table),
        cmocka_unit_test(a_list_index_past_the_table_is_damage),
        cmocka_unit_test(the_budget_bounds_what_is_read),
        cmocka_unit_test(reads_big_endian_addresses),
    };
    return cmocka_run_group_tests_name("dwarf_ranges", tests, NULL, NULL);
}
