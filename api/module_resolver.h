/*
 * From a binary's id to the index that answers for it, or to why there is none. What is missing or
 * has expired is put into the build queue on the way.
 */
#pragma once

#include "api/missing_ids.h"
#include "base/binary_id.h"
#include "base/request_context.h"
#include "cache/catalog.h"
#include "cache/index_cache.h"
#include "ingest/build_queue.h"

/* What is known of a module, as surfaces say it. */
enum module_status {
    MODULE_UNRESOLVED = 0, /* not asked yet */
    MODULE_OK,
    MODULE_NO_DEBUGINFO,  /* the tenant has nothing with symbols for this id */
    MODULE_PENDING,       /* the index is being made */
    MODULE_MALFORMED,     /* the file breaks its format */
    MODULE_UNSUPPORTED,   /* nothing in the file that we read, or not what was asked of it */
    MODULE_PARSER_KILLED, /* the parser died on the file */
    MODULE_DENIED,        /* the tenant's policy hides the module */
};

/* "ok", "no_debuginfo", …; never for MODULE_UNRESOLVED. */
const char *module_status_name(enum module_status status);

struct module_state {
    enum module_status status;
    char detail[512];    /* for a person; empty: none */
    uint64_t generation; /* 0: nothing has answered for the id yet */
    bool has_build;
    struct digest build_key; /* of the build that answers, or that will */
    enum build_state build_state;
    char build_reason[512];
    bool build_under_way;        /* queued or running: its end can be waited for */
    struct index_handle *handle; /* only when MODULE_OK; the caller's to release */
};

struct module_resolver {
    struct catalog *catalog;
    struct build_queue *builds;
    struct index_cache *indexes;
    struct missing_ids *missing; /* for who asks about addresses; NULL: not counted */
};

/* The index of this state turned out to be no longer intact: the handle is released, and the module
 * is pending until the index is there again. */
void module_resolver_replace(const struct module_resolver *resolver,
                             const struct request_context *context, struct module_state *state);

/* All from one state of the catalog. Blocks for the disk. On failure nothing is handed out. */
enum err module_resolver_read(const struct module_resolver *resolver,
                              const struct request_context *context, const struct binary_id *ids,
                              size_t count, struct module_state *ret_states, struct error *error);
