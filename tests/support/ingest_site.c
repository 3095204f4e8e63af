#include "tests/support/ingest_site.h"

#include <sqlite3.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "tests/support/fake_worker.h"
#include "tests/support/test.h"

#define LONG_MS 60000

static int64_t wall_ms_now = 1800000000000;

static int64_t standing_clock(void) {
    return wall_ms_now;
}

void ingest_site_set_clock(int64_t wall_ms) {
    wall_ms_now = wall_ms;
}

static void must(enum err err, const struct error *error) {
    if (err != ERR_OK)
        fail_msg("%s", error->text);
}

void ingest_site_make(struct ingest_site *site) {
    *site = (struct ingest_site){
        .worker_config = {.program = fake_worker_program(), .deadline_ms = LONG_MS},
        .queue_config = {.worker_count = 2, .retry_delay_ms = 1},
        .ingest_config = {.wall_ms = standing_clock},
        .context = request_context_default("tester"),
    };
    scratch_make(&site->scratch);
    ingest_site_set_clock(1800000000000);
}

void ingest_site_open(struct ingest_site *site) {
    struct error error;
    struct index_cache_limits limits = {0};
    must(catalog_open(scratch_path(&site->scratch, "catalog.db"), &site->catalog, &error), &error);
    must(blob_store_open(site->scratch.fd, &site->blobs, &error), &error);
    must(index_cache_open(site->scratch.fd, &limits, &site->indexes, &error), &error);
    must(workers_new(&site->worker_config, &site->workers, &error), &error);
    must(build_queue_open(&site->queue_config, site->catalog, site->blobs, site->indexes,
                          site->workers, &site->queue, &error),
         &error);
    must(ingest_open(&site->ingest_config, site->catalog, site->blobs, site->queue, site->workers,
                     &site->ingest, &error),
         &error);
}

void ingest_site_configure_workers(struct ingest_site *site) {
    struct error error;
    must(workers_configure(site->workers, &site->worker_config, &error), &error);
}

void ingest_site_close(struct ingest_site *site) {
    ingest_free(TAKE(site->ingest));
    build_queue_free(TAKE(site->queue));
    workers_free(TAKE(site->workers));
    index_cache_free(TAKE(site->indexes));
    blob_store_free(TAKE(site->blobs));
    catalog_free(TAKE(site->catalog));
}

void ingest_site_remove(struct ingest_site *site) {
    ingest_site_close(site);
    scratch_remove(&site->scratch);
}

void ingest_site_empty_index(struct ingest_site *site) {
    char command[512];
    ingest_site_close(site);
    snprintf(command, sizeof(command), "rm -r %s", scratch_path(&site->scratch, "index"));
    assert_int_equal(system(command), 0);
    ingest_site_open(site);
}

void ingest_site_add_tenant(struct ingest_site *site, const char *name) {
    sqlite3 *database = NULL;
    char sql[256];
    snprintf(sql, sizeof(sql), "INSERT INTO tenant (name) VALUES ('%s')", name);
    assert_int_equal(sqlite3_open(scratch_path(&site->scratch, "catalog.db"), &database),
                     SQLITE_OK);
    sqlite3_busy_timeout(database, LONG_MS);
    assert_int_equal(sqlite3_exec(database, sql, NULL, NULL, NULL), SQLITE_OK);
    assert_int_equal(sqlite3_close(database), SQLITE_OK);
}

struct upload_query ingest_site_query(enum binary_id_kind kind, const char *id,
                                      enum artifact_type type, const char *hash) {
    struct upload_query query = {.type = type};
    struct error error;
    must(binary_id_parse(kind, span_cstr(id), &query.id, &error), &error);
    strncpy(query.hash, hash, sizeof(query.hash) - 1);
    return query;
}

void ingest_site_initiate(struct ingest_site *site, const struct upload_query *query, size_t size,
                          char ret_upload_id[static UPLOAD_ID_SIZE]) {
    struct error error;
    must(ingest_initiate(site->ingest, &site->context, query, size, ret_upload_id, &error), &error);
}

void ingest_site_send(struct ingest_site *site, const struct upload_query *query,
                      const char *upload_id, const char *text) {
    CLEANUP(cleanup_upload_stream) struct upload_stream *stream = NULL;
    struct error error;
    uint64_t size = 0;
    must(upload_stream_open(site->ingest, &site->context, &query->id, query->type, upload_id,
                            &stream, &error),
         &error);
    must(upload_stream_append(stream, text, strlen(text), &error), &error);
    must(upload_stream_complete(stream, &size, &error), &error);
    assert_int_equal(size, strlen(text));
}

enum err ingest_site_upload(struct ingest_site *site, const struct upload_query *query,
                            const char *text, struct error *error) {
    char upload_id[UPLOAD_ID_SIZE];
    ingest_site_initiate(site, query, strlen(text), upload_id);
    ingest_site_send(site, query, upload_id, text);
    return ingest_finish(site->ingest, &site->context, &query->id, query->type, upload_id, error);
}

struct lookup {
    struct ingest_site *site;
    const struct binary_id *id;
    const struct digest *key;
    struct generation_row generation;
    struct build_row build;
};

static enum err read_generation(struct catalog_txn *txn, void *argument, struct error *error) {
    struct lookup *lookup = argument;
    return catalog_generation_get(txn, lookup->site->context.tenant, lookup->id,
                                  &lookup->generation, error);
}

struct generation_row ingest_site_generation(struct ingest_site *site, const struct binary_id *id) {
    struct lookup lookup = {.site = site, .id = id};
    struct error error;
    must(catalog_read(site->catalog, read_generation, &lookup, &error), &error);
    return lookup.generation;
}

static enum err read_build(struct catalog_txn *txn, void *argument, struct error *error) {
    struct lookup *lookup = argument;
    return catalog_build_get(txn, lookup->site->context.tenant, lookup->key, &lookup->build, error);
}

struct build_row ingest_site_build(struct ingest_site *site, const struct digest *key) {
    struct lookup lookup = {.site = site, .key = key};
    struct error error;
    must(catalog_read(site->catalog, read_build, &lookup, &error), &error);
    return lookup.build;
}

struct build_row ingest_site_await(struct ingest_site *site, const struct digest *key) {
    assert_true(
        build_queue_wait(site->queue, site->context.tenant, key, clock_mono_ms() + LONG_MS));
    return ingest_site_build(site, key);
}
