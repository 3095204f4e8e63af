/*
 * Random symbols against a plain oracle, which answers one address at a time straight from the
 * rules in symbolizer/build/assembly.h and shares nothing with the code under test.
 */
#include "symbolizer/build/assembly.h"

#include <stdio.h>
#include <stdlib.h>

#include "base/buffer.h"
#include "base/cleanup.h"
#include "tests/support/assembly_fixture.h"
#include "tests/support/test.h"

#define ROUNDS 400
#define SPACE_BEGIN 0x100
#define SPACE_END 0x1a0

#define UNIT_MAX 4
#define CODE_MAX 64
#define SEQUENCE_MAX 16
#define ROW_MAX 8
#define SYMBOL_MAX 24

struct code {
    struct fixture_code pushed;
    char name[16];
    int unit;
    int parent; /* -1: a function */
    uint32_t node;
};

struct sequence {
    int unit;
    struct fixture_row rows[ROW_MAX];
    size_t count;
    uint64_t end;
};

struct symbol {
    char name[16];
    uint64_t begin;
    uint64_t end;
    enum symbol_origin origin;
    int source;
};

struct world {
    unsigned seed;
    struct code code[CODE_MAX];
    size_t code_count;
    struct sequence sequences[SEQUENCE_MAX];
    size_t sequence_count;
    struct symbol symbols[SYMBOL_MAX];
    size_t symbol_count;
};

static const char *const files[] = {"a.c", "b.c", "c.h"};

/* --- making --- */

static unsigned pick(struct world *world, unsigned count) {
    world->seed = world->seed * 1103515245u + 12345u;
    return (world->seed >> 8) % count;
}

static struct pc_range random_range(struct world *world, unsigned size_max) {
    uint64_t begin = SPACE_BEGIN + (uint64_t)4 * pick(world, (SPACE_END - SPACE_BEGIN) / 4);
    /* Few sizes, so that equal ranges are common. */
    return (struct pc_range){begin, begin + (uint64_t)4 * (1 + pick(world, size_max / 4))};
}

static void add_code(struct world *world, struct assembly_fixture *fixture, int unit, int parent) {
    struct code *code = &world->code[world->code_count];
    *code = (struct code){.unit = unit, .parent = parent};
    snprintf(code->name, sizeof(code->name), "%c%zu", parent < 0 ? 'f' : 'i', world->code_count);
    struct fixture_code *pushed = &code->pushed;
    pushed->name = pick(world, 12) ? code->name : NULL;
    pushed->decl_file = pick(world, 4) ? files[pick(world, ARRAY_SIZE(files))] : NULL;
    pushed->decl_line = pick(world, 4);
    unsigned count = 1 + pick(world, 3);
    for (unsigned i = 0; i < count; i++)
        pushed->ranges[i] = random_range(world, parent < 0 ? 64 : 40);
    if (parent < 0) {
        code->node = fixture_function(fixture, pushed);
    } else {
        pushed->call_file = files[pick(world, ARRAY_SIZE(files))];
        pushed->call_line = pick(world, 5);
        code->node = fixture_inlined(fixture, world->code[parent].node, pushed);
    }
    world->code_count++;
}

static void add_sequence(struct world *world, struct assembly_fixture *fixture, int unit) {
    struct sequence *sequence = &world->sequences[world->sequence_count++];
    struct pc_range range = random_range(world, 64);
    *sequence = (struct sequence){.unit = unit, .count = 1 + pick(world, ROW_MAX)};
    uint64_t address = range.begin;
    for (size_t i = 0; i < sequence->count; i++) {
        sequence->rows[i] = (struct fixture_row){address, files[pick(world, ARRAY_SIZE(files))],
                                                 pick(world, 4), pick(world, 2)};
        address += (uint64_t)4 * pick(world, 4);
    }
    sequence->end = address;
    fixture_sequence(fixture, sequence->rows, sequence->count, sequence->end);
}

static void add_unit(struct world *world, struct assembly_fixture *fixture, int unit) {
    size_t first = world->code_count;
    fixture_unit(fixture);
    unsigned count = pick(world, 14);
    for (unsigned i = 0; i < count && world->code_count < CODE_MAX; i++) {
        /* Any node of the unit may be the parent, in any order: functions and copies mix. */
        bool inlined = world->code_count > first && pick(world, 3);
        int parent = inlined ? (int)(first + pick(world, (unsigned)(world->code_count - first)))
                             : -1;
        add_code(world, fixture, unit, parent);
    }
    unsigned sequences = pick(world, 4);
    for (unsigned i = 0; i < sequences && world->sequence_count < SEQUENCE_MAX; i++)
        add_sequence(world, fixture, unit);
}

/* Symbols of one push ascend and are disjoint. */
static void add_symbols(struct world *world, struct assembly_fixture *fixture, int source) {
    uint64_t pc = SPACE_BEGIN;
    unsigned count = pick(world, SYMBOL_MAX / 2);
    for (unsigned i = 0; i < count; i++) {
        struct symbol *symbol = &world->symbols[world->symbol_count];
        *symbol = (struct symbol){.source = source};
        snprintf(symbol->name, sizeof(symbol->name), "s%zu", world->symbol_count++);
        symbol->begin = pc + (uint64_t)4 * pick(world, 5);
        symbol->end = symbol->begin + (uint64_t)4 * (1 + pick(world, 6));
        symbol->origin = pick(world, 2) ? SYMBOL_ORIGIN_SYMTAB : SYMBOL_ORIGIN_DYNSYM;
        pc = symbol->end;
        fixture_symbol(fixture, symbol->name, symbol->begin, symbol->end, symbol->origin);
    }
    fixture_end_symbols(fixture);
}

/* --- the oracle --- */

/* The smallest of the node's ranges that covers pc; 0: none does. */
static uint64_t covering_size(const struct fixture_code *code, uint64_t pc) {
    uint64_t size = 0;
    for (size_t i = 0; i < ARRAY_SIZE(code->ranges) && code->ranges[i].end; i++) {
        struct pc_range range = code->ranges[i];
        if (range.begin <= pc && pc < range.end && (!size || range.end - range.begin < size))
            size = range.end - range.begin;
    }
    return size;
}

/* Among the copies in one parent, or -1. */
static int smallest_child(const struct world *world, int parent, uint64_t pc) {
    int best = -1;
    uint64_t best_size = 0;
    for (size_t i = 0; i < world->code_count; i++) {
        uint64_t size = covering_size(&world->code[i].pushed, pc);
        if (world->code[i].parent == parent && size && (best < 0 || size < best_size)) {
            best = (int)i;
            best_size = size;
        }
    }
    return best;
}

static const struct fixture_row *row_in(const struct sequence *sequence, uint64_t pc) {
    const struct fixture_row *row = NULL;
    for (size_t i = 0; i < sequence->count; i++)
        if (sequence->rows[i].address <= pc && pc < sequence->end)
            row = &sequence->rows[i];
    return row;
}

static bool row_fits(const struct sequence *sequence, const struct code *function) {
    uint64_t begin = sequence->rows[0].address;
    uint64_t entry = function->pushed.ranges[0].begin;
    const struct fixture_row *row =
        row_in(sequence, entry >= begin && entry < sequence->end ? entry : begin);
    return strcmp(row->file, function->pushed.decl_file) == 0 &&
           row->line >= function->pushed.decl_line;
}

/* unit -1: of all units. */
static const struct fixture_row *find_row(const struct world *world, int unit, uint64_t pc,
                                          const struct code *function) {
    const struct sequence *best = NULL;
    for (size_t i = 0; i < world->sequence_count; i++) {
        const struct sequence *sequence = &world->sequences[i];
        if ((unit >= 0 && sequence->unit != unit) || !row_in(sequence, pc))
            continue;
        uint64_t size = sequence->end - sequence->rows[0].address;
        uint64_t best_size = best ? best->end - best->rows[0].address : UINT64_MAX;
        bool equal = best && size == best_size &&
                     sequence->rows[0].address == best->rows[0].address;
        bool fits_better = equal && function && function->pushed.decl_file &&
                           row_fits(sequence, function) && !row_fits(best, function);
        if (size < best_size || fits_better)
            best = sequence;
    }
    return best ? row_in(best, pc) : NULL;
}

/* Whether the function's own row at its entry is in its file, at or below its first line. */
static bool function_fits(const struct world *world, const struct code *function) {
    const struct fixture_row *row =
        find_row(world, function->unit, function->pushed.ranges[0].begin, function);
    return row && function->pushed.decl_file &&
           strcmp(row->file, function->pushed.decl_file) == 0 &&
           row->line >= function->pushed.decl_line;
}

/* Another function (unit -1: of any unit) has the same range, and fits its lines where this one
 * does not. */
static bool is_folded_away(const struct world *world, int unit, const struct code *function,
                           struct pc_range range) {
    if (function_fits(world, function))
        return false;
    for (size_t i = 0; i < world->code_count; i++) {
        const struct code *other = &world->code[i];
        if (other->parent >= 0 || (unit >= 0 && other->unit != unit))
            continue;
        for (size_t j = 0; j < ARRAY_SIZE(other->pushed.ranges); j++)
            if (other->pushed.ranges[j].begin == range.begin &&
                other->pushed.ranges[j].end == range.end && function_fits(world, other))
                return true;
    }
    return false;
}

struct claim {
    int function; /* -1: none */
    struct pc_range range;
};

static uint64_t claim_size(const struct claim *claim) {
    return claim->function < 0 ? UINT64_MAX : claim->range.end - claim->range.begin;
}

/* The function of the unit that has the smallest range around pc. */
static struct claim smallest_of_unit(const struct world *world, int unit, uint64_t pc) {
    struct claim best = {.function = -1};
    for (size_t i = 0; i < world->code_count; i++) {
        const struct code *code = &world->code[i];
        if (code->parent >= 0 || code->unit != unit)
            continue;
        for (size_t j = 0; j < ARRAY_SIZE(code->pushed.ranges); j++) {
            struct claim claim = {(int)i, code->pushed.ranges[j]};
            if (claim.range.begin <= pc && pc < claim.range.end &&
                claim_size(&claim) < claim_size(&best) &&
                !is_folded_away(world, unit, code, claim.range))
                best = claim;
        }
    }
    return best;
}

/* Of those of all units, or -1. */
static int smallest_function(const struct world *world, uint64_t pc) {
    struct claim best = {.function = -1};
    for (int unit = 0; unit < UNIT_MAX; unit++) {
        struct claim claim = smallest_of_unit(world, unit, pc);
        if (claim.function >= 0 && claim_size(&claim) < claim_size(&best) &&
            !is_folded_away(world, -1, &world->code[claim.function], claim.range))
            best = claim;
    }
    return best.function;
}

static const struct symbol *find_symbol(const struct world *world, uint64_t pc) {
    const struct symbol *best = NULL;
    for (size_t i = 0; i < world->symbol_count; i++) {
        const struct symbol *symbol = &world->symbols[i];
        bool covers = symbol->begin <= pc && pc < symbol->end;
        bool better = best && symbol->origin == SYMBOL_ORIGIN_SYMTAB &&
                      best->origin != SYMBOL_ORIGIN_SYMTAB;
        if (covers && (!best || better))
            best = symbol;
    }
    return best;
}

static void print_place(struct buffer *text, const char *file, uint32_t line, uint32_t column) {
    buffer_printf(text, " %s:%u", file ? file : "-", line);
    if (column)
        buffer_printf(text, ":%u", column);
}

static void print_row(struct buffer *text, const struct fixture_row *row) {
    print_place(text, row ? row->file : NULL, row ? row->line : 0, row ? row->column : 0);
}

static void print_name(struct buffer *text, const struct world *world, const struct code *code) {
    const struct symbol *symbol = NULL;
    if (!code->pushed.name && code->parent < 0)
        symbol = find_symbol(world, code->pushed.ranges[0].begin);
    if (symbol)
        buffer_printf(text, "%s/%s", symbol->name, symbol_origin_name(symbol->origin));
    else
        buffer_append_cstr(text, code->pushed.name ? code->pushed.name : "?");
}

static void answer_function(const struct world *world, int function, uint64_t pc,
                            struct buffer *text) {
    const struct code *outermost = &world->code[function];
    int leaf = function;
    for (int child = function; child >= 0; child = smallest_child(world, leaf, pc))
        leaf = child;
    const struct fixture_row *row = find_row(world, outermost->unit, pc, outermost);
    if (!row)
        row = find_row(world, -1, pc, NULL);
    print_name(text, world, &world->code[leaf]);
    print_row(text, row);
    for (int at = leaf; world->code[at].parent >= 0; at = world->code[at].parent) {
        const struct fixture_code *copy = &world->code[at].pushed;
        buffer_append_cstr(text, " < ");
        print_name(text, world, &world->code[world->code[at].parent]);
        print_place(text, copy->call_file, copy->call_line, 0);
    }
    if (!row || row->line == 0)
        buffer_append_cstr(text, " (no_line)");
}

static void answer(const struct world *world, uint64_t pc, struct buffer *text) {
    int function = smallest_function(world, pc);
    if (function >= 0) {
        answer_function(world, function, pc, text);
        return;
    }
    const struct symbol *symbol = find_symbol(world, pc);
    const struct fixture_row *row = find_row(world, -1, pc, NULL);
    bool has_line = row && row->line;
    if (!symbol && !has_line)
        return;
    if (symbol)
        buffer_printf(text, "%s/%s", symbol->name, symbol_origin_name(symbol->origin));
    else
        buffer_append_cstr(text, "?");
    print_row(text, row);
    if (!has_line)
        buffer_append_cstr(text, " (no_line)");
}

static char *oracle_dump(const struct world *world, uint64_t begin, uint64_t end) {
    struct buffer all = {0};
    CLEANUP(buffer_clear) struct buffer current = {0};
    CLEANUP(buffer_clear) struct buffer next = {0};
    uint64_t since = begin;
    for (uint64_t pc = begin; pc <= end; pc++) {
        next.size = 0;
        if (pc < end)
            answer(world, pc, &next);
        if (pc > begin && pc < end && span_equal(buffer_span(&current), buffer_span(&next)))
            continue;
        if (current.size > 0)
            buffer_printf(&all, "%llx-%llx %s\n", (unsigned long long)since, (unsigned long long)pc,
                          buffer_cstr(&current));
        since = pc;
        struct buffer kept = current;
        current = next;
        next = kept;
    }
    buffer_cstr(&all);
    return all.data;
}

static void make_world(struct world *world, struct assembly_fixture *fixture) {
    add_symbols(world, fixture, 0);
    int units = 1 + (int)pick(world, UNIT_MAX);
    for (int unit = 0; unit < units; unit++)
        add_unit(world, fixture, unit);
    add_symbols(world, fixture, 1);
}

static void random_symbols_give_the_oracles_answers(void **state) {
    (void)state;
    size_t answers = 0;
    for (unsigned round = 1; round <= ROUNDS; round++) {
        CLEANUP(cleanup_free) struct world *world = calloc(1, sizeof(*world));
        assert_non_null(world);
        world->seed = round;
        struct assembly_fixture fixture;
        fixture_start(&fixture);
        fixture.units_per_shard = 1 + round % 3;
        make_world(world, &fixture);
        CLEANUP(cleanup_free) char *wanted = oracle_dump(world, SPACE_BEGIN - 16, SPACE_END + 200);
        CLEANUP(cleanup_free) char *got = fixture_dump(&fixture, SPACE_BEGIN - 16, SPACE_END + 200);
        fixture_end(&fixture);
        if (strcmp(wanted, got) != 0)
            fail_msg("seed %u: wanted\n%sgot\n%s", round, wanted, got);
        for (const char *at = got; (at = strchr(at, '\n')); at++)
            answers++;
    }
    /* That the worlds are not empty. */
    assert_true(answers > (size_t)10 * ROUNDS);
}

static void any_number_of_threads_gives_the_same_bytes(void **state) {
    (void)state;
    static const unsigned counts[] = {1, 2, 3, 7};
    for (unsigned round = 1; round <= ROUNDS / 20; round++) {
        CLEANUP(cleanup_free) struct world *world = calloc(1, sizeof(*world));
        assert_non_null(world);
        world->seed = round;
        struct assembly_fixture fixture;
        struct span bytes[ARRAY_SIZE(counts)];
        struct error error;
        fixture_start(&fixture);
        fixture.units_per_shard = 1;
        make_world(world, &fixture);
        for (size_t i = 0; i < ARRAY_SIZE(counts); i++) {
            fixture.thread_count = counts[i];
            if (fixture_build(&fixture, (uint64_t)64 << 20, &bytes[i], &error))
                fail_msg("%s", error.text);
            assert_true(span_equal(bytes[i], bytes[0]));
        }
        for (size_t i = 0; i < ARRAY_SIZE(counts); i++)
            free((void *)bytes[i].data);
        fixture_end(&fixture);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(random_symbols_give_the_oracles_answers),
        cmocka_unit_test(any_number_of_threads_gives_the_same_bytes),
    };
    return cmocka_run_group_tests_name("assembly_random", tests, NULL, NULL);
}
