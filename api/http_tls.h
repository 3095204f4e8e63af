/*
 * TLS of the HTTP listener. libmicrohttpd runs the sessions; each gets, when its connection begins,
 * the credentials of that moment and what is asked of clients (rpc/tls_guard.h).
 */
#pragma once

#include <microhttpd.h>

#include "api/http_server.h"

/* Options for MHD_start_daemon, for MHD_OPTION_ARRAY. */
#define HTTP_TLS_OPTION_COUNT 4
void http_tls_options(const struct http_server_config *config,
                      struct MHD_OptionItem ret_options[static HTTP_TLS_OPTION_COUNT]);

/* The client of a connection that TLS has verified, or NULL. Lives as long as the connection. */
const char *http_tls_client(struct MHD_Connection *connection);
