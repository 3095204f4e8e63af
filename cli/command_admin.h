/* `symbolize admin list|missing|show|delete --server URL`, see docs/CLI.md. */
#pragma once

/* arguments[0] is "admin". Returns the exit code (cli/command_upload.h). */
int command_admin(int argument_count, char **arguments);
