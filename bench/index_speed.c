/*
 * How fast an index answers, and what its bytes hold:
 *
 *     index_speed INDEX [ADDRESSES]
 *
 * ADDRESSES is a file of hexadecimal addresses, one a line; without it 100,000 are chosen evenly
 * over the bytes that the index covers. Each figure is the median of several rounds over the same
 * addresses after one that is not counted: nanoseconds of one CPU for one address, from lookup to
 * the last frame of its chain.
 *
 *   frames   names in place, lines, entry pcs, paths as numbers (index_frames)
 *   touched  the same, reading the first byte of each name
 *   paths    the same with all paths in one piece (index_chain_next)
 */
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "base/fd.h"
#include "symbolizer/index/index.h"
#include "symbolizer/index/index_dump.h"

#define ADDRESS_COUNT ((size_t)100000)
#define BATCH ((size_t)1000)
#define ROUNDS 9

struct addresses {
    uint64_t *list;
    size_t count;
};

static double now_ns(void) {
    struct timespec time;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time);
    return (double)time.tv_sec * 1e9 + (double)time.tv_nsec;
}

static uint64_t random_next(uint64_t *state) {
    *state ^= *state << 13;
    *state ^= *state >> 7;
    *state ^= *state << 17;
    return *state;
}

static int compare(const void *left, const void *right) {
    const uint64_t *a = left;
    const uint64_t *b = right;
    return *a < *b ? -1 : *a > *b;
}

static uint64_t covered_bytes(const struct index *index) {
    struct index_position position = {0};
    struct pc_range range;
    struct index_hit hit;
    uint64_t total = 0;
    while (index_interval_next(index, &position, &range, &hit))
        total += range.end - range.begin;
    return total;
}

/* Offsets into the covered bytes, in order, become addresses in one walk; then they are mixed. */
static void choose_addresses(const struct index *index, struct addresses *addresses) {
    uint64_t state = 0x9e3779b97f4a7c15;
    uint64_t total = covered_bytes(index);
    struct index_position position = {0};
    struct pc_range range;
    struct index_hit hit;
    uint64_t before = 0;
    size_t next = 0;
    if (total == 0)
        addresses->count = 0;
    for (size_t i = 0; i < addresses->count; i++)
        addresses->list[i] = random_next(&state) % total;
    qsort(addresses->list, addresses->count, sizeof(*addresses->list), compare);
    while (index_interval_next(index, &position, &range, &hit)) {
        uint64_t size = range.end - range.begin;
        for (; next < addresses->count && addresses->list[next] - before < size; next++)
            addresses->list[next] = range.begin + (addresses->list[next] - before);
        before += size;
    }
    for (size_t i = addresses->count; i > 1; i--) {
        size_t other = random_next(&state) % i;
        uint64_t address = addresses->list[i - 1];
        addresses->list[i - 1] = addresses->list[other];
        addresses->list[other] = address;
    }
}

static bool read_addresses(const char *path, struct addresses *addresses) {
    FILE *file = fopen(path, "re");
    char line[64];
    if (!file)
        return false;
    addresses->count = 0;
    while (addresses->count < ADDRESS_COUNT && fgets(line, sizeof(line), file))
        addresses->list[addresses->count++] = strtoull(line, NULL, 16);
    fclose(file);
    return addresses->count > 0;
}

struct tally {
    uint64_t frames;
    uint64_t sum; /* of what was read, so that reading is not left out */
};

enum kind { KIND_FRAMES, KIND_TOUCHED, KIND_PATHS };

static void walk_paths(const struct index *index, struct index_chain chain, struct tally *tally) {
    static struct index_scratch scratch;
    struct symbol_frame frame;
    while (index_chain_next(index, &chain, &scratch, &frame)) {
        tally->frames++;
        tally->sum += frame.line + frame.name.size + frame.file.size + frame.entry_pc;
    }
}

#define FRAMES_MAX ((size_t)64)

static void walk(const struct index *index, struct index_chain chain, bool touch,
                 struct tally *tally) {
    static struct index_frame frames[FRAMES_MAX];
    size_t count = FRAMES_MAX;
    while (count == FRAMES_MAX) {
        count = index_frames(index, &chain, FRAMES_MAX, frames);
        for (size_t i = 0; i < count; i++) {
            const struct index_frame *frame = &frames[i];
            tally->sum += frame->line + frame->name.size + frame->file + frame->entry_pc;
            if (touch && frame->name.size)
                tally->sum += (unsigned char)frame->name.data[0];
        }
        tally->frames += count;
    }
}

static double run(const struct index *index, const struct addresses *addresses, size_t batch,
                  enum kind kind, struct tally *tally) {
    static struct index_hit hits[BATCH];
    double begin = now_ns();
    for (size_t i = 0; i < addresses->count; i += batch) {
        size_t left = addresses->count - i;
        size_t count = left < batch ? left : batch;
        index_lookup(index, addresses->list + i, count, hits);
        for (size_t j = 0; j < count; j++) {
            if (kind == KIND_PATHS)
                walk_paths(index, hits[j].chain, tally);
            else
                walk(index, hits[j].chain, kind == KIND_TOUCHED, tally);
        }
    }
    return (now_ns() - begin) / (double)addresses->count;
}

static int compare_times(const void *left, const void *right) {
    const double *a = left;
    const double *b = right;
    return *a < *b ? -1 : *a > *b;
}

static void measure(const struct index *index, const struct addresses *addresses, size_t batch,
                    enum kind kind, const char *what) {
    double times[ROUNDS];
    struct tally tally = {0};
    run(index, addresses, batch, kind, &tally);
    uint64_t frames = tally.frames;
    for (int i = 0; i < ROUNDS; i++)
        times[i] = run(index, addresses, batch, kind, &tally);
    qsort(times, ROUNDS, sizeof(times[0]), compare_times);
    printf("%-24s %7.1f ns  (least %.1f, %.2f frames, sum %" PRIx64 ")\n", what, times[ROUNDS / 2],
           times[0], (double)frames / (double)addresses->count, tally.sum);
}

static int complain(const char *path, const char *what) {
    fprintf(stderr, "index_speed: %s: %s\n", path, what);
    return 1;
}

int main(int argc, char **argv) {
    if (argc < 2 || argc > 3) {
        fprintf(stderr, "usage: index_speed INDEX [ADDRESSES]\n");
        return 2;
    }
    CLEANUP(cleanup_fd) int fd = open(argv[1], O_RDONLY | O_CLOEXEC);
    CLEANUP(cleanup_index) struct index *index = NULL;
    CLEANUP(cleanup_free) uint64_t *list = calloc(ADDRESS_COUNT, sizeof(*list));
    struct error error;
    if (fd < 0 || !list)
        return complain(argv[1], "cannot be opened");
    if (index_open_fd(fd, &index, &error))
        return complain(argv[1], error.text);
    struct addresses addresses = {list, ADDRESS_COUNT};
    if (argc == 3 && !read_addresses(argv[2], &addresses))
        return complain(argv[2], "no addresses");
    if (argc == 2)
        choose_addresses(index, &addresses);
    if (addresses.count == 0)
        return complain(argv[1], "it covers no address");
    index_dump(index, false, stdout);
    measure(index, &addresses, 1, KIND_FRAMES, "single: frames");
    measure(index, &addresses, BATCH, KIND_FRAMES, "1000 at once: frames");
    measure(index, &addresses, 1, KIND_TOUCHED, "single: touched");
    measure(index, &addresses, BATCH, KIND_TOUCHED, "1000 at once: touched");
    measure(index, &addresses, 1, KIND_PATHS, "single: paths");
    measure(index, &addresses, BATCH, KIND_PATHS, "1000 at once: paths");
    return 0;
}
