#include "api/settings_reload.h"

#include "base/log.h"

static void log_change(const struct log *log, const struct setting *setting,
                       const struct settings *wanted) {
    struct buffer value = {0};
    setting_format(setting, &wanted->options, &value);
    log_event(log, LOG_LEVEL_WARN, "setting_changed", log_str("setting", setting->key),
              log_span("value", buffer_span(&value)),
              log_str("effect", setting->reloads ? "now" : "after_restart"));
    buffer_clear(&value);
}

/* A setting that needs a restart stays as it runs, so that it is named by each reload until then.
 */
static void note_changes(struct settings_reload *reload, const struct settings *wanted) {
    int64_t changed = 0;
    int64_t waiting = 0;
    for (size_t i = 0; i < settings_count(); i++) {
        const struct setting *setting = settings_at(i);
        if (setting_equal(setting, &wanted->options, &reload->running.options))
            continue;
        log_change(reload->log, setting, wanted);
        changed += setting->reloads;
        waiting += !setting->reloads;
        if (setting->reloads)
            setting_copy(setting, &wanted->options, &reload->running.options);
    }
    log_event(reload->log, LOG_LEVEL_WARN, "reloaded", log_i64("changed", changed),
              log_i64("after_restart", waiting));
}

void settings_reload(struct settings_reload *reload, struct server *server) {
    struct settings wanted;
    enum settings_action action;
    struct error error;
    enum err err =
        settings_load(reload->argument_count, reload->arguments, &wanted, &action, &error);
    if (err == ERR_OK)
        err = server_reload(server, &wanted.options, &error);
    if (err != ERR_OK) {
        log_event(reload->log, LOG_LEVEL_ERROR, "reload_failed", log_str("error", error.text));
        return;
    }
    reload->log->level_min = wanted.options.log_level;
    note_changes(reload, &wanted);
}
