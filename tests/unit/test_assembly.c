#include "symbolizer/build/assembly.h"

#include <stdio.h>
#include <stdlib.h>

#include "base/cleanup.h"
#include "tests/support/assembly_fixture.h"
#include "tests/support/test.h"

static int start(void **state) {
    struct assembly_fixture *fixture = calloc(1, sizeof(*fixture));
    if (!fixture)
        return -1;
    fixture_start(fixture);
    *state = fixture;
    return 0;
}

static int end(void **state) {
    fixture_end(*state);
    free(*state);
    return 0;
}

#define FUNCTION(...) fixture_function(fixture, &(const struct fixture_code){__VA_ARGS__})
#define INLINED(parent, ...)                                                                       \
    fixture_inlined(fixture, parent, &(const struct fixture_code){__VA_ARGS__})
#define SEQUENCE(end, ...)                                                                         \
    fixture_sequence(fixture, (const struct fixture_row[]){__VA_ARGS__},                           \
                     ARRAY_SIZE(((const struct fixture_row[]){__VA_ARGS__})), end)

static void expect(struct assembly_fixture *fixture, const char *wanted) {
    CLEANUP(cleanup_free) char *text = fixture_dump(fixture, 0x80, 0x200);
    assert_string_equal(text, wanted);
}

/* --- functions and symbols --- */

static void a_function_without_rows_answers_without_line(void **state) {
    struct assembly_fixture *fixture = *state;
    fixture_unit(fixture);
    FUNCTION(.name = "f", .ranges = {{0x100, 0x110}});
    expect(fixture, "100-110 f -:0 (no_line)\n");
    assert_int_equal(fixture->result.covered_bytes, 16);
}

static void functions_come_before_symbols(void **state) {
    struct assembly_fixture *fixture = *state;
    fixture_symbol(fixture, "s", 0xf0, 0x120, SYMBOL_ORIGIN_SYMTAB);
    fixture_unit(fixture);
    FUNCTION(.name = "f", .ranges = {{0x100, 0x110}});
    expect(fixture, "f0-100 s/symtab -:0 (no_line)\n"
                    "100-110 f -:0 (no_line)\n"
                    "110-120 s/symtab -:0 (no_line)\n");
    assert_int_equal(fixture->result.symbol_functions, 1);
}

static void the_smallest_function_range_wins(void **state) {
    struct assembly_fixture *fixture = *state;
    fixture_unit(fixture);
    FUNCTION(.name = "small", .ranges = {{0x108, 0x110}});
    FUNCTION(.name = "dead", .ranges = {{0x100, 0x180}});
    FUNCTION(.name = "middle", .ranges = {{0x10c, 0x120}});
    expect(fixture, "100-108 dead -:0 (no_line)\n"
                    "108-110 small -:0 (no_line)\n"
                    "110-120 middle -:0 (no_line)\n"
                    "120-180 dead -:0 (no_line)\n");
}

static void sizes_are_compared_by_range_not_by_function(void **state) {
    struct assembly_fixture *fixture = *state;
    fixture_unit(fixture);
    FUNCTION(.name = "split", .ranges = {{0x100, 0x108}, {0x120, 0x180}});
    FUNCTION(.name = "whole", .ranges = {{0x100, 0x130}});
    expect(fixture, "100-108 split -:0 (no_line)\n"
                    "108-130 whole -:0 (no_line)\n"
                    "130-180 split -:0 (no_line)\n");
}

static void among_equal_ranges_the_first_pushed_wins(void **state) {
    struct assembly_fixture *fixture = *state;
    fixture_unit(fixture);
    FUNCTION(.name = "first", .ranges = {{0x100, 0x110}});
    fixture_unit(fixture);
    FUNCTION(.name = "second", .ranges = {{0x100, 0x110}});
    expect(fixture, "100-110 first -:0 (no_line)\n");
}

static void symtab_comes_before_dynsym_and_earlier_files_before_later(void **state) {
    struct assembly_fixture *fixture = *state;
    fixture_symbol(fixture, "d1", 0x100, 0x140, SYMBOL_ORIGIN_DYNSYM);
    fixture_symbol(fixture, "a", 0x150, 0x160, SYMBOL_ORIGIN_SYMTAB);
    fixture_end_symbols(fixture);
    fixture_symbol(fixture, "b", 0x120, 0x158, SYMBOL_ORIGIN_SYMTAB);
    fixture_symbol(fixture, "d2", 0x100, 0x148, SYMBOL_ORIGIN_DYNSYM);
    fixture_symbol(fixture, "d3", 0x15c, 0x170, SYMBOL_ORIGIN_DYNSYM);
    expect(fixture, "100-120 d1/dynsym -:0 (no_line)\n"
                    "120-150 b/symtab -:0 (no_line)\n"
                    "150-160 a/symtab -:0 (no_line)\n"
                    "160-170 d3/dynsym -:0 (no_line)\n");
}

static void a_nameless_function_is_named_by_the_symbol_at_its_entry(void **state) {
    struct assembly_fixture *fixture = *state;
    fixture_unit(fixture);
    FUNCTION(.ranges = {{0x110, 0x120}}, .decl_file = "a.c", .decl_line = 3);
    FUNCTION(.ranges = {{0x130, 0x138}});
    fixture_symbol(fixture, "s", 0x100, 0x118, SYMBOL_ORIGIN_SYMTAB);
    expect(fixture, "100-120 s/symtab -:0 (no_line)\n"
                    "130-138 ? -:0 (no_line)\n");
    assert_int_equal(fixture->result.covered_bytes, 0x20);
}

static void mangled_names_are_tried_once_and_marked(void **state) {
    struct assembly_fixture *fixture = *state;
    fixture_unit(fixture);
    FUNCTION(.name = "_Z1fv", .linkage = true, .ranges = {{0x100, 0x110}});
    FUNCTION(.name = "_Z1gv", .linkage = false, .ranges = {{0x110, 0x120}});
    FUNCTION(.name = "_Znonsense_", .linkage = true, .ranges = {{0x120, 0x130}});
    fixture_symbol(fixture, "_Z1hv", 0x130, 0x140, SYMBOL_ORIGIN_SYMTAB);
    fixture_symbol(fixture, "plain", 0x140, 0x150, SYMBOL_ORIGIN_SYMTAB);
    expect(fixture, "100-110 _Z1fv* -:0 (no_line)\n"
                    "110-120 _Z1gv -:0 (no_line)\n"
                    "120-130 _Znonsense_ -:0 (no_line)\n"
                    "130-140 _Z1hv*/symtab -:0 (no_line)\n"
                    "140-150 plain/symtab -:0 (no_line)\n");
}

/* --- inlined copies --- */

static void inlined_copies_are_painted_over_their_parents(void **state) {
    struct assembly_fixture *fixture = *state;
    fixture_unit(fixture);
    uint32_t f = FUNCTION(.name = "f", .ranges = {{0x100, 0x140}});
    uint32_t g = INLINED(f, .name = "g", .call_file = "f.c", .call_line = 5, .call_column = 9,
                         .ranges = {{0x108, 0x120}, {0x130, 0x138}});
    INLINED(g, .name = "h", .call_file = "g.h", .call_line = 2, .ranges = {{0x110, 0x118}});
    SEQUENCE(0x140, {0x100, "f.c", 3, 0}, {0x108, "g.h", 1, 4}, {0x110, "h.h", 7, 0},
             {0x118, "g.h", 3, 0}, {0x120, "f.c", 6, 0}, {0x130, "g.h", 4, 0});
    expect(fixture, "100-108 f f.c:3\n"
                    "108-110 g g.h:1:4 < f f.c:5:9\n"
                    "110-118 h h.h:7 < g g.h:2 < f f.c:5:9\n"
                    "118-120 g g.h:3 < f f.c:5:9\n"
                    "120-130 f f.c:6\n"
                    "130-138 g g.h:4 < f f.c:5:9\n"
                    "138-140 f g.h:4\n");
}

static void a_copy_counts_only_where_its_parent_does(void **state) {
    struct assembly_fixture *fixture = *state;
    fixture_unit(fixture);
    uint32_t f = FUNCTION(.name = "f", .ranges = {{0x100, 0x140}});
    uint32_t g = INLINED(f, .name = "g", .call_line = 1, .ranges = {{0x110, 0x118}});
    INLINED(g, .name = "wide", .call_line = 2, .ranges = {{0xf0, 0x150}});
    uint32_t outside = INLINED(f, .name = "outside", .call_line = 3, .ranges = {{0x138, 0x160}});
    INLINED(outside, .name = "deep", .call_line = 4, .ranges = {{0x13c, 0x170}});
    expect(fixture, "100-110 f -:0 (no_line)\n"
                    "110-118 wide -:0 < g -:2 < f -:1 (no_line)\n"
                    "118-138 f -:0 (no_line)\n"
                    "138-13c outside -:0 < f -:3 (no_line)\n"
                    "13c-140 deep -:0 < outside -:4 < f -:3 (no_line)\n");
}

static void of_overlapping_siblings_the_smaller_range_wins(void **state) {
    struct assembly_fixture *fixture = *state;
    fixture_unit(fixture);
    uint32_t f = FUNCTION(.name = "f", .ranges = {{0x100, 0x140}});
    uint32_t a = INLINED(f, .name = "a", .call_line = 1, .ranges = {{0x100, 0x120}});
    uint32_t b = INLINED(f, .name = "b", .call_line = 2, .ranges = {{0x110, 0x128}});
    INLINED(a, .name = "in_a", .call_line = 3, .ranges = {{0x108, 0x118}});
    INLINED(b, .name = "in_b", .call_line = 4, .ranges = {{0x100, 0x118}});
    INLINED(f, .name = "late", .call_line = 5, .ranges = {{0x110, 0x128}});
    expect(fixture, "100-108 a -:0 < f -:1 (no_line)\n"
                    "108-110 in_a -:0 < a -:3 < f -:1 (no_line)\n"
                    "110-118 in_b -:0 < b -:4 < f -:2 (no_line)\n"
                    "118-128 b -:0 < f -:2 (no_line)\n"
                    "128-140 f -:0 (no_line)\n");
}

static void copies_of_nested_functions_do_not_mix(void **state) {
    struct assembly_fixture *fixture = *state;
    fixture_unit(fixture);
    uint32_t f = FUNCTION(.name = "f", .ranges = {{0x100, 0x120}});
    uint32_t nested = FUNCTION(.name = "nested", .ranges = {{0x110, 0x118}});
    INLINED(f, .name = "in_f", .call_line = 1, .ranges = {{0x100, 0x120}});
    INLINED(nested, .name = "in_nested", .call_line = 2, .ranges = {{0x114, 0x118}});
    expect(fixture, "100-110 in_f -:0 < f -:1 (no_line)\n"
                    "110-114 nested -:0 (no_line)\n"
                    "114-118 in_nested -:0 < nested -:2 (no_line)\n"
                    "118-120 in_f -:0 < f -:1 (no_line)\n");
}

static void a_chain_as_deep_as_an_answer_may_be_is_kept(void **state) {
    struct assembly_fixture *fixture = *state;
    fixture_unit(fixture);
    uint32_t node = FUNCTION(.name = "f", .ranges = {{0x100, 0x110}});
    for (int i = 1; i < FRAME_COUNT_MAX + 10; i++)
        node = INLINED(node, .name = "g", .call_line = (uint32_t)i, .ranges = {{0x100, 0x110}});
    CLEANUP(cleanup_free) char *text = fixture_dump(fixture, 0x100, 0x101);
    size_t frames = 1;
    for (const char *at = text; (at = strstr(at, " < ")); at += 3)
        frames++;
    assert_int_equal(frames, FRAME_COUNT_MAX);
    assert_int_equal(fixture->counts.damage, 10);
}

/*
 * Each short range at the top interrupts a deep tower of open ranges, so that the way down must be
 * walked anew behind it.
 */
static void ranges_made_to_interrupt_one_another_lose_their_copies(void **state) {
    struct assembly_fixture *fixture = *state;
    fixture_unit(fixture);
    uint32_t f = FUNCTION(.name = "f", .ranges = {{0x100, 0x100000}});
    uint32_t node = f;
    for (int i = 0; i < 2000; i++)
        node = INLINED(node, .name = "tower", .ranges = {{0x100, 0x100000}});
    for (uint64_t i = 0; i < 2000; i++)
        INLINED(f, .name = "spike", .ranges = {{0x110 + 16 * i, 0x111 + 16 * i}});
    CLEANUP(cleanup_free) char *text = fixture_dump(fixture, 0xffffe, 0x100001);
    assert_string_equal(text, "ffffe-100000 f -:0 (inline_unavailable)\n");
    assert_int_equal(fixture->counts.damage, 1);
}

/* --- lines --- */

static void the_last_row_at_or_before_an_address_wins(void **state) {
    struct assembly_fixture *fixture = *state;
    fixture_unit(fixture);
    FUNCTION(.name = "f", .ranges = {{0x100, 0x120}});
    SEQUENCE(0x118, {0x100, "a.c", 1, 0}, {0x108, "a.c", 2, 0}, {0x108, "a.c", 3, 0},
             {0x108, "a.c", 4, 0}, {0x110, "a.c", 5, 0});
    expect(fixture, "100-108 f a.c:1\n"
                    "108-110 f a.c:4\n"
                    "110-118 f a.c:5\n"
                    "118-120 f -:0 (no_line)\n");
    assert_int_equal(fixture->counts.line_rows, 5);
}

static void a_row_of_line_zero_is_a_place_without_line(void **state) {
    struct assembly_fixture *fixture = *state;
    fixture_unit(fixture);
    FUNCTION(.name = "f", .ranges = {{0x100, 0x110}});
    SEQUENCE(0x110, {0x100, "a.c", 1, 0}, {0x108, "a.c", 0, 0});
    expect(fixture, "100-108 f a.c:1\n"
                    "108-110 f a.c:0 (no_line)\n");
}

static void empty_sequences_are_dropped(void **state) {
    struct assembly_fixture *fixture = *state;
    fixture_unit(fixture);
    FUNCTION(.name = "f", .ranges = {{0x100, 0x110}});
    SEQUENCE(0x108, {0x108, "dead.c", 9, 0});
    SEQUENCE(0x110, {0x100, "a.c", 1, 0});
    expect(fixture, "100-110 f a.c:1\n");
}

static void the_smallest_covering_sequence_wins(void **state) {
    struct assembly_fixture *fixture = *state;
    fixture_unit(fixture);
    FUNCTION(.name = "f", .ranges = {{0x100, 0x120}});
    SEQUENCE(0x180, {0x80, "dead.c", 1, 0}, {0x104, "dead.c", 2, 0});
    SEQUENCE(0x110, {0x100, "a.c", 1, 0}, {0x108, "a.c", 2, 0});
    expect(fixture, "80-100 ? dead.c:1\n"
                    "100-108 f a.c:1\n"
                    "108-110 f a.c:2\n"
                    "110-120 f dead.c:2\n"
                    "120-180 ? dead.c:2\n");
}

static void the_functions_own_unit_comes_before_smaller_sequences_of_others(void **state) {
    struct assembly_fixture *fixture = *state;
    fixture_unit(fixture);
    SEQUENCE(0x110, {0x108, "other.c", 1, 0});
    SEQUENCE(0x11c, {0x114, "other.c", 2, 0});
    fixture_unit(fixture);
    FUNCTION(.name = "f", .ranges = {{0x100, 0x120}});
    SEQUENCE(0x118, {0x100, "own.c", 1, 0}, {0x108, "own.c", 2, 0});
    expect(fixture, "100-108 f own.c:1\n"
                    "108-118 f own.c:2\n"
                    "118-11c f other.c:2\n"
                    "11c-120 f -:0 (no_line)\n");
}

static void a_row_of_the_own_unit_is_not_replaced_for_having_no_line(void **state) {
    struct assembly_fixture *fixture = *state;
    fixture_unit(fixture);
    SEQUENCE(0x110, {0x100, "other.c", 1, 0});
    fixture_unit(fixture);
    FUNCTION(.name = "f", .ranges = {{0x100, 0x110}});
    SEQUENCE(0x110, {0x100, "own.c", 0, 0});
    expect(fixture, "100-110 f own.c:0 (no_line)\n");
}

static void among_equal_sequences_the_one_that_fits_the_function_wins(void **state) {
    struct assembly_fixture *fixture = *state;
    fixture_unit(fixture);
    FUNCTION(.name = "first", .decl_file = "a.c", .decl_line = 20, .ranges = {{0x100, 0x110}});
    FUNCTION(.name = "folded", .decl_file = "b.c", .decl_line = 1, .ranges = {{0x100, 0x110}});
    SEQUENCE(0x110, {0x100, "b.c", 2, 0}, {0x108, "b.c", 3, 0});
    SEQUENCE(0x110, {0x100, "a.c", 5, 0}, {0x108, "a.c", 6, 0});
    SEQUENCE(0x110, {0x100, "a.c", 20, 0}, {0x104, "inlined.h", 1, 0}, {0x108, "a.c", 21, 0});
    expect(fixture, "100-104 first a.c:20\n"
                    "104-108 first inlined.h:1\n"
                    "108-110 first a.c:21\n");
}

static void without_a_fitting_sequence_the_first_of_equals_wins(void **state) {
    struct assembly_fixture *fixture = *state;
    fixture_unit(fixture);
    FUNCTION(.name = "f", .decl_file = "c.c", .decl_line = 1, .ranges = {{0x100, 0x110}});
    SEQUENCE(0x110, {0x100, "b.c", 2, 0});
    SEQUENCE(0x110, {0x100, "a.c", 5, 0});
    expect(fixture, "100-110 f b.c:2\n");
}

static void rows_outside_functions_take_their_name_from_symbols(void **state) {
    struct assembly_fixture *fixture = *state;
    fixture_unit(fixture);
    SEQUENCE(0x118, {0x100, "a.s", 1, 0}, {0x108, "a.s", 0, 0}, {0x110, "a.s", 3, 0});
    fixture_symbol(fixture, "entry", 0x104, 0x10c, SYMBOL_ORIGIN_DYNSYM);
    expect(fixture, "100-104 ? a.s:1\n"
                    "104-108 entry/dynsym a.s:1\n"
                    "108-10c entry/dynsym a.s:0 (no_line)\n"
                    "110-118 ? a.s:3\n");
    assert_int_equal(fixture->result.covered_bytes, 8);
}

static void addresses_at_both_ends_of_the_space_work(void **state) {
    struct assembly_fixture *fixture = *state;
    fixture_unit(fixture);
    FUNCTION(.name = "low", .ranges = {{0, 1}});
    FUNCTION(.name = "high", .ranges = {{UINT64_MAX - 2, UINT64_MAX}});
    SEQUENCE(UINT64_MAX, {UINT64_MAX - 1, "a.c", 1, 0});
    fixture_symbol(fixture, "s", UINT64_MAX - 4, UINT64_MAX, SYMBOL_ORIGIN_SYMTAB);
    CLEANUP(cleanup_free) char *low = fixture_dump(fixture, 0, 2);
    assert_string_equal(low, "0-1 low -:0 (no_line)\n");
    CLEANUP(cleanup_free) char *high = fixture_dump(fixture, UINT64_MAX - 4, UINT64_MAX);
    assert_string_equal(high, "fffffffffffffffb-fffffffffffffffd s/symtab -:0 (no_line)\n"
                              "fffffffffffffffd-fffffffffffffffe high -:0 (no_line)\n"
                              "fffffffffffffffe-ffffffffffffffff high a.c:1\n");
}

static void nothing_in_is_nothing_out(void **state) {
    struct assembly_fixture *fixture = *state;
    expect(fixture, "");
    assert_int_equal(fixture->result.covered_bytes, 0);
}

/* Whichever table is the one that no longer fits: an error, and all that was taken is given back.
 */
static void building_in_any_budget_ends_in_success_or_a_limit(void **state) {
    struct assembly_fixture *fixture = *state;
    for (uint64_t i = 0; i < 200; i++) {
        uint64_t pc = 0x1000 - 16 * i;
        fixture_unit(fixture);
        uint32_t f = FUNCTION(.name = "f", .decl_file = "a.c", .ranges = {{pc, pc + 12}});
        INLINED(f, .name = "g", .ranges = {{pc + 4, pc + 10}, {pc + 2, pc + 8}});
        SEQUENCE(pc + 14, {pc, "a.c", 1, 0}, {pc + 4, "b.c", 2, 0});
        fixture_symbol(fixture, "s", pc + 8, pc + 16, SYMBOL_ORIGIN_SYMTAB);
    }
    enum err err = ERR_LIMIT;
    for (uint64_t memory_max = 1; err == ERR_LIMIT; memory_max += 1 + memory_max / 16) {
        struct span bytes = {NULL, 0};
        struct error error;
        err = fixture_build(fixture, memory_max, &bytes, &error);
        free((void *)bytes.data);
        assert_true(memory_max < 1 << 24);
    }
    assert_int_equal(err, ERR_OK);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, start, end)

int main(void) {
    const struct CMUnitTest tests[] = {
        TEST(a_function_without_rows_answers_without_line),
        TEST(functions_come_before_symbols),
        TEST(the_smallest_function_range_wins),
        TEST(sizes_are_compared_by_range_not_by_function),
        TEST(among_equal_ranges_the_first_pushed_wins),
        TEST(symtab_comes_before_dynsym_and_earlier_files_before_later),
        TEST(a_nameless_function_is_named_by_the_symbol_at_its_entry),
        TEST(mangled_names_are_tried_once_and_marked),
        TEST(inlined_copies_are_painted_over_their_parents),
        TEST(a_copy_counts_only_where_its_parent_does),
        TEST(of_overlapping_siblings_the_smaller_range_wins),
        TEST(copies_of_nested_functions_do_not_mix),
        TEST(a_chain_as_deep_as_an_answer_may_be_is_kept),
        TEST(ranges_made_to_interrupt_one_another_lose_their_copies),
        TEST(the_last_row_at_or_before_an_address_wins),
        TEST(a_row_of_line_zero_is_a_place_without_line),
        TEST(empty_sequences_are_dropped),
        TEST(the_smallest_covering_sequence_wins),
        TEST(the_functions_own_unit_comes_before_smaller_sequences_of_others),
        TEST(a_row_of_the_own_unit_is_not_replaced_for_having_no_line),
        TEST(among_equal_sequences_the_one_that_fits_the_function_wins),
        TEST(without_a_fitting_sequence_the_first_of_equals_wins),
        TEST(rows_outside_functions_take_their_name_from_symbols),
        TEST(addresses_at_both_ends_of_the_space_work),
        TEST(nothing_in_is_nothing_out),
        TEST(building_in_any_budget_ends_in_success_or_a_limit),
    };
    return cmocka_run_group_tests_name("assembly", tests, NULL, NULL);
}
