#include "rpc/tls_credentials.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <gnutls/x509.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/fd.h"

#define FILE_SIZE_MAX ((size_t)1 << 20)
#define CHAIN_COUNT_MAX 16

struct tls_credentials {
    atomic_uint references;
    gnutls_certificate_credentials_t native;
    bool check_peer;
    int64_t not_before;
    int64_t not_after;
};

static bool is_given(const char *path) {
    return path && path[0];
}

/* --- files --------------------------------------------------------------------------------------
 */

/* A PEM file's bytes, wiped at the end since they may be a key. */
struct pem {
    gnutls_datum_t bytes;
    char *room;
};

static void pem_end(struct pem *pem) {
    if (pem->room)
        gnutls_memset(pem->room, 0, FILE_SIZE_MAX + 1);
    free(pem->room);
}

static enum err pem_read(const char *path, struct pem *pem, struct error *error) {
    CLEANUP(cleanup_fd) int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY);
    if (fd < 0)
        return error_set_errno(error, ERR_IO, errno, "cannot read %s", path);
    pem->room = malloc(FILE_SIZE_MAX + 1);
    if (!pem->room)
        return error_set(error, ERR_NO_MEMORY, "%s: no memory to read it", path);
    size_t size = 0;
    enum err err = fd_read_full(fd, pem->room, FILE_SIZE_MAX + 1, &size, error);
    if (err != ERR_OK)
        return error_prefix(error, "%s", path);
    if (size > FILE_SIZE_MAX)
        return error_set(error, ERR_LIMIT, "%s: over %zu bytes", path, FILE_SIZE_MAX);
    pem->bytes = (gnutls_datum_t){(unsigned char *)pem->room, (unsigned)size};
    return ERR_OK;
}

static enum err say_malformed(const char *path, const char *what, int failure,
                              struct error *error) {
    enum err err = failure == GNUTLS_E_MEMORY_ERROR ? ERR_NO_MEMORY : ERR_MALFORMED;
    return error_set(error, err, "%s: %s: %s", path, what, gnutls_strerror(failure));
}

/* --- certificate and key ------------------------------------------------------------------------
 */

struct chain {
    gnutls_x509_crt_t certificates[CHAIN_COUNT_MAX];
    unsigned count;
};

static void chain_end(struct chain *chain) {
    for (unsigned i = 0; i < chain->count; i++)
        gnutls_x509_crt_deinit(chain->certificates[i]);
}

static enum err chain_read(const char *path, struct chain *chain, struct error *error) {
    CLEANUP(pem_end) struct pem pem = {.room = NULL};
    enum err err = pem_read(path, &pem, error);
    if (err != ERR_OK)
        return err;
    unsigned count = CHAIN_COUNT_MAX;
    int failure = gnutls_x509_crt_list_import(
        chain->certificates, &count, &pem.bytes, GNUTLS_X509_FMT_PEM,
        GNUTLS_X509_CRT_LIST_IMPORT_FAIL_IF_EXCEED | GNUTLS_X509_CRT_LIST_FAIL_IF_UNSORTED);
    if (failure == GNUTLS_E_SHORT_MEMORY_BUFFER)
        return error_set(error, ERR_LIMIT, "%s: over %d certificates", path, CHAIN_COUNT_MAX);
    if (failure == GNUTLS_E_CERTIFICATE_LIST_UNSORTED)
        return error_set(error, ERR_MALFORMED,
                         "%s: not a chain: each certificate must be signed by the next", path);
    if (failure < 0)
        return say_malformed(path, "no certificate in PEM", failure, error);
    chain->count = count;
    return ERR_OK;
}

static enum err key_read(const char *path, gnutls_x509_privkey_t key, struct error *error) {
    CLEANUP(pem_end) struct pem pem = {.room = NULL};
    enum err err = pem_read(path, &pem, error);
    if (err != ERR_OK)
        return err;
    int failure = gnutls_x509_privkey_import2(key, &pem.bytes, GNUTLS_X509_FMT_PEM, NULL, 0);
    if (failure == GNUTLS_E_DECRYPTION_FAILED)
        return error_set(error, ERR_MALFORMED, "%s: the key has a password; want one without",
                         path);
    return failure < 0 ? say_malformed(path, "no private key in PEM", failure, error) : ERR_OK;
}

static void key_end(gnutls_x509_privkey_t *key) {
    gnutls_x509_privkey_deinit(*key);
}

static enum err set_pair(struct tls_credentials *credentials, const char *certificate,
                         const char *key_path, struct error *error) {
    CLEANUP(chain_end) struct chain chain = {.count = 0};
    CLEANUP(key_end) gnutls_x509_privkey_t key = NULL;
    if (gnutls_x509_privkey_init(&key) < 0)
        return error_set(error, ERR_NO_MEMORY, "no memory for a key");
    enum err err = chain_read(certificate, &chain, error);
    if (err == ERR_OK)
        err = key_read(key_path, key, error);
    if (err != ERR_OK)
        return err;
    int failure = gnutls_certificate_set_x509_key(credentials->native, chain.certificates,
                                                  (int)chain.count, key);
    if (failure == GNUTLS_E_CERTIFICATE_KEY_MISMATCH)
        return error_set(error, ERR_INVALID, "%s is not the key of the certificate %s", key_path,
                         certificate);
    if (failure < 0)
        return say_malformed(certificate, "cannot be used", failure, error);
    credentials->not_before = gnutls_x509_crt_get_activation_time(chain.certificates[0]);
    credentials->not_after = gnutls_x509_crt_get_expiration_time(chain.certificates[0]);
    return ERR_OK;
}

/* --- whom to trust ------------------------------------------------------------------------------
 */

static enum err set_authorities(struct tls_credentials *credentials, const char *path,
                                struct error *error) {
    CLEANUP(pem_end) struct pem pem = {.room = NULL};
    enum err err = pem_read(path, &pem, error);
    if (err != ERR_OK)
        return err;
    int count =
        gnutls_certificate_set_x509_trust_mem(credentials->native, &pem.bytes, GNUTLS_X509_FMT_PEM);
    if (count < 0)
        return say_malformed(path, "no certificate in PEM", count, error);
    return count > 0 ? ERR_OK : error_set(error, ERR_MALFORMED, "%s: no certificate in PEM", path);
}

static enum err trust_system(struct tls_credentials *credentials, struct error *error) {
    int count = gnutls_certificate_set_x509_system_trust(credentials->native);
    if (count > 0)
        return ERR_OK;
    return error_set(error, ERR_UNAVAILABLE,
                     "this system trusts no certificate authorities (the package "
                     "ca-certificates); name a file with some");
}

/* --- loading ------------------------------------------------------------------------------------
 */

static struct tls_credentials *new_credentials(struct error *error) {
    struct tls_credentials *credentials = calloc(1, sizeof(*credentials));
    if (!credentials || gnutls_certificate_allocate_credentials(&credentials->native) < 0) {
        error_set(error, ERR_NO_MEMORY, "no memory for certificates");
        free(credentials);
        return NULL;
    }
    credentials->references = 1;
    return credentials;
}

enum err tls_credentials_load_server(const struct tls_files *files,
                                     struct tls_credentials **ret_credentials,
                                     struct error *error) {
    assert(is_given(files->certificate) && is_given(files->key));
    CLEANUP(cleanup_tls_credentials) struct tls_credentials *credentials = new_credentials(error);
    if (!credentials)
        return error->code;
    enum err err = set_pair(credentials, files->certificate, files->key, error);
    credentials->check_peer = is_given(files->authorities);
    if (err == ERR_OK && credentials->check_peer)
        err = set_authorities(credentials, files->authorities, error);
    if (err == ERR_OK)
        *ret_credentials = TAKE(credentials);
    return err;
}

enum err tls_credentials_load_client(const struct tls_files *files, bool insecure,
                                     struct tls_credentials **ret_credentials,
                                     struct error *error) {
    CLEANUP(cleanup_tls_credentials) struct tls_credentials *credentials = new_credentials(error);
    if (!credentials)
        return error->code;
    enum err err = ERR_OK;
    credentials->check_peer = !insecure;
    if (is_given(files->authorities))
        err = set_authorities(credentials, files->authorities, error);
    else if (!insecure)
        err = trust_system(credentials, error);
    if (err == ERR_OK && is_given(files->certificate))
        err = set_pair(credentials, files->certificate,
                       is_given(files->key) ? files->key : files->certificate, error);
    if (err == ERR_OK)
        *ret_credentials = TAKE(credentials);
    return err;
}

struct tls_credentials *tls_credentials_ref(struct tls_credentials *credentials) {
    atomic_fetch_add(&credentials->references, 1);
    return credentials;
}

void tls_credentials_unref(struct tls_credentials *credentials) {
    if (!credentials || atomic_fetch_sub(&credentials->references, 1) > 1)
        return;
    gnutls_certificate_free_credentials(credentials->native);
    free(credentials);
}

bool tls_credentials_check_peer(const struct tls_credentials *credentials) {
    return credentials->check_peer;
}

int64_t tls_credentials_not_before(const struct tls_credentials *credentials) {
    return credentials->not_before;
}

int64_t tls_credentials_not_after(const struct tls_credentials *credentials) {
    return credentials->not_after;
}

gnutls_certificate_credentials_t tls_credentials_native(const struct tls_credentials *credentials) {
    return credentials->native;
}

void tls_status_words(unsigned status, char ret_words[static TLS_WORDS_SIZE]) {
    gnutls_datum_t words = {NULL, 0};
    gnutls_certificate_verification_status_print(status, GNUTLS_CRT_X509, &words, 0);
    int size = snprintf(ret_words, TLS_WORDS_SIZE, "%s",
                        words.data ? (const char *)words.data : "it cannot be read");
    gnutls_free(words.data);
    if (size >= TLS_WORDS_SIZE)
        size = TLS_WORDS_SIZE - 1;
    while (size > 0 && (ret_words[size - 1] == ' ' || ret_words[size - 1] == '.'))
        ret_words[--size] = '\0';
}
