#include "api/settings.h"

#include <assert.h>
#include <string.h>

#include "base/cleanup.h"

#define MIB ((uint64_t)1 << 20)
#define TIB ((uint64_t)1 << 40)
#define SECOND_MS UINT64_C(1000)
#define DAY_MS (86400 * SECOND_MS)

static const char *const strategies[] = {"grpc", "signed_url", NULL};
static const char *const levels[] = {"debug", "info", "warn", "error", NULL};

#define AT(field) .offset = offsetof(struct server_options, field)

/* Rows of one section stand together: the file is printed in this order. */
static const struct setting table[] = {
    {.key = "data_dir",
     .flag = "data-dir",
     .type = SETTING_PATH,
     AT(data_directory),
     .value_name = "DIR",
     .words = "where everything is kept; made when missing",
     .fallback_words = "/var/lib/symbolizer for root, else $XDG_STATE_HOME/symbolizer or "
                       "~/.local/state/symbolizer"},
    {.key = "allow_remote",
     .flag = "allow-remote",
     .type = SETTING_BOOL,
     AT(allow_remote),
     .fallback = "false",
     .words = "lets the listeners use addresses that other machines can reach, although nothing "
              "is authenticated; not needed with tls.client_ca"},
    {.key = "shutdown_grace",
     .flag = "shutdown-grace",
     .type = SETTING_DURATION,
     AT(shutdown_grace_ms),
     .fallback = "10s",
     .min = 0,
     .max = 3600 * SECOND_MS,
     .reloads = true,
     .words = "how long requests and uploads that are under way may go on after SIGTERM"},
    {.key = "listen.http",
     .flag = "http-listen",
     .type = SETTING_ENDPOINT,
     AT(http),
     .fallback = "127.0.0.1:7080",
     .value_name = "ADDR:PORT",
     .words = "HTTP API, /metrics, /healthz: a numeric address, IPv6 in brackets; port 0 takes a "
              "free one, which the log names"},
    {.key = "listen.grpc",
     .flag = "grpc-listen",
     .type = SETTING_ENDPOINT,
     AT(grpc),
     .fallback = "127.0.0.1:7070",
     .value_name = "ADDR:PORT",
     .words = "uploads by agents over gRPC"},
    {.key = "tls.certificate",
     .flag = "tls-certificate",
     .type = SETTING_PATH,
     AT(tls_certificate),
     .value_name = "FILE",
     .fallback_words = "no TLS",
     .words = "certificate chain of both listeners, PEM; SIGHUP reads the file again"},
    {.key = "tls.key",
     .flag = "tls-key",
     .type = SETTING_PATH,
     AT(tls_key),
     .value_name = "FILE",
     .fallback_words = "no TLS",
     .words = "private key of the certificate, PEM, without a password; read again likewise"},
    {.key = "tls.client_ca",
     .flag = "tls-client-ca",
     .type = SETTING_PATH,
     AT(tls_client_ca),
     .value_name = "FILE",
     .fallback_words = "clients need no certificate",
     .words = "clients must show a certificate that one of these authorities signed, PEM; read "
              "again likewise"},
    {.key = "grpc.keepalive_time",
     .flag = "grpc-keepalive-time",
     .type = SETTING_DURATION,
     AT(grpc_keepalive_time_ms),
     .fallback = "2h",
     .min = SECOND_MS,
     .max = 365 * DAY_MS,
     .words = "a client that was silent for so long is pinged"},
    {.key = "grpc.keepalive_timeout",
     .flag = "grpc-keepalive-timeout",
     .type = SETTING_DURATION,
     AT(grpc_keepalive_timeout_ms),
     .fallback = "20s",
     .min = SECOND_MS,
     .max = 365 * DAY_MS,
     .words = "a client that does not answer the ping is given up with its calls"},
    {.key = "grpc.min_ping_interval",
     .flag = "grpc-min-ping-interval",
     .type = SETTING_DURATION,
     AT(grpc_ping_interval_min_ms),
     .fallback = "5m",
     .min = SECOND_MS,
     .max = 365 * DAY_MS,
     .words =
         "of a client's own pings; three too early, and its connection ends with too_many_pings"},
    {.key = "grpc.pings_without_calls",
     .flag = "grpc-pings-without-calls",
     .type = SETTING_BOOL,
     AT(grpc_pings_without_calls),
     .fallback = "false",
     .words = "clients may ping so often also while they have no call open; else every 2 hours"},
    {.key = "grpc.max_connection_idle",
     .flag = "grpc-max-connection-idle",
     .type = SETTING_DURATION,
     AT(grpc_connection_idle_ms),
     .fallback = "30m",
     .min = SECOND_MS,
     .max = 365 * DAY_MS,
     .words = "a connection without a call is ended by GOAWAY"},
    {.key = "grpc.max_connection_age",
     .flag = "grpc-max-connection-age",
     .type = SETTING_DURATION,
     AT(grpc_connection_age_ms),
     .fallback = "0",
     .min = 0,
     .max = 365 * DAY_MS,
     .words = "an older connection, give or take a tenth, takes no new calls, so that its client "
              "connects anew and may reach another server; 0: any age"},
    {.key = "http.cors_allowed_origins",
     .flag = "http-cors-allowed-origins",
     .type = SETTING_LIST,
     AT(http_cors_allowed_origins),
     .value_name = "ORIGIN,...",
     .fallback_words = "none",
     .words = "web pages of these origins may use the HTTP API"},
    {.key = "http.cors_allowed_methods",
     .flag = "http-cors-allowed-methods",
     .type = SETTING_LIST,
     AT(http_cors_allowed_methods),
     .value_name = "METHOD,...",
     .fallback = "GET,POST",
     .words = "what they may send, of GET, POST, PUT (to upload) and DELETE; HEAD goes with GET"},
    {.key = "http.access_log",
     .flag = "http-access-log",
     .type = SETTING_BOOL,
     AT(http_access_log),
     .fallback = "false",
     .reloads = true,
     .words = "logs each HTTP request at level info; otherwise at level debug, or warn when it "
              "fails by our "
              "fault"},
    {.key = "uploads.strategy",
     .flag = "upload-strategy",
     .type = SETTING_CHOICE,
     AT(upload_strategy),
     .fallback = "grpc",
     .choices = strategies,
     .value_name = "WAY",
     .words = "how agents are told to send their bytes"},
    {.key = "uploads.public_url",
     .flag = "upload-public-url",
     .type = SETTING_URL,
     AT(upload_public_url),
     .value_name = "URL",
     .fallback_words = "none",
     .words = "where agents reach the HTTP listener: the start of signed URLs"},
    {.key = "uploads.signed_url_expiry",
     .flag = "signed-url-expiry",
     .type = SETTING_DURATION,
     AT(signed_url_expiry_ms),
     .fallback = "15m",
     .min = SECOND_MS,
     .max = DAY_MS,
     .words = "how long a signed URL may be used"},
    {.key = "uploads.stale_after",
     .flag = "upload-stale-after",
     .type = SETTING_DURATION,
     AT(upload_stale_ms),
     .fallback = "17m",
     .min = SECOND_MS,
     .max = DAY_MS,
     .reloads = true,
     .words = "age at which an unfinished upload may be begun anew"},
    {.key = "uploads.max_size",
     .flag = "max-upload-size",
     .type = SETTING_SIZE,
     AT(upload_size_max),
     .fallback = "4GiB",
     .min = 1,
     .max = TIB,
     .reloads = true,
     .words = "of one upload"},
    {.key = "uploads.max_streams",
     .flag = "max-upload-streams",
     .type = SETTING_COUNT,
     AT(upload_stream_max),
     .fallback = "512",
     .min = 1,
     .max = 65536,
     .reloads = true,
     .words = "uploads that may be sent at once; the next are told to come again"},
    {.key = "blobs.compress_after",
     .flag = "blob-compress-after",
     .type = SETTING_DURATION,
     AT(blob_compress_after_ms),
     .fallback = "10m",
     .min = 0,
     .max = 365 * DAY_MS,
     .reloads = true,
     .words = "age at which a stored file is compressed; 0: never"},
    {.key = "blobs.sweep_after",
     .flag = "blob-sweep-after",
     .type = SETTING_DURATION,
     AT(blob_sweep_after_ms),
     .fallback = "24h",
     .min = 0,
     .max = 365 * DAY_MS,
     .words = "age at which a stored file that the catalog does not name is moved to lost/, from "
              "where it is removed a week later; 0: never"},
    {.key = "indexes.cache_size",
     .flag = "index-cache-size",
     .type = SETTING_SIZE,
     AT(index_disk_size_max),
     .fallback = "20GiB",
     .min = 1,
     .max = 1024 * TIB,
     .reloads = true,
     .words = "of all index files; the least recently used are removed and built again when asked "
              "for"},
    {.key = "indexes.mapped_size",
     .flag = "index-mapped-size",
     .type = SETTING_SIZE,
     AT(index_mapped_size_max),
     .fallback = "4GiB",
     .min = 1,
     .max = 1024 * TIB,
     .reloads = true,
     .words = "of the index files that are mapped at once"},
    {.key = "workers.program",
     .flag = "worker",
     .type = SETTING_PATH,
     AT(worker),
     .value_name = "PATH",
     .fallback_words = "symbolizer-worker beside symbolizerd",
     .reloads = true,
     .words = "the program that parses uploads"},
    {.key = "workers.count",
     .flag = "workers",
     .type = SETTING_COUNT,
     AT(worker_count),
     .min = 1,
     .max = 256,
     .fallback_words = "the number of CPUs, at most 4",
     .reloads = true,
     .words = "how many builds run at once"},
    {.key = "workers.deadline",
     .flag = "worker-deadline",
     .type = SETTING_DURATION,
     AT(worker_deadline_ms),
     .fallback = "10m",
     .min = SECOND_MS,
     .max = DAY_MS,
     .reloads = true,
     .words = "kills a worker that takes longer"},
    {.key = "workers.memory",
     .flag = "worker-memory",
     .type = SETTING_SIZE,
     AT(worker_memory_max),
     .fallback = "4GiB",
     .min = 1,
     .max = 1024 * TIB,
     .reloads = true,
     .words = "that one worker may take"},
    {.key = "workers.threads",
     .flag = "worker-threads",
     .type = SETTING_COUNT,
     AT(worker_thread_count),
     .fallback = "2",
     .min = 1,
     .max = 256,
     .reloads = true,
     .words = "that one build uses; the index is the same for any number"},
    {.key = "log.level",
     .flag = "log-level",
     .type = SETTING_CHOICE,
     AT(log_level),
     .fallback = "info",
     .choices = levels,
     .value_name = "LEVEL",
     .reloads = true,
     .words = "what is written to stderr, as logfmt"},
};

_Static_assert(ARRAY_SIZE(table) <= SETTINGS_MAX, "origins have a place for each setting");

size_t settings_count(void) {
    return ARRAY_SIZE(table);
}

const struct setting *settings_at(size_t position) {
    assert(position < ARRAY_SIZE(table));
    return &table[position];
}

static enum err set_defaults(struct settings *settings, struct error *error) {
    memset(settings, 0, sizeof(*settings));
    enum err err = ERR_OK;
    for (size_t i = 0; err == ERR_OK && i < ARRAY_SIZE(table); i++) {
        if (table[i].fallback)
            err = setting_parse(&table[i], table[i].fallback, &settings->options, error);
        assert(err == ERR_OK);
    }
    return err;
}

enum err settings_load(int argument_count, char **arguments, struct settings *ret_settings,
                       enum settings_action *ret_action, struct error *error) {
    struct settings settings;
    struct settings_command command;
    enum err err = set_defaults(&settings, error);
    if (err == ERR_OK)
        err = settings_flags_read(argument_count, arguments, &settings, &command, error);
    if (err != ERR_OK)
        return err;
    bool asks = command.action == SETTINGS_SHOW_HELP || command.action == SETTINGS_SHOW_VERSION;
    if (!asks && command.file) {
        /* The flags stand over the file, so they are read again after it. */
        err = set_defaults(&settings, error);
        if (err == ERR_OK)
            err = settings_yaml_load(command.file, &settings, error);
        if (err == ERR_OK)
            err = settings_flags_read(argument_count, arguments, &settings, &command, error);
    }
    if (err == ERR_OK && !asks)
        err = server_options_complete(&settings.options, error);
    if (err == ERR_OK && !asks)
        err = server_options_check(&settings.options, error);
    if (err != ERR_OK)
        return err;
    *ret_settings = settings;
    *ret_action = command.action;
    return ERR_OK;
}

/* Levenshtein's distance of two short words, in two rows. */
static size_t distance(const char *a, const char *b) {
    enum { WORD_MAX = 64 };
    size_t a_size = strnlen(a, WORD_MAX);
    size_t b_size = strnlen(b, WORD_MAX);
    size_t rows[2][WORD_MAX + 1];
    for (size_t j = 0; j <= b_size; j++)
        rows[0][j] = j;
    for (size_t i = 1; i <= a_size; i++) {
        size_t *above = rows[(i - 1) % 2];
        size_t *row = rows[i % 2];
        row[0] = i;
        for (size_t j = 1; j <= b_size; j++) {
            size_t swap = above[j - 1] + (a[i - 1] != b[j - 1]);
            size_t gap = 1 + (above[j] < row[j - 1] ? above[j] : row[j - 1]);
            row[j] = swap < gap ? swap : gap;
        }
    }
    return rows[a_size % 2][b_size];
}

const char *settings_nearest(const char *text, const char *const *words, size_t word_count) {
    const char *nearest = NULL;
    size_t best = strlen(text) / 3 + 2;
    for (size_t i = 0; i < word_count; i++) {
        size_t away = distance(text, words[i]);
        if (away < best) {
            best = away;
            nearest = words[i];
        }
    }
    return nearest;
}
