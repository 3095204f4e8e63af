/*
 * A data directory with everything that ingest/ stands on, opened for a test: catalog, blobs,
 * indexes, queue and upload core, with the fake worker and a clock that stands still. Failures of
 * what is not under test end the test.
 */
#pragma once

#include "ingest/build_queue.h"
#include "ingest/upload.h"
#include "tests/support/scratch.h"

struct ingest_site {
    struct scratch scratch;
    struct catalog *catalog;
    struct blob_store *blobs;
    struct index_cache *indexes;
    struct build_queue *queue;
    struct ingest *ingest;
    struct worker_config worker_config;
    struct workers *workers;
    struct build_queue_config queue_config;
    struct ingest_config ingest_config;
    struct request_context context;
};

/* The configs may be changed between make and open. */
void ingest_site_make(struct ingest_site *site);
void ingest_site_open(struct ingest_site *site);
void ingest_site_close(struct ingest_site *site);
void ingest_site_remove(struct ingest_site *site);

/* Has the next workers run by worker_config as it is now. */
void ingest_site_configure_workers(struct ingest_site *site);

/* Closes, removes all indexes, and opens again. */
void ingest_site_empty_index(struct ingest_site *site);

/* Only the default tenant is there at first. Nothing of ours makes others yet. */
void ingest_site_add_tenant(struct ingest_site *site, const char *name);

/* What the clock of the upload core shows. It is shared by the sites of a test program. */
void ingest_site_set_clock(int64_t wall_ms);

struct upload_query ingest_site_query(enum binary_id_kind kind, const char *id,
                                      enum artifact_type type, const char *hash);

/* InitiateUpload of so many bytes, which must be accepted. */
void ingest_site_initiate(struct ingest_site *site, const struct upload_query *query, size_t size,
                          char ret_upload_id[static UPLOAD_ID_SIZE]);

/* Upload of the whole text, which must be accepted. */
void ingest_site_send(struct ingest_site *site, const struct upload_query *query,
                      const char *upload_id, const char *text);

/* Initiate, send, finish; the outcome of the last. */
enum err ingest_site_upload(struct ingest_site *site, const struct upload_query *query,
                            const char *text, struct error *error);

struct generation_row ingest_site_generation(struct ingest_site *site, const struct binary_id *id);
struct build_row ingest_site_build(struct ingest_site *site, const struct digest *key);

/* Waits until the build of the key has ended, and returns its row. */
struct build_row ingest_site_await(struct ingest_site *site, const struct digest *key);
