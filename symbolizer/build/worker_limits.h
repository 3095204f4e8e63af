/*
 * What a worker takes away from itself before it reads a byte of input. The parent does the same
 * from outside (ingest/worker.h); a worker started by hand, or by a parent that forgot, is bounded
 * all the same.
 */
#pragma once

#include <stdint.h>

#include "base/error.h"

/*
 * No core files, no file to be opened any more, no new privileges, not to be traced or dumped, gone
 * with its parent; of memory at most memory_max (0: as it is). Limits that are lower already stay.
 * Writing past a file-size limit fails instead of killing. Under sanitizers, which need all that,
 * only the last.
 */
enum err worker_limits_apply(uint64_t memory_max, struct error *error);
