#!/usr/bin/python3
"""`symbolize admin` against the real server."""
import http.server
import json
import os
import re
import subprocess
import sys
import tempfile
import threading

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import service
from service import Tap

PROGRAM = os.path.join(service.BUILD, "symbolize")
tap = Tap()


def admin(*words):
    return subprocess.run([PROGRAM, "admin", *words], capture_output=True, text=True,
                          timeout=service.PATIENCE_S)


def check_show(path, build_id, url):
    shown = admin("show", "--server", url, build_id)
    lines = shown.stdout.splitlines()
    wanted = [f"build_id: {build_id}", "id_kind: gnu", "objects[0].type: debuginfo",
              f"objects[0].size: {os.path.getsize(path)}", "upload.state: uploaded"]
    tap.ok(shown.returncode == 0 and all(line in lines for line in wanted) and
           "request_id" not in shown.stdout, "show prints a line per thing known",
           shown.stdout + shown.stderr)
    status, *_ = shown = admin("show", "--json", "--server", url, build_id, build_id).stdout.splitlines()
    tap.ok(len(shown) == 2 and json.loads(status)["build_id"] == build_id,
           "with --json the server's answers are passed on, one a line", str(shown))
    unknown = admin("show", "--server", url, "ab" * 20, build_id)
    tap.ok(unknown.returncode == 1 and "ab" * 20 in unknown.stderr and "404" in unknown.stderr and
           f"build_id: {build_id}" in unknown.stdout,
           "an unknown build ID does not hide the next one", unknown.stderr)
    by_hash = admin("show", "--server", url, "--build-id-kind=htlhash", service.htlhash(path))
    tap.ok(by_hash.returncode == 0 and "id_kind: htlhash" in by_hash.stdout,
           "a binary is shown by any of its ids", by_hash.stdout + by_hash.stderr)
    go_id = admin("show", "--server", url, "--build-id-kind=go", "aB3x/Q9?_z/p#r%w/8")
    tap.ok(go_id.returncode == 1 and "404" in go_id.stderr,
           "an id with odd characters is asked for as it is", go_id.stderr)


def check_delete(path, build_id, server, url):
    server.upload(path, kind=1)
    one = admin("delete", "--server", url, "--type", "executable", build_id)
    tap.ok(one.returncode == 0 and one.stdout.startswith(f"{build_id}: deleted, objects: "),
           "one type is deleted", one.stdout + one.stderr)
    left = json.loads(admin("show", "--json", "--server", url, build_id).stdout)
    tap.ok([entry["type"] for entry in left["objects"]] == ["debuginfo"],
           "and the other is still there", str(left))
    rest = admin("delete", "--server", url, "--json", build_id)
    tap.ok(rest.returncode == 0 and json.loads(rest.stdout)["build_id"] == build_id,
           "the rest is deleted", rest.stdout + rest.stderr)
    shown = admin("show", "--json", "--server", url, build_id)
    tap.ok(shown.returncode == 1 or json.loads(shown.stdout)["objects"] == [],
           "and there is nothing left", shown.stdout)
    none = admin("delete", "--server", url, "cd" * 20)
    tap.ok(none.returncode == 1 and "404" in none.stderr, "what is not there cannot be deleted",
           none.stdout + none.stderr)


def check_list(directory, server, url):
    paths = [service.compile_sample(directory, f"listed-{salt}", salt=salt)
             for salt in range(10, 15)]
    ids = [service.gnu_build_id(path) for path in paths]
    for path in paths:
        server.upload(path)
    server.upload(paths[0], kind=1)
    listed = admin("list", "--server", url)
    lines = [line.split() for line in listed.stdout.splitlines()]
    tap.ok(listed.returncode == 0 and
           sorted(line[1] for line in lines) == sorted([*ids, ids[0]]) and
           [line[:3] for line in lines][0] == ["gnu", ids[0], "executable"] and
           all(len(line) == 7 and int(line[4]) == os.path.getsize(paths[ids.index(line[1])]) and
               re.fullmatch(r"20\d\d-\d\d-\d\dT\d\d:\d\d:\d\dZ", line[5]) and
               "dwarf" in line[6].split(",") for line in lines),
           "list prints an object a line, newest first", listed.stdout + listed.stderr)
    objects = [json.loads(line)
               for line in admin("list", "--json", "--server", url).stdout.splitlines()]
    tap.ok([entry["build_id"] for entry in objects] == [line[1] for line in lines],
           "or a JSON object a line", str(objects))
    some = admin("list", "--server", url, "--limit", "3").stdout
    tap.ok(some == "".join(line + "\n" for line in listed.stdout.splitlines()[:3]),
           "--limit bounds them", some)
    for words, count in ((["--type=executable"], 1), (["--type=sources"], 0),
                         ([f"--prefix={ids[1][:12]}"], 1), (["--contents=dwarf,symtab"], 6),
                         (["--contents=pclntab"], 0)):
        some = admin("list", "--server", url, *words)
        tap.ok(some.returncode == 0 and len(some.stdout.splitlines()) == count,
               f"{' '.join(words)} chooses", some.stdout + some.stderr)
    bad = admin("list", "--server", url, "--state=odd")
    tap.ok(bad.returncode == 1 and "state" in bad.stderr, "a word the server does not know",
           bad.stderr)


def check_missing(server, url):
    for build_id, count in (("ef" * 20, 3), ("ee" * 20, 1)):
        body = json.dumps({"modules": [{"build_id": build_id, "addresses": ["0x1"]}]})
        for _ in range(count):
            server.http("POST", "/v1/symbolize", body, {"Content-Type": "application/json"})
    shown = admin("missing", "--server", url)
    lines = [line.split() for line in shown.stdout.splitlines()]
    tap.ok(shown.returncode == 0 and [line[:3] for line in lines][:2] == [
        ["gnu", "ef" * 20, "3"], ["gnu", "ee" * 20, "1"]],
           "missing prints what was asked for most first", shown.stdout + shown.stderr)
    one = admin("missing", "--server", url, "--limit=1", "--json")
    tap.ok(json.loads(one.stdout)["build_id"] == "ef" * 20, "and no more than is wanted",
           one.stdout + one.stderr)


class Pages(http.server.BaseHTTPRequestHandler):
    """Lists of two pages, or of one that never ends."""

    def do_GET(self):
        entry = {"build_id": "ab", "id_kind": "gnu", "type": "sources", "state": "stored",
                 "size": 5, "stored_ms": 0, "contents": []}
        self.server.paths.append(self.path)
        if "endless" in self.headers.get("x-kind", ""):
            page = {"objects": [], "next": "more"}
        elif "cursor=a%2Fb" in self.path:
            page = {"objects": [entry], "next": ""}
        else:
            page = {"objects": [entry, entry], "next": "a/b"}
        body = json.dumps(page).encode()
        self.send_response(200)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *words):
        pass


def check_pages():
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), Pages) as pages:
        pages.paths = []
        thread = threading.Thread(target=pages.serve_forever, daemon=True)
        thread.start()
        url = f"http://127.0.0.1:{pages.server_port}"
        whole = admin("list", "--server", url, "--type=sources")
        tap.ok(whole.stdout == "gnu ab sources stored 5 - -\n" * 3 and pages.paths == [
            "/v1/debuginfo?limit=1000&type=sources",
            "/v1/debuginfo?limit=1000&type=sources&cursor=a%2Fb"],
               "pages are asked for until there is none", str(pages.paths) + whole.stdout)
        endless = admin("list", "--server", url, "--header=x-kind=endless")
        tap.ok(endless.returncode == 0 and endless.stdout == "",
               "a server without an end is not followed", endless.stderr)
        odd = admin("missing", "--server", url)
        tap.ok(odd.returncode == 1 and "missing" in odd.stderr, "an answer that is none",
               odd.stderr)
        pages.shutdown()
        thread.join()


def check_usage():
    for words in ([], ["show"], ["purge", "abab"], ["show", "--type=sources", "abab"],
                  ["delete", "--type=x", "abab"], ["show", "--nope", "abab"], ["show", "--server"],
                  ["show", "--build-id-kind=x", "abab"], ["list", "abab"],
                  ["show", "--limit=3", "abab"], ["list", "--limit=0"], ["missing", "--type=sources"],
                  ["delete", "--state=ok", "abab"], ["show", "--server=ftp://x", "abab"]):
        usage = admin(*words)
        tap.ok(usage.returncode == 2 and usage.stdout == "" and "symbolize admin: " in usage.stderr,
               f"wrong usage: {' '.join(words)}", usage.stderr)
    gone = admin("show", "--server=http://127.0.0.1:1", "--retries=0", "abab")
    tap.ok(gone.returncode == 3, "a server that is not there may be there later", gone.stderr)
    shown = admin("--help")
    tap.ok(shown.returncode == 0 and "Exit status: 0" in shown.stdout, "the help tells the statuses")


def main():
    with tempfile.TemporaryDirectory() as directory, service.Service() as server:
        path = service.compile_sample(directory, "program")
        build_id = service.gnu_build_id(path)
        url = f"http://127.0.0.1:{server.ports['http']}"
        server.upload(path)
        check_pages()
        check_show(path, build_id, url)
        check_delete(path, build_id, server, url)
        check_list(directory, server, url)
        check_missing(server, url)
    check_usage()
    tap.finish()


main()
