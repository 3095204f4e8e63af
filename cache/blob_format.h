/*
 * The format of a compressed blob, blobs/<2 hex>/<62 hex>.zst: the raw bytes cut into pieces of
 * BLOB_FRAME_SIZE, each a zstd frame (RFC 8878) of its own with content size and checksum, so that
 * any range is read without inflating what lies before it; then a table of the frames. It is the
 * "zstd seekable format", version 0.1.0, so that any zstd program inflates the whole:
 *
 *     frame 0 … frame n-1          each of BLOB_FRAME_SIZE raw bytes, the last of 1 or more
 *     skippable frame              all numbers little-endian
 *         u32 0x184D2A5E           magic of a skippable frame
 *         u32 8 * n + 9            size of what follows
 *         n times
 *             u32 stored size      of the frame
 *             u32 raw size
 *         u32 n
 *         u8  0                    no checksums in the table: the frames have their own
 *         u32 0x8F92EAB1           magic of the seek table
 *
 * Example: 1048577 zero bytes make a frame of 1048576 raw bytes, one of a single byte, and a table
 * of 8 + 16 + 9 bytes.
 *
 * Versions: there is one. A change gets another suffix than .zst.
 */
#pragma once

#define BLOB_COMPRESSED_SUFFIX ".zst"

#define BLOB_FRAME_SIZE ((size_t)1 << 20)

#define BLOB_SKIPPABLE_MAGIC 0x184D2A5Eu
#define BLOB_TABLE_MAGIC 0x8F92EAB1u
#define BLOB_TABLE_HEADER_SIZE 8
#define BLOB_TABLE_ENTRY_SIZE 8
#define BLOB_TABLE_FOOTER_SIZE 9

/* 16 TiB of raw bytes: more than any upload may have, and its table fits the 32-bit size field. */
#define BLOB_FRAME_COUNT_MAX ((uint32_t)1 << 24)
