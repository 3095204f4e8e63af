/* Small indexes for tests. A failure inside ends the test program. */
#pragma once

#include "base/span.h"
#include "symbolizer/build/index_writer.h"

/* The file that the writer makes of what it holds, in memory to be freed. */
struct span index_fixture_finish(struct index_writer *writer, const struct index_summary *summary);

/* The worked example of symbolizer/index/format.h. */
struct span index_fixture_example(void);

/* The checksums of sections and header made to fit bytes that a test has changed, so that the
 * change is met by what lies behind the checksums. Leaves a file without a sound section table as
 * it is. */
void index_fixture_repair(char *bytes, size_t size);
