#include "ingest/upload_decision.h"

#include <assert.h>

#include "ingest/build_plan.h"

const char *upload_reason_text(enum upload_reason reason) {
    static const char *const texts[] = {
        [UPLOAD_REASON_FIRST_TIME_SEEN] =
            "First time we see this Build ID, and it does not exist in debuginfod, therefore "
            "please upload!",
        [UPLOAD_REASON_STALE] = "A previous upload was started but not finished and is now stale, "
                                "so it can be retried.",
        [UPLOAD_REASON_IN_PROGRESS] = "A previous upload is still in-progress and not stale yet "
                                      "(only stale uploads can be retried).",
        [UPLOAD_REASON_IN_PROGRESS_BUT_FORCED] =
            "A previous upload is in-progress, but accepting restart because it's requested to be "
            "forced.",
        [UPLOAD_REASON_EXISTS] = "Debuginfo already exists and is not marked as invalid, therefore "
                                 "no new upload is needed.",
        [UPLOAD_REASON_EXISTS_BUT_FORCED] =
            "Debuginfo already exists and is not marked as invalid, therefore wouldn't have "
            "accepted a new upload, but accepting it because it's requested to be forced.",
        [UPLOAD_REASON_INVALID] =
            "Debuginfo already exists but is marked as invalid, therefore a new upload is needed. "
            "Hash the debuginfo and initiate the upload.",
        [UPLOAD_REASON_EQUAL] =
            "Debuginfo already exists and is marked as invalid, but the proposed hash is the same "
            "as the one already available, therefore the upload is not accepted as it would result "
            "in the same invalid debuginfos.",
        [UPLOAD_REASON_NOT_EQUAL] = "Debuginfo already exists but is marked as invalid, therefore "
                                    "a new upload will be accepted.",
        [UPLOAD_REASON_PURGED] = "Debuginfo was previously uploaded but has been purged/cleaned "
                                 "up, therefore a new upload is needed.",
    };
    assert(reason >= UPLOAD_REASON_FIRST_TIME_SEEN && reason <= UPLOAD_REASON_PURGED);
    return texts[reason];
}

bool upload_is_stale(int64_t started_ms, int64_t stale_after_ms, int64_t now_ms) {
    int64_t age_ms = now_ms - started_ms;
    /* A start well in the future was stamped by a clock that has been set back since. */
    return age_ms > stale_after_ms || age_ms < -UPLOAD_CLOCK_SLACK_MS;
}

static struct upload_verdict accepted(enum upload_reason reason) {
    return (struct upload_verdict){.should = true, .reason = reason, .initiate = ERR_OK};
}

static struct upload_verdict refused(enum upload_reason reason, enum err initiate) {
    return (struct upload_verdict){.should = false, .reason = reason, .initiate = initiate};
}

static bool failed_too_often(const struct upload_facts *facts) {
    return facts->has_hash && facts->failed_count > UPLOAD_RETRIES_MAX;
}

/* With a hash one can tell that the file is another one; without, its sender must say it first. */
static enum upload_reason wanted_again(const struct upload_facts *facts) {
    return facts->has_hash ? UPLOAD_REASON_NOT_EQUAL : UPLOAD_REASON_INVALID;
}

static bool is_good(unsigned contents) {
    return (contents & (CONTENTS_DWARF | CONTENTS_PCLNTAB)) != 0;
}

static bool stored_is_good(const struct upload_facts *facts) {
    return !build_plan_is_binary(facts->type) || is_good(facts->contents);
}

/* A file in which there is nothing for us is as poor as it looked; one that promised more and gave
 * nothing is broken. */
static bool is_broken(const struct object_row *object) {
    return object->soundness == OBJECT_BROKEN ||
           (object->soundness == OBJECT_UNSUPPORTED && is_good(object->contents));
}

void upload_facts_add_objects(struct upload_facts *facts, const struct object_row *objects,
                              size_t count) {
    const struct object_row *best = build_plan_best(objects, count, NULL);
    facts->broken = best && is_broken(best);
    while (best && is_broken(best))
        best = build_plan_best(objects, count, best);
    facts->contents = best ? best->contents : 0;
    facts->stored = false;
    for (size_t i = 0; i < count; i++)
        facts->stored |= objects[i].type == facts->type;
}

static bool invited_lately(const struct upload_facts *facts) {
    int64_t age_ms = facts->now_ms - facts->invited_ms;
    return facts->invited_ms != 0 && age_ms >= 0 && age_ms < UPLOAD_INVITATION_PERIOD_MS;
}

static struct upload_verdict decide_stored(const struct upload_facts *facts) {
    if (facts->forced)
        return accepted(UPLOAD_REASON_EXISTS_BUT_FORCED);
    if (stored_is_good(facts))
        return refused(UPLOAD_REASON_EXISTS, ERR_STATE);
    if (facts->hash_held || failed_too_often(facts))
        return refused(UPLOAD_REASON_EQUAL, ERR_EXISTS);
    if (facts->broken)
        return accepted(wanted_again(facts));
    /* Who asked first within the hour was told yes and may initiate; the others need not. */
    if (invited_lately(facts))
        return refused(UPLOAD_REASON_EXISTS, ERR_OK);
    struct upload_verdict verdict = accepted(wanted_again(facts));
    verdict.invites = true;
    return verdict;
}

static struct upload_verdict decide_failed(const struct upload_facts *facts) {
    if (facts->forced)
        return accepted(UPLOAD_REASON_EXISTS_BUT_FORCED);
    if (failed_too_often(facts))
        return refused(UPLOAD_REASON_EQUAL, ERR_EXISTS);
    return accepted(wanted_again(facts));
}

struct upload_verdict upload_decide(const struct upload_facts *facts) {
    bool uploading = facts->has_latest && facts->latest_state == UPLOAD_UPLOADING;
    if (uploading &&
        !upload_is_stale(facts->latest_started_ms, facts->stale_after_ms, facts->now_ms))
        return facts->forced ? accepted(UPLOAD_REASON_IN_PROGRESS_BUT_FORCED)
                             : refused(UPLOAD_REASON_IN_PROGRESS, ERR_STATE);
    if (facts->stored)
        return decide_stored(facts);
    if (!facts->has_latest)
        return accepted(UPLOAD_REASON_FIRST_TIME_SEEN);
    switch (facts->latest_state) {
    case UPLOAD_UPLOADING:
    case UPLOAD_INTERRUPTED:
        return accepted(UPLOAD_REASON_STALE);
    case UPLOAD_FAILED:
        return decide_failed(facts);
    case UPLOAD_UPLOADED: /* its object is gone, which is what purged means */
    case UPLOAD_PURGED:
        return accepted(UPLOAD_REASON_PURGED);
    case UPLOAD_ABANDONED: /* never the latest */
        break;
    }
    return accepted(UPLOAD_REASON_FIRST_TIME_SEEN);
}
