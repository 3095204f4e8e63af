#include "rpc/tls_slot.h"

void tls_slot_init(struct tls_slot *slot, struct tls_credentials *credentials) {
    pthread_mutex_init(&slot->mutex, NULL);
    slot->credentials = credentials;
}

void tls_slot_clear(struct tls_slot *slot) {
    tls_credentials_unref(slot->credentials);
    slot->credentials = NULL;
    pthread_mutex_destroy(&slot->mutex);
}

void tls_slot_set(struct tls_slot *slot, struct tls_credentials *credentials) {
    pthread_mutex_lock(&slot->mutex);
    struct tls_credentials *old = slot->credentials;
    slot->credentials = credentials;
    pthread_mutex_unlock(&slot->mutex);
    tls_credentials_unref(old);
}

struct tls_credentials *tls_slot_get(struct tls_slot *slot) {
    pthread_mutex_lock(&slot->mutex);
    struct tls_credentials *credentials = tls_credentials_ref(slot->credentials);
    pthread_mutex_unlock(&slot->mutex);
    return credentials;
}
