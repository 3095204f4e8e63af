#include "ingest/orphan_sweep.h"

#include <string.h>

#include "base/clock.h"
#include "cache/blob_lost.h"
#include "cache/catalog_removal.h"
#include "ingest/upload_internal.h"

#define GRACE_MS_DEFAULT ((int64_t)24 * 3600 * 1000)
#define LOST_KEEP_MS_DEFAULT (7 * GRACE_MS_DEFAULT)
/* Files that are looked up in one read of the catalog. */
#define BATCH_SIZE 256

typedef enum err known_function(struct catalog_txn *txn, const struct digest *digest,
                                bool *ret_known, struct error *error);

/* One look at all files of a kind. */
struct search {
    struct catalog *catalog;
    known_function *is_known;
    int64_t before_ms; /* files that came later are passed over */
    const atomic_bool *stopping;
    struct digest batch[BATCH_SIZE];
    size_t batch_count;
    struct digest *found; /* at most ORPHANS_PER_SWEEP_MAX */
    size_t found_count;
    size_t capacity;
    uint64_t files;
    uint64_t orphans; /* also those past the bound */
};

static void cleanup_search(struct search *search) {
    free(search->found);
}

static enum err add_orphan(struct search *search, const struct digest *digest,
                           struct error *error) {
    search->orphans++;
    if (search->found_count == ORPHANS_PER_SWEEP_MAX)
        return ERR_OK;
    if (search->found_count == search->capacity) {
        size_t capacity = search->capacity ? 2 * search->capacity : BATCH_SIZE;
        struct digest *grown = reallocarray(search->found, capacity, sizeof(*grown));
        if (!grown)
            return error_set(error, ERR_NO_MEMORY, "no memory for %zu orphans", capacity);
        search->found = grown;
        search->capacity = capacity;
    }
    search->found[search->found_count++] = *digest;
    return ERR_OK;
}

static enum err look_up_batch(struct catalog_txn *txn, void *argument, struct error *error) {
    struct search *search = argument;
    enum err err = ERR_OK;
    for (size_t i = 0; err == ERR_OK && i < search->batch_count; i++) {
        bool known = true;
        err = search->is_known(txn, &search->batch[i], &known, error);
        if (err == ERR_OK && !known)
            err = add_orphan(search, &search->batch[i], error);
    }
    return err;
}

static enum err flush(struct search *search, struct error *error) {
    if (search->batch_count == 0)
        return ERR_OK;
    enum err err = catalog_read(search->catalog, look_up_batch, search, error);
    search->batch_count = 0;
    return err;
}

/* A file's change time is that of its rename to this place: a copy that keeps the time of the
 * contents, as restoring a backup does, does not make it old. */
static enum err visit(void *argument, const struct digest_file *file, struct error *error) {
    struct search *search = argument;
    if (atomic_load(search->stopping))
        return error_set(error, ERR_CANCELLED, "the sweep was stopped");
    search->files++;
    int64_t changed_ms = (int64_t)file->status.st_ctim.tv_sec * 1000 +
                         file->status.st_ctim.tv_nsec / 1000000;
    if (changed_ms > search->before_ms)
        return ERR_OK;
    search->batch[search->batch_count++] = file->digest;
    return search->batch_count == BATCH_SIZE ? flush(search, error) : ERR_OK;
}

/* What both kinds of files need, while an orphan is taken away. */
struct sweep {
    struct ingest *ingest;
    struct index_cache *indexes;
    const atomic_bool *stopping;
    struct orphan_sweep_result *result;
};

struct check {
    known_function *is_known;
    const struct digest *digest;
    bool known;
};

static enum err look_up(struct catalog_txn *txn, void *argument, struct error *error) {
    struct check *check = argument;
    return check->is_known(txn, check->digest, &check->known, error);
}

static enum err set_aside(const struct sweep *sweep, const struct digest *digest,
                          struct error *error) {
    uint64_t size = 0;
    enum err err = blob_store_set_aside(sweep->ingest->blobs, digest, &size, error);
    if (err != ERR_OK)
        return err == ERR_NOT_FOUND ? ERR_OK : err;
    sweep->result->blobs++;
    sweep->result->blob_bytes += size;
    return ERR_OK;
}

static enum err remove_index(const struct sweep *sweep, const struct digest *digest,
                             struct error *error) {
    (void)error;
    index_cache_remove(sweep->indexes, digest);
    sweep->result->indexes++;
    return ERR_OK;
}

typedef enum err take_function(const struct sweep *sweep, const struct digest *digest,
                               struct error *error);

/* Looks again, with uploads held up between publishing a file and naming it. */
static enum err take(const struct sweep *sweep, const struct search *search,
                     const struct digest *digest, take_function *take_away, struct error *error) {
    struct check check = {.is_known = search->is_known, .digest = digest, .known = true};
    pthread_rwlock_wrlock(&sweep->ingest->publishing);
    enum err err = catalog_read(sweep->ingest->catalog, look_up, &check, error);
    if (err == ERR_OK && !check.known)
        err = take_away(sweep, digest, error);
    pthread_rwlock_unlock(&sweep->ingest->publishing);
    return err;
}

static enum err take_found(const struct sweep *sweep, const struct search *search,
                           take_function *take_away, struct error *error) {
    enum err err = ERR_OK;
    for (size_t i = 0; err == ERR_OK && i < search->found_count; i++) {
        if (atomic_load(sweep->stopping))
            return error_set(error, ERR_CANCELLED, "the sweep was stopped");
        err = take(sweep, search, &search->found[i], take_away, error);
    }
    return err;
}

static bool is_plausible(const struct search *search) {
    return search->orphans <= ORPHANS_PLAUSIBLE || search->orphans <= search->files / 2;
}

static struct search search_of(const struct sweep *sweep, known_function *is_known,
                               int64_t before_ms) {
    return (struct search){.catalog = sweep->ingest->catalog,
                           .is_known = is_known,
                           .before_ms = before_ms,
                           .stopping = sweep->stopping};
}

static enum err sweep_blobs(const struct sweep *sweep, int64_t before_ms, struct error *error) {
    CLEANUP(cleanup_search)
    struct search search = search_of(sweep, catalog_digest_is_known, before_ms);
    enum err err = blob_store_visit(sweep->ingest->blobs, visit, &search, error);
    if (err == ERR_OK)
        err = flush(&search, error);
    if (err != ERR_OK)
        return err;
    sweep->result->files = search.files;
    if (is_plausible(&search))
        return take_found(sweep, &search, set_aside, error);
    sweep->result->refused = search.orphans;
    return ERR_OK;
}

static enum err sweep_indexes(const struct sweep *sweep, int64_t before_ms, struct error *error) {
    CLEANUP(cleanup_search)
    struct search search = search_of(sweep, catalog_build_is_known, before_ms);
    enum err err = index_cache_visit(sweep->indexes, visit, &search, error);
    if (err == ERR_OK)
        err = flush(&search, error);
    return err == ERR_OK ? take_found(sweep, &search, remove_index, error) : err;
}

/* A setting of 0 is the default, and below 0 is none. */
static int64_t before(int64_t now_ms, int64_t wanted_ms, int64_t default_ms) {
    return now_ms - (wanted_ms == 0 ? default_ms : wanted_ms < 0 ? 0 : wanted_ms);
}

enum err orphan_sweep(struct ingest *ingest, struct index_cache *indexes,
                      const struct orphan_sweep_config *config, const atomic_bool *stopping,
                      struct orphan_sweep_result *ret_result, struct error *error) {
    *ret_result = (struct orphan_sweep_result){0};
    const struct sweep sweep = {ingest, indexes, stopping, ret_result};
    int64_t now_ms = clock_wall_ms();
    int64_t grown_ms = before(now_ms, config->grace_ms, GRACE_MS_DEFAULT);
    enum err err = sweep_blobs(&sweep, grown_ms, error);
    if (err != ERR_OK || ret_result->refused > 0)
        return err;
    err = sweep_indexes(&sweep, grown_ms, error);
    if (err != ERR_OK)
        return err;
    return blob_store_empty_lost(ingest->blobs,
                                 before(now_ms, config->lost_keep_ms, LOST_KEEP_MS_DEFAULT),
                                 &ret_result->lost, &ret_result->lost_bytes, error);
}
