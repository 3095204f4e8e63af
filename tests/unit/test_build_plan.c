#include "ingest/build_plan.h"

#include "symbolizer/protocol/job.h"
#include "tests/support/test.h"

/* A proven debug file of the default trust; `number` makes it distinct and is its age order. */
static struct object_row object(int number, unsigned contents) {
    struct object_row row = {
        .object_id = number,
        .type = ARTIFACT_DEBUGINFO,
        .contents = contents,
        .created_ms = number,
        .verification = VERIFICATION_NOTE,
    };
    row.digest.bytes[0] = (uint8_t)number;
    return row;
}

static struct build_plan next_of(struct build_plan_walk *walk) {
    struct build_plan plan;
    assert_true(build_plan_next(walk, &plan));
    return plan;
}

static struct build_plan plan_of(const struct object_row *objects, size_t count) {
    struct build_plan_walk walk = {.objects = objects, .count = count};
    return next_of(&walk);
}

static void assert_ended(struct build_plan_walk *walk) {
    struct build_plan plan;
    assert_false(build_plan_next(walk, &plan));
    assert_false(build_plan_next(walk, &plan));
}

static void assert_inputs(const struct build_plan *plan, int64_t main_id, int64_t debug_id) {
    assert_int_equal(plan->input_count, debug_id ? 2 : 1);
    assert_int_equal(plan->inputs[0].object_id, main_id);
    assert_int_equal(plan->inputs[0].role, JOB_ROLE_MAIN);
    if (debug_id) {
        assert_int_equal(plan->inputs[1].object_id, debug_id);
        assert_int_equal(plan->inputs[1].role, JOB_ROLE_DEBUG);
    }
}

static void nothing_is_built_of_nothing_or_of_sources(void **state) {
    (void)state;
    struct build_plan_walk nothing = {0};
    assert_ended(&nothing);
    struct object_row sources[] = {object(1, 0), object(2, 0)};
    sources[0].type = ARTIFACT_SOURCES;
    sources[1].type = ARTIFACT_SOURCE_MAP;
    struct build_plan_walk walk = {.objects = sources, .count = 2};
    assert_ended(&walk);
}

static void better_symbols_win_over_newer_ones(void **state) {
    (void)state;
    struct object_row objects[] = {
        object(5, CONTENTS_DYNSYM),
        object(4, CONTENTS_SYMTAB | CONTENTS_DYNSYM),
        object(3, CONTENTS_PCLNTAB | CONTENTS_SYMTAB | CONTENTS_DYNSYM),
        object(2, CONTENTS_DWARF | CONTENTS_PCLNTAB | CONTENTS_SYMTAB | CONTENTS_DYNSYM),
    };
    for (size_t count = 1; count <= 4; count++) {
        struct build_plan plan = plan_of(objects, count);
        assert_inputs(&plan, 6 - (int64_t)count, 0);
    }
}

static void the_newest_of_equals_wins(void **state) {
    (void)state;
    struct object_row objects[] = {object(1, CONTENTS_DWARF), object(3, CONTENTS_DWARF),
                                   object(2, CONTENTS_DWARF)};
    struct build_plan plan = plan_of(objects, 3);
    assert_inputs(&plan, 3, 0);
}

static void proof_wins_over_symbols(void **state) {
    (void)state;
    struct object_row objects[] = {object(1, CONTENTS_DYNSYM), object(2, CONTENTS_DWARF)};
    objects[1].verification = VERIFICATION_NONE;
    struct build_plan plan = plan_of(objects, 2);
    assert_inputs(&plan, 1, 0);
}

static void trust_wins_over_proof(void **state) {
    (void)state;
    struct object_row objects[] = {object(1, CONTENTS_DWARF), object(2, CONTENTS_DYNSYM)};
    objects[1].trust_rank = 1;
    objects[1].verification = VERIFICATION_NONE;
    struct build_plan plan = plan_of(objects, 2);
    assert_inputs(&plan, 2, 0);
}

static void an_executable_and_its_debug_file_are_built_together(void **state) {
    (void)state;
    struct object_row objects[] = {object(1, CONTENTS_DWARF | CONTENTS_SYMTAB),
                                   object(2, CONTENTS_PCLNTAB | CONTENTS_DYNSYM)};
    objects[1].type = ARTIFACT_EXECUTABLE;
    struct build_plan plan = plan_of(objects, 2);
    assert_inputs(&plan, 2, 1);
}

static void the_debug_file_is_told_by_its_dwarf_when_types_are_equal(void **state) {
    (void)state;
    struct object_row objects[] = {object(1, CONTENTS_PCLNTAB | CONTENTS_DYNSYM),
                                   object(2, CONTENTS_DWARF)};
    struct build_plan plan = plan_of(objects, 2);
    assert_inputs(&plan, 1, 2);
}

static void a_debug_type_stays_the_debug_role_even_when_it_is_poorer(void **state) {
    (void)state;
    struct object_row objects[] = {object(1, CONTENTS_DWARF), object(2, CONTENTS_SYMTAB)};
    objects[0].type = ARTIFACT_EXECUTABLE;
    struct build_plan plan = plan_of(objects, 2);
    assert_inputs(&plan, 1, 2);
}

static void what_adds_nothing_is_no_input(void **state) {
    (void)state;
    struct object_row objects[] = {object(1, CONTENTS_DWARF | CONTENTS_SYMTAB | CONTENTS_DYNSYM),
                                   object(2, CONTENTS_DYNSYM), object(3, CONTENTS_SYMTAB)};
    objects[1].type = ARTIFACT_EXECUTABLE;
    struct build_plan plan = plan_of(objects, 3);
    assert_inputs(&plan, 1, 0);
}

static void an_unproven_or_less_trusted_file_adds_nothing_to_a_proven_one(void **state) {
    (void)state;
    struct object_row objects[] = {object(1, CONTENTS_DYNSYM), object(2, CONTENTS_DWARF)};
    objects[1].verification = VERIFICATION_NONE;
    struct build_plan plan = plan_of(objects, 2);
    assert_inputs(&plan, 1, 0);
    objects[1].verification = VERIFICATION_NOTE;
    objects[0].trust_rank = 1;
    plan = plan_of(objects, 2);
    assert_inputs(&plan, 1, 0);
}

static void sources_are_never_inputs(void **state) {
    (void)state;
    struct object_row objects[] = {object(1, CONTENTS_DYNSYM), object(2, 0)};
    objects[1].type = ARTIFACT_SOURCES;
    objects[1].trust_rank = 9;
    struct build_plan plan = plan_of(objects, 2);
    assert_inputs(&plan, 1, 0);
}

static void poorer_sets_come_after_better_ones(void **state) {
    (void)state;
    struct object_row objects[] = {object(1, CONTENTS_DYNSYM), object(2, CONTENTS_DWARF),
                                   object(3, 0), object(4, CONTENTS_DWARF)};
    objects[2].type = ARTIFACT_SOURCES;
    objects[0].verification = VERIFICATION_NONE;
    struct build_plan_walk walk = {.objects = objects, .count = 4};
    static const int64_t order[] = {4, 2, 1};
    for (size_t i = 0; i < sizeof(order) / sizeof(order[0]); i++) {
        struct build_plan plan = next_of(&walk);
        assert_inputs(&plan, order[i], 0);
    }
    assert_ended(&walk);
}

static void after_a_pair_comes_each_of_the_two_alone(void **state) {
    (void)state;
    struct object_row objects[] = {object(1, CONTENTS_DYNSYM), object(2, CONTENTS_DWARF)};
    objects[0].type = ARTIFACT_EXECUTABLE;
    struct build_plan_walk walk = {.objects = objects, .count = 2};
    struct build_plan both = next_of(&walk);
    assert_inputs(&both, 1, 2);
    struct build_plan debug = next_of(&walk);
    assert_inputs(&debug, 2, 0);
    struct build_plan executable = next_of(&walk);
    assert_inputs(&executable, 1, 0);
    assert_ended(&walk);
    assert_false(digest_equal(&both.key, &debug.key));
}

static void a_worse_file_is_paired_only_with_still_worse_ones(void **state) {
    (void)state;
    struct object_row objects[] = {object(1, CONTENTS_DYNSYM), object(2, CONTENTS_SYMTAB),
                                   object(3, CONTENTS_DWARF | CONTENTS_SYMTAB)};
    struct build_plan_walk walk = {.objects = objects, .count = 3};
    static const int64_t inputs[][2] = {{1, 3}, {3, 0}, {1, 2}, {2, 0}, {1, 0}};
    for (size_t i = 0; i < sizeof(inputs) / sizeof(inputs[0]); i++) {
        struct build_plan plan = next_of(&walk);
        assert_inputs(&plan, inputs[i][0], inputs[i][1]);
    }
    assert_ended(&walk);
}

static void the_key_is_that_of_the_set(void **state) {
    (void)state;
    struct build_input inputs[] = {{.object_id = 1, .role = JOB_ROLE_MAIN},
                                   {.object_id = 2, .role = JOB_ROLE_DEBUG}};
    inputs[0].digest.bytes[0] = 7;
    inputs[1].digest.bytes[0] = 3;
    struct digest key = build_plan_key(inputs, 2);
    struct build_input turned[] = {inputs[1], inputs[0]};
    turned[0].object_id = 9; /* a row number is no content */
    struct digest same = build_plan_key(turned, 2);
    assert_true(digest_equal(&key, &same));
    struct digest fewer = build_plan_key(inputs, 1);
    assert_false(digest_equal(&key, &fewer));
    inputs[1].role = JOB_ROLE_DWP;
    struct digest other = build_plan_key(inputs, 2);
    assert_false(digest_equal(&key, &other));
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(nothing_is_built_of_nothing_or_of_sources),
        cmocka_unit_test(better_symbols_win_over_newer_ones),
        cmocka_unit_test(the_newest_of_equals_wins),
        cmocka_unit_test(proof_wins_over_symbols),
        cmocka_unit_test(trust_wins_over_proof),
        cmocka_unit_test(an_executable_and_its_debug_file_are_built_together),
        cmocka_unit_test(the_debug_file_is_told_by_its_dwarf_when_types_are_equal),
        cmocka_unit_test(a_debug_type_stays_the_debug_role_even_when_it_is_poorer),
        cmocka_unit_test(what_adds_nothing_is_no_input),
        cmocka_unit_test(an_unproven_or_less_trusted_file_adds_nothing_to_a_proven_one),
        cmocka_unit_test(sources_are_never_inputs),
        cmocka_unit_test(poorer_sets_come_after_better_ones),
        cmocka_unit_test(after_a_pair_comes_each_of_the_two_alone),
        cmocka_unit_test(a_worse_file_is_paired_only_with_still_worse_ones),
        cmocka_unit_test(the_key_is_that_of_the_set),
    };
    return cmocka_run_group_tests_name("build_plan", tests, NULL, NULL);
}
