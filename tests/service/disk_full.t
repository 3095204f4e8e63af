#!/usr/bin/python3
"""A full disk: uploads are put off and leave nothing behind, questions are answered, and all goes on
when there is room. The data directory is a small tmpfs in a mount namespace of the test's own."""
import json
import os
import subprocess
import sys
import tempfile

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import service
from service import Tap, skip_all, wait_until
from uploads import Agent, check, check_equal, check_refused, run_tests

from grpc import StatusCode

DISK_SIZE = 24 << 20
# More than the catalog needs for what the tests do, and less than any file that is too large.
CATALOG_ROOM = 1 << 20
FUNCTIONS = 60000


def enter_namespace():
    """Runs this program once more, where it may mount; skips where it may not."""
    if "IN_NAMESPACE" in os.environ:
        return
    tried = subprocess.run(["unshare", "-m", "sh", "-c", "mount -t tmpfs -o size=1m none /mnt"],
                           capture_output=True, text=True)
    if tried.returncode != 0:
        skip_all("no tmpfs can be mounted here: " + tried.stderr.strip().replace("\n", " "))
    os.environ["IN_NAMESPACE"] = "1"
    os.execvp("unshare", ["unshare", "-m", sys.executable, *sys.argv])


class SmallDisk(service.Service):
    """A server whose data directory is the mount."""

    def start(self):
        os.makedirs(self.data_directory, exist_ok=True)
        if not os.path.ismount(self.data_directory):
            subprocess.run(["mount", "-t", "tmpfs", "-o", f"size={DISK_SIZE},mode=0700", "none",
                            self.data_directory], check=True)
        super().start()

    def path(self, *names):
        return os.path.join(self.data_directory, *names)

    def free(self):
        state = os.statvfs(self.data_directory)
        return state.f_bavail * state.f_frsize

    def fill(self, left):
        """Takes all space but so many bytes."""
        self.make_room()
        with open(self.path("filler"), "wb") as file:
            os.posix_fallocate(file.fileno(), 0, self.free() - left)

    def make_room(self):
        if os.path.exists(self.path("filler")):
            os.unlink(self.path("filler"))


def many_functions():
    """A program whose index is larger than CATALOG_ROOM."""
    path = os.path.join(directory, "many")
    lines = ['.section .note.GNU-stack, "", @progbits', ".text", ".globl main", "main: ret"]
    for i in range(FUNCTIONS):
        lines.append(f".globl f{i}_of_a_program_with_many_functions\n"
                     f".type f{i}_of_a_program_with_many_functions, @function\n"
                     f"f{i}_of_a_program_with_many_functions: nop\n"
                     f".size f{i}_of_a_program_with_many_functions, 1")
    subprocess.run(["gcc", "-Wl,--build-id=sha1", "-x", "assembler", "-o", path, "-"],
                   input="\n".join([*lines, ""]).encode(), check=True)
    return path


def large_file(salt, size):
    """A program with so many bytes behind it."""
    path = service.compile_sample(directory, f"large{salt}", salt)
    with open(path, "ab") as file:
        file.write(bytes([salt]) * size)
    return path


def module_of(server, path, symbol="sample_leaf", wait_ms=60000):
    question = {"modules": [{"build_id": service.gnu_build_id(path),
                             "addresses": [hex(service.symbol_address(path, symbol))]}],
                "options": {"wait_ms": wait_ms}}
    status, _, body = server.http("POST", "/v1/symbolize", json.dumps(question),
                                  {"Content-Type": "application/json"})
    check(status == 200, status, body)
    return json.loads(body)["modules"][0]


def check_answers(server, path, symbol="sample_leaf"):
    module = module_of(server, path, symbol)
    check(module["status"] == "ok", module)
    check_equal(module["frames"][0][0]["function"], symbol)


def put(server, path):
    return server.http("PUT", "/v1/debuginfo", service.read_bytes(path))


def check_put_is_put_off(server, path):
    status, headers, body = put(server, path)
    check_equal((status, json.loads(body)["error"]["code"]), (507, "no_space"))
    check("retry-after" in headers, headers)


def bytes_that_do_not_fit_are_put_off_and_leave_nothing(server):
    agent = Agent(server, large_file(2, 4 << 20))
    server.fill(CATALOG_ROOM)
    agent.initiate()
    check_refused(StatusCode.RESOURCE_EXHAUSTED, agent.send)
    check_equal(os.listdir(server.path("tmp")), [])
    check_put_is_put_off(server, large_file(3, 4 << 20))
    check_equal(os.listdir(server.path("tmp")), [])
    check_answers(server, sample)


def with_room_again_the_same_upload_goes_on(server):
    path = large_file(4, 4 << 20)
    agent = Agent(server, path)
    server.fill(CATALOG_ROOM)
    agent.initiate()
    check_refused(StatusCode.RESOURCE_EXHAUSTED, agent.send)
    server.make_room()
    agent.send()
    agent.finish()
    check_answers(server, path)


def a_signed_url_may_be_used_again(server):
    path = large_file(5, 4 << 20)
    agent = Agent(server, path)
    server.fill(CATALOG_ROOM)
    url = agent.initiate().signed_url.replace("http://upload.test", "")
    status, _, body = server.http("PUT", url, agent.data)
    check_equal((status, json.loads(body)["error"]["code"]), (507, "no_space"))
    server.make_room()
    check_equal(server.http("PUT", url, agent.data)[0], 200)
    agent.finish()
    check_answers(server, path)


def a_catalog_without_room_puts_uploads_off(server):
    """Each takes rows, until the write-ahead log has no room left."""
    server.fill(0)
    refused = False
    for salt in range(10000):
        agent = Agent(server, build_id=f"{salt:040x}f00d", data=b"x")
        try:
            agent.initiate()
        except Exception as error:  # grpc.RpcError
            check_equal(error.code(), StatusCode.RESOURCE_EXHAUSTED)
            refused = True
            break
    check(refused, "the catalog took everything")
    check_answers(server, sample)
    check_put_is_put_off(server, service.compile_sample(directory, "sample6", 6))
    server.make_room()
    agent.initiate()
    status, _, body = put(server, service.compile_sample(directory, "sample6", 6))
    check(status == 201, status, body)


def an_index_without_room_is_pending_with_the_reason_and_then_made(server):
    path = many_functions()
    server.fill(CATALOG_ROOM + os.path.getsize(path))
    Agent(server, path).upload()

    def has_reason():
        module = module_of(server, path, "main", wait_ms=0)
        check(module["status"] == "pending", module)
        return "No space left on device" in module["detail"]
    wait_until(has_reason, "the reason")
    check_equal(sorted(os.listdir(server.path("index", "tmp"))), [])
    server.make_room()
    wait_until(lambda: module_of(server, path, "main")["status"] == "ok", "the index")
    check_answers(server, path, "f77_of_a_program_with_many_functions")


def an_index_that_is_lost_meanwhile_costs_no_other_answer(server):
    wait_until(lambda: module_of(server, sample)["status"] == "ok", "the index")
    other = service.compile_sample(directory, "sample7", 7)
    Agent(server, other).upload()
    check_answers(server, other)
    for place, _, names in os.walk(server.path("index")):
        for name in names:
            os.truncate(os.path.join(place, name), 0)
    server.fill(0)
    check(module_of(server, other, wait_ms=0)["status"] == "pending", "it is not pending")
    server.make_room()
    wait_until(lambda: module_of(server, other)["status"] == "ok", "the index")
    check_answers(server, other)


def after_a_restart_all_is_there(server):
    server.restart()
    check_answers(server, sample)
    check_answers(server, os.path.join(directory, "large4"))


def main():
    global directory, sample
    enter_namespace()
    tap = Tap()
    with tempfile.TemporaryDirectory() as directory:
        with SmallDisk() as server:
            sample = service.compile_sample(directory, "sample", 1)
            server.upload(sample)
            run_tests(tap, [bytes_that_do_not_fit_are_put_off_and_leave_nothing,
                            with_room_again_the_same_upload_goes_on,
                            a_catalog_without_room_puts_uploads_off,
                            an_index_without_room_is_pending_with_the_reason_and_then_made,
                            an_index_that_is_lost_meanwhile_costs_no_other_answer,
                            after_a_restart_all_is_there], server)
            code = server.stop()
            tap.ok(code == 0, "the server ends in order", [str(code), *server.output[-20:]])
            subprocess.run(["umount", server.data_directory], check=True)
        with SmallDisk(["--upload-strategy", "signed_url", "--upload-public-url",
                        "http://upload.test"]) as server:
            run_tests(tap, [a_signed_url_may_be_used_again], server)
            server.stop()
            subprocess.run(["umount", server.data_directory], check=True)
    tap.finish()


main()
