#!/usr/bin/python3
"""GET /v1/debuginfo/{build_id}/file and DELETE /v1/debuginfo/{build_id} against the real server."""
import hashlib
import json
import os
import stat
import sys
import tempfile

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import service
from service import Tap, wait_until



def put(server, path, data):
    status, _, body = server.http("PUT", path, data)
    assert status in (200, 201), body
    return json.loads(body)


def report(server, build_id, query=""):
    status, _, body = server.http("GET", f"/v1/debuginfo/{build_id}{query}")
    return status, json.loads(body)


def module_status(server, build_id, kind="gnu"):
    body = json.dumps({"modules": [{"build_id": build_id, "id_kind": kind, "addresses": ["0x1"]}]})
    status, _, answer = server.http("POST", "/v1/symbolize", body,
                                    {"Content-Type": "application/json"})
    assert status == 200, answer
    return json.loads(answer)["modules"][0]["status"]


def files_below(server, folder):
    return [os.path.join(place, name) for place, _, names in
            os.walk(os.path.join(server.data_directory, folder)) for name in names]


def whole_and_parts(tap, server, build_id, data, what):
    where = f"/v1/debuginfo/{build_id}/file"
    status, headers, body = server.http("GET", where)
    etag = f'"{hashlib.sha256(data).hexdigest()}"'
    tap.ok(status == 200 and body == data and headers["etag"] == etag and
           headers["content-length"] == str(len(data)), f"{what}: the file as it was sent",
           str((status, headers, len(body))))
    status, headers, body = server.http("HEAD", where)
    tap.ok(status == 200 and body == b"" and headers["content-length"] == str(len(data)),
           f"{what}: HEAD has its length", str((status, headers)))
    size = len(data)
    for name, first, end in [("0-0", 0, 1), (f"7-{size // 2}", 7, size // 2 + 1),
                             (f"{size - 5}-", size - 5, size), ("-3", size - 3, size)]:
        status, headers, body = server.http("GET", where, headers={"Range": f"bytes={name}"})
        tap.ok(status == 206 and body == data[first:end] and
               headers["content-range"] == f"bytes {first}-{end - 1}/{size}",
               f"{what}: range {name}", str((status, headers, len(body))))
    status, headers, body = server.http("GET", where, headers={"Range": f"bytes={size}-"})
    tap.ok(status == 416 and headers["content-range"] == f"bytes */{size}" and
           json.loads(body)["error"]["code"] == "range_not_satisfiable",
           f"{what}: a range past the end", str((status, headers)))
    status, headers, body = server.http("GET", where, headers={"If-None-Match": etag})
    tap.ok(status == 304 and body == b"" and headers["etag"] == etag, f"{what}: not modified",
           str((status, headers)))
    status, _, body = server.http("GET", where, headers={"Range": "bytes=0-0",
                                                         "If-Range": '"other"'})
    tap.ok(status == 200 and body == data, f"{what}: a range of another version is the whole")


def compressed(server):
    """Compresses what the compactor would after ten minutes: makes the blobs old and restarts."""
    for path in files_below(server, "blobs"):
        os.utime(path, (0, 0))
    server.restart()
    wait_until(lambda: any(path.endswith(".zst") for path in files_below(server, "blobs")) and
               all(path.endswith(".zst") or stat.S_IMODE(os.stat(path).st_mode) == 0o400
                   for path in files_below(server, "blobs")), "the compactor")


def files(tap, server, directory):
    path = service.compile_sample(directory)
    # Over two frames of the compressed form.
    data = service.read_bytes(path) + bytes(range(256)) * (5 << 12)
    build_id = service.gnu_build_id(path)
    put(server, "/v1/debuginfo", data)
    whole_and_parts(tap, server, build_id, data, "raw")
    compressed(server)
    whole_and_parts(tap, server, build_id, data, "compressed")
    put(server, f"/v1/debuginfo/{build_id}?type=sources", b"the sources")
    status, _, body = server.http("GET", f"/v1/debuginfo/{build_id}/file?type=sources")
    tap.ok(status == 200 and body == b"the sources", "a type is asked for")
    tap.ok(server.http("GET", f"/v1/debuginfo/{build_id}/file")[2] == data,
           "without one it is the debug file")
    for where, want in [(f"{build_id}/file?type=source_map", 404), ("ab12/file", 404),
                        ("zz/file", 400), (f"{build_id}/file?type=x", 400)]:
        status, _, body = server.http("GET", f"/v1/debuginfo/{where}")
        tap.ok(status == want, f"{where} is {want}", body.decode())


def deletion(tap, server, directory):
    path = service.compile_sample(directory, "deleted", salt=11)
    data, build_id, hashed = (service.read_bytes(path), service.gnu_build_id(path),
                              service.htlhash(path))
    blobs, indexes = files_below(server, "blobs"), files_below(server, "index")
    put(server, "/v1/debuginfo", data)
    put(server, f"/v1/debuginfo/{build_id}?type=sources", b"its sources")
    wait_until(lambda: report(server, build_id)[1]["state"] == "ok", "the index")
    tap.ok(module_status(server, hashed, "htlhash") == "ok", "it answers under both names")
    status, _, body = server.http("DELETE", f"/v1/debuginfo/{build_id}?type=sources")
    tap.ok(status == 200 and json.loads(body)["objects"] == 1, "one type is deleted", body.decode())
    tap.ok(module_status(server, build_id) == "ok", "and the other goes on answering")
    status, _, body = server.http("DELETE", f"/v1/debuginfo/{build_id}")
    tap.ok(status == 200 and json.loads(body)["objects"] == 1, "all is deleted", body.decode())
    tap.ok(module_status(server, build_id) == "no_debuginfo" and
           module_status(server, hashed, "htlhash") == "no_debuginfo", "nothing answers at once")
    tap.ok(server.http("GET", f"/v1/debuginfo/{build_id}/file")[0] == 404, "no file is served")
    tap.ok(files_below(server, "blobs") == blobs and files_below(server, "index") == indexes,
           "bytes and index are gone from the disk")
    tap.ok(report(server, build_id)[1]["upload"]["state"] == "purged", "a mark is left")
    stub, messages = server.debuginfo(), server.messages
    answer = stub.ShouldInitiateUpload(messages.ShouldInitiateUploadRequest(
        build_id=build_id, build_id_type=1))
    tap.ok(answer.should_initiate_upload and "purged" in answer.reason.lower(),
           "agents are told that it was purged", str(answer))
    status, _, body = server.http("DELETE", f"/v1/debuginfo/{build_id}")
    tap.ok(status == 404, "a second time there is nothing", body.decode())
    put(server, "/v1/debuginfo", data)
    wait_until(lambda: module_status(server, build_id) == "ok", "the index")
    tap.ok(report(server, build_id)[1]["generation"] > 1, "sent again it answers again, anew")


def shared(tap, server, directory):
    """Of two objects of one build ID the other one answers; a blob that another needs stays."""
    path = service.compile_sample(directory, "shared", salt=12)
    data, build_id = service.read_bytes(path), service.gnu_build_id(path)
    put(server, f"/v1/debuginfo/{build_id}?type=executable", data)
    put(server, f"/v1/debuginfo/{build_id}?type=debuginfo&force=1", data)
    wait_until(lambda: module_status(server, build_id) == "ok", "the index")
    server.http("DELETE", f"/v1/debuginfo/{build_id}?type=debuginfo")
    status, _, body = server.http("GET", f"/v1/debuginfo/{build_id}/file")
    tap.ok(status == 200 and body == data, "bytes that another object needs stay")
    wait_until(lambda: module_status(server, build_id) == "ok", "the index of the other")
    tap.ok(True, "and what is left answers")


def in_flight(tap, directory):
    gate = service.Gate(directory)
    path = service.compile_sample(directory, "flight", salt=13)
    build_id = service.gnu_build_id(path)
    with service.Service(["--worker", gate.worker]) as server:
        put(server, "/v1/debuginfo", service.read_bytes(path))

        def running():
            _, _, body = server.http("GET", "/metrics")
            return b"symbolizer_builds_running 1\n" in body
        gate.wait()
        server.http("DELETE", f"/v1/debuginfo/{build_id}")
        tap.ok(module_status(server, build_id) == "no_debuginfo",
               "a build under way does not keep what is deleted")
        gate.open()
        wait_until(lambda: not running(), "the end of the build")
        tap.ok(module_status(server, build_id) == "no_debuginfo" and
               not files_below(server, "index") and not files_below(server, "blobs"),
               "nor brings it back", str(files_below(server, "index")))
        tap.ok(server.stop() == 0, "the server ends in order", server.output[-60:])


def main():
    tap = Tap()
    with tempfile.TemporaryDirectory(prefix="symbolizer-file-") as directory:
        with service.Service() as server:
            deletion(tap, server, directory)
            shared(tap, server, directory)
            files(tap, server, directory)
            code = server.stop()
            tap.ok(code == 0, "the server ends in order", [str(code), *server.output[-60:]])
        in_flight(tap, directory)
    tap.finish()


main()
