/* `symbolize inspect FILE...`: what an ELF file or a symbol index holds, one "key: value" a line.
 */
#pragma once

/* arguments[0] is "inspect". Writes to standard output, complains to standard error; returns the
 * program's exit code (cli/command_addresses.h). */
int command_inspect(int argument_count, char **arguments);
