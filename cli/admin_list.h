/* `symbolize admin list` and `missing`: GET /v1/debuginfo, page by page, and GET /v1/missing. */
#pragma once

#include "cli/admin_options.h"
#include "cli/http_client.h"

/* Prints one line per entry as the pages come. Errors: as http_client_ask, and ERR_MALFORMED. */
enum err admin_list(struct http_client *client, const struct admin_options *options,
                    struct error *error);
enum err admin_missing(struct http_client *client, const struct admin_options *options,
                       struct error *error);
