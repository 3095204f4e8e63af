/*
 * The credentials that a server's next connection gets; a reload puts others there.
 *
 * Threads: any.
 */
#pragma once

#include <pthread.h>

#include "rpc/tls_credentials.h"

struct tls_slot {
    pthread_mutex_t mutex;
    struct tls_credentials *credentials;
};

/* Takes the reference. */
void tls_slot_init(struct tls_slot *slot, struct tls_credentials *credentials);
void tls_slot_clear(struct tls_slot *slot);

/* Takes the reference to the new; connections keep theirs to the old. */
void tls_slot_set(struct tls_slot *slot, struct tls_credentials *credentials);

/* A reference for the caller. */
struct tls_credentials *tls_slot_get(struct tls_slot *slot);
