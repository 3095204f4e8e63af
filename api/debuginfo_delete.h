/* DELETE /v1/debuginfo/{build_id}. */
#pragma once

#include "api/http_server.h"
#include "cache/index_cache.h"
#include "ingest/upload.h"

/* Blocks: for a route that waits. */
void debuginfo_delete_answer(struct http_exchange *exchange, struct ingest *ingest,
                             struct index_cache *indexes);
