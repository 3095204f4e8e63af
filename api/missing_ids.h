/*
 * The build IDs that were asked for most and that nobody has uploaded: what to upload next. In
 * memory, per tenant, and bounded: the "space-saving" sketch of Metwally, Agrawal and El Abbadi
 * (2005). When it is full, a new id takes the place of the least asked one and goes on from that
 * one's count, so that a count may be too high by `error`, but an id that is asked for more often
 * than that is never missing.
 *
 * A restart forgets it. Threads: any.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "base/binary_id.h"
#include "base/cleanup.h"
#include "base/error.h"

#define MISSING_IDS_MAX 4096
#define MISSING_TENANTS_MAX 256

struct missing_ids;

struct missing_id {
    struct binary_id id;
    uint64_t count;
    uint64_t error;   /* so much of the count may be another id's */
    int64_t first_ms; /* wall clock */
    int64_t last_ms;
};

/* count_max: ids per tenant; 0: MISSING_IDS_MAX. */
enum err missing_ids_new(size_t count_max, struct missing_ids **ret_missing, struct error *error);
void missing_ids_free(struct missing_ids *missing);
DEFINE_CLEANUP(missing_ids, struct missing_ids, missing_ids_free)

/* Tenants past MISSING_TENANTS_MAX are not counted, nor is anything when memory is short. */
void missing_ids_note(struct missing_ids *missing, const char *tenant, const struct binary_id *id,
                      int64_t now_ms);

/* It has been uploaded. */
void missing_ids_forget(struct missing_ids *missing, const char *tenant,
                        const struct binary_id *id);

/* The most asked first, of equals the one asked last. Returns how many of at most `max`. */
size_t missing_ids_top(struct missing_ids *missing, const char *tenant, struct missing_id *ret_ids,
                       size_t max);
