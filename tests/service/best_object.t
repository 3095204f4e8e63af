#!/usr/bin/python3
"""Of several files of one build ID the best that can be read answers; a broken or lost one is asked
for again."""
import json
import os
import shutil
import subprocess
import sys

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import service
from service import Tap

DEBUGINFO, EXECUTABLE = range(2)


def module_of(server, path):
    question = {"modules": [{"build_id": service.gnu_build_id(path),
                             "addresses": [hex(service.symbol_address(path, "sample_leaf"))]}],
                "options": {"wait_ms": 60000}}
    status, _, body = server.http("POST", "/v1/symbolize", json.dumps(question).encode(),
                                  {"Content-Type": "application/json"})
    if status != 200:
        raise RuntimeError(f"/v1/symbolize answers {status}: {body[:300]}")
    return json.loads(body)["modules"][0]


def ask(server, path):
    return server.debuginfo().ShouldInitiateUpload(server.messages.ShouldInitiateUploadRequest(
        build_id=service.gnu_build_id(path), build_id_type=1, type=DEBUGINFO))


def check_broken(tap, server):
    whole = service.compile_sample(server.directory, "whole", salt=1)
    stripped = whole + ".stripped"
    subprocess.run(["strip", "--strip-debug", "-o", stripped, whole], check=True)
    server.upload(stripped, kind=EXECUTABLE)
    before = module_of(server, whole)
    server.environment = {"SYMBOLIZER_WORKER_FAULT": "build:crash"}
    server.restart()
    server.upload(whole)
    service.wait_until(lambda: ask(server, whole).should_initiate_upload, "the build to fail")
    after = module_of(server, whole)
    tap.ok(before["status"] == after["status"] == "ok" and
           before["generation"] == after["generation"],
           "a stripped file goes on to answer when the whole one kills the parser",
           f"{before} {after}")
    answer = ask(server, whole)
    tap.ok(answer.should_initiate_upload and "marked as invalid" in answer.reason,
           "and the whole one is asked for again", str(answer))
    server.environment = {}
    server.restart()


def check_lost(tap, server):
    path = service.compile_sample(server.directory, "lost", salt=2)
    server.upload(path)
    status = module_of(server, path)["status"]
    tap.ok(status == "ok" and not ask(server, path).should_initiate_upload,
           "a stored file answers and is not asked for again", status)
    server.stop()
    for folder in ("blobs", "index"):
        shutil.rmtree(os.path.join(server.data_directory, folder))
    server.start()
    module = module_of(server, path)
    tap.ok(module["status"] == "no_debuginfo", "a lost one leaves nothing to answer", str(module))
    answer = ask(server, path)
    tap.ok(answer.should_initiate_upload and "purged" in answer.reason, "it is asked for again",
           str(answer))
    server.upload(path)
    module = module_of(server, path)
    tap.ok(module["status"] == "ok" and module["frames"][0][0]["function"] == "sample_leaf",
           "and answers once it is back", str(module))


tap = Tap()
with service.Service(faults=True) as server:
    check_broken(tap, server)
    check_lost(tap, server)
tap.finish()
