#include "api/symbolize.h"

#include <stdio.h>
#include <stdlib.h>

#include "api/address_translation.h"
#include "base/clock.h"
#include "policy/policy.h"

/* An address takes 8 bytes, its hit 8 and its mark 1; names are bounded by the body's size. */
#define ARENA_SIZE_MAX ((size_t)96 << 20)

struct symbolize_batch {
    const struct module_resolver *resolver;
    struct request_context context;
    struct arena *arena;
    struct symbolize_request request;
    struct symbolize_result *results;
    uint64_t lookup_count;
};

struct symbolize_batch *symbolize_batch_new(const struct module_resolver *resolver,
                                            const struct request_context *context) {
    struct symbolize_batch *batch = calloc(1, sizeof(*batch));
    if (!batch)
        return NULL;
    batch->resolver = resolver;
    batch->context = *context;
    batch->arena = arena_new(ARENA_SIZE_MAX);
    if (!batch->arena) {
        free(batch);
        return NULL;
    }
    return batch;
}

enum err symbolize_result_check(const struct symbolize_result *result, struct error *error) {
    if (!result->state.handle || index_handle_is_intact(result->state.handle))
        return ERR_OK;
    return error_set(error, ERR_UNAVAILABLE,
                     "an index was damaged while it was read, and is made again; ask again");
}

void symbolize_result_release(struct symbolize_result *result) {
    index_handle_release(result->state.handle);
    result->state.handle = NULL;
}

void symbolize_batch_free(struct symbolize_batch *batch) {
    if (!batch)
        return;
    for (size_t i = 0; i < batch->request.module_count; i++)
        if (batch->results[i].state.handle)
            symbolize_result_release(&batch->results[i]);
    arena_free(batch->arena);
    free(batch);
}

enum err symbolize_batch_parse(struct symbolize_batch *batch, struct span body,
                               struct error *error) {
    struct symbolize_request request;
    enum err err = symbolize_request_parse(body, batch->arena, &request, error);
    if (err != ERR_OK)
        return err;
    batch->results = arena_alloc(batch->arena, request.module_count * sizeof(*batch->results));
    if (!batch->results)
        return error_set(error, ERR_NO_MEMORY, "no memory for %zu modules", request.module_count);
    batch->request = request;
    return ERR_OK;
}

/* Before anything is looked for, so that a denial tells nothing of what exists. */
static bool deny_module(struct symbolize_batch *batch, size_t position) {
    const struct symbolize_module *module = &batch->request.modules[position];
    struct module_state *state = &batch->results[position].state;
    struct policy_request request = {
        .context = &batch->context,
        .id = &module->id,
        .module_name = module->name,
        .now_ms = clock_wall_ms(),
    };
    if (policy_decide(&request) != EXPOSURE_DENY)
        return false;
    state->status = MODULE_DENIED;
    snprintf(state->detail, sizeof(state->detail), "the policy hides this module");
    return true;
}

static bool is_open(const struct module_state *state) {
    return state->status == MODULE_UNRESOLVED || state->status == MODULE_PENDING;
}

static enum err look_up(struct symbolize_batch *batch, size_t position, struct error *error) {
    const struct symbolize_module *module = &batch->request.modules[position];
    struct symbolize_result *result = &batch->results[position];
    const struct index *index = index_handle_index(result->state.handle);
    if (!address_translate(module, index, module->addresses)) {
        result->state.status = MODULE_UNSUPPORTED;
        snprintf(result->state.detail, sizeof(result->state.detail),
                 "the file has no program headers to translate %s by; send ELF addresses",
                 module->address_kind == ADDRESS_RUNTIME ? "runtime addresses" : "file offsets");
        symbolize_result_release(result);
        return ERR_OK;
    }
    result->hits = arena_alloc(batch->arena, module->address_count * sizeof(*result->hits));
    if (!result->hits)
        return error_set(error, ERR_NO_MEMORY, "no memory for %zu addresses",
                         module->address_count);
    index_lookup(index, module->addresses, module->address_count, result->hits);
    if (!index_handle_is_intact(result->state.handle)) {
        result->hits = NULL;
        module_resolver_replace(batch->resolver, &batch->context, &result->state);
        return ERR_OK;
    }
    batch->lookup_count += module->address_count;
    return ERR_OK;
}

/* The modules without an answer, by position. */
static size_t collect_open(struct symbolize_batch *batch, struct binary_id *ids,
                           size_t *positions) {
    size_t count = 0;
    for (size_t i = 0; i < batch->request.module_count; i++) {
        if (!is_open(&batch->results[i].state) || deny_module(batch, i))
            continue;
        ids[count] = batch->request.modules[i].id;
        positions[count++] = i;
    }
    return count;
}

/* A module is resolved once unless it is pending, so that it is counted once. */
static void note_missing(struct missing_ids *missing, const char *tenant,
                         const struct binary_id *ids, const struct module_state *states,
                         size_t count) {
    for (size_t i = 0; missing && i < count; i++)
        if (states[i].status == MODULE_NO_DEBUGINFO)
            missing_ids_note(missing, tenant, &ids[i], clock_wall_ms());
}

enum err symbolize_batch_resolve(struct symbolize_batch *batch, struct error *error) {
    size_t room = batch->request.module_count + 1;
    CLEANUP(cleanup_free) struct binary_id *ids = calloc(room, sizeof(*ids));
    CLEANUP(cleanup_free) size_t *positions = calloc(room, sizeof(*positions));
    CLEANUP(cleanup_free) struct module_state *states = calloc(room, sizeof(*states));
    if (!ids || !positions || !states)
        return error_set(error, ERR_NO_MEMORY, "no memory for %zu modules", room);
    size_t count = collect_open(batch, ids, positions);
    enum err err =
        module_resolver_read(batch->resolver, &batch->context, ids, count, states, error);
    if (err != ERR_OK)
        return err;
    /* All handles are the batch's before anything can fail. */
    for (size_t i = 0; i < count; i++)
        batch->results[positions[i]].state = states[i];
    note_missing(batch->resolver->missing, batch->context.tenant, ids, states, count);
    for (size_t i = 0; err == ERR_OK && i < count; i++)
        if (states[i].status == MODULE_OK)
            err = look_up(batch, positions[i], error);
    return err;
}

bool symbolize_batch_waits(const struct symbolize_batch *batch, struct digest *ret_key) {
    for (size_t i = 0; i < batch->request.module_count; i++) {
        const struct module_state *state = &batch->results[i].state;
        if (state->status != MODULE_PENDING || !state->build_under_way)
            continue;
        *ret_key = state->build_key;
        return true;
    }
    return false;
}

const struct request_context *symbolize_batch_context(const struct symbolize_batch *batch) {
    return &batch->context;
}

const struct symbolize_request *symbolize_batch_request(const struct symbolize_batch *batch) {
    return &batch->request;
}

struct symbolize_result *symbolize_batch_result(struct symbolize_batch *batch, size_t module) {
    return &batch->results[module];
}

uint64_t symbolize_batch_lookup_count(const struct symbolize_batch *batch) {
    return batch->lookup_count;
}
