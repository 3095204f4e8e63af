#include "tests/support/source_check.h"

#include <assert.h>
#include <stdint.h>

#define ADDRESS_COUNT 64

struct check_address {
    uint64_t pc;
    bool is_known; /* a function or row that was pushed covers it */
};

struct checking_sink {
    struct symbol_sink sink;
    struct elf_file *file;
    uint32_t node_count;
    uint32_t unit_first; /* node */
    uint32_t file_count;
    uint32_t subject_count;
    bool has_unit;
    struct check_address addresses[ADDRESS_COUNT]; /* to be resolved afterwards */
    size_t address_count;
};

static enum err check_unit(struct symbol_sink *sink, const struct sink_unit *unit,
                           struct error *error) {
    (void)unit, (void)error;
    struct checking_sink *checking = (struct checking_sink *)sink;
    checking->has_unit = true;
    checking->unit_first = checking->node_count;
    return ERR_OK;
}

/* Numbers without interning: the source must cope with any. */
static enum err check_file(struct symbol_sink *sink, struct span path, uint32_t *ret_file,
                           struct error *error) {
    (void)error;
    struct checking_sink *checking = (struct checking_sink *)sink;
    assert(path.size > 0 && path.data);
    *ret_file = ++checking->file_count;
    return ERR_OK;
}

static void remember(struct checking_sink *checking, uint64_t pc, bool is_known) {
    if (checking->address_count < ADDRESS_COUNT)
        checking->addresses[checking->address_count++] = (struct check_address){pc, is_known};
}

static enum err check_subject(struct symbol_sink *sink, const struct sink_subject *subject,
                              uint32_t *ret_subject, struct error *error) {
    (void)error;
    struct checking_sink *checking = (struct checking_sink *)sink;
    assert(subject->decl_file <= checking->file_count);
    assert(subject->origin == SYMBOL_ORIGIN_DWARF);
    *ret_subject = ++checking->subject_count;
    return ERR_OK;
}

static void check_ranges(struct checking_sink *checking, const struct pc_range *ranges,
                         size_t count, bool is_function) {
    assert(count > 0 && checking->has_unit);
    for (size_t i = 0; i < count; i++) {
        assert(ranges[i].begin < ranges[i].end);
        assert(elf_file_is_executable(checking->file, ranges[i].begin));
        remember(checking, ranges[i].begin, is_function);
        remember(checking, ranges[i].end, false);
    }
}

static enum err check_function(struct symbol_sink *sink, const struct sink_function *function,
                               uint32_t *ret_node, struct error *error) {
    (void)error;
    struct checking_sink *checking = (struct checking_sink *)sink;
    check_ranges(checking, function->ranges, function->range_count, true);
    assert(function->subject > 0 && function->subject <= checking->subject_count);
    *ret_node = checking->node_count++;
    return ERR_OK;
}

static enum err check_inlined(struct symbol_sink *sink, const struct sink_inlined *inlined,
                              uint32_t *ret_node, struct error *error) {
    (void)error;
    struct checking_sink *checking = (struct checking_sink *)sink;
    check_ranges(checking, inlined->ranges, inlined->range_count, false);
    assert(inlined->parent >= checking->unit_first && inlined->parent < checking->node_count);
    assert(inlined->subject > 0 && inlined->subject <= checking->subject_count);
    assert(inlined->call_file <= checking->file_count);
    *ret_node = checking->node_count++;
    return ERR_OK;
}

static enum err check_sequence(struct symbol_sink *sink, const struct sink_line *rows, size_t count,
                               struct error *error) {
    (void)error;
    struct checking_sink *checking = (struct checking_sink *)sink;
    assert(checking->has_unit && count >= 2);
    for (size_t i = 0; i < count; i++) {
        assert(rows[i].file <= checking->file_count);
        assert(rows[i].end_sequence == (i + 1 == count));
        assert(i == 0 || rows[i].address >= rows[i - 1].address);
    }
    remember(checking, rows[0].address, rows[0].address < rows[count - 1].address);
    return ERR_OK;
}

static enum err check_symbol(struct symbol_sink *sink, const struct sink_symbol *symbol,
                             struct error *error) {
    (void)sink, (void)symbol, (void)error;
    assert(false);
    return ERR_INTERNAL;
}

static void check_damage(struct symbol_sink *sink, const char *what) {
    (void)sink;
    assert(what && *what);
}

static const struct symbol_sink_ops checking_ops = {
    .unit = check_unit,
    .file = check_file,
    .subject = check_subject,
    .function = check_function,
    .inlined = check_inlined,
    .sequence = check_sequence,
    .symbol = check_symbol,
    .damage = check_damage,
};

static void check_frames(const struct frame_list *frames) {
    volatile char last = 0;
    for (size_t i = 0; i < frames->count; i++) {
        const struct symbol_frame *frame = &frames->frames[i];
        assert(frame->origin == SYMBOL_ORIGIN_DWARF);
        if (frame->name.size)
            last = frame->name.data[frame->name.size - 1];
        if (frame->file.size)
            last = frame->file.data[frame->file.size - 1];
    }
    (void)last;
}

void source_check(struct elf_file *file, struct symbol_source *source, bool finds_all) {
    CLEANUP(frame_list_clear) struct frame_list frames = {0};
    struct error error;
    struct checking_sink checking = {.sink = {.ops = &checking_ops}, .file = file};
    bool pushed = source->ops->push(source, &checking.sink, &error) == ERR_OK;
    assert(pushed || error.text[0]);
    for (size_t i = 0; i < checking.address_count; i++) {
        const struct check_address *address = &checking.addresses[i];
        if (source->ops->resolve(source, address->pc, &frames, &error))
            continue;
        check_frames(&frames);
        assert(frames.count > 0 || !address->is_known || !finds_all);
    }
}
