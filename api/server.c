#include "api/server.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "api/catalog_watch.h"
#include "api/debuginfo_service.h"
#include "api/health_service.h"
#include "api/http_api.h"
#include "api/reflection_service.h"
#include "api/server_tls.h"
#include "api/upload_key.h"
#include "base/fd.h"
#include "cache/blob_compactor.h"
#include "ingest/orphan_sweep.h"
#include "ingest/upload.h"
#include "rpc/grpc_server.h"

/* Lookups are short and bound by the CPU. The steps of an upload wait for disks and workers, and
 * have threads of their own so that they never hold up a question; an agent's questions have others
 * again, so that a burst of uploads that end does not hold them up. */
#define QUERY_QUEUE_MAX 1024
#define UPLOAD_THREADS 16
#define ASK_THREADS 16
#define WRITER_THREADS_MAX 8
#define UPLOAD_QUEUE_MAX 4096
#define WAIT_COUNT_MAX 256

struct server {
    const struct server_options *options;
    const struct log *log;
    int directory;
    int lock;
    struct workers *workers;
    struct catalog *catalog;
    struct blob_store *blobs;
    struct index_cache *indexes;
    struct build_queue *builds;
    struct ingest *ingest;
    struct blob_compactor *compactor;
    struct orphan_sweeper *sweeper;
    struct task_pool *queries;
    struct task_pool *uploads; /* steps that may take long */
    struct task_pool *asks;    /* what an agent asks for before it sends anything */
    struct task_pool *writers; /* received bytes to the disk */
    struct build_waiter *waiter;
    struct metrics *metrics;
    struct missing_ids *missing;
    struct upload_urls urls;
    struct server_tls tls;
    struct http_api api;
    const char *origins[SERVER_LIST_MAX]; /* of web pages that may ask */
    const char *methods[SERVER_LIST_MAX]; /* and what they may send */
    struct http_server *http;
    struct debuginfo_service *debuginfo;
    struct health_service *health;
    struct catalog_watch *catalog_watch;
    struct reflection_service *reflection;
    struct grpc_server *grpc;
};

/* mkdir -p, for ourselves alone. */
static enum err make_directories(const char *path, struct error *error) {
    char partial[SERVER_PATH_MAX];
    size_t size = strlen(path);
    memcpy(partial, path, size + 1);
    for (size_t i = 1; i <= size; i++) {
        if (partial[i] != '/' && partial[i] != '\0')
            continue;
        char separator = partial[i];
        partial[i] = '\0';
        if (mkdir(partial, 0700) != 0 && errno != EEXIST)
            return error_set_errno(error, ERR_IO, errno, "cannot make directory %s", partial);
        partial[i] = separator;
    }
    return ERR_OK;
}

/* A lock of the process and not of the open file: flock() would be held on by a child that was
 * being forked to become a worker when the server was killed, and the next start would fail. */
static bool take_lock(int fd) {
    struct flock whole = {.l_type = F_WRLCK, .l_whence = SEEK_SET};
    return fcntl(fd, F_SETLK, &whole) == 0;
}

static enum err open_directory(struct server *server, struct error *error) {
    const char *path = server->options->data_directory;
    enum err err = make_directories(path, error);
    if (err != ERR_OK)
        return err;
    server->directory = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (server->directory < 0)
        return error_set_errno(error, ERR_IO, errno, "cannot open data directory %s", path);
    server->lock = openat(server->directory, "lock", O_RDWR | O_CREAT | O_CLOEXEC, 0600);
    if (server->lock < 0)
        return error_set_errno(error, ERR_IO, errno, "cannot open %s/lock", path);
    if (!take_lock(server->lock))
        return error_set(error, ERR_UNAVAILABLE, "another server uses the data directory %s", path);
    return ERR_OK;
}

static enum err open_catalog(struct server *server, struct error *error) {
    char path[SERVER_PATH_MAX + 16];
    snprintf(path, sizeof(path), "%s/catalog.sqlite", server->options->data_directory);
    return catalog_open(path, &server->catalog, error);
}

static struct index_cache_limits index_limits(const struct server_options *options) {
    return (struct index_cache_limits){
        .disk_size_max = options->index_disk_size_max,
        .mapped_size_max = options->index_mapped_size_max,
    };
}

static enum err open_stores(struct server *server, struct error *error) {
    const struct server_options *options = server->options;
    struct index_cache_limits limits = index_limits(options);
    enum err err = open_directory(server, error);
    if (err == ERR_OK)
        err = open_catalog(server, error);
    if (err == ERR_OK)
        err = blob_store_open(server->directory, &server->blobs, error);
    if (err == ERR_OK)
        err = index_cache_open(server->directory, &limits, &server->indexes, error);
    return err;
}

static void log_sweep(void *argument, const struct orphan_sweep_result *result,
                      const struct error *error) {
    const struct server *server = argument;
    const struct log *log = server->log;
    if (error)
        log_event(log, LOG_LEVEL_ERROR, "sweep_failed", log_str("error", error->text));
    if (result->refused > 0)
        log_event(log, LOG_LEVEL_ERROR, "sweep_refused",
                  log_i64("orphans", (int64_t)result->refused),
                  log_i64("files", (int64_t)result->files),
                  log_str("reason", "more than half of all stored files are not in the catalog"));
    if (result->blobs > 0 || result->indexes > 0 || result->lost > 0)
        log_event(log, LOG_LEVEL_WARN, "orphans_swept", log_i64("blobs", (int64_t)result->blobs),
                  log_i64("blob_bytes", (int64_t)result->blob_bytes),
                  log_i64("indexes", (int64_t)result->indexes),
                  log_i64("lost_removed", (int64_t)result->lost),
                  log_i64("lost_bytes", (int64_t)result->lost_bytes));
}

static enum err open_sweeper(struct server *server, struct error *error) {
    struct orphan_sweep_config config = {.grace_ms = server->options->blob_sweep_after_ms};
    if (config.grace_ms == 0)
        return ERR_OK;
    return orphan_sweeper_new(server->ingest, server->indexes, &config, log_sweep, server,
                              &server->sweeper, error);
}

/* A failure shows in the metrics of the catalog, and the file will be found again. */
static void check_file(void *argument, const struct digest *digest) {
    const struct server *server = argument;
    struct error ignored;
    ingest_check_file(server->ingest, digest, &ignored);
}

static struct ingest_limits ingest_limits(const struct server_options *options) {
    return (struct ingest_limits){
        .upload_size_max = options->upload_size_max,
        .stale_after_ms = options->upload_stale_ms,
        .upload_count_max = options->upload_stream_max,
    };
}

static struct worker_config worker_config(const struct server_options *options) {
    return (struct worker_config){
        .program = options->worker,
        .deadline_ms = options->worker_deadline_ms,
        .memory_max = options->worker_memory_max,
        /* Above what the threads can use before the deadline, which gives the better reason. */
        .cpu_seconds_max = ((uint64_t)options->worker_deadline_ms / 1000 + 1) *
                           options->worker_thread_count,
        .thread_count = options->worker_thread_count,
    };
}

static enum err check_worker(const struct server_options *options, struct error *error) {
    if (access(options->worker, X_OK) != 0)
        return error_set_errno(error, ERR_INVALID, errno, "cannot run the worker %s",
                               options->worker);
    return ERR_OK;
}

static int64_t compress_age_ms(const struct server_options *options) {
    return options->blob_compress_after_ms ? options->blob_compress_after_ms : BLOB_COMPRESS_NEVER;
}

/* The compactor comes last: opening ingest empties tmp/, in which it works. */
static enum err open_ingest(struct server *server, struct error *error) {
    const struct server_options *options = server->options;
    struct blob_compactor_config compactor = {
        .age_min_ms = compress_age_ms(options),
        .found_damaged = check_file,
        .argument = server,
    };
    struct build_queue_config builds = {.worker_count = options->worker_count};
    struct ingest_config ingest = {.limits = ingest_limits(options)};
    struct worker_config worker = worker_config(options);
    enum err err = check_worker(options, error);
    if (err == ERR_OK)
        err = workers_new(&worker, &server->workers, error);
    if (err == ERR_OK)
        err = build_queue_open(&builds, server->catalog, server->blobs, server->indexes,
                               server->workers, &server->builds, error);
    if (err == ERR_OK)
        err = ingest_open(&ingest, server->catalog, server->blobs, server->builds, server->workers,
                          &server->ingest, error);
    if (err == ERR_OK)
        err = blob_compactor_new(&compactor, server->blobs, &server->compactor, error);
    if (err == ERR_OK)
        err = open_sweeper(server, error);
    return err;
}

static unsigned cpu_count(void) {
    long cpus = sysconf(_SC_NPROCESSORS_ONLN);
    return cpus < 2 ? 2 : cpus > 64 ? 64 : (unsigned)cpus;
}

static unsigned writer_count(void) {
    unsigned cpus = cpu_count();
    return cpus < WRITER_THREADS_MAX ? cpus : WRITER_THREADS_MAX;
}

/* One place for each upload that may be open, and for as many that are ending. */
static size_t writer_queue_max(const struct server_options *options) {
    return 2 * (size_t)options->upload_stream_max;
}

static enum err open_threads(struct server *server, struct error *error) {
    server->metrics = metrics_new();
    if (!server->metrics)
        return error_set(error, ERR_NO_MEMORY, "no memory for metrics");
    enum err err = missing_ids_new(0, &server->missing, error);
    if (err == ERR_OK)
        err = task_pool_new(cpu_count(), QUERY_QUEUE_MAX, &server->queries, error);
    if (err == ERR_OK)
        err = task_pool_new(UPLOAD_THREADS, UPLOAD_QUEUE_MAX, &server->uploads, error);
    if (err == ERR_OK)
        err = task_pool_new(ASK_THREADS, UPLOAD_QUEUE_MAX, &server->asks, error);
    if (err == ERR_OK)
        err = task_pool_new(writer_count(), writer_queue_max(server->options), &server->writers,
                            error);
    if (err == ERR_OK)
        err = build_waiter_new(server->catalog, WAIT_COUNT_MAX, &server->waiter, error);
    return err;
}

static void log_listening(const struct server *server, const char *protocol, const char *address,
                          uint16_t port) {
    log_event(server->log, LOG_LEVEL_INFO, "listening", log_str("protocol", protocol),
              log_str("address", address), log_i64("port", port),
              log_str("tls", server->tls.is_on ? "1.3" : "off"));
}

static struct metrics_sources metrics_sources(struct server *server) {
    return (struct metrics_sources){
        .catalog = server->catalog,
        .indexes = server->indexes,
        .compactor = server->compactor,
        .sweeper = server->sweeper,
        .builds = server->builds,
        .ingest = server->ingest,
        .grpc = server->grpc,
        .tls = &server->tls,
        .queries = server->queries,
        .uploads = server->uploads,
        .asks = server->asks,
        .writers = server->writers,
    };
}

/* What uploads are told to use; NULL: the Upload method. */
static const struct upload_urls *signed_urls(const struct server *server) {
    return server->options->upload_strategy == SERVER_UPLOAD_SIGNED_URL ? &server->urls : NULL;
}

static enum err open_urls(struct server *server, struct error *error) {
    server->urls.base = server->options->upload_public_url;
    server->urls.expiry_ms = server->options->signed_url_expiry_ms;
    return upload_key_open(server->directory, &server->urls.key, error);
}

static enum err open_http(struct server *server, struct error *error) {
    server->api = (struct http_api){
        .resolver = {server->catalog, server->builds, server->indexes, server->missing},
        .waiter = server->waiter,
        .pool = server->queries,
        .ingest = server->ingest,
        .signed_uploads = {server->ingest, server->log, server->uploads, signed_urls(server)},
        .metrics = server->metrics,
        .sources = metrics_sources(server),
        .log = server->log,
        .files = {server->catalog, server->blobs, server->ingest, server->uploads},
        .uploads = {server->ingest, &server->api.resolver, server->uploads},
        .access_log = server->options->http_access_log,
    };
    const struct server_list *origins = &server->options->http_cors_allowed_origins;
    for (size_t i = 0; i < origins->count; i++)
        server->origins[i] = origins->texts[i];
    const struct server_list *methods = &server->options->http_cors_allowed_methods;
    for (size_t i = 0; i < methods->count; i++)
        server->methods[i] = methods->texts[i];
    struct http_server_config config = {
        .origins = server->origins,
        .origin_count = origins->count,
        .methods = server->methods,
        .method_count = methods->count,
        .address = server->options->http.address,
        .port = server->options->http.port,
        .waiting_pool = server->uploads,
        .tls = server_tls_slot(&server->tls),
        .refused = server_tls_refused_http,
        .refused_argument = &server->tls,
    };
    http_api_configure(&server->api, &config);
    enum err err = http_server_open(&config, &server->http, error);
    if (err == ERR_OK)
        log_listening(server, "http", config.address, http_server_port(server->http));
    return err;
}

static struct grpc_server_config grpc_config(struct server *server) {
    const struct server_options *options = server->options;
    return (struct grpc_server_config){
        .address = options->grpc.address,
        .port = options->grpc.port,
        .thread_count = cpu_count(),
        .connection_idle_ms = options->grpc_connection_idle_ms,
        .connection_age_ms = options->grpc_connection_age_ms,
        .keepalive_time_ms = options->grpc_keepalive_time_ms,
        .keepalive_timeout_ms = options->grpc_keepalive_timeout_ms,
        .ping_interval_min_ms = options->grpc_ping_interval_min_ms,
        .pings_without_calls = options->grpc_pings_without_calls,
        .tls = server_tls_slot(&server->tls),
        .refused = server_tls_refused_grpc,
        .refused_argument = &server->tls,
    };
}

static enum err open_grpc(struct server *server, struct error *error) {
    struct debuginfo_service_config debuginfo = {
        .ingest = server->ingest,
        .pool = server->uploads,
        .asks = server->asks,
        .writers = server->writers,
        .log = server->log,
        .metrics = server->metrics,
        .urls = signed_urls(server),
    };
    enum err err = debuginfo_service_new(&debuginfo, &server->debuginfo, error);
    if (err != ERR_OK)
        return err;
    static const char *const names[] = {"parca.debuginfo.v1alpha1.DebuginfoService",
                                        "grpc.health.v1.Health"};
    err = health_service_new(names, ARRAY_SIZE(names), &server->health, error);
    if (err == ERR_OK)
        err = reflection_service_new(names, ARRAY_SIZE(names), &server->reflection, error);
    if (err != ERR_OK)
        return err;
    const struct grpc_service *services[] = {debuginfo_service_grpc(server->debuginfo),
                                             health_service_grpc(server->health),
                                             reflection_service_grpc(server->reflection, 0),
                                             reflection_service_grpc(server->reflection, 1)};
    struct grpc_server_config config = grpc_config(server);
    err = grpc_server_open(&config, services, ARRAY_SIZE(services), &server->grpc, error);
    if (err == ERR_OK)
        err = catalog_watch_new(server->catalog, server->health, server->log,
                                &server->catalog_watch, error);
    if (err == ERR_OK)
        log_listening(server, "grpc", config.address, grpc_server_port(server->grpc));
    return err;
}

enum err server_open(const struct server_options *options, const struct log *log,
                     struct server **ret_server, struct error *error) {
    CLEANUP(cleanup_server) struct server *server = calloc(1, sizeof(*server));
    if (!server)
        return error_set(error, ERR_NO_MEMORY, "no memory for the server");
    server->options = options;
    server->log = log;
    server->directory = -1;
    server->lock = -1;
    enum err err = open_stores(server, error);
    if (err == ERR_OK)
        err = open_ingest(server, error);
    if (err == ERR_OK)
        err = open_threads(server, error);
    if (err == ERR_OK)
        err = open_urls(server, error);
    if (err == ERR_OK)
        err = server_tls_open(options, log, &server->tls, error);
    if (err == ERR_OK)
        err = open_grpc(server, error);
    if (err == ERR_OK)
        err = open_http(server, error);
    if (err != ERR_OK)
        return err;
    log_event(log, LOG_LEVEL_INFO, "ready", log_str("data_dir", options->data_directory));
    *ret_server = TAKE(server);
    return ERR_OK;
}

enum err server_reload(struct server *server, const struct server_options *options,
                       struct error *error) {
    struct index_cache_limits indexes = index_limits(options);
    struct ingest_limits uploads = ingest_limits(options);
    struct worker_config worker = worker_config(options);
    /* What a person may have got wrong comes first, so that nothing is taken of it. */
    enum err err = check_worker(options, error);
    if (err == ERR_OK)
        err = server_tls_reload(&server->tls, error);
    if (err == ERR_OK)
        err = workers_configure(server->workers, &worker, error);
    if (err == ERR_OK)
        err = build_queue_set_worker_count(server->builds, options->worker_count, error);
    if (err != ERR_OK)
        return err;
    index_cache_limit(server->indexes, &indexes);
    ingest_limit(server->ingest, &uploads);
    blob_compactor_set_age(server->compactor, compress_age_ms(options));
    server->api.access_log = options->http_access_log;
    return ERR_OK;
}

void server_stop(struct server *server, int64_t grace_ms) {
    /* Who waits for a build is answered now, so that its request can end. */
    if (server->waiter)
        build_waiter_stop(server->waiter);
    if (server->health)
        health_service_stop(server->health);
    /* Both wait for what is under way, at the same time. */
    if (server->grpc)
        grpc_server_begin_stop(server->grpc, grace_ms);
    if (server->http)
        http_server_stop(server->http, grace_ms);
    if (server->grpc)
        grpc_server_stop(server->grpc, grace_ms);
}

void server_free(struct server *server) {
    if (!server)
        return;
    server_stop(server, 0);
    http_server_free(server->http);
    grpc_server_free(server->grpc);
    build_waiter_free(server->waiter);
    task_pool_free(server->queries);
    task_pool_free(server->asks);
    task_pool_free(server->writers);
    task_pool_free(server->uploads);
    reflection_service_free(server->reflection);
    catalog_watch_free(server->catalog_watch);
    health_service_free(server->health);
    server_tls_close(&server->tls);
    debuginfo_service_free(server->debuginfo);
    metrics_free(server->metrics);
    missing_ids_free(server->missing);
    blob_compactor_free(server->compactor);
    orphan_sweeper_free(server->sweeper);
    ingest_free(server->ingest);
    build_queue_free(server->builds);
    workers_free(server->workers);
    index_cache_free(server->indexes);
    blob_store_free(server->blobs);
    catalog_free(server->catalog);
    fd_close(server->directory);
    fd_close(server->lock);
    free(server);
}
