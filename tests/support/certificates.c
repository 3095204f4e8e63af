#include "tests/support/certificates.h"

#include <fcntl.h>
#include <gnutls/crypto.h>
#include <stdbool.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "tests/support/test.h"

#define DAY_S ((time_t)24 * 3600)

static void expect(int result) {
    if (result < 0)
        fail_msg("%s", gnutls_strerror(result));
}

static void set_names(gnutls_x509_crt_t certificate, const struct certificate_wish *wish) {
    if (wish->subject)
        expect(gnutls_x509_crt_set_dn_by_oid(certificate, GNUTLS_OID_X520_COMMON_NAME, 0,
                                             wish->subject, (unsigned)strlen(wish->subject)));
    if (wish->dns)
        expect(gnutls_x509_crt_set_subject_alt_name(certificate, GNUTLS_SAN_DNSNAME, wish->dns,
                                                    (unsigned)strlen(wish->dns),
                                                    GNUTLS_FSAN_APPEND));
    if (wish->uri)
        expect(gnutls_x509_crt_set_subject_alt_name(certificate, GNUTLS_SAN_URI, wish->uri,
                                                    (unsigned)strlen(wish->uri),
                                                    GNUTLS_FSAN_APPEND));
}

static void set_use(gnutls_x509_crt_t certificate, const struct certificate_wish *wish) {
    bool is_authority = !wish->purpose;
    expect(gnutls_x509_crt_set_basic_constraints(certificate, is_authority, -1));
    expect(gnutls_x509_crt_set_key_usage(certificate, is_authority ? GNUTLS_KEY_KEY_CERT_SIGN
                                                                   : GNUTLS_KEY_DIGITAL_SIGNATURE));
    if (wish->purpose)
        expect(gnutls_x509_crt_set_key_purpose_oid(certificate, wish->purpose, 0));
}

static void set_time(gnutls_x509_crt_t certificate, const struct certificate_wish *wish) {
    bool has_days = wish->first_day != 0 || wish->last_day != 0;
    time_t now = time(NULL);
    expect(gnutls_x509_crt_set_activation_time(certificate,
                                               now + (has_days ? wish->first_day : -1) * DAY_S));
    expect(gnutls_x509_crt_set_expiration_time(certificate,
                                               now + (has_days ? wish->last_day : 1) * DAY_S));
}

void certificate_make(const struct certificate_wish *wish, struct certificate *ret_certificate) {
    struct certificate made;
    unsigned char serial[16];
    expect(gnutls_x509_privkey_init(&made.key));
    expect(gnutls_x509_privkey_generate(made.key, GNUTLS_PK_ECDSA,
                                        GNUTLS_CURVE_TO_BITS(GNUTLS_ECC_CURVE_SECP256R1), 0));
    expect(gnutls_x509_crt_init(&made.certificate));
    expect(gnutls_x509_crt_set_version(made.certificate, 3));
    expect(gnutls_rnd(GNUTLS_RND_NONCE, serial, sizeof(serial)));
    serial[0] = 1; /* positive */
    expect(gnutls_x509_crt_set_serial(made.certificate, serial, sizeof(serial)));
    expect(gnutls_x509_crt_set_key(made.certificate, made.key));
    set_names(made.certificate, wish);
    set_use(made.certificate, wish);
    set_time(made.certificate, wish);
    const struct certificate *issuer = wish->issuer ? wish->issuer : &made;
    expect(gnutls_x509_crt_sign2(made.certificate, issuer->certificate, issuer->key,
                                 GNUTLS_DIG_SHA256, 0));
    *ret_certificate = made;
}

void certificate_end(struct certificate *certificate) {
    gnutls_x509_crt_deinit(certificate->certificate);
    gnutls_x509_privkey_deinit(certificate->key);
}

static void write_file(const struct scratch *scratch, const char *name, gnutls_datum_t *bytes) {
    int fd = openat(scratch->fd, name, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
    assert_int_equal(write(fd, bytes->data, bytes->size), bytes->size);
    close(fd);
    gnutls_free(bytes->data);
}

void certificate_write(const struct certificate *certificate, const struct scratch *scratch,
                       const char *certificate_name, const char *key_name) {
    gnutls_datum_t bytes;
    if (certificate_name) {
        expect(gnutls_x509_crt_export2(certificate->certificate, GNUTLS_X509_FMT_PEM, &bytes));
        write_file(scratch, certificate_name, &bytes);
    }
    if (key_name) {
        expect(gnutls_x509_privkey_export2(certificate->key, GNUTLS_X509_FMT_PEM, &bytes));
        write_file(scratch, key_name, &bytes);
    }
}
