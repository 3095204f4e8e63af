/*
 * The index file, to the byte. symbolizer/build/index_writer.h writes it, symbolizer/index/index.h
 * reads it.
 *
 * Version history
 *   1   the first one
 *
 * A reader accepts its own version only: an index is derived from the uploaded files and is built
 * again when the version changes.
 *
 * Layout
 *
 *   header        struct format_header, 32 bytes
 *   section table FORMAT_SECTION_COUNT times struct format_section, 32 bytes each; entry i
 *                 describes the section of kind i + 1
 *   sections      in the order of the table. Each starts at the next multiple of 8; the bytes
 *                 between are zero. The file ends with the last byte of the last section.
 *
 * All numbers are little-endian. A section is an array of `count` records of one size, so its size
 * is count times the size of the record. Reserved fields are zero, and a reader refuses others.
 * Checksums are CRC-32 (ISO 3309, as in zlib): a section's is over its `size` bytes; the header's
 * is over header and section table with the header's checksum taken as zero.
 *
 * References by number (functions, locations, strings) start at 1; 0 means none.
 *
 * From an address to a value
 *
 *   blocks     Disjoint stretches [base, end) of addresses in ascending order. An address in none
 *              of them is a miss. A block holds the intervals whose begin is less than 4 GiB above
 *              its base, so that a begin is 32 bits and a file may span all of 64 bits.
 *   intervals  `begin` is relative to the base of the block and ascends strictly within it; the
 *              first is 0. An interval reaches to the begin of the next, the last one to the end
 *              of the block. A hole inside a block is an interval of its own, whose miss is
 *              SYMBOL_MISS_NO_RANGE.
 *   buckets    A table of the top bits of `begin`, so that a search reads one entry and then some
 *              eight intervals. bucket[k] is the position, within its block, of the first interval
 *              whose begin >> bucket_shift is at least k, or the block's count when there is none.
 *              A block has (last begin >> bucket_shift) + 2 of them, or none when its intervals
 *              are at most FORMAT_BUCKETLESS_MAX: then the search goes over all.
 *
 * The value of an interval holds the miss in its top two bits (FORMAT_VALUE_*) and the number of a
 * location in the others. A hole has no location; an interval without a miss has one.
 *
 * From a location to frames
 *
 *   locations  One frame: function, file, line and column of what executes, and the location of
 *              the caller that it was inlined into (parent). A parent has a smaller number and a
 *              depth that is smaller by one, which rules out cycles; the outermost frame has depth
 *              1 and no parent.
 *   functions  Name, declaration and origin. Copies inlined at several places share one function.
 *   string_ends, string_bytes
 *              String n is the bytes from string_ends[n - 2] (0 for n = 1) to string_ends[n - 1].
 *              Strings follow each other without anything between; they may hold any byte. Names,
 *              paths and binary ids are strings.
 *
 * A worked example. The binary has build ID 0badc0de, machine 62 (x86-64), one PT_LOAD of 0x1000
 * bytes at 0x400000 that is readable and executable. `main` lies at [0x401000, 0x401010) and is
 * declared in a.c:3. The first eight bytes come from line 4, column 5; the others are `twice`,
 * declared in a.h:1, inlined at a.c:5 column 9, running a.h:2 column 0. A symbol `_fini` answers
 * for [0x401020, 0x401024) without a line.
 *
 *   0000: 53 59 4d 49 4e 44 45 58                          header: magic
 *   0008: 01 00 00 00 0a 00 00 00                          version 1, 10 sections
 *   0010: fc 02 00 00 00 00 00 00                          file_size 764
 *   0018: 00 00 00 00 cf 69 1b b9                          reserved, checksum
 *   0020: 01 00 00 00 50 d7 de 5d 60 01 00 00 00 00 00 00  kind 1 summary: checksum, offset
 *   0030: 40 00 00 00 00 00 00 00 01 00 00 00 00 00 00 00  size 64, count 1
 *   0040: 02 00 00 00 2b 80 e3 8c a0 01 00 00 00 00 00 00  kind 2 ids: checksum, offset
 *   0050: 08 00 00 00 00 00 00 00 01 00 00 00 00 00 00 00  size 8, count 1
 *   0060: 03 00 00 00 9f dc dd fc a8 01 00 00 00 00 00 00  kind 3 segments: checksum, offset
 *   0070: 28 00 00 00 00 00 00 00 01 00 00 00 00 00 00 00  size 40, count 1
 *   0080: 04 00 00 00 28 02 68 92 d0 01 00 00 00 00 00 00  kind 4 blocks: checksum, offset
 *   0090: 28 00 00 00 00 00 00 00 01 00 00 00 00 00 00 00  size 40, count 1
 *   00a0: 05 00 00 00 00 00 00 00 f8 01 00 00 00 00 00 00  kind 5 buckets: checksum, offset
 *   00b0: 00 00 00 00 00 00 00 00 00 00 00 00 00 00 00 00  size 0, count 0
 *   00c0: 06 00 00 00 7c 92 02 c6 f8 01 00 00 00 00 00 00  kind 6 intervals: checksum, offset
 *   00d0: 20 00 00 00 00 00 00 00 04 00 00 00 00 00 00 00  size 32, count 4
 *   00e0: 07 00 00 00 42 4e 18 b6 18 02 00 00 00 00 00 00  kind 7 locations: checksum, offset
 *   00f0: 50 00 00 00 00 00 00 00 04 00 00 00 00 00 00 00  size 80, count 4
 *   0100: 08 00 00 00 96 62 10 7d 68 02 00 00 00 00 00 00  kind 8 functions: checksum, offset
 *   0110: 48 00 00 00 00 00 00 00 03 00 00 00 00 00 00 00  size 72, count 3
 *   0120: 09 00 00 00 14 83 e5 c0 b0 02 00 00 00 00 00 00  kind 9 string_ends: checksum, offset
 *   0130: 30 00 00 00 00 00 00 00 06 00 00 00 00 00 00 00  size 48, count 6
 *   0140: 0a 00 00 00 8e a9 7a 33 e0 02 00 00 00 00 00 00  kind 10 string_bytes: checksum, offset
 *   0150: 1c 00 00 00 00 00 00 00 1c 00 00 00 00 00 00 00  size 28, count 28
 *   0160: 3e 00 15 00 00 00 00 00                          summary: machine 62, contents 0x15
 *   0168: 02 00 00 00 00 00 00 00                          function_count 2
 *   0170: 01 00 00 00 00 00 00 00                          inlined_count 1
 *   0178: 03 00 00 00 00 00 00 00                          line_row_count 3
 *   0180: 03 00 00 00 00 00 00 00                          interval_count 3 (the hole is not one)
 *   0188: 00 00 00 00 00 00 00 00                          damage_count 0
 *   0190: 24 00 00 00 00 00 00 00                          executable_bytes 36
 *   0198: 14 00 00 00 00 00 00 00                          covered_bytes 20
 *   01a0: 01 00 00 00 06 00 00 00                          id: kind 1 (gnu), string 6
 *   01a8: 00 00 00 00 00 00 00 00 00 00 40 00 00 00 00 00  segment: offset, address
 *   01b8: 00 10 00 00 00 00 00 00 00 10 00 00 00 00 00 00  file_size, memory_size
 *   01c8: 05 00 00 00 00 00 00 00                          flags PF_R | PF_X
 *   01d0: 00 10 40 00 00 00 00 00 24 10 40 00 00 00 00 00  block: base 0x401000, end 0x401024
 *   01e0: 00 00 00 00 04 00 00 00                          intervals from 0, 4 of them
 *   01e8: 00 00 00 00 00 00 00 00 00 00 00 00 00 00 00 00  no buckets
 *   01f8: 00 00 00 00 01 00 00 00                          interval 0x401000: location 1
 *   0200: 08 00 00 00 03 00 00 00                          interval 0x401008: location 3
 *   0208: 10 00 00 00 00 00 00 40                          interval 0x401010: a hole
 *   0210: 20 00 00 00 04 00 00 80                          interval 0x401020: location 4, no line
 *   0218: 01 00 00 00 01 00 00 00                          location 1: function 1, file 1
 *   0220: 04 00 00 00 00 00 00 00 00 50 00 00              line 4, no parent, column 5, depth 1
 *   022c: 01 00 00 00 01 00 00 00                          location 2: function 1, file 1
 *   0234: 05 00 00 00 00 00 00 00 00 90 00 00              line 5, no parent, column 9, depth 1
 *   0240: 02 00 00 00 02 00 00 00                          location 3: function 2, file 2
 *   0248: 02 00 00 00 02 00 00 00 01 00 00 00              line 2, parent 2, depth 2
 *   0254: 03 00 00 00 00 00 00 00                          location 4: function 3, no file
 *   025c: 00 00 00 00 00 00 00 00 00 00 00 00              no line, no parent, depth 1
 *   0268: 00 10 40 00 00 00 00 00                          function 1: entry_pc 0x401000
 *   0270: 03 00 00 00 01 00 00 00 03 00 00 00 00 00 01 01  main, a.c:3, DWARF, entry_pc is known
 *   0280: 00 00 00 00 00 00 00 00                          function 2: no entry_pc
 *   0288: 04 00 00 00 02 00 00 00 01 00 00 00 00 00 01 00  twice, a.h:1, DWARF
 *   0298: 20 10 40 00 00 00 00 00                          function 3: entry_pc 0x401020
 *   02a0: 05 00 00 00 00 00 00 00 00 00 00 00 00 00 03 01  _fini, symtab, entry_pc is known
 *   02b0: 03 00 00 00 00 00 00 00                          string a.c ends at 3
 *   02b8: 06 00 00 00 00 00 00 00                          string a.h ends at 6
 *   02c0: 0a 00 00 00 00 00 00 00                          string main ends at 10
 *   02c8: 0f 00 00 00 00 00 00 00                          string twice ends at 15
 *   02d0: 14 00 00 00 00 00 00 00                          string _fini ends at 20
 *   02d8: 1c 00 00 00 00 00 00 00                          string 0badc0de ends at 28
 *   02e0: 61 2e 63 61 2e 68 6d 61 69 6e 74 77 69 63 65 5f  a.c a.h main twice _
 *   02f0: 66 69 6e 69 30 62 61 64 63 30 64 65              fini 0badc0de
 */
#pragma once

#include <assert.h>
#include <stdint.h>

#include "base/symbol_source.h"

#define FORMAT_MAGIC "SYMINDEX"
#define FORMAT_MAGIC_SIZE 8
#define FORMAT_ALIGNMENT 8

struct format_header {
    char magic[FORMAT_MAGIC_SIZE];
    uint32_t version; /* INDEX_FORMAT_VERSION */
    uint32_t section_count;
    uint64_t file_size;
    uint32_t reserved;
    uint32_t checksum;
};
_Static_assert(sizeof(struct format_header) == 32, "the header is 32 bytes");

enum format_section_kind {
    FORMAT_SUMMARY = 1,      /* struct format_summary, exactly one */
    FORMAT_IDS = 2,          /* struct format_id, at most INDEX_ID_MAX */
    FORMAT_SEGMENTS = 3,     /* struct format_segment */
    FORMAT_BLOCKS = 4,       /* struct format_block */
    FORMAT_BUCKETS = 5,      /* uint32_t */
    FORMAT_INTERVALS = 6,    /* struct format_interval */
    FORMAT_LOCATIONS = 7,    /* struct format_location */
    FORMAT_FUNCTIONS = 8,    /* struct format_function */
    FORMAT_STRING_ENDS = 9,  /* uint64_t */
    FORMAT_STRING_BYTES = 10 /* bytes */
};
#define FORMAT_SECTION_COUNT 10

struct format_section {
    uint32_t kind;
    uint32_t checksum;
    uint64_t offset; /* from the start of the file */
    uint64_t size;
    uint64_t count;
};
_Static_assert(sizeof(struct format_section) == 32, "a section's entry is 32 bytes");

enum format_contents {
    FORMAT_HAS_DWARF = 1u << 0,
    FORMAT_HAS_PCLNTAB = 1u << 1,
    FORMAT_HAS_SYMTAB = 1u << 2,
    FORMAT_HAS_DYNSYM = 1u << 3,
    FORMAT_EXTENTS_EXACT = 1u << 4,
    FORMAT_CONTENTS_ALL = (1u << 5) - 1,
};

/* As struct index_summary. */
struct format_summary {
    uint16_t machine;
    uint16_t contents; /* of enum format_contents */
    uint32_t reserved;
    uint64_t function_count;
    uint64_t inlined_count;
    uint64_t line_row_count;
    uint64_t interval_count; /* holes not counted */
    uint64_t damage_count;
    uint64_t executable_bytes;
    uint64_t covered_bytes;
};
_Static_assert(sizeof(struct format_summary) == 64, "the summary is 64 bytes");

struct format_id {
    uint32_t kind; /* enum binary_id_kind */
    uint32_t text; /* string */
};
_Static_assert(sizeof(struct format_id) == 8, "an id is 8 bytes");

/* As struct index_segment. */
struct format_segment {
    uint64_t offset;
    uint64_t address;
    uint64_t file_size;
    uint64_t memory_size;
    uint32_t flags;
    uint32_t reserved;
};
_Static_assert(sizeof(struct format_segment) == 40, "a segment is 40 bytes");

struct format_block {
    uint64_t base;
    uint64_t end;
    uint32_t interval_first; /* position in the section of intervals */
    uint32_t interval_count; /* at least one */
    uint32_t bucket_first;   /* position in the section of buckets */
    uint32_t bucket_count;
    uint32_t bucket_shift; /* less than 32; 0 when there are no buckets */
    uint32_t reserved;
};
_Static_assert(sizeof(struct format_block) == 40, "a block is 40 bytes");

#define FORMAT_BUCKETLESS_MAX 16

struct format_interval {
    uint32_t begin;
    uint32_t value;
};
_Static_assert(sizeof(struct format_interval) == 8, "an interval is 8 bytes");

#define FORMAT_LOCATION_MAX ((1u << 30) - 1)
#define FORMAT_VALUE_NONE 0u              /* SYMBOL_MISS_NONE */
#define FORMAT_VALUE_HOLE (1u << 30)      /* SYMBOL_MISS_NO_RANGE */
#define FORMAT_VALUE_NO_LINE (2u << 30)   /* SYMBOL_MISS_NO_LINE */
#define FORMAT_VALUE_NO_INLINE (3u << 30) /* SYMBOL_MISS_INLINE_UNAVAILABLE */
#define FORMAT_VALUE_MISS_MASK (3u << 30)

struct format_location {
    uint32_t function;
    uint32_t file; /* string */
    uint32_t line;
    uint32_t parent;
    uint32_t column_depth; /* column << 12 | depth - 1 */
};
_Static_assert(sizeof(struct format_location) == 20, "a location is 20 bytes");

#define FORMAT_DEPTH_BITS 12
_Static_assert(FRAME_COUNT_MAX == 1 << FORMAT_DEPTH_BITS, "a depth bounds the walk of its chain");
/* A larger column is kept as 0, which means unknown. */
#define FORMAT_COLUMN_MAX ((1u << (32 - FORMAT_DEPTH_BITS)) - 1)

struct format_function {
    uint64_t entry_pc;   /* 0 unless has_entry_pc */
    uint32_t name;       /* string */
    uint32_t start_file; /* string */
    uint32_t start_line;
    uint16_t flags; /* of enum symbol_flags */
    uint8_t origin; /* enum symbol_origin */
    uint8_t has_entry_pc;
};
_Static_assert(sizeof(struct format_function) == 24, "a function is 24 bytes");
