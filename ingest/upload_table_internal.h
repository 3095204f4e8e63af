/*
 * Which uploads have bytes here at the moment: being received, or complete and waiting to be
 * finished. It lives in memory only, since what it holds are open temporary files; a restart
 * interrupts these uploads.
 *
 * The table is bounded in number, received and waiting ones together. An upload that is stale is
 * dropped by the next one that needs a place: its file goes, and its stream is told or fails at the
 * next bytes. So what clients leave behind costs at most count_max temporary files, and those of
 * streams that are just ending.
 *
 * Threads: any. An entry that was begun or taken belongs to that caller until it is given back.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/cleanup.h"
#include "base/error.h"
#include "base/hash.h"
#include "cache/blob_store.h"
#include "ingest/upload.h"

struct upload_table;
struct upload_entry;

/* Has no places before upload_table_limit. */
enum err upload_table_new(struct upload_table **ret_table, struct error *error);
void upload_table_free(struct upload_table *table);
DEFINE_CLEANUP(upload_table, struct upload_table, upload_table_free)

/* So many places. Who has one keeps it. */
void upload_table_limit(struct upload_table *table, unsigned count_max);

struct upload_place {
    const char *tenant;
    const char *upload_id;
    int64_t stale_ms; /* on the clock that gives now_ms */
    bool once;        /* bytes that wait or come are not given up for new ones */
};

/*
 * A place for an upload whose bytes come now. Earlier bytes of the same upload are dropped, unless
 * it takes bytes once: those that wait, and those that are being received, since their sender may
 * be gone without our knowing. ERR_STATE while it is being finished, or if once and it has its
 * bytes or is being sent them; ERR_EXHAUSTED when all places are taken by uploads that are not
 * stale.
 */
enum err upload_table_begin(struct upload_table *table, const struct upload_place *place,
                            int64_t now_ms, struct upload_entry **ret_entry, struct error *error);

/* Told with the table's lock held when the entry is dropped while it is being received: must not
 * block or call the table. At most once, and not after the entry has ended. At once if it was
 * dropped before. */
void upload_table_watch(struct upload_table *table, struct upload_entry *entry,
                        upload_lost_function *lost, void *argument);

/* ERR_ABORTED once newer bytes of the same upload came, ERR_STATE once it was dropped by another
 * upload, or is stale. */
enum err upload_table_check(struct upload_table *table, const struct upload_entry *entry,
                            int64_t now_ms, struct error *error);

/* All bytes are in the sealed writer, which the table now owns: the entry waits to be finished.
 * If the upload was dropped meanwhile, what upload_table_check says, and entry and writer stay the
 * caller's. */
enum err upload_table_complete(struct upload_table *table, struct upload_entry *entry,
                               struct blob_writer *writer, const struct digest *digest,
                               struct error *error);

/* Takes what waits, to finish it. ERR_STATE says why there is nothing to take; ERR_UNAVAILABLE
 * while somebody else finishes it. */
enum err upload_table_take(struct upload_table *table, const char *tenant, const char *upload_id,
                           struct upload_entry **ret_entry, struct error *error);
struct blob_writer *upload_entry_writer(struct upload_entry *entry);
const struct digest *upload_entry_digest(const struct upload_entry *entry);

/* Back to waiting: finishing failed for reasons that may pass. */
void upload_table_give_back(struct upload_table *table, struct upload_entry *entry);

/* Ends an entry that the caller has begun or taken. */
void upload_table_end(struct upload_table *table, struct upload_entry *entry);

/* Another upload took over: what waits goes at once, what is being received is told or fails at the
 * next bytes, and what is being finished is left to the transaction that finds it abandoned. */
void upload_table_drop(struct upload_table *table, const char *tenant, const char *upload_id);

unsigned upload_table_receiving(struct upload_table *table);

/* False if a new upload would find no place now. */
bool upload_table_has_room(struct upload_table *table, int64_t now_ms);
