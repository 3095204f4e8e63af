/*
 * How a test makes a worker misbehave. In a normal build WORKER_FAULT is nothing.
 *
 * With -DSYMBOLIZER_FAULTS (make FAULTS=1) the environment's SYMBOLIZER_WORKER_FAULT=KIND, or
 * OPERATION:KIND for one operation alone, makes the worker
 *
 *   crash    die of SIGSEGV
 *   hang     wait for ever
 *   memory   take memory until there is no more; that is a report of status limit
 *   garbage  write a report that is none
 */
#pragma once

#include "symbolizer/protocol/job.h"
#include "symbolizer/protocol/report.h"

#ifdef SYMBOLIZER_FAULTS
/* True when the report is made (memory) or written (garbage: then *ret_written). */
bool worker_fault(const struct job *job, struct report *ret_report, bool *ret_written);
#define WORKER_FAULT(job, ret_report, ret_written) worker_fault((job), (ret_report), (ret_written))
#else
#define WORKER_FAULT(job, ret_report, ret_written) false
#endif
