/*
 * Maps of files that others may cut short. Reading a page that the file no longer has, or that the
 * disk cannot give, is a SIGBUS, which ends the process. With the guard installed the rest of a
 * guarded map from that page on reads as zeros instead, and the map is marked: its reader, who must
 * bear any bytes, looks afterwards whether what it has read was real.
 *
 *     guard = map_guard_add(bytes);
 *     read the bytes
 *     if (map_guard_was_hit(guard)) …
 *     map_guard_remove(guard); munmap
 *
 * The last page of a file that ends within it reads as zeros without a signal: who needs to know
 * compares the file's size too. A SIGBUS anywhere else ends the process as it would have.
 *
 * Threads: any.
 */
#pragma once

#include <stdbool.h>

#include "base/error.h"
#include "base/span.h"

struct map_guard;

/* For the process, by its main; before that, guards are never hit. */
enum err map_guard_install(struct error *error);

/* The bytes begin with a page, as a map does, and stay mapped until the guard is removed.
 * NULL when out of memory. */
struct map_guard *map_guard_add(struct span bytes);
bool map_guard_was_hit(const struct map_guard *guard);
void map_guard_remove(struct map_guard *guard);
