#include "ingest/purge.h"

#include "base/fault.h"
#include "cache/catalog_removal.h"
#include "ingest/build_family.h"
#include "ingest/upload_internal.h"

/* Builds that one request removes; an object has few, since each set of inputs is one. */
#define BUILDS_MAX 256

struct purge {
    struct ingest *ingest;
    const char *tenant;
    const struct purge_request *request;
    struct purge_result result;
    struct digest blobs[OBJECTS_PER_ID_MAX]; /* that nobody needs any more */
    size_t blob_count;
    struct digest builds[BUILDS_MAX]; /* the same */
    size_t build_count;
};

/* The ids that the build answers for are planned anew after its object is gone. */
struct orphans {
    struct binary_id ids[IDS_PER_BUILD_MAX];
    size_t count;
};

static enum err forget_build(struct catalog_txn *txn, struct purge *purge, const struct digest *key,
                             struct orphans *orphans, struct error *error) {
    enum err err = ERR_OK;
    /* The list is bounded: as long as it is full there may be more. */
    do {
        err = catalog_generation_ids(txn, purge->tenant, key, orphans->ids, &orphans->count, error);
        for (size_t i = 0; err == ERR_OK && i < orphans->count; i++)
            err = catalog_generation_forget(txn, purge->tenant, &orphans->ids[i], key, error);
    } while (err == ERR_OK && orphans->count == IDS_PER_BUILD_MAX);
    return err;
}

static enum err remove_build(struct catalog_txn *txn, struct purge *purge, const struct digest *key,
                             struct error *error) {
    bool shared = false;
    enum err err = catalog_build_remove(txn, purge->tenant, key, &shared, error);
    if (err == ERR_OK && !shared && purge->build_count == BUILDS_MAX)
        err = error_set(error, ERR_LIMIT, "more than %d indexes to remove", BUILDS_MAX);
    if (err == ERR_OK && !shared)
        purge->builds[purge->build_count++] = *key;
    return err;
}

static enum err remove_builds_of(struct catalog_txn *txn, struct purge *purge,
                                 const struct object_row *object, struct error *error) {
    for (;;) {
        struct digest key;
        struct orphans orphans;
        enum err err = catalog_removal_build_of(txn, purge->tenant, object->object_id, &key, error);
        if (err == ERR_NOT_FOUND)
            return ERR_OK;
        if (err == ERR_OK)
            err = forget_build(txn, purge, &key, &orphans, error);
        if (err == ERR_OK)
            err = remove_build(txn, purge, &key, error);
        if (err != ERR_OK)
            return err;
    }
}

static enum err remove_object(struct catalog_txn *txn, struct purge *purge,
                              const struct object_row *object, int64_t now_ms,
                              struct error *error) {
    bool shared = false;
    enum err err = remove_builds_of(txn, purge, object, error);
    if (err == ERR_OK)
        err = catalog_object_remove(txn, purge->tenant, object, now_ms, &shared, error);
    if (err == ERR_OK && !shared)
        purge->blobs[purge->blob_count++] = object->digest;
    return err;
}

/* Names that the objects had, and those whose answer they were part of. */
static enum err collect_names(struct catalog_txn *txn, const struct purge *purge,
                              const struct object_row *object, struct orphans *names,
                              struct error *error) {
    struct binary_id found[BUILD_FAMILY_NAMES_MAX];
    size_t count = 0;
    enum err err = build_family_names(txn, purge->tenant, object->object_id, found, &count, error);
    for (size_t i = 0; err == ERR_OK && i < count; i++) {
        bool known = false;
        for (size_t j = 0; j < names->count; j++)
            known |= binary_id_equal(&names->ids[j], &found[i]);
        if (!known && names->count < IDS_PER_BUILD_MAX)
            names->ids[names->count++] = found[i];
    }
    return err;
}

static enum err remove_objects(struct catalog_txn *txn, struct purge *purge, int64_t now_ms,
                               struct error *error) {
    struct object_row objects[OBJECTS_PER_ID_MAX];
    struct orphans names = {.count = 0};
    size_t count = 0;
    const struct purge_request *request = purge->request;
    enum err err = catalog_removal_objects(txn, purge->tenant, &request->id,
                                           request->has_type ? (int)request->type : 0, objects,
                                           &count, error);
    for (size_t i = 0; err == ERR_OK && i < count; i++)
        err = collect_names(txn, purge, &objects[i], &names, error);
    for (size_t i = 0; err == ERR_OK && i < count; i++)
        err = remove_object(txn, purge, &objects[i], now_ms, error);
    for (size_t i = 0; err == ERR_OK && i < names.count; i++)
        err = build_queue_plan(purge->ingest->queue, txn, purge->tenant, &names.ids[i], error);
    purge->result.objects = count;
    return err;
}

static enum err purge_rows(struct catalog_txn *txn, void *argument, struct error *error) {
    struct purge *purge = argument;
    const struct purge_request *request = purge->request;
    int64_t now_ms = purge->ingest->wall_ms();
    purge->blob_count = 0;
    purge->build_count = 0;
    enum err err = catalog_uploads_purge(txn, purge->tenant, &request->id,
                                         request->has_type ? (int)request->type : 0, now_ms,
                                         &purge->result.uploads, error);
    if (err == ERR_OK)
        err = remove_objects(txn, purge, now_ms, error);
    if (err == ERR_OK && purge->result.objects == 0 && purge->result.uploads == 0)
        err = error_set(error, ERR_NOT_FOUND, "nothing is stored for %s build ID %s",
                        binary_id_kind_name(request->id.kind), request->id.text);
    return err;
}

/* All are tried; the first failure is told. */
static enum err remove_files(struct purge *purge, struct index_cache *indexes,
                             struct error *error) {
    enum err first = ERR_OK;
    for (size_t i = 0; i < purge->build_count; i++)
        index_cache_remove(indexes, &purge->builds[i]);
    FAULT_POINT("purge.after_indexes");
    for (size_t i = 0; i < purge->blob_count; i++) {
        struct error why;
        enum err err = blob_store_remove(purge->ingest->blobs, &purge->blobs[i], &why);
        FAULT_POINT("purge.after_blob");
        if (err == ERR_OK || err == ERR_NOT_FOUND || first != ERR_OK)
            continue;
        first = err;
        *error = why;
    }
    return first;
}

enum err ingest_purge(struct ingest *ingest, struct index_cache *indexes,
                      const struct request_context *context, const struct purge_request *request,
                      struct purge_result *ret_result, struct error *error) {
    CLEANUP(cleanup_free) struct purge *purge = calloc(1, sizeof(*purge));
    if (!purge)
        return error_set(error, ERR_NO_MEMORY, "no memory to purge");
    *purge = (struct purge){.ingest = ingest, .tenant = context->tenant, .request = request};
    pthread_rwlock_wrlock(&ingest->publishing);
    enum err err = catalog_write(ingest->catalog, purge_rows, purge, error);
    if (err == ERR_OK) {
        FAULT_POINT("purge.after_commit");
        err = remove_files(purge, indexes, error);
    }
    pthread_rwlock_unlock(&ingest->publishing);
    build_queue_wake(ingest->queue);
    if (err == ERR_OK)
        *ret_result = purge->result;
    return err;
}
