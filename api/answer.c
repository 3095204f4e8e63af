#include "api/answer.h"

#include <stdlib.h>

#include "api/name_cache.h"
#include "base/buffer.h"
#include "policy/policy.h"
#include "symbolizer/index/demangle.h"

struct answer {
    const struct answer_scope *scope;
    struct index_chain chain;
    enum symbol_miss miss;
    bool denied;
    struct index_scratch scratch;
    struct index_scratch leaf_scratch; /* keeps the leaf's file while the outermost is sought */
    struct buffer demangled;
    struct name_cache *names;
};

struct answer *answer_new(void) {
    CLEANUP(cleanup_answer) struct answer *answer = calloc(1, sizeof(*answer));
    if (!answer)
        return NULL;
    answer->demangled.size_max = DEMANGLE_OUTPUT_SIZE_MAX;
    answer->names = name_cache_new();
    return answer->names ? TAKE(answer) : NULL;
}

void answer_free(struct answer *answer) {
    if (!answer)
        return;
    buffer_clear(&answer->demangled);
    name_cache_free(answer->names);
    free(answer);
}

void answer_start(struct answer *answer, const struct answer_scope *scope, struct index_hit hit) {
    answer->scope = scope;
    answer->chain = hit.chain;
    answer->miss = hit.miss;
    answer->denied = false;
}

enum symbol_miss answer_reason(const struct answer *answer) {
    return answer->denied ? SYMBOL_MISS_DENIED : answer->miss;
}

static bool may_show(struct answer *answer, const struct symbol_frame *frame) {
    const struct answer_scope *scope = answer->scope;
    struct policy_request request = {
        .context = scope->context,
        .id = scope->id,
        .module_name = scope->module_name,
        .frame = frame,
        .now_ms = scope->now_ms,
    };
    bool shown = policy_decide(&request) == EXPOSURE_FULL;
    answer->denied |= !shown;
    return shown;
}

/*
 * Walks to the end of the chain: the outermost function at the leaf's place. Each frame of the
 * chain is put to the policy, since the leaf's file and line tell of the inlined function.
 */
static bool next_physical(struct answer *answer, struct symbol_frame *ret_frame) {
    const struct index *index = answer->scope->index;
    struct symbol_frame leaf;
    if (!index_chain_next(index, &answer->chain, &answer->leaf_scratch, &leaf))
        return false;
    bool shown = may_show(answer, &leaf);
    struct symbol_frame physical = leaf;
    struct symbol_frame outer;
    while (index_chain_next(index, &answer->chain, &answer->scratch, &outer)) {
        shown &= may_show(answer, &outer);
        physical = outer;
    }
    if (!shown)
        return false;
    *ret_frame = physical;
    ret_frame->file = leaf.file;
    ret_frame->line = leaf.line;
    ret_frame->column = leaf.column;
    return true;
}

static bool next_frame(struct answer *answer, struct symbol_frame *ret_frame) {
    if (!answer->scope->inlines)
        return next_physical(answer, ret_frame);
    while (index_chain_next(answer->scope->index, &answer->chain, &answer->scratch, ret_frame))
        if (may_show(answer, ret_frame))
            return true;
    return false;
}

static struct span shown_name(struct answer *answer, const struct symbol_frame *frame) {
    if (!answer->scope->demangle || !(frame->flags & SYMBOL_DEMANGLES))
        return frame->name;
    struct span name;
    if (name_cache_find(answer->names, frame->name, &name))
        return name;
    answer->demangled.size = 0;
    answer->demangled.failed = false;
    bool good = demangle(frame->name, &answer->demangled);
    name = good ? buffer_span(&answer->demangled) : frame->name;
    name_cache_put(answer->names, frame->name, name);
    return name;
}

bool answer_render(struct answer *answer, struct answer_frame *ret_frame) {
    struct symbol_frame frame;
    if (!next_frame(answer, &frame))
        return false;
    *ret_frame = (struct answer_frame){
        .function = shown_name(answer, &frame),
        .system_name = frame.name,
        .file = frame.file,
        .line = frame.line,
        .column = frame.column,
        .start_line = frame.start_line,
        .origin = frame.origin,
    };
    return true;
}
