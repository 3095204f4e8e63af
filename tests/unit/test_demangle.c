#include "symbolizer/index/demangle.h"

#include <malloc.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "tests/support/test.h"

static void assert_demangles(const char *name, const char *want) {
    struct buffer text = {0};
    assert_true(demangle_looks_mangled(span_cstr(name)));
    if (!demangle(span_cstr(name), &text))
        fail_msg("%s is not demangled", name);
    assert_string_equal(buffer_cstr(&text), want);
    buffer_clear(&text);
}

static void assert_stays(struct span name) {
    struct buffer text = {0};
    buffer_append_cstr(&text, "before");
    assert_false(demangle(name, &text));
    assert_true(span_equal_cstr(buffer_span(&text), "before"));
    buffer_clear(&text);
}

static void cxx_names_come_out_as_from_addr2line(void **state) {
    (void)state;
    assert_demangles("_Z3foov", "foo()");
    assert_demangles("__Z3foov", "foo()");
    assert_demangles("_ZN3fooC1Ev", "foo::foo()");
    assert_demangles("_ZTV3foo", "vtable for foo");
    assert_demangles("_ZGVZ3foovE1x", "guard variable for foo()::x");
    assert_demangles("_ZNSt6vectorIiSaIiEE12emplace_backIJiEEERiDpOT_",
                     "int& std::vector<int, std::allocator<int> >::emplace_back<int>(int&&)");
    assert_demangles("_ZZ4mainENKUliE_clEi", "main::{lambda(int)#1}::operator()(int) const");
    assert_demangles("_ZN12_GLOBAL__N_11fE", "(anonymous namespace)::f");
}

static __attribute__((noinline)) void fill_stack(int value) {
    char bytes[65536];
    memset(bytes, value, sizeof(bytes));
    __asm__ volatile("" ::"r"(bytes) : "memory");
}

static void what_the_stack_held_does_not_matter(void **state) {
    (void)state;
    for (int value = 0; value < 256; value++) {
        fill_stack(value);
        assert_demangles("_ZN25RawAccessBarrierArrayCopy9arraycopyILm64EiEEN8EnableIfIXntsr12HasDec"
                         "oratorIXT_ELm4EE5valueEvE4typeEv",
                         "EnableIf<!HasDecorator<64ul, 4ul>::value, void>::type "
                         "RawAccessBarrierArrayCopy::arraycopy<64ul, int>()");
    }
}

static void stubs_keep_their_mark(void **state) {
    (void)state;
    assert_demangles("_Z3foov@plt", "foo()@plt");
    assert_demangles("_Z3foov.isra.0@plt", "foo() [clone .isra.0]@plt");
    assert_demangles("_ZN4core3fmt17h0123456789abcdefE@plt", "core::fmt@plt");
    assert_stays(span_cstr("_Z@plt"));
    assert_stays(span_cstr("foo@plt"));
}

static void rust_names_come_out_without_hash_and_crate_numbers(void **state) {
    (void)state;
    assert_demangles("_ZN4core3fmt5Write9write_fmt17h0123456789abcdefE",
                     "core::fmt::Write::write_fmt");
    assert_demangles("ZN4core3fmt17h0123456789abcdefE", "core::fmt");
    assert_demangles("_ZN38_$LT$A$u20$as$u20$core..fmt..Debug$GT$3fmt17h0123456789abcdefE",
                     "<A as core::fmt::Debug>::fmt");
    assert_demangles("_RNvC6_123foo3bar", "123foo::bar");
    assert_demangles("__RNvC6_123foo3bar", "123foo::bar");
    assert_demangles("_RINbNbCskIICzLVDPPb_5alloc5alloc8box_freeDINbNiB4_5boxed5FnBoxuEp6OutputuEL_"
                     "ECs1iopQbuBiw2_3std",
                     "alloc::alloc::box_free::<dyn alloc::boxed::FnBox<(), Output = ()>>");
    assert_demangles("_RNqCs4fqI2P2rA04_11utf8_identsu30____7hkackfecea1cbdathfdh9hlq6y",
                     "utf8_idents::\u10e1\u10d0\u10ed\u10db\u10d4\u10da\u10d0\u10d3_"
                     "\u10d2\u10d4\u10db\u10e0\u10d8\u10d4\u10da\u10d8_"
                     "\u10e1\u10d0\u10d3\u10d8\u10da\u10d8");
    /* No hash, or parameters behind it: this is C++. */
    assert_demangles("_ZN4core3fmtE", "core::fmt");
    assert_demangles("_ZN4core3fmt17h0123456789abcdefEv", "core::fmt::h0123456789abcdef()");
}

static void clone_suffixes_are_put_back(void **state) {
    (void)state;
    assert_demangles("_Z3foov.part.0.cold", "foo() [clone .part.0] [clone .cold]");
    assert_demangles("_Z3foov.constprop.0.isra.1", "foo() [clone .constprop.0] [clone .isra.1]");
    assert_demangles("_Z3foov.1", "foo() [clone .1]");
    assert_demangles("_Z3foov.llvm.123", "foo() [clone .llvm.123]");
    assert_demangles("_ZN4core3fmt17h0123456789abcdefE.llvm.99", "core::fmt [clone .llvm.99]");
    assert_demangles("_RNvC6_123foo3bar.llvm.99", "123foo::bar [clone .llvm.99]");
    assert_demangles("_ZN9a..b.cold17h0123456789abcdefE.cold", "a::b.cold [clone .cold]");
}

static void what_is_no_mangled_name_stays(void **state) {
    (void)state;
    static const char *const names[] = {
        "",           "main",      "_",         "_Z",       "_R",          "__Z",
        "_Zfoo",      "_Z3fo",     "_Read",     "ZN",       "ZN3fooE",     "ZN3foo",
        "foo.isra.0", "_Z3foov$x", "_Z3foov@V", "_Z3foov.", "_Z3foov.A.b", "_RNvC1a",
        "_RC1aE",     "_R0C1a",    "_ZN3foo",   "_RB_",     "_RIB_E",      "_RNvB_1a",
        "_Z3foov ",   "_RC1a.@",   "_RC99a",    "_RC0",     "_RNv1a1b",
    };
    for (size_t i = 0; i < ARRAY_SIZE(names); i++)
        assert_stays(span_cstr(names[i]));
    assert_stays(span_of("_Z3foov\0x", 9));
}

static void the_name_need_not_be_terminated(void **state) {
    (void)state;
    static const char name[] = {'_', 'Z', '3', 'f', 'o', 'o', 'v'};
    char *bytes = malloc(sizeof(name));
    assert_non_null(bytes);
    memcpy(bytes, name, sizeof(name));
    struct buffer text = {0};
    assert_true(demangle(span_of(bytes, sizeof(name)), &text));
    assert_string_equal(buffer_cstr(&text), "foo()");
    buffer_clear(&text);
    free(bytes);
}

static void text_before_stays_and_the_buffers_limit_holds(void **state) {
    (void)state;
    struct buffer text = {.size_max = 10};
    buffer_append_cstr(&text, "at ");
    assert_true(demangle(span_cstr("_Z3foov"), &text));
    assert_true(span_equal_cstr(buffer_span(&text), "at foo()"));
    assert_false(demangle(span_cstr("_Z3foov"), &text));
    assert_true(span_equal_cstr(buffer_span(&text), "at foo()"));
    buffer_clear(&text);
}

/* "S_", "S0_" … of the Itanium ABI. */
static void append_substitution(struct buffer *name, unsigned number) {
    static const char digits[] = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ";
    buffer_append_byte(name, 'S');
    if (number > 36)
        buffer_append_byte(name, digits[(number - 1) / 36]);
    if (number > 0)
        buffer_append_byte(name, digits[(number - 1) % 36]);
    buffer_append_byte(name, '_');
}

/* X<A<i,i>, A<that,that>, A<that,that>…>: doubles with each of `levels`. */
static void append_doubling_type(struct buffer *name, unsigned levels) {
    buffer_append_cstr(name, "1XI1AIiiE");
    for (unsigned i = 1; i < levels; i++) {
        buffer_append_cstr(name, "S0_I");
        append_substitution(name, i + 1);
        append_substitution(name, i + 1);
        buffer_append_cstr(name, "E");
    }
    buffer_append_cstr(name, "E");
}

static void a_name_that_doubles_its_output_is_left(void **state) {
    (void)state;
    struct buffer name = {0};
    buffer_append_cstr(&name, "_Z1f");
    append_doubling_type(&name, 60);
    assert_in_range(name.size, 500, 800);
    assert_stays(buffer_span(&name));
    buffer_clear(&name);
}

static void a_name_that_doubles_a_search_without_output_is_left(void **state) {
    (void)state;
    struct buffer name = {0};
    buffer_append_cstr(&name, "_Z1fDp");
    append_doubling_type(&name, 60);
    assert_stays(buffer_span(&name));
    buffer_clear(&name);
}

/* Functions within arguments of functions; each has a pack that holds two of the next outer one,
 * and the outermost is empty. Only the innermost refers to its own. */
static void append_empty_packs(struct buffer *name, unsigned levels) {
    buffer_append_cstr(name, "_Z1fIJEE");
    for (unsigned i = 1; i < levels; i++)
        buffer_append_cstr(name, "v1aIXadL_Z1fIJJDpT_DpT_EEE");
    buffer_append_cstr(name, "vDpT_");
    for (unsigned i = 1; i < levels; i++)
        buffer_append_cstr(name, "EEE");
}

static void a_name_that_doubles_empty_packs_is_left(void **state) {
    (void)state;
    struct buffer name = {0};
    append_empty_packs(&name, 3);
    assert_demangles(buffer_cstr(&name), "void f<>(a<&(void f<>(a<&(void f<>())>))>)");
    buffer_clear(&name);
    append_empty_packs(&name, 60);
    assert_stays(buffer_span(&name));
    buffer_clear(&name);
}

/* Names that grow by doubling stop being cheap before they stop being affordable. */
static void what_doubles_often_is_not_cheap(void **state) {
    (void)state;
    static const char *const heads[] = {"_Z1f", "_Z1fDp"};
    for (size_t i = 0; i <= ARRAY_SIZE(heads); i++) {
        unsigned cheap = 0;
        for (unsigned levels = 1; levels < 40; levels++) {
            struct buffer name = {0};
            struct buffer text = {0};
            if (i < ARRAY_SIZE(heads))
                buffer_append_cstr(&name, heads[i]);
            if (i < ARRAY_SIZE(heads))
                append_doubling_type(&name, levels);
            else
                append_empty_packs(&name, levels);
            bool is_cheap = demangle_is_cheap(buffer_span(&name));
            cheap += is_cheap;
            assert_true(!is_cheap || demangle(buffer_span(&name), &text));
            buffer_clear(&name);
            buffer_clear(&text);
        }
        assert_in_range(cheap, 1, 8);
    }
}

static void plain_functions_are_cheap(void **state) {
    (void)state;
    static const char *const cheap[] = {"_Z3foov",
                                        "_ZN3fooC1Ev",
                                        "_ZNK1a1bEv",
                                        "_ZL3foov",
                                        "_ZNSt6vectorIiSaIiEE12emplace_backIJiEEERiDpOT_",
                                        "_ZN4core3fmt17h0123456789abcdefE"};
    for (size_t i = 0; i < ARRAY_SIZE(cheap); i++)
        assert_true(demangle_is_cheap(span_cstr(cheap[i])));
    static const char *const others[] = {"",          "_Z",     "_Z1", "foo", "_Znonsense_",
                                         "_RNvC1a1b", "ZN1a1bE"};
    for (size_t i = 0; i < ARRAY_SIZE(others); i++)
        assert_false(demangle_is_cheap(span_cstr(others[i])));
    assert_false(demangle_is_cheap(span_of("_Z3f\0ov", 7)));
}

static void rust_back_references_that_double_are_left(void **state) {
    (void)state;
    struct buffer name = {0};
    /* (T, T) of the tuple before: position 4 is the first. */
    buffer_append_cstr(&name, "_RINvC1a1bTuuE");
    size_t before = 8;
    for (unsigned i = 0; i < 40; i++) {
        static const char digits[] = "0123456789abcdefghijklmnopqrstuvwxyz"
                                     "ABCDEFGHIJKLMNOPQRSTUVWXYZ";
        size_t here = name.size - 2;
        buffer_append_byte(&name, 'T');
        for (unsigned j = 0; j < 2; j++) {
            buffer_append_byte(&name, 'B');
            if (before > 62)
                buffer_append_byte(&name, digits[(before - 1) / 62 % 62]);
            buffer_append_byte(&name, digits[(before - 1) % 62]);
            buffer_append_byte(&name, '_');
        }
        buffer_append_byte(&name, 'E');
        before = here;
        if (i == 2) {
            buffer_append_byte(&name, 'E');
            struct buffer text = {0};
            assert_true(demangle(buffer_span(&name), &text));
            assert_non_null(strstr(buffer_cstr(&text), "((((), ()), ((), ())), "));
            buffer_clear(&text);
            name.size--;
        }
    }
    buffer_append_byte(&name, 'E');
    assert_stays(buffer_span(&name));
    buffer_clear(&name);
}

static void a_rust_binder_of_many_lifetimes_is_left(void **state) {
    (void)state;
    assert_demangles("_RINvC1a1bFG_RL0_uEuE", "a::b::<for<'a> fn(&'a ())>");
    assert_stays(span_cstr("_RNvC1a1bYFGzzzzzzzz_EuC1c"));
    assert_stays(span_cstr("_RNvXC1aFGzzzzzzz_EuuC1b1c"));
    assert_stays(span_cstr("_RINvC1a1bFGZZZZZZZZZZ_EuE"));
}

static void a_rust_back_reference_leads_backwards(void **state) {
    (void)state;
    assert_stays(span_cstr("_RNvB3_1a"));
    assert_stays(span_cstr("_RINvC1a1bB5_E"));
    assert_stays(span_cstr("_RINvC1a1bBz_E"));
}

static void repeat(const char *head, const char *part, const char *tail) {
    struct buffer name = {0};
    buffer_append_cstr(&name, head);
    while (name.size + strlen(part) + strlen(tail) <= DEMANGLE_INPUT_SIZE_MAX)
        buffer_append_cstr(&name, part);
    buffer_append_cstr(&name, tail);
    struct buffer text = {0};
    demangle(buffer_span(&name), &text);
    assert_in_range(text.size, 0, DEMANGLE_OUTPUT_SIZE_MAX);
    buffer_clear(&text);
    buffer_clear(&name);
}

static void nesting_as_deep_as_the_input_allows_is_survived(void **state) {
    (void)state;
    static const char *const cxx[][2] = {
        {"P", "i"},        {"F", "v"},       {"A_", "i"},     {"M1a", "i"},   {"1aI", "i"},
        {"N1a", "E"},      {"DpT_", ""},     {"OT_", "i"},    {"KR", "i"},    {"XcvT_", "E"},
        {"Dt", "E"},       {"PFvP", "i"},    {"U1a", "i"},    {"1aIJ", "E"},  {"Z1f", "E"},
        {"NK", "1aE"},     {"DTcl", "E"},    {"1aILi1E", ""}, {"TnDa", ""},   {"XplT_", "T_"},
        {"NSt", "1a"},     {"GTt", "i"},     {"DO", "E"},     {"Dw", "i"},    {"XLZ", "E"},
        {"N1aIiEUlv", ""}, {"1aB1bB1c", ""}, {"Dv_", "i"},    {"XsZfp_", ""}, {"Dp", "i"},
    };
    for (size_t i = 0; i < ARRAY_SIZE(cxx); i++) {
        repeat("_Z1f", cxx[i][0], cxx[i][1]);
        repeat("_Z1fI", cxx[i][0], cxx[i][1]);
        repeat("_Z", cxx[i][0], cxx[i][1]);
        repeat("_ZN1a", cxx[i][0], cxx[i][1]);
        repeat("_Z1fIiE", cxx[i][0], cxx[i][1]);
    }
    static const char *const rust[] = {"P", "R", "S", "T", "FU", "DNvC1a1b", "INvC1a1b", "Nv", "X"};
    for (size_t i = 0; i < ARRAY_SIZE(rust); i++) {
        repeat("_R", rust[i], "C1a");
        repeat("_RINvC1a1b", rust[i], "uE");
    }
}

static void templates_times_references_stay_off_the_stack(void **state) {
    (void)state;
    struct buffer name = {0};
    buffer_append_cstr(&name, "_Z1fI");
    for (unsigned i = 0; i < 400; i++)
        buffer_append_cstr(&name, "1aIiE");
    buffer_append_cstr(&name, "Ev");
    for (unsigned i = 0; i < 600; i++)
        buffer_append_cstr(&name, "RT_");
    assert_in_range(name.size, 3000, DEMANGLE_INPUT_SIZE_MAX);
    assert_stays(buffer_span(&name));
    buffer_clear(&name);
}

static void input_over_the_cap_is_left(void **state) {
    (void)state;
    struct buffer name = {0};
    buffer_printf(&name, "_Z%zu", DEMANGLE_INPUT_SIZE_MAX - 6);
    while (name.size < DEMANGLE_INPUT_SIZE_MAX)
        buffer_append_byte(&name, 'a');
    struct buffer text = {0};
    assert_true(demangle(buffer_span(&name), &text));
    assert_int_equal(text.size, DEMANGLE_INPUT_SIZE_MAX - 6);
    buffer_clear(&text);
    buffer_append_byte(&name, 'v');
    assert_stays(buffer_span(&name));
    buffer_clear(&name);
}

/* What longjmp left behind would add up. */
static void abandoned_names_leak_nothing(void **state) {
    (void)state;
    struct buffer name = {0};
    struct buffer text = {0};
    buffer_append_cstr(&name, "_Z1f");
    append_doubling_type(&name, 13);
    assert_false(demangle(buffer_span(&name), &text));
    size_t before = mallinfo2().uordblks;
    for (unsigned i = 0; i < 100; i++)
        assert_false(demangle(buffer_span(&name), &text));
    assert_true(mallinfo2().uordblks <= before);
    buffer_clear(&text);
    buffer_clear(&name);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(cxx_names_come_out_as_from_addr2line),
        cmocka_unit_test(what_the_stack_held_does_not_matter),
        cmocka_unit_test(stubs_keep_their_mark),
        cmocka_unit_test(rust_names_come_out_without_hash_and_crate_numbers),
        cmocka_unit_test(clone_suffixes_are_put_back),
        cmocka_unit_test(what_is_no_mangled_name_stays),
        cmocka_unit_test(the_name_need_not_be_terminated),
        cmocka_unit_test(text_before_stays_and_the_buffers_limit_holds),
        cmocka_unit_test(a_name_that_doubles_its_output_is_left),
        cmocka_unit_test(a_name_that_doubles_a_search_without_output_is_left),
        cmocka_unit_test(a_name_that_doubles_empty_packs_is_left),
        cmocka_unit_test(what_doubles_often_is_not_cheap),
        cmocka_unit_test(plain_functions_are_cheap),
        cmocka_unit_test(rust_back_references_that_double_are_left),
        cmocka_unit_test(a_rust_binder_of_many_lifetimes_is_left),
        cmocka_unit_test(a_rust_back_reference_leads_backwards),
        cmocka_unit_test(nesting_as_deep_as_the_input_allows_is_survived),
        cmocka_unit_test(templates_times_references_stay_off_the_stack),
        cmocka_unit_test(input_over_the_cap_is_left),
        cmocka_unit_test(abandoned_names_leak_nothing),
    };
    return cmocka_run_group_tests_name("demangle", tests, NULL, NULL);
}
