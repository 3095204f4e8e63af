#include "api/name_cache.h"

#include <stdio.h>

#include "tests/support/test.h"

static bool holds(const struct name_cache *cache, const char *mangled, const char *name) {
    struct span found;
    return name_cache_find(cache, span_cstr(mangled), &found) && span_equal_cstr(found, name);
}

static void what_was_put_is_found(void **state) {
    (void)state;
    CLEANUP(cleanup_name_cache) struct name_cache *cache = name_cache_new();
    struct span found;
    assert_false(name_cache_find(cache, span_cstr("_Z1fv"), &found));
    name_cache_put(cache, span_cstr("_Z1fv"), span_cstr("f()"));
    assert_true(holds(cache, "_Z1fv", "f()"));
    assert_false(name_cache_find(cache, span_cstr("_Z1f"), &found));
    assert_false(name_cache_find(cache, span_cstr("_Z1fvf"), &found));
    assert_false(name_cache_find(cache, span_cstr(""), &found));
}

static void many_names_take_each_others_places_but_never_mix(void **state) {
    (void)state;
    CLEANUP(cleanup_name_cache) struct name_cache *cache = name_cache_new();
    char mangled[32];
    char name[32];
    size_t kept = 0;
    for (unsigned i = 0; i < 4 * NAME_CACHE_COUNT; i++) {
        snprintf(mangled, sizeof(mangled), "_Z%uv", i);
        snprintf(name, sizeof(name), "%u()", i);
        name_cache_put(cache, span_cstr(mangled), span_cstr(name));
        assert_true(holds(cache, mangled, name));
    }
    for (unsigned i = 0; i < 4 * NAME_CACHE_COUNT; i++) {
        struct span found;
        snprintf(mangled, sizeof(mangled), "_Z%uv", i);
        snprintf(name, sizeof(name), "%u()", i);
        if (!name_cache_find(cache, span_cstr(mangled), &found))
            continue;
        assert_true(span_equal_cstr(found, name));
        kept++;
    }
    /* The hash spreads such names over most places. */
    assert_in_range(kept, NAME_CACHE_COUNT / 2, NAME_CACHE_COUNT);
}

static void a_long_name_is_not_kept(void **state) {
    (void)state;
    CLEANUP(cleanup_name_cache) struct name_cache *cache = name_cache_new();
    static char text[NAME_CACHE_ENTRY_SIZE_MAX + 1];
    struct span found;
    memset(text, 'x', sizeof(text));
    name_cache_put(cache, span_cstr("a"), span_of(text, NAME_CACHE_ENTRY_SIZE_MAX));
    assert_false(name_cache_find(cache, span_cstr("a"), &found));
    name_cache_put(cache, span_of(text, sizeof(text)), span_cstr("b"));
    assert_false(name_cache_find(cache, span_of(text, sizeof(text)), &found));
    name_cache_put(cache, span_cstr("a"), span_of(text, NAME_CACHE_ENTRY_SIZE_MAX - 1));
    assert_true(name_cache_find(cache, span_cstr("a"), &found));
    assert_int_equal(found.size, NAME_CACHE_ENTRY_SIZE_MAX - 1);
}

static void all_names_together_are_bounded(void **state) {
    (void)state;
    CLEANUP(cleanup_name_cache) struct name_cache *cache = name_cache_new();
    static char text[4000];
    struct span found;
    char mangled[32];
    size_t kept = 0;
    for (unsigned i = 0; i < NAME_CACHE_COUNT; i++) {
        snprintf(mangled, sizeof(mangled), "_Z%uv", i);
        name_cache_put(cache, span_cstr(mangled), span_of(text, sizeof(text)));
    }
    for (unsigned i = 0; i < NAME_CACHE_COUNT; i++) {
        snprintf(mangled, sizeof(mangled), "_Z%uv", i);
        kept += name_cache_find(cache, span_cstr(mangled), &found);
    }
    assert_in_range(kept, NAME_CACHE_SIZE_MAX / 4096, NAME_CACHE_SIZE_MAX / sizeof(text));
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_was_put_is_found),
        cmocka_unit_test(many_names_take_each_others_places_but_never_mix),
        cmocka_unit_test(a_long_name_is_not_kept),
        cmocka_unit_test(all_names_together_are_bounded),
    };
    return cmocka_run_group_tests_name("name_cache", tests, NULL, NULL);
}
