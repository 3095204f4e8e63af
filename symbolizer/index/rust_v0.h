/*
 * What printing a Rust v0 name (rustc book, "v0 Symbol Format") would cost, found by walking its
 * grammar without printing. libiberty's printer has no bound of its own: a back reference repeats
 * what it refers to, so that sizes double with each, and the count of a binder's lifetimes is a
 * 64-bit number that it counts up to even where it prints nothing.
 */
#pragma once

#include <stdbool.h>

#include "base/span.h"

/* `name` is without "_R" and without a clone suffix. False when it is not well-formed, nested too
 * deeply or too costly to print. */
bool rust_v0_is_affordable(struct span name);
