#include "ingest/build_plan.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "symbolizer/index/index.h"
#include "symbolizer/protocol/job.h"

bool build_plan_is_binary(enum artifact_type type) {
    return type == ARTIFACT_DEBUGINFO || type == ARTIFACT_EXECUTABLE;
}

/* A number that orders sets of contents by their best kind, then by the next best. */
static unsigned contents_rank(unsigned contents) {
    static const unsigned best_first[] = {CONTENTS_DWARF, CONTENTS_PCLNTAB, CONTENTS_SYMTAB,
                                          CONTENTS_DYNSYM};
    unsigned rank = 0;
    for (size_t i = 0; i < sizeof(best_first) / sizeof(best_first[0]); i++)
        rank = rank << 1 | ((contents & best_first[i]) != 0);
    return rank;
}

static bool is_proven(const struct object_row *object) {
    return object->verification != VERIFICATION_NONE;
}

static bool is_better(const struct object_row *a, const struct object_row *b) {
    if (a->trust_rank != b->trust_rank)
        return a->trust_rank > b->trust_rank;
    if (is_proven(a) != is_proven(b))
        return is_proven(a);
    if (contents_rank(a->contents) != contents_rank(b->contents))
        return contents_rank(a->contents) > contents_rank(b->contents);
    if (a->created_ms != b->created_ms)
        return a->created_ms > b->created_ms;
    return a->object_id > b->object_id;
}

const struct object_row *build_plan_best(const struct object_row *objects, size_t count,
                                         const struct object_row *above) {
    const struct object_row *best = NULL;
    for (size_t i = 0; i < count; i++) {
        const struct object_row *object = &objects[i];
        bool eligible = build_plan_is_binary(object->type) && (!above || is_better(above, object));
        if (eligible && (!best || is_better(object, best)))
            best = object;
    }
    return best;
}

/* What is less trusted or less proven must not add names to what is more so. */
static bool complements(const struct object_row *object, const struct object_row *best) {
    return build_plan_is_binary(object->type) && object->trust_rank == best->trust_rank &&
           is_proven(object) == is_proven(best) && (object->contents & ~best->contents) != 0 &&
           (best->contents & ~object->contents) != 0;
}

static const struct object_row *find_partner(const struct object_row *objects, size_t count,
                                             const struct object_row *best) {
    const struct object_row *partner = NULL;
    for (size_t i = 0; i < count; i++)
        if (is_better(best, &objects[i]) && complements(&objects[i], best) &&
            (!partner || is_better(&objects[i], partner)))
            partner = &objects[i];
    return partner;
}

/* Of two, the debug file is the one that was sent as such; agents send all as debuginfo, and then
 * it is the one with DWARF, or with the better data. */
static bool is_debug_file(const struct object_row *object, const struct object_row *other) {
    if (object->type != other->type)
        return object->type == ARTIFACT_DEBUGINFO;
    return contents_rank(object->contents) > contents_rank(other->contents);
}

static struct build_input input_of(const struct object_row *object, enum job_role role) {
    return (struct build_input){
        .object_id = object->object_id,
        .digest = object->digest,
        .role = role,
    };
}

static struct build_plan plan_of(const struct object_row *best, const struct object_row *partner) {
    struct build_plan plan = {.inputs = {input_of(best, JOB_ROLE_MAIN)}, .input_count = 1};
    if (partner) {
        bool best_is_debug = is_debug_file(best, partner);
        plan.inputs[0] = input_of(best_is_debug ? partner : best, JOB_ROLE_MAIN);
        plan.inputs[1] = input_of(best_is_debug ? best : partner, JOB_ROLE_DEBUG);
        plan.input_count = 2;
    }
    plan.key = build_plan_key(plan.inputs, plan.input_count);
    return plan;
}

bool build_plan_next(struct build_plan_walk *walk, struct build_plan *ret_plan) {
    const struct object_row *partner = NULL;
    if (!walk->paired) {
        const struct object_row *best = build_plan_best(walk->objects, walk->count, walk->best);
        if (!best)
            return false;
        walk->best = best;
        partner = find_partner(walk->objects, walk->count, best);
    }
    walk->paired = partner != NULL;
    *ret_plan = plan_of(walk->best, partner);
    return true;
}

static int compare_inputs(const void *a, const void *b) {
    const struct build_input *left = a;
    const struct build_input *right = b;
    if (left->role != right->role)
        return left->role < right->role ? -1 : 1;
    return memcmp(left->digest.bytes, right->digest.bytes, sizeof(left->digest.bytes));
}

static void hash_u32(struct hash_sha256 *hash, uint32_t value) {
    uint8_t bytes[] = {(uint8_t)value, (uint8_t)(value >> 8), (uint8_t)(value >> 16),
                       (uint8_t)(value >> 24)};
    hash_sha256_update(hash, bytes, sizeof(bytes));
}

struct digest build_plan_key(const struct build_input *inputs, size_t count) {
    assert(count > 0 && count <= BUILD_INPUT_MAX);
    struct build_input sorted[BUILD_INPUT_MAX];
    memcpy(sorted, inputs, count * sizeof(*inputs));
    qsort(sorted, count, sizeof(*sorted), compare_inputs);
    struct hash_sha256 hash;
    hash_sha256_init(&hash);
    for (size_t i = 0; i < count; i++) {
        hash_u32(&hash, (uint32_t)sorted[i].role);
        hash_sha256_update(&hash, sorted[i].digest.bytes, sizeof(sorted[i].digest.bytes));
    }
    hash_u32(&hash, INDEX_FORMAT_VERSION);
    return hash_sha256_final(&hash);
}
