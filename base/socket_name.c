#include "base/socket_name.h"

#include <netdb.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

void socket_name_of(const struct sockaddr *address, socklen_t size,
                    char ret_name[static SOCKET_NAME_SIZE]) {
    char host[SOCKET_NAME_SIZE - 9]; /* brackets, a colon, a port and NUL */
    char port[6];
    ret_name[0] = '\0';
    bool is_inet = address->sa_family == AF_INET || address->sa_family == AF_INET6;
    if (is_inet && getnameinfo(address, size, host, sizeof(host), port, sizeof(port),
                               NI_NUMERICHOST | NI_NUMERICSERV) == 0)
        snprintf(ret_name, SOCKET_NAME_SIZE, strchr(host, ':') ? "[%s]:%s" : "%s:%s", host, port);
}

void socket_name_of_peer(int fd, char ret_name[static SOCKET_NAME_SIZE]) {
    struct sockaddr_storage address = {.ss_family = AF_UNSPEC};
    socklen_t size = sizeof(address);
    ret_name[0] = '\0';
    if (getpeername(fd, (struct sockaddr *)&address, &size) == 0)
        socket_name_of((struct sockaddr *)&address, size, ret_name);
}
