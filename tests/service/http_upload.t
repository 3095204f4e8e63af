#!/usr/bin/python3
"""PUT /v1/debuginfo and /v1/debuginfo/{build_id} against the real server."""
import hashlib
import http.client
import json
import os
import socket
import sys
import tempfile

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import service
from service import Tap, wait_until


def put(server, path, body, chunked=False, headers=None):
    """(status, JSON). `chunked` sends the body in pieces of odd sizes without saying its length."""
    connection = http.client.HTTPConnection("127.0.0.1", server.ports["http"],
                                            timeout=service.PATIENCE_S)
    try:
        if chunked:
            pieces = (body[i:i + 70001] for i in range(0, len(body), 70001))
            connection.request("PUT", path, pieces, headers or {}, encode_chunked=True)
        else:
            connection.request("PUT", path, body, headers or {})
        response = connection.getresponse()
        return response.status, json.loads(response.read())
    finally:
        connection.close()


def report(server, build_id, query=""):
    status, _, body = server.http("GET", f"/v1/debuginfo/{build_id}{query}")
    return status, json.loads(body)


def temporary(server):
    return os.listdir(os.path.join(server.data_directory, "tmp"))


def answers(tap, server, path):
    data, build_id = service.read_bytes(path), service.gnu_build_id(path)
    status, made = put(server, "/v1/debuginfo", data)
    tap.ok(status == 201 and made["build_id"] == build_id and made["id_kind"] == "gnu",
           "without a build ID the server reads it out of the file", json.dumps(made))
    tap.ok({"id_kind": "htlhash", "build_id": service.htlhash(path)} in made["ids"] and
           {"id_kind": "gnu", "build_id": build_id} in made["ids"], "and answers with all of them",
           json.dumps(made))
    tap.ok(made["size"] == len(data) and made["digest"] == hashlib.sha256(data).hexdigest() and
           made["type"] == "debuginfo" and made["state"] in ("pending", "ok"),
           "with type, size, digest and state", json.dumps(made))
    wait_until(lambda: report(server, build_id)[1]["state"] == "ok", "the index")
    tap.ok(True, "the index is built")
    status, again = put(server, f"/v1/debuginfo/{build_id}", data, chunked=True)
    tap.ok(status == 200 and again["digest"] == made["digest"] and again["state"] == "ok",
           "the same bytes again, chunked and with their build ID, are 200", json.dumps(again))
    status, again = put(server, "/v1/debuginfo", data, chunked=True)
    tap.ok(status == 200, "and so without it", json.dumps(again))
    status, body = put(server, f"/v1/debuginfo/{build_id}", data + b"\0" * 16)
    tap.ok(status == 409 and body["error"]["code"] == "already_exists" and "force" in
           body["error"]["message"], "other bytes for a good build ID are 409", json.dumps(body))
    tap.ok(report(server, build_id)[1]["upload"]["state"] == "uploaded",
           "and leave what is stored as it was", json.dumps(report(server, build_id)[1]))
    status, body = put(server, f"/v1/debuginfo/{build_id}?force=true", data + b"\0" * 16)
    tap.ok(status == 201, "unless forced", json.dumps(body))


def kinds(tap, server, directory):
    path = service.compile_sample(directory, "kinds", salt=5)
    data, build_id = service.read_bytes(path), service.gnu_build_id(path)
    hashed = service.htlhash(path)
    status, body = put(server, f"/v1/debuginfo/{hashed}?id_kind=htlhash&type=executable", data)
    tap.ok(status == 201 and body["type"] == "executable" and body["id_kind"] == "htlhash",
           "a file is put under its hash as executable", json.dumps(body))
    tap.ok(report(server, build_id)[0] == 200, "and is found under its build ID too")
    status, body = put(server, f"/v1/debuginfo/{build_id}?type=sources", b"any bytes at all")
    tap.ok(status == 201 and body["type"] == "sources", "sources are stored unparsed",
           json.dumps(body))
    status, body = put(server, "/v1/debuginfo?type=sources", b"any bytes at all")
    tap.ok(status == 400 and "path" in body["error"]["message"],
           "but need a build ID in the path", json.dumps(body))
    plain = service.compile_sample(directory, "plain", salt=6,
                                   flags=("-g", "-O1", "-Wl,--build-id=none"))
    status, body = put(server, "/v1/debuginfo", service.read_bytes(plain))
    tap.ok(status == 201 and body["id_kind"] == "htlhash" and
           body["build_id"] == service.htlhash(plain),
           "a file without a build ID goes by its hash", json.dumps(body))


def refusals(tap, server, path):
    other = "ab" * 20
    status, body = put(server, f"/v1/debuginfo/{other}", service.read_bytes(path))
    tap.ok(status == 422 and "mismatch" in body["error"]["message"],
           "a file with another build ID is 422", json.dumps(body))
    tap.ok(report(server, other)[1]["upload"]["state"] == "failed",
           "and the upload has failed with the reason", json.dumps(report(server, other)[1]))
    for name, where, data in [("text", "/v1/debuginfo", b"this is no ELF file"),
                              ("text with an id", f"/v1/debuginfo/{'cd' * 20}", b"no ELF")]:
        status, body = put(server, where, data)
        tap.ok(status == 422 and body["error"]["code"] == "unsupported", f"{name} is 422",
               json.dumps(body))
    for query in ("type=x", "id_kind=x", "force=maybe"):
        status, body = put(server, f"/v1/debuginfo/{other}?{query}", b"x")
        tap.ok(status == 400, f"{query} is 400", json.dumps(body))
    for chunked in (False, True):
        status, body = put(server, f"/v1/debuginfo/{'ef' * 20}", b"", chunked)
        tap.ok(status == 400 and "empty" in body["error"]["message"],
               f"an empty body is 400 ({'chunked' if chunked else 'with its length'})",
               json.dumps(body))
    status, body = put(server, f"/v1/debuginfo/{'ef' * 20}", b"x",
                       headers={"Content-Encoding": "gzip"})
    tap.ok(status == 400, "a coded body is 400", json.dumps(body))
    tap.ok(report(server, "ef" * 20)[0] == 404, "and leaves nothing")
    tap.ok(temporary(server) == [], "no temporary file stays", str(temporary(server)))


def limits(tap, directory):
    with service.Service(["--max-upload-size", "1MiB"]) as server:
        for chunked in (False, True):
            where = f"/v1/debuginfo/{'12' * 20}"
            status, body = put(server, where, bytes((1 << 20) + 1), chunked)
            tap.ok(status == 413 and body["error"]["code"] == "limit_exceeded",
                   f"a body over the maximum is 413 ({'chunked' if chunked else 'with length'})",
                   json.dumps(body))
            wait_until(lambda: report(server, "12" * 20)[0] == 404, "the end of the upload")
        wait_until(lambda: temporary(server) == [], "the end of the file")
        tap.ok(True, "and leaves nothing")


def open_put(server, build_id, size, sent):
    connection = socket.create_connection(("127.0.0.1", server.ports["http"]),
                                          timeout=service.PATIENCE_S)
    connection.sendall(f"PUT /v1/debuginfo/{build_id} HTTP/1.1\r\nHost: x\r\n"
                       f"Content-Length: {size}\r\n\r\n".encode() + bytes(sent))
    return connection


def in_progress(tap, server):
    build_id = "77" * 20
    connection = open_put(server, build_id, 1 << 20, 1 << 16)
    wait_until(lambda: report(server, build_id)[0] == 200, "the upload")
    tap.ok(report(server, build_id)[1]["state"] == "uploading", "others see an upload in progress")
    stub, messages = server.debuginfo(), server.messages
    question = messages.ShouldInitiateUploadRequest(build_id=build_id, build_id_type=1)
    answer = stub.ShouldInitiateUpload(question)
    tap.ok(not answer.should_initiate_upload and "in-progress" in answer.reason,
           "agents too", str(answer))
    status, body = put(server, f"/v1/debuginfo/{build_id}", b"x")
    tap.ok(status == 409 and body["error"]["code"] == "failed_precondition", "a second one is 409",
           json.dumps(body))
    connection.close()
    wait_until(lambda: report(server, build_id)[0] == 404, "the end of the upload")
    wait_until(lambda: temporary(server) == [], "the end of the file")
    tap.ok(stub.ShouldInitiateUpload(question).should_initiate_upload,
           "one that is cut off leaves nothing")
    connection = open_put(server, build_id, 1 << 20, 1 << 16)
    wait_until(lambda: report(server, build_id)[0] == 200, "the upload")
    status, body = put(server, f"/v1/debuginfo/{build_id}?force=1", b"x")
    tap.ok(status == 422, "a forced one takes over", json.dumps(body))
    connection.sendall(bytes((1 << 20) - (1 << 16)))
    taken = connection.recv(4096)
    tap.ok(b" 409 " in taken, "and the first one is told", taken.decode())
    connection.close()


def main():
    tap = Tap()
    with tempfile.TemporaryDirectory(prefix="symbolizer-put-") as directory:
        path = service.compile_sample(directory)
        with service.Service() as server:
            refusals(tap, server, path)
            answers(tap, server, path)
            kinds(tap, server, directory)
            in_progress(tap, server)
            code = server.stop()
            tap.ok(code == 0, "the server ends in order", [str(code), *server.output[-60:]])
        limits(tap, directory)
    tap.finish()


main()
