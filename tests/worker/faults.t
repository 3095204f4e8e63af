#!/usr/bin/python3
"""The worker's test hooks misbehave as they say, in the build that has them and in no other."""
import os
import signal
import sys

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import worker
from sanitizers import is_sanitized
from tap import Tap, skip_all
from worker import Job, run


def with_fault(fault):
    return {"SYMBOLIZER_WORKER_FAULT": fault}


def wait_until_asleep(process):
    """Until the worker waits in the kernel, or is gone."""
    while process.poll() is None:
        with open(f"/proc/{process.pid}/stat", encoding="ascii", errors="replace") as stat:
            if stat.read().rpartition(")")[2].split()[0] == "S":
                return
        os.sched_yield()


def main():
    if not os.path.exists(worker.FAULTY_WORKER):
        skip_all("no build with fault points: make faults")
    tap = Tap()
    inputs = [("main", worker.QUERY)]

    def faulty(operation, fault, *extra):
        return run(operation, inputs, extra, program=worker.FAULTY_WORKER, env=with_fault(fault))

    job = faulty("build", "crash")
    tap.ok(job.code == -signal.SIGSEGV and job.text == "", "crash dies of SIGSEGV, without a report",
           job.show())
    job = faulty("identify", "build:crash")
    tap.ok(job.ended_well("ok"), "a fault of one operation leaves the others alone", job.show())
    job = faulty("build", "build:crash")
    tap.ok(job.code == -signal.SIGSEGV, "and strikes its own", job.show())
    if is_sanitized(worker.FAULTY_WORKER):
        tap.skip("memory ends in a report of the limit", "no memory limits under a sanitizer")
    else:
        job = faulty("build", "memory", "--memory-max=200000000")
        tap.ok(job.ended_well("limit") and "memory" in job.value("reason"),
               "memory ends in a report of the limit", job.show())
    job = faulty("build", "garbage")
    tap.ok(job.code == 0 and not job.text.endswith("end\n"), "garbage is no report", job.show())
    job = Job("build", inputs, program=worker.FAULTY_WORKER, env=with_fault("hang"))
    wait_until_asleep(job.process)
    job.process.kill()
    job.finish()
    tap.ok(job.code == -signal.SIGKILL and job.text == "", "hang waits until it is killed",
           job.show())
    job = run("identify", inputs, env=with_fault("crash"))
    tap.ok(job.ended_well("ok"), "a normal build has no such hooks", job.show())
    tap.finish()


main()
