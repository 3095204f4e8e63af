/*
 * What a server asks of a client in the handshake beyond what GnuTLS checks by itself: TLS 1.3, an
 * application protocol, a certificate that one of our authorities signed, and no more bytes than a
 * handshake takes. Who does not comply gets the alert that says why, and the handshake fails.
 *
 * It works from GnuTLS's callbacks, so that it fits sessions that somebody else drives too:
 * libmicrohttpd sends no alert when a handshake fails.
 */
#pragma once

#include <gnutls/gnutls.h>
#include <stdbool.h>

#include "base/error.h"
#include "rpc/tls_credentials.h"

#define TLS_CLIENT_SIZE 128

struct tls_guard {
    struct tls_credentials *credentials; /* a reference of the guard's owner */
    bool wants_h2;                       /* the client must offer HTTP/2 */
    bool counts_on;                      /* see pulled */
    bool passed;                         /* the handshake is over */
    bool verified;                       /* `client` is who the certificate says */
    char client[TLS_CLIENT_SIZE];        /* printable: its DNS name or URI, else its subject */
    struct error refusal;                /* code ERR_OK while there is none */
    int fd;
    /* Bytes that GnuTLS took. Bounded while the handshake lasts; with counts_on also later, and the
     * owner sets it to 0 whenever bytes came out. */
    size_t pulled;
};

/* Before the handshake, of a session that has its socket. Guard and credentials stay where they are
 * while the session lives. */
enum err tls_guard_place(struct tls_guard *guard, gnutls_session_t session, struct error *error);
