#include <assert.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "base/request_context.h"
#include "cache/catalog_uploads.h"
#include "ingest/upload_table_internal.h"

enum entry_state { ENTRY_RECEIVING, ENTRY_WAITING, ENTRY_FINISHING };

struct upload_entry {
    struct upload_entry *next;
    char tenant[TENANT_NAME_MAX + 1];
    char upload_id[UPLOAD_ID_SIZE];
    enum entry_state state;
    struct error dropped; /* while receiving: why; code ERR_OK while it is not */
    bool replaced;        /* by a newer entry: no longer in the list */
    upload_lost_function *lost;
    void *lost_argument;
    int64_t stale_ms;
    struct blob_writer *writer; /* owned; NULL while receiving */
    struct digest digest;
};

struct upload_table {
    pthread_mutex_t mutex; /* guards all, and the entries but for writer and digest of taken ones */
    struct upload_entry *first;
    unsigned count;
    unsigned count_max;
};

static void entries_free(struct upload_entry *entry) {
    while (entry) {
        struct upload_entry *next = entry->next;
        blob_writer_free(entry->writer);
        free(entry);
        entry = next;
    }
}

enum err upload_table_new(struct upload_table **ret_table, struct error *error) {
    struct upload_table *table = calloc(1, sizeof(*table));
    if (!table)
        return error_set(error, ERR_NO_MEMORY, "no memory for the table of uploads");
    pthread_mutex_init(&table->mutex, NULL);
    *ret_table = table;
    return ERR_OK;
}

void upload_table_limit(struct upload_table *table, unsigned count_max) {
    pthread_mutex_lock(&table->mutex);
    table->count_max = count_max;
    pthread_mutex_unlock(&table->mutex);
}

void upload_table_free(struct upload_table *table) {
    if (!table)
        return;
    for (struct upload_entry *entry = table->first; entry; entry = entry->next)
        assert(entry->state == ENTRY_WAITING);
    entries_free(table->first);
    pthread_mutex_destroy(&table->mutex);
    free(table);
}

/* The link that points to the entry, or to the end of the list. */
static struct upload_entry **find(struct upload_table *table, const char *tenant,
                                  const char *upload_id) {
    struct upload_entry **link = &table->first;
    while (*link &&
           (strcmp((*link)->upload_id, upload_id) != 0 || strcmp((*link)->tenant, tenant) != 0))
        link = &(*link)->next;
    return link;
}

static void unlink_to(struct upload_table *table, struct upload_entry **link,
                      struct upload_entry **list) {
    struct upload_entry *entry = *link;
    *link = entry->next;
    table->count--;
    entry->next = *list;
    *list = entry;
}

static void drop(struct upload_entry *entry, enum err code, const char *text) {
    if (entry->dropped.code != ERR_OK)
        return;
    error_set(&entry->dropped, code, "%s", text);
    if (entry->lost)
        entry->lost(entry->lost_argument, &entry->dropped);
}

/* Moves what is stale to `list`, to be freed without the lock: removing files may block. */
static void sweep(struct upload_table *table, int64_t now_ms, struct upload_entry **list) {
    struct upload_entry **link = &table->first;
    while (*link) {
        struct upload_entry *entry = *link;
        bool stale = now_ms > entry->stale_ms;
        if (stale && entry->state == ENTRY_RECEIVING)
            drop(entry, ERR_STATE, "this upload took too long and is stale");
        if (stale && entry->state == ENTRY_WAITING)
            unlink_to(table, link, list);
        else
            link = &entry->next;
    }
}

static enum err say_busy(enum entry_state state, struct error *error) {
    if (state == ENTRY_WAITING)
        return error_set(error, ERR_STATE, "this upload has its bytes already: finish it");
    if (state == ENTRY_RECEIVING)
        return error_set(error, ERR_STATE, "the bytes of this upload are being received already");
    return error_set(error, ERR_STATE, "this upload is being finished already");
}

/* The entry stays its stream's, which ends it. */
static void replace(struct upload_table *table, struct upload_entry **link) {
    struct upload_entry *entry = *link;
    *link = entry->next;
    table->count--;
    entry->next = NULL;
    entry->replaced = true;
    drop(entry, ERR_ABORTED, "the bytes of this upload come by a newer stream");
}

static enum err begin_locked(struct upload_table *table, struct upload_entry *entry, bool once,
                             int64_t now_ms, struct upload_entry **replaced, struct error *error) {
    struct upload_entry **link = find(table, entry->tenant, entry->upload_id);
    if (*link && (once || (*link)->state == ENTRY_FINISHING))
        return say_busy((*link)->state, error);
    if (*link && (*link)->state == ENTRY_RECEIVING)
        replace(table, link);
    else if (*link)
        unlink_to(table, link, replaced);
    if (table->count >= table->count_max)
        sweep(table, now_ms, replaced);
    if (table->count >= table->count_max)
        return error_set(error, ERR_EXHAUSTED, "all places for uploads are taken");
    entry->next = table->first;
    table->first = entry;
    table->count++;
    return ERR_OK;
}

enum err upload_table_begin(struct upload_table *table, const struct upload_place *place,
                            int64_t now_ms, struct upload_entry **ret_entry, struct error *error) {
    CLEANUP(cleanup_free) struct upload_entry *entry = calloc(1, sizeof(*entry));
    if (!entry)
        return error_set(error, ERR_NO_MEMORY, "no memory for an upload");
    size_t tenant_size = strlen(place->tenant) + 1;
    size_t upload_id_size = strlen(place->upload_id) + 1;
    assert(tenant_size <= sizeof(entry->tenant) && upload_id_size <= sizeof(entry->upload_id));
    memcpy(entry->tenant, place->tenant, tenant_size);
    memcpy(entry->upload_id, place->upload_id, upload_id_size);
    entry->state = ENTRY_RECEIVING;
    entry->stale_ms = place->stale_ms;
    struct upload_entry *replaced = NULL;
    pthread_mutex_lock(&table->mutex);
    enum err err = begin_locked(table, entry, place->once, now_ms, &replaced, error);
    pthread_mutex_unlock(&table->mutex);
    entries_free(replaced);
    if (err == ERR_OK)
        *ret_entry = TAKE(entry);
    return err;
}

void upload_table_watch(struct upload_table *table, struct upload_entry *entry,
                        upload_lost_function *lost, void *argument) {
    pthread_mutex_lock(&table->mutex);
    entry->lost = lost;
    entry->lost_argument = argument;
    if (entry->dropped.code != ERR_OK)
        lost(argument, &entry->dropped);
    pthread_mutex_unlock(&table->mutex);
}

static enum err check_locked(const struct upload_entry *entry, struct error *error) {
    if (entry->dropped.code != ERR_OK)
        *error = entry->dropped;
    return entry->dropped.code;
}

enum err upload_table_check(struct upload_table *table, const struct upload_entry *entry,
                            int64_t now_ms, struct error *error) {
    if (now_ms > entry->stale_ms)
        return error_set(error, ERR_STATE, "this upload took too long and is stale");
    pthread_mutex_lock(&table->mutex);
    enum err err = check_locked(entry, error);
    pthread_mutex_unlock(&table->mutex);
    return err;
}

enum err upload_table_complete(struct upload_table *table, struct upload_entry *entry,
                               struct blob_writer *writer, const struct digest *digest,
                               struct error *error) {
    pthread_mutex_lock(&table->mutex);
    assert(entry->state == ENTRY_RECEIVING);
    enum err err = check_locked(entry, error);
    if (err == ERR_OK) {
        entry->state = ENTRY_WAITING;
        entry->writer = writer;
        entry->digest = *digest;
    }
    pthread_mutex_unlock(&table->mutex);
    return err;
}

static enum err take_locked(struct upload_entry *entry, struct error *error) {
    if (!entry)
        return error_set(error, ERR_STATE,
                         "no bytes were received for this upload: send them before finishing it");
    if (entry->state == ENTRY_FINISHING)
        return error_set(error, ERR_UNAVAILABLE, "this upload is being finished already");
    if (entry->state == ENTRY_RECEIVING)
        return error_set(error, ERR_STATE, "the bytes of this upload are still being received");
    entry->state = ENTRY_FINISHING;
    return ERR_OK;
}

enum err upload_table_take(struct upload_table *table, const char *tenant, const char *upload_id,
                           struct upload_entry **ret_entry, struct error *error) {
    pthread_mutex_lock(&table->mutex);
    struct upload_entry *entry = *find(table, tenant, upload_id);
    enum err err = take_locked(entry, error);
    pthread_mutex_unlock(&table->mutex);
    if (err == ERR_OK)
        *ret_entry = entry;
    return err;
}

struct blob_writer *upload_entry_writer(struct upload_entry *entry) {
    return entry->writer;
}

const struct digest *upload_entry_digest(const struct upload_entry *entry) {
    return &entry->digest;
}

void upload_table_give_back(struct upload_table *table, struct upload_entry *entry) {
    pthread_mutex_lock(&table->mutex);
    assert(entry->state == ENTRY_FINISHING);
    entry->state = ENTRY_WAITING;
    pthread_mutex_unlock(&table->mutex);
}

void upload_table_end(struct upload_table *table, struct upload_entry *entry) {
    struct upload_entry *ended = NULL;
    pthread_mutex_lock(&table->mutex);
    struct upload_entry **link = find(table, entry->tenant, entry->upload_id);
    assert(entry->state != ENTRY_WAITING && entry->replaced == (*link != entry));
    if (entry->replaced)
        ended = entry;
    else
        unlink_to(table, link, &ended);
    pthread_mutex_unlock(&table->mutex);
    entries_free(ended);
}

void upload_table_drop(struct upload_table *table, const char *tenant, const char *upload_id) {
    struct upload_entry *ended = NULL;
    pthread_mutex_lock(&table->mutex);
    struct upload_entry **link = find(table, tenant, upload_id);
    if (*link && (*link)->state == ENTRY_RECEIVING)
        drop(*link, ERR_STATE, "another upload of the same build ID took over");
    else if (*link && (*link)->state == ENTRY_WAITING)
        unlink_to(table, link, &ended);
    pthread_mutex_unlock(&table->mutex);
    entries_free(ended);
}

unsigned upload_table_receiving(struct upload_table *table) {
    unsigned count = 0;
    pthread_mutex_lock(&table->mutex);
    for (struct upload_entry *entry = table->first; entry; entry = entry->next)
        count += entry->state == ENTRY_RECEIVING;
    pthread_mutex_unlock(&table->mutex);
    return count;
}

bool upload_table_has_room(struct upload_table *table, int64_t now_ms) {
    struct upload_entry *stale = NULL;
    pthread_mutex_lock(&table->mutex);
    if (table->count >= table->count_max)
        sweep(table, now_ms, &stale);
    bool has_room = table->count < table->count_max;
    pthread_mutex_unlock(&table->mutex);
    entries_free(stale);
    return has_room;
}
