/*
 * A worker for tests of what runs workers: the test program itself, executed again, which does what
 * its main input says. The input is text, one command a line:
 *
 *     id KIND VALUE            found inside (identify)
 *     contents dwarf,symtab    found inside (identify)
 *     identify HOW             HOW: malformed, unsupported, limit, failed, crash, hang
 *     build HOW                the same, and: garbage (writes no index but says ok)
 *     build failed_until PATH  failed while there is no such file, which it then makes
 *     log PATH                 appends the operation's name and a newline to the file
 *     await PATH               a build waits until somebody opens this FIFO for writing
 *
 * Without a HOW the operation succeeds; a build writes the worked example of the index format.
 * Anything else in the input is ignored, so that it can make inputs distinct.
 */
#pragma once

/* The path to give to struct worker_config. */
const char *fake_worker_program(void);

/* To be called first in main: runs the worker and exits if the arguments are a worker's. */
void fake_worker_main(int argument_count, char **arguments);
