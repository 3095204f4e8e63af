/*
 * Answers a batch of questions, without a transport: the modules of a request are resolved to
 * indexes, and each module's addresses are looked up in one go. What was found stays in the batch
 * as locations; frames are made from it one by one when it is written (api/symbolize_json.h).
 *
 *     symbolize_batch_new, symbolize_batch_parse
 *     symbolize_batch_resolve              again after the wait, while a module waits
 *     symbolize_batch_waits
 *     a writer; symbolize_batch_free
 *
 * Threads: a batch belongs to one thread at a time.
 */
#pragma once

#include "api/module_resolver.h"
#include "api/symbolize_request.h"
#include "base/cleanup.h"

struct symbolize_result {
    struct module_state state;
    /* One per address of the module, when the status is MODULE_OK; else NULL. A writer may note
     * a miss that the policy adds. */
    struct index_hit *hits;
};

struct symbolize_batch;

/* Borrows the resolver. NULL when out of memory. */
struct symbolize_batch *symbolize_batch_new(const struct module_resolver *resolver,
                                            const struct request_context *context);
void symbolize_batch_free(struct symbolize_batch *batch);
DEFINE_CLEANUP(symbolize_batch, struct symbolize_batch, symbolize_batch_free)

/* Errors as symbolize_request_parse. The body is not needed afterwards. */
enum err symbolize_batch_parse(struct symbolize_batch *batch, struct span body,
                               struct error *error);

/* Resolves and looks up every module that has no answer yet, or whose build was pending. Blocks. */
enum err symbolize_batch_resolve(struct symbolize_batch *batch, struct error *error);

/* True, and the key of its build, if a module waits for a build that is under way. */
bool symbolize_batch_waits(const struct symbolize_batch *batch, struct digest *ret_key);

const struct request_context *symbolize_batch_context(const struct symbolize_batch *batch);
const struct symbolize_request *symbolize_batch_request(const struct symbolize_batch *batch);
/* By module. A writer that is done with a module may release its index early. */
struct symbolize_result *symbolize_batch_result(struct symbolize_batch *batch, size_t module);
void symbolize_result_release(struct symbolize_result *result);

/* Whether the index was intact up to now. A writer asks before it hands out what it has written
 * from it, and before it releases it; ERR_UNAVAILABLE: throw that away. */
enum err symbolize_result_check(const struct symbolize_result *result, struct error *error);

/* How many addresses have been looked up in an index. */
uint64_t symbolize_batch_lookup_count(const struct symbolize_batch *batch);
