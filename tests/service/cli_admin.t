#!/usr/bin/python3
"""`symbolize admin` against the real server."""
import json
import os
import subprocess
import sys
import tempfile

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


def check_usage():
    for words in ([], ["show"], ["purge", "abab"], ["show", "--type=sources", "abab"],
                  ["delete", "--type=x", "abab"], ["show", "--nope", "abab"], ["show", "--server"],
                  ["show", "--build-id-kind=x", "abab"], ["show", "--server=ftp://x", "abab"]):
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
        check_show(path, build_id, url)
        check_delete(path, build_id, server, url)
    check_usage()
    tap.finish()


main()
