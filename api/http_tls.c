#include "api/http_tls.h"

#include <gnutls/abstract.h>
#include <netinet/in.h>
#include <stdlib.h>

#include "base/socket_name.h"
#include "rpc/tls_guard.h"
#include "rpc/tls_slot.h"

/* 1.2 is here only to be refused with an alert: libmicrohttpd sends none when there is no version
 * in common. */
static const char priorities[] = "NORMAL:-VERS-ALL:+VERS-TLS1.3:+VERS-TLS1.2";

struct secured {
    const struct http_server_config *config;
    struct tls_guard guard;
    char peer[SOCKET_NAME_SIZE];
};

static struct secured *secured_of(struct MHD_Connection *connection) {
    const union MHD_ConnectionInfo *info =
        MHD_get_connection_info(connection, MHD_CONNECTION_INFO_SOCKET_CONTEXT);
    return info ? info->socket_context : NULL;
}

static void secured_free(struct secured *secured) {
    tls_credentials_unref(secured->guard.credentials);
    free(secured);
}
DEFINE_CLEANUP(secured, struct secured, secured_free)

static void name_peer(struct MHD_Connection *connection, char ret_name[static SOCKET_NAME_SIZE]) {
    const union MHD_ConnectionInfo *info =
        MHD_get_connection_info(connection, MHD_CONNECTION_INFO_CLIENT_ADDRESS);
    ret_name[0] = '\0';
    if (info && info->client_addr)
        socket_name_of(info->client_addr,
                       info->client_addr->sa_family == AF_INET6 ? sizeof(struct sockaddr_in6)
                                                                : sizeof(struct sockaddr_in),
                       ret_name);
}

/* Without its own credentials a session has none at all, and its handshake fails. */
static void begin(const struct http_server_config *config, struct MHD_Connection *connection,
                  void **context) {
    const union MHD_ConnectionInfo *info =
        MHD_get_connection_info(connection, MHD_CONNECTION_INFO_GNUTLS_SESSION);
    CLEANUP(cleanup_secured) struct secured *secured = calloc(1, sizeof(*secured));
    struct error error;
    if (!info || !secured)
        return;
    secured->config = config;
    secured->guard.credentials = tls_slot_get(config->tls);
    name_peer(connection, secured->peer);
    if (tls_guard_place(&secured->guard, info->tls_session, &error) == ERR_OK)
        *context = TAKE(secured);
}

/* The session is gone already. */
static void end(struct secured *secured) {
    const struct tls_guard *guard = &secured->guard;
    const struct http_server_config *config = secured->config;
    if (!guard->passed && config->refused)
        config->refused(config->refused_argument, secured->peer,
                        guard->refusal.code ? guard->refusal.text : NULL);
    secured_free(secured);
}

static void on_connection(void *argument, struct MHD_Connection *connection, void **context,
                          enum MHD_ConnectionNotificationCode code) {
    if (code == MHD_CONNECTION_NOTIFY_STARTED)
        begin(argument, connection, context);
    else if (*context)
        end(TAKE(*context));
}

/* libmicrohttpd wants a certificate or somebody to ask for one; see begin. */
static int no_certificate(gnutls_session_t session, const struct gnutls_cert_retr_st *info,
                          gnutls_pcert_st **certificates, unsigned *certificate_count,
                          gnutls_ocsp_data_st **ocsp, unsigned *ocsp_count, gnutls_privkey_t *key,
                          unsigned *flags) {
    (void)session;
    (void)info;
    (void)certificates;
    (void)certificate_count;
    (void)ocsp;
    (void)ocsp_count;
    (void)key;
    (void)flags;
    return -1;
}

void http_tls_options(const struct http_server_config *config,
                      struct MHD_OptionItem ret_options[static HTTP_TLS_OPTION_COUNT]) {
    ret_options[0] = (struct MHD_OptionItem){MHD_OPTION_HTTPS_PRIORITIES, 0, (void *)priorities};
    ret_options[1] =
        (struct MHD_OptionItem){MHD_OPTION_HTTPS_CERT_CALLBACK2, 0, (void *)no_certificate};
    ret_options[2] = (struct MHD_OptionItem){MHD_OPTION_NOTIFY_CONNECTION, (intptr_t)on_connection,
                                             (void *)config};
    ret_options[3] = (struct MHD_OptionItem){MHD_OPTION_END, 0, NULL};
}

const char *http_tls_client(struct MHD_Connection *connection) {
    const struct secured *secured = secured_of(connection);
    return secured && secured->guard.verified ? secured->guard.client : NULL;
}
