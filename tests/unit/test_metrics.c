#include "api/metrics.h"

#include <ctype.h>
#include <stdio.h>

#include "tests/support/test.h"

static const char *const routes[] = {"/v1/symbolize", "/healthz", "other"};

static struct metrics_snapshot snapshot(void) {
    return (struct metrics_snapshot){.route_names = routes, .route_count = ARRAY_SIZE(routes)};
}

static void assert_has(struct buffer *text, const char *line) {
    char whole[200];
    snprintf(whole, sizeof(whole), "\n%s\n", line);
    if (!strstr(buffer_cstr(text), whole))
        fail_msg("no line \"%s\" in\n%s", line, buffer_cstr(text));
}

static void what_is_counted_is_shown(void **state) {
    (void)state;
    CLEANUP(cleanup_metrics) struct metrics *metrics = metrics_new();
    uint64_t misses[METRICS_MISS_COUNT] = {[SYMBOL_MISS_NONE] = 9, [SYMBOL_MISS_NO_LINE] = 2};
    metrics_count_request(metrics, 0, 200);
    metrics_count_request(metrics, 0, 200);
    metrics_count_request(metrics, 2, 418);
    metrics_count_call(metrics, "Upload", GRPC_RESOURCE_EXHAUSTED);
    metrics_count_call(metrics, "said by a client", GRPC_OK);
    metrics_count_lookups(metrics, 11);
    metrics_count_misses(metrics, misses);
    metrics_count_module(metrics, MODULE_PENDING);
    struct metrics_snapshot numbers = snapshot();
    numbers.ingest.failed = 3;
    numbers.catalog.wal_pages = 4;
    numbers.compactor.failed = 5;
    numbers.builds.files_damaged = 9;
    numbers.ingest.files_damaged = 10;
    numbers.grpc.connections = 6;
    numbers.http_connections = 7;
    numbers.uploads_waiting = 8;
    struct buffer text = {0};
    metrics_render(metrics, &numbers, &text);
    assert_has(&text, "symbolizer_http_requests_total{path=\"/v1/symbolize\",code=\"200\"} 2");
    assert_has(&text, "symbolizer_http_requests_total{path=\"other\",code=\"other\"} 1");
    assert_has(&text,
               "symbolizer_grpc_calls_total{method=\"Upload\",code=\"RESOURCE_EXHAUSTED\"} 1");
    assert_has(&text, "symbolizer_grpc_calls_total{method=\"other\",code=\"OK\"} 1");
    assert_has(&text, "symbolizer_lookup_addresses_total 11");
    assert_has(&text, "symbolizer_lookup_misses_total{reason=\"no_line\"} 2");
    assert_has(&text, "symbolizer_lookup_misses_total{reason=\"no_range\"} 0");
    assert_has(&text, "symbolizer_modules_total{status=\"pending\"} 1");
    assert_has(&text, "symbolizer_uploads_total{outcome=\"failed\"} 3");
    assert_has(&text, "symbolizer_catalog_wal_pages 4");
    assert_has(&text, "symbolizer_compactor_files_total{outcome=\"failed\"} 5");
    assert_has(&text, "symbolizer_stored_files_lost_total{reason=\"damaged\"} 19");
    assert_has(&text, "symbolizer_grpc_connections_open 6");
    assert_has(&text, "symbolizer_http_connections_open 7");
    assert_has(&text, "symbolizer_tasks_waiting{pool=\"upload\"} 8");
    buffer_clear(&text);
}

static void times_of_builds_add_up(void **state) {
    (void)state;
    CLEANUP(cleanup_metrics) struct metrics *metrics = metrics_new();
    struct metrics_snapshot numbers = snapshot();
    for (size_t i = 0; i < BUILD_TIME_COUNT; i++)
        numbers.builds.build_times[i] = i + 1;
    numbers.builds.build_ms_sum = 12034;
    struct buffer text = {0};
    metrics_render(metrics, &numbers, &text);
    assert_has(&text, "symbolizer_build_duration_seconds_bucket{le=\"0.01\"} 1");
    assert_has(&text, "symbolizer_build_duration_seconds_bucket{le=\"0.05\"} 3");
    assert_has(&text, "symbolizer_build_duration_seconds_bucket{le=\"300\"} 55");
    assert_has(&text, "symbolizer_build_duration_seconds_bucket{le=\"+Inf\"} 66");
    assert_has(&text, "symbolizer_build_duration_seconds_sum 12.034");
    assert_has(&text, "symbolizer_build_duration_seconds_count 66");
    buffer_clear(&text);
}

/* A sample's name without what a histogram adds to it. */
static size_t family_size(const char *line) {
    static const char *const suffixes[] = {"_bucket", "_sum", "_count"};
    size_t size = strcspn(line, "{ ");
    for (size_t i = 0; i < ARRAY_SIZE(suffixes); i++) {
        size_t suffix = strlen(suffixes[i]);
        if (size > suffix && strncmp(line + size - suffix, suffixes[i], suffix) == 0 &&
            strncmp(line, "symbolizer_build_duration_seconds", size - suffix) == 0)
            return size - suffix;
    }
    return size;
}

static void every_sample_stands_below_its_type(void **state) {
    (void)state;
    CLEANUP(cleanup_metrics) struct metrics *metrics = metrics_new();
    struct metrics_snapshot numbers = snapshot();
    for (size_t route = 0; route < ARRAY_SIZE(routes); route++)
        metrics_count_request(metrics, route, 200);
    struct buffer text = {0};
    metrics_render(metrics, &numbers, &text);
    char family[100] = "";
    size_t families = 0;
    for (const char *line = buffer_cstr(&text); *line; line = strchr(line, '\n') + 1) {
        if (strncmp(line, "# HELP ", 7) == 0)
            continue;
        if (strncmp(line, "# TYPE ", 7) == 0) {
            snprintf(family, sizeof(family), "%.*s", (int)strcspn(line + 7, " "), line + 7);
            families++;
            continue;
        }
        size_t size = family_size(line);
        if (size != strlen(family) || strncmp(line, family, size) != 0)
            fail_msg("\"%.80s\" stands below %s", line, family);
        const char *number = line + strcspn(line, " ") + 1;
        assert_true(isdigit((unsigned char)*number));
    }
    assert_true(families > 25);
    buffer_clear(&text);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_is_counted_is_shown),
        cmocka_unit_test(times_of_builds_add_up),
        cmocka_unit_test(every_sample_stands_below_its_type),
    };
    return cmocka_run_group_tests_name("metrics", tests, NULL, NULL);
}
