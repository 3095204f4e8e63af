#include "debuginfo/dwarf_walk.h"

#include <dwarf.h>
#include <stdlib.h>

#include "tests/support/dwarf_site.h"
#include "tests/support/test.h"

/* The codes of the declarations below. */
enum {
    UNIT = 1,
    FUNCTION,    /* with low_pc and high_pc, and children */
    DECLARATION, /* of a function, with children */
    INLINED,     /* with low_pc and high_pc, and children */
    EMPTY_COPY,  /* inlined, without addresses, with children */
    BLOCK,
    VARIABLE,
    ARRAY, /* with a sibling and children */
    NAMESPACE,
    BROKEN,
};

static void declare_all(struct dwarf_site *site) {
    declare(site, UNIT, DW_TAG_compile_unit, true, 0);
    declare(site, FUNCTION, DW_TAG_subprogram, true, DW_AT_low_pc, DW_FORM_addr, DW_AT_high_pc,
            DW_FORM_data1, 0);
    declare(site, DECLARATION, DW_TAG_subprogram, true, DW_AT_name, DW_FORM_string, 0);
    declare(site, INLINED, DW_TAG_inlined_subroutine, true, DW_AT_low_pc, DW_FORM_addr,
            DW_AT_high_pc, DW_FORM_data1, DW_AT_call_line, DW_FORM_udata, 0);
    declare(site, EMPTY_COPY, DW_TAG_inlined_subroutine, true, 0);
    declare(site, BLOCK, DW_TAG_lexical_block, true, 0);
    declare(site, VARIABLE, DW_TAG_variable, false, DW_AT_name, DW_FORM_string, DW_AT_location,
            DW_FORM_exprloc, DW_AT_type, DW_FORM_ref4, 0);
    declare(site, ARRAY, DW_TAG_array_type, true, DW_AT_type, DW_FORM_ref4, DW_AT_sibling,
            DW_FORM_ref4, 0);
    declare(site, NAMESPACE, DW_TAG_namespace, true, DW_AT_name, DW_FORM_string, 0);
    declare(site, BROKEN, DW_TAG_variable, false, DW_AT_name, 0x7e, 0);
    end_declarations(site);
}

static void put_code(struct dwarf_site *site, uint8_t code, uint64_t low_pc) {
    put_u8(&site->info, code);
    if (code == FUNCTION || code == INLINED) {
        put_number(&site->info, 8, low_pc);
        put_u8(&site->info, 0x10);
    }
    if (code == INLINED)
        put_uleb(&site->info, low_pc);
    if (code == DECLARATION || code == NAMESPACE)
        put_text(&site->info, "n");
    if (code == VARIABLE) {
        put_text(&site->info, "variable");
        put_uleb(&site->info, 2);
        put_number(&site->info, 2, 0xffff);
        put_number(&site->info, 4, 0);
    }
}

static void end_children(struct dwarf_site *site) {
    put_u8(&site->info, 0);
}

/* One unit; a test puts what is in it between these. */
struct walk_site {
    struct dwarf_site site;
    size_t begin;
    struct dwarf_walk *walk;
};

static struct dwarf_site *begin_site(struct walk_site *site) {
    *site = (struct walk_site){.walk = malloc(sizeof(*site->walk))};
    assert_non_null(site->walk);
    declare_all(&site->site);
    site->begin = begin_plain_unit(&site->site);
    put_code(&site->site, UNIT, 0);
    return &site->site;
}

static void start(struct walk_site *site) {
    end_plain_unit(&site->site, site->begin);
    dwarf_site_read(&site->site);
    const struct dwarf_unit *unit = dwarf_info_unit(site->site.units, 0);
    struct error error;
    assert_int_equal(dwarf_walk_start(site->walk,
                                      &(struct dwarf_place){.unit = unit, .position = unit->root},
                                      &error),
                     ERR_OK);
}

static void end_site(struct walk_site *site) {
    free(site->walk);
    dwarf_site_clear(&site->site);
}

static void expect_code(struct walk_site *site, uint16_t tag, uint64_t low_pc, uint32_t context) {
    assert_true(dwarf_walk_next(site->walk));
    uint64_t address = 0;
    assert_int_equal(site->walk->die.abbrev->tag, tag);
    assert_true(dwarf_die_address(&site->walk->die, DWARF_SLOT_LOW_PC, &address));
    assert_int_equal(address, low_pc);
    assert_int_equal(site->walk->context, context);
}

static void expect_end(struct walk_site *site, bool damaged) {
    assert_false(dwarf_walk_next(site->walk));
    assert_false(dwarf_walk_next(site->walk));
    assert_int_equal(site->walk->damaged, damaged);
}

static void copies_have_the_context_of_what_they_are_in(void **state) {
    (void)state;
    struct walk_site walk;
    struct dwarf_site *site = begin_site(&walk);
    put_code(site, VARIABLE, 0);
    put_code(site, FUNCTION, 0x1000);
    put_code(site, VARIABLE, 0);
    put_code(site, BLOCK, 0);
    put_code(site, INLINED, 0x1001);
    put_code(site, EMPTY_COPY, 0);
    put_code(site, INLINED, 0x1002);
    end_children(site); /* of 0x1002 */
    end_children(site); /* of the empty copy */
    end_children(site); /* of 0x1001 */
    end_children(site); /* of the block */
    put_code(site, INLINED, 0x1003);
    end_children(site);
    end_children(site); /* of the function */
    put_code(site, FUNCTION, 0x2000);
    end_children(site);
    end_children(site);
    start(&walk);
    expect_code(&walk, DW_TAG_subprogram, 0x1000, DWARF_CONTEXT_NONE);
    walk.walk->context = 7;
    expect_code(&walk, DW_TAG_inlined_subroutine, 0x1001, 7);
    walk.walk->context = 8;
    expect_code(&walk, DW_TAG_inlined_subroutine, 0x1002, 8);
    expect_code(&walk, DW_TAG_inlined_subroutine, 0x1003, 7);
    uint32_t line = dwarf_die_u32(&walk.walk->die, DWARF_SLOT_CALL_LINE);
    assert_int_equal(line, 0x1003);
    expect_code(&walk, DW_TAG_subprogram, 0x2000, DWARF_CONTEXT_NONE);
    expect_end(&walk, false);
    end_site(&walk);
}

static void what_is_in_a_dead_function_is_passed_but_for_functions(void **state) {
    (void)state;
    struct walk_site walk;
    struct dwarf_site *site = begin_site(&walk);
    put_code(site, FUNCTION, 0x1000);
    put_code(site, INLINED, 0x1001);
    end_children(site);
    put_code(site, FUNCTION, 0x1800);
    put_code(site, INLINED, 0x1801);
    end_children(site);
    end_children(site);
    put_code(site, DECLARATION, 0);
    put_code(site, INLINED, 0x1802);
    end_children(site);
    end_children(site);
    end_children(site);
    end_children(site);
    start(&walk);
    expect_code(&walk, DW_TAG_subprogram, 0x1000, DWARF_CONTEXT_NONE);
    expect_code(&walk, DW_TAG_subprogram, 0x1800, DWARF_CONTEXT_NONE);
    walk.walk->context = 1;
    expect_code(&walk, DW_TAG_inlined_subroutine, 0x1801, 1);
    expect_end(&walk, false);
    end_site(&walk);
}

/* Puts an array type whose sibling attribute is patched once the offset is known. */
static size_t put_array(struct dwarf_site *site) {
    put_u8(&site->info, ARRAY);
    put_number(&site->info, 4, 0);
    put_number(&site->info, 4, 0);
    return site->info.buffer.size - 4;
}

static void siblings_lead_past_what_holds_no_code(void **state) {
    (void)state;
    struct walk_site walk;
    struct dwarf_site *site = begin_site(&walk);
    size_t sibling = put_array(site);
    put_code(site, FUNCTION, 0x1000); /* which nobody shall see */
    end_children(site);
    end_children(site);
    patch_number(&site->info, sibling, 4, site->info.buffer.size);
    put_code(site, FUNCTION, 0x2000);
    end_children(site);
    end_children(site);
    start(&walk);
    expect_code(&walk, DW_TAG_subprogram, 0x2000, DWARF_CONTEXT_NONE);
    expect_end(&walk, false);
    end_site(&walk);
}

static void a_sibling_that_leads_back_is_not_followed(void **state) {
    (void)state;
    for (uint64_t offset = 0; offset < 40; offset++) {
        struct walk_site walk;
        struct dwarf_site *site = begin_site(&walk);
        size_t sibling = put_array(site);
        patch_number(&site->info, sibling, 4, offset < 22 ? offset : (uint64_t)1 << 30);
        end_children(site);
        put_code(site, FUNCTION, 0x2000);
        end_children(site);
        end_children(site);
        start(&walk);
        expect_code(&walk, DW_TAG_subprogram, 0x2000, DWARF_CONTEXT_NONE);
        expect_end(&walk, false);
        end_site(&walk);
    }
}

static void a_unit_may_end_without_its_null_entries(void **state) {
    (void)state;
    struct walk_site walk;
    struct dwarf_site *site = begin_site(&walk);
    put_code(site, FUNCTION, 0x1000);
    put_code(site, BLOCK, 0);
    start(&walk);
    expect_code(&walk, DW_TAG_subprogram, 0x1000, DWARF_CONTEXT_NONE);
    expect_end(&walk, false);
    end_site(&walk);
}

static void damage_keeps_what_came_before(void **state) {
    (void)state;
    const uint8_t broken[] = {BROKEN, 99, FUNCTION};
    for (size_t i = 0; i < sizeof(broken); i++) {
        struct walk_site walk;
        struct dwarf_site *site = begin_site(&walk);
        put_code(site, FUNCTION, 0x1000);
        end_children(site);
        put_u8(&site->info, broken[i]); /* the last one is cut short */
        start(&walk);
        expect_code(&walk, DW_TAG_subprogram, 0x1000, DWARF_CONTEXT_NONE);
        expect_end(&walk, true);
        end_site(&walk);
    }
}

static void a_walk_from_a_function_stays_in_it(void **state) {
    (void)state;
    struct walk_site walk;
    struct dwarf_site *site = begin_site(&walk);
    put_code(site, FUNCTION, 0x1000);
    put_code(site, INLINED, 0x1001);
    end_children(site);
    end_children(site);
    put_code(site, FUNCTION, 0x2000);
    end_children(site);
    end_children(site);
    start(&walk);
    expect_code(&walk, DW_TAG_subprogram, 0x1000, DWARF_CONTEXT_NONE);
    struct dwarf_place place = {.unit = walk.walk->die.unit, .position = walk.walk->die.position};
    struct error error;
    assert_int_equal(dwarf_walk_start(walk.walk, &place, &error), ERR_OK);
    expect_code(&walk, DW_TAG_subprogram, 0x1000, DWARF_CONTEXT_NONE);
    walk.walk->context = 0;
    expect_code(&walk, DW_TAG_inlined_subroutine, 0x1001, 0);
    expect_end(&walk, false);
    end_site(&walk);
}

static void what_lies_too_deep_is_left_out(void **state) {
    (void)state;
    struct walk_site walk;
    struct dwarf_site *site = begin_site(&walk);
    for (int i = 0; i < DWARF_DEPTH_MAX + 10; i++)
        put_code(site, BLOCK, 0);
    put_code(site, FUNCTION, 0x1000);
    end_children(site);
    for (int i = 0; i < DWARF_DEPTH_MAX + 10; i++)
        end_children(site);
    put_code(site, FUNCTION, 0x2000);
    end_children(site);
    end_children(site);
    start(&walk);
    expect_code(&walk, DW_TAG_subprogram, 0x2000, DWARF_CONTEXT_NONE);
    expect_end(&walk, true);
    end_site(&walk);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(copies_have_the_context_of_what_they_are_in),
        cmocka_unit_test(what_is_in_a_dead_function_is_passed_but_for_functions),
        cmocka_unit_test(siblings_lead_past_what_holds_no_code),
        cmocka_unit_test(a_sibling_that_leads_back_is_not_followed),
        cmocka_unit_test(a_unit_may_end_without_its_null_entries),
        cmocka_unit_test(damage_keeps_what_came_before),
        cmocka_unit_test(a_walk_from_a_function_stays_in_it),
        cmocka_unit_test(what_lies_too_deep_is_left_out),
    };
    return cmocka_run_group_tests_name("dwarf_walk", tests, NULL, NULL);
}
