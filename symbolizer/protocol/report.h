/*
 * What symbolizer-worker answers: a bounded text on its report fd, one "key value" line each, read
 * to the end of the file. The reader trusts nothing in it: a compromised worker may have written
 * it. Unknown keys are skipped, so that a newer worker can say more.
 *
 *     status ok|malformed|unsupported|limit|failed
 *     reason TEXT               (unless ok; control bytes and broken UTF-8 replaced by '?')
 *     id KIND VALUE             (up to 8)
 *     machine N
 *     contents dwarf,pclntab,symtab,dynsym
 *     functions N  …  one line per count of struct index_summary
 *     size N                    (bytes written to --out)
 *     memory N                  (bytes that a build's tables took at most)
 *     need KIND VALUE           (altlink ID, dwo ID, debuglink NAME: what would make it better)
 *     end
 *
 * The status is there exactly once, other keys but id and need at most once, in any order. A
 * report without the closing line is a worker that died while writing.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"
#include "base/span.h"
#include "symbolizer/index/index.h"

/* Stored in catalogs: values are never reused. */
enum report_status {
    REPORT_OK = 1,
    REPORT_MALFORMED = 2,   /* the bytes break their format */
    REPORT_UNSUPPORTED = 3, /* nothing in it that we read */
    REPORT_LIMIT = 4,       /* over a size or memory bound that the worker noticed itself */
    REPORT_FAILED = 5,      /* the worker's own trouble: disk, memory, usage; worth another try */
    REPORT_KILLED = 6,      /* never written by a worker: it crashed, hung or was killed */
};

#define REPORT_SIZE_MAX ((size_t)65536)
#define REPORT_REASON_SIZE 512
#define REPORT_NEED_MAX 64

enum report_need_kind { REPORT_NEED_ALTLINK = 1, REPORT_NEED_DWO, REPORT_NEED_DEBUGLINK };

struct report_need {
    enum report_need_kind kind;
    char value[BINARY_ID_TEXT_MAX + 1];
};

struct report {
    enum report_status status;
    char reason[REPORT_REASON_SIZE]; /* empty when ok */
    struct index_summary summary;    /* ids, machine, contents; counts after a build */
    uint64_t size;                   /* bytes in the output */
    uint64_t memory_peak;            /* bytes that a build's tables took at most */
    struct report_need needs[REPORT_NEED_MAX];
    size_t need_count;
};

/* "ok", "malformed", "unsupported", "limit", "failed", "killed". */
const char *report_status_name(enum report_status status);

/* Notes a need. False, and nothing noted, when the list is full or the value cannot be one: an id
 * is 2 to 64 bytes in hex, a dwo id 8 bytes, a debuglink a plain file name of printable text. */
bool report_add_need(struct report *report, enum report_need_kind kind, struct span value);

/* Writes the whole report to fd, without taking memory. Its status is one that a worker writes. */
enum err report_write(const struct report *report, int fd, struct error *error);

/* ERR_MALFORMED for anything but a complete, well-formed report of at most REPORT_SIZE_MAX. */
enum err report_parse(struct span text, struct report *ret_report, struct error *error);
