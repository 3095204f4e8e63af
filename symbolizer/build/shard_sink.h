/*
 * The sink of one shard: gathers each unit and flattens it when the next begins. It belongs to one
 * thread and may fill one shard after another with the memory that it has.
 */
#pragma once

#include "symbolizer/build/shard.h"
#include "symbolizer/build/symbol_map.h"

struct shard_sink;

/* The symbols are settled, and outlive the sink as budget and strings do. */
enum err shard_sink_new(struct memory_budget *budget, struct shared_strings *strings,
                        const struct symbol_map *symbols, struct shard_sink **ret_sink,
                        struct error *error);
void shard_sink_free(struct shard_sink *sink);
DEFINE_CLEANUP(shard_sink, struct shard_sink, shard_sink_free)

/* What is to be pushed into until shard_sink_end; `shard` is empty. */
struct symbol_sink *shard_sink_begin(struct shard_sink *sink, struct shard *shard);

/* Flattens the last unit. The shard is whole if this and the push succeeded. */
enum err shard_sink_end(struct shard_sink *sink, struct error *error);
