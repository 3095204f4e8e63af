#include "api/server_tls.h"

#include <stdio.h>
#include <string.h>
#include <time.h>

#include "base/clock.h"

#define TIME_TEXT_SIZE 32

static enum err load(const struct server_options *options, struct tls_credentials **ret_credentials,
                     struct error *error) {
    const struct tls_files files = {.certificate = options->tls_certificate,
                                    .key = options->tls_key,
                                    .authorities = options->tls_client_ca};
    enum err err = tls_credentials_load_server(&files, ret_credentials, error);
    return err == ERR_OK ? ERR_OK : error_prefix(error, "tls");
}

static void format_time(int64_t seconds, char ret_text[static TIME_TEXT_SIZE]) {
    time_t time = (time_t)seconds;
    struct tm parts;
    if (!gmtime_r(&time, &parts) ||
        strftime(ret_text, TIME_TEXT_SIZE, "%Y-%m-%dT%H:%M:%SZ", &parts) == 0)
        ret_text[0] = '\0';
}

/* "" when there is nothing to say. */
static void warn(const struct server_options *options, const struct tls_credentials *credentials,
                 int64_t now_ms, char ret_warning[static SERVER_TLS_WARNING_SIZE]) {
    int64_t begin = tls_credentials_not_before(credentials);
    int64_t end = tls_credentials_not_after(credentials);
    bool is_over = now_ms / 1000 > end;
    char time[TIME_TEXT_SIZE];
    ret_warning[0] = '\0';
    if (!is_over && now_ms / 1000 >= begin)
        return;
    format_time(is_over ? end : begin, time);
    snprintf(ret_warning, SERVER_TLS_WARNING_SIZE, "%s %s %s", options->tls_certificate,
             is_over ? "has expired on" : "is not valid before", time);
}

static void log_loaded(const struct server_tls *tls, const struct tls_credentials *credentials) {
    char warning[SERVER_TLS_WARNING_SIZE];
    char end[TIME_TEXT_SIZE];
    format_time(tls_credentials_not_after(credentials), end);
    log_event(
        tls->log, LOG_LEVEL_INFO, "tls_loaded",
        log_str("certificate", tls->options->tls_certificate), log_str("not_after", end),
        log_str("clients", tls_credentials_check_peer(credentials) ? "with_certificate" : "any"));
    warn(tls->options, credentials, clock_wall_ms(), warning);
    if (warning[0])
        log_event(tls->log, LOG_LEVEL_WARN, "tls_warning", log_str("warning", warning));
}

enum err server_tls_open(const struct server_options *options, const struct log *log,
                         struct server_tls *tls, struct error *error) {
    struct tls_credentials *credentials = NULL;
    tls->options = options;
    tls->log = log;
    if (!options->tls_certificate[0])
        return ERR_OK;
    enum err err = load(options, &credentials, error);
    if (err != ERR_OK)
        return err;
    log_loaded(tls, credentials);
    tls_slot_init(&tls->slot, credentials);
    tls->is_on = true;
    return ERR_OK;
}

void server_tls_close(struct server_tls *tls) {
    if (tls->is_on)
        tls_slot_clear(&tls->slot);
    tls->is_on = false;
}

enum err server_tls_reload(struct server_tls *tls, struct error *error) {
    struct tls_credentials *credentials = NULL;
    if (!tls->is_on)
        return ERR_OK;
    enum err err = load(tls->options, &credentials, error);
    if (err != ERR_OK)
        return err;
    log_loaded(tls, credentials);
    tls_slot_set(&tls->slot, credentials);
    return ERR_OK;
}

struct tls_slot *server_tls_slot(struct server_tls *tls) {
    return tls->is_on ? &tls->slot : NULL;
}

void server_tls_stats_read(struct server_tls *tls, struct server_tls_stats *ret_stats) {
    struct server_tls_stats stats = {.is_on = tls->is_on};
    if (tls->is_on) {
        CLEANUP(cleanup_tls_credentials)
        struct tls_credentials *credentials = tls_slot_get(&tls->slot);
        stats.not_after = tls_credentials_not_after(credentials);
    }
    for (int i = 0; i < SERVER_TLS_LISTENER_COUNT; i++)
        stats.refused[i] = atomic_load_explicit(&tls->refused[i], memory_order_relaxed);
    *ret_stats = stats;
}

static void note_refused(struct server_tls *tls, enum server_tls_listener listener,
                         const char *peer, const char *reason) {
    static const char *const names[] = {[SERVER_TLS_GRPC] = "grpc", [SERVER_TLS_HTTP] = "http"};
    if (reason)
        atomic_fetch_add_explicit(&tls->refused[listener], 1, memory_order_relaxed);
    log_event(tls->log, reason ? LOG_LEVEL_INFO : LOG_LEVEL_DEBUG, "tls_refused",
              log_str("protocol", names[listener]), log_str("peer", peer),
              log_str("reason", reason ? reason : "no whole TLS handshake"));
}

void server_tls_refused_grpc(void *argument, const char *peer, const char *reason) {
    note_refused(argument, SERVER_TLS_GRPC, peer, reason);
}

void server_tls_refused_http(void *argument, const char *peer, const char *reason) {
    note_refused(argument, SERVER_TLS_HTTP, peer, reason);
}

enum err server_tls_check(const struct server_options *options, int64_t now_ms,
                          char ret_warning[static SERVER_TLS_WARNING_SIZE], struct error *error) {
    CLEANUP(cleanup_tls_credentials) struct tls_credentials *credentials = NULL;
    ret_warning[0] = '\0';
    if (!options->tls_certificate[0])
        return ERR_OK;
    enum err err = load(options, &credentials, error);
    if (err == ERR_OK)
        warn(options, credentials, now_ms, ret_warning);
    return err;
}
