/*
 * What SIGHUP does: reads flags and file anew, gives the server what it takes while it runs, and
 * logs each setting that differs.
 *
 *     event=setting_changed setting=uploads.max_size value=8GiB effect=now
 *     event=setting_changed setting=workers.program value=… effect=after_restart
 *     event=reloaded changed=1 after_restart=1
 *     event=reload_failed error=…            everything stays as it is
 *
 * Threads: one at a time, the one that waits for signals.
 */
#pragma once

#include "api/server.h"
#include "api/settings.h"

struct settings_reload {
    int argument_count; /* of the start, borrowed: they are read again over the file */
    char **arguments;
    struct log *log;         /* its level follows log.level */
    struct settings running; /* those of the start, with what was reloaded since */
};

void settings_reload(struct settings_reload *reload, struct server *server);
