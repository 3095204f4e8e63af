#include "api/module_resolver.h"

#include <assert.h>
#include <stdio.h>

#include "base/clock.h"

const char *module_status_name(enum module_status status) {
    static const char *const names[] = {
        [MODULE_OK] = "ok",
        [MODULE_NO_DEBUGINFO] = "no_debuginfo",
        [MODULE_PENDING] = "pending",
        [MODULE_MALFORMED] = "malformed",
        [MODULE_UNSUPPORTED] = "unsupported",
        [MODULE_PARSER_KILLED] = "parser_killed",
        [MODULE_DENIED] = "denied",
    };
    assert(status > MODULE_UNRESOLVED && status < ARRAY_SIZE(names));
    return names[status];
}

struct catalog_question {
    const char *tenant;
    const struct binary_id *ids;
    size_t count;
    struct module_state *states;
    struct build_row *builds; /* by position; state 0 where there is none */
};

static enum err read_one(struct catalog_txn *txn, const char *tenant, const struct binary_id *id,
                         struct module_state *state, struct build_row *build, struct error *error) {
    struct generation_row generation;
    enum err err = catalog_generation_get(txn, tenant, id, &generation, error);
    if (err != ERR_OK)
        return err;
    state->generation = generation.number;
    state->has_build = generation.has_serving || generation.has_pending;
    if (!state->has_build)
        return ERR_OK;
    /* What serves goes on serving while another build is made. */
    state->build_key = generation.has_serving ? generation.serving : generation.pending;
    err = catalog_build_get(txn, tenant, &state->build_key, build, error);
    if (err != ERR_OK)
        return err;
    state->build_state = build->state;
    snprintf(state->build_reason, sizeof(state->build_reason), "%s", build->reason);
    return ERR_OK;
}

static enum err read_all(struct catalog_txn *txn, void *argument, struct error *error) {
    struct catalog_question *question = argument;
    for (size_t i = 0; i < question->count; i++) {
        question->states[i] = (struct module_state){0};
        question->builds[i] = (struct build_row){0};
        enum err err = read_one(txn, question->tenant, &question->ids[i], &question->states[i],
                                &question->builds[i], error);
        if (err != ERR_OK)
            return err;
    }
    return ERR_OK;
}

static void become(struct module_state *state, enum module_status status, const char *detail) {
    state->status = status;
    snprintf(state->detail, sizeof(state->detail), "%s", detail);
}

/* A build that is not OK: what that means for the asker, and whether it is tried again. */
static bool judge_build(struct module_state *state, const struct build_row *build) {
    bool expired = build->expires_ms && build->expires_ms <= clock_wall_ms();
    switch (build->state) {
    case BUILD_MALFORMED:
        become(state, MODULE_MALFORMED, build->reason);
        return expired;
    case BUILD_UNSUPPORTED:
        become(state, MODULE_UNSUPPORTED, build->reason);
        return expired;
    case BUILD_KILLED:
        become(state, MODULE_PARSER_KILLED, build->reason);
        return expired;
    case BUILD_FAILED:
        /* Our own trouble and no fault of the file: there will be an answer, later. */
        become(state, MODULE_PENDING, build->reason);
        return expired;
    case BUILD_RUNNING:
        become(state, MODULE_PENDING, "the index is being built");
        break;
    case BUILD_QUEUED:
    case BUILD_OK:
        /* With a reason: it has been tried, and our own trouble kept it from its end. */
        become(state, MODULE_PENDING,
               build->reason[0] ? build->reason : "the index waits to be built");
        break;
    }
    state->build_under_way = true;
    return false;
}

/* A full disk, say, must not keep other modules from their answers. */
static void rebuild(const struct module_resolver *resolver, const char *tenant,
                    struct module_state *state, const char *detail) {
    struct error error;
    become(state, MODULE_PENDING, detail);
    if (build_queue_rebuild(resolver->builds, tenant, &state->build_key, &error) == ERR_OK)
        state->build_under_way = true;
    else
        become(state, MODULE_PENDING, error.text);
}

static enum err settle(const struct module_resolver *resolver, const char *tenant,
                       struct module_state *state, const struct build_row *build,
                       struct error *error) {
    if (!state->has_build) {
        become(state, MODULE_NO_DEBUGINFO, "");
        return ERR_OK;
    }
    /* An index may be there although its build is under way again, so the file is asked first. What
     * lies there of a first build before the catalog tells of its end is not published yet. */
    if (state->generation > 0 || build->state == BUILD_OK) {
        enum err err =
            index_cache_acquire(resolver->indexes, &state->build_key, &state->handle, error);
        if (err == ERR_OK)
            become(state, MODULE_OK, "");
        if (err != ERR_NOT_FOUND)
            return err;
    }
    if (build->state == BUILD_OK)
        rebuild(resolver, tenant, state, "the index is being built again");
    else if (judge_build(state, build))
        rebuild(resolver, tenant, state, "the build is being tried again");
    return ERR_OK;
}

static enum err settle_all(const struct module_resolver *resolver,
                           struct catalog_question *question, struct error *error) {
    for (size_t i = 0; i < question->count; i++) {
        enum err err =
            settle(resolver, question->tenant, &question->states[i], &question->builds[i], error);
        if (err == ERR_OK)
            continue;
        for (size_t j = 0; j < i; j++) {
            index_handle_release(question->states[j].handle);
            question->states[j] = (struct module_state){0};
        }
        return err;
    }
    return ERR_OK;
}

enum err module_resolver_read(const struct module_resolver *resolver,
                              const struct request_context *context, const struct binary_id *ids,
                              size_t count, struct module_state *ret_states, struct error *error) {
    CLEANUP(cleanup_free) struct build_row *builds = calloc(count + 1, sizeof(*builds));
    if (!builds)
        return error_set(error, ERR_NO_MEMORY, "no memory for %zu modules", count);
    struct catalog_question question = {
        .tenant = context->tenant,
        .ids = ids,
        .count = count,
        .states = ret_states,
        .builds = builds,
    };
    enum err err = catalog_read(resolver->catalog, read_all, &question, error);
    return err == ERR_OK ? settle_all(resolver, &question, error) : err;
}

void module_resolver_replace(const struct module_resolver *resolver,
                             const struct request_context *context, struct module_state *state) {
    index_handle_release(TAKE(state->handle));
    rebuild(resolver, context->tenant, state, "the index is being built again");
}
