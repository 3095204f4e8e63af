#!/usr/bin/python3
"""A parser that crashes, hangs or eats memory costs the answer for one file, and nothing else."""
import json
import os
import sys

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import service  # noqa: E402
from sanitizers import is_sanitized  # noqa: E402
from service import Tap  # noqa: E402

FAULTS = (
    ("build:crash", "killed by SIGSEGV"),
    ("build:hang", "over the deadline of 3000 ms"),
    ("build:memory", "over a limit"),
    ("build:garbage", "its report cannot be read"),
)
DEADLINE = ("--worker-deadline", "3")


def symbolize(server, modules):
    """The modules of the answer, in the order of `modules`: (build ID, address) pairs."""
    question = {"modules": [{"build_id": build_id, "addresses": [hex(address)]}
                            for build_id, address in modules], "options": {"wait_ms": 60000}}
    status, _, body = server.http("POST", "/v1/symbolize", json.dumps(question).encode(),
                                  {"Content-Type": "application/json"})
    if status != 200:
        raise RuntimeError(f"/v1/symbolize answers {status}: {body[:300]}")
    return json.loads(body)["modules"]


def describe(server, build_id):
    _, _, body = server.http("GET", f"/v1/debuginfo/{build_id}")
    return json.loads(body)


def check(tap, server, good, bad, fault, reason):
    """With the server's workers failing: what is asked of the bad file and of the good one."""
    server.upload(bad)
    bad_id, good_id = service.gnu_build_id(bad), service.gnu_build_id(good)
    modules = symbolize(server, [(bad_id, service.symbol_address(bad, "sample_leaf")),
                                 (good_id, service.symbol_address(good, "sample_leaf"))])
    tap.ok(modules[0]["status"] == "parser_killed" and reason in modules[0]["detail"],
           f"{fault}: the module is parser_killed and says why", str(modules[0]))
    frames = modules[1]["frames"][0]
    tap.ok(modules[1]["status"] == "ok" and frames and frames[0]["function"] == "sample_leaf",
           f"{fault}: another module of the same request is answered", str(modules[1]))
    report = describe(server, bad_id)
    tap.ok(report["state"] == "parser_killed" and report["build"]["state"] == "parser_killed" and
           reason in report["build"]["reason"] and len(report["objects"]) == 1,
           f"{fault}: the report on the file says so too", str(report))
    tap.ok(server.process.poll() is None, f"{fault}: the server lives", server.output[-20:])


def main():
    tap = Tap()
    with service.Service(faults=True) as server:
        good = service.compile_sample(server.directory, "good", salt=1)
        server.upload(good)
        symbolize(server, [(service.gnu_build_id(good), 0)])
        plain = server.arguments
        for salt, (fault, reason) in enumerate(FAULTS, start=2):
            if "memory" in fault and is_sanitized(server.program):
                tap.skip(f"{fault}: the module is parser_killed", "no memory limits under a sanitizer")
                continue
            bad = service.compile_sample(server.directory, f"bad{salt}", salt=salt)
            server.environment = {"SYMBOLIZER_WORKER_FAULT": fault}
            server.arguments = [*plain, *DEADLINE] if "hang" in fault else plain
            server.restart()
            check(tap, server, good, bad, fault, reason)
        server.arguments = plain
        server.environment = {"SYMBOLIZER_WORKER_FAULT": "identify:crash"}
        server.restart()
        refused(tap, server)
    tap.finish()


def refused(tap, server):
    import grpc
    bad = service.compile_sample(server.directory, "refused", salt=99)
    try:
        server.upload(bad)
        outcome = None
    except grpc.RpcError as error:
        outcome = error
    tap.ok(outcome is not None and outcome.code() == grpc.StatusCode.INVALID_ARGUMENT and
           outcome.details() == "parser_killed: killed by SIGSEGV",
           "a file that kills the parser at upload is refused for good", str(outcome))
    report = describe(server, service.gnu_build_id(bad))
    tap.ok(report["upload"]["state"] == "failed" and not report["objects"],
           "and leaves a failed upload with its reason", str(report))


if __name__ == "__main__":
    main()
