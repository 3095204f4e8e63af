/* The server: flags, signals, and the parts of api/server.h. */
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include "api/server.h"
#include "api/settings.h"
#include "base/log.h"

#ifndef SYMBOLIZER_VERSION
#define SYMBOLIZER_VERSION "0.1.0"
#endif

#define STOP_GRACE_MS 10000

/* Connections, maps and workers all take descriptors; the soft limit is often 1024. */
static void raise_descriptor_limit(void) {
    struct rlimit limit;
    if (getrlimit(RLIMIT_NOFILE, &limit) != 0)
        return;
    limit.rlim_cur = limit.rlim_max;
    setrlimit(RLIMIT_NOFILE, &limit);
}

/* The threads that come later inherit the mask, so that only sigwait() sees these. */
static sigset_t block_signals(void) {
    sigset_t signals;
    sigemptyset(&signals);
    sigaddset(&signals, SIGTERM);
    sigaddset(&signals, SIGINT);
    sigaddset(&signals, SIGHUP);
    pthread_sigmask(SIG_BLOCK, &signals, NULL);
    signal(SIGPIPE, SIG_IGN);
    return signals;
}

struct daemon {
    int argument_count;
    char **arguments;
    struct log log;
    struct server *server;
    struct settings started; /* the server borrows its options: they stay as they are */
    struct settings running; /* the same, with what was reloaded */
};

static void log_reload_failure(const struct daemon *daemon, const struct error *error) {
    log_event(&daemon->log, LOG_LEVEL_ERROR, "reload_failed", log_str("error", error->text));
}

static void log_change(const struct daemon *daemon, const struct setting *setting,
                       const struct settings *settings) {
    struct buffer value = {0};
    setting_format(setting, &settings->options, &value);
    log_event(&daemon->log, LOG_LEVEL_WARN, "setting_changed", log_str("setting", setting->key),
              log_span("value", buffer_span(&value)),
              log_str("effect", setting->reloads ? "now" : "after_restart"));
    buffer_clear(&value);
}

/* Reads everything anew; what is broken leaves all as it is. */
static void reload(struct daemon *daemon) {
    struct settings wanted;
    enum settings_action action;
    struct error error;
    if (settings_load(daemon->argument_count, daemon->arguments, &wanted, &action, &error) !=
            ERR_OK ||
        server_reload(daemon->server, &wanted.options, &error) != ERR_OK) {
        log_reload_failure(daemon, &error);
        return;
    }
    daemon->log.level_min = wanted.options.log_level;
    int64_t changed = 0;
    int64_t waiting = 0;
    for (size_t i = 0; i < settings_count(); i++) {
        const struct setting *setting = settings_at(i);
        if (setting_equal(setting, &wanted.options, &daemon->running.options))
            continue;
        log_change(daemon, setting, &wanted);
        changed += setting->reloads;
        waiting += !setting->reloads;
        if (setting->reloads)
            setting_copy(setting, &wanted.options, &daemon->running.options);
    }
    log_event(&daemon->log, LOG_LEVEL_WARN, "reloaded", log_i64("changed", changed),
              log_i64("after_restart", waiting));
}

static int serve(struct daemon *daemon, const sigset_t *signals) {
    struct error error;
    CLEANUP(cleanup_server) struct server *server = NULL;
    if (server_open(&daemon->started.options, &daemon->log, &server, &error) != ERR_OK) {
        log_event(&daemon->log, LOG_LEVEL_ERROR, "start_failed", log_str("error", error.text));
        return 1;
    }
    daemon->server = server;
    int signal_number = 0;
    while (sigwait(signals, &signal_number) == 0 && signal_number == SIGHUP)
        reload(daemon);
    log_event(&daemon->log, LOG_LEVEL_INFO, "stopping",
              log_str("signal", sigabbrev_np(signal_number)));
    server_stop(server, STOP_GRACE_MS);
    server_free(TAKE(server));
    log_event(&daemon->log, LOG_LEVEL_INFO, "stopped", log_i64("signal", signal_number));
    return 0;
}

static int run(int argument_count, char **arguments, const struct settings *settings) {
    sigset_t signals = block_signals();
    raise_descriptor_limit();
    struct daemon daemon = {
        .argument_count = argument_count,
        .arguments = arguments,
        .log = {.fd = STDERR_FILENO, .level_min = settings->options.log_level},
        .started = *settings,
        .running = *settings,
    };
    return serve(&daemon, &signals);
}

static int print_config(const struct settings *settings) {
    struct buffer text = {0};
    settings_print(settings, &text);
    bool written = !buffer_failed(&text) && fwrite(text.data, 1, text.size, stdout) == text.size &&
                   fflush(stdout) == 0;
    buffer_clear(&text);
    return written ? 0 : 1;
}

int main(int argument_count, char **arguments) {
    struct settings settings;
    enum settings_action action;
    struct error error;
    if (settings_load(argument_count, arguments, &settings, &action, &error) != ERR_OK) {
        fprintf(stderr, "symbolizerd: %s\n", error.text);
        return 2;
    }
    switch (action) {
    case SETTINGS_SHOW_HELP:
        settings_help(stdout);
        return 0;
    case SETTINGS_SHOW_VERSION:
        printf("symbolizerd %s\n", SYMBOLIZER_VERSION);
        return 0;
    case SETTINGS_CHECK:
        return 0;
    case SETTINGS_PRINT:
        return print_config(&settings);
    case SETTINGS_RUN:
        break;
    }
    return run(argument_count, arguments, &settings);
}
