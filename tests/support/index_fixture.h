/* Small indexes for tests. A failure inside ends the test program. */
#pragma once

#include <stdint.h>

#include "base/span.h"
#include "symbolizer/build/index_writer.h"

/* The file that the writer makes of what it holds, in memory to be freed. */
struct span index_fixture_finish(struct index_writer *writer, const struct index_summary *summary);

/* The worked example of symbolizer/index/format.h. */
struct span index_fixture_example(void);

/* The worked example's shape with `count` intervals, all of one byte and two apart from 0x1000 on:
 * enough of them make buckets. The interval at position i runs line i + 1. */
struct span index_fixture_comb(uint32_t count);

/* At address 0x1000 + i, a chain of function fi inlined into itself `depth` - 1 times; its
 * outermost frame runs line 1, each one inside the next line. */
struct span index_fixture_chains(unsigned count, unsigned depth);

/* The checksums of sections and header made to fit bytes that a test has changed, so that the
 * change is met by what lies behind the checksums. Too small a file stays as it is. */
void index_fixture_repair(char *bytes, size_t size);

/* The header's size and checksum alone. There must be a whole header and section table. */
void index_fixture_repair_header(char *bytes, uint64_t file_size);
