#include "api/catalog_watch.h"

#include "base/periodic.h"

#define INTERVAL_MS 1000

struct catalog_watch {
    struct catalog *catalog;
    struct health_service *health;
    const struct log *log;
    struct periodic *thread;
    struct catalog_health last;
};

static void log_change(const struct catalog_watch *watch, const struct catalog_health *now,
                       const struct error *error) {
    if (now->readable && now->writable)
        log_event(watch->log, LOG_LEVEL_WARN, "catalog_recovered");
    else
        log_event(watch->log, LOG_LEVEL_ERROR, "catalog_trouble",
                  log_i64("readable", now->readable), log_i64("writable", now->writable),
                  log_str("error", error->text));
}

static void look(void *argument, const atomic_bool *stopping) {
    (void)stopping;
    struct catalog_watch *watch = argument;
    struct catalog_health now;
    struct error error;
    catalog_check(watch->catalog, &now, &error);
    if (now.readable != watch->last.readable || now.writable != watch->last.writable)
        log_change(watch, &now, &error);
    health_service_set_serving(watch->health, now.readable && now.writable);
    watch->last = now;
}

enum err catalog_watch_new(struct catalog *catalog, struct health_service *health,
                           const struct log *log, struct catalog_watch **ret_watch,
                           struct error *error) {
    CLEANUP(cleanup_catalog_watch) struct catalog_watch *watch = calloc(1, sizeof(*watch));
    if (!watch)
        return error_set(error, ERR_NO_MEMORY, "no memory to watch the catalog");
    watch->catalog = catalog;
    watch->health = health;
    watch->log = log;
    watch->last = (struct catalog_health){.readable = true, .writable = true};
    enum err err = periodic_new(look, watch, INTERVAL_MS, &watch->thread, error);
    if (err == ERR_OK)
        *ret_watch = TAKE(watch);
    return err;
}

void catalog_watch_free(struct catalog_watch *watch) {
    if (!watch)
        return;
    periodic_free(watch->thread);
    free(watch);
}
