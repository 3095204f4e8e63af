/*
 * Waits for builds without holding a thread each: one thread looks into the catalog for all who
 * wait, some times a second while somebody does. Bounded: when the places are taken, a request is
 * answered as things stand.
 *
 * Threads: any.
 */
#pragma once

#include "base/clock.h"
#include "base/hash.h"
#include "cache/catalog.h"
#include "cache/catalog_builds.h"

struct build_waiter;

/* Called once per accepted wait, on the waiter's thread: it must not block. */
typedef void build_waiter_function(void *argument);

/* Borrows the catalog. */
enum err build_waiter_new(struct catalog *catalog, size_t wait_max,
                          struct build_waiter **ret_waiter, struct error *error);

/* Ends all waits, as if their time were up, then the thread. Later waits are refused. */
void build_waiter_stop(struct build_waiter *waiter);
void build_waiter_free(struct build_waiter *waiter);
DEFINE_CLEANUP(build_waiter, struct build_waiter, build_waiter_free)

/* Calls `done` when the build of this key is neither queued nor running, or at the deadline
 * (clock_mono_ms). ERR_EXHAUSTED: no place; ERR_CANCELLED: stopped. The tenant is borrowed. */
enum err build_waiter_add(struct build_waiter *waiter, const char *tenant, const struct digest *key,
                          int64_t deadline_mono_ms, build_waiter_function *done, void *argument,
                          struct error *error);
