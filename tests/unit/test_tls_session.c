/* TLS between two transports, or a transport and a bare GnuTLS session, over a socket pair. Both
 * ends are in one thread and take turns. */
#include "rpc/tls_session.h"

#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/span.h"
#include "tests/support/certificates.h"
#include "tests/support/test.h"

#define TURNS_MAX 100000

struct fixture {
    struct scratch scratch;
    struct certificate authority, stranger;
    struct tls_credentials *server;  /* any client may come */
    struct tls_credentials *guarded; /* with a certificate only */
    struct tls_credentials *client;  /* trusts the authority */
};

static struct tls_credentials *load(const struct fixture *fixture, bool is_server,
                                    const char *certificate, const char *key,
                                    const char *authorities) {
    const struct scratch *scratch = &fixture->scratch;
    const struct tls_files files = {
        .certificate = certificate ? scratch_path(scratch, certificate) : NULL,
        .key = key ? scratch_path(scratch, key) : NULL,
        .authorities = authorities ? scratch_path(scratch, authorities) : NULL};
    struct tls_credentials *credentials = NULL;
    struct error error;
    enum err err = is_server ? tls_credentials_load_server(&files, &credentials, &error)
                             : tls_credentials_load_client(&files, false, &credentials, &error);
    if (err != ERR_OK)
        fail_msg("%s", error.text);
    return credentials;
}

/* A client whose certificate is as wished. */
static struct tls_credentials *make_client(const struct fixture *fixture,
                                           const struct certificate_wish *wish) {
    struct certificate certificate;
    certificate_make(wish, &certificate);
    unlinkat(fixture->scratch.fd, "client.pem", 0);
    certificate_write(&certificate, &fixture->scratch, "client.pem", "client.pem");
    certificate_end(&certificate);
    return load(fixture, false, "client.pem", NULL, "ca.pem");
}

static int setup(void **state) {
    static struct fixture fixture;
    scratch_make(&fixture.scratch);
    certificate_make(&(struct certificate_wish){.subject = "authority"}, &fixture.authority);
    certificate_make(&(struct certificate_wish){.subject = "stranger"}, &fixture.stranger);
    struct certificate server;
    const struct certificate_wish wish = {.subject = "server",
                                          .dns = "symbols.test",
                                          .purpose = GNUTLS_KP_TLS_WWW_SERVER,
                                          .issuer = &fixture.authority};
    certificate_make(&wish, &server);
    certificate_write(&fixture.authority, &fixture.scratch, "ca.pem", NULL);
    certificate_write(&server, &fixture.scratch, "server.pem", "server.key");
    certificate_end(&server);
    fixture.server = load(&fixture, true, "server.pem", "server.key", NULL);
    fixture.guarded = load(&fixture, true, "server.pem", "server.key", "ca.pem");
    fixture.client = load(&fixture, false, NULL, NULL, "ca.pem");
    *state = &fixture;
    return 0;
}

static int teardown(void **state) {
    struct fixture *fixture = *state;
    tls_credentials_unref(fixture->server);
    tls_credentials_unref(fixture->guarded);
    tls_credentials_unref(fixture->client);
    certificate_end(&fixture->authority);
    certificate_end(&fixture->stranger);
    scratch_remove(&fixture->scratch);
    return 0;
}

/* --- two ends -----------------------------------------------------------------------------------
 */

struct pair {
    struct grpc_transport *server;
    struct grpc_transport *client;
    struct error server_error; /* of the handshake */
    struct error client_error;
};

static void make_sockets(int ret_fds[static 2]) {
    assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0, ret_fds),
                     0);
}

static struct grpc_transport *make_server(struct tls_credentials *credentials, int fd) {
    struct grpc_transport *transport = NULL;
    struct error error;
    assert_int_equal(grpc_transport_open(fd, &transport, &error), ERR_OK);
    assert_int_equal(grpc_transport_secure_server(transport, credentials, &error), ERR_OK);
    return transport;
}

static void open_pair(struct pair *pair, struct tls_credentials *server,
                      struct tls_credentials *client, const char *host) {
    int fds[2];
    struct error error;
    make_sockets(fds);
    *pair = (struct pair){.server = make_server(server, fds[0])};
    assert_int_equal(grpc_transport_open(fds[1], &pair->client, &error), ERR_OK);
    assert_int_equal(grpc_transport_secure_client(pair->client, client, host, &error), ERR_OK);
}

static void close_pair(struct pair *pair) {
    grpc_transport_free(pair->client);
    grpc_transport_free(pair->server);
}

static bool goes_on(enum transport_result result) {
    return result == TRANSPORT_BLOCKED;
}

/* Until both ends know how it ended. */
static void shake(struct pair *pair, enum transport_result *ret_server,
                  enum transport_result *ret_client) {
    enum transport_result server = TRANSPORT_BLOCKED;
    enum transport_result client = TRANSPORT_BLOCKED;
    for (int i = 0; i < TURNS_MAX && (goes_on(server) || goes_on(client)); i++) {
        if (goes_on(client))
            client = grpc_transport_handshake(pair->client, &pair->client_error);
        if (goes_on(server))
            server = grpc_transport_handshake(pair->server, &pair->server_error);
        if (server == TRANSPORT_FAILED)
            grpc_transport_refuse(pair->server);
        if (client == TRANSPORT_FAILED)
            grpc_transport_refuse(pair->client);
    }
    *ret_server = server;
    *ret_client = client;
}

static void open_shaken(struct pair *pair, struct tls_credentials *server,
                        struct tls_credentials *client) {
    enum transport_result ends[2];
    open_pair(pair, server, client, "symbols.test");
    shake(pair, &ends[0], &ends[1]);
    if (ends[0] != TRANSPORT_DONE || ends[1] != TRANSPORT_DONE)
        fail_msg("server: %s; client: %s", ends[0] == TRANSPORT_DONE ? "" : pair->server_error.text,
                 ends[1] == TRANSPORT_DONE ? "" : pair->client_error.text);
}

static char byte_at(size_t position) {
    return (char)(position * 2654435761u >> 13);
}

/* One direction of a flow: bytes that tell their position, in pieces of odd sizes. */
struct flow {
    struct grpc_transport *from, *to;
    size_t total;
    size_t sent, received;
    bool has_blocked;
};

static void send_piece(struct flow *flow) {
    char bytes[50000];
    struct error error;
    size_t size = sizeof(bytes) < flow->total - flow->sent ? sizeof(bytes)
                                                           : flow->total - flow->sent;
    size_t moved = 0;
    for (size_t i = 0; i < size; i++)
        bytes[i] = byte_at(flow->sent + i);
    if (size == 0)
        return;
    enum transport_result result = grpc_transport_send(flow->from, bytes, size, &moved, &error);
    flow->has_blocked |= result == TRANSPORT_BLOCKED;
    if (result == TRANSPORT_FAILED)
        fail_msg("send: %s", error.text);
    flow->sent += moved;
}

static void receive_piece(struct flow *flow) {
    char bytes[GRPC_TRANSPORT_ROOM_MIN + 12345];
    struct error error;
    size_t moved = 0;
    size_t different = 0;
    enum transport_result result =
        grpc_transport_receive(flow->to, bytes, sizeof(bytes), &moved, &error);
    if (result == TRANSPORT_FAILED)
        fail_msg("receive: %s", error.text);
    assert_int_not_equal(result, TRANSPORT_ENDED);
    for (size_t i = 0; i < moved; i++)
        different += bytes[i] != byte_at(flow->received + i);
    assert_int_equal(different, 0);
    flow->received += moved;
    assert_false(grpc_transport_pending(flow->to));
}

/* --- bytes --------------------------------------------------------------------------------------
 */

static void bytes_pass_in_both_directions_however_full_the_socket(void **state) {
    const struct fixture *fixture = *state;
    struct pair pair;
    open_shaken(&pair, fixture->server, fixture->client);
    struct flow there = {.from = pair.client, .to = pair.server, .total = 3 << 20};
    struct flow back = {.from = pair.server, .to = pair.client, .total = 2 << 20};
    for (int i = 0; i < TURNS_MAX && (there.received < there.total || back.received < back.total);
         i++) {
        send_piece(&there);
        send_piece(&back);
        /* Seldom enough that what is sent has to wait. */
        if (i % 40 == 0) {
            receive_piece(&there);
            receive_piece(&back);
        }
    }
    assert_int_equal(there.received, there.total);
    assert_int_equal(back.received, back.total);
    assert_true(there.has_blocked && back.has_blocked);
    close_pair(&pair);
}

static void an_empty_socket_blocks_and_an_end_is_told(void **state) {
    const struct fixture *fixture = *state;
    struct pair pair;
    char bytes[GRPC_TRANSPORT_ROOM_MIN];
    size_t size = 0;
    struct error error;
    open_shaken(&pair, fixture->server, fixture->client);
    assert_int_equal(grpc_transport_receive(pair.client, bytes, sizeof(bytes), &size, &error),
                     TRANSPORT_BLOCKED);
    assert_false(grpc_transport_wants_write(pair.client));
    assert_int_equal(grpc_transport_send(pair.server, "last", 4, &size, &error), TRANSPORT_DONE);
    grpc_transport_free(pair.server);
    assert_int_equal(grpc_transport_receive(pair.client, bytes, sizeof(bytes), &size, &error),
                     TRANSPORT_DONE);
    assert_int_equal(size, 4);
    for (int i = 0; i < 2; i++)
        assert_int_equal(grpc_transport_receive(pair.client, bytes, sizeof(bytes), &size, &error),
                         TRANSPORT_ENDED);
    grpc_transport_free(pair.client);
}

/* --- who is let in ------------------------------------------------------------------------------
 */

/* The server refuses for this reason, and the client hears this alert at the latest when it reads.
 */
static void expect_refused(const struct fixture *fixture, struct tls_credentials *client,
                           const char *reason, const char *alert) {
    struct pair pair;
    enum transport_result ends[2];
    char bytes[GRPC_TRANSPORT_ROOM_MIN];
    size_t size;
    open_pair(&pair, fixture->guarded, client, "symbols.test");
    shake(&pair, &ends[0], &ends[1]);
    assert_int_equal(ends[0], TRANSPORT_FAILED);
    assert_int_equal(pair.server_error.code, ERR_DENIED);
    if (!strstr(pair.server_error.text, reason))
        fail_msg("\"%s\" lacks \"%s\"", pair.server_error.text, reason);
    if (ends[1] == TRANSPORT_DONE)
        ends[1] =
            grpc_transport_receive(pair.client, bytes, sizeof(bytes), &size, &pair.client_error);
    assert_int_equal(ends[1], TRANSPORT_FAILED);
    assert_int_equal(pair.client_error.code, ERR_DENIED);
    if (!strstr(pair.client_error.text, alert))
        fail_msg("\"%s\" lacks \"%s\"", pair.client_error.text, alert);
    assert_string_equal(grpc_transport_client(pair.server), "");
    close_pair(&pair);
}

static void a_client_without_a_certificate_is_refused(void **state) {
    const struct fixture *fixture = *state;
    expect_refused(fixture, fixture->client, "the client shows no certificate",
                   "Certificate is required");
}

static void a_clients_certificate_has_to_fit(void **state) {
    const struct fixture *fixture = *state;
    const struct {
        struct certificate_wish wish;
        const char *reason, *alert;
    } cases[] = {
        {{.subject = "a", .purpose = GNUTLS_KP_TLS_WWW_CLIENT, .issuer = &fixture->stranger},
         "issuer is unknown",
         "CA is unknown"},
        {{.subject = "a", .purpose = GNUTLS_KP_TLS_WWW_SERVER, .issuer = &fixture->authority},
         "intended purpose",
         "Certificate is bad"},
        {{.subject = "a",
          .purpose = GNUTLS_KP_TLS_WWW_CLIENT,
          .issuer = &fixture->authority,
          .first_day = -9,
          .last_day = -3},
         "expired",
         "Certificate is expired"},
        {{.subject = "a",
          .purpose = GNUTLS_KP_TLS_WWW_CLIENT,
          .issuer = &fixture->authority,
          .first_day = 3,
          .last_day = 9},
         "not yet valid",
         "Certificate is expired"},
        /* An authority that we do not know may have the same name as ours. */
        {{.subject = "authority", .purpose = GNUTLS_KP_TLS_WWW_CLIENT},
         "NOT trusted",
         "Certificate is bad"},
    };
    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        struct tls_credentials *client = make_client(fixture, &cases[i].wish);
        expect_refused(fixture, client, cases[i].reason, cases[i].alert);
        tls_credentials_unref(client);
    }
}

static void a_client_with_a_good_certificate_is_known_by_name(void **state) {
    const struct fixture *fixture = *state;
    const struct {
        const char *subject, *dns, *uri, *name;
    } cases[] = {
        {"agent", NULL, NULL, "CN=agent"},
        {"agent", "agent.test", NULL, "agent.test"},
        {"agent", NULL, "spiffe://test/agent", "spiffe://test/agent"},
        {NULL, NULL, NULL, "unnamed"},
        {"a\nb\xff", NULL, NULL, "CN="},
    };
    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        const struct certificate_wish wish = {.subject = cases[i].subject,
                                              .dns = cases[i].dns,
                                              .uri = cases[i].uri,
                                              .purpose = GNUTLS_KP_TLS_WWW_CLIENT,
                                              .issuer = &fixture->authority};
        struct tls_credentials *client = make_client(fixture, &wish);
        struct pair pair;
        open_shaken(&pair, fixture->guarded, client);
        const char *name = grpc_transport_client(pair.server);
        assert_int_equal(strncmp(name, cases[i].name, strlen(cases[i].name)), 0);
        for (const char *byte = name; *byte; byte++)
            assert_in_range(*byte, ' ', '~');
        close_pair(&pair);
        tls_credentials_unref(client);
    }
}

static void a_certificate_that_nobody_asked_for_is_no_name(void **state) {
    const struct fixture *fixture = *state;
    const struct certificate_wish wish = {
        .subject = "agent", .purpose = GNUTLS_KP_TLS_WWW_CLIENT, .issuer = &fixture->authority};
    struct tls_credentials *client = make_client(fixture, &wish);
    struct pair pair;
    open_shaken(&pair, fixture->server, client);
    assert_string_equal(grpc_transport_client(pair.server), "");
    close_pair(&pair);
    tls_credentials_unref(client);
}

/* --- whom a client believes ---------------------------------------------------------------------
 */

static void expect_disbelieved(const struct fixture *fixture, struct tls_credentials *client,
                               const char *host, const char *reason) {
    struct pair pair;
    enum transport_result ends[2];
    open_pair(&pair, fixture->server, client, host);
    shake(&pair, &ends[0], &ends[1]);
    assert_int_equal(ends[1], TRANSPORT_FAILED);
    assert_int_equal(pair.client_error.code, ERR_DENIED);
    if (!strstr(pair.client_error.text, reason) || !strstr(pair.client_error.text, host))
        fail_msg("\"%s\" lacks \"%s\"", pair.client_error.text, reason);
    assert_int_equal(ends[0], TRANSPORT_FAILED);
    if (!strstr(pair.server_error.text, "refused the connection: TLS alert"))
        fail_msg("\"%s\" names no alert", pair.server_error.text);
    close_pair(&pair);
}

static void a_server_has_to_be_who_was_meant(void **state) {
    const struct fixture *fixture = *state;
    expect_disbelieved(fixture, fixture->client, "other.test", "name in the certificate");
    expect_disbelieved(fixture, fixture->client, "127.0.0.1", "name in the certificate");
    unlinkat(fixture->scratch.fd, "stranger.pem", 0);
    certificate_write(&fixture->stranger, &fixture->scratch, "stranger.pem", NULL);
    struct tls_credentials *client = load(fixture, false, NULL, NULL, "stranger.pem");
    expect_disbelieved(fixture, client, "symbols.test", "issuer is unknown");
    tls_credentials_unref(client);
}

static void an_insecure_client_believes_anybody(void **state) {
    const struct fixture *fixture = *state;
    const struct tls_files none = {.key = NULL};
    struct tls_credentials *client = NULL;
    struct error error;
    struct pair pair;
    enum transport_result ends[2];
    assert_int_equal(tls_credentials_load_client(&none, true, &client, &error), ERR_OK);
    open_pair(&pair, fixture->server, client, "other.test");
    shake(&pair, &ends[0], &ends[1]);
    assert_int_equal(ends[0], TRANSPORT_DONE);
    assert_int_equal(ends[1], TRANSPORT_DONE);
    close_pair(&pair);
    tls_credentials_unref(client);
}

/* --- clients that are not ours ------------------------------------------------------------------
 */

struct bare {
    struct grpc_transport *server;
    gnutls_session_t client;
    gnutls_certificate_credentials_t credentials;
    int fd;
};

static void open_bare(const struct fixture *fixture, const char *priorities, const char *protocol,
                      struct bare *bare) {
    int fds[2];
    make_sockets(fds);
    bare->server = make_server(fixture->server, fds[0]);
    bare->fd = fds[1];
    assert_int_equal(gnutls_init(&bare->client, GNUTLS_CLIENT | GNUTLS_NONBLOCK), 0);
    assert_int_equal(gnutls_certificate_allocate_credentials(&bare->credentials), 0);
    assert_int_equal(
        gnutls_credentials_set(bare->client, GNUTLS_CRD_CERTIFICATE, bare->credentials), 0);
    assert_int_equal(gnutls_priority_set_direct(bare->client, priorities, NULL), 0);
    gnutls_datum_t offered = {(unsigned char *)protocol, protocol ? (unsigned)strlen(protocol) : 0};
    if (protocol)
        assert_int_equal(gnutls_alpn_set_protocols(bare->client, &offered, 1, 0), 0);
    gnutls_transport_set_int(bare->client, bare->fd);
}

static void close_bare(struct bare *bare) {
    gnutls_deinit(bare->client);
    gnutls_certificate_free_credentials(bare->credentials);
    close(bare->fd);
    grpc_transport_free(bare->server);
}

/* The result of the client's handshake, once both ends know theirs. */
static int shake_bare(struct bare *bare, enum transport_result *ret_server, struct error *error) {
    int client = GNUTLS_E_AGAIN;
    *ret_server = TRANSPORT_BLOCKED;
    for (int i = 0; i < TURNS_MAX && (client == GNUTLS_E_AGAIN || goes_on(*ret_server)); i++) {
        if (client == GNUTLS_E_AGAIN)
            client = gnutls_handshake(bare->client);
        if (goes_on(*ret_server))
            *ret_server = grpc_transport_handshake(bare->server, error);
    }
    return client;
}

static void expect_alert(const struct fixture *fixture, const char *priorities,
                         const char *protocol, gnutls_alert_description_t alert,
                         const char *reason) {
    struct bare bare;
    enum transport_result server;
    struct error error;
    open_bare(fixture, priorities, protocol, &bare);
    assert_int_equal(shake_bare(&bare, &server, &error), GNUTLS_E_FATAL_ALERT_RECEIVED);
    assert_int_equal(gnutls_alert_get(bare.client), alert);
    assert_int_equal(server, TRANSPORT_FAILED);
    assert_string_equal(error.text, reason);
    close_bare(&bare);
}

static void only_tls_1_3_is_spoken(void **state) {
    expect_alert(*state, "NORMAL:-VERS-ALL:+VERS-TLS1.2", "h2", GNUTLS_A_PROTOCOL_VERSION,
                 "the client speaks TLS1.2; want TLS 1.3");
}

static void only_http2_is_spoken(void **state) {
    static const char reason[] = "the client offers no h2 (ALPN)";
    expect_alert(*state, "NORMAL", NULL, GNUTLS_A_NO_APPLICATION_PROTOCOL, reason);
    expect_alert(*state, "NORMAL", "http/1.1", GNUTLS_A_NO_APPLICATION_PROTOCOL, reason);
    expect_alert(*state, "NORMAL", "h", GNUTLS_A_NO_APPLICATION_PROTOCOL, reason);
}

static void what_is_no_tls_is_refused(void **state) {
    const struct fixture *fixture = *state;
    static const struct span texts[] = {{"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", 24},
                                        {"GET / HTTP/1.1\r\n\r\n", 18},
                                        {"\x17\x03\x03\x00\x05hello", 10},
                                        {"\x16\x03\x01\x00\x05\x01\x00\x00\x01x", 10}};
    for (size_t i = 0; i < ARRAY_SIZE(texts); i++) {
        int fds[2];
        char byte;
        struct error error;
        enum transport_result result = TRANSPORT_BLOCKED;
        make_sockets(fds);
        struct grpc_transport *server = make_server(fixture->server, fds[0]);
        assert_true(write(fds[1], texts[i].data, texts[i].size) > 0);
        for (int turn = 0; turn < 3 && goes_on(result); turn++)
            result = grpc_transport_handshake(server, &error);
        assert_int_equal(result, TRANSPORT_FAILED);
        grpc_transport_refuse(server);
        while (goes_on(result = grpc_transport_discard(server)) == false &&
               result != TRANSPORT_ENDED)
            continue;
        assert_int_equal(result, TRANSPORT_BLOCKED);
        /* The alert, then the end. */
        assert_int_equal(read(fds[1], &byte, 1), 1);
        assert_int_equal(byte, 21);
        while (read(fds[1], &byte, 1) > 0)
            continue;
        close(fds[1]);
        assert_int_equal(grpc_transport_discard(server), TRANSPORT_ENDED);
        grpc_transport_free(server);
    }
}

/* Records of a handshake message that says it has 16 MiB. */
static void a_handshake_without_end_is_cut_off(void **state) {
    const struct fixture *fixture = *state;
    int fds[2];
    struct error error;
    enum transport_result result = TRANSPORT_BLOCKED;
    unsigned char record[5 + 16384] = {22, 3, 1, 0x40, 0, 1, 0xff, 0xff, 0xff};
    size_t sent = 0;
    make_sockets(fds);
    struct grpc_transport *server = make_server(fixture->server, fds[0]);
    while (goes_on(result) && sent < (1 << 20)) {
        assert_int_equal(write(fds[1], record, sizeof(record)), sizeof(record));
        memset(record + 5, 0, 4);
        sent += sizeof(record);
        for (int turn = 0; turn < 9 && goes_on(result); turn++)
            result = grpc_transport_handshake(server, &error);
    }
    assert_int_equal(result, TRANSPORT_FAILED);
    assert_int_equal(error.code, ERR_LIMIT);
    assert_true(sent < (256 << 10));
    close(fds[1]);
    grpc_transport_free(server);
}

static void many_bytes_may_pass_once_the_handshake_is_over(void **state) {
    const struct fixture *fixture = *state;
    struct pair pair;
    open_shaken(&pair, fixture->server, fixture->client);
    struct flow flow = {.from = pair.client, .to = pair.server, .total = 1 << 20};
    for (int i = 0; i < TURNS_MAX && flow.received < flow.total; i++) {
        send_piece(&flow);
        receive_piece(&flow);
    }
    assert_int_equal(flow.received, flow.total);
    close_pair(&pair);
}

/* What the peer asks for must be done without a byte lost, while both send. */
static void keys_are_updated_when_a_client_asks(void **state) {
    struct bare bare;
    enum transport_result server;
    struct error error;
    open_bare(*state, "NORMAL", "h2", &bare);
    assert_int_equal(shake_bare(&bare, &server, &error), 0);
    for (int round = 0; round < 4; round++) {
        char sent[] = "from the client";
        char bytes[GRPC_TRANSPORT_ROOM_MIN];
        size_t size = 0;
        ssize_t received = GNUTLS_E_AGAIN;
        assert_int_equal(gnutls_session_key_update(bare.client, GNUTLS_KU_PEER), 0);
        assert_int_equal(gnutls_record_send(bare.client, sent, sizeof(sent)), sizeof(sent));
        for (int turn = 0; turn < 9 && size == 0; turn++)
            assert_in_range(
                grpc_transport_receive(bare.server, bytes, sizeof(bytes), &size, &error),
                TRANSPORT_DONE, TRANSPORT_BLOCKED);
        assert_int_equal(size, sizeof(sent));
        assert_string_equal(bytes, sent);
        assert_false(grpc_transport_pending(bare.server));
        assert_int_equal(grpc_transport_send(bare.server, "back", 5, &size, &error),
                         TRANSPORT_DONE);
        for (int turn = 0; turn < 9 && received == GNUTLS_E_AGAIN; turn++)
            received = gnutls_record_recv(bare.client, bytes, sizeof(bytes));
        assert_int_equal(received, 5);
        assert_string_equal(bytes, "back");
    }
    close_bare(&bare);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(bytes_pass_in_both_directions_however_full_the_socket),
        cmocka_unit_test(an_empty_socket_blocks_and_an_end_is_told),
        cmocka_unit_test(a_client_without_a_certificate_is_refused),
        cmocka_unit_test(a_clients_certificate_has_to_fit),
        cmocka_unit_test(a_client_with_a_good_certificate_is_known_by_name),
        cmocka_unit_test(a_certificate_that_nobody_asked_for_is_no_name),
        cmocka_unit_test(a_server_has_to_be_who_was_meant),
        cmocka_unit_test(an_insecure_client_believes_anybody),
        cmocka_unit_test(only_tls_1_3_is_spoken),
        cmocka_unit_test(only_http2_is_spoken),
        cmocka_unit_test(what_is_no_tls_is_refused),
        cmocka_unit_test(a_handshake_without_end_is_cut_off),
        cmocka_unit_test(many_bytes_may_pass_once_the_handshake_is_over),
        cmocka_unit_test(keys_are_updated_when_a_client_asks),
    };
    return cmocka_run_group_tests_name("tls_session", tests, setup, teardown);
}
