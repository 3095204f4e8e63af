/* The planning half of the build queue: which builds there shall be. It works on the catalog alone,
 * inside the transaction that brings or removes an object. */
#include "base/clock.h"
#include "ingest/build_family.h"
#include "ingest/build_job_internal.h"
#include "ingest/build_plan.h"

static enum err ensure_build(struct catalog_txn *txn, const char *tenant,
                             const struct build_plan *plan, struct error *error) {
    int64_t now_ms = clock_wall_ms();
    struct build_row row;
    enum err err = catalog_build_ensure(txn, tenant, &plan->key, plan->inputs, plan->input_count,
                                        now_ms, &row, error);
    if (err != ERR_OK || !build_row_may_retry(&row, now_ms))
        return err;
    build_row_requeue(&row);
    return catalog_build_update(txn, tenant, &row, error);
}

/* Where the search for a set that can be built stands. */
struct search {
    const struct digest *failed; /* the build that has just failed; NULL: none */
    bool past_failed;            /* the walk has come by it */
    bool found;
    bool has_first;
    struct build_plan first; /* the best set, whatever became of it */
    struct build_plan plan;  /* the one that was found */
};

/*
 * A failure is tried again once it has expired. But after the failure of a set only those that come
 * behind it are: a failure must not start one that started it, whatever the expiry.
 */
static enum err look_at(struct catalog_txn *txn, const char *tenant, struct search *search,
                        const struct build_plan *plan, struct error *error) {
    bool retry = !search->failed || search->past_failed;
    struct build_row row;
    enum err err = catalog_build_get(txn, tenant, &plan->key, &row, error);
    if (err != ERR_OK && err != ERR_NOT_FOUND)
        return err;
    search->found = err == ERR_NOT_FOUND || !build_row_failed_for_good(&row) ||
                    (retry && build_row_may_retry(&row, clock_wall_ms()));
    if (search->failed && digest_equal(search->failed, &plan->key))
        search->past_failed = true;
    return ERR_OK;
}

static enum err find_plan(struct catalog_txn *txn, const char *tenant, struct search *search,
                          const struct binary_id *id, struct error *error) {
    struct object_row objects[BUILD_FAMILY_MAX];
    struct build_plan_walk walk = {.objects = objects};
    enum err err = build_family_objects(txn, tenant, id, objects, &walk.count, error);
    while (err == ERR_OK && !search->found && build_plan_next(&walk, &search->plan)) {
        if (!search->has_first)
            search->first = search->plan;
        search->has_first = true;
        err = look_at(txn, tenant, search, &search->plan, error);
    }
    return err;
}

static enum err await_plan(struct catalog_txn *txn, const char *tenant, const struct binary_id *id,
                           const struct build_plan *plan, struct error *error) {
    struct generation_row generation;
    enum err err = catalog_generation_get(txn, tenant, id, &generation, error);
    if (err != ERR_OK)
        return err;
    bool serves_already = generation.has_serving && !generation.has_pending &&
                          digest_equal(&generation.serving, &plan->key);
    if (serves_already)
        return ERR_OK;
    return catalog_generation_set_pending(txn, tenant, id, &plan->key, error);
}

static enum err plan_id(struct catalog_txn *txn, const char *tenant, const struct binary_id *id,
                        const struct digest *failed, struct error *error) {
    struct search search = {.failed = failed};
    enum err err = find_plan(txn, tenant, &search, id, error);
    if (err != ERR_OK || !search.has_first)
        return err;
    /* When nothing can be built the reason is that of the best. */
    if (!search.found)
        return await_plan(txn, tenant, id, &search.first, error);
    err = ensure_build(txn, tenant, &search.plan, error);
    return err == ERR_OK ? await_plan(txn, tenant, id, &search.plan, error) : err;
}

enum err build_queue_plan(struct build_queue *queue, struct catalog_txn *txn, const char *tenant,
                          const struct binary_id *id, struct error *error) {
    (void)queue;
    return plan_id(txn, tenant, id, NULL, error);
}

enum err build_plan_instead(struct catalog_txn *txn, const char *tenant,
                            const struct digest *failed, struct error *error) {
    struct binary_id ids[IDS_PER_BUILD_MAX];
    size_t count = 0;
    enum err err = catalog_generation_ids(txn, tenant, failed, ids, &count, error);
    for (size_t i = 0; err == ERR_OK && i < count; i++) {
        err = catalog_generation_forget(txn, tenant, &ids[i], failed, error);
        if (err == ERR_OK)
            err = plan_id(txn, tenant, &ids[i], failed, error);
    }
    return err;
}

enum err build_queue_plan_object(struct build_queue *queue, struct catalog_txn *txn,
                                 const char *tenant, int64_t object_id, struct error *error) {
    struct binary_id names[BUILD_FAMILY_NAMES_MAX];
    size_t count = 0;
    enum err err = build_family_names(txn, tenant, object_id, names, &count, error);
    for (size_t i = 0; err == ERR_OK && i < count; i++)
        err = build_queue_plan(queue, txn, tenant, &names[i], error);
    return err;
}
