/*
 * When to try again what a server could not do just now: pauses that double from half a second to
 * half a minute, each shortened at random by up to a half, so that the jobs of a build farm do not
 * come back all at once; for a number of times, and not past a deadline.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

struct remote_retry {
    unsigned left;       /* further tries */
    unsigned count;      /* pauses made */
    int64_t deadline_ms; /* clock_mono_ms */
};

/* Before the try after `count` failed ones; `random` is any number. */
int64_t remote_retry_pause_ms(unsigned count, uint32_t random);

/* Pauses and says true, or says false at once: no further try. */
bool remote_retry_wait(struct remote_retry *retry);

/* What is left until the deadline, at most `most_ms`; 0 when it is over. */
int64_t remote_retry_left_ms(const struct remote_retry *retry, int64_t most_ms);
