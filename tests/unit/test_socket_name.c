#include "base/socket_name.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/un.h>
#include <unistd.h>

#include "tests/support/test.h"

static void an_address_is_shown_as_it_is_written(void **state) {
    (void)state;
    char name[SOCKET_NAME_SIZE];
    const struct sockaddr_in v4 = {
        .sin_family = AF_INET, .sin_port = htons(65535), .sin_addr.s_addr = htonl(0xc0a80001)};
    socket_name_of((const struct sockaddr *)&v4, sizeof(v4), name);
    assert_string_equal(name, "192.168.0.1:65535");
    struct sockaddr_in6 v6 = {.sin6_family = AF_INET6, .sin6_port = htons(7)};
    assert_int_equal(inet_pton(AF_INET6, "2001:db8:ffff:ffff:ffff:ffff:ffff:ffff", &v6.sin6_addr),
                     1);
    socket_name_of((const struct sockaddr *)&v6, sizeof(v6), name);
    assert_string_equal(name, "[2001:db8:ffff:ffff:ffff:ffff:ffff:ffff]:7");
}

static void what_has_no_address_has_no_name(void **state) {
    (void)state;
    char name[SOCKET_NAME_SIZE] = "x";
    const struct sockaddr_un local = {.sun_family = AF_UNIX};
    socket_name_of((const struct sockaddr *)&local, sizeof(local), name);
    assert_string_equal(name, "");
    name[0] = 'x';
    socket_name_of_peer(-1, name);
    assert_string_equal(name, "");
    int fds[2];
    assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM, 0, fds), 0);
    name[0] = 'x';
    socket_name_of_peer(fds[0], name);
    assert_string_equal(name, "");
    close(fds[0]);
    close(fds[1]);
}

static void the_peer_of_a_connection_is_named(void **state) {
    (void)state;
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t size = sizeof(address);
    int listener = socket(AF_INET, SOCK_STREAM, 0);
    int client = socket(AF_INET, SOCK_STREAM, 0);
    assert_int_equal(bind(listener, (struct sockaddr *)&address, size), 0);
    assert_int_equal(listen(listener, 1), 0);
    assert_int_equal(getsockname(listener, (struct sockaddr *)&address, &size), 0);
    assert_int_equal(connect(client, (struct sockaddr *)&address, size), 0);
    char name[SOCKET_NAME_SIZE];
    char wanted[SOCKET_NAME_SIZE];
    socket_name_of_peer(client, name);
    socket_name_of((struct sockaddr *)&address, size, wanted);
    assert_string_equal(name, wanted);
    close(client);
    close(listener);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(an_address_is_shown_as_it_is_written),
        cmocka_unit_test(what_has_no_address_has_no_name),
        cmocka_unit_test(the_peer_of_a_connection_is_named),
    };
    return cmocka_run_group_tests_name("socket_name", tests, NULL, NULL);
}
