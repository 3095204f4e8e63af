#include "rpc/tls_guard.h"

#include <errno.h>
#include <gnutls/x509.h>
#include <stdio.h>
#include <sys/socket.h>

#include "base/utf8.h"

/* A chain of many large certificates still fits. */
#define HANDSHAKE_SIZE_MAX ((size_t)128 << 10)
#define NAME_COUNT_MAX 16
#define NAME_SIZE_MAX 512

/* GnuTLS keeps a pointer for session databases, of which there is none here. The session's own
 * pointer is libmicrohttpd's. */
static struct tls_guard *guard_of(gnutls_session_t session) {
    return gnutls_db_get_ptr(session);
}

/* The alert goes out at once if the socket takes it; a few bytes mostly do. */
static int refuse(gnutls_session_t session, gnutls_alert_description_t alert, int failure) {
    gnutls_alert_send(session, GNUTLS_AL_FATAL, alert);
    return failure;
}

/* --- how much
 * --------------------------------------------------------------------------------------
 */

/* GnuTLS keeps a message of up to 16 MiB while it comes and looks at its size when it is there. */
static ssize_t pull(gnutls_transport_ptr_t argument, void *bytes, size_t size) {
    struct tls_guard *guard = argument;
    ssize_t received = recv(guard->fd, bytes, size, 0);
    if (received > 0)
        guard->pulled += (size_t)received;
    if (guard->pulled <= HANDSHAKE_SIZE_MAX || (guard->passed && !guard->counts_on))
        return received;
    error_set(&guard->refusal, ERR_LIMIT, "over %zu bytes of handshake", HANDSHAKE_SIZE_MAX);
    errno = EMSGSIZE;
    return -1;
}

/* --- the client's greeting ----------------------------------------------------------------------
 */

static int check_hello(gnutls_session_t session) {
    struct tls_guard *guard = guard_of(session);
    gnutls_datum_t chosen;
    gnutls_protocol_t version = gnutls_protocol_get_version(session);
    if (version < GNUTLS_TLS1_3 || version > GNUTLS_TLS_VERSION_MAX) {
        error_set(&guard->refusal, ERR_UNSUPPORTED, "the client speaks %s; want TLS 1.3",
                  gnutls_protocol_get_name(version));
        return refuse(session, GNUTLS_A_PROTOCOL_VERSION, GNUTLS_E_UNSUPPORTED_VERSION_PACKET);
    }
    if (guard->wants_h2 && gnutls_alpn_get_selected_protocol(session, &chosen) < 0) {
        error_set(&guard->refusal, ERR_UNSUPPORTED, "the client offers no h2 (ALPN)");
        return refuse(session, GNUTLS_A_NO_APPLICATION_PROTOCOL, GNUTLS_E_NO_APPLICATION_PROTOCOL);
    }
    return 0;
}

/* --- the client's certificate -------------------------------------------------------------------
 */

static void end_certificate(gnutls_x509_crt_t *certificate) {
    gnutls_x509_crt_deinit(*certificate);
}

/* The first name by which services know each other. */
static bool read_alternative_name(gnutls_x509_crt_t certificate, char *ret_name, size_t *ret_size) {
    for (unsigned i = 0; i < NAME_COUNT_MAX; i++) {
        size_t size = NAME_SIZE_MAX;
        unsigned critical;
        int type = gnutls_x509_crt_get_subject_alt_name(certificate, i, ret_name, &size, &critical);
        if (type == GNUTLS_E_REQUESTED_DATA_NOT_AVAILABLE)
            return false;
        if (type == GNUTLS_SAN_DNSNAME || type == GNUTLS_SAN_URI) {
            *ret_size = size;
            return true;
        }
    }
    return false;
}

static void read_client(gnutls_session_t session, struct tls_guard *guard) {
    unsigned count = 0;
    const gnutls_datum_t *chain = gnutls_certificate_get_peers(session, &count);
    CLEANUP(end_certificate) gnutls_x509_crt_t certificate = NULL;
    char name[NAME_SIZE_MAX];
    size_t size = 0;
    snprintf(guard->client, sizeof(guard->client), "unnamed");
    if (!chain || count == 0 || gnutls_x509_crt_init(&certificate) < 0 ||
        gnutls_x509_crt_import(certificate, &chain[0], GNUTLS_X509_FMT_DER) < 0)
        return;
    if (!read_alternative_name(certificate, name, &size)) {
        size = sizeof(name);
        if (gnutls_x509_crt_get_dn(certificate, name, &size) < 0 || size == 0)
            return;
    }
    utf8_copy_printable(span_of(name, size), guard->client, sizeof(guard->client));
}

static gnutls_alert_description_t alert_of(unsigned status) {
    if (status & GNUTLS_CERT_SIGNER_NOT_FOUND)
        return GNUTLS_A_UNKNOWN_CA;
    if (status & (GNUTLS_CERT_EXPIRED | GNUTLS_CERT_NOT_ACTIVATED))
        return GNUTLS_A_CERTIFICATE_EXPIRED;
    return GNUTLS_A_BAD_CERTIFICATE;
}

static int refuse_certificate(gnutls_session_t session, struct tls_guard *guard, unsigned status) {
    char words[TLS_WORDS_SIZE];
    tls_status_words(status, words);
    error_set(&guard->refusal, ERR_DENIED, "the client's certificate is refused: %s", words);
    return refuse(session, alert_of(status), GNUTLS_E_CERTIFICATE_ERROR);
}

static int refuse_bare(gnutls_session_t session, struct tls_guard *guard) {
    error_set(&guard->refusal, ERR_DENIED, "the client shows no certificate");
    return refuse(session, GNUTLS_A_CERTIFICATE_REQUIRED, GNUTLS_E_CERTIFICATE_ERROR);
}

static int check_certificate(gnutls_session_t session) {
    struct tls_guard *guard = guard_of(session);
    unsigned status = 0;
    gnutls_typed_vdata_st purpose = {GNUTLS_DT_KEY_PURPOSE_OID,
                                     (unsigned char *)GNUTLS_KP_TLS_WWW_CLIENT, 0};
    int failure = gnutls_certificate_verify_peers(session, &purpose, 1, &status);
    if (failure == GNUTLS_E_NO_CERTIFICATE_FOUND)
        return refuse_bare(session, guard);
    if (failure < 0 || status != 0)
        return refuse_certificate(session, guard, status);
    guard->verified = true;
    read_client(session, guard);
    return 0;
}

/* --- the end of the handshake ------------------------------------------------------------------
 */

/* The client's last message has come; GnuTLS has yet to check its code. That the certificate was
 * checked is not left to when GnuTLS calls check_certificate. */
static int check_finished(gnutls_session_t session, unsigned type, unsigned when, unsigned incoming,
                          const gnutls_datum_t *message) {
    (void)type;
    (void)when;
    (void)message;
    struct tls_guard *guard = guard_of(session);
    if (incoming && tls_credentials_check_peer(guard->credentials) && !guard->verified)
        return refuse_bare(session, guard);
    guard->passed |= incoming;
    return 0;
}

enum err tls_guard_place(struct tls_guard *guard, gnutls_session_t session, struct error *error) {
    gnutls_transport_ptr_t in = NULL;
    gnutls_transport_ptr_t out = NULL;
    guard->fd = gnutls_transport_get_int(session);
    gnutls_transport_get_ptr2(session, &in, &out);
    gnutls_transport_set_ptr2(session, guard, out);
    gnutls_transport_set_pull_function(session, pull);
    gnutls_db_set_ptr(session, guard);
    if (gnutls_credentials_set(session, GNUTLS_CRD_CERTIFICATE,
                               tls_credentials_native(guard->credentials)) < 0)
        return error_set(error, ERR_NO_MEMORY, "no memory for a TLS session");
    gnutls_handshake_set_post_client_hello_function(session, check_hello);
    gnutls_handshake_set_hook_function(session, GNUTLS_HANDSHAKE_FINISHED, GNUTLS_HOOK_POST,
                                       check_finished);
    if (!tls_credentials_check_peer(guard->credentials))
        return ERR_OK;
    /* Asking, not requiring, lets the check above say what is missing. */
    gnutls_certificate_server_set_request(session, GNUTLS_CERT_REQUEST);
    gnutls_session_set_verify_function(session, check_certificate);
    return ERR_OK;
}
