/*
 * `symbolize index FILE... -o OUT`: makes the symbol index that a server would make of the files,
 * the executable and its separate debug file in any order.
 */
#pragma once

/* arguments[0] is "index". Complains to standard error; returns the program's exit code
 * (cli/command_addresses.h). OUT is replaced only by a whole index. */
int command_index(int argument_count, char **arguments);
