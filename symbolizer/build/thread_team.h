/* Some threads that share one piece of work and end with it; the caller is one of them. */
#pragma once

typedef void thread_team_work(void *context);

/* Calls work(context) in `thread_count` threads at once and returns when all have returned. Fewer
 * threads run when the system starts no more. Each stack holds what demangle() may take. */
void thread_team_run(unsigned thread_count, thread_team_work *work, void *context);

/* Processors that this process may use. At least 1. */
unsigned thread_team_processors(void);
