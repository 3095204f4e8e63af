#!/usr/bin/python3
"""The settings of symbolizerd: file, flags, what it says of them, SIGHUP, and the lock."""
import http.client
import json
import os
import re
import signal
import subprocess
import sys
import tempfile

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import service
from service import Tap

PROGRAM = os.path.join(service.BUILD, "symbolizerd")


def run(*arguments):
    return subprocess.run([PROGRAM, *arguments], capture_output=True, text=True,
                          timeout=service.PATIENCE_S)


def write(directory, text):
    path = os.path.join(directory, "symbolizerd.yaml")
    with open(path, "w", encoding="utf-8") as file:
        file.write(text)
    return path


def printed(*arguments):
    """{key: (value, origin)} of --print-config."""
    values, section = {}, ""
    for line in run("--print-config", *arguments).stdout.splitlines():
        if re.fullmatch(r"\w+:", line):
            section = line.replace(":", ".")
            continue
        match = re.fullmatch(r"( *)(# )?(\w+): (.*?) +# (default|file|flag --\S+)", line)
        key = (section if match.group(1) else "") + match.group(3)
        values[key] = (match.group(4), match.group(5))
    return values


def check_files(tap, directory):
    unknown = run("--check-config", "--config", write(directory, "log:\n  levle: info\n"))
    tap.ok(unknown.returncode == 2 and
           "symbolizerd.yaml:2:3: unknown key \"log.levle\"; is log.level meant?" in unknown.stderr,
           "an unknown key is refused with its line and the nearest key", unknown.stderr)
    good = write(directory, "log: {level: warn}\nworkers: {count: 3}\n")
    checked = run("--check-config", "--config", good)
    tap.ok((checked.returncode, checked.stdout, checked.stderr) == (0, "", ""),
           "a good file is checked in silence", checked.stderr)
    flag = run("--check-config", "--config", good, "--workers=0")
    tap.ok(flag.returncode == 2 and "--workers" in flag.stderr,
           "a bad flag is refused by --check-config", flag.stderr)
    missing = run("--check-config", "--config", os.path.join(directory, "none.yaml"))
    tap.ok(missing.returncode == 2 and "No such file" in missing.stderr,
           "a file that is not there is refused", missing.stderr)
    unmade = os.path.join(directory, "unmade")
    tap.ok(run("--check-config", "--data-dir", unmade).returncode == 0 and
           not os.path.exists(unmade), "--check-config makes nothing")


def check_precedence(tap, directory):
    path = write(directory, "log: {level: warn}\nuploads: {max_size: 3MiB}\n")
    values = printed("--config", path, "--log-level=error")
    tap.ok(values["log.level"] == ("error", "flag --log-level"), "a flag stands over the file",
           str(values))
    tap.ok(values["uploads.max_size"] == ("3MiB", "file"), "the file stands over a default",
           str(values))
    tap.ok(values["workers.deadline"] == ("10m", "default"), "the rest are defaults", str(values))


def check_round_trip(tap, directory):
    first = run("--print-config", "--data-dir", "/srv/a \"b\" #c", "--http-listen=[::1]:7",
                "--max-upload-size=1025", "--workers=9", "--allow-remote", "--log-level=debug")
    second = run("--print-config", "--config", write(directory, first.stdout))
    bare = [re.sub(r" +# (default|file|flag.*)$", "", text.stdout, flags=re.M)
            for text in (first, second)]
    tap.ok(first.returncode == 0 and bare[0] == bare[1] and len(bare[0]) > 200,
           "what --print-config prints is read back as the same", second.stdout + second.stderr)


def reload(server, count):
    server.process.send_signal(signal.SIGHUP)
    return server.wait_for_event("reloaded", count=count)


def check_reload(tap, directory):
    path = write(directory, "log: {level: info}\n")
    with service.Service(["--config", path], log_level=None) as server:
        server.http("GET", "/healthz")
        tap.ok(not server.events_of("http_request"), "at level info good requests are not logged")
        write(directory, "log: {level: debug}\nuploads: {signed_url_expiry: 5m}\nindexes: {cache_size: 1MiB}\n")
        done = reload(server, 1)
        tap.ok((done["changed"], done["after_restart"]) == ("2", "1"),
               "SIGHUP says how much changed", str(done))
        changes = {event["setting"]: (event["value"], event["effect"])
                   for event in server.events_of("setting_changed")}
        tap.ok(changes == {"log.level": ("debug", "now"), "uploads.signed_url_expiry": ("5m", "after_restart"),
                           "indexes.cache_size": ("1MiB", "now")},
               "SIGHUP names what changed and what needs a restart", str(changes))
        server.http("GET", "/healthz")
        tap.ok(bool(server.wait_for_event("http_request")), "the new level is in effect")
        write(directory, "log:\n  level: [warn]\n")
        server.process.send_signal(signal.SIGHUP)
        failed = server.wait_for_event("reload_failed")
        before = len(server.events_of("http_request"))
        server.http("GET", "/healthz")
        tap.ok(":2:10: log.level has a list" in failed["error"] and
               bool(server.wait_for_event("http_request", count=before + 1)),
               "a broken file is told and changes nothing", str(failed))
        write(directory, "log: {level: debug}\nuploads: {signed_url_expiry: 5m}\nindexes: {cache_size: 1MiB}\n")
        again = reload(server, 2)
        tap.ok((again["changed"], again["after_restart"]) == ("0", "1"),
               "what needs a restart is named until there is one", str(again))
        tap.ok(server.stop() == 0, "SIGTERM still ends the server")


def check_lock(tap):
    with service.Service() as server:
        other = run("--data-dir", server.data_directory, "--http-listen=127.0.0.1:0",
                    "--grpc-listen=127.0.0.1:0")
        tap.ok(other.returncode == 1 and "another server uses the data directory" in other.stderr,
               "a second server on the same data directory does not start", other.stderr)
        server.kill()
        server.start()
        tap.ok(server.http("GET", "/healthz")[0] == 200, "the lock dies with its server")


def check_documents(tap):
    path = os.path.join(service.ROOT, "docs/OPERATIONS.md")
    with open(path, encoding="utf-8") as file:
        document = file.read()
    made = subprocess.run([os.path.join(service.ROOT, "scripts/settings-reference"), PROGRAM],
                          capture_output=True, text=True)
    count = run("--print-config").stdout.count("# default")
    tap.ok(made.returncode == 0 and made.stdout.count("\n") == count + 2 and
           made.stdout in document, "docs/OPERATIONS.md has the settings of the program",
           made.stdout + made.stderr)
    with service.Service() as server:
        text = server.http("GET", "/metrics")[2].decode()
    families = re.findall(r"^# TYPE symbolizer_(\w+) ", text, re.M)
    unknown = [name for name in families if f"`{name}" not in document]
    tap.ok(len(families) > 25 and not unknown, "docs/OPERATIONS.md explains each metric", unknown)


def initiate(server, size):
    """The status of InitiateUpload for a file of this size."""
    import grpc
    try:
        server.debuginfo().InitiateUpload(server.messages.InitiateUploadRequest(
            build_id="c0ffee", build_id_type=1, hash="h", size=size, force=True))
        return "OK"
    except grpc.RpcError as error:
        return error.code().name


def check_workers(tap, directory):
    """A worker that may not run, then one that may, then too short a time for it."""
    worker = os.path.join(service.BUILD, "symbolizer-worker")
    path = write(directory, "workers: {count: 1}\n")
    with service.Service(["--config", path]) as server:
        write(directory, f"workers: {{program: {worker}-none}}\n")
        server.process.send_signal(signal.SIGHUP)
        failed = server.wait_for_event("reload_failed")
        tap.ok("cannot run the worker" in failed["error"], "a worker that is not there is refused",
               str(failed))
        slow = service.stand_in_worker(directory, '[ "$1" = build ] && exec sleep 1000')
        write(directory, f"workers: {{program: {slow}, count: 3, deadline: 1h}}\n")
        done = reload(server, 1)
        for salt in range(4):
            server.upload(service.compile_sample(directory, f"slow{salt}", salt + 20))

        def running():
            return gauge(server, "builds_running")
        service.wait_until(lambda: running() == 3, "three builds at once")
        tap.ok(done["after_restart"] == "0", "SIGHUP changes program and number of workers",
               str(done))
        write(directory, f"workers: {{program: {worker}, count: 1, deadline: 1h}}\n")
        reload(server, 2)
        for pid in children(server.process.pid):
            os.kill(pid, signal.SIGKILL)
        service.wait_until(lambda: running() == 0 and gauge(server, "builds_queued") == 0,
                           "the builds")
        server.upload(service.compile_sample(directory, "quick", 30))
        service.wait_until(lambda: gauge(server, 'builds_total{outcome="ok"}') >= 2, "more builds")
        tap.ok(True, "and back")
        tap.ok(server.stop() == 0, "the server ends in order")


def gauge(server, name):
    _, _, body = server.http("GET", "/metrics")
    return int([line for line in body.decode().splitlines()
                if line.startswith(f"symbolizer_{name} ")][0].split()[1])


def children(pid):
    with open(f"/proc/{pid}/task/{pid}/children", encoding="utf-8") as file:
        found = [int(word) for word in file.read().split()]
    for task in os.listdir(f"/proc/{pid}/task"):
        with open(f"/proc/{pid}/task/{task}/children", encoding="utf-8") as file:
            found += [int(word) for word in file.read().split()]
    return set(found)


def check_limits(tap, directory):
    path = write(directory, "uploads: {max_size: 1MiB}\nhttp: {access_log: false}\n")
    with service.Service(["--config", path], log_level="info") as server:
        before = initiate(server, 2 << 20)
        write(directory, "uploads: {max_size: 2MiB}\nhttp: {access_log: true}\n")
        reload(server, 1)
        after = initiate(server, 2 << 20)
        tap.ok(before != "OK" and after == "OK", "SIGHUP changes the bound of an upload's size",
               f"{before}, then {after}")
        server.http("GET", "/healthz")
        tap.ok(bool(server.wait_for_event("http_request", path="/healthz")),
               "SIGHUP turns the access log on")
        write(directory, "uploads: {max_size: 2MiB, max_streams: 1}\n"
              "blobs: {compress_after: 1s}\n")
        done = reload(server, 2)
        tap.ok(done["after_restart"] == "0", "none of these needs a restart", str(done))
        check_streams(tap, server)
        write(directory, "uploads: {max_size: 2MiB, stale_after: 1s}\n")
        reload(server, 3)
        check_stale(tap, server)


def check_streams(tap, server):
    """One place for an upload, taken by a PUT that does not end."""
    data = b"x" * 1000
    open_put = http.client.HTTPConnection("127.0.0.1", server.ports["http"])
    open_put.putrequest("PUT", "/v1/debuginfo/ab0c?type=sources")
    open_put.putheader("Content-Length", "1000")
    open_put.endheaders(data[:1])

    def refused():
        return server.http("PUT", "/v1/debuginfo/ab0d?type=sources", data)[0] == 429
    service.wait_until(lambda: gauge(server, "upload_streams_open") == 1, "the PUT to have a place")
    tap.ok(refused(), "SIGHUP changes how many uploads there may be")
    open_put.close()
    service.wait_until(lambda: not refused(), "the place to be free again")


def check_stale(tap, server):
    initiate(server, 1000)
    service.wait_until(lambda: server.debuginfo().ShouldInitiateUpload(
        server.messages.ShouldInitiateUploadRequest(build_id="c0ffee", build_id_type=1)
        ).should_initiate_upload, "the upload to be stale")
    tap.ok(True, "SIGHUP changes when an upload is stale")


def check_logs(tap, directory):
    with service.Service(["--http-access-log"], log_level="info") as server:
        path = service.compile_sample(directory)
        server.upload(path)
        address = service.symbol_address(path, "sample_leaf")
        question = {"modules": [{"build_id": service.gnu_build_id(path),
                                 "addresses": [hex(address)]}], "options": {"wait_ms": 30000}}
        answer = server.http("POST", "/v1/symbolize", json.dumps(question),
                             {"Content-Type": "application/json"})[2]
        logged = server.wait_for_event("http_request", path="/v1/symbolize")
        tap.ok(logged["level"] == "info" and logged["status"] == "200",
               "http.access_log logs each request", str(logged))
        server.stop()
    shape = re.compile(r'ts=\S+Z level=\w+ event=\w+( \w+=("([^"\\]|\\.)*"|[^\s"]+))*')
    odd = [line for line in server.output if not shape.fullmatch(line)]
    tap.ok(len(server.output) > 6 and not odd, "each line of the log is one logfmt event", odd)
    named = [line for line in server.output if "sample_leaf" in line or "<stdin>" in line]
    tap.ok(b"sample_leaf" in answer and not named,
           "the log has no name that the answer has", named)


def main():
    tap = Tap()
    with tempfile.TemporaryDirectory(prefix="symbolizer-test-") as directory:
        check_files(tap, directory)
        check_precedence(tap, directory)
        check_round_trip(tap, directory)
        check_reload(tap, directory)
        check_limits(tap, directory)
        check_workers(tap, directory)
        check_logs(tap, directory)
    check_lock(tap)
    check_documents(tap)
    tap.finish()


main()
