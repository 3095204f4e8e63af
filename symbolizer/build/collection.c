#include "symbolizer/build/collection.h"

#include <pthread.h>
#include <stdlib.h>

#include "symbolizer/build/shard_sink.h"
#include "symbolizer/build/thread_team.h"

#define SHARDS_MAX ((size_t)1 << 20)

enum err collection_init(struct collection *collection, uint64_t memory_max, struct error *error) {
    *collection = (struct collection){.budget = {.max = memory_max}};
    enum err err = shared_strings_new(&collection->budget, &collection->strings, error);
    if (err == ERR_OK)
        symbol_map_init(&collection->symbols, &collection->budget, collection->strings);
    return err;
}

void collection_clear(struct collection *collection) {
    for (size_t i = 0; i < collection->shard_count; i++)
        shard_clear(&collection->shards[i]);
    free(collection->shards);
    collection->shards = NULL;
    collection->shard_count = 0;
    symbol_map_clear(&collection->symbols);
    shared_strings_free(collection->strings);
    collection->strings = NULL;
}

/* --- shards, by a team --- */

struct pushing {
    struct collection *collection;
    struct symbol_source *source;
    struct collection_progress *progress;
    pthread_mutex_t mutex; /* of all that follows */
    size_t next;           /* shard that nobody has begun */
    size_t done;
    size_t failed; /* the first shard that failed; shard_count: none */
    struct error error;
};

static void note_failure(struct pushing *pushing, size_t shard, const struct error *error) {
    pthread_mutex_lock(&pushing->mutex);
    if (shard < pushing->failed) {
        pushing->failed = shard;
        pushing->error = *error;
    }
    pthread_mutex_unlock(&pushing->mutex);
}

/* False: there is no more to do. What comes behind a shard that failed need not be begun. */
static bool take_shard(struct pushing *pushing, size_t *ret_shard) {
    pthread_mutex_lock(&pushing->mutex);
    bool more = pushing->next < pushing->failed;
    *ret_shard = pushing->next;
    pushing->next += more;
    pthread_mutex_unlock(&pushing->mutex);
    return more;
}

static void note_done(struct pushing *pushing) {
    pthread_mutex_lock(&pushing->mutex);
    pushing->done++;
    if (pushing->progress)
        pushing->progress->report(pushing->progress, pushing->done,
                                  pushing->collection->shard_count);
    pthread_mutex_unlock(&pushing->mutex);
}

static enum err push_one(struct pushing *pushing, struct shard_sink *sink, size_t number,
                         struct error *error) {
    const struct symbol_source_ops *ops = pushing->source->ops;
    struct shard *shard = &pushing->collection->shards[number];
    struct symbol_sink *into = shard_sink_begin(sink, shard);
    enum err err = ops->push_shard ? ops->push_shard(pushing->source, number, into, error)
                                   : ops->push(pushing->source, into, error);
    return err ? err : shard_sink_end(sink, error);
}

static void push_shards(void *context) {
    struct pushing *pushing = context;
    struct collection *collection = pushing->collection;
    CLEANUP(cleanup_shard_sink) struct shard_sink *sink = NULL;
    struct error error;
    size_t shard;
    enum err err = shard_sink_new(&collection->budget, collection->strings, &collection->symbols,
                                  &sink, &error);
    if (err)
        note_failure(pushing, 0, &error);
    while (err == ERR_OK && take_shard(pushing, &shard)) {
        if (push_one(pushing, sink, shard, &error))
            note_failure(pushing, shard, &error);
        else
            note_done(pushing);
    }
}

static unsigned threads_for(unsigned wanted, size_t parts) {
    unsigned count = wanted ? wanted : thread_team_processors();
    return parts < count ? (unsigned)parts : count;
}

enum err collection_push(struct collection *collection, struct symbol_source *source,
                         unsigned thread_count, struct collection_progress *progress,
                         struct error *error) {
    enum err err = symbol_map_settle(&collection->symbols, error);
    if (err || !source)
        return err;
    size_t count = source->ops->shard_count ? source->ops->shard_count(source) : 1;
    if (count > SHARDS_MAX)
        return error_set(error, ERR_LIMIT, "%zu shards", count);
    collection->shards = calloc(count, sizeof(*collection->shards));
    if (!collection->shards)
        return error_set(error, ERR_NO_MEMORY, "no memory for %zu shards", count);
    collection->shard_count = count;
    for (size_t i = 0; i < count; i++)
        collection->shards[i].budget = &collection->budget;
    struct pushing pushing = {
        .collection = collection, .source = source, .progress = progress, .failed = count};
    pthread_mutex_init(&pushing.mutex, NULL);
    thread_team_run(threads_for(thread_count, count), push_shards, &pushing);
    pthread_mutex_destroy(&pushing.mutex);
    if (pushing.failed == count)
        return ERR_OK;
    *error = pushing.error;
    return error->code;
}

/* --- names, by a team --- */

struct trying {
    struct shared_strings *strings;
    atomic_uint next; /* stripe */
};

static void try_stripes(void *context) {
    struct trying *trying = context;
    unsigned stripe;
    while ((stripe = atomic_fetch_add(&trying->next, 1)) < SHARED_STRINGS_STRIPES)
        shared_strings_try_stripe(trying->strings, stripe);
}

void collection_try_names(struct collection *collection, unsigned thread_count) {
    struct trying trying = {.strings = collection->strings};
    thread_team_run(threads_for(thread_count, SHARED_STRINGS_STRIPES), try_stripes, &trying);
}

struct shard_counts collection_count(const struct collection *collection) {
    struct shard_counts sum = {.damage = collection->symbols.damage};
    for (size_t i = 0; i < collection->shard_count; i++) {
        const struct shard_counts *counts = &collection->shards[i].counts;
        sum.functions += counts->functions;
        sum.inlined += counts->inlined;
        sum.line_rows += counts->line_rows;
        sum.damage += counts->damage;
    }
    return sum;
}
