/* The server: flags, signals, and the parts of api/server.h. */
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include "api/server.h"
#include "api/server_tls.h"
#include "api/settings.h"
#include "api/settings_reload.h"
#include "base/clock.h"
#include "base/log.h"
#include "base/map_guard.h"

#ifndef SYMBOLIZER_VERSION
#define SYMBOLIZER_VERSION "0.1.0"
#endif

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

/* Until a signal says that it is enough. */
static int serve(const struct settings *settings, struct settings_reload *reload,
                 const sigset_t *signals) {
    const struct log *log = reload->log;
    struct error error;
    CLEANUP(cleanup_server) struct server *server = NULL;
    if (server_open(&settings->options, log, &server, &error) != ERR_OK) {
        log_event(log, LOG_LEVEL_ERROR, "start_failed", log_str("error", error.text));
        return 1;
    }
    int signal_number = 0;
    while (sigwait(signals, &signal_number) == 0 && signal_number == SIGHUP)
        settings_reload(reload, server);
    log_event(log, LOG_LEVEL_INFO, "stopping", log_str("signal", sigabbrev_np(signal_number)));
    server_stop(server, reload->running.options.shutdown_grace_ms);
    server_free(TAKE(server));
    log_event(log, LOG_LEVEL_INFO, "stopped", log_i64("signal", signal_number));
    return 0;
}

static int run(int argument_count, char **arguments, const struct settings *settings) {
    sigset_t signals = block_signals();
    raise_descriptor_limit();
    struct error error;
    if (map_guard_install(&error) != ERR_OK) {
        fprintf(stderr, "symbolizerd: %s\n", error.text);
        return 1;
    }
    struct log log = {.fd = STDERR_FILENO, .level_min = settings->options.log_level};
    struct settings_reload reload = {
        .argument_count = argument_count,
        .arguments = arguments,
        .log = &log,
        .running = *settings,
    };
    return serve(settings, &reload, &signals);
}

static int check_config(const struct settings *settings) {
    char warning[SERVER_TLS_WARNING_SIZE];
    struct error error;
    if (server_tls_check(&settings->options, clock_wall_ms(), warning, &error) != ERR_OK) {
        fprintf(stderr, "symbolizerd: %s\n", error.text);
        return 2;
    }
    if (warning[0])
        fprintf(stderr, "symbolizerd: warning: tls: %s\n", warning);
    return 0;
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
        return check_config(&settings);
    case SETTINGS_PRINT:
        return print_config(&settings);
    case SETTINGS_RUN:
        break;
    }
    return run(argument_count, arguments, &settings);
}
