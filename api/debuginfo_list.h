/* The lists: GET /v1/debuginfo, of what is stored, and GET /v1/missing, of what is not. */
#pragma once

#include "api/http_server.h"
#include "api/missing_ids.h"
#include "cache/catalog.h"

void debuginfo_list_answer(struct http_exchange *exchange, struct catalog *catalog);
void missing_list_answer(struct http_exchange *exchange, struct catalog *catalog,
                         struct missing_ids *missing);
