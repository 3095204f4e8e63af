/*
 * A thread of lowest priority that does a piece of work at once, and then again after each interval
 * or when it is woken.
 */
#pragma once

#include <stdatomic.h>
#include <stdint.h>

#include "base/cleanup.h"
#include "base/error.h"

struct periodic;

/* Returns soon after *stopping became true. */
typedef void periodic_function(void *argument, const atomic_bool *stopping);

enum err periodic_new(periodic_function *function, void *argument, int64_t interval_ms,
                      struct periodic **ret_periodic, struct error *error);

/* Again as soon as it has ended what it is at. Never blocks for long. */
void periodic_wake(struct periodic *periodic);

/* Waits for the work to end. */
void periodic_free(struct periodic *periodic);
DEFINE_CLEANUP(periodic, struct periodic, periodic_free)
