#include "api/server_options.h"

#include "tests/support/test.h"

static struct server_options local_options(void) {
    struct server_options options = {.log_level = LOG_LEVEL_INFO};
    struct error error;
    assert_int_equal(server_endpoint_parse("127.0.0.1:1", &options.http, &error), ERR_OK);
    assert_int_equal(server_endpoint_parse("[::1]:2", &options.grpc, &error), ERR_OK);
    return options;
}

static void an_endpoint_is_a_numeric_address_and_a_port(void **state) {
    (void)state;
    static const char *const bad[] = {
        "",        "localhost:1",  "127.0.0.1",      "127.0.0.1:65536",
        "::1:80",  "127.0.0.1: 1", "[127.0.0.1]:80", "127.0.0.1:-1",
        "[::1]80", ":1",           "[]:1",           "127.0.0.1:1x"};
    struct server_endpoint endpoint = {.port = 9};
    struct error error;
    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
        if (server_endpoint_parse(bad[i], &endpoint, &error) != ERR_INVALID)
            fail_msg("\"%s\" was accepted", bad[i]);
        assert_int_equal(endpoint.port, 9);
    }
    assert_int_equal(server_endpoint_parse("[fe80::1]:65535", &endpoint, &error), ERR_OK);
    assert_string_equal(endpoint.address, "fe80::1");
    assert_int_equal(endpoint.port, 65535);
}

static void an_address_that_others_reach_has_to_be_allowed(void **state) {
    (void)state;
    struct server_options options = local_options();
    struct error error;
    assert_int_equal(server_options_check(&options, &error), ERR_OK);
    assert_int_equal(server_endpoint_parse("[::]:2", &options.grpc, &error), ERR_OK);
    assert_false(server_endpoint_is_loopback(&options.grpc));
    assert_int_equal(server_options_check(&options, &error), ERR_INVALID);
    options.allow_remote = true;
    assert_int_equal(server_options_check(&options, &error), ERR_OK);
}

static void a_certificate_comes_with_its_key(void **state) {
    (void)state;
    struct server_options options = local_options();
    struct error error;
    strcpy(options.tls_client_ca, "ca");
    assert_int_equal(server_options_check(&options, &error), ERR_INVALID);
    strcpy(options.tls_certificate, "c");
    assert_int_equal(server_options_check(&options, &error), ERR_INVALID);
    assert_non_null(strstr(error.text, "give tls.key"));
    strcpy(options.tls_key, "k");
    assert_int_equal(server_options_check(&options, &error), ERR_OK);
    options.tls_certificate[0] = '\0';
    options.tls_client_ca[0] = '\0';
    assert_int_equal(server_options_check(&options, &error), ERR_INVALID);
    assert_non_null(strstr(error.text, "give tls.certificate"));
}

static void signed_urls_need_to_start_somewhere(void **state) {
    (void)state;
    struct server_options options = local_options();
    struct error error;
    options.upload_strategy = SERVER_UPLOAD_SIGNED_URL;
    assert_int_equal(server_options_check(&options, &error), ERR_INVALID);
    strcpy(options.upload_public_url, "https://s");
    assert_int_equal(server_options_check(&options, &error), ERR_OK);
}

static void an_origin_has_no_path(void **state) {
    (void)state;
    static const char *const bad[] = {
        "*",          "null",        "https://", "grafana.example.org",
        "https://a/", "https://a b", "ftp://a",  "https://u@a"};
    struct server_options options = local_options();
    struct error error;
    options.http_cors_allowed_origins.count = 2;
    strcpy(options.http_cors_allowed_origins.texts[0], "https://grafana.example.org");
    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
        strcpy(options.http_cors_allowed_origins.texts[1], bad[i]);
        if (server_options_check(&options, &error) != ERR_INVALID)
            fail_msg("\"%s\" was accepted", bad[i]);
    }
    strcpy(options.http_cors_allowed_origins.texts[1], "http://[::1]:3000");
    assert_int_equal(server_options_check(&options, &error), ERR_OK);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(an_endpoint_is_a_numeric_address_and_a_port),
        cmocka_unit_test(an_address_that_others_reach_has_to_be_allowed),
        cmocka_unit_test(a_certificate_comes_with_its_key),
        cmocka_unit_test(an_origin_has_no_path),
        cmocka_unit_test(signed_urls_need_to_start_somewhere),
    };
    return cmocka_run_group_tests_name("server_options", tests, NULL, NULL);
}
