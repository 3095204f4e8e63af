#include "api/missing_ids.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "base/request_context.h"

/* What an id is kept in: a hash chain, and a place in a heap with the least asked one on top. */
struct entry {
    struct missing_id missing;
    struct entry *next;
    size_t place;
};

struct tenant_table {
    struct tenant_table *next;
    char tenant[TENANT_NAME_MAX + 1];
    size_t count;
    struct entry **heap;    /* count_max */
    struct entry **buckets; /* count_max */
};

struct missing_ids {
    pthread_mutex_t mutex; /* guards all */
    size_t count_max;
    struct tenant_table *first;
    size_t tenant_count;
};

enum err missing_ids_new(size_t count_max, struct missing_ids **ret_missing, struct error *error) {
    struct missing_ids *missing = calloc(1, sizeof(*missing));
    if (!missing)
        return error_set(error, ERR_NO_MEMORY, "no memory for the missing build IDs");
    pthread_mutex_init(&missing->mutex, NULL);
    missing->count_max = count_max ? count_max : MISSING_IDS_MAX;
    *ret_missing = missing;
    return ERR_OK;
}

static void table_free(struct tenant_table *table) {
    for (size_t i = 0; i < table->count; i++)
        free(table->heap[i]);
    free(table->heap);
    free(table->buckets);
    free(table);
}

void missing_ids_free(struct missing_ids *missing) {
    if (!missing)
        return;
    while (missing->first) {
        struct tenant_table *table = missing->first;
        missing->first = table->next;
        table_free(table);
    }
    pthread_mutex_destroy(&missing->mutex);
    free(missing);
}

static struct tenant_table *find_table(struct missing_ids *missing, const char *tenant) {
    struct tenant_table *table = missing->first;
    while (table && strcmp(table->tenant, tenant) != 0)
        table = table->next;
    return table;
}

/* NULL when there is no room or no memory for it. */
static struct tenant_table *make_table(struct missing_ids *missing, const char *tenant) {
    if (missing->tenant_count == MISSING_TENANTS_MAX || strlen(tenant) > TENANT_NAME_MAX)
        return NULL;
    struct tenant_table *table = calloc(1, sizeof(*table));
    if (!table)
        return NULL;
    table->heap = calloc(missing->count_max, sizeof(struct entry *));
    table->buckets = calloc(missing->count_max, sizeof(struct entry *));
    if (!table->heap || !table->buckets) {
        table_free(table);
        return NULL;
    }
    memcpy(table->tenant, tenant, strlen(tenant) + 1);
    table->next = missing->first;
    missing->first = table;
    missing->tenant_count++;
    return table;
}

/* --- the heap ------------------------------------------------------------------------------- */

static bool is_less(const struct entry *a, const struct entry *b) {
    if (a->missing.count != b->missing.count)
        return a->missing.count < b->missing.count;
    return a->missing.last_ms < b->missing.last_ms;
}

static void set_place(struct tenant_table *table, size_t place, struct entry *entry) {
    table->heap[place] = entry;
    entry->place = place;
}

static void sink(struct tenant_table *table, struct entry *entry) {
    size_t place = entry->place;
    for (;;) {
        size_t child = 2 * place + 1;
        if (child + 1 < table->count && is_less(table->heap[child + 1], table->heap[child]))
            child++;
        if (child >= table->count || !is_less(table->heap[child], entry))
            break;
        set_place(table, place, table->heap[child]);
        place = child;
    }
    set_place(table, place, entry);
}

static void rise(struct tenant_table *table, struct entry *entry) {
    size_t place = entry->place;
    while (place > 0 && is_less(entry, table->heap[(place - 1) / 2])) {
        set_place(table, place, table->heap[(place - 1) / 2]);
        place = (place - 1) / 2;
    }
    set_place(table, place, entry);
}

/* --- finding -------------------------------------------------------------------------------- */

/* FNV-1a. Who chooses ids so that they meet in one chain slows down his own table, which is
 * bounded. */
static size_t bucket_of(const struct missing_ids *missing, const struct binary_id *id) {
    uint64_t hash = 0xcbf29ce484222325u ^ (uint64_t)id->kind;
    for (const char *at = id->text; *at; at++)
        hash = (hash ^ (uint8_t)*at) * 0x100000001b3u;
    return (size_t)(hash % missing->count_max);
}

/* The link that points to the entry, or to the end of its chain. */
static struct entry **find(const struct missing_ids *missing, struct tenant_table *table,
                           const struct binary_id *id) {
    struct entry **link = &table->buckets[bucket_of(missing, id)];
    while (*link && !binary_id_equal(&(*link)->missing.id, id))
        link = &(*link)->next;
    return link;
}

static void unlink_entry(const struct missing_ids *missing, struct tenant_table *table,
                         struct entry *entry) {
    struct entry **link = find(missing, table, &entry->missing.id);
    *link = entry->next;
}

/* An entry for the id, counted as often as the least one was; NULL without memory. */
static struct entry *make_entry(const struct missing_ids *missing, struct tenant_table *table,
                                const struct binary_id *id, int64_t now_ms) {
    struct entry *entry = NULL;
    uint64_t inherited = 0;
    if (table->count == missing->count_max) {
        entry = table->heap[0];
        inherited = entry->missing.count;
        unlink_entry(missing, table, entry);
    } else {
        entry = calloc(1, sizeof(*entry));
        if (!entry)
            return NULL;
        set_place(table, table->count++, entry);
    }
    entry->missing = (struct missing_id){
        .id = *id, .count = inherited, .error = inherited, .first_ms = now_ms, .last_ms = now_ms};
    struct entry **link = &table->buckets[bucket_of(missing, id)];
    entry->next = *link;
    *link = entry;
    rise(table, entry);
    return entry;
}

static void note(struct missing_ids *missing, const char *tenant, const struct binary_id *id,
                 int64_t now_ms) {
    struct tenant_table *table = find_table(missing, tenant);
    if (!table)
        table = make_table(missing, tenant);
    if (!table)
        return;
    struct entry *entry = *find(missing, table, id);
    if (!entry)
        entry = make_entry(missing, table, id, now_ms);
    if (!entry)
        return;
    entry->missing.count++;
    entry->missing.last_ms = now_ms;
    sink(table, entry);
}

void missing_ids_note(struct missing_ids *missing, const char *tenant, const struct binary_id *id,
                      int64_t now_ms) {
    pthread_mutex_lock(&missing->mutex);
    note(missing, tenant, id, now_ms);
    pthread_mutex_unlock(&missing->mutex);
}

static void forget(struct missing_ids *missing, struct tenant_table *table, struct entry *entry) {
    unlink_entry(missing, table, entry);
    struct entry *last = table->heap[--table->count];
    if (last != entry) {
        set_place(table, entry->place, last);
        rise(table, last);
        sink(table, last);
    }
    free(entry);
}

void missing_ids_forget(struct missing_ids *missing, const char *tenant,
                        const struct binary_id *id) {
    pthread_mutex_lock(&missing->mutex);
    struct tenant_table *table = find_table(missing, tenant);
    struct entry *entry = table ? *find(missing, table, id) : NULL;
    if (entry)
        forget(missing, table, entry);
    pthread_mutex_unlock(&missing->mutex);
}

/* --- the answer ----------------------------------------------------------------------------- */

static int compare(const void *a, const void *b) {
    const struct entry *left = *(struct entry *const *)a;
    const struct entry *right = *(struct entry *const *)b;
    if (is_less(left, right))
        return 1;
    return is_less(right, left) ? -1 : 0;
}

/* Sorts the heap itself, the least last, and then turns it round: an ascending array is a heap. */
static size_t top(struct tenant_table *table, struct missing_id *ret_ids, size_t max) {
    qsort(table->heap, table->count, sizeof(struct entry *), compare);
    size_t count = table->count < max ? table->count : max;
    for (size_t i = 0; i < count; i++)
        ret_ids[i] = table->heap[i]->missing;
    for (size_t i = 0; i < table->count / 2; i++) {
        struct entry *entry = table->heap[i];
        table->heap[i] = table->heap[table->count - 1 - i];
        table->heap[table->count - 1 - i] = entry;
    }
    for (size_t i = 0; i < table->count; i++)
        table->heap[i]->place = i;
    return count;
}

size_t missing_ids_top(struct missing_ids *missing, const char *tenant, struct missing_id *ret_ids,
                       size_t max) {
    pthread_mutex_lock(&missing->mutex);
    struct tenant_table *table = find_table(missing, tenant);
    size_t count = table ? top(table, ret_ids, max) : 0;
    pthread_mutex_unlock(&missing->mutex);
    return count;
}
