#include "symbolizer/build/shard.h"

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
