#include "base/request_context.h"

#include <stdio.h>
#include <sys/random.h>

#include "base/clock.h"
#include "base/hash.h"

struct request_context request_context_default(const char *principal) {
    struct request_context context = {
        .tenant = TENANT_DEFAULT,
        .roles = ROLE_UPLOAD | ROLE_RESOLVE | ROLE_DOWNLOAD | ROLE_ADMIN | ROLE_AUDIT,
        .deadline_mono_ms = INT64_MAX,
    };
    snprintf(context.principal, sizeof(context.principal), "%s", principal);
    unsigned char random[16];
    if (getrandom(random, sizeof(random), 0) != (ssize_t)sizeof(random)) {
        /* Only possible before the kernel's pool is seeded; the id must merely be distinct. */
        int64_t now = clock_mono_ns();
        struct digest digest = hash_sha256_of(span_of(&now, sizeof(now)));
        memcpy(random, digest.bytes, sizeof(random));
    }
    hex_encode(span_of(random, sizeof(random)), context.request_id);
    return context;
}
