/*
 * Looks every second whether the catalog can be read and written, says so by grpc.health.v1, and
 * logs when that changes:
 *
 *     event=catalog_trouble readable=1 writable=0 error=…
 *     event=catalog_recovered
 */
#pragma once

#include "api/health_service.h"
#include "base/log.h"
#include "cache/catalog.h"

struct catalog_watch;

/* Borrows what it is given, and has a thread of its own. */
enum err catalog_watch_new(struct catalog *catalog, struct health_service *health,
                           const struct log *log, struct catalog_watch **ret_watch,
                           struct error *error);
void catalog_watch_free(struct catalog_watch *watch);
DEFINE_CLEANUP(catalog_watch, struct catalog_watch, catalog_watch_free)
