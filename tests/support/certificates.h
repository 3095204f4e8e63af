/* Certificates and keys, made for a test and written as PEM files. Fails the test when it cannot.
 * Keys are of P-256. */
#pragma once

#include <gnutls/x509.h>

#include "tests/support/scratch.h"

struct certificate {
    gnutls_x509_crt_t certificate;
    gnutls_x509_privkey_t key;
};

struct certificate_wish {
    const char *subject;              /* a common name; NULL: none */
    const char *dns;                  /* NULL: none */
    const char *uri;                  /* NULL: none */
    const char *purpose;              /* GNUTLS_KP_TLS_WWW_SERVER, ...; NULL: an authority */
    const struct certificate *issuer; /* NULL: itself */
    int first_day, last_day;          /* from now; both 0: from yesterday to tomorrow */
};

void certificate_make(const struct certificate_wish *wish, struct certificate *ret_certificate);
void certificate_end(struct certificate *certificate);

/* One of them may be NULL. Appends to a file that is there. */
void certificate_write(const struct certificate *certificate, const struct scratch *scratch,
                       const char *certificate_name, const char *key_name);
