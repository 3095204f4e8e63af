/*
 * The one gate through which symbols leave the service, whatever the surface and its encoding: it
 * walks the chain of an address, asks policy_decide() about each frame, and makes the names that
 * are shown. Surfaces encode what answer_render() yields and see no other frames.
 *
 *     answer_start(answer, &scope, hit);
 *     while (answer_render(answer, &frame))
 *         encode(&frame);
 *     reason = answer_reason(answer);
 *
 * One frame is made at a time, so that a chain of thousands of long names needs no memory to
 * speak of. Threads: an answer belongs to one thread at a time.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/binary_id.h"
#include "base/cleanup.h"
#include "base/request_context.h"
#include "symbolizer/index/index.h"

struct answer;

/* What all addresses of one module share. Everything is borrowed until the next answer_start. */
struct answer_scope {
    const struct request_context *context;
    const struct binary_id *id;
    struct span module_name; /* as the asker named it; may be empty */
    const struct index *index;
    int64_t now_ms; /* wall clock, for the policy */

    /* False: one frame per address, with the name, start line and origin of the outermost function
     * and the file, line and column that execute, which may stand in code inlined from elsewhere.
     * llvm-symbolizer --no-inlines does so for functions in the symbol table. */
    bool inlines;
    bool demangle;
};

/* Empty spans and zeros: unknown. Valid until the next call with the same answer. */
struct answer_frame {
    struct span function;    /* demangled where that was asked for and is possible */
    struct span system_name; /* as the file has it */
    struct span file;
    uint32_t line;
    uint32_t column;
    uint32_t start_line;
    enum symbol_origin origin;
};

/* NULL when out of memory. */
struct answer *answer_new(void);
void answer_free(struct answer *answer);
DEFINE_CLEANUP(answer, struct answer, answer_free)

/* Begins with another address, of the same or another module. */
void answer_start(struct answer *answer, const struct answer_scope *scope, struct index_hit hit);

/* The next frame that may be shown, leaf first; false at the end. Denied frames are left out. */
bool answer_render(struct answer *answer, struct answer_frame *ret_frame);

/* After the last frame: why the address has no answer or only a part of one.
 * SYMBOL_MISS_DENIED when a frame was left out, whatever else is missing. */
enum symbol_miss answer_reason(const struct answer *answer);
