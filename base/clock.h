/* Time: monotonic for durations and deadlines, wall-clock for what is stored and shown. */
#pragma once

#include <stdint.h>

/* Milliseconds since an arbitrary start; never goes back. */
int64_t clock_mono_ms(void);

/* Nanoseconds on the same clock. */
int64_t clock_mono_ns(void);

/* Milliseconds since 1970-01-01 UTC. May jump. */
int64_t clock_wall_ms(void);
