#!/usr/bin/python3
"""`symbolize query` against the real server, beside the offline command on the same file; and against
servers that misbehave."""
import http.server
import json
import os
import subprocess
import sys
import tempfile
import threading

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import service
from service import Tap

PROGRAM = os.path.join(service.BUILD, "symbolize")
SOURCE = """
namespace area { inline __attribute__((always_inline)) int square(int x) {
    asm volatile("nop");
    return x * x; }
template <class T> __attribute__((noinline)) T cube(T x) {
    return x * square(x); } }
int main(int argc, char **) {
    return area::cube(argc);
}
"""
tap = Tap()


def symbolize(*words, stdin="", environment=None):
    return subprocess.run([PROGRAM, *words], input=stdin, capture_output=True, text=True,
                          timeout=service.PATIENCE_S, env={**os.environ, **(environment or {})})


def addresses_of(path):
    found = []
    for line in subprocess.run(["nm", "-S", path], check=True, capture_output=True,
                               text=True).stdout.splitlines():
        words = line.split()
        if len(words) == 4 and (words[3] == "main" or "cube" in words[3]):
            start, size = int(words[0], 16), int(words[1], 16)
            found += range(start, start + size)
    return found


def check_shapes(path, build_id, url):
    lines = "".join(f"0x{address:x}\n" for address in [*addresses_of(path), 1])
    for style in ([], ["--output-style=GNU"], ["--output-style=GNU", "-f", "-i", "-C", "-a", "-p"],
                  ["--no-inlines"], ["--no-demangle", "-s"], ["--functions=none"],
                  ["--adjust-vma=1"]):
        offline = symbolize("-e", path, *style, stdin=lines)
        asked = symbolize("query", "--server", url, *style, build_id, stdin=lines)
        tap.ok(asked.returncode == 0 and len(offline.stdout) > 100 and
               asked.stdout == offline.stdout and asked.stderr == "",
               f"the server's answers look as the file's ({' '.join(style) or 'LLVM'})",
               asked.stdout[:2000] + asked.stderr)
    some = [hex(address) for address in addresses_of(path)[:20]]
    answers = json.loads(symbolize("query", f"--server={url}", "--output-style=JSON", build_id,
                                   *some).stdout)
    offline = json.loads(symbolize("-e", path, "--output-style=JSON", *some).stdout)
    keys = ("Column", "FileName", "FunctionName", "Line", "StartLine")
    shown = [[[frame[key] for key in keys] for frame in answer["Symbol"]] for answer in answers]
    want = [[[frame[key] for key in keys] for frame in answer["Symbol"]] for answer in offline]
    tap.ok(shown == want and all(answer["ModuleName"] == build_id for answer in answers) and
           [answer["Address"] for answer in answers] == some,
           "JSON for arguments is one array, with the build ID as the module", str(shown))
    many = lines * (25000 // len(lines.splitlines()))
    tap.ok(symbolize("query", "--server", url, build_id, stdin=many).stdout ==
           symbolize("-e", path, stdin=many).stdout, "a long input goes in several requests")
    junk = symbolize("query", "--server", url, build_id, stdin="0x1\n9junk\n0x1\n")
    tap.ok(junk.stdout == "??\n??:0:0\n\n" * 3 and "'9junk'" in junk.stderr and
           junk.returncode == 0, "a line that is no address is unknown in its place", junk.stdout)
    symbol = symbolize("query", "--server", url, build_id, "main")
    tap.ok(symbol.stdout == "??\n??:0:0\n\n" and "by address alone" in symbol.stderr and
           symbol.returncode == 1, "a server is not asked about symbols", symbol.stderr)


def check_dialogue(path, build_id, url):
    """Each line is answered before the next is written."""
    first = addresses_of(path)[0]
    with subprocess.Popen([PROGRAM, "query", "--server", url, build_id], text=True,
                          stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
        answers = []
        for address in (first, 1, first):
            process.stdin.write(f"0x{address:x}\n")
            process.stdin.flush()
            lines = []
            while not lines or lines[-1] != "\n":
                lines.append(process.stdout.readline())
            answers.append("".join(lines))
        process.stdin.close()
    tap.ok(answers[0] == answers[2] and "cube" in answers[0] and answers[1] == "??\n??:0:0\n\n",
           "a program on a pipe is answered line by line", str(answers))


def check_kinds(directory, server, url):
    bare = service.compile_sample(directory, "bare", flags=("-g", "-Wl,--build-id=none"))
    symbolize("upload", "--server", f"http://127.0.0.1:{server.ports['grpc']}", bare)
    address = hex(service.symbol_address(bare, "sample_leaf"))
    asked = symbolize("query", "--server", url, "--build-id-kind", "htlhash", "--wait", "30",
                      service.htlhash(bare), address)
    tap.ok(asked.returncode == 0 and asked.stdout.startswith("sample_leaf\n"),
           "a binary without a build ID is asked for by its htlhash", asked.stdout + asked.stderr)
    unknown = symbolize("query", "--server", url, "ab" * 20, "0x1", "0x2")
    tap.ok(unknown.returncode == 1 and unknown.stdout == "??\n??:0:0\n\n" * 2 and
           unknown.stderr.count("no_debuginfo") == 1,
           "a build ID that nobody uploaded is said once, and the status is 1",
           unknown.stdout + unknown.stderr)
    unknown = symbolize("query", "--server", url, "--output-style=JSON", "ab" * 20, "0x1")
    tap.ok("no_debuginfo" in json.loads(unknown.stdout)[0]["Error"]["Message"],
           "JSON carries the reason", unknown.stdout)


class Misbehaving:
    """An HTTP server that answers the given (code, body) pairs in turn, the last one for ever."""

    def __init__(self, *answers):
        self.left, self.requests = list(answers), []
        outer = self

        class Handler(http.server.BaseHTTPRequestHandler):
            def do_POST(self):
                size = int(self.headers["Content-Length"])
                outer.requests.append((self.path, dict(self.headers), json.loads(self.rfile.read(size))))
                code, body = outer.left.pop(0) if len(outer.left) > 1 else outer.left[0]
                self.send_response(code)
                self.end_headers()
                self.wfile.write(body.encode())

            def log_message(self, *words):
                pass

        self.server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self.server.server_port}"
        self.thread = threading.Thread(target=self.server.serve_forever, daemon=True)

    def __enter__(self):
        self.thread.start()
        return self

    def __exit__(self, *exception):
        self.server.shutdown()
        self.server.server_close()
        self.thread.join()


def answer_with(frames, status="ok", detail=None):
    return json.dumps({"modules": [{"status": status, "detail": detail, "frames": frames}]})


def check_other_servers(directory):
    frame = {"function": "f", "system_name": "_Zf", "file": None, "line": 3, "column": None}
    good = (200, answer_with([[frame]]))
    busy = (503, json.dumps({"error": {"code": "unavailable", "message": "too much to do"}}))
    token = os.path.join(directory, "token")
    with open(token, "w", encoding="ascii") as file:
        file.write("secret-2\n")
    with Misbehaving(busy, busy, good) as fake:
        asked = symbolize("query", f"--server={fake.url}/", "--bearer-token-file", token,
                          "--header=project=web", "ab" * 20, "0x10")
        path, headers, body = fake.requests[-1]
        tap.ok(asked.returncode == 0 and asked.stdout == "f\n??:3:0\n\n" and len(fake.requests) == 3,
               "a busy server is asked again", asked.stdout + asked.stderr)
        tap.ok(path == "/v1/symbolize" and headers["Authorization"] == "Bearer secret-2" and
               headers["project"] == "web" and body["modules"] == [
                   {"build_id": "ab" * 20, "id_kind": "gnu", "addresses": ["0x10"]}],
               "with token, header and question", str(fake.requests[-1]))
    with Misbehaving(busy) as fake:
        asked = symbolize("query", "--server", fake.url, "--retries=0", "ab" * 20, "0x10")
        tap.ok(asked.returncode == 3 and "too much to do (HTTP 503)" in asked.stderr,
               "until there are no tries left: later may do", asked.stderr)
    with Misbehaving((200, answer_with([[]], "pending", "queued"))) as fake:
        asked = symbolize("query", "--server", fake.url, "ab" * 20, "0x10")
        tap.ok(asked.returncode == 3 and "pending: queued" in asked.stderr,
               "an index that is being made: later may do", asked.stderr)
    for body in ("", "{}", "[1]", '{"modules":[]}', answer_with([]), answer_with([[], []]),
                 answer_with({}), answer_with(7), "\0", '{"modules":[{"status":7,"frames":[[]]}]}'):
        with Misbehaving((200, body)) as fake:
            asked = symbolize("query", "--server", fake.url, "ab" * 20, "0x10")
            tap.ok(asked.returncode == 1 and asked.stdout == "" and "answer" in asked.stderr,
                   f"an answer that is none is said to be none: {body[:40]!r}", asked.stderr)
    odd = [[{"function": 7, "line": -1, "column": 1 << 40, "file": []}, 3, None, "x"]]
    with Misbehaving((200, answer_with(odd))) as fake:
        asked = symbolize("query", "--server", fake.url, "ab" * 20, "0x10")
        tap.ok(asked.returncode == 0 and asked.stdout == "??\n??:0:0\n" * 4 + "\n",
               "members of the wrong type are not known", asked.stdout)
    with Misbehaving((400, json.dumps({"error": {"message": "bad\u001b[31m"}}))) as fake:
        asked = symbolize("query", "--server", fake.url, "ab" * 20, "0x10")
        tap.ok(asked.returncode == 1 and "bad?[31m (HTTP 400)" in asked.stderr,
               "a refusal's words are shown, but not obeyed", asked.stderr)


def check_usage():
    gone = symbolize("query", "--server=http://127.0.0.1:1", "--retries=0", "ab" * 20, "0x1")
    tap.ok(gone.returncode == 3 and "127.0.0.1" in gone.stderr, "a server that is not there",
           gone.stderr)
    for words in ([], ["zz"], ["--build-id-kind", "x", "ab"], ["--server"], ["-e", "f", "abab"],
                  ["--wait", "x", "abab"], ["--nope", "abab"], ["--server", "ftp://x", "abab", "1"]):
        usage = symbolize("query", *words)
        tap.ok(usage.returncode == 2 and usage.stdout == "" and "symbolize query: " in usage.stderr,
               f"wrong usage: {' '.join(words)}", usage.stderr)
    shown = symbolize("query", "--help")
    tap.ok(shown.returncode == 0 and "Exit status: 0" in shown.stdout, "the help tells the statuses")


def main():
    with tempfile.TemporaryDirectory() as directory, service.Service() as server:
        path = os.path.join(directory, "program")
        subprocess.run(["g++", "-g", "-O1", "-Wl,--build-id=sha1", "-x", "c++", "-o", path, "-"],
                       input=SOURCE.encode(), check=True)
        build_id = service.gnu_build_id(path)
        url = f"http://127.0.0.1:{server.ports['http']}"
        server.upload(path)
        symbolize("query", "--server", url, "--wait", "30", build_id, "0x1")
        check_shapes(path, build_id, url)
        check_dialogue(path, build_id, url)
        check_kinds(directory, server, url)
        check_other_servers(directory)
        check_usage()
    tap.finish()


main()
