#include "debuginfo/dwarf_line.h"

#include <dwarf.h>

#include "tests/support/line_table.h"
#include "tests/support/test.h"

static void begin(struct line_site *site, uint64_t address) {
    line_site_init(site);
    line_site_begin_simple(site);
    put_set_address(site, address);
}

static void put_row(struct line_site *site, int64_t lines, uint64_t then) {
    put_advance_line(site, lines);
    put_copy(site);
    put_advance_pc(site, then);
}

static void expect(struct line_site *site, const char *seen) {
    assert_string_equal(line_site_visit(site), seen);
    line_site_clear(site);
}

static void reads_all_versions_sizes_and_byte_orders(void **state) {
    (void)state;
    for (unsigned i = 0; i < 32; i++) {
        struct line_site site;
        line_site_init(&site);
        site.version = (uint16_t)(2 + i % 4);
        site.address_size = i & 4 ? 4 : 8;
        site.offset_size = i & 8 ? 4 : 8;
        site.line.big_endian = i & 16;
        line_site_begin_simple(&site);
        put_set_address(&site, 0x1000);
        put_row(&site, 4, 4);
        put_row(&site, 1, 4);
        put_end_sequence(&site);
        expect(&site, "1000:5 1004:6 -1008\n");
    }
}

static void special_opcodes_advance_both_registers(void **state) {
    (void)state;
    struct line_site site;
    begin(&site, 0x1000);
    put_advance_line(&site, 10);
    put_u8(&site.line, 13 + 5 + 3);      /* line + 3 */
    put_u8(&site.line, 13 + 14 * 2 + 0); /* line - 5, address + 2 */
    put_u8(&site.line, DW_LNS_const_add_pc);
    put_u8(&site.line, 13 + 14 + 5);
    /* const_add_pc advances by (255 - 13) / 14. */
    put_advance_pc(&site, 1);
    put_end_sequence(&site);
    expect(&site, "1000:14 1002:9 1014:9 -1015\n");
}

static void instructions_have_a_length(void **state) {
    (void)state;
    struct line_site site;
    line_site_init(&site);
    site.min_instruction_length = 4;
    line_site_begin_simple(&site);
    put_set_address(&site, 0x1000);
    put_row(&site, 0, 2);
    put_u8(&site.line, 13 + 14 + 5); /* 1 instruction */
    put_u8(&site.line, DW_LNS_fixed_advance_pc);
    put_number(&site.line, 2, 0x11); /* in bytes */
    put_end_sequence(&site);
    expect(&site, "1000:1 100c:1 -101d\n");
}

static void operations_of_one_instruction_share_its_address(void **state) {
    (void)state;
    struct line_site site;
    line_site_init(&site);
    site.min_instruction_length = 16;
    site.operations_max = 3;
    line_site_begin_simple(&site);
    put_set_address(&site, 0x1000);
    put_row(&site, 0, 1); /* operation 1 */
    put_row(&site, 1, 1); /* operation 2 */
    put_row(&site, 1, 2); /* operation 1 of the next */
    put_row(&site, 1, 5); /* operation 0, two further */
    put_end_sequence(&site);
    expect(&site, "1000:3 1010:4 -1030\n");
}

static void an_opcode_base_below_13_makes_the_rest_special(void **state) {
    (void)state;
    struct line_site site;
    line_site_init(&site);
    site.opcode_base = 10;
    line_site_begin_simple(&site);
    put_set_address(&site, 0x1000);
    put_row(&site, 9, 1);
    put_u8(&site.line, 12); /* line - 3; else set_isa */
    put_u8(&site.line, 10 + 14 + 5 + 1);
    put_advance_pc(&site, 4);
    put_end_sequence(&site);
    expect(&site, "1000:10 1001:7 1002:8 -1006\n");
}

static void unknown_opcodes_are_skipped_by_their_lengths(void **state) {
    (void)state;
    struct line_site site;
    line_site_init(&site);
    site.opcode_base = 15;
    line_site_begin_simple(&site);
    put_set_address(&site, 0x1000);
    put_u8(&site.line, 14); /* two operands */
    put_uleb(&site.line, 0x12345);
    put_uleb(&site.line, 1);
    put_extended(&site, 0x80, span_cstr("abc"));
    put_u8(&site.line, 0); /* an extended one without even an opcode */
    put_u8(&site.line, 0);
    put_u8(&site.line, DW_LNS_set_isa);
    put_uleb(&site.line, 200);
    put_row(&site, 1, 4);
    put_end_sequence(&site);
    expect(&site, "1000:2 -1004\n");
}

static void rows_keep_what_the_registers_say(void **state) {
    (void)state;
    struct line_site site;
    begin(&site, 0x1000);
    put_u8(&site.line, DW_LNS_set_file);
    put_uleb(&site.line, 7);
    put_u8(&site.line, DW_LNS_set_column);
    put_uleb(&site.line, 300);
    put_u8(&site.line, DW_LNS_negate_stmt);
    put_extended(&site, DW_LNE_set_discriminator, span_cstr("\5"));
    put_row(&site, 0, 4);
    put_u8(&site.line, DW_LNS_set_file);
    put_uleb(&site.line, UINT64_MAX);
    put_row(&site, -1, 4);
    put_end_sequence(&site);
    assert_string_equal(line_site_visit(&site), "1000:1 1004:0 -1008\n");
    const struct dwarf_row *rows = site.last.rows;
    assert_int_equal(rows[0].file, 7);
    assert_int_equal(rows[0].column, 300);
    assert_int_equal(rows[0].discriminator, 5);
    assert_false(rows[0].is_stmt);
    assert_int_equal(rows[1].discriminator, 0);
    assert_int_equal(rows[1].file, DWARF_ROW_FILE_MAX);
    line_site_clear(&site);
}

static void registers_begin_anew_in_each_sequence(void **state) {
    (void)state;
    for (uint16_t version = 4; version <= 5; version++) {
        struct line_site site;
        line_site_init(&site);
        site.version = version;
        line_site_begin_simple(&site);
        put_set_address(&site, 0x2000);
        put_u8(&site.line, DW_LNS_set_file);
        put_uleb(&site.line, 3);
        put_u8(&site.line, DW_LNS_negate_stmt);
        put_row(&site, 50, 8);
        put_end_sequence(&site);
        put_set_address(&site, 0x1000);
        put_row(&site, 0, 8);
        put_end_sequence(&site);
        assert_string_equal(line_site_visit(&site), "2000:51 -2008\n1000:1 -1008\n");
        assert_int_equal(site.last.rows[0].file, 1);
        assert_true(site.last.rows[0].is_stmt);
        assert_int_equal(site.last.number, 1);
        line_site_clear(&site);
    }
}

static void the_last_of_rows_with_one_address_holds(void **state) {
    (void)state;
    struct line_site site;
    begin(&site, 0x1000);
    put_row(&site, 1, 0);
    put_row(&site, 1, 4);
    put_row(&site, 1, 0);
    put_row(&site, 1, 0);
    put_row(&site, 1, 4);
    put_end_sequence(&site);
    expect(&site, "1000:3 1004:6 -1008\n");
}

static void the_end_is_exclusive(void **state) {
    (void)state;
    struct line_site site;
    begin(&site, 0x1000);
    put_row(&site, 1, 4);
    put_row(&site, 1, 0); /* of no length */
    put_end_sequence(&site);
    assert_string_equal(line_site_visit(&site), "1000:2 -1004\n");
    assert_null(dwarf_sequence_find(&site.last, 0xfff));
    assert_ptr_equal(dwarf_sequence_find(&site.last, 0x1000), &site.last.rows[0]);
    assert_ptr_equal(dwarf_sequence_find(&site.last, 0x1003), &site.last.rows[0]);
    assert_null(dwarf_sequence_find(&site.last, 0x1004));
    line_site_clear(&site);
}

static void empty_sequences_are_dropped(void **state) {
    (void)state;
    struct line_site site;
    begin(&site, 0x1000);
    put_end_sequence(&site);
    put_set_address(&site, 0x1000);
    put_row(&site, 1, 0);
    put_end_sequence(&site);
    put_set_address(&site, 0x1010);
    put_row(&site, 1, 1);
    put_end_sequence(&site);
    expect(&site, "1010:2 -1011\n");
}

static void overlapping_sequences_stay_apart(void **state) {
    (void)state;
    struct line_site site;
    begin(&site, 0x1000);
    put_row(&site, 1, 0x100);
    put_end_sequence(&site);
    put_set_address(&site, 0x1000);
    put_row(&site, 9, 0x100);
    put_end_sequence(&site);
    expect(&site, "1000:2 -1100\n1000:10 -1100\n");
}

static void sequences_of_dropped_code_are_dropped(void **state) {
    (void)state;
    static const uint64_t tombstones[] = {0, 1, UINT64_MAX, UINT64_MAX - 1, 0x9000};
    for (size_t i = 0; i < ARRAY_SIZE(tombstones); i++) {
        struct line_site site;
        begin(&site, tombstones[i]);
        put_row(&site, 1, 0x1010); /* from the largest address around to live code */
        put_row(&site, 1, 0x1000);
        put_end_sequence(&site);
        put_set_address(&site, 0x3000);
        put_row(&site, 0, 4);
        put_end_sequence(&site);
        expect(&site, "3000:1 -3004\n");
    }
}

static void a_tombstone_is_one_even_if_no_row_stands_at_it(void **state) {
    (void)state;
    struct line_site site;
    begin(&site, UINT64_MAX);
    put_advance_pc(&site, 0x2001);
    put_row(&site, 1, 4);
    put_end_sequence(&site);
    put_set_address(&site, 0x3000);
    put_row(&site, 0, 4);
    put_end_sequence(&site);
    expect(&site, "3000:1 -3004\n");
}

static void text_at_address_0_is_live_where_code_lies_there(void **state) {
    (void)state;
    static const struct pc_range low[] = {{0, 0x100}};
    struct line_site site;
    begin(&site, 0);
    site.extents.items = low;
    put_row(&site, 1, 4);
    put_end_sequence(&site);
    put_set_address(&site, UINT64_MAX - 1);
    put_row(&site, 1, 4);
    put_row(&site, 1, 4);
    put_end_sequence(&site);
    expect(&site, "0:2 -4\n");
}

static void addresses_wrap_at_their_size(void **state) {
    (void)state;
    struct line_site site;
    line_site_init(&site);
    site.address_size = 4;
    line_site_begin_simple(&site);
    put_set_address(&site, 0x1000);
    put_advance_pc(&site, 0x100000010);
    put_row(&site, 1, 4);
    put_end_sequence(&site);
    expect(&site, "1010:2 -1014\n");
}

static void a_sequence_that_goes_backwards_is_sorted(void **state) {
    (void)state;
    struct line_site site;
    begin(&site, 0x2000);
    put_row(&site, 1, 8);
    put_row(&site, 1, 0x100);
    put_set_address(&site, 0x1000);
    put_row(&site, 1, 4);
    put_set_address(&site, 0x2000);
    put_row(&site, 1, 4);
    put_set_address(&site, 0x1004);
    put_row(&site, 1, 4);
    put_set_address(&site, 0x2008);
    put_end_sequence(&site);
    expect(&site, "1000:4 1004:6 2000:5 -2008\n");
}

static void a_sequence_without_end_ends_at_its_last_row(void **state) {
    (void)state;
    struct line_site site;
    begin(&site, 0x1000);
    put_row(&site, 1, 4);
    put_row(&site, 1, 4);
    assert_string_equal(line_site_visit(&site), "1000:2 -1004\n");
    assert_true(site.damaged);
    line_site_clear(&site);
}

static void a_program_cut_short_keeps_what_came_before(void **state) {
    (void)state;
    struct line_site site;
    begin(&site, 0x1000);
    put_row(&site, 1, 4);
    put_end_sequence(&site);
    put_u8(&site.line, DW_LNS_advance_pc);
    assert_string_equal(line_site_visit(&site), "1000:2 -1004\n");
    assert_true(site.damaged);
    line_site_clear(&site);
}

static void an_address_of_odd_size_is_read_or_drops_its_sequence(void **state) {
    (void)state;
    struct line_site site;
    begin(&site, 0);
    put_extended(&site, DW_LNE_set_address, span_of("\0\x20", 2));
    put_row(&site, 1, 4);
    put_end_sequence(&site);
    put_set_address(&site, 0x1000);
    put_extended(&site, DW_LNE_set_address, span_of("\0\x20\0\0\0\0\0\0\0", 9));
    put_row(&site, 1, 4);
    put_end_sequence(&site);
    assert_string_equal(line_site_visit(&site), "2000:2 -2004\n");
    assert_true(site.damaged);
    line_site_clear(&site);
}

static void a_broken_operand_costs_one_extended_opcode(void **state) {
    (void)state;
    struct line_site site;
    begin(&site, 0x1000);
    put_extended(&site, DW_LNE_set_discriminator, span_cstr("\x85"));
    put_row(&site, 1, 4);
    put_end_sequence(&site);
    assert_string_equal(line_site_visit(&site), "1000:2 -1004\n");
    assert_true(site.damaged);
    line_site_clear(&site);
}

static void an_extended_opcode_may_not_reach_over_the_end(void **state) {
    (void)state;
    struct line_site site;
    begin(&site, 0x1000);
    put_row(&site, 1, 4);
    put_end_sequence(&site);
    put_u8(&site.line, 0);
    put_uleb(&site.line, UINT64_MAX);
    put_u8(&site.line, DW_LNE_end_sequence);
    assert_string_equal(line_site_visit(&site), "1000:2 -1004\n");
    assert_true(site.damaged);
    line_site_clear(&site);
}

static void a_second_visit_sees_the_same(void **state) {
    (void)state;
    struct line_site site;
    begin(&site, 0x1000);
    put_row(&site, 1, 4);
    put_end_sequence(&site);
    assert_string_equal(line_site_visit(&site), "1000:2 -1004\n");
    assert_string_equal(line_site_visit(&site), "1000:2 -1004\n");
    assert_false(site.damaged);
    line_site_clear(&site);
}

static void a_closed_table_has_no_rows(void **state) {
    (void)state;
    struct line_site site;
    begin(&site, 0x1000);
    put_row(&site, 1, 4);
    put_end_sequence(&site);
    line_site_finish(&site);
    bool damaged = false;
    struct error error;
    assert_int_equal(dwarf_line_visit(site.table, &site.extents, NULL, &damaged, &error), ERR_OK);
    assert_int_equal(line_site_open(&site), ERR_OK);
    dwarf_line_table_close(site.table);
    assert_int_equal(dwarf_line_visit(site.table, &site.extents, NULL, &damaged, &error), ERR_OK);
    assert_int_equal(dwarf_line_table_file_count(site.table), 0);
    line_site_clear(&site);
}

static void refuses_headers_it_cannot_read(void **state) {
    (void)state;
    struct line_site site;
    struct error error;
    begin(&site, 0x1000);
    put_row(&site, 1, 4);
    put_end_sequence(&site);
    line_site_finish(&site);
    assert_int_equal(line_site_open(&site), ERR_OK);
    static const uint16_t versions[] = {0, 1, 6};
    for (size_t i = 0; i < ARRAY_SIZE(versions); i++) {
        dwarf_line_table_close(site.table);
        patch_number(&site.line, 4, 2, versions[i]);
        assert_int_equal(line_site_open(&site), ERR_UNSUPPORTED);
        assert_int_equal(dwarf_line_table_file_count(site.table), 0);
    }
    patch_number(&site.line, 4, 2, 4);
    patch_number(&site.line, 6, 4, 0xffff); /* header_length */
    assert_int_equal(line_site_open(&site), ERR_MALFORMED);
    patch_number(&site.line, 0, 4, 0xfffffff0); /* reserved */
    assert_int_equal(line_site_open(&site), ERR_MALFORMED);
    assert_int_equal(
        dwarf_line_table_open(site.table, &site.sections, &site.bases, UINT64_MAX, &error),
        ERR_MALFORMED);
    line_site_clear(&site);
}

static void without_line_range_rows_are_damage(void **state) {
    (void)state;
    struct line_site site;
    line_site_init(&site);
    site.line_range = 0;
    line_site_begin_simple(&site);
    put_set_address(&site, 0x1000);
    put_u8(&site.line, 200);
    put_advance_pc(&site, 4);
    put_end_sequence(&site);
    assert_string_equal(line_site_visit(&site), "1000:1 -1004\n");
    assert_true(site.damaged);
    line_site_clear(&site);
}

static void tables_that_overlap_are_run_up_to_a_bound(void **state) {
    (void)state;
    struct line_site site;
    begin(&site, 0x1000);
    put_row(&site, 1, 4);
    put_end_sequence(&site);
    for (unsigned i = 0; i < 1u << 19; i++)
        put_u8(&site.line, DW_LNS_negate_stmt);
    unsigned visits = 0;
    do {
        line_site_visit(&site);
        visits++;
    } while (!site.damaged && visits < 100);
    assert_true(visits > 4 && visits < 20);
    assert_int_equal(site.seen.size, 0);
    line_site_clear(&site);
}

static enum err refuse(struct dwarf_sequence_visitor *visitor,
                       const struct dwarf_sequence *sequence, struct error *error) {
    (void)visitor;
    (void)sequence;
    return error_set(error, ERR_LIMIT, "enough");
}

static void a_failing_visitor_ends_the_visit(void **state) {
    (void)state;
    struct line_site site;
    begin(&site, 0x1000);
    put_row(&site, 1, 4);
    put_end_sequence(&site);
    put_set_address(&site, 0x2000);
    put_row(&site, 1, 4);
    put_end_sequence(&site);
    line_site_finish(&site);
    assert_int_equal(line_site_open(&site), ERR_OK);
    struct dwarf_sequence_visitor visitor = {refuse};
    bool damaged = false;
    struct error error;
    assert_int_equal(dwarf_line_visit(site.table, &site.extents, &visitor, &damaged, &error),
                     ERR_LIMIT);
    line_site_clear(&site);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(reads_all_versions_sizes_and_byte_orders),
        cmocka_unit_test(special_opcodes_advance_both_registers),
        cmocka_unit_test(instructions_have_a_length),
        cmocka_unit_test(operations_of_one_instruction_share_its_address),
        cmocka_unit_test(an_opcode_base_below_13_makes_the_rest_special),
        cmocka_unit_test(unknown_opcodes_are_skipped_by_their_lengths),
        cmocka_unit_test(rows_keep_what_the_registers_say),
        cmocka_unit_test(registers_begin_anew_in_each_sequence),
        cmocka_unit_test(the_last_of_rows_with_one_address_holds),
        cmocka_unit_test(the_end_is_exclusive),
        cmocka_unit_test(empty_sequences_are_dropped),
        cmocka_unit_test(overlapping_sequences_stay_apart),
        cmocka_unit_test(sequences_of_dropped_code_are_dropped),
        cmocka_unit_test(a_tombstone_is_one_even_if_no_row_stands_at_it),
        cmocka_unit_test(text_at_address_0_is_live_where_code_lies_there),
        cmocka_unit_test(addresses_wrap_at_their_size),
        cmocka_unit_test(a_sequence_that_goes_backwards_is_sorted),
        cmocka_unit_test(a_sequence_without_end_ends_at_its_last_row),
        cmocka_unit_test(a_program_cut_short_keeps_what_came_before),
        cmocka_unit_test(an_address_of_odd_size_is_read_or_drops_its_sequence),
        cmocka_unit_test(a_broken_operand_costs_one_extended_opcode),
        cmocka_unit_test(an_extended_opcode_may_not_reach_over_the_end),
        cmocka_unit_test(a_second_visit_sees_the_same),
        cmocka_unit_test(a_closed_table_has_no_rows),
        cmocka_unit_test(refuses_headers_it_cannot_read),
        cmocka_unit_test(without_line_range_rows_are_damage),
        cmocka_unit_test(tables_that_overlap_are_run_up_to_a_bound),
        cmocka_unit_test(a_failing_visitor_ends_the_visit),
    };
    return cmocka_run_group_tests_name("dwarf_line", tests, NULL, NULL);
}
