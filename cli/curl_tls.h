/* https by libcurl with the options of cli/remote_access.h. */
#pragma once

#include <curl/curl.h>
#include <stdbool.h>

#include "cli/remote_access.h"

/* False when there is no memory. */
bool curl_tls_set_up(CURL *easy, const struct remote_access *access);

/* Whether a transfer failed since one side does not accept the other, so that another try will end
 * the same way. `text` is what curl says. */
bool curl_tls_failed(CURLcode code, const char *text);
