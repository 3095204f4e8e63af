#include "ingest/upload_decision.h"

#include "tests/support/test.h"

#define NOW_MS ((int64_t)1800000000000)
#define STALE_AFTER_MS ((int64_t)17 * 60 * 1000)
#define MINUTE_MS ((int64_t)60 * 1000)
#define HOUR_MS (60 * MINUTE_MS)

static struct upload_facts unknown(void) {
    return (struct upload_facts){
        .now_ms = NOW_MS,
        .stale_after_ms = STALE_AFTER_MS,
        .type = ARTIFACT_DEBUGINFO,
    };
}

static struct upload_facts latest(enum upload_state state, int64_t age_ms) {
    struct upload_facts facts = unknown();
    facts.has_latest = true;
    facts.latest_state = state;
    facts.latest_started_ms = NOW_MS - age_ms;
    return facts;
}

static struct upload_facts stored(unsigned contents) {
    struct upload_facts facts = latest(UPLOAD_UPLOADED, 24 * HOUR_MS);
    facts.stored = true;
    facts.contents = contents;
    return facts;
}

static void decides(struct upload_facts facts, bool should, enum upload_reason reason,
                    enum err initiate) {
    struct upload_verdict verdict = upload_decide(&facts);
    assert_int_equal(verdict.should, should);
    assert_int_equal(verdict.reason, reason);
    assert_int_equal(verdict.initiate, initiate);
}

static void an_unknown_id_is_wanted(void **state) {
    (void)state;
    struct upload_facts facts = unknown();
    decides(facts, true, UPLOAD_REASON_FIRST_TIME_SEEN, ERR_OK);
    facts.has_hash = true;
    decides(facts, true, UPLOAD_REASON_FIRST_TIME_SEEN, ERR_OK);
    facts.forced = true;
    decides(facts, true, UPLOAD_REASON_FIRST_TIME_SEEN, ERR_OK);
}

static void an_upload_in_progress_is_left_alone_unless_forced(void **state) {
    (void)state;
    struct upload_facts facts = latest(UPLOAD_UPLOADING, MINUTE_MS);
    decides(facts, false, UPLOAD_REASON_IN_PROGRESS, ERR_STATE);
    facts.has_hash = true;
    decides(facts, false, UPLOAD_REASON_IN_PROGRESS, ERR_STATE);
    facts.forced = true;
    decides(facts, true, UPLOAD_REASON_IN_PROGRESS_BUT_FORCED, ERR_OK);
}

static void an_upload_in_progress_comes_before_what_is_stored(void **state) {
    (void)state;
    struct upload_facts facts = latest(UPLOAD_UPLOADING, MINUTE_MS);
    facts.stored = true;
    facts.contents = CONTENTS_DWARF;
    decides(facts, false, UPLOAD_REASON_IN_PROGRESS, ERR_STATE);
    facts.forced = true;
    decides(facts, true, UPLOAD_REASON_IN_PROGRESS_BUT_FORCED, ERR_OK);
}

static void an_upload_is_stale_when_its_time_has_passed(void **state) {
    (void)state;
    int64_t limit_ms = STALE_AFTER_MS;
    decides(latest(UPLOAD_UPLOADING, limit_ms), false, UPLOAD_REASON_IN_PROGRESS, ERR_STATE);
    decides(latest(UPLOAD_UPLOADING, limit_ms + 1), true, UPLOAD_REASON_STALE, ERR_OK);
}

static void an_upload_from_the_future_is_stale(void **state) {
    (void)state;
    decides(latest(UPLOAD_UPLOADING, -MINUTE_MS), false, UPLOAD_REASON_IN_PROGRESS, ERR_STATE);
    decides(latest(UPLOAD_UPLOADING, -10 * MINUTE_MS), true, UPLOAD_REASON_STALE, ERR_OK);
}

static void an_interrupted_upload_may_be_retried_at_once_and_often(void **state) {
    (void)state;
    struct upload_facts facts = latest(UPLOAD_INTERRUPTED, MINUTE_MS);
    decides(facts, true, UPLOAD_REASON_STALE, ERR_OK);
    facts.has_hash = true;
    facts.failed_count = 100;
    decides(facts, true, UPLOAD_REASON_STALE, ERR_OK);
}

static void a_good_object_is_not_wanted_again_unless_forced(void **state) {
    (void)state;
    static const unsigned good[] = {
        CONTENTS_DWARF,
        CONTENTS_PCLNTAB,
        CONTENTS_PCLNTAB | CONTENTS_SYMTAB,
        CONTENTS_DWARF | CONTENTS_PCLNTAB | CONTENTS_SYMTAB | CONTENTS_DYNSYM,
    };
    for (size_t i = 0; i < sizeof(good) / sizeof(good[0]); i++) {
        struct upload_facts facts = stored(good[i]);
        decides(facts, false, UPLOAD_REASON_EXISTS, ERR_STATE);
        facts.has_hash = true;
        decides(facts, false, UPLOAD_REASON_EXISTS, ERR_STATE);
        facts.hash_held = true;
        decides(facts, false, UPLOAD_REASON_EXISTS, ERR_STATE);
        facts.forced = true;
        decides(facts, true, UPLOAD_REASON_EXISTS_BUT_FORCED, ERR_OK);
    }
}

static void a_good_object_outlives_a_stale_interrupted_or_failed_upload(void **state) {
    (void)state;
    static const enum upload_state ended[] = {UPLOAD_UPLOADING, UPLOAD_INTERRUPTED, UPLOAD_FAILED,
                                              UPLOAD_PURGED};
    for (size_t i = 0; i < sizeof(ended) / sizeof(ended[0]); i++) {
        struct upload_facts facts = latest(ended[i], 60 * MINUTE_MS);
        facts.stored = true;
        facts.contents = CONTENTS_DWARF;
        decides(facts, false, UPLOAD_REASON_EXISTS, ERR_STATE);
    }
}

static void an_object_under_another_name_counts_as_stored(void **state) {
    (void)state;
    struct upload_facts facts = unknown();
    facts.stored = true;
    facts.contents = CONTENTS_DWARF;
    decides(facts, false, UPLOAD_REASON_EXISTS, ERR_STATE);
}

static void a_poor_object_is_wanted_again_once_an_hour(void **state) {
    (void)state;
    static const unsigned poor[] = {0, CONTENTS_DYNSYM, CONTENTS_SYMTAB | CONTENTS_DYNSYM};
    for (size_t i = 0; i < sizeof(poor) / sizeof(poor[0]); i++) {
        struct upload_facts facts = stored(poor[i]);
        decides(facts, true, UPLOAD_REASON_INVALID, ERR_OK);
        assert_true(upload_decide(&facts).invites);
        facts.invited_ms = NOW_MS - 60 * MINUTE_MS + 1;
        decides(facts, false, UPLOAD_REASON_EXISTS, ERR_OK);
        assert_false(upload_decide(&facts).invites);
        facts.invited_ms = NOW_MS - 60 * MINUTE_MS;
        decides(facts, true, UPLOAD_REASON_INVALID, ERR_OK);
        facts.invited_ms = NOW_MS + 1;
        decides(facts, true, UPLOAD_REASON_INVALID, ERR_OK);
    }
}

static void a_poor_object_gives_way_to_another_hash_only(void **state) {
    (void)state;
    struct upload_facts facts = stored(CONTENTS_DYNSYM);
    facts.has_hash = true;
    decides(facts, true, UPLOAD_REASON_NOT_EQUAL, ERR_OK);
    facts.hash_held = true;
    decides(facts, false, UPLOAD_REASON_EQUAL, ERR_EXISTS);
    facts.forced = true;
    decides(facts, true, UPLOAD_REASON_EXISTS_BUT_FORCED, ERR_OK);
}

static void only_a_yes_to_a_poor_object_is_an_invitation(void **state) {
    (void)state;
    struct upload_facts facts = stored(CONTENTS_DYNSYM);
    facts.forced = true;
    assert_false(upload_decide(&facts).invites);
    facts = unknown();
    assert_false(upload_decide(&facts).invites);
    facts = latest(UPLOAD_FAILED, MINUTE_MS);
    assert_false(upload_decide(&facts).invites);
}

static void sources_are_never_poor(void **state) {
    (void)state;
    struct upload_facts facts = stored(0);
    facts.type = ARTIFACT_SOURCES;
    decides(facts, false, UPLOAD_REASON_EXISTS, ERR_STATE);
    facts.type = ARTIFACT_SOURCE_MAP;
    decides(facts, false, UPLOAD_REASON_EXISTS, ERR_STATE);
    facts.type = ARTIFACT_EXECUTABLE;
    decides(facts, true, UPLOAD_REASON_INVALID, ERR_OK);
}

static void a_failed_upload_may_be_retried_three_times_a_day(void **state) {
    (void)state;
    struct upload_facts facts = latest(UPLOAD_FAILED, MINUTE_MS);
    decides(facts, true, UPLOAD_REASON_INVALID, ERR_OK);
    facts.has_hash = true;
    for (facts.failed_count = 1; facts.failed_count <= 3; facts.failed_count++)
        decides(facts, true, UPLOAD_REASON_NOT_EQUAL, ERR_OK);
    decides(facts, false, UPLOAD_REASON_EQUAL, ERR_EXISTS);
    facts.forced = true;
    decides(facts, true, UPLOAD_REASON_EXISTS_BUT_FORCED, ERR_OK);
}

static void a_better_file_that_failed_too_often_is_refused_beside_a_poor_one(void **state) {
    (void)state;
    struct upload_facts facts = latest(UPLOAD_FAILED, MINUTE_MS);
    facts.stored = true;
    facts.contents = CONTENTS_SYMTAB;
    facts.has_hash = true;
    facts.failed_count = 3;
    decides(facts, true, UPLOAD_REASON_NOT_EQUAL, ERR_OK);
    facts.failed_count = 4;
    decides(facts, false, UPLOAD_REASON_EQUAL, ERR_EXISTS);
}

static void a_broken_object_gives_way_to_another_hash_at_any_time(void **state) {
    (void)state;
    struct upload_facts facts = stored(0);
    facts.broken = true;
    facts.invited_ms = NOW_MS - 1;
    decides(facts, true, UPLOAD_REASON_INVALID, ERR_OK);
    assert_false(upload_decide(&facts).invites);
    facts.has_hash = true;
    decides(facts, true, UPLOAD_REASON_NOT_EQUAL, ERR_OK);
    facts.failed_count = UPLOAD_RETRIES_MAX + 1;
    decides(facts, false, UPLOAD_REASON_EQUAL, ERR_EXISTS);
    facts.failed_count = 0;
    facts.hash_held = true;
    decides(facts, false, UPLOAD_REASON_EQUAL, ERR_EXISTS);
    facts.forced = true;
    decides(facts, true, UPLOAD_REASON_EXISTS_BUT_FORCED, ERR_OK);
}

static void a_broken_object_does_not_matter_beside_a_good_one(void **state) {
    (void)state;
    struct upload_facts facts = stored(CONTENTS_PCLNTAB);
    facts.broken = true;
    decides(facts, false, UPLOAD_REASON_EXISTS, ERR_STATE);
}

static void a_broken_object_beside_a_poor_one_is_not_bound_to_the_hour(void **state) {
    (void)state;
    struct upload_facts facts = stored(CONTENTS_DYNSYM);
    facts.invited_ms = NOW_MS - 1;
    decides(facts, false, UPLOAD_REASON_EXISTS, ERR_OK);
    facts.broken = true;
    decides(facts, true, UPLOAD_REASON_INVALID, ERR_OK);
}

static struct object_row object(int64_t number, unsigned contents, enum object_soundness sound) {
    return (struct object_row){
        .object_id = number,
        .type = ARTIFACT_DEBUGINFO,
        .contents = contents,
        .verification = VERIFICATION_NOTE,
        .soundness = sound,
    };
}

static struct upload_facts facts_of(const struct object_row *objects, size_t count) {
    struct upload_facts facts = unknown();
    upload_facts_add_objects(&facts, objects, count);
    return facts;
}

static void an_id_is_judged_by_its_best_object_that_is_not_broken(void **state) {
    (void)state;
    struct upload_facts facts = facts_of(NULL, 0);
    assert_false(facts.stored || facts.broken || facts.contents);
    struct object_row objects[] = {object(1, CONTENTS_DYNSYM, OBJECT_SOUND),
                                   object(2, CONTENTS_PCLNTAB, OBJECT_SOUND),
                                   object(3, CONTENTS_DWARF, OBJECT_BROKEN)};
    facts = facts_of(objects, 3);
    assert_true(facts.stored && facts.broken);
    assert_int_equal(facts.contents, CONTENTS_PCLNTAB);
    facts = facts_of(objects, 2);
    assert_false(facts.broken);
    facts = facts_of(&objects[2], 1);
    assert_true(facts.stored && facts.broken);
    assert_int_equal(facts.contents, 0);
    objects[2].soundness = OBJECT_SOUND;
    facts = facts_of(objects, 3);
    assert_false(facts.broken);
    assert_int_equal(facts.contents, CONTENTS_DWARF);
}

static void what_holds_nothing_for_us_is_broken_only_if_it_promised_more(void **state) {
    (void)state;
    struct object_row row = object(1, CONTENTS_DWARF, OBJECT_UNSUPPORTED);
    assert_true(facts_of(&row, 1).broken);
    row.contents = CONTENTS_DYNSYM;
    assert_false(facts_of(&row, 1).broken);
    assert_int_equal(facts_of(&row, 1).contents, CONTENTS_DYNSYM);
    row.soundness = OBJECT_BROKEN;
    assert_true(facts_of(&row, 1).broken);
}

static void an_object_of_another_type_is_not_stored_as_this_one(void **state) {
    (void)state;
    struct object_row row = object(1, CONTENTS_DWARF, OBJECT_SOUND);
    row.type = ARTIFACT_EXECUTABLE;
    assert_false(facts_of(&row, 1).stored);
    assert_int_equal(facts_of(&row, 1).contents, CONTENTS_DWARF);
}

static void a_purged_upload_is_wanted(void **state) {
    (void)state;
    decides(latest(UPLOAD_PURGED, MINUTE_MS), true, UPLOAD_REASON_PURGED, ERR_OK);
    decides(latest(UPLOAD_UPLOADED, MINUTE_MS), true, UPLOAD_REASON_PURGED, ERR_OK);
}

static void agents_find_the_words_that_they_compare(void **state) {
    (void)state;
    /* parca-agent reporter/parca_uploader.go: any other text silences the agent for good. */
    assert_string_equal(upload_reason_text(UPLOAD_REASON_IN_PROGRESS),
                        "A previous upload is still in-progress and not stale yet (only stale "
                        "uploads can be retried).");
    for (int reason = UPLOAD_REASON_FIRST_TIME_SEEN; reason <= UPLOAD_REASON_PURGED; reason++)
        assert_true(strlen(upload_reason_text((enum upload_reason)reason)) > 0);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(an_unknown_id_is_wanted),
        cmocka_unit_test(an_upload_in_progress_is_left_alone_unless_forced),
        cmocka_unit_test(an_upload_in_progress_comes_before_what_is_stored),
        cmocka_unit_test(an_upload_is_stale_when_its_time_has_passed),
        cmocka_unit_test(an_upload_from_the_future_is_stale),
        cmocka_unit_test(an_interrupted_upload_may_be_retried_at_once_and_often),
        cmocka_unit_test(a_good_object_is_not_wanted_again_unless_forced),
        cmocka_unit_test(a_good_object_outlives_a_stale_interrupted_or_failed_upload),
        cmocka_unit_test(an_object_under_another_name_counts_as_stored),
        cmocka_unit_test(a_poor_object_is_wanted_again_once_an_hour),
        cmocka_unit_test(a_poor_object_gives_way_to_another_hash_only),
        cmocka_unit_test(only_a_yes_to_a_poor_object_is_an_invitation),
        cmocka_unit_test(sources_are_never_poor),
        cmocka_unit_test(a_failed_upload_may_be_retried_three_times_a_day),
        cmocka_unit_test(a_better_file_that_failed_too_often_is_refused_beside_a_poor_one),
        cmocka_unit_test(a_broken_object_gives_way_to_another_hash_at_any_time),
        cmocka_unit_test(a_broken_object_does_not_matter_beside_a_good_one),
        cmocka_unit_test(a_broken_object_beside_a_poor_one_is_not_bound_to_the_hour),
        cmocka_unit_test(an_id_is_judged_by_its_best_object_that_is_not_broken),
        cmocka_unit_test(what_holds_nothing_for_us_is_broken_only_if_it_promised_more),
        cmocka_unit_test(an_object_of_another_type_is_not_stored_as_this_one),
        cmocka_unit_test(a_purged_upload_is_wanted),
        cmocka_unit_test(agents_find_the_words_that_they_compare),
    };
    return cmocka_run_group_tests_name("upload_decision", tests, NULL, NULL);
}
