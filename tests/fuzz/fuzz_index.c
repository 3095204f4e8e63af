/*
 * Input: 'f' and the bytes of an index file; or 'p' and patches of three bytes (offset low, offset
 * high, exclusive-or) for a small sound index with buckets and chains. Checksums are made to fit,
 * so that what lies behind them is reached.
 *
 * Property: nothing is read outside the file, walks end, the ways of walking agree, and in a file
 * that index_verify accepts every interval is found again at its first and last address, and no
 * damage is met.
 */
#include <assert.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/symbol_source.h"
#include "symbolizer/index/index.h"
#include "symbolizer/index/index_dump.h"
#include "tests/support/index_fixture.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* A hostile file may hold many long chains; these are enough. */
#define FRAMES_MAX 100000

static struct span make_file(const uint8_t *data, size_t size) {
    if (data[0] == 'f') {
        char *copy = malloc(size);
        assert(copy);
        memcpy(copy, data + 1, size - 1);
        return span_of(copy, size - 1);
    }
    struct span bytes = index_fixture_comb(40);
    uint8_t *patched = (uint8_t *)bytes.data;
    for (size_t i = 1; i + 2 < size; i += 3)
        patched[(data[i] | data[i + 1] << 8) % bytes.size] ^= data[i + 2];
    return bytes;
}

/* Reads both ends, so that a sanitizer sees a span that leaves the file. */
static void touch(struct span text) {
    if (text.size == 0)
        return;
    volatile char ends[2] = {text.data[0], text.data[text.size - 1]};
    (void)ends;
}

/* All frames of a chain at once, as those that come one by one. */
static void check_frames(const struct index *index, struct index_chain chain) {
    static struct index_frame frames[FRAME_COUNT_MAX + 1];
    struct index_chain one_by_one = chain;
    struct index_scratch scratch;
    struct symbol_frame frame;
    size_t count = index_frames(index, &chain, FRAME_COUNT_MAX + 1, frames);
    assert(count <= FRAME_COUNT_MAX && chain.scope == 0);
    for (size_t i = 0; i < count; i++) {
        bool more = index_chain_next(index, &one_by_one, &scratch, &frame);
        assert(more && frames[i].line == frame.line && span_equal(frames[i].name, frame.name));
        assert(frames[i].has_entry_pc == frame.has_entry_pc);
        touch(index_path(index, frames[i].start_file, scratch.bytes));
    }
    assert(!index_chain_next(index, &one_by_one, &scratch, &frame));
}

static unsigned walk_chain(const struct index *index, struct index_chain chain) {
    struct index_scratch scratch;
    struct symbol_frame frame;
    unsigned frames = 0;
    check_frames(index, chain);
    while (index_chain_next(index, &chain, &scratch, &frame)) {
        assert(++frames <= FRAME_COUNT_MAX);
        touch(frame.name);
        touch(frame.file);
        touch(frame.start_file);
    }
    return frames;
}

static void check_interval(const struct index *index, struct pc_range range, struct index_hit hit,
                           bool sound) {
    const uint64_t pcs[] = {range.end - 1, range.begin};
    struct index_hit hits[2];
    assert(range.begin < range.end);
    index_lookup(index, pcs, 2, hits);
    for (unsigned i = 0; i < 2 && sound; i++)
        assert(hits[i].chain.scope == hit.chain.scope && hits[i].miss == hit.miss);
}

static void survey(const struct index *index, bool sound) {
    struct index_position position = {0};
    struct index_hit hit;
    struct pc_range range;
    unsigned frames = 0;
    for (unsigned i = 0; i < FRAMES_MAX && frames < FRAMES_MAX &&
                         index_interval_next(index, &position, &range, &hit);
         i++) {
        check_interval(index, range, hit, sound);
        frames += walk_chain(index, hit.chain);
    }
    for (unsigned bit = 0; bit < 64; bit++) {
        uint64_t pc = (uint64_t)0x1fff << bit;
        index_lookup(index, &pc, 1, &hit);
        walk_chain(index, hit.chain);
    }
    struct index_summary summary;
    index_summary_read(index, &summary);
    assert(summary.id_count <= INDEX_ID_MAX);
    if (sound)
        assert(index_damage_count(index) == 0);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    if (size < 1)
        return 0;
    struct span bytes = make_file(data, size);
    struct error error = {0};
    struct index *index = NULL;
    index_fixture_repair((char *)bytes.data, bytes.size);
    enum err err = index_open_memory(bytes, &index, &error);
    assert(err == ERR_OK || (error.code == err && error.text[0]));
    if (err == ERR_OK) {
        err = index_verify(index, &error);
        assert(err == ERR_OK || err == ERR_MALFORMED);
        survey(index, err == ERR_OK);
    }
    index_free(index);
    free((void *)bytes.data);
    return 0;
}
