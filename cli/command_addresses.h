/* `symbolize -e FILE [ADDRESS...]`: questions in, answers out. */
#pragma once

#include "cli/options.h"

/* Exit codes of the whole program. */
enum { EXIT_ALL_READ = 0, EXIT_SOMETHING_UNREAD = 1, EXIT_USAGE = 2 };

/* Answers the options' inputs, or the lines of standard input, on standard output; complaints go to
 * standard error. Returns the exit code. */
int command_addresses(const struct options *options);
