/*
 * Certificates, a key and whom to trust, read once from PEM files, for the server and for the
 * client. What is loaded does not change: a reload makes another object, and connections keep the
 * one that they began with.
 *
 * Threads: any number may use one; references are counted.
 */
#pragma once

#include <gnutls/gnutls.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/cleanup.h"
#include "base/error.h"

struct tls_credentials;

/* Paths; NULL or empty: none. */
struct tls_files {
    const char *certificate; /* the chain, leaf first */
    const char *key;         /* of the leaf, without a password */
    const char *authorities; /* that sign what peers show */
};

/*
 * For a server: certificate and key are needed; with authorities, clients must show a certificate
 * that one of them signed. ERR_IO, ERR_MALFORMED, ERR_LIMIT and ERR_INVALID (the pair does not
 * match) name the file.
 */
enum err tls_credentials_load_server(const struct tls_files *files,
                                     struct tls_credentials **ret_credentials, struct error *error);

/* For a client: without authorities the system's are trusted; the certificate is optional, and its
 * key is in the same file unless another is named. `insecure`: whatever a server shows is taken. */
enum err tls_credentials_load_client(const struct tls_files *files, bool insecure,
                                     struct tls_credentials **ret_credentials, struct error *error);

struct tls_credentials *tls_credentials_ref(struct tls_credentials *credentials);
void tls_credentials_unref(struct tls_credentials *credentials);
DEFINE_CLEANUP(tls_credentials, struct tls_credentials, tls_credentials_unref)

/* Whether the peer has to show a certificate that the authorities signed. */
bool tls_credentials_check_peer(const struct tls_credentials *credentials);

/* What is wrong with a peer's certificate, for a person, from GnuTLS's bits. */
#define TLS_WORDS_SIZE 256
void tls_status_words(unsigned status, char ret_words[static TLS_WORDS_SIZE]);

/* When the first certificate of the chain begins and ends to be valid, in seconds since 1970. */
int64_t tls_credentials_not_before(const struct tls_credentials *credentials);
int64_t tls_credentials_not_after(const struct tls_credentials *credentials);

/* For sessions that hold a reference as long as they live. */
gnutls_certificate_credentials_t tls_credentials_native(const struct tls_credentials *credentials);
