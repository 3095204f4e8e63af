/*
 * What the files of the DWARF source share. dwarf_source.c owns the object and cuts it into shards;
 * dwarf_push.c and dwarf_resolve.c are the two ways to use it, and give the same answers because
 * both see the same functions, copies (dwarf_code.h) and rows (dwarf_line.h).
 */
#pragma once

#include "debuginfo/dwarf_code.h"
#include "debuginfo/dwarf_info.h"
#include "debuginfo/dwarf_source.h"
#include "debuginfo/string_pool.h"

struct dwarf_lookup;

struct dwarf_source {
    struct symbol_source source;
    struct elf_file *file;
    struct dwarf_info *info;
    struct dwarf_extents extents;
    struct error damage; /* of a section as a whole; code ERR_OK: none */
    size_t *shards;      /* the first unit of each, and the number of units behind the last */
    size_t shard_count;
    struct dwarf_lookup *lookup; /* made by the first resolve */
    struct string_pool *strings; /* what resolve hands out and had to compose */
};

enum err dwarf_push(struct symbol_source *source, struct symbol_sink *sink, struct error *error);
enum err dwarf_push_shard(struct symbol_source *source, size_t shard, struct symbol_sink *sink,
                          struct error *error);
enum err dwarf_resolve(struct symbol_source *source, uint64_t pc, struct frame_list *frames,
                       struct error *error);
