/* `symbolize query --server URL BUILD_ID [ADDRESS...]`, see docs/CLI.md. */
#pragma once

/* arguments[0] is "query". Returns the exit code (cli/command_upload.h). */
int command_query(int argument_count, char **arguments);
