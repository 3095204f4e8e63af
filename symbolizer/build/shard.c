#include "symbolizer/build/shard.h"

#include <string.h>

void shard_clear(struct shard *shard) {
    struct memory_budget *budget = shard->budget;
    BUDGET_FREE(budget, shard->subjects, shard->subject_capacity);
    BUDGET_FREE(budget, shard->scopes, shard->scope_capacity);
    BUDGET_FREE(budget, shard->intervals, shard->interval_capacity);
    BUDGET_FREE(budget, shard->stretches, shard->stretch_capacity);
    BUDGET_FREE(budget, shard->sequences, shard->sequence_capacity);
    BUDGET_FREE(budget, shard->orphans, shard->orphan_capacity);
    BUDGET_FREE(budget, shard->rows, shard->row_capacity);
    *shard = (struct shard){.budget = budget};
}

void shard_reset(struct shard *shard) {
    shard->subject_count = 0;
    shard->scope_count = 0;
    shard->interval_count = 0;
    shard->stretch_count = 0;
    shard->sequence_count = 0;
    shard->orphan_count = 0;
    shard->row_count = 0;
    shard->counts = (struct shard_counts){0};
}

#define COPY(array, count_name, capacity_name)                                                     \
    ({                                                                                             \
        enum err copy_err = ERR_OK;                                                                \
        if (from->count_name > 0) {                                                                \
            void *made = NULL;                                                                     \
            copy_err = budget_make(to->budget, &made, &to->capacity_name, from->count_name,        \
                                   sizeof(*to->array), error);                                     \
            to->array = made;                                                                      \
            if (copy_err == ERR_OK)                                                                \
                memcpy(to->array, from->array, from->count_name * sizeof(*to->array));             \
            to->count_name = copy_err == ERR_OK ? from->count_name : 0;                            \
        }                                                                                          \
        copy_err;                                                                                  \
    })

enum err shard_copy(const struct shard *from, struct shard *to, struct error *error) {
    to->counts = from->counts;
    enum err err = COPY(subjects, subject_count, subject_capacity);
    if (err == ERR_OK)
        err = COPY(scopes, scope_count, scope_capacity);
    if (err == ERR_OK)
        err = COPY(intervals, interval_count, interval_capacity);
    if (err == ERR_OK)
        err = COPY(stretches, stretch_count, stretch_capacity);
    if (err == ERR_OK)
        err = COPY(sequences, sequence_count, sequence_capacity);
    if (err == ERR_OK)
        err = COPY(orphans, orphan_count, orphan_capacity);
    if (err == ERR_OK)
        err = COPY(rows, row_count, row_capacity);
    return err;
}

uint32_t shard_interval_at(const struct shard *shard, const struct shard_stretch *stretch,
                           uint64_t pc) {
    const struct shard_interval *intervals = &shard->intervals[stretch->interval_first];
    uint32_t low = 0;
    uint32_t high = stretch->interval_count;
    while (high - low > 1) {
        uint32_t middle = low + (high - low) / 2;
        if (intervals[middle].begin <= pc)
            low = middle;
        else
            high = middle;
    }
    return low;
}
