#include "cli/curl_tls.h"

#include <string.h>

static bool set_text(CURL *easy, CURLoption option, const char *text) {
    return !text || curl_easy_setopt(easy, option, text) == CURLE_OK;
}

bool curl_tls_set_up(CURL *easy, const struct remote_access *access) {
    const char *key = access->key ? access->key : access->certificate;
    /* curl would go on to trust the system's folder of authorities besides the file. */
    if ((access->authorities || access->insecure) &&
        curl_easy_setopt(easy, CURLOPT_CAPATH, NULL) != CURLE_OK)
        return false;
    return set_text(easy, CURLOPT_CAINFO, access->authorities) &&
           set_text(easy, CURLOPT_SSLCERT, access->certificate) &&
           set_text(easy, CURLOPT_SSLKEY, key) &&
           curl_easy_setopt(easy, CURLOPT_SSL_VERIFYPEER, access->insecure ? 0L : 1L) == CURLE_OK &&
           curl_easy_setopt(easy, CURLOPT_SSL_VERIFYHOST, access->insecure ? 0L : 2L) == CURLE_OK;
}

bool curl_tls_failed(CURLcode code, const char *text) {
    switch (code) {
    case CURLE_PEER_FAILED_VERIFICATION:
    case CURLE_SSL_CERTPROBLEM:
    case CURLE_SSL_CACERT_BADFILE:
        return true;
    /* An alert is the server's decision; with TLS 1.3 it may come as late as the answer. */
    case CURLE_SSL_CONNECT_ERROR:
    case CURLE_SEND_ERROR:
    case CURLE_RECV_ERROR:
        return strstr(text, "alert") != NULL;
    default:
        return false;
    }
}
