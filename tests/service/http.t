#!/usr/bin/python3
"""The HTTP API against the real server: what docs/API.md promises."""
import hashlib
import http.client
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
import threading

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import service
from service import Tap, wait_until

JSON = {"Content-Type": "application/json"}

CHAIN = """
volatile int sink;
namespace shapes {
inline __attribute__((always_inline)) int leaf(int x) { return sink = x * SALT; }
inline __attribute__((always_inline)) int middle(int x) {
    return leaf(x) + 1;
}
__attribute__((noinline)) int outer(int x) {
    return middle(x) + 2;
}
}
int main(int argc, char **) { return shapes::outer(argc); }
"""

GO_ID = "aB3xk/Q9_z-Z1/p0rw/8"
GO_NOTE = f"""
__asm__(".pushsection .note.go.buildid,\\"a\\",@note\\n"
        " .balign 4\\n .long 4, {len(GO_ID)}, 4\\n .asciz \\"Go\\"\\n .balign 4\\n"
        " .ascii \\"{GO_ID}\\"\\n .balign 4\\n .popsection\\n");
""" + service.SAMPLE


def compile_chain(directory):
    path = os.path.join(directory, "chain")
    subprocess.run(["g++", "-g", "-O1", "-DSALT=3", "-Wl,--build-id=sha1", "-x", "c++", "-o", path,
                    "-"], input=CHAIN.encode(), check=True)
    return path


def line_of(source, text):
    return next(number for number, line in enumerate(source.splitlines(), 1) if text in line)


def mangled_address(path, fragment):
    symbols = subprocess.run(["nm", path], check=True, capture_output=True, text=True).stdout
    return int(re.search(rf"^([0-9a-f]+) \w \S*{fragment}\S*$", symbols, re.M).group(1), 16)


def leaf_address(path):
    """An address inside the inlined leaf, by objdump's line numbers."""
    listing = subprocess.run(["objdump", "-d", "-l", "--no-show-raw-insn", path], check=True,
                             capture_output=True, text=True).stdout
    wanted = line_of(CHAIN, "int leaf(")
    outer = listing[listing.index("<_ZN6shapes5outerEi>:"):]
    after = outer[outer.index(f":{wanted}"):]
    return int(re.search(r"^\s+([0-9a-f]+):", after, re.M).group(1), 16)


def segments(path):
    """(offset, address, size, flags) of each PT_LOAD."""
    text = subprocess.run(["readelf", "-lW", path], check=True, capture_output=True,
                          text=True).stdout
    found = re.findall(r"LOAD\s+0x(\w+) 0x(\w+) 0x\w+ 0x(\w+) 0x\w+ ([R ][W ][E ])", text)
    return [(int(o, 16), int(a, 16), int(s, 16), f) for o, a, s, f in found]


def ask(server, document, expected=200):
    body = document if isinstance(document, (str, bytes)) else json.dumps(document)
    status, headers, answer = server.http("POST", "/v1/symbolize", body, JSON)
    if status != expected:
        raise AssertionError(f"status {status}, not {expected}: {answer!r}")
    answer = json.loads(answer)
    answer["header_id"] = headers["x-request-id"]
    return answer


def ask_module(server, options=None, **module):
    document = {"modules": [module]}
    if options:
        document["options"] = options
    return ask(server, document)["modules"][0]


def built(server, build_id, **kind):
    """Waits for the index of a build ID by asking as a client does."""
    module = ask_module(server, {"wait_ms": 60000}, build_id=build_id, addresses=[], **kind)
    return module["status"]


def metrics(server):
    _, _, text = server.http("GET", "/metrics")
    lines = [line for line in text.decode().splitlines() if not line.startswith("#")]
    return {name: float(value) for name, value in (line.rsplit(" ", 1) for line in lines)}


# --- the tests -------------------------------------------------------------------------------------

def operations(tap, server):
    status, headers, body = server.http("GET", "/healthz")
    tap.ok(status == 200 and body == b"ok\n", "/healthz says that the process lives")
    status, headers, body = server.http("GET", "/readyz")
    tap.ok(status == 200, "/readyz says that the catalog answers", repr(body))
    status, headers, body = server.http("GET", "/metrics")
    tap.ok(status == 200 and headers["content-type"].startswith("text/plain; version=0.0.4"),
           "/metrics is in Prometheus' text format", str(headers))
    bad = [line for line in body.decode().splitlines()
           if not re.fullmatch(r'# (HELP|TYPE) .+|\w+(\{(\w+="[^"\\]*",?)+\})? [0-9.]+', line)]
    tap.ok(not bad, "and every line of it is well-formed", bad)


def refusal(tap, server, name, request, status, code, message=""):
    got, headers, body = server.http(*request)
    try:
        error = json.loads(body)["error"]
    except (ValueError, KeyError):
        error = {}
    good = (got == status and error.get("code") == code and message in error.get("message", "")
            and error.get("request_id") == headers.get("x-request-id")
            and headers.get("content-type") == "application/json")
    tap.ok(good, name, f"{got} {body!r} {headers}")
    return headers


def refusals(tap, server):
    def post(document, headers=JSON):
        body = document if isinstance(document, str) else json.dumps(document)
        return ("POST", "/v1/symbolize", body, headers)

    def module(**members):
        return post({"modules": [{"build_id": "c0ffee", "addresses": [], **members}]})

    refusal(tap, server, "an unknown path is 404", ("GET", "/v1/nothing"), 404, "not_found")
    headers = refusal(tap, server, "a wrong method is 405", ("GET", "/v1/symbolize"), 405,
                      "method_not_allowed")
    tap.ok(headers.get("allow") == "POST", "and names the right one", str(headers))
    refusal(tap, server, "bad JSON is told with its line and column", post("{\n  \"modules\": [}"),
            400, "malformed", "line 2 column 15")
    refusal(tap, server, "another media type is 415",
            post("{}", {"Content-Type": "application/x-www-form-urlencoded"}), 415,
            "unsupported_media_type")
    refusal(tap, server, "a body over 32 MiB is 413", post(" " * ((32 << 20) + 1)), 413,
            "limit_exceeded")
    refusal(tap, server, "a misspelt member is refused by name", module(adress_kind="elf"), 400,
            "invalid_argument", 'modules[0]: unknown member "adress_kind"')
    refusal(tap, server, "a wrong type is refused with its place",
            module(addresses=["0x1", "0x2", "0x3", 4]), 400, "invalid_argument",
            "modules[0].addresses[3]")
    refusal(tap, server, "a key given twice is refused", post('{"modules":[],"modules":[]}'), 400,
            "malformed", "duplicate")
    refusal(tap, server, "runtime addresses without a mapping are refused",
            module(address_kind="runtime"), 400, "invalid_argument", "modules[0].mapping: missing")
    refusal(tap, server, "1001 modules are too many",
            post({"modules": [{"build_id": "c0ffee", "addresses": []}] * 1001}), 413,
            "limit_exceeded", "1001")
    refusal(tap, server, "a build ID that is none is refused", ("GET", "/v1/debuginfo/zz"), 400,
            "invalid_argument", "not a build ID")
    refusal(tap, server, "a kind that is none is refused",
            ("GET", "/v1/debuginfo/c0ffee?id_kind=pdb"), 400, "invalid_argument", "id_kind")
    refusal(tap, server, "a build ID that nobody knows is 404", ("GET", "/v1/debuginfo/c0ffee"),
            404, "not_found", "c0ffee")


def unknown(tap, server):
    answer = ask(server, {"modules": [{"build_id": "C0FFEE", "addresses": ["0x1", "0x2"]}]})
    tap.ok(answer["modules"] == [{"build_id": "c0ffee", "status": "no_debuginfo", "detail": None,
                                  "generation": None, "frames": [[], []],
                                  "reasons": [None, None]}],
           "a build ID without debug information has empty answers and its status", str(answer))
    tap.ok(answer["request_id"] == answer["header_id"], "the request id is in header and body")
    tap.ok(ask(server, {"modules": []})["modules"] == [], "no modules, no answers")


def keep_alive(tap, server):
    connection = http.client.HTTPConnection("127.0.0.1", server.ports["http"], timeout=60)
    connection.connect()
    socket = connection.sock
    for path in ("/healthz", "/v1/debuginfo/c0ffee", "/nothing", "/readyz"):
        connection.request("GET", path)
        connection.getresponse().read()
    connection.request("POST", "/v1/symbolize", '{"modules":[]}', JSON)
    status = connection.getresponse().status
    tap.ok(status == 200 and connection.sock is socket, "one connection serves many requests")
    connection.close()


def chain(tap, server, path):
    build_id = service.gnu_build_id(path)
    server.upload(path)
    tap.ok(built(server, build_id) == "ok", "an upload is answered for once its index is built")
    leaf = leaf_address(path)
    outer = mangled_address(path, "outer")
    module = ask_module(server, build_id=build_id, addresses=[hex(leaf), "0x1", hex(outer + 1)],
                        ret=[2])
    frames = module["frames"]
    tap.ok([frame["function"] for frame in frames[0]] ==
           ["shapes::leaf(int)", "shapes::middle(int)", "shapes::outer(int)"],
           "an address in inlined code has its whole chain, leaf first", json.dumps(module))
    lines = [line_of(CHAIN, text) for text in ("int leaf(", "return leaf(", "return middle(")]
    tap.ok([frame["line"] for frame in frames[0]] == lines,
           "each frame stands at the line of its call", json.dumps(frames[0]))
    tap.ok([frame["start_line"] for frame in frames[0]] ==
           [line_of(CHAIN, text) for text in ("int leaf(", "int middle(", "int outer(")],
           "and names the line where its function begins", json.dumps(frames[0]))
    tap.ok(frames[0][2]["system_name"] == "_ZN6shapes5outerEi" and
           all(set(frame) == {"function", "system_name", "file", "line", "column", "start_line",
                              "origin"} and frame["origin"] == "dwarf" for frame in frames[0]),
           "a frame has its seven members", json.dumps(frames[0]))
    tap.ok(frames[1] == [] and module["reasons"][:2] == [None, "no_range"],
           "an address that nothing covers has no frame and the reason no_range",
           json.dumps(module))
    plain = ask_module(server, build_id=build_id, addresses=[hex(outer), hex(outer + 1)])
    tap.ok(frames[2] == plain["frames"][0] != [],
           "an address marked as return address is looked up one byte earlier",
           json.dumps([frames[2], plain["frames"]]))
    flat = ask_module(server, {"inlines": False}, build_id=build_id, addresses=[hex(leaf)])
    tap.ok([(frame["function"], frame["line"]) for frame in flat["frames"][0]] ==
           [("shapes::outer(int)", lines[0])],
           "without inlines the outermost function stands at the line that executes",
           json.dumps(flat))
    raw = ask_module(server, {"demangle": False}, build_id=build_id, addresses=[hex(outer)])
    tap.ok(raw["frames"][0][-1]["function"] == "_ZN6shapes5outerEi",
           "without demangling the name is as stored", json.dumps(raw))
    mapped(tap, server, path, build_id, leaf, frames[0])


def mapped(tap, server, path, build_id, leaf, expected):
    offset, address, size, _ = next(s for s in segments(path) if "E" in s[3])
    in_file = leaf - address + offset
    module = ask_module(server, build_id=build_id, address_kind="file_offset",
                        addresses=[hex(in_file), hex(os.path.getsize(path) + 4096)])
    tap.ok(module["frames"] == [expected, []] and module["reasons"] == [None, "no_range"],
           "a file offset is translated by the program headers", json.dumps(module))
    start, page = 0x7f0000400000, offset & ~0xfff
    mapping = {"start": hex(start), "limit": hex(start + ((size + 0xfff) & ~0xfff)),
               "offset": hex(page)}
    runtime = start + in_file - page
    module = ask_module(server, build_id=build_id, address_kind="runtime", mapping=mapping,
                        addresses=[hex(runtime), hex(start - 1)])
    tap.ok(module["frames"] == [expected, []] and module["reasons"] == [None, "no_range"],
           "a runtime address is translated by its mapping", json.dumps(module))


def report(tap, server, path):
    build_id = service.gnu_build_id(path)
    data = service.read_bytes(path)
    status, _, body = server.http("GET", f"/v1/debuginfo/{build_id.upper()}")
    answer = json.loads(body)
    tap.ok(status == 200 and answer["state"] == "ok" and answer["build_id"] == build_id
           and answer["generation"] == 1 and answer["build"] == {"state": "ok", "reason": None},
           "the report of a binary has state, generation and build", body.decode())
    ids = {(name["id_kind"], name["build_id"]) for name in answer["ids"]}
    tap.ok(ids == {("gnu", build_id), ("htlhash", service.htlhash(path))},
           "it lists every name of the binary", body.decode())
    item = answer["objects"][0]
    tap.ok(len(answer["objects"]) == 1 and item["size"] == len(data) and item["verified"] is True
           and item["digest"] == hashlib.sha256(data).hexdigest()
           and {"dwarf", "symtab"} <= set(item["contents"]),
           "it describes the objects by size, digest and contents", body.decode())
    quality = answer["quality"]
    tap.ok(quality["has_dwarf"] and quality["has_symtab"] and not quality["has_pclntab"]
           and quality["functions"] >= 2 and quality["inlined"] >= 2 and quality["line_rows"] > 5
           and 0 < quality["covered_share"] <= 1 and quality["index_size"] > 100,
           "it measures the quality of the index", json.dumps(quality))
    module = ask_module(server, build_id=service.htlhash(path), id_kind="htlhash",
                        addresses=[hex(mangled_address(path, "outer"))])
    tap.ok(module["status"] == "ok" and module["frames"][0],
           "the same binary answers by its htlhash", json.dumps(module))


def go_id(tap, server, directory):
    path = service.compile_sample(directory, "gosample", salt=7, source=GO_NOTE)
    server.upload(path, build_id=GO_ID, build_id_type=3)
    tap.ok(built(server, GO_ID, id_kind="go") == "ok", "a binary is found by its Go build ID")
    escaped = GO_ID.replace("/", "%2F")
    status, _, body = server.http("GET", f"/v1/debuginfo/{escaped}?id_kind=go")
    answer = json.loads(body)
    tap.ok(status == 200 and answer["build_id"] == GO_ID and answer["state"] == "ok",
           "a Go build ID is one path segment with %2F inside", body.decode())
    status, _, _ = server.http("GET", f"/v1/debuginfo/{GO_ID}?id_kind=go")
    tap.ok(status == 404, "and no path of several segments")


def many(tap, server, path):
    """More than fits into one piece of an answer, in every order."""
    build_id = service.gnu_build_id(path)
    leaf = leaf_address(path)
    addresses = [hex(leaf if i % 3 == 0 else i) for i in range(50000)]
    module = ask_module(server, build_id=build_id, addresses=addresses)
    single = ask_module(server, build_id=build_id, addresses=[hex(leaf)])["frames"][0]
    good = len(module["frames"]) == len(module["reasons"]) == 50000
    good = good and all(module["frames"][i] == single for i in range(0, 50000, 3))
    tap.ok(good, "50000 addresses are answered in their order")


def counted(tap, server, before):
    after = metrics(server)

    def grown(name):
        return after.get(name, 0) - before.get(name, 0)

    tap.ok(grown("symbolizer_lookup_addresses_total") > 50000 and
           grown('symbolizer_lookup_misses_total{reason="no_range"}') > 30000,
           "lookups and misses are counted", str(after))
    tap.ok(grown('symbolizer_uploads_total{outcome="finished"}') == 2 and
           grown('symbolizer_builds_total{outcome="ok"}') == 2 and
           grown("symbolizer_upload_bytes_total") > 10000,
           "uploads and builds are counted", str(after))
    tap.ok(after['symbolizer_http_requests_total{path="/v1/symbolize",code="413"}'] == 2 and
           after['symbolizer_http_requests_total{path="other",code="404"}'] >= 1,
           "requests are counted by path pattern and code", str(after))


def pending(tap, directory, path):
    """Builds wait at a gate, which the test opens."""
    gate = service.Gate(directory, "gate")
    build_id = service.gnu_build_id(path)
    with service.Service(["--worker", gate.worker]) as server:
        server.upload(path)
        module = ask_module(server, build_id=build_id, addresses=["0x1"])
        tap.ok((module["status"], module["frames"], module["reasons"]) ==
               ("pending", [[]], [None]) and module["detail"],
               "until the index is built a module is pending", json.dumps(module))
        status, _, body = server.http("GET", f"/v1/debuginfo/{build_id}")
        answer = json.loads(body)
        tap.ok(answer["state"] == "pending" and answer["quality"] is None,
               "and its report says so", body.decode())
        module = ask_module(server, {"wait_ms": 1}, build_id=build_id, addresses=["0x1"])
        tap.ok(module["status"] == "pending", "a short wait ends with pending", json.dumps(module))
        answers = []
        waiting = [threading.Thread(target=lambda: answers.append(built(server, build_id)))
                   for _ in range(8)]
        for thread in waiting:
            thread.start()
        status, _, _ = server.http("GET", "/readyz")
        tap.ok(status == 200, "requests that wait keep nobody else waiting")
        gate.open()
        for thread in waiting:
            thread.join()
        tap.ok(answers == ["ok"] * 8, "a long wait ends with the answer", str(answers))
        shutil.rmtree(os.path.join(server.data_directory, "index"))
        server.restart()
        module = ask_module(server, build_id=build_id, addresses=["0x1"])
        tap.ok(module["status"] == "pending" and module["generation"] == 1,
               "an index that is gone is made again", json.dumps(module))
        gate.open()
        tap.ok(built(server, build_id) == "ok", "and answers again")


def stopping(tap, directory, path):
    """A request that waits for a build is answered when the server stops."""
    gate = service.Gate(directory, "closed")
    build_id = service.gnu_build_id(path)
    with service.Service(["--worker", gate.worker]) as server:
        server.upload(path)
        answers = []
        thread = threading.Thread(target=lambda: answers.append(built(server, build_id)))
        thread.start()
        # The request shows as waiting once the server has looked into its catalog for it.
        wait_until(lambda: metrics(server)["symbolizer_builds_running"] == 1, "the build")
        wait_until(lambda: metrics(server)["symbolizer_index_misses_total"] >= 1, "the question")
        code = server.stop()
        thread.join()
        tap.ok(answers == ["pending"] and code == 0,
               "a stop answers who waits and ends with status 0", str((answers, code)))
        tap.ok(len(server.events_of("stopped")) == 1, "and is logged")


def killed(tap, directory, path):
    worker = service.stand_in_worker(directory, '[ "$1" = build ] && kill -9 $$')
    build_id = service.gnu_build_id(path)
    with service.Service(["--worker", worker]) as server:
        server.upload(path)
        module = ask_module(server, {"wait_ms": 60000}, build_id=build_id, addresses=["0x1"])
        tap.ok(module["status"] == "parser_killed" and "KILL" in (module["detail"] or ""),
               "a parser that dies is an answer with its reason", json.dumps(module))
        status, _, body = server.http("GET", f"/v1/debuginfo/{build_id}")
        tap.ok(json.loads(body)["build"]["state"] == "parser_killed", "which the report has too",
               body.decode())


def start_alone(*arguments):
    """Runs symbolizerd until it ends by itself."""
    program = os.path.join(service.BUILD, "symbolizerd")
    return subprocess.run([program, *arguments], capture_output=True, text=True,
                          timeout=service.PATIENCE_S)


def starting(tap, server):
    ended = start_alone("--data-dir", server.data_directory, "--http-listen", "127.0.0.1:0",
                        "--grpc-listen", "127.0.0.1:0")
    tap.ok(ended.returncode == 1 and "another server uses the data directory" in ended.stderr,
           "a second server on the same data directory is refused", ended.stderr)
    ended = start_alone("--data-dir", "/nonexistent", "--http-listen", "0.0.0.0:0")
    tap.ok(ended.returncode == 2 and "--allow-remote" in ended.stderr,
           "an address that others can reach is refused", ended.stderr)
    with service.Service(["--http-listen", "0.0.0.0:0", "--allow-remote"]) as open_server:
        tap.ok(open_server.http("GET", "/healthz")[0] == 200, "unless it is said twice")
    ended = start_alone("--help")
    tap.ok(ended.returncode == 0 and "--data-dir" in ended.stdout, "--help shows the flags")
    ended = start_alone("--version")
    tap.ok(ended.returncode == 0 and re.match(r"symbolizerd \d+\.\d+", ended.stdout),
           "--version shows the version", ended.stdout)


def main():
    tap = Tap()
    with tempfile.TemporaryDirectory(prefix="symbolizer-http-") as directory:
        path = compile_chain(directory)
        with service.Service() as server:
            before = metrics(server)
            operations(tap, server)
            refusals(tap, server)
            unknown(tap, server)
            keep_alive(tap, server)
            chain(tap, server, path)
            report(tap, server, path)
            go_id(tap, server, directory)
            many(tap, server, path)
            counted(tap, server, before)
            starting(tap, server)
            # Sanitizers end a server that had something to report with another status.
            code = server.stop()
            tap.ok(code == 0, "the server ends in order", [str(code), *server.output[-60:]])
        pending(tap, directory, path)
        stopping(tap, directory, path)
        killed(tap, directory, path)
    tap.finish()


main()
