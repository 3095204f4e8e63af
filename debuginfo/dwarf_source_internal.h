/*
 * What the files of the DWARF source share. dwarf_source.c owns the object and cuts it into shards;
 * dwarf_push.c and dwarf_resolve.c are the two ways to use it, and give the same answers because
 * both see the same functions, copies (dwarf_code.h) and rows (dwarf_line.h).
 */
#pragma once

#include "debuginfo/dwarf_code.h"
#include "debuginfo/dwarf_info.h"
#include "debuginfo/dwarf_scopes.h"
#include "debuginfo/dwarf_source.h"
#include "debuginfo/string_pool.h"

struct dwarf_lookup;

/* The sections of the file, the supplementary file, its sections, and split units. */
#define DWARF_DAMAGE_MAX 4

struct dwarf_source {
    struct symbol_source source;
    struct elf_file *file;
    struct dwarf_info *info;
    struct dwarf_extents extents;
    struct dwarf_info *supplement;          /* NULL: none; owned, as is the next */
    struct dwarf_split *split;              /* the files that have the split units */
    struct error damages[DWARF_DAMAGE_MAX]; /* of files and sections as a whole */
    size_t damage_count;
    size_t *shards; /* the first unit of each, and the number of units behind the last */
    size_t shard_count;
    struct dwarf_lookup *lookup; /* made by the first resolve */
    struct dwarf_scopes *scopes; /* of resolve; a shard has its own */
    struct string_pool *strings; /* what resolve hands out and had to compose */
    bool paths_are_relative;     /* of resolve */
};

enum err dwarf_push(struct symbol_source *source, struct symbol_sink *sink, struct error *error);
enum err dwarf_push_shard(struct symbol_source *source, size_t shard, struct symbol_sink *sink,
                          struct error *error);
enum err dwarf_resolve(struct symbol_source *source, uint64_t pc, struct frame_list *frames,
                       struct error *error);
