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

enum err build_queue_plan(struct build_queue *queue, struct catalog_txn *txn, const char *tenant,
                          const struct binary_id *id, struct error *error) {
    (void)queue;
    struct object_row objects[BUILD_FAMILY_MAX];
    size_t count = 0;
    struct build_plan plan;
    struct generation_row generation;
    enum err err = build_family_objects(txn, tenant, id, objects, &count, error);
    if (err == ERR_OK && !build_plan_choose(objects, count, &plan))
        return ERR_OK;
    if (err == ERR_OK)
        err = ensure_build(txn, tenant, &plan, error);
    if (err == ERR_OK)
        err = catalog_generation_get(txn, tenant, id, &generation, error);
    if (err != ERR_OK)
        return err;
    bool serves_already = generation.has_serving && !generation.has_pending &&
                          digest_equal(&generation.serving, &plan.key);
    if (serves_already)
        return ERR_OK;
    return catalog_generation_set_pending(txn, tenant, id, &plan.key, error);
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
