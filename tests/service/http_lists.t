#!/usr/bin/python3
"""GET /v1/debuginfo and GET /v1/missing against the real server."""
import json
import os
import sys
import tempfile

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import service
from service import Tap, wait_until


def get(server, path):
    status, _, body = server.http("GET", path)
    return status, json.loads(body)


def put(server, path, data):
    status, _, body = server.http("PUT", path, data)
    assert status == 201, body
    return json.loads(body)


def ask(server, build_id, times=1, kind="gnu"):
    body = json.dumps({"modules": [{"build_id": build_id, "id_kind": kind, "addresses": ["0x1"]}]})
    for _ in range(times):
        status, _, answer = server.http("POST", "/v1/symbolize", body,
                                        {"Content-Type": "application/json"})
        assert status == 200, answer


def names(body):
    return [entry["build_id"] for entry in body["objects"]]


def lists(tap, server, directory):
    status, body = get(server, "/v1/debuginfo")
    tap.ok(status == 200 and body["objects"] == [] and body["next"] is None, "nothing is stored",
           json.dumps(body))
    ids = []
    for number in range(5):
        path = service.compile_sample(directory, f"listed{number}", salt=20 + number)
        made = put(server, "/v1/debuginfo", service.read_bytes(path))
        ids.insert(0, made["build_id"])
    wait_until(lambda: len(get(server, "/v1/debuginfo?state=ok")[1]["objects"]) == 5, "the indexes")
    put(server, f"/v1/debuginfo/{ids[0]}?type=sources", b"sources")
    _, body = get(server, "/v1/debuginfo")
    tap.ok(names(body) == [ids[0], *ids] and body["next"] is None, "all, newest first",
           json.dumps(body))
    entry = body["objects"][1]
    tap.ok(entry["id_kind"] == "gnu" and entry["type"] == "debuginfo" and entry["state"] == "ok" and
           "dwarf" in entry["contents"] and entry["verified"] is True and entry["stored_ms"] > 0,
           "with what is known of each", json.dumps(entry))
    tap.ok(body["objects"][0]["state"] == "stored", "sources have no state but stored")
    found, path, pages = [], "/v1/debuginfo?limit=2", 0
    while path:
        _, body = get(server, path)
        found, pages = found + names(body), pages + 1
        path = body["next"] and f"/v1/debuginfo?limit=2&cursor={body['next']}"
    tap.ok(found == [ids[0], *ids] and pages == 3, "in pages, each once", str((found, pages)))
    for query, want in [("type=sources", [ids[0]]), ("type=source_map", []),
                        ("state=malformed", []), ("state=stored", [ids[0]]),
                        ("contents=dwarf", ids), ("contents=dwarf,symtab", ids),
                        ("contents=pclntab", []), (f"prefix={ids[2][:12]}", [ids[2]]),
                        (f"prefix={ids[2][:12].upper()}", [ids[2]]), ("prefix=%25", []),
                        ("since=0", [ids[0], *ids]), ("since=99999999999999", [])]:
        status, body = get(server, f"/v1/debuginfo?{query}")
        tap.ok(status == 200 and names(body) == want, f"filter {query.split('=')[0]}: {query}",
               json.dumps(body))
    for query in ("limit=0", "limit=1001", "limit=x", "limit=-1", "cursor=abc", "state=x", "type=x",
                  "contents=x", "contents=dwarf,", "since=x"):
        status, body = get(server, f"/v1/debuginfo?{query}")
        tap.ok(status == 400 and query.split("=")[0] in body["error"]["message"],
               f"{query} is 400", json.dumps(body))


def missing(tap, server, directory):
    status, body = get(server, "/v1/missing")
    tap.ok(status == 200 and body["missing"] == [], "nothing is missing", json.dumps(body))
    path = service.compile_sample(directory, "wanted", salt=40)
    wanted, other = service.gnu_build_id(path), "ab" * 20
    ask(server, wanted, 3)
    ask(server, other, 2)
    ask(server, "some/go/id", kind="go")
    _, body = get(server, "/v1/missing")
    found = [(entry["build_id"], entry["id_kind"], entry["count"]) for entry in body["missing"]]
    tap.ok(found == [(wanted, "gnu", 3), (other, "gnu", 2), ("some/go/id", "go", 1)],
           "the most asked come first", json.dumps(body))
    entry = body["missing"][0]
    tap.ok(0 < entry["first_ms"] <= entry["last_ms"] and entry["count_error"] == 0,
           "with the times of the first and the last question", json.dumps(entry))
    tap.ok(len(get(server, "/v1/missing?limit=1")[1]["missing"]) == 1, "limit bounds the list")
    tap.ok(get(server, "/v1/missing?limit=0")[0] == 400, "limit=0 is 400")
    server.http("GET", f"/v1/debuginfo/{'cd' * 20}")
    tap.ok(len(get(server, "/v1/missing")[1]["missing"]) == 3, "asking for a report is not counted")
    put(server, "/v1/debuginfo", service.read_bytes(path))
    _, body = get(server, "/v1/missing")
    tap.ok([entry["build_id"] for entry in body["missing"]] == [other, "some/go/id"],
           "what was uploaded is missing no more", json.dumps(body))


def access_log(tap, directory):
    data = service.read_bytes(service.compile_sample(directory, "logged", salt=50))
    with service.Service(["--http-access-log"], log_level="info") as server:
        made = put(server, "/v1/debuginfo", data)
        where = f"/v1/debuginfo/{made['build_id']}/file"
        server.http("GET", where)
        server.http("HEAD", where)
        pattern = "/v1/debuginfo/{build_id}/file"
        got = server.wait_for_event("http_request", method="GET", path=pattern)
        tap.ok(got["status"] == "200" and got["bytes"] == str(len(data)) and
               len(got["request_id"]) == 32 and "duration_ms" in got,
               "the access log has the bytes that were sent", str(got))
        got = server.wait_for_event("http_request", method="HEAD", path=pattern)
        tap.ok(got["bytes"] == "0", "none for HEAD", str(got))
        got = server.wait_for_event("http_request", method="PUT", path="/v1/debuginfo")
        tap.ok(got["status"] == "201" and got["request_id"] == made["request_id"],
               "one line per request", str(got))


def main():
    tap = Tap()
    with tempfile.TemporaryDirectory(prefix="symbolizer-lists-") as directory:
        with service.Service() as server:
            lists(tap, server, directory)
            missing(tap, server, directory)
            code = server.stop()
            tap.ok(code == 0, "the server ends in order", [str(code), *server.output[-60:]])
        access_log(tap, directory)
    tap.finish()


main()
