/* Property: whatever the file, our own DWARF source keeps the promises of
 * tests/support/source_check.h. */
#include <assert.h>
#include <stdint.h>

#include "debuginfo/dwarf_source.h"
#include "tests/support/source_check.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    const struct elf_limits limits = {.inflated_size_max = (uint64_t)64 << 20};
    CLEANUP(cleanup_elf_file) struct elf_file *file = NULL;
    CLEANUP(cleanup_symbol_source) struct symbol_source *source = NULL;
    struct error error;
    if (elf_file_open_memory(span_of(data, size), &limits, &file, &error) ||
        dwarf_source_new(file, &source, &error)) {
        assert(error.text[0]);
        return 0;
    }
    source_check(file, source, true);
    return 0;
}
