#include "rpc/tls_credentials.h"

#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "rpc/tls_slot.h"
#include "tests/support/certificates.h"
#include "tests/support/test.h"

struct fixture {
    struct scratch scratch;
    struct certificate authority, server, other;
};

static int setup(void **state) {
    static struct fixture fixture;
    scratch_make(&fixture.scratch);
    certificate_make(&(struct certificate_wish){.subject = "authority"}, &fixture.authority);
    const struct certificate_wish server = {.subject = "server",
                                            .dns = "localhost",
                                            .purpose = GNUTLS_KP_TLS_WWW_SERVER,
                                            .issuer = &fixture.authority};
    certificate_make(&server, &fixture.server);
    certificate_make(&server, &fixture.other);
    certificate_write(&fixture.authority, &fixture.scratch, "ca.pem", NULL);
    certificate_write(&fixture.server, &fixture.scratch, "server.pem", "server.key");
    certificate_write(&fixture.other, &fixture.scratch, "other.pem", "other.key");
    *state = &fixture;
    return 0;
}

static int teardown(void **state) {
    struct fixture *fixture = *state;
    certificate_end(&fixture->authority);
    certificate_end(&fixture->server);
    certificate_end(&fixture->other);
    scratch_remove(&fixture->scratch);
    return 0;
}

static void write_text(const struct fixture *fixture, const char *name, const char *text) {
    int fd = openat(fixture->scratch.fd, name, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
    assert_int_equal(write(fd, text, strlen(text)), strlen(text));
    close(fd);
}

/* Files of the fixture; NULL: none. */
static enum err load(const struct fixture *fixture, const char *certificate, const char *key,
                     const char *authorities, struct tls_credentials **ret_credentials,
                     struct error *error) {
    const struct scratch *scratch = &fixture->scratch;
    const struct tls_files files = {.certificate = scratch_path(scratch, certificate),
                                    .key = scratch_path(scratch, key),
                                    .authorities = authorities ? scratch_path(scratch, authorities)
                                                               : NULL};
    return tls_credentials_load_server(&files, ret_credentials, error);
}

static void expect_refused(const struct fixture *fixture, const char *certificate, const char *key,
                           const char *authorities, enum err code, const char *words) {
    struct tls_credentials *credentials = NULL;
    struct error error;
    assert_int_equal(load(fixture, certificate, key, authorities, &credentials, &error), code);
    assert_null(credentials);
    if (!strstr(error.text, words))
        fail_msg("\"%s\" lacks \"%s\"", error.text, words);
}

static void a_pair_is_loaded_with_the_time_of_its_certificate(void **state) {
    struct tls_credentials *credentials = NULL;
    struct error error;
    assert_int_equal(load(*state, "server.pem", "server.key", NULL, &credentials, &error), ERR_OK);
    int64_t now = time(NULL);
    assert_in_range(now - tls_credentials_not_before(credentials), 86000, 87000);
    assert_in_range(tls_credentials_not_after(credentials) - now, 85000, 87000);
    assert_false(tls_credentials_check_peer(credentials));
    tls_credentials_unref(credentials);
}

static void authorities_make_clients_show_certificates(void **state) {
    struct tls_credentials *credentials = NULL;
    struct error error;
    assert_int_equal(load(*state, "server.pem", "server.key", "ca.pem", &credentials, &error),
                     ERR_OK);
    assert_true(tls_credentials_check_peer(credentials));
    tls_credentials_unref(credentials);
}

static void a_file_that_is_missing_is_named(void **state) {
    expect_refused(*state, "none.pem", "server.key", NULL, ERR_IO, "none.pem: No such file");
    expect_refused(*state, "server.pem", "none.key", NULL, ERR_IO, "none.key: No such file");
    expect_refused(*state, "server.pem", "server.key", "none.ca", ERR_IO, "none.ca: No such file");
}

static void a_folder_is_no_file(void **state) {
    struct fixture *fixture = *state;
    assert_int_equal(mkdirat(fixture->scratch.fd, "folder", 0700), 0);
    expect_refused(fixture, "folder", "server.key", NULL, ERR_IO, "folder: ");
}

static void what_is_no_pem_is_named_with_what_was_wanted(void **state) {
    static const char *const texts[] = {
        "",
        "no PEM",
        "-----BEGIN CERTIFICATE-----\n",
        "-----BEGIN CERTIFICATE-----\nAAAA\n",
        "-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n",
        "-----BEGIN PRIVATE KEY-----\nAAAA\n-----END PRIVATE KEY-----\n"};
    struct fixture *fixture = *state;
    for (size_t i = 0; i < ARRAY_SIZE(texts); i++) {
        write_text(fixture, "odd", texts[i]);
        expect_refused(fixture, "odd", "server.key", NULL, ERR_MALFORMED, "odd: no certificate");
        expect_refused(fixture, "server.pem", "odd", NULL, ERR_MALFORMED, "odd: no private key");
        expect_refused(fixture, "server.pem", "server.key", "odd", ERR_MALFORMED,
                       "odd: no certificate");
    }
}

static void certificate_and_key_are_not_taken_for_each_other(void **state) {
    expect_refused(*state, "server.key", "server.key", NULL, ERR_MALFORMED, "server.key: no cert");
    expect_refused(*state, "server.pem", "server.pem", NULL, ERR_MALFORMED, "server.pem: no priv");
}

static void the_key_of_another_certificate_is_refused(void **state) {
    expect_refused(*state, "server.pem", "other.key", NULL, ERR_INVALID,
                   "other.key is not the key of the certificate");
}

static void a_key_with_a_password_is_refused(void **state) {
    struct fixture *fixture = *state;
    gnutls_datum_t bytes;
    char text[4096] = "";
    assert_int_equal(gnutls_x509_privkey_export2_pkcs8(fixture->server.key, GNUTLS_X509_FMT_PEM,
                                                       "secret", GNUTLS_PKCS_PBES2_AES_256, &bytes),
                     0);
    assert_true(bytes.size < sizeof(text));
    memcpy(text, bytes.data, bytes.size);
    gnutls_free(bytes.data);
    write_text(fixture, "locked.key", text);
    expect_refused(fixture, "server.pem", "locked.key", NULL, ERR_MALFORMED,
                   "locked.key: the key has a password");
}

static void a_chain_is_taken_in_its_order_only(void **state) {
    struct fixture *fixture = *state;
    struct tls_credentials *credentials = NULL;
    struct error error;
    certificate_write(&fixture->server, &fixture->scratch, "chain.pem", NULL);
    certificate_write(&fixture->authority, &fixture->scratch, "chain.pem", NULL);
    assert_int_equal(load(fixture, "chain.pem", "server.key", NULL, &credentials, &error), ERR_OK);
    tls_credentials_unref(credentials);
    certificate_write(&fixture->authority, &fixture->scratch, "reverse.pem", NULL);
    certificate_write(&fixture->server, &fixture->scratch, "reverse.pem", NULL);
    expect_refused(fixture, "reverse.pem", "server.key", NULL, ERR_MALFORMED,
                   "reverse.pem: not a chain");
}

static void files_and_chains_have_bounds(void **state) {
    struct fixture *fixture = *state;
    for (int i = 0; i < 17; i++)
        certificate_write(&fixture->server, &fixture->scratch, "many.pem", NULL);
    expect_refused(fixture, "many.pem", "server.key", NULL, ERR_LIMIT, "many.pem: over 16");
    int fd = openat(fixture->scratch.fd, "big.pem", O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
    assert_int_equal(ftruncate(fd, (1 << 20) + 1), 0);
    close(fd);
    expect_refused(fixture, "big.pem", "server.key", NULL, ERR_LIMIT, "big.pem: over 1048576");
}

static void a_client_needs_no_certificate_and_one_file_holds_both(void **state) {
    struct fixture *fixture = *state;
    struct tls_credentials *credentials = NULL;
    struct error error;
    const struct tls_files bare = {.authorities = scratch_path(&fixture->scratch, "ca.pem")};
    assert_int_equal(tls_credentials_load_client(&bare, false, &credentials, &error), ERR_OK);
    assert_true(tls_credentials_check_peer(credentials));
    tls_credentials_unref(credentials);
    const struct tls_files none = {.key = NULL};
    assert_int_equal(tls_credentials_load_client(&none, true, &credentials, &error), ERR_OK);
    assert_false(tls_credentials_check_peer(credentials));
    tls_credentials_unref(credentials);
    certificate_write(&fixture->server, &fixture->scratch, "both.pem", "both.pem");
    const struct tls_files both = {.certificate = scratch_path(&fixture->scratch, "both.pem")};
    assert_int_equal(tls_credentials_load_client(&both, true, &credentials, &error), ERR_OK);
    tls_credentials_unref(credentials);
    const struct tls_files half = {.certificate = scratch_path(&fixture->scratch, "server.pem")};
    credentials = NULL;
    assert_int_equal(tls_credentials_load_client(&half, true, &credentials, &error), ERR_MALFORMED);
    assert_null(credentials);
}

static void a_slot_gives_out_what_was_put_there_last(void **state) {
    struct tls_credentials *first = NULL;
    struct tls_credentials *second = NULL;
    struct tls_slot slot;
    struct error error;
    assert_int_equal(load(*state, "server.pem", "server.key", NULL, &first, &error), ERR_OK);
    assert_int_equal(load(*state, "other.pem", "other.key", NULL, &second, &error), ERR_OK);
    tls_slot_init(&slot, first);
    struct tls_credentials *held = tls_slot_get(&slot);
    assert_ptr_equal(held, first);
    tls_slot_set(&slot, second);
    struct tls_credentials *now = tls_slot_get(&slot);
    assert_ptr_equal(now, second);
    /* Whoever holds the old one may go on using it. */
    assert_true(tls_credentials_not_after(held) > 0);
    tls_credentials_unref(held);
    tls_credentials_unref(now);
    tls_slot_clear(&slot);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_pair_is_loaded_with_the_time_of_its_certificate),
        cmocka_unit_test(authorities_make_clients_show_certificates),
        cmocka_unit_test(a_file_that_is_missing_is_named),
        cmocka_unit_test(a_folder_is_no_file),
        cmocka_unit_test(what_is_no_pem_is_named_with_what_was_wanted),
        cmocka_unit_test(certificate_and_key_are_not_taken_for_each_other),
        cmocka_unit_test(the_key_of_another_certificate_is_refused),
        cmocka_unit_test(a_key_with_a_password_is_refused),
        cmocka_unit_test(a_chain_is_taken_in_its_order_only),
        cmocka_unit_test(files_and_chains_have_bounds),
        cmocka_unit_test(a_client_needs_no_certificate_and_one_file_holds_both),
        cmocka_unit_test(a_slot_gives_out_what_was_put_there_last),
    };
    return cmocka_run_group_tests_name("tls_credentials", tests, setup, teardown);
}
