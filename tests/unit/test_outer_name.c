#include "symbolizer/build/outer_name.h"

#include "base/cleanup.h"
#include "tests/support/test.h"

#define ALIASES_MAX 4

struct row {
    const char *name;
    const char *short_name;
    const char *aliases[ALIASES_MAX]; /* as symtab_source orders them */
    const char *want;                 /* NULL: DWARF's name stays */
};

static void check(const struct row *row) {
    struct outer_name dwarf = {span_cstr(row->name), span_cstr(row->short_name)};
    struct span aliases[ALIASES_MAX];
    size_t count = 0;
    while (count < ALIASES_MAX && row->aliases[count]) {
        aliases[count] = span_cstr(row->aliases[count]);
        count++;
    }
    size_t chosen = outer_name_choose(&dwarf, aliases, count);
    if (!row->want && chosen != OUTER_NAME_KEEP)
        fail_msg("%s: took %s", row->name, row->aliases[chosen]);
    if (row->want && (chosen == OUTER_NAME_KEEP || strcmp(row->aliases[chosen], row->want) != 0))
        fail_msg("%s: took %s", row->name,
                 chosen == OUTER_NAME_KEEP ? "nothing" : row->aliases[chosen]);
}

static void check_all(const struct row *rows, size_t count) {
    for (size_t i = 0; i < count; i++)
        check(&rows[i]);
}

static void an_alias_that_agrees_is_taken(void **state) {
    (void)state;
    static const struct row rows[] = {
        {"main", "main", {"main"}, "main"},
        {"__libc_malloc", "__libc_malloc", {"malloc", "__libc_malloc"}, "__libc_malloc"},
        {"_Z3foov", "foo", {"bar", "_Z3foov"}, "_Z3foov"},
        {"_ZN1aC2Ev", "a", {"_ZN1aC1Ev", "_ZN1aC2Ev"}, "_ZN1aC2Ev"},
    };
    check_all(rows, ARRAY_SIZE(rows));
}

/* A label that the source gave to the assembler is a linkage name, and not the one people know. */
static void the_source_name_goes_before_a_label(void **state) {
    (void)state;
    static const struct row rows[] = {
        {"__GI_read", "read", {"read", "__read", "__GI_read"}, "read"},
        {"__GI___strcoll_l",
         "__strcoll_l",
         {"__strcoll_l", "strcoll_l", "__GI___strcoll_l"},
         "__strcoll_l"},
        {"__GI_read", "read", {"__GI_read", "read"}, "read"},
        {"__GI_read", "read", {"__GI_read", "__read"}, "__GI_read"},
        {"__GI_read", "read", {"read.cold"}, "read.cold"},
        {"__GI_read", "read", {"__libc_read"}, NULL},
        /* A mangled name is no label: this is another function of that name. */
        {"_ZN1a3fooEv", "foo", {"foo", "_ZN1a3fooEv"}, "_ZN1a3fooEv"},
        {"_ZN1a3fooEv", "foo", {"foo"}, NULL},
    };
    check_all(rows, ARRAY_SIZE(rows));
}

static void a_clone_keeps_its_suffix(void **state) {
    (void)state;
    static const struct row rows[] = {
        {"foo", "foo", {"foo.isra.0"}, "foo.isra.0"},
        {"foo", "foo", {"foo.part.12"}, "foo.part.12"},
        {"foo", "foo", {"foo.constprop.0.isra.3"}, "foo.constprop.0.isra.3"},
        {"foo", "foo", {"foo.cold"}, "foo.cold"},
        {"foo", "foo", {"foo.lto_priv.0"}, "foo.lto_priv.0"},
        {"_Z3foov", "foo", {"_Z3foov.llvm.1234567890123"}, "_Z3foov.llvm.1234567890123"},
        {"foo", "foo", {"foo.__uniq.123.llvm.4"}, "foo.__uniq.123.llvm.4"},
        /* The name itself goes before any clone that was folded with it. */
        {"foo", "foo", {"foo.isra.0", "foo"}, "foo"},
        {"foo", "foo", {"bar.isra.0", "foo.isra.1"}, "foo.isra.1"},
    };
    check_all(rows, ARRAY_SIZE(rows));
}

/* GCC's DWARF names the constructor that both C1 and C2 are made of, and clones are made of those.
 */
static void a_constructor_of_the_one_in_the_source_is_taken(void **state) {
    (void)state;
    static const struct row rows[] = {
        {"_ZN1aC4EPKc", "a", {"_ZN1aC2EPKc.isra.0"}, "_ZN1aC2EPKc.isra.0"},
        {"_ZN1aD4Ev", "~a", {"_ZN1bD2Ev.part.0", "_ZN1aD2Ev.part.0"}, "_ZN1aD2Ev.part.0"},
        {"_ZN1aC4IS_EEPKc", "a", {"_ZN1aC1IS_EEPKc"}, "_ZN1aC1IS_EEPKc"},
        {"_ZN1aC4Ev", "a", {"_ZN1aC2Ev.isra.0", "_ZN1aC1Ev"}, "_ZN1aC1Ev"},
        {"_ZN1aC4Ev", "a", {"_ZN1aC1Ev", "_ZN1aC4Ev"}, "_ZN1aC4Ev"},
        {"_ZN1aC2Ev", "a", {"_ZN1aC1Ev"}, NULL},
        {"_ZN1aC4Ev", "a", {"_ZN1aCEEv", "_ZN1aC1Ei", "_ZN1aD1Ev", "_ZN1a"}, NULL},
        {"fooC4", "fooC4", {"fooC2"}, NULL},
    };
    check_all(rows, ARRAY_SIZE(rows));
}

static void other_names_for_the_same_code_are_not_taken(void **state) {
    (void)state;
    static const struct row rows[] = {
        {"strdup", "strdup", {"__GI_strdup", "__strdup"}, NULL},
        {"read", "read", {"__libc_read", "__read"}, NULL},
        {"folded_a", "folded_a", {"folded_b"}, NULL},
        {"_Z6foldedi", "folded", {"_Z6foldedl", "_Z5otheri"}, NULL},
        {"foo", "foo", {"foo2", "foo_bar", "fo"}, NULL},
        {"foo", "foo", {"foo.", "foo. ", "foo.a b"}, NULL},
        {"foo", "foo", {"foo@plt"}, NULL},
        {"nested", "nested", {"nested.0"}, NULL},
        {"foo", "foo", {NULL}, NULL},
        {"", "", {".isra.0"}, NULL},
    };
    check_all(rows, ARRAY_SIZE(rows));
}

static void without_a_linkage_name_a_mangled_alias_of_that_name_is_taken(void **state) {
    (void)state;
    static const struct row rows[] = {
        {"ns::foo", "foo", {"_ZN2ns3fooEi"}, "_ZN2ns3fooEi"},
        {"foo<int>", "foo<int>", {"_Z3fooIiEvT_"}, "_Z3fooIiEvT_"},
        {"foo", "foo", {"_Z3fooIiEvT_"}, "_Z3fooIiEvT_"},
        {"foo", "foo", {"_Z3fooIcSt6vectorIcSaIcEEEvT_"}, "_Z3fooIcSt6vectorIcSaIcEEEvT_"},
        {"a::operator>", "operator>", {"_ZNK1agtERKS_"}, "_ZNK1agtERKS_"},
        {"a::get", "get", {"_ZNK1aIiE3getEv"}, "_ZNK1aIiE3getEv"},
        {"a::operator<", "operator<", {"_ZNK1altERKS_"}, "_ZNK1altERKS_"},
        {"a::operator()", "operator()", {"_ZNK1aclEi"}, "_ZNK1aclEi"},
        {"a::operator->", "operator->", {"_ZNK1aptEv"}, "_ZNK1aptEv"},
        {"core::fmt::write",
         "write",
         {"_ZN4core3fmt5write17h0123456789abcdefE"},
         "_ZN4core3fmt5write17h0123456789abcdefE"},
        {"foo", "foo", {"_ZL3fooi.constprop.0"}, "_ZL3fooi.constprop.0"},
        {"foo", "foo", {"_ZL3fooi.constprop.0.isra.0"}, "_ZL3fooi.constprop.0.isra.0"},
        {"foo", "foo", {"_ZL3fooB5cxx11i"}, "_ZL3fooB5cxx11i"},
        {"foo", "foo", {"_ZL3fooB3oneB3twoIiEvT_"}, "_ZL3fooB3oneB3twoIiEvT_"},
        {"foo<int>", "foo<int>", {"_ZL3fooB5cxx11IiEvT_"}, "_ZL3fooB5cxx11IiEvT_"},
        {"a::operator[]", "operator[]", {"_ZN1aixEi"}, "_ZN1aixEi"},
        {"a::operator()", "operator()", {"_ZNK1aclEi.part.1"}, "_ZNK1aclEi.part.1"},
        {"foo", "foo", {"_ZL3fooi.part.0", "_ZL3fooi"}, "_ZL3fooi"},
        {"foo", "foo", {"_ZL3fooi.part.0", "_ZL3fooi.part.1"}, "_ZL3fooi.part.0"},
        {"(anonymous namespace)::f", "f", {"_ZN12_GLOBAL__N_11fEi"}, "_ZN12_GLOBAL__N_11fEi"},
    };
    check_all(rows, ARRAY_SIZE(rows));
}

static void a_mangled_alias_of_another_name_is_not_taken(void **state) {
    (void)state;
    static const struct row rows[] = {
        {"foo", "foo", {"_ZL3bari.isra.0"}, NULL},
        {"foo", "foo", {"_Z3bari"}, NULL},
        {"oo", "oo", {"_Z3fooi"}, NULL},
        {"foo", "foo", {"_Z3bar3foo"}, NULL},      /* bar(foo) */
        {"foo", "foo", {"_ZN3foo3barEv"}, NULL},   /* foo::bar() */
        {"foo", "foo", {"_Z3barI3fooEvT_"}, NULL}, /* bar<foo> */
        {"_Z3foov", "foo", {"_Z3fooi"}, NULL},     /* another overload was folded */
        {"ns::foo", "", {"_ZN2ns3fooEi"}, NULL},   /* nothing to compare with */
    };
    check_all(rows, ARRAY_SIZE(rows));
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(an_alias_that_agrees_is_taken),
        cmocka_unit_test(the_source_name_goes_before_a_label),
        cmocka_unit_test(a_clone_keeps_its_suffix),
        cmocka_unit_test(a_constructor_of_the_one_in_the_source_is_taken),
        cmocka_unit_test(other_names_for_the_same_code_are_not_taken),
        cmocka_unit_test(without_a_linkage_name_a_mangled_alias_of_that_name_is_taken),
        cmocka_unit_test(a_mangled_alias_of_another_name_is_not_taken),
    };
    return cmocka_run_group_tests_name("outer_name", tests, NULL, NULL);
}
