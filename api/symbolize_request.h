/*
 * The body of POST /v1/symbolize (docs/API.md), parsed and checked. The bytes are hostile: the
 * number of values is bounded before a tree is made of them, types and ranges are checked, and a
 * message names the place that is wrong ("modules[0].addresses[3]: …").
 *
 * Members that are not known are refused, since passing over a misspelt "address_kind" would give
 * wrong answers without a word.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/binary_id.h"
#include "base/error.h"
#include "base/span.h"

#define SYMBOLIZE_MODULE_COUNT_MAX ((size_t)1000)
#define SYMBOLIZE_ADDRESS_COUNT_MAX ((size_t)1000000) /* over all modules */
#define SYMBOLIZE_WAIT_MS_MAX 60000
#define SYMBOLIZE_NAME_SIZE_MAX ((size_t)4096)

enum address_kind {
    ADDRESS_ELF,         /* virtual addresses as in the ELF file */
    ADDRESS_FILE_OFFSET, /* offsets in the ELF file */
    ADDRESS_RUNTIME,     /* as in the process, which mapped the file as `mapping` says */
};

/* One line of /proc/PID/maps: [start, limit) holds the file from `offset` on. */
struct address_mapping {
    uint64_t start;
    uint64_t limit;
    uint64_t offset;
};

struct symbolize_module {
    struct binary_id id;
    struct span name;
    enum address_kind address_kind;
    struct address_mapping mapping;
    uint64_t *addresses;   /* may be changed by who answers, see api/address_translation.h */
    const bool *is_return; /* NULL: none is a return address */
    size_t address_count;
};

struct symbolize_request {
    const struct symbolize_module *modules;
    size_t module_count;
    bool inlines;
    bool demangle;
    int64_t wait_ms;
};

/* All that *ret_request points to lives in the arena. ERR_MALFORMED: no JSON (with line and
 * column); ERR_INVALID: not what the API wants; ERR_LIMIT: too many modules or addresses. */
enum err symbolize_request_parse(struct span body, struct arena *arena,
                                 struct symbolize_request *ret_request, struct error *error);
