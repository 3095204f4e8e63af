/*
 * Property: whatever the uploaded bytes, building an index fails with a reason or gives an index
 * that verifies, is found free of damage by a walk over everything in it, and says of itself what
 * the builder said.
 */
#include <assert.h>
#include <stdint.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/fd.h"
#include "symbolizer/build/build.h"

#define MEMORY_MAX ((uint64_t)256 << 20)
#define INFLATED_SIZE_MAX ((uint64_t)64 << 20)
#define WALKED_MAX 20000

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void walk(const struct index *index) {
    static struct index_scratch scratch;
    struct index_position position = {0};
    struct pc_range range;
    struct index_hit hit;
    uint64_t end = 0;
    for (int i = 0; i < WALKED_MAX && index_interval_next(index, &position, &range, &hit); i++) {
        struct symbol_frame frame;
        struct index_hit asked;
        assert(range.begin >= end && range.begin < range.end);
        end = range.end;
        index_lookup(index, &range.begin, 1, &asked);
        assert(asked.chain.scope == hit.chain.scope && asked.miss == hit.miss);
        assert(hit.chain.scope != 0);
        while (index_chain_next(index, &hit.chain, &scratch, &frame))
            assert(frame.origin != SYMBOL_ORIGIN_NONE);
    }
    assert(index_damage_count(index) == 0);
}

static void check_index(int fd, const struct index_summary *summary, uint64_t size) {
    CLEANUP(cleanup_index) struct index *index = NULL;
    struct index_summary read;
    struct error error;
    enum err err = index_open_fd(fd, &index, &error);
    assert(err == ERR_OK);
    err = index_verify(index, &error);
    assert(err == ERR_OK);
    assert(index_size(index) == size);
    index_summary_read(index, &read);
    assert(read.interval_count == summary->interval_count);
    assert(read.location_count == summary->location_count);
    assert(read.function_count == summary->function_count);
    assert(read.damage_count == summary->damage_count);
    walk(index);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    CLEANUP(cleanup_fd) int input = memfd_create("input", MFD_CLOEXEC);
    CLEANUP(cleanup_fd) int output = memfd_create("output", MFD_CLOEXEC);
    struct error error = {0};
    assert(input >= 0 && output >= 0);
    enum err err = fd_write_all(input, data, size, &error);
    assert(err == ERR_OK);
    struct job_input inputs = {JOB_ROLE_MAIN, input};
    struct build_limits limits = {
        .memory_max = MEMORY_MAX, .inflated_size_max = INFLATED_SIZE_MAX, .thread_count = 2};
    struct build_result result;
    err = build_index(&inputs, 1, &limits, output, &result, &error);
    if (err)
        assert(error.code == err && error.text[0]);
    else
        check_index(output, &result.summary, result.size);
    return 0;
}
