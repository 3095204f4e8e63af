#include "ingest/upload.h"

#include <assert.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>

#include "base/clock.h"
#include "base/fault.h"
#include "cache/catalog_objects.h"
#include "ingest/build_family.h"
#include "ingest/build_plan.h"
#include "ingest/upload_decision.h"
#include "ingest/upload_internal.h"

#define UPLOAD_SIZE_MAX_DEFAULT ((uint64_t)4 << 30)
/* Parca's: 15 minutes to upload, and two of grace. */
#define STALE_AFTER_MS_DEFAULT ((int64_t)17 * 60 * 1000)
#define UPLOAD_COUNT_MAX_DEFAULT 512

static enum err interrupt_unfinished(struct catalog_txn *txn, void *argument, struct error *error) {
    struct ingest *ingest = argument;
    uint64_t count = 0;
    enum err err = catalog_uploads_fail_unfinished(
        txn, "the server was restarted before the upload ended", ingest->wall_ms(), &count, error);
    ingest->interrupted = count;
    return err;
}

enum err ingest_open(const struct ingest_config *config, struct catalog *catalog,
                     struct blob_store *blobs, struct build_queue *queue, struct workers *workers,
                     struct ingest **ret_ingest, struct error *error) {
    CLEANUP(cleanup_ingest) struct ingest *ingest = calloc(1, sizeof(*ingest));
    if (!ingest)
        return error_set(error, ERR_NO_MEMORY, "no memory for the upload core");
    pthread_rwlock_init(&ingest->publishing, NULL);
    ingest->wall_ms = config->wall_ms ? config->wall_ms : clock_wall_ms;
    ingest->catalog = catalog;
    ingest->blobs = blobs;
    ingest->queue = queue;
    ingest->workers = workers;
    uint64_t removed = 0;
    enum err err = upload_table_new(&ingest->table, error);
    if (err == ERR_OK)
        ingest_limit(ingest, &config->limits);
    if (err == ERR_OK)
        err = blob_store_sweep(blobs, &removed, error);
    if (err == ERR_OK)
        err = catalog_write(catalog, interrupt_unfinished, ingest, error);
    if (err != ERR_OK)
        return err;
    *ret_ingest = TAKE(ingest);
    return ERR_OK;
}

void ingest_limit(struct ingest *ingest, const struct ingest_limits *limits) {
    ingest->upload_size_max = limits->upload_size_max ? limits->upload_size_max
                                                      : UPLOAD_SIZE_MAX_DEFAULT;
    ingest->stale_after_ms = limits->stale_after_ms ? limits->stale_after_ms
                                                    : STALE_AFTER_MS_DEFAULT;
    upload_table_limit(ingest->table, limits->upload_count_max ? limits->upload_count_max
                                                               : UPLOAD_COUNT_MAX_DEFAULT);
}

void ingest_free(struct ingest *ingest) {
    if (!ingest)
        return;
    upload_table_free(ingest->table);
    pthread_rwlock_destroy(&ingest->publishing);
    free(ingest);
}

void ingest_publishing_begin(struct ingest *ingest) {
    pthread_rwlock_rdlock(&ingest->publishing);
}

void ingest_publishing_end(struct ingest *ingest) {
    pthread_rwlock_unlock(&ingest->publishing);
}

int64_t ingest_stale_ms(const struct ingest *ingest, const struct upload_row *row) {
    return row->started_ms + ingest->stale_after_ms;
}

/* The argument of the transactions below. */
struct question {
    struct ingest *ingest;
    const char *tenant;
    const struct upload_query *query;
    int64_t now_ms;
    struct upload_verdict verdict;
    struct upload_row row;                 /* to be inserted by initiate */
    struct upload_replacement replacement; /* by it */
};

static enum err read_latest(struct catalog_txn *txn, const struct question *question,
                            bool *ret_found, struct upload_row *ret_row, struct error *error) {
    enum err err = catalog_upload_latest(txn, question->tenant, &question->query->id,
                                         question->query->type, ret_row, error);
    if (err != ERR_OK && err != ERR_NOT_FOUND)
        return err;
    *ret_found = err == ERR_OK;
    return ERR_OK;
}

/* Agents send the htlhash of the original file, so that it may be one of the names of a file that
 * came in whole under another id. */
static enum err is_name_of(struct catalog_txn *txn, const struct question *question,
                           const struct object_row *objects, size_t count, bool *ret_held,
                           struct error *error) {
    struct binary_id id;
    struct error ignored;
    if (binary_id_parse(BINARY_ID_HTLHASH, span_cstr(question->query->hash), &id, &ignored) !=
        ERR_OK)
        return ERR_OK;
    struct object_row named[OBJECTS_PER_ID_MAX];
    size_t named_count = 0;
    enum err err = catalog_objects_by_id(txn, question->tenant, &id, named, &named_count, error);
    if (err != ERR_OK)
        return err;
    for (size_t i = 0; i < named_count; i++)
        for (size_t j = 0; j < count; j++)
            if (named[i].object_id == objects[j].object_id &&
                named[i].verification == VERIFICATION_HASH)
                *ret_held = true;
    return ERR_OK;
}

static enum err read_objects(struct catalog_txn *txn, const struct question *question,
                             struct upload_facts *facts, struct error *error) {
    struct object_row objects[OBJECTS_PER_ID_MAX];
    size_t count = 0;
    enum err err =
        catalog_objects_by_id(txn, question->tenant, &question->query->id, objects, &count, error);
    if (err != ERR_OK)
        return err;
    upload_facts_add_objects(facts, objects, count);
    if (!facts->has_hash)
        return ERR_OK;
    return is_name_of(txn, question, objects, count, &facts->hash_held, error);
}

static enum err read_hash(struct catalog_txn *txn, const struct question *question,
                          struct upload_facts *facts, struct error *error) {
    const struct upload_query *query = question->query;
    if (!facts->has_hash)
        return ERR_OK;
    bool held = false;
    enum err err = catalog_upload_hash_held(txn, question->tenant, &query->id, query->type,
                                            query->hash, &held, error);
    if (err != ERR_OK)
        return err;
    facts->hash_held |= held;
    return catalog_upload_count_failed(txn, question->tenant, &query->id, query->type, query->hash,
                                       question->now_ms - UPLOAD_RETRY_PERIOD_MS,
                                       &facts->failed_count, error);
}

static enum err decide(struct catalog_txn *txn, struct question *question,
                       struct upload_row *ret_latest, bool *ret_has_latest, struct error *error) {
    const struct upload_query *query = question->query;
    struct upload_facts facts = {
        .now_ms = question->now_ms,
        .stale_after_ms = question->ingest->stale_after_ms,
        .type = query->type,
        .has_hash = query->hash[0] != '\0',
        .forced = query->force,
    };
    enum err err = read_latest(txn, question, &facts.has_latest, ret_latest, error);
    if (err == ERR_OK)
        err = read_objects(txn, question, &facts, error);
    if (err == ERR_OK)
        err = read_hash(txn, question, &facts, error);
    if (err == ERR_OK)
        err = catalog_invitation_get(txn, question->tenant, &query->id, query->type,
                                     &facts.invited_ms, error);
    if (err != ERR_OK)
        return err;
    if (facts.has_latest) {
        facts.latest_state = ret_latest->state;
        facts.latest_started_ms = ret_latest->started_ms;
    }
    *ret_has_latest = facts.has_latest;
    question->verdict = upload_decide(&facts);
    return ERR_OK;
}

static enum err answer(struct catalog_txn *txn, void *argument, struct error *error) {
    struct question *question = argument;
    struct upload_row latest;
    bool has_latest;
    return decide(txn, question, &latest, &has_latest, error);
}

/* Decides again, since among several who saw that they may invite only one shall. */
static enum err invite(struct catalog_txn *txn, void *argument, struct error *error) {
    struct question *question = argument;
    enum err err = answer(txn, question, error);
    if (err != ERR_OK || !question->verdict.invites)
        return err;
    return catalog_invitation_set(txn, question->tenant, &question->query->id,
                                  question->query->type, question->now_ms, error);
}

/* While there is no place for an upload, whoever would be asked for one is told to come back: of
 * the refusals that agents know, only "in progress" says so. */
enum err ingest_should_initiate(struct ingest *ingest, const struct request_context *context,
                                const struct upload_query *query, bool *ret_should,
                                enum upload_reason *ret_reason, struct error *error) {
    struct question question = {
        .ingest = ingest,
        .tenant = context->tenant,
        .query = query,
        .now_ms = ingest->wall_ms(),
    };
    enum err err = catalog_read(ingest->catalog, answer, &question, error);
    if (err == ERR_OK && question.verdict.should &&
        !upload_table_has_room(ingest->table, question.now_ms)) {
        *ret_should = false;
        *ret_reason = UPLOAD_REASON_IN_PROGRESS;
        return ERR_OK;
    }
    if (err == ERR_OK && question.verdict.invites)
        err = catalog_write(ingest->catalog, invite, &question, error);
    if (err != ERR_OK)
        return err;
    *ret_should = question.verdict.should;
    *ret_reason = question.verdict.reason;
    return ERR_OK;
}

/* A version 4 UUID (RFC 4122, 4.4). */
enum err ingest_random_upload_id(char ret_text[static UPLOAD_ID_SIZE], struct error *error) {
    uint8_t b[16];
    if (getrandom(b, sizeof(b), 0) != (ssize_t)sizeof(b))
        return error_set_errno(error, ERR_UNAVAILABLE, errno, "no random upload id");
    b[6] = (uint8_t)((b[6] & 0x0f) | 0x40);
    b[8] = (uint8_t)((b[8] & 0x3f) | 0x80);
    snprintf(ret_text, UPLOAD_ID_SIZE,
             "%02x%02x%02x%02x-%02x%02x-%02x%02x-%02x%02x-%02x%02x%02x%02x%02x%02x", b[0], b[1],
             b[2], b[3], b[4], b[5], b[6], b[7], b[8], b[9], b[10], b[11], b[12], b[13], b[14],
             b[15]);
    return ERR_OK;
}

static enum err check_initiate(const struct ingest *ingest, const struct question *question,
                               struct error *error) {
    const char *reason = upload_reason_text(question->verdict.reason);
    uint64_t size_max = ingest->upload_size_max;
    if (question->verdict.initiate == ERR_EXISTS)
        return error_set(error, ERR_EXISTS, "%s", reason);
    if (question->verdict.initiate != ERR_OK)
        return error_set(error, question->verdict.initiate,
                         "upload should not have been attempted to be initiated, a previous check "
                         "should have failed with: %s",
                         reason);
    if (question->row.declared_size > size_max)
        return error_set(error, ERR_INVALID, "upload size %llu exceeds maximum allowed size %llu",
                         (unsigned long long)question->row.declared_size,
                         (unsigned long long)size_max);
    if (!upload_table_has_room(ingest->table, question->now_ms))
        return error_set(error, ERR_EXHAUSTED, "all places for uploads are taken");
    return ERR_OK;
}

/* All in one transaction, and transactions come one after another: of many who initiate the same
 * upload at once, the second already finds the row of the first. */
static enum err initiate(struct catalog_txn *txn, void *argument, struct error *error) {
    struct question *question = argument;
    struct upload_row latest;
    bool has_latest = false;
    enum err err = decide(txn, question, &latest, &has_latest, error);
    if (err == ERR_OK)
        err = check_initiate(question->ingest, question, error);
    if (err != ERR_OK)
        return err;
    if (has_latest && latest.state == UPLOAD_UPLOADING)
        err = upload_replace(txn, question->ingest, question->tenant, &latest,
                             &question->replacement, error);
    if (err == ERR_OK)
        err = catalog_upload_insert(txn, question->tenant, &question->row, error);
    /* The codes of a decision make agents give the file up for good; rows that do not fit into
     * the catalog are no decision. */
    if (err == ERR_EXISTS || err == ERR_LIMIT || err == ERR_STATE) {
        error->code = ERR_UNAVAILABLE;
        return ERR_UNAVAILABLE;
    }
    return err;
}

enum err ingest_initiate(struct ingest *ingest, const struct request_context *context,
                         const struct upload_query *query, uint64_t size,
                         char ret_upload_id[static UPLOAD_ID_SIZE], struct error *error) {
    if (query->hash[0] == '\0')
        return error_set(error, ERR_INVALID, "hash must be set");
    if (size == 0)
        return error_set(error, ERR_INVALID, "size must be set");
    struct question question = {
        .ingest = ingest,
        .tenant = context->tenant,
        .query = query,
        .now_ms = ingest->wall_ms(),
        .row = {.id = query->id,
                .type = query->type,
                .declared_size = size,
                .state = UPLOAD_UPLOADING},
    };
    question.row.started_ms = question.now_ms;
    snprintf(question.row.hash, sizeof(question.row.hash), "%s", query->hash);
    snprintf(question.row.uploader, sizeof(question.row.uploader), "%s", context->principal);
    enum err err = ingest_random_upload_id(question.row.upload_id, error);
    if (err == ERR_OK)
        err = catalog_write(ingest->catalog, initiate, &question, error);
    if (err != ERR_OK)
        return err;
    upload_replaced(ingest, context->tenant, &question.replacement);
    ingest->initiated++;
    FAULT_POINT("upload.after_initiate");
    memcpy(ret_upload_id, question.row.upload_id, UPLOAD_ID_SIZE);
    return ERR_OK;
}

void ingest_stats_read(struct ingest *ingest, struct ingest_stats *ret_stats) {
    *ret_stats = (struct ingest_stats){
        .initiated = ingest->initiated,
        .finished = ingest->finished,
        .failed = ingest->failed,
        .stale = ingest->stale,
        .replaced = ingest->replaced,
        .interrupted = ingest->interrupted,
        .bytes_received = ingest->bytes_received,
        .streams_open = upload_table_receiving(ingest->table),
        .files_missing = ingest->files_missing,
        .files_damaged = ingest->files_damaged,
    };
}
