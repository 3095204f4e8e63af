#include "rpc/tls_session.h"

#include <arpa/inet.h>
#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "rpc/tls_guard.h"

#define PRIORITIES "NORMAL:-VERS-ALL:+VERS-TLS1.3"

struct tls_session {
    gnutls_session_t native;
    struct tls_credentials *credentials;
    struct tls_guard guard; /* of a server */
    char *host;             /* of a client */
    bool shaken;            /* the handshake is over */
    bool sending;           /* GnuTLS holds a record that the socket has not taken */
    bool received_all;      /* nothing more can be received */
    int failure;            /* why, unless the peer ended it in order */
};

/* --- life ---------------------------------------------------------------------------------------
 */

static struct tls_session *new_session(struct tls_credentials *credentials, int fd, unsigned flags,
                                       struct error *error) {
    struct tls_session *session = calloc(1, sizeof(*session));
    const gnutls_datum_t protocol = {(unsigned char *)"h2", 2};
    if (!session || gnutls_init(&session->native, flags | GNUTLS_NONBLOCK | GNUTLS_NO_SIGNAL) < 0) {
        free(session);
        error_set(error, ERR_NO_MEMORY, "no memory for a TLS session");
        return NULL;
    }
    session->credentials = tls_credentials_ref(credentials);
    gnutls_transport_set_int(session->native, fd);
    if (gnutls_priority_set_direct(session->native, PRIORITIES, NULL) < 0 ||
        gnutls_alpn_set_protocols(session->native, &protocol, 1, 0) < 0) {
        tls_session_free(session);
        error_set(error, ERR_UNAVAILABLE, "this system's GnuTLS has no TLS 1.3");
        return NULL;
    }
    return session;
}

enum err tls_session_new_server(struct tls_credentials *credentials, int fd,
                                struct tls_session **ret_session, struct error *error) {
    CLEANUP(cleanup_tls_session)
    struct tls_session *session = new_session(credentials, fd, GNUTLS_SERVER, error);
    if (!session)
        return error->code;
    session->guard.credentials = credentials;
    session->guard.wants_h2 = true;
    session->guard.counts_on = true;
    enum err err = tls_guard_place(&session->guard, session->native, error);
    if (err == ERR_OK)
        *ret_session = TAKE(session);
    return err;
}

static bool is_numeric(const char *host) {
    unsigned char address[sizeof(struct in6_addr)];
    return inet_pton(AF_INET, host, address) == 1 || inet_pton(AF_INET6, host, address) == 1;
}

enum err tls_session_new_client(struct tls_credentials *credentials, const char *host, int fd,
                                struct tls_session **ret_session, struct error *error) {
    CLEANUP(cleanup_tls_session)
    /* A certificate that was named is shown even where the server's authorities did not sign it:
     * its refusal says more than "no certificate". */
    struct tls_session *session =
        new_session(credentials, fd, GNUTLS_CLIENT | GNUTLS_FORCE_CLIENT_CERT, error);
    if (!session)
        return error->code;
    gnutls_session_t native = session->native;
    session->host = strdup(host);
    /* RFC 6066, section 3: the name that is asked for is no address. */
    if (!session->host ||
        gnutls_credentials_set(native, GNUTLS_CRD_CERTIFICATE,
                               tls_credentials_native(credentials)) < 0 ||
        (!is_numeric(host) &&
         gnutls_server_name_set(native, GNUTLS_NAME_DNS, host, strlen(host)) < 0))
        return error_set(error, ERR_NO_MEMORY, "no memory for a TLS session");
    if (tls_credentials_check_peer(credentials))
        gnutls_session_set_verify_cert(native, session->host, 0);
    *ret_session = TAKE(session);
    return ERR_OK;
}

void tls_session_free(struct tls_session *session) {
    if (!session)
        return;
    gnutls_deinit(session->native);
    tls_credentials_unref(session->credentials);
    free(session->host);
    free(session);
}

void tls_session_end(struct tls_session *session) {
    if (session->shaken)
        gnutls_bye(session->native, GNUTLS_SHUT_WR);
}

const char *tls_session_client(const struct tls_session *session) {
    return session->guard.client;
}

/* --- what went wrong ----------------------------------------------------------------------------
 */

static enum err say_unverified(const struct tls_session *session, struct error *error) {
    char words[TLS_WORDS_SIZE];
    tls_status_words(gnutls_session_get_verify_cert_status(session->native), words);
    return error_set(error, ERR_DENIED, "the server's certificate is not accepted for %s: %s",
                     session->host, words);
}

/* Alerts say that another try will end the same way; a connection that breaks does not. */
static enum err say_failure(const struct tls_session *session, int failure, struct error *error) {
    const char *alert = NULL;
    switch (failure) {
    case GNUTLS_E_CERTIFICATE_VERIFICATION_ERROR:
        return say_unverified(session, error);
    case GNUTLS_E_FATAL_ALERT_RECEIVED:
        alert = gnutls_alert_get_name(gnutls_alert_get(session->native));
        return error_set(error, ERR_DENIED, "the peer refused the connection: TLS alert: %s",
                         alert ? alert : "of an unknown kind");
    case GNUTLS_E_UNEXPECTED_PACKET_LENGTH:
    case GNUTLS_E_UNEXPECTED_PACKET:
    case GNUTLS_E_RECORD_OVERFLOW:
    case GNUTLS_E_UNSUPPORTED_VERSION_PACKET:
        return error_set(error, ERR_MALFORMED, "the peer does not speak TLS 1.3: %s",
                         gnutls_strerror(failure));
    case GNUTLS_E_MEMORY_ERROR:
        return error_set(error, ERR_NO_MEMORY, "no memory for a TLS session");
    default:
        return error_set(error, ERR_UNAVAILABLE, "the TLS connection broke: %s",
                         gnutls_strerror(failure));
    }
}

static enum transport_result fail(struct tls_session *session, int failure, struct error *error) {
    if (failure == GNUTLS_E_PREMATURE_TERMINATION)
        return TRANSPORT_ENDED;
    if (session->guard.refusal.code != ERR_OK) {
        *error = session->guard.refusal;
        return TRANSPORT_FAILED;
    }
    gnutls_alert_send_appropriate(session->native, failure);
    say_failure(session, failure, error);
    return TRANSPORT_FAILED;
}

/* --- the handshake ------------------------------------------------------------------------------
 */

enum transport_result tls_session_handshake(struct tls_session *session, struct error *error) {
    gnutls_datum_t protocol;
    if (session->shaken)
        return TRANSPORT_DONE;
    int failure = gnutls_handshake(session->native);
    if (failure < 0 && !gnutls_error_is_fatal(failure))
        return TRANSPORT_BLOCKED;
    if (failure < 0)
        return fail(session, failure, error);
    /* For a server, the guard has seen to it. */
    if (gnutls_alpn_get_selected_protocol(session->native, &protocol) < 0) {
        gnutls_alert_send(session->native, GNUTLS_AL_FATAL, GNUTLS_A_NO_APPLICATION_PROTOCOL);
        error_set(error, ERR_MALFORMED, "the server does not offer h2 (ALPN): no gRPC there");
        return TRANSPORT_FAILED;
    }
    session->shaken = true;
    return TRANSPORT_DONE;
}

/* --- bytes --------------------------------------------------------------------------------------
 */

/* Records until the socket is empty or the next might not fit. GnuTLS reads no further than the
 * record that it was asked for, so that nothing stays with it in between. */
enum transport_result tls_session_receive(struct tls_session *session, void *bytes, size_t size,
                                          size_t *ret_size, struct error *error) {
    assert(session->shaken && size >= GRPC_TRANSPORT_ROOM_MIN);
    size_t used = 0;
    bool is_empty = false;
    while (!is_empty && !session->received_all && size - used >= GRPC_TRANSPORT_ROOM_MIN) {
        ssize_t received = gnutls_record_recv(session->native, (char *)bytes + used, size - used);
        if (received > 0) {
            used += (size_t)received;
            session->guard.pulled = 0;
        } else if (received < 0 && !gnutls_error_is_fatal((int)received)) {
            is_empty = true;
        } else {
            session->received_all = true;
            session->failure = (int)received;
        }
    }
    *ret_size = used;
    if (used > 0)
        return TRANSPORT_DONE;
    if (!session->received_all)
        return TRANSPORT_BLOCKED;
    return session->failure ? fail(session, session->failure, error) : TRANSPORT_ENDED;
}

enum transport_result tls_session_send(struct tls_session *session, const void *bytes, size_t size,
                                       size_t *ret_size, struct error *error) {
    assert(session->shaken && size > 0);
    /* A record that is under way is sent on; the result is the size of what was in it. */
    ssize_t sent = session->sending ? gnutls_record_send(session->native, NULL, 0)
                                    : gnutls_record_send(session->native, bytes, size);
    session->sending = sent == GNUTLS_E_AGAIN || sent == GNUTLS_E_INTERRUPTED;
    if (session->sending)
        return TRANSPORT_BLOCKED;
    if (sent < 0)
        return fail(session, (int)sent, error);
    assert((size_t)sent <= size);
    *ret_size = (size_t)sent;
    return TRANSPORT_DONE;
}

bool tls_session_pending(const struct tls_session *session) {
    return gnutls_record_check_pending(session->native) > 0;
}

bool tls_session_wants_write(const struct tls_session *session) {
    return gnutls_record_get_direction(session->native) == 1;
}
