/*
 * Input: a letter (d: a .dwo, p: a .dwp, s: a supplementary file), the size of the main file (4
 * bytes, little-endian), the main file, and the other one. SOUND is the letter in upper case: all
 * that the main file needs must be found.
 *
 * Property: whatever both files hold, our own DWARF source keeps the promises of
 * tests/support/source_check.h; of a sound pair no split unit is missing.
 */
#include <assert.h>
#include <ctype.h>
#include <stdint.h>

#include "base/cursor.h"
#include "debuginfo/dwarf_source.h"
#include "tests/support/source_check.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static const struct elf_limits limits = {.inflated_size_max = (uint64_t)64 << 20};

static void check(uint8_t letter, struct span main_bytes, struct span other_bytes) {
    CLEANUP(cleanup_elf_file) struct elf_file *file = NULL;
    CLEANUP(cleanup_elf_file) struct elf_file *other = NULL;
    CLEANUP(cleanup_symbol_source) struct symbol_source *source = NULL;
    struct error error;
    if (elf_file_open_memory(main_bytes, &limits, &file, &error) ||
        elf_file_open_memory(other_bytes, &limits, &other, &error))
        return;
    struct dwarf_files files = {.main = file};
    if (tolower(letter) == 's')
        files.supplement = other;
    else if (tolower(letter) == 'p')
        files.split.package = other;
    else
        files.split = (struct dwarf_split_files){.dwos = &other, .dwo_count = 1};
    if (dwarf_source_new_spread(&files, &source, &error)) {
        assert(error.text[0]);
        return;
    }
    uint64_t id;
    assert(!isupper(letter) || dwarf_source_missing_dwos(source, &id, 1) == 0);
    source_check(file, source, true);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    struct cursor cursor = cursor_of(span_of(data, size), false, "input");
    uint8_t letter = cursor_u8(&cursor);
    struct span main_bytes = cursor_bytes(&cursor, cursor_u32(&cursor));
    if (!cursor_failed(&cursor))
        check(letter, main_bytes, cursor_bytes(&cursor, cursor_left(&cursor)));
    return 0;
}
