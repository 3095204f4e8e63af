#!/usr/bin/python3
"""Of several files of one build ID the best that can be read answers; a broken, damaged or lost one
is asked for again, and no damaged one is handed out."""
import hashlib
import http.client
import json
import os
import re
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


def blob_of(server, path):
    digest = hashlib.sha256(service.read_bytes(path)).hexdigest()
    return os.path.join(server.data_directory, "blobs", digest[:2], digest[2:])


def damage(path, offset=-1):
    """Another byte; the last one unless told."""
    with open(path, "r+b") as file:
        file.seek(offset, os.SEEK_END if offset < 0 else os.SEEK_SET)
        byte = file.read(1)
        file.seek(-1, os.SEEK_CUR)
        file.write(bytes([byte[0] ^ 1]))


def lost_count(server):
    _, _, body = server.http("GET", "/metrics")
    return int(re.search(rb'stored_files_lost_total\{reason="damaged"\} (\d+)', body).group(1))


def check_damaged(tap, server):
    """The file that answers is damaged, and its index is gone: what is left answers."""
    path = service.compile_sample(server.directory, "damaged", salt=3)
    stripped = path + ".stripped"
    subprocess.run(["strip", "--strip-debug", "-o", stripped, path], check=True)
    server.upload(stripped, kind=EXECUTABLE)
    server.upload(path)
    service.wait_until(lambda: module_of(server, path)["frames"][0][0]["origin"] == "dwarf",
                       "the index of the better file")
    server.stop()
    damage(blob_of(server, path))
    shutil.rmtree(os.path.join(server.data_directory, "index"))
    server.start()
    service.wait_until(lambda: module_of(server, path)["status"] == "ok", "another index")
    frame = module_of(server, path)["frames"][0][0]
    tap.ok(frame["function"] == "sample_leaf" and frame["origin"] == "symtab",
           "when a stored file is damaged the next best answers", str(frame))
    tap.ok(lost_count(server) == 1, "the metrics count it")
    answer = ask(server, path)
    tap.ok(answer.should_initiate_upload, "it is asked for again", str(answer))
    server.upload(path)
    service.wait_until(lambda: module_of(server, path)["frames"][0][0]["origin"] == "dwarf",
                       "the index of the better file")
    tap.ok(not ask(server, path).should_initiate_upload, "and answers once it is back")


def fetch(server, path, span=None):
    """(status, body), where a body that ends early is None."""
    try:
        status, _, body = server.http("GET", f"/v1/debuginfo/{service.gnu_build_id(path)}/file",
                                      headers={"Range": f"bytes={span}"} if span else {})
    except http.client.IncompleteRead as error:
        return 200, None
    return status, body


def check_fetched(tap, server):
    """Wrong bytes are not handed out for right ones, and who finds them is heard."""
    small = service.compile_sample(server.directory, "small", salt=4)
    large = service.compile_sample(server.directory, "large", salt=5)
    with open(large, "ab") as file:
        file.write(b"0123456789abcdef" * (3 << 16))
    for path, broken in [(small, (500,)), (large, (200,))]:
        server.upload(path)
        module_of(server, path)
        data = service.read_bytes(path)
        assert fetch(server, path) == (200, data) and fetch(server, path, "5-6") == (206, data[5:7])
        before = lost_count(server)
        damage(blob_of(server, path))
        status, body = fetch(server, path)
        tap.ok((status,) == broken and (body is None or json.loads(body)["error"]["code"] == "damaged"),
               f"a damaged file of {len(data)} bytes is not sent to its end", str((status, body)))
        service.wait_until(lambda: lost_count(server) == before + 1, "the damage to be counted")
        tap.ok(module_of(server, path)["status"] == "ok" and ask(server, path).should_initiate_upload,
               "its index goes on answering, and it is asked for again")
        status, body = fetch(server, path)
        tap.ok(status == 404, "it is served no more", str((status, body)))
        server.upload(path)
        tap.ok(fetch(server, path) == (200, data), "until it is back")
        damage(blob_of(server, path))
        status, body = fetch(server, path, "5-6")
        tap.ok(status == 500, "nor is a range of a damaged file", str((status, body)))
        service.wait_until(lambda: lost_count(server) == before + 2, "the damage to be counted")
        server.upload(path)
    check_frames(tap, server, large)


def check_frames(tap, server, path):
    """Compressed, a range is as good as the frames that it touches."""
    data, blob = service.read_bytes(path), blob_of(server, path)
    os.utime(blob, (0, 0))
    server.restart()
    service.wait_until(lambda: not os.path.exists(blob), "the compactor")
    damage(blob + ".zst", 20)
    status, body = fetch(server, path, f"{len(data) - 5}-")
    tap.ok(status == 206 and body == data[-5:], "a sound frame of a damaged file is served")
    status, body = fetch(server, path, "0-4")
    tap.ok(status == 500, "a damaged frame is not", str((status, body)))
    service.wait_until(lambda: lost_count(server) == 1, "the damage to be counted")
    tap.ok(ask(server, path).should_initiate_upload, "and the file is asked for again")


tap = Tap()
with service.Service(faults=True) as server:
    check_broken(tap, server)
    check_lost(tap, server)
    check_damaged(tap, server)
    check_fetched(tap, server)
tap.finish()
