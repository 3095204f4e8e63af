/*
 * Runs one job of symbolizer-worker and says how it went. Hostile bytes pass through here: call it
 * in a process that may die.
 */
#pragma once

#include "symbolizer/protocol/job.h"
#include "symbolizer/protocol/report.h"

/* Whatever happens is a report. Ids, machine and contents are filled in as soon as the input is
 * known to be an ELF file, also when the operation fails afterwards. */
void worker_job_run(const struct job *job, struct report *ret_report);

/* The report of a job that failed with this error. */
void worker_job_failed(const struct error *error, struct report *ret_report);
