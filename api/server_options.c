#include "api/server_options.h"

#include <arpa/inet.h>
#include <getopt.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"

#define SYSTEM_DATA_DIRECTORY "/var/lib/symbolizer"
#define HTTP_LISTEN "127.0.0.1:7080"
#define GRPC_LISTEN "127.0.0.1:7070"
#define WORKER_NAME "symbolizer-worker"
#define UPLOAD_SIZE_MAX ((uint64_t)4 << 30)
#define INDEX_DISK_SIZE_MAX ((uint64_t)20 << 30)
#define WORKER_COUNT_MAX 256
#define WORKER_DEADLINE_S 600
#define WORKER_DEADLINE_MAX_S 86400
#define WORKER_MEMORY_MAX ((uint64_t)4 << 30)

enum flag {
    FLAG_DATA_DIR = 256,
    FLAG_HTTP_LISTEN,
    FLAG_GRPC_LISTEN,
    FLAG_WORKER,
    FLAG_MAX_UPLOAD_SIZE,
    FLAG_INDEX_CACHE_SIZE,
    FLAG_WORKERS,
    FLAG_WORKER_DEADLINE,
    FLAG_WORKER_MEMORY,
    FLAG_LOG_LEVEL,
    FLAG_ALLOW_REMOTE,
    FLAG_VERSION,
    FLAG_HELP,
};

static const struct option flags[] = {
    {"data-dir", required_argument, NULL, FLAG_DATA_DIR},
    {"http-listen", required_argument, NULL, FLAG_HTTP_LISTEN},
    {"grpc-listen", required_argument, NULL, FLAG_GRPC_LISTEN},
    {"worker", required_argument, NULL, FLAG_WORKER},
    {"max-upload-size", required_argument, NULL, FLAG_MAX_UPLOAD_SIZE},
    {"index-cache-size", required_argument, NULL, FLAG_INDEX_CACHE_SIZE},
    {"workers", required_argument, NULL, FLAG_WORKERS},
    {"worker-deadline", required_argument, NULL, FLAG_WORKER_DEADLINE},
    {"worker-memory", required_argument, NULL, FLAG_WORKER_MEMORY},
    {"log-level", required_argument, NULL, FLAG_LOG_LEVEL},
    {"allow-remote", no_argument, NULL, FLAG_ALLOW_REMOTE},
    {"version", no_argument, NULL, FLAG_VERSION},
    {"help", no_argument, NULL, FLAG_HELP},
    {NULL, 0, NULL, 0},
};

void server_options_help(FILE *out) {
    fputs("Usage: symbolizerd [OPTION]...\n"
          "\n"
          "Keeps uploaded binaries and answers what is at an address of them.\n"
          "\n"
          "  --data-dir DIR           where everything is kept; made when missing\n"
          "                           (default: " SYSTEM_DATA_DIRECTORY " for root, else\n"
          "                           $XDG_STATE_HOME/symbolizer or ~/.local/state/symbolizer)\n"
          "  --http-listen ADDR:PORT  HTTP API, /metrics, /healthz (default: " HTTP_LISTEN ")\n"
          "  --grpc-listen ADDR:PORT  uploads by agents over gRPC (default: " GRPC_LISTEN ")\n"
          "                           A numeric address, IPv6 in brackets; port 0 takes a free\n"
          "                           one, which the log names.\n"
          "  --allow-remote           lets the two listen on addresses that other machines can\n"
          "                           reach (default: refused, since nothing is authenticated)\n"
          "  --worker PATH            the program that parses uploads\n"
          "                           (default: " WORKER_NAME " beside symbolizerd)\n"
          "  --workers N              how many run at once, 1 to 256\n"
          "                           (default: the number of CPUs, at most 4)\n"
          "  --worker-deadline SEC    kills one that takes longer, 1 to 86400 (default: 600)\n"
          "  --worker-memory SIZE     that one may take (default: 4GiB)\n"
          "  --max-upload-size SIZE   of one upload (default: 4GiB)\n"
          "  --index-cache-size SIZE  of all index files; the least recently used are removed\n"
          "                           and built again when asked for (default: 20GiB)\n"
          "                           A SIZE is in bytes, or has a suffix KiB, MiB or GiB.\n"
          "  --log-level LEVEL        debug, info, warn or error; to stderr, as logfmt\n"
          "                           (default: info)\n"
          "  --version                print the version and exit\n"
          "  --help                   print this and exit\n",
          out);
}

enum err server_endpoint_parse(const char *text, struct server_endpoint *ret_endpoint,
                               struct error *error) {
    struct server_endpoint endpoint = {.port = 0};
    const char *colon = strrchr(text, ':');
    size_t size = colon ? (size_t)(colon - text) : 0;
    bool bracketed = size >= 2 && text[0] == '[' && text[size - 1] == ']';
    const char *address = bracketed ? text + 1 : text;
    size -= bracketed ? 2 : 0;
    unsigned char parsed[sizeof(struct in6_addr)];
    char *end = NULL;
    unsigned long port = colon ? strtoul(colon + 1, &end, 10) : 0;
    bool good = colon && size < sizeof(endpoint.address) && colon[1] >= '0' && colon[1] <= '9' &&
                *end == '\0' && port <= UINT16_MAX;
    if (good) {
        memcpy(endpoint.address, address, size);
        endpoint.port = (uint16_t)port;
        good = inet_pton(bracketed ? AF_INET6 : AF_INET, endpoint.address, parsed) == 1;
    }
    if (!good)
        return error_set(error, ERR_INVALID,
                         "\"%s\" is no listen address; want 127.0.0.1:7080 or [::1]:7080", text);
    *ret_endpoint = endpoint;
    return ERR_OK;
}

bool server_endpoint_is_loopback(const struct server_endpoint *endpoint) {
    struct in_addr v4;
    struct in6_addr v6;
    if (inet_pton(AF_INET, endpoint->address, &v4) == 1)
        return ntohl(v4.s_addr) >> 24 == 127;
    return inet_pton(AF_INET6, endpoint->address, &v6) == 1 && IN6_IS_ADDR_LOOPBACK(&v6);
}

static enum err parse_size(const char *flag, const char *text, uint64_t *ret_size,
                           struct error *error) {
    static const struct {
        const char *suffix;
        unsigned shift;
    } units[] = {{"", 0}, {"KiB", 10}, {"MiB", 20}, {"GiB", 30}};
    char *end = NULL;
    unsigned long long number = text[0] >= '0' && text[0] <= '9' ? strtoull(text, &end, 10) : 0;
    for (size_t i = 0; end && i < ARRAY_SIZE(units); i++) {
        if (strcmp(end, units[i].suffix) != 0 || number == 0 ||
            number > (uint64_t)INT64_MAX >> units[i].shift)
            continue;
        *ret_size = (uint64_t)number << units[i].shift;
        return ERR_OK;
    }
    return error_set(error, ERR_INVALID, "--%s: \"%s\" is no size; want one such as 512MiB", flag,
                     text);
}

static enum err parse_count(const char *flag, const char *text, unsigned count_max,
                            unsigned *ret_count, struct error *error) {
    char *end = NULL;
    unsigned long count = text[0] >= '0' && text[0] <= '9' ? strtoul(text, &end, 10) : 0;
    if (!end || *end || count < 1 || count > count_max)
        return error_set(error, ERR_INVALID, "--%s: want a number from 1 to %u", flag, count_max);
    *ret_count = (unsigned)count;
    return ERR_OK;
}

static enum err parse_deadline(const char *text, int64_t *ret_deadline_ms, struct error *error) {
    unsigned seconds = 0;
    enum err err = parse_count("worker-deadline", text, WORKER_DEADLINE_MAX_S, &seconds, error);
    if (err == ERR_OK)
        *ret_deadline_ms = (int64_t)seconds * 1000;
    return err;
}

static enum err parse_level(const char *text, enum log_level *ret_level, struct error *error) {
    static const char *const names[] = {"debug", "info", "warn", "error"};
    for (size_t i = 0; i < ARRAY_SIZE(names); i++) {
        if (strcmp(text, names[i]) == 0) {
            *ret_level = (enum log_level)i;
            return ERR_OK;
        }
    }
    return error_set(error, ERR_INVALID, "--log-level: want debug, info, warn or error");
}

static enum err copy_path(const char *flag, const char *path, char ret_path[static SERVER_PATH_MAX],
                          struct error *error) {
    if (path[0] == '\0' || strlen(path) >= SERVER_PATH_MAX)
        return error_set(error, ERR_INVALID, "--%s: want a path of 1 to %d bytes", flag,
                         SERVER_PATH_MAX - 1);
    memcpy(ret_path, path, strlen(path) + 1);
    return ERR_OK;
}

static enum err parse_flag(int flag, const char *value, struct server_options *options,
                           struct error *error) {
    switch (flag) {
    case FLAG_DATA_DIR:
        return copy_path("data-dir", value, options->data_directory, error);
    case FLAG_HTTP_LISTEN:
        return server_endpoint_parse(value, &options->http, error);
    case FLAG_GRPC_LISTEN:
        return server_endpoint_parse(value, &options->grpc, error);
    case FLAG_WORKER:
        return copy_path("worker", value, options->worker, error);
    case FLAG_MAX_UPLOAD_SIZE:
        return parse_size("max-upload-size", value, &options->upload_size_max, error);
    case FLAG_INDEX_CACHE_SIZE:
        return parse_size("index-cache-size", value, &options->index_disk_size_max, error);
    case FLAG_WORKERS:
        return parse_count("workers", value, WORKER_COUNT_MAX, &options->worker_count, error);
    case FLAG_WORKER_DEADLINE:
        return parse_deadline(value, &options->worker_deadline_ms, error);
    case FLAG_WORKER_MEMORY:
        return parse_size("worker-memory", value, &options->worker_memory_max, error);
    case FLAG_LOG_LEVEL:
        return parse_level(value, &options->log_level, error);
    default:
        return error_set(error, ERR_INVALID, "see symbolizerd --help");
    }
}

/* symbolizer-worker in the folder of the running program. */
static enum err default_worker(char ret_path[static SERVER_PATH_MAX], struct error *error) {
    char program[SERVER_PATH_MAX];
    ssize_t size = readlink("/proc/self/exe", program, sizeof(program) - 1);
    if (size < 0)
        return error_set(error, ERR_INVALID, "cannot tell where symbolizerd lies: give --worker");
    program[size] = '\0';
    char *slash = strrchr(program, '/');
    if (slash)
        slash[1] = '\0';
    if (snprintf(ret_path, SERVER_PATH_MAX, "%s%s", program, WORKER_NAME) >= SERVER_PATH_MAX)
        return error_set(error, ERR_INVALID, "the path of symbolizerd is too long: give --worker");
    return ERR_OK;
}

static enum err default_data_directory(char ret_path[static SERVER_PATH_MAX], struct error *error) {
    const char *state = getenv("XDG_STATE_HOME");
    const char *home = getenv("HOME");
    int size = 0;
    if (geteuid() == 0)
        size = snprintf(ret_path, SERVER_PATH_MAX, "%s", SYSTEM_DATA_DIRECTORY);
    else if (state && state[0] == '/')
        size = snprintf(ret_path, SERVER_PATH_MAX, "%s/symbolizer", state);
    else if (home && home[0] == '/')
        size = snprintf(ret_path, SERVER_PATH_MAX, "%s/.local/state/symbolizer", home);
    if (size <= 0 || size >= SERVER_PATH_MAX)
        return error_set(error, ERR_INVALID, "no home directory to keep data in: give --data-dir");
    return ERR_OK;
}

static enum err check_reach(const struct server_options *options, bool allow_remote,
                            struct error *error) {
    bool local = server_endpoint_is_loopback(&options->http) &&
                 server_endpoint_is_loopback(&options->grpc);
    if (local || allow_remote)
        return ERR_OK;
    return error_set(error, ERR_INVALID,
                     "others can reach that listen address, and nothing is authenticated: anyone "
                     "could upload and read symbols; give --allow-remote if that is meant");
}

enum err server_options_parse(int argument_count, char **arguments,
                              struct server_options *ret_options, enum server_action *ret_action,
                              struct error *error) {
    struct server_options options = {
        .upload_size_max = UPLOAD_SIZE_MAX,
        .index_disk_size_max = INDEX_DISK_SIZE_MAX,
        .worker_deadline_ms = (int64_t)WORKER_DEADLINE_S * 1000,
        .worker_memory_max = WORKER_MEMORY_MAX,
        .log_level = LOG_LEVEL_INFO,
    };
    bool allow_remote = false;
    *ret_action = SERVER_RUN;
    enum err err = server_endpoint_parse(HTTP_LISTEN, &options.http, error);
    if (err == ERR_OK)
        err = server_endpoint_parse(GRPC_LISTEN, &options.grpc, error);
    optind = 0;
    for (int flag;
         err == ERR_OK && (flag = getopt_long(argument_count, arguments, "", flags, NULL)) != -1;) {
        if (flag == FLAG_HELP || flag == FLAG_VERSION) {
            *ret_action = flag == FLAG_HELP ? SERVER_SHOW_HELP : SERVER_SHOW_VERSION;
            return ERR_OK;
        }
        allow_remote |= flag == FLAG_ALLOW_REMOTE;
        if (flag != FLAG_ALLOW_REMOTE)
            err = parse_flag(flag, optarg, &options, error);
    }
    if (err == ERR_OK && optind < argument_count)
        err = error_set(error, ERR_INVALID, "unexpected argument \"%s\"", arguments[optind]);
    if (err == ERR_OK && !options.data_directory[0])
        err = default_data_directory(options.data_directory, error);
    if (err == ERR_OK && !options.worker[0])
        err = default_worker(options.worker, error);
    if (err == ERR_OK)
        err = check_reach(&options, allow_remote, error);
    if (err == ERR_OK)
        *ret_options = options;
    return err;
}
