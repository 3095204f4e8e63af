#include "debuginfo/dwarf_form.h"

#include <dwarf.h>

#include "base/cleanup.h"
#include "tests/support/test.h"

static const uint8_t bytes[] = {0x81, 0x02, 0x03, 0x04, 0x05, 0x06, 0x07, 0x08, 0x09, 0x0a,
                                0x0b, 0x0c, 0x0d, 0x0e, 0x0f, 0x10, 0x11, 0x12, 0x00, 0x14};

/* What a form makes of the bytes above, little-endian, with addresses of 8 and offsets of 4. */
struct expectation {
    uint64_t form;
    size_t size;     /* of the value */
    uint64_t number; /* or the size of the bytes in it */
};

static const struct expectation expectations[] = {
    {DW_FORM_addr, 8, 0x0807060504030281},
    {DW_FORM_block2, 2 + 0x281, 0}, /* too long */
    {DW_FORM_block4, 4 + 0x4030281, 0},
    {DW_FORM_block1, 1 + 0x81, 0},
    {DW_FORM_block, 2 + 0x101, 0},
    {DW_FORM_exprloc, 2 + 0x101, 0},
    {DW_FORM_data1, 1, 0x81},
    {DW_FORM_data2, 2, 0x281},
    {DW_FORM_data4, 4, 0x04030281},
    {DW_FORM_data8, 8, 0x0807060504030281},
    {DW_FORM_data16, 16, 16},
    {DW_FORM_string, 19, 18},
    {DW_FORM_flag, 1, 0x81},
    {DW_FORM_sdata, 2, 0x101},
    {DW_FORM_udata, 2, 0x101},
    {DW_FORM_strp, 4, 0x04030281},
    {DW_FORM_line_strp, 4, 0x04030281},
    {DW_FORM_strp_sup, 4, 0x04030281},
    {DW_FORM_GNU_strp_alt, 4, 0x04030281},
    {DW_FORM_sec_offset, 4, 0x04030281},
    {DW_FORM_ref_addr, 4, 0x04030281},
    {DW_FORM_GNU_ref_alt, 4, 0x04030281},
    {DW_FORM_ref1, 1, 0x81},
    {DW_FORM_ref2, 2, 0x281},
    {DW_FORM_ref4, 4, 0x04030281},
    {DW_FORM_ref8, 8, 0x0807060504030281},
    {DW_FORM_ref_udata, 2, 0x101},
    {DW_FORM_ref_sig8, 8, 0x0807060504030281},
    {DW_FORM_ref_sup4, 4, 0x04030281},
    {DW_FORM_ref_sup8, 8, 0x0807060504030281},
    {DW_FORM_strx, 2, 0x101},
    {DW_FORM_strx1, 1, 0x81},
    {DW_FORM_strx2, 2, 0x281},
    {DW_FORM_strx3, 3, 0x030281},
    {DW_FORM_strx4, 4, 0x04030281},
    {DW_FORM_GNU_str_index, 2, 0x101},
    {DW_FORM_addrx, 2, 0x101},
    {DW_FORM_addrx1, 1, 0x81},
    {DW_FORM_addrx2, 2, 0x281},
    {DW_FORM_addrx3, 3, 0x030281},
    {DW_FORM_addrx4, 4, 0x04030281},
    {DW_FORM_GNU_addr_index, 2, 0x101},
    {DW_FORM_rnglistx, 2, 0x101},
    {DW_FORM_loclistx, 2, 0x101},
    {DW_FORM_flag_present, 0, 1},
    {DW_FORM_implicit_const, 0, (uint64_t)-7},
};

static const struct dwarf_encoding usual = {5, 8, 4, false};

static void every_form_has_its_size_and_value(void **state) {
    (void)state;
    for (size_t i = 0; i < ARRAY_SIZE(expectations); i++) {
        const struct expectation *expected = &expectations[i];
        struct dwarf_value value;
        const uint8_t *next =
            dwarf_form_read(expected->form, -7, bytes, bytes + sizeof(bytes), &usual, &value);
        const uint8_t *skipped =
            dwarf_form_skip(expected->form, bytes, bytes + sizeof(bytes), &usual);
        assert_ptr_equal(next, skipped);
        if (expected->size > sizeof(bytes)) {
            assert_null(next);
            continue;
        }
        assert_ptr_equal(next, bytes + expected->size);
        assert_int_equal(value.form, expected->form);
        assert_true(value.number == expected->number);
    }
}

static void no_form_reads_past_the_end(void **state) {
    (void)state;
    for (size_t i = 0; i < ARRAY_SIZE(expectations); i++) {
        const struct expectation *expected = &expectations[i];
        struct dwarf_value value;
        for (size_t size = 0; size < expected->size && size < sizeof(bytes); size++) {
            assert_null(dwarf_form_read(expected->form, 0, bytes, bytes + size, &usual, &value));
            assert_null(dwarf_form_skip(expected->form, bytes, bytes + size, &usual));
        }
    }
}

static void blocks_say_where_their_bytes_are(void **state) {
    (void)state;
    static const uint8_t block[] = {3, 0, 0, 0, 'a', 'b', 'c', 'd'};
    struct dwarf_value value;
    const struct {
        uint64_t form;
        size_t header;
    } forms[] = {{DW_FORM_block1, 1},
                 {DW_FORM_block2, 2},
                 {DW_FORM_block4, 4},
                 {DW_FORM_block, 1},
                 {DW_FORM_exprloc, 1}};
    for (size_t i = 0; i < ARRAY_SIZE(forms); i++) {
        const uint8_t *next =
            dwarf_form_read(forms[i].form, 0, block, block + sizeof(block), &usual, &value);
        assert_ptr_equal(value.bytes, block + forms[i].header);
        assert_ptr_equal(next, block + forms[i].header + 3);
        assert_int_equal(value.number, 3);
    }
}

static void sizes_follow_the_unit(void **state) {
    (void)state;
    struct dwarf_encoding encoding = {5, 4, 8, false};
    struct dwarf_value value;
    const uint8_t *end = bytes + sizeof(bytes);
    assert_ptr_equal(dwarf_form_read(DW_FORM_addr, 0, bytes, end, &encoding, &value), bytes + 4);
    assert_ptr_equal(dwarf_form_read(DW_FORM_strp, 0, bytes, end, &encoding, &value), bytes + 8);
    assert_ptr_equal(dwarf_form_read(DW_FORM_ref_addr, 0, bytes, end, &encoding, &value),
                     bytes + 8);
    encoding.address_size = 2;
    encoding.version = 2;
    assert_ptr_equal(dwarf_form_read(DW_FORM_addr, 0, bytes, end, &encoding, &value), bytes + 2);
    assert_ptr_equal(dwarf_form_read(DW_FORM_ref_addr, 0, bytes, end, &encoding, &value),
                     bytes + 2);
    assert_int_equal(value.number, 0x281);
}

static void reads_big_endian_numbers(void **state) {
    (void)state;
    const struct dwarf_encoding encoding = {5, 8, 4, true};
    const uint8_t *end = bytes + sizeof(bytes);
    struct dwarf_value value;
    dwarf_form_read(DW_FORM_data2, 0, bytes, end, &encoding, &value);
    assert_int_equal(value.number, 0x8102);
    dwarf_form_read(DW_FORM_strx3, 0, bytes, end, &encoding, &value);
    assert_int_equal(value.number, 0x810203);
    dwarf_form_read(DW_FORM_data4, 0, bytes, end, &encoding, &value);
    assert_int_equal(value.number, 0x81020304);
    dwarf_form_read(DW_FORM_addr, 0, bytes, end, &encoding, &value);
    assert_true(value.number == 0x8102030405060708);
}

static void indirect_names_the_real_form(void **state) {
    (void)state;
    static const uint8_t indirect[] = {DW_FORM_data2, 0x34, 0x12};
    struct dwarf_value value;
    const uint8_t *end = indirect + sizeof(indirect);
    assert_ptr_equal(dwarf_form_read(DW_FORM_indirect, 0, indirect, end, &usual, &value), end);
    assert_int_equal(value.form, DW_FORM_data2);
    assert_int_equal(value.number, 0x1234);
    assert_ptr_equal(dwarf_form_skip(DW_FORM_indirect, indirect, end, &usual), end);
}

static void indirect_does_not_nest_and_has_no_implicit_value(void **state) {
    (void)state;
    static const uint8_t nested[] = {DW_FORM_indirect, DW_FORM_data1, 1};
    static const uint8_t implicit[] = {DW_FORM_implicit_const, 1};
    struct dwarf_value value;
    assert_null(dwarf_form_read(DW_FORM_indirect, 0, nested, nested + 3, &usual, &value));
    assert_null(dwarf_form_skip(DW_FORM_indirect, nested, nested + 3, &usual));
    assert_null(dwarf_form_read(DW_FORM_indirect, 0, implicit, implicit + 2, &usual, &value));
}

static void an_unknown_form_cannot_be_passed(void **state) {
    (void)state;
    struct dwarf_value value;
    const uint64_t unknown[] = {0, 0x02, 0x2d, 0x1f03, 0x1f22, 0x10001, UINT64_MAX};
    for (size_t i = 0; i < ARRAY_SIZE(unknown); i++) {
        assert_null(dwarf_form_read(unknown[i], 0, bytes, bytes + sizeof(bytes), &usual, &value));
        assert_null(dwarf_form_skip(unknown[i], bytes, bytes + sizeof(bytes), &usual));
    }
}

static void leb128_may_be_padded_but_not_overflow(void **state) {
    (void)state;
    static const uint8_t padded[] = {0x81, 0x80, 0x80, 0x80, 0x80, 0x80,
                                     0x80, 0x80, 0x80, 0x80, 0x80, 0x00};
    static const uint8_t largest[] = {0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x01};
    static const uint8_t too_large[] = {0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x02};
    static const uint8_t negative[] = {0x81, 0x7f};
    uint64_t value;
    int64_t number;
    const uint8_t *position = padded;
    assert_true(dwarf_take_uleb(&position, padded + sizeof(padded), &value));
    assert_int_equal(value, 1);
    assert_ptr_equal(position, padded + sizeof(padded));
    position = largest;
    assert_true(dwarf_take_uleb(&position, largest + sizeof(largest), &value));
    assert_true(value == UINT64_MAX);
    position = too_large;
    assert_false(dwarf_take_uleb(&position, too_large + sizeof(too_large), &value));
    position = negative;
    assert_true(dwarf_take_sleb(&position, negative + sizeof(negative), &number));
    assert_int_equal(number, -127);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_form_has_its_size_and_value),
        cmocka_unit_test(no_form_reads_past_the_end),
        cmocka_unit_test(blocks_say_where_their_bytes_are),
        cmocka_unit_test(sizes_follow_the_unit),
        cmocka_unit_test(reads_big_endian_numbers),
        cmocka_unit_test(indirect_names_the_real_form),
        cmocka_unit_test(indirect_does_not_nest_and_has_no_implicit_value),
        cmocka_unit_test(an_unknown_form_cannot_be_passed),
        cmocka_unit_test(leb128_may_be_padded_but_not_overflow),
    };
    return cmocka_run_group_tests_name("dwarf_form", tests, NULL, NULL);
}
