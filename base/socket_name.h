/* The address of the other end of a socket, as logs show it. */
#pragma once

#include <sys/socket.h>

#define SOCKET_NAME_SIZE 64

/* "127.0.0.1:1234", "[::1]:1234"; "" for an address that is neither. */
void socket_name_of(const struct sockaddr *address, socklen_t size,
                    char ret_name[static SOCKET_NAME_SIZE]);

/* The same of a connected socket; "" when its peer is gone. */
void socket_name_of_peer(int fd, char ret_name[static SOCKET_NAME_SIZE]);
