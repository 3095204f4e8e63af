#include "ingest/upload_put.h"

#include <stdio.h>
#include <string.h>

#include "cache/catalog_objects.h"
#include "cache/catalog_removal.h"
#include "ingest/build_plan.h"
#include "ingest/upload_decision.h"
#include "ingest/upload_end_internal.h"

struct upload_put {
    struct ingest *ingest;
    struct request_context context;
    struct upload_claim claim;
    struct upload_entry *entry; /* its place among the uploads; NULL: none */
    struct blob_writer *writer;
    struct upload_row row;
    bool has_row; /* in the catalog, in state uploading */
    bool begun;
    bool ended; /* it finished, or failed for good */
    struct upload_replacement replacement;
    const char *failure; /* why the bytes are refused */
    struct upload_put_result result;
};

/* --- opening -------------------------------------------------------------------------------- */

static enum err check_claim(const struct ingest *ingest, const struct upload_claim *claim,
                            struct error *error) {
    if (!claim->has_id && !build_plan_is_binary(claim->type))
        return error_set(error, ERR_INVALID, "%s have no build ID inside: say it in the path",
                         artifact_type_name(claim->type));
    if (claim->has_size && claim->size == 0)
        return error_set(error, ERR_INVALID, "the body is empty");
    if (claim->has_size && claim->size > ingest->upload_size_max)
        return error_set(error, ERR_LIMIT, "%llu bytes are over the maximum of %llu",
                         (unsigned long long)claim->size,
                         (unsigned long long)ingest->upload_size_max);
    return ERR_OK;
}

static enum err take_over(struct catalog_txn *txn, struct upload_put *put,
                          struct upload_row *latest, struct error *error) {
    int64_t now_ms = put->ingest->wall_ms();
    bool fresh = !upload_is_stale(latest->started_ms, put->ingest->stale_after_ms, now_ms);
    if (fresh && !put->claim.force)
        return error_set(error, ERR_STATE, "%s", upload_reason_text(UPLOAD_REASON_IN_PROGRESS));
    return upload_replace(txn, put->ingest, put->context.tenant, latest, &put->replacement, error);
}

static enum err insert_row(struct catalog_txn *txn, void *argument, struct error *error) {
    struct upload_put *put = argument;
    struct upload_row latest;
    put->replacement = (struct upload_replacement){.was_stale = false};
    enum err err = catalog_upload_latest(txn, put->context.tenant, &put->claim.id, put->claim.type,
                                         &latest, error);
    if (err == ERR_OK && latest.state == UPLOAD_UPLOADING)
        err = take_over(txn, put, &latest, error);
    if (err != ERR_OK && err != ERR_NOT_FOUND)
        return err;
    return catalog_upload_insert(txn, put->context.tenant, &put->row, error);
}

static enum err make_row(struct upload_put *put, struct error *error) {
    put->row = (struct upload_row){
        .id = put->claim.id,
        .type = put->claim.type,
        .declared_size = put->claim.has_size ? put->claim.size : 0,
        .state = UPLOAD_UPLOADING,
        .started_ms = put->ingest->wall_ms(),
    };
    snprintf(put->row.uploader, sizeof(put->row.uploader), "%s", put->context.principal);
    return ingest_random_upload_id(put->row.upload_id, error);
}

static enum err enter_catalog(struct upload_put *put, struct error *error) {
    if (!put->claim.has_id)
        return ERR_OK;
    enum err err = catalog_write(put->ingest->catalog, insert_row, put, error);
    if (err != ERR_OK)
        return err;
    put->has_row = true;
    upload_replaced(put->ingest, put->context.tenant, &put->replacement);
    return ERR_OK;
}

enum err upload_put_open(struct ingest *ingest, const struct request_context *context,
                         const struct upload_claim *claim, struct upload_put **ret_put,
                         struct error *error) {
    enum err err = check_claim(ingest, claim, error);
    if (err != ERR_OK)
        return err;
    CLEANUP(cleanup_upload_put) struct upload_put *put = calloc(1, sizeof(*put));
    if (!put)
        return error_set(error, ERR_NO_MEMORY, "no memory for an upload");
    put->ingest = ingest;
    put->context = *context;
    put->claim = *claim;
    err = make_row(put, error);
    if (err != ERR_OK)
        return err;
    struct upload_place place = {
        .tenant = put->context.tenant,
        .upload_id = put->row.upload_id,
        .stale_ms = ingest_stale_ms(ingest, &put->row),
    };
    uint64_t size_max = claim->has_size ? claim->size : ingest->upload_size_max;
    err = upload_table_begin(ingest->table, &place, ingest->wall_ms(), &put->entry, error);
    if (err == ERR_OK)
        err = blob_writer_open(ingest->blobs, size_max, &put->writer, error);
    if (err == ERR_OK)
        err = enter_catalog(put, error);
    if (err != ERR_OK)
        return err;
    ingest->initiated++;
    put->begun = true;
    *ret_put = TAKE(put);
    return ERR_OK;
}

/* --- receiving ------------------------------------------------------------------------------ */

enum err upload_put_append(struct upload_put *put, const void *bytes, size_t size,
                           struct error *error) {
    struct ingest *ingest = put->ingest;
    enum err err = upload_table_check(ingest->table, put->entry, ingest->wall_ms(), error);
    if (err == ERR_OK)
        err = blob_writer_append(put->writer, bytes, size, error);
    if (err == ERR_LIMIT && !put->claim.has_size)
        return error_set(error, ERR_LIMIT, "the body is over the maximum of %llu bytes",
                         (unsigned long long)ingest->upload_size_max);
    if (err == ERR_OK)
        ingest->bytes_received += size;
    return err;
}

/* --- finishing ------------------------------------------------------------------------------ */

static enum err seal(struct upload_put *put, struct error *error) {
    uint64_t size = blob_writer_size(put->writer);
    if (size == 0)
        return error_set(error, ERR_INVALID, "the body is empty");
    if (put->claim.has_size && size != put->claim.size)
        return error_set(error, ERR_INVALID, "the body ended after %llu of %llu bytes",
                         (unsigned long long)size, (unsigned long long)put->claim.size);
    put->result.size = size;
    put->row.declared_size = size;
    return blob_writer_seal(put->writer, &put->result.digest, error);
}

/* The best name that the file has for itself. */
static const struct binary_id *find_id(const struct report *report) {
    static const enum binary_id_kind best_first[] = {BINARY_ID_GNU, BINARY_ID_GO,
                                                     BINARY_ID_HTLHASH};
    for (size_t i = 0; i < ARRAY_SIZE(best_first); i++)
        for (size_t j = 0; j < report->summary.id_count; j++)
            if (report->summary.ids[j].kind == best_first[i])
                return &report->summary.ids[j];
    return NULL;
}

static enum err verify(struct upload_put *put, const struct report *report, struct error *error) {
    static const struct binary_id nothing = {.kind = BINARY_ID_HTLHASH};
    const struct binary_id *id = put->claim.has_id ? &put->claim.id : find_id(report);
    enum err err = upload_verify(id ? id : &nothing, report, &put->result.identity, error);
    if (err != ERR_OK)
        return err;
    if (!id)
        return error_set(error, ERR_INVALID, "the file has no build ID of any kind");
    put->result.id = *id;
    put->row.id = *id;
    return ERR_OK;
}

static enum err identify(struct upload_put *put, struct error *error) {
    put->result.type = put->claim.type;
    put->result.id = put->claim.id;
    if (!build_plan_is_binary(put->claim.type)) {
        put->result.identity = upload_identity_claimed(&put->claim.id);
        return ERR_OK;
    }
    struct report report;
    enum err err = upload_end_identify(put->ingest, put->writer, &report, error);
    return err == ERR_OK ? verify(put, &report, error) : err;
}

/* Is there a place for these bytes? What is stored and good stays, unless it was said twice. */
static enum err decide(struct catalog_txn *txn, void *argument, struct error *error) {
    struct upload_put *put = argument;
    struct object_row objects[OBJECTS_PER_ID_MAX];
    size_t count = 0;
    struct upload_facts facts = {
        .now_ms = put->ingest->wall_ms(),
        .type = put->claim.type,
        .forced = put->claim.force,
    };
    enum err err =
        catalog_objects_by_id(txn, put->context.tenant, &put->result.id, objects, &count, error);
    if (err != ERR_OK)
        return err;
    put->result.existed = false;
    for (size_t i = 0; i < count; i++)
        put->result.existed |= objects[i].type == put->claim.type &&
                               digest_equal(&objects[i].digest, &put->result.digest);
    upload_facts_add_objects(&facts, objects, count);
    if (put->result.existed || upload_decide(&facts).initiate == ERR_OK)
        return ERR_OK;
    return error_set(error, ERR_EXISTS,
                     "other bytes are stored for this build ID already; say force=true to add "
                     "these");
}

/* Another upload may have taken over, or the build ID may have been deleted meanwhile. */
static enum err check_row(struct catalog_txn *txn, const struct upload_put *put,
                          struct error *error) {
    struct upload_row row;
    if (!put->has_row)
        return ERR_OK;
    enum err err = catalog_upload_get(txn, put->context.tenant, put->row.upload_id, &row, error);
    if (err == ERR_OK && row.state != UPLOAD_UPLOADING)
        err = error_set(error, ERR_STATE, "this upload was ended by another request");
    return err;
}

static enum err write_row(struct catalog_txn *txn, struct upload_put *put, struct error *error) {
    if (put->has_row)
        return catalog_upload_update(txn, put->context.tenant, &put->row, error);
    return catalog_upload_insert(txn, put->context.tenant, &put->row, error);
}

static enum err commit(struct catalog_txn *txn, void *argument, struct error *error) {
    struct upload_put *put = argument;
    const char *tenant = put->context.tenant;
    enum err err = check_row(txn, put, error);
    if (err == ERR_OK)
        err = decide(txn, put, error);
    if (err == ERR_OK)
        err = upload_end_store(txn, put->ingest, tenant, &put->result.digest, &put->result.identity,
                               &put->row, error);
    if (err == ERR_OK)
        err = write_row(txn, put, error);
    if (err == ERR_OK)
        err = upload_end_plan(txn, put->ingest, tenant, &put->row, error);
    return err;
}

static enum err commit_failure(struct catalog_txn *txn, void *argument, struct error *error) {
    struct upload_put *put = argument;
    enum err err = check_row(txn, put, error);
    if (err != ERR_OK)
        return err;
    return upload_end_refuse(txn, put->ingest, put->context.tenant, &put->row, put->failure, error);
}

/* Asking again with these bytes will not help: that is ERR_UNSUPPORTED here, since there is nothing
 * wrong with the request. */
static enum err refuse(struct upload_put *put, struct error *error) {
    struct error ignored;
    put->ingest->failed++;
    put->ended = true;
    put->failure = error->text;
    if (put->has_row &&
        catalog_write(put->ingest->catalog, commit_failure, put, &ignored) == ERR_OK)
        put->has_row = false;
    error->code = ERR_UNSUPPORTED;
    return ERR_UNSUPPORTED;
}

static enum err store(struct upload_put *put, struct error *error) {
    /* Before the bytes are published, which would leave them behind. */
    enum err err = catalog_read(put->ingest->catalog, decide, put, error);
    if (err == ERR_OK)
        err = upload_end_publish(put->ingest, put->writer, commit, put, error);
    if (err != ERR_OK)
        return err;
    put->has_row = false;
    put->ended = true;
    return ERR_OK;
}

enum err upload_put_finish(struct upload_put *put, struct upload_put_result *ret_result,
                           struct error *error) {
    enum err err = seal(put, error);
    if (err == ERR_OK) {
        err = identify(put, error);
        if (err == ERR_INVALID)
            return refuse(put, error);
    }
    if (err == ERR_OK)
        err = store(put, error);
    if (err == ERR_OK)
        *ret_result = put->result;
    return upload_end_outcome(err, error);
}

/* --- the end -------------------------------------------------------------------------------- */

static enum err remove_row(struct catalog_txn *txn, void *argument, struct error *error) {
    const struct upload_put *put = argument;
    return catalog_upload_remove_unfinished(txn, put->context.tenant, put->row.upload_id, error);
}

/* Else another one took it over, and it was counted so. */
static bool has_its_place(const struct upload_put *put) {
    struct error ignored;
    return upload_table_check(put->ingest->table, put->entry, put->ingest->wall_ms(), &ignored) ==
           ERR_OK;
}

void upload_put_free(struct upload_put *put) {
    if (!put)
        return;
    struct error ignored;
    /* When it cannot be removed now, it is stale some time, and interrupted by the next start. */
    if (put->has_row)
        catalog_write(put->ingest->catalog, remove_row, put, &ignored);
    if (put->begun && !put->ended && has_its_place(put))
        put->ingest->interrupted++;
    if (put->entry)
        upload_table_end(put->ingest->table, put->entry);
    blob_writer_free(put->writer);
    free(put);
}
