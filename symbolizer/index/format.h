/*
 * The index file, to the byte. symbolizer/build/index_writer.h writes it, symbolizer/index/index.h
 * reads it.
 *
 * Version history
 *   1   flat arrays of intervals, locations, functions and strings
 *   2   packed blocks; a leaf's line stands with its interval; files split at the last '/'
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
 * All numbers are little-endian. A section of fixed records is `count` records of one size, so its
 * size is count times that. A packed section (intervals, scopes, functions, files) is blocks of
 * bytes, one after another in ascending order without a gap, then FORMAT_TAIL zero bytes, so that a
 * load of eight bytes never leaves it; its count is that of the records in the blocks, and the
 * section before it holds for each block its first byte's offset in the section, plus one.
 * Reserved fields are zero, and a reader refuses others. Checksums are CRC-32 (ISO 3309, as in
 * zlib): a section's is over its `size` bytes; the header's is over header and section table with
 * the header's checksum taken as zero.
 *
 * Bits: bit k of a run of bits is bit k % 8 (0 the lowest) of byte k / 8. A field of w bits at bit
 * k has its lowest bit at k. Fields follow each other without padding; what is left of a block's
 * last byte is zero. A width may be 0, then the field is 0 and takes no room. A width is the
 * smallest that holds all values of the block unless it says otherwise.
 *
 * References by number (scopes, functions, files, directories) start at 1; 0 means none.
 *
 * From an address to an interval
 *
 *   stretches  Disjoint [base, end) of addresses in ascending order; an address in none of them is
 *              a miss. A stretch is cut into blocks of 1 << block_shift units, each of
 *              1 << unit_shift bytes, whatever lies in them: the number of an address's block is
 *              computed. Every interval begins at a whole unit above the base.
 *   interval_offsets
 *              For each block of each stretch, stretches in order: where it is in `intervals`, plus
 *              one, or 0 when nothing in it is covered.
 *   intervals  A block holds what begins inside it, and at its begin what reaches into it, as a
 *              record of its own; so the first record begins at 0, and every record reaches to the
 *              next, or to the end of the block or stretch. Holes are records. struct
 *              format_interval_block, then
 *                marks   one bit per record, up to a whole byte: is its scope another than that of
 *                        the record before (the first: yes)? Such records start a run.
 *                upper   The begins, in units above the block's, as in Elias and Fano's code: for
 *                        record i with begin b, bit (b >> low_bits) + i is set; the others of the
 *                        record_count + (1 << (block_shift - low_bits)) bits are clear. Up to a
 *                        whole byte. The number of set bits before the k-th clear one is how many
 *                        records begin below (k + 1) << low_bits.
 *                low     low_bits per record: the lower bits of the begins
 *                rows    per record, line code (line_bits) and column (column_bits)
 *                scopes  scope_bits per run: 0 for a hole, else the scope minus scope_base plus one
 *                exceptions  if there are any: 6 bits each for two widths; then per exception, in
 *                        ascending order of records: the record's position in the block (as many
 *                        bits as record_count - 1 has), its miss (2 bits, enum symbol_miss), file
 *                        (first width), line (second width)
 *
 * A line code says in which file and line a frame of a known function is: 0 that neither is known
 * (for an interval: SYMBOL_MISS_NO_LINE); with all bits set, that an exception tells; any other is
 * the function's line plus the code minus 1, in the function's file. line_bits is what makes the
 * block smallest; a code of no bits counts as all bits set.
 *
 * From an interval to frames
 *
 *   scopes     Who executes, and why: a function, and the scope and place that it was inlined into
 *              (the parent; none for a function's own code). A parent has a smaller number, which
 *              rules out cycles. Blocks of FORMAT_BLOCK_RECORDS scopes: struct format_scope_block,
 *              then per scope: function minus function_base, distance down to the parent (0: none),
 *              line code and column of the call in the parent's function. Then, for each scope in
 *              entry_mask, its entry pc minus entry_base. Then exceptions as above, without miss,
 *              with 6 bits of position.
 *              All scopes inlined into one function have neighbouring numbers, whatever else lies
 *              around their code, since a block of intervals needs bits for the spread of its
 *              scopes; functions follow each other by entry pc.
 *   functions  In the order in which scopes first name them. Blocks of FORMAT_BLOCK_RECORDS: struct
 *              format_function_block, then per function: where its name ends in name_bytes minus
 *              name_base (a name begins where the one before ends, the first of a block at
 *              name_base), file minus file_base, line, attributes (FORMAT_ATTRIBUTE_*) minus
 *              attribute_base. File and line are where the function is declared; where that is not
 *              known, the attributes say so, and they are those that suit its line codes best.
 *   files      Blocks of FORMAT_BLOCK_RECORDS: struct format_file_block, then per file: where it
 *              ends in path_bytes minus path_base (begins as for names), directory minus
 *              directory_base. A path is the directory's bytes and the file's.
 *   directory_ends, directory_bytes
 *              Directory n is the bytes from directory_ends[n - 2] (0 for n = 1) to
 *              directory_ends[n - 1]. A path has a directory only if it is at
 *              most FORMAT_JOINED_PATH_MAX bytes and another path has the same; all others are
 *              there in one piece.
 *
 * Why so. Measured on libc, libpython, libjvm and ceph-osd, Debian's -dbg files:
 *
 *                                        libc    libpython   libjvm     ceph-osd
 *     intervals                          154951  246595      1576769    1753999
 *     version 1, MB                      4.09    7.25        55.1       77.9
 *     version 2, MB                      0.60    1.02        14.4       32.0
 *     of these, names                    0.07    0.18        4.4        19.4
 *     version 2 without columns, MB      0.48    0.75        12.0       29.4
 *     GSYM (llvm-gsymutil 14 or 19), MB  0.71    1.57        29.6       57.6
 *
 *   - A leaf's line in its interval instead of behind a number of a shared location: in libc
 *     locations repeat in a fifth of the intervals only, and a number costs as many bits as a line
 *     code. One table less on a lookup's way.
 *   - Fixed widths inside a block: any record is read without those before it, which deltas, though
 *     smaller, would not allow.
 *   - Blocks cut by address: no search for the block, 0.3 bits an interval for finding it; begins
 *     take 5.1 bits each, 10 when stored as they are.
 *   - Runs of scopes: 2.3 instead of 6.6 bits an interval in libc, 11 instead of 13 in ceph-osd.
 *   - Scopes numbered by function: 13 instead of 15.5 bits an interval on ceph-osd, whose cold
 *     parts lie far from their functions.
 *   - Names in one piece: front-coded those of ceph-osd would take 9.4 MB, but each name of each
 *     frame would have to be put together.
 *   - Paths in two pieces: half of their bytes, which is 6 % of libc's index; whoever asks for many
 *     frames gets their numbers (index_frames) and makes each path once.
 *
 * A worked example. The binary has build ID 0badc0de, machine 62 (x86-64), one PT_LOAD of 0x1000
 * bytes at 0x400000 that is readable and executable. `main` lies at [0x401000, 0x401010) and is
 * declared in a.c:3. The first eight bytes come from line 4, column 5; the others are `twice`,
 * declared in a.h:1, inlined at a.c:5 column 9, running a.h:2 column 0. A symbol `_fini` answers
 * for [0x401020, 0x401024) without a line. Tuples are rows, their fields in the order given above.
 *
 *   0000: 53 59 4d 49 4e 44 45 58                         header: magic
 *   0008: 02 00 00 00 10 00 00 00                         version 2, 16 sections
 *   0010: 7e 03 00 00 00 00 00 00                         file_size 894
 *   0018: 00 00 00 00 13 e8 ab f2                         reserved, checksum
 *   0020: 01 00 00 00 e9 75 f1 e1 20 02 00 00 00 00 00 00  kind 1 summary
 *   0030: 48 00 00 00 00 00 00 00 01 00 00 00 00 00 00 00  size 72, count 1
 *   0040: 02 00 00 00 9a 24 df b0 68 02 00 00 00 00 00 00  kind 2 ids
 *   0050: 0a 00 00 00 00 00 00 00 01 00 00 00 00 00 00 00  size 10, count 1
 *   0060: 03 00 00 00 9f dc dd fc 78 02 00 00 00 00 00 00  kind 3 segments
 *   0070: 28 00 00 00 00 00 00 00 01 00 00 00 00 00 00 00  size 40, count 1
 *   0080: 04 00 00 00 2f b4 7b df a0 02 00 00 00 00 00 00  kind 4 stretches
 *   0090: 20 00 00 00 00 00 00 00 01 00 00 00 00 00 00 00  size 32, count 1
 *   00a0: 05 00 00 00 79 b8 f8 99 c0 02 00 00 00 00 00 00  kind 5 interval_offsets
 *   00b0: 04 00 00 00 00 00 00 00 01 00 00 00 00 00 00 00  size 4, count 1
 *   00c0: 06 00 00 00 3e f1 0c 11 c8 02 00 00 00 00 00 00  kind 6 intervals
 *   00d0: 1c 00 00 00 00 00 00 00 04 00 00 00 00 00 00 00  size 28, count 4
 *   00e0: 07 00 00 00 79 b8 f8 99 e8 02 00 00 00 00 00 00  kind 7 scope_offsets
 *   00f0: 04 00 00 00 00 00 00 00 01 00 00 00 00 00 00 00  size 4, count 1
 *   0100: 08 00 00 00 37 48 a3 e7 f0 02 00 00 00 00 00 00  kind 8 scopes
 *   0110: 28 00 00 00 00 00 00 00 03 00 00 00 00 00 00 00  size 40, count 3
 *   0120: 09 00 00 00 79 b8 f8 99 18 03 00 00 00 00 00 00  kind 9 function_offsets
 *   0130: 04 00 00 00 00 00 00 00 01 00 00 00 00 00 00 00  size 4, count 1
 *   0140: 0a 00 00 00 d1 9c a8 5c 20 03 00 00 00 00 00 00  kind 10 functions
 *   0150: 21 00 00 00 00 00 00 00 03 00 00 00 00 00 00 00  size 33, count 3
 *   0160: 0b 00 00 00 79 b8 f8 99 48 03 00 00 00 00 00 00  kind 11 file_offsets
 *   0170: 04 00 00 00 00 00 00 00 01 00 00 00 00 00 00 00  size 4, count 1
 *   0180: 0c 00 00 00 52 be fe fc 50 03 00 00 00 00 00 00  kind 12 files
 *   0190: 17 00 00 00 00 00 00 00 02 00 00 00 00 00 00 00  size 23, count 2
 *   01a0: 0d 00 00 00 00 00 00 00 68 03 00 00 00 00 00 00  kind 13 directory_ends
 *   01b0: 00 00 00 00 00 00 00 00 00 00 00 00 00 00 00 00  size 0, count 0
 *   01c0: 0e 00 00 00 00 00 00 00 68 03 00 00 00 00 00 00  kind 14 directory_bytes
 *   01d0: 00 00 00 00 00 00 00 00 00 00 00 00 00 00 00 00  size 0, count 0
 *   01e0: 0f 00 00 00 85 f5 73 24 68 03 00 00 00 00 00 00  kind 15 path_bytes
 *   01f0: 06 00 00 00 00 00 00 00 06 00 00 00 00 00 00 00  size 6, count 6
 *   0200: 10 00 00 00 89 09 1b e4 70 03 00 00 00 00 00 00  kind 16 name_bytes
 *   0210: 0e 00 00 00 00 00 00 00 0e 00 00 00 00 00 00 00  size 14, count 14
 *   0220: 3e 00 15 00 00 00 00 00                         summary: machine 62, contents 0x15
 *   0228: 02 00 00 00 00 00 00 00                         function_count 2
 *   0230: 01 00 00 00 00 00 00 00                         inlined_count 1
 *   0238: 03 00 00 00 00 00 00 00                         line_row_count 3
 *   0240: 03 00 00 00 00 00 00 00                         interval_count 3 (the hole is not one)
 *   0248: 03 00 00 00 00 00 00 00                         location_count 3
 *   0250: 00 00 00 00 00 00 00 00                         damage_count 0
 *   0258: 24 00 00 00 00 00 00 00                         executable_bytes 36
 *   0260: 14 00 00 00 00 00 00 00                         covered_bytes 20
 *   0268: 01 08 30 62 61 64 63 30 64 65                   id: kind 1 (gnu), 8 bytes
 *   0272: 00 00 00 00 00 00
 *   0278: 00 00 00 00 00 00 00 00 00 00 40 00 00 00 00 00  segment: offset, address
 *   0288: 00 10 00 00 00 00 00 00 00 10 00 00 00 00 00 00  file_size, memory_size
 *   0298: 05 00 00 00 00 00 00 00                         flags PF_R | PF_X
 *   02a0: 00 10 40 00 00 00 00 00 24 10 40 00 00 00 00 00  stretch: base 0x401000, end 0x401024
 *   02b0: 00 00 00 00 01 00 00 00                         blocks from 0, 1 of them
 *   02b8: 06 03 00 00 00 00 00 00                         of 64 units of 8 bytes
 *   02c0: 01 00 00 00                                     its block is at 0
 *   02c4: 00 00 00 00
 *   02c8: 01 00 00 00 04 00 00 00                         scope_base 1, 4 records, no exception
 *   02d0: 04 02 02 03                                     bits: low 4, scope 2, line 2, column 3
 *   02d4: 0f 0f                                           marks 1 1 1 1; upper 1 1 1 1 0 0 0 0
 *   02d6: 10 42                                           low 0, 1, 2, 4
 *   02d8: 56 00 90 0c  (2, 5) (2, 0) (0, 0) (0, 0); scopes 1 2 0 3
 *   02dc: 00 00 00 00 00 00 00 00                         tail
 *   02e4: 00 00 00 00
 *   02e8: 01 00 00 00
 *   02ec: 00 00 00 00
 *   02f0: 05 00 00 00 00 00 00 00                         entry_mask: scopes 1 and 3
 *   02f8: 00 10 40 00 00 00 00 00                         entry_base 0x401000
 *   0300: 01 00 00 00                                     function_base 1
 *   0304: 02 01 03 04 06 00                               bits: 2, 1, 3, 4; 6; no exception
 *   030a: 00 74 29 00 00 02  (0, 0, 0, 0) (1, 1, 3, 9) (2, 0, 0, 0); 0 0x20
 *   0310: 00 00 00 00 00 00 00 00                         tail
 *   0318: 01 00 00 00
 *   031c: 00 00 00 00
 *   0320: 00 00 00 00 00 00 00 00                         name_base 0
 *   0328: 00 00 00 00 04 00 00 00                         file_base 0, attribute_base 4
 *   0330: 04 02 02 04                                     bits: 4, 2, 2, 4
 *   0334: d4 90 06 0e 0b                                  (4, 1, 3, 0) (9, 2, 1, 0) (14, 0, 0, 11)
 *   0339: 00 00 00 00 00 00 00 00                         tail
 *   0341: 00 00 00 00 00 00 00
 *   0348: 01 00 00 00
 *   034c: 00 00 00 00
 *   0350: 00 00 00 00 00 00 00 00                         path_base 0
 *   0358: 00 00 00 00 03 00                               directory_base 0; bits: 3, 0
 *   035e: 33                                              (3, 0) (6, 0)
 *   035f: 00 00 00 00 00 00 00 00                         tail
 *   0367: 00
 *   0368: 61 2e 63 61 2e 68                               a.c a.h
 *   036e: 00 00
 *   0370: 6d 61 69 6e 74 77 69 63 65 5f 66 69 6e 69       main twice _fini
 */
#pragma once

#include <assert.h>
#include <stdint.h>

#include "base/symbol_source.h"

#define FORMAT_MAGIC "SYMINDEX"
#define FORMAT_MAGIC_SIZE 8
#define FORMAT_ALIGNMENT 8
#define FORMAT_TAIL 8

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
    FORMAT_SUMMARY = 1,          /* struct format_summary, exactly one */
    FORMAT_IDS = 2,              /* per id: kind (1 byte), size (1 byte), text */
    FORMAT_SEGMENTS = 3,         /* struct format_segment */
    FORMAT_STRETCHES = 4,        /* struct format_stretch */
    FORMAT_INTERVAL_OFFSETS = 5, /* uint32_t */
    FORMAT_INTERVALS = 6,        /* packed */
    FORMAT_SCOPE_OFFSETS = 7,    /* uint32_t */
    FORMAT_SCOPES = 8,           /* packed */
    FORMAT_FUNCTION_OFFSETS = 9, /* uint32_t */
    FORMAT_FUNCTIONS = 10,       /* packed */
    FORMAT_FILE_OFFSETS = 11,    /* uint32_t */
    FORMAT_FILES = 12,           /* packed */
    FORMAT_DIRECTORY_ENDS = 13,  /* uint32_t */
    FORMAT_DIRECTORY_BYTES = 14, /* bytes */
    FORMAT_PATH_BYTES = 15,      /* bytes */
    FORMAT_NAME_BYTES = 16       /* bytes */
};
#define FORMAT_SECTION_COUNT 16

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
    FORMAT_WITHOUT_COLUMNS = 1u << 5,
    FORMAT_CONTENTS_ALL = (1u << 6) - 1,
};

/* As struct index_summary. */
struct format_summary {
    uint16_t machine;
    uint16_t contents; /* of enum format_contents */
    uint32_t reserved;
    uint64_t function_count;
    uint64_t inlined_count;
    uint64_t line_row_count;
    uint64_t interval_count; /* holes not counted, each interval once */
    uint64_t location_count; /* scopes that were given to the writer */
    uint64_t damage_count;
    uint64_t executable_bytes;
    uint64_t covered_bytes;
};
_Static_assert(sizeof(struct format_summary) == 72, "the summary is 72 bytes");

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

struct format_stretch {
    uint64_t base;
    uint64_t end;
    uint32_t block_first; /* position in interval_offsets */
    uint32_t block_count; /* up to the one that holds the byte before end */
    uint8_t block_shift;  /* block_shift + unit_shift is less than 64 */
    uint8_t unit_shift;
    uint8_t reserved[6];
};
_Static_assert(sizeof(struct format_stretch) == 32, "a stretch is 32 bytes");

struct format_interval_block {
    uint32_t scope_base;
    uint16_t record_count; /* at least one */
    uint16_t exception_count;
    uint8_t low_bits; /* at most block_shift, FORMAT_LOW_BITS_MAX */
    uint8_t scope_bits;
    uint8_t line_bits;
    uint8_t column_bits;
};
_Static_assert(sizeof(struct format_interval_block) == 12,
               "an interval block starts with 12 bytes");

/* What a load of eight bytes holds of a field that starts within its first byte. */
#define FORMAT_LOW_BITS_MAX 57
/* block_shift - low_bits at most: what an upper part can have of clear bits. */
#define FORMAT_UPPER_SHIFT_MAX 17

#define FORMAT_BLOCK_RECORDS 64

struct format_scope_block {
    uint64_t entry_mask; /* bit i: the scope at position i has an entry pc */
    uint64_t entry_base; /* the lowest of them, or 0 */
    uint32_t function_base;
    uint8_t function_bits;
    uint8_t parent_bits;
    uint8_t line_bits;
    uint8_t column_bits;
    uint8_t entry_bits; /* at most 64 */
    uint8_t exception_count;
} __attribute__((packed));
_Static_assert(sizeof(struct format_scope_block) == 26, "a scope block starts with 26 bytes");

struct format_function_block {
    uint64_t name_base;
    uint32_t file_base;
    uint32_t attribute_base;
    uint8_t end_bits; /* at most 57 */
    uint8_t file_bits;
    uint8_t line_bits;
    uint8_t attribute_bits;
} __attribute__((packed));
_Static_assert(sizeof(struct format_function_block) == 20, "a function block starts with 20 bytes");

/* The rarer and the larger, the higher: a block's width is that of its largest. */
enum format_attributes {
    FORMAT_ATTRIBUTE_NO_START_FILE = 1u << 0,
    FORMAT_ATTRIBUTE_NO_START_LINE = 1u << 1,
    FORMAT_ATTRIBUTE_ORIGIN_SHIFT = 2, /* enum symbol_origin */
    FORMAT_ATTRIBUTE_ORIGIN_MASK = 7,
    FORMAT_ATTRIBUTE_FLAGS_SHIFT = 5, /* of enum symbol_flags */
};
#define FORMAT_FLAGS_MAX UINT16_MAX

struct format_file_block {
    uint64_t path_base;
    uint32_t directory_base;
    uint8_t end_bits; /* at most 57 */
    uint8_t directory_bits;
} __attribute__((packed));
_Static_assert(sizeof(struct format_file_block) == 14, "a file block starts with 14 bytes");

#define FORMAT_JOINED_PATH_MAX 4096

/* A larger column is kept as 0, which means unknown. */
#define FORMAT_COLUMN_MAX ((1u << 20) - 1)

/* Sections that are referred to by 32-bit offsets stay below this. */
#define FORMAT_PACKED_SIZE_MAX (UINT32_MAX - 64)
#define FORMAT_RECORD_MAX ((1u << 30) - 1)
