/* `symbolize upload FILE|FOLDER... --server URL`, see docs/CLI.md. */
#pragma once

/* Exit codes of the commands that talk to a server. */
enum { EXIT_DONE = 0, EXIT_SOME_FAILED = 1, EXIT_BAD_USAGE = 2, EXIT_TRY_LATER = 3 };

/* arguments[0] is "upload". Returns the exit code. */
int command_upload(int argument_count, char **arguments);
