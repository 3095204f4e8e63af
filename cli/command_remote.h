/*
 * The commands that talk to a server. They are a program of their own, symbolize-remote, beside
 * this one, so that the offline commands load no network library.
 */
#pragma once

#include <stdbool.h>

bool command_is_remote(const char *name);

/* Becomes `symbolize-remote COMMAND ARGUMENT...` (arguments[0] is the command). Returns only when
 * that program cannot be started: the program's exit code, after a complaint. */
int command_remote(char **arguments);
