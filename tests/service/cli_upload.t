#!/usr/bin/python3
"""`symbolize upload`: folders, types, JSON, retries, signed URLs, metadata, the progress bar; against
our server and against one that is not ours."""
import http.server
import json
import os
import pty
import re
import subprocess
import sys
import tempfile
import threading

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import fake_debuginfo
import service
from service import Tap

PROGRAM = os.path.join(service.BUILD, "symbolize")
IN_PROGRESS = ("A previous upload is still in-progress and not stale yet (only stale uploads can be "
               "retried).")
tap = Tap()


def upload(url, *words, environment=None):
    return subprocess.run([PROGRAM, "upload", "--server", url, *words], capture_output=True,
                          text=True, timeout=service.PATIENCE_S,
                          env={**os.environ, **(environment or {})})


def upload_json(url, *words, **options):
    """(exit status, {file name: object}, the summary)."""
    done = upload(url, "--json", *words, **options)
    objects = [json.loads(line) for line in done.stdout.splitlines()]
    return (done.returncode, {os.path.basename(entry["file"]): entry for entry in objects[:-1]},
            objects[-1]["summary"])


def grpc_code(name):
    import grpc
    return getattr(grpc.StatusCode, name)


# --- our server --------------------------------------------------------------------------------------

def check_folder(directory, url):
    root = os.path.join(directory, "root")
    below = os.path.join(root, "a/b")
    os.makedirs(below)
    first = service.compile_sample(root, "first")
    service.compile_sample(below, "second", salt=2)
    elsewhere = service.compile_sample(directory, "elsewhere", salt=3)
    os.symlink(elsewhere, os.path.join(root, "link"))
    os.symlink(root, os.path.join(below, "loop"))
    os.mkfifo(os.path.join(root, "pipe"))
    subprocess.run(["strip", "-o", os.path.join(root, "0-stripped"), first], check=True)
    subprocess.run(["gcc", "-c", "-x", "c", "-o", os.path.join(root, "object.o"), "-"],
                   input=b"int x;", check=True)
    with open(os.path.join(root, "notes.txt"), "w", encoding="ascii") as file:
        file.write("no ELF file\n")
    status, files, summary = upload_json(url, "--jobs", "2", root)
    tap.ok(status == 0 and sorted(files) == ["0-stripped", "first", "second"],
           "of a folder, the ELF files in it and below it are sent", str(files))
    tap.ok(files["first"] == {
        "file": first, "outcome": "uploaded", "build_id": service.gnu_build_id(first),
        "id_kind": "gnu", "type": "debuginfo", "size": os.path.getsize(first), "retries": 0,
        "temporary": False, "same_as": None, "reason": None},
           "JSON has one object per file", str(files["first"]))
    tap.ok(files["0-stripped"]["outcome"] == "skipped" and files["0-stripped"]["same_as"] == first,
           "of two files with one build ID, that with more symbols is sent",
           str(files["0-stripped"]))
    size = sum(entry["size"] for entry in files.values())
    tap.ok(summary == {"files": 3, "uploaded": 2, "already_there": 0, "skipped": 1, "failed": 0,
                       "bytes": size}, "and the sums at the end", str(summary))
    status, files, summary = upload_json(url, root, os.path.join(root, "link"), "/none")
    tap.ok(status == 1 and summary["already_there"] == 2 and files["link"]["outcome"] == "uploaded"
           and files["none"]["outcome"] == "failed" and "No such file" in files["none"]["reason"],
           "a link that is named is followed; what is not there fails alone", str(files))
    empty = os.path.join(directory, "empty")
    os.mkdir(empty)
    done = upload(url, empty)
    tap.ok(done.returncode == 0 and "no ELF file found" in done.stderr,
           "a folder without ELF files is said to be one", done.stderr)


def check_types(directory, url):
    path = os.path.join(directory, "source.tar.zst")
    with open(path, "wb") as file:
        file.write(b"\x28\xb5\x2f\xfd" + os.urandom(100))
    for kind, build_id, id_kind in (("sources", "ab" * 20, "gnu"), (
            "source_map", "01234567-89ab-cdef-0123-456789abcdef", "uuid")):
        done = upload(url, "--type", kind, path)
        tap.ok(done.returncode == 2 and "--build-id" in done.stderr,
               f"{kind} need a build ID", done.stderr)
        status, files, _ = upload_json(url, "--type", kind, "--build-id", build_id, path)
        entry = files["source.tar.zst"]
        tap.ok(status == 0 and entry["outcome"] == "uploaded" and entry["type"] == kind and
               entry["build_id"] == build_id and entry["id_kind"] == id_kind,
               f"{kind} are uploaded under the build ID given", str(entry))
    done = upload(url, "--build-id", "zz", path)
    tap.ok(done.returncode == 2 and "--build-id" in done.stderr, "a wrong build ID is wrong usage",
           done.stderr)


# --- a server that is not ours -----------------------------------------------------------------------

def check_retries(path):
    build_id = service.gnu_build_id(path)
    twice = [grpc_code("UNAVAILABLE"), grpc_code("RESOURCE_EXHAUSTED")]
    for method in fake_debuginfo.METHODS:
        with fake_debuginfo.Fake({method: twice}) as fake:
            status, files, _ = upload_json(fake.url, path)
            tap.ok(status == 0 and files["program"]["outcome"] == "uploaded" and
                   files["program"]["retries"] == 2 and fake.calls.count(method) == 3 and
                   len(fake.calls) == 6 and fake.objects[build_id] == service.read_bytes(path),
                   f"{method} that is refused twice for now is tried a third time",
                   str([files, fake.calls]))
    with fake_debuginfo.Fake({"InitiateUpload": twice}) as fake:
        status, files, _ = upload_json(fake.url, "--retries=1", path)
        tap.ok(status == 3 and files["program"]["temporary"] and
               "RESOURCE_EXHAUSTED" in files["program"]["reason"] and
               fake.calls.count("InitiateUpload") == 2,
               "after the last try the exit status says that later may do", str(files))
    with fake_debuginfo.Fake({"InitiateUpload": twice * 20}) as fake:
        status, files, _ = upload_json(fake.url, "--retries=40", "--timeout=1", path)
        tap.ok(status == 3 and fake.calls.count("InitiateUpload") <= 4,
               "the time for a file bounds its tries", str(fake.calls))
    with fake_debuginfo.Fake({"Upload": [grpc_code("UNAVAILABLE"),
                                         grpc_code("FAILED_PRECONDITION")]}) as fake:
        status, files, _ = upload_json(fake.url, path)
        tap.ok(status == 0 and files["program"]["outcome"] == "uploaded" and
               fake.calls.count("InitiateUpload") == 2,
               "a server that forgot the upload after trouble gets it anew", str(fake.calls))
    for code in ("INVALID_ARGUMENT", "INTERNAL", "UNAUTHENTICATED"):
        with fake_debuginfo.Fake({"InitiateUpload": [grpc_code(code)]}) as fake:
            status, files, _ = upload_json(fake.url, path)
            tap.ok(status == 1 and not files["program"]["temporary"] and
                   code in files["program"]["reason"] and len(fake.calls) == 2,
                   f"{code} is not tried again", str(files))


def check_protocol(path):
    build_id = service.gnu_build_id(path)
    with fake_debuginfo.Fake(reason="anything else") as fake:
        status, files, _ = upload_json(fake.url, path)
        tap.ok(status == 0 and files["program"]["outcome"] == "already_there" and
               files["program"]["reason"] == "anything else" and len(fake.calls) == 1,
               "any reason not to upload is passed on", str(files))
    with fake_debuginfo.Fake(reason=IN_PROGRESS) as fake:
        status, files, _ = upload_json(fake.url, path)
        tap.ok(status == 3 and files["program"]["temporary"],
               "but an upload in progress is no upload that was made", str(files))
    with fake_debuginfo.Fake({"InitiateUpload": [grpc_code("ALREADY_EXISTS")]}) as fake:
        status, files, _ = upload_json(fake.url, path)
        tap.ok(status == 0 and files["program"]["outcome"] == "already_there",
               "AlreadyExists is no failure", str(files))
    with fake_debuginfo.Fake() as fake:
        upload(fake.url, "--force", "--type", "executable", path)
        asked, begun, info, finished = fake.requests
        tap.ok(asked.build_id == begun.build_id == info.build_id == finished.build_id == build_id and
               asked.build_id_type == begun.build_id_type == 1 and asked.force and begun.force and
               [request.type for request in fake.requests] == [1] * 4 and
               begun.size == os.path.getsize(path) and begun.hash == service.htlhash(path) and
               info.upload_id == finished.upload_id == "the upload",
               "the four messages say what the protocol wants said", str(fake.requests))


def check_metadata(directory, path):
    token = os.path.join(directory, "token")
    with open(token, "w", encoding="ascii") as file:
        file.write("  secret-1\n")
    with fake_debuginfo.Fake() as fake:
        upload(fake.url, "--bearer-token-file", token, "--header", "projectID=a b=c", path)
        tap.ok(len(fake.metadata) == 4 and
               all(sent.get("authorization") == "Bearer secret-1" and
                   sent.get("projectid") == "a b=c" for sent in fake.metadata),
               "token and headers go with every call", str(fake.metadata))
    with fake_debuginfo.Fake() as fake:
        upload(fake.url, path, environment={"SYMBOLIZE_BEARER_TOKEN": "of-env"})
        tap.ok(fake.metadata[0].get("authorization") == "Bearer of-env",
               "the token may come from the environment", str(fake.metadata))
    for words in (["--header", "no-equals"], ["--header", "te=x"], ["--header", "a b=x"],
                  ["--bearer-token-file", "/none"], ["--jobs", "0"], ["--retries", "x"]):
        done = upload("http://127.0.0.1:1", *words, path)
        tap.ok(done.returncode == 2 and done.stdout == "", f"wrong usage: {' '.join(words)}",
               done.stderr)


def check_signed(directory, path):
    build_id = service.gnu_build_id(path)
    token = os.path.join(directory, "token")
    with fake_debuginfo.Fake({"PUT": [503, 429]}, signed=True) as fake:
        status, files, _ = upload_json(fake.url, "--bearer-token-file", token, path)
        headers = fake.puts.headers[-1]
        tap.ok(status == 0 and files["program"]["retries"] == 2 and
               fake.objects[build_id] == service.read_bytes(path) and "Upload" not in fake.calls and
               fake.calls[-1] == "MarkUploadFinished",
               "bytes go to the signed URL, again if it answers 503 or 429", str(fake.calls))
        tap.ok(headers["content-length"] == str(os.path.getsize(path)) and
               "transfer-encoding" not in headers and "authorization" not in headers,
               "with a Content-Length and without our token", str(headers))
    with fake_debuginfo.Fake({"PUT": [403]}, signed=True) as fake:
        status, files, _ = upload_json(fake.url, path)
        tap.ok(status == 1 and "HTTP 403: not now" in files["program"]["reason"] and
               fake.calls[-1] == "PUT", "what the URL says no to fails, with its words", str(files))
    with fake_debuginfo.Fake(signed=True) as fake:
        fake.puts.url = lambda build_id: "file:///dev/null"
        status, files, _ = upload_json(fake.url, path)
        tap.ok(status == 1 and files["program"]["outcome"] == "failed",
               "a URL that is not of HTTP is refused", str(files))


def check_signed_by_us(directory):
    """Our server's signed URLs lead to a proxy, as in a real installation: its port is known before
    the server's own."""
    path = service.compile_sample(directory, "proxied", salt=8)
    servers, paths = [], []

    class Proxy(http.server.BaseHTTPRequestHandler):
        def do_PUT(self):
            paths.append(self.path)
            body = self.rfile.read(int(self.headers["Content-Length"]))
            status, _, answer = servers[0].http("PUT", self.path.removeprefix("/base"), body)
            self.send_response(status)
            self.send_header("Content-Length", str(len(answer)))
            self.end_headers()
            self.wfile.write(answer)

        def log_message(self, *words):
            pass

    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), Proxy) as proxy:
        thread = threading.Thread(target=proxy.serve_forever, daemon=True)
        thread.start()
        public = f"http://127.0.0.1:{proxy.server_port}/base"
        with service.Service(["--upload-strategy", "signed_url",
                              "--upload-public-url", public]) as server:
            servers.append(server)
            url = f"http://127.0.0.1:{server.ports['grpc']}"
            first, again = upload(url, path), upload(url, path)
        proxy.shutdown()
        thread.join()
    tap.ok(first.stdout.startswith(f"{path}: uploaded, ") and len(paths) == 1 and
           paths[0].startswith("/base/") and ": already there, " in again.stdout,
           "our own server's signed URLs are used", str([first, again, paths]))


# --- the terminal ------------------------------------------------------------------------------------

def run_on_terminal(url, *words):
    """(what standard error's terminal got, standard output): only standard error is a terminal."""
    leader, follower = pty.openpty()
    text = []

    def read():
        try:
            while True:
                text.append(os.read(leader, 4096))
        except OSError:  # EIO: the other end is closed
            pass

    with subprocess.Popen([PROGRAM, "upload", "--server", url, *words], stdout=subprocess.PIPE,
                          stderr=follower) as process:
        os.close(follower)
        reader = threading.Thread(target=read)
        reader.start()
        output = process.communicate(timeout=service.PATIENCE_S)[0]
    reader.join()
    os.close(leader)
    return b"".join(text).decode(), output.decode()


def check_progress(directory):
    large = service.compile_sample(directory, "large", salt=9)
    with open(large, "ab") as file:
        file.write(os.urandom(9 << 20))
    with fake_debuginfo.Fake() as fake:
        shown, output = run_on_terminal(fake.url, large)
    lines = re.findall(r"\r\[[=> ]+\] +(\d+)% [\d.]+ \w+/[\d.]+ MiB (?:-|[\d.]+ \w+)/s ETA [-\d:]+ "
                       r"file (\d)/1\x1b\[K", shown)
    shares = [int(share) for share, _ in lines]
    tap.ok(len(lines) >= 2 and shares == sorted(shares) and lines[-1] == ("100", "1"),
           "a terminal sees a bar that grows to the end", repr(shown[-500:]))
    tap.ok(shown.endswith("\r\x1b[K") and output.startswith(f"{large}: uploaded"),
           "and it is gone afterwards", repr(shown[-100:]))
    with fake_debuginfo.Fake() as fake:
        done = upload(fake.url, large)
    tap.ok(done.stderr == "" and "\r" not in done.stdout, "a pipe sees nothing of it", done.stderr)


def main():
    with tempfile.TemporaryDirectory() as directory, service.Service() as server:
        url = f"http://127.0.0.1:{server.ports['grpc']}"
        check_folder(directory, url)
        check_types(directory, url)
        path = service.compile_sample(directory, "program", salt=7)
        check_retries(path)
        check_protocol(path)
        check_metadata(directory, path)
        check_signed(directory, path)
        check_signed_by_us(directory)
        check_progress(directory)
    tap.finish()


main()
