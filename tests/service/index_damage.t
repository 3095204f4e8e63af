#!/usr/bin/python3
"""Index files that are cut short while the server has them mapped cost an answer at most: it says
that the index is made again, and soon it is."""
import glob
import http.client
import json
import os
import re
import subprocess
import sys
import threading

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import service
from service import Tap, wait_until

FUNCTIONS = 1000  # an index of many pages
REPEATS = 10
CUTS = 16


def source():
    lines = [f"__attribute__((noinline)) int leaf_{i}(int x) {{ return x * {i + 3} + SALT; }}"
             for i in range(FUNCTIONS)]
    calls = " + ".join(f"leaf_{i}(c)" for i in range(FUNCTIONS))
    return "\n".join([*lines, f"int main(int c, char **v) {{ (void)v; return {calls}; }}", ""])


class Question:
    def __init__(self, server, path):
        self.server, self.build_id = server, service.gnu_build_id(path)
        listed = subprocess.run(["nm", path], check=True, capture_output=True, text=True).stdout
        leaves = re.findall(r"^([0-9a-f]+) \w (leaf_\d+)$", listed, re.M)
        assert len(leaves) == FUNCTIONS
        # Many, so that an answer takes long enough to be met by a cut.
        self.addresses = [int(address, 16) for address, _ in leaves] * REPEATS
        self.names = [name for _, name in leaves] * REPEATS

    def ask(self, wait_ms):
        """(status, module), or (0, None) when the answer was cut off."""
        body = json.dumps({"modules": [{"build_id": self.build_id,
                                        "addresses": [hex(at) for at in self.addresses]}],
                           "options": {"wait_ms": wait_ms}})
        try:
            status, _, answer = self.server.http("POST", "/v1/symbolize", body,
                                                 {"Content-Type": "application/json"})
        except (ConnectionError, http.client.HTTPException):
            return 0, None
        return status, json.loads(answer)["modules"][0] if status == 200 else None

    def problem(self, status, module):
        """What is wrong with an answer: a right one, "pending" and 503 are not."""
        if status in (0, 503):
            return None
        if status != 200 or module["status"] not in ("ok", "pending"):
            return f"{status} {module}"
        if module["status"] == "pending":
            return None
        names = [frames[0]["function"] if frames else None for frames in module["frames"]]
        wrong = [pair for pair in zip(names, self.names) if pair[0] != pair[1]]
        return f"wrong names: {wrong[:5]}" if wrong else None

    def answered(self):
        status, module = self.ask(60000)
        return status == 200 and module["status"] == "ok" and not self.problem(status, module)


def index_file(server):
    found = glob.glob(os.path.join(server.data_directory, "index/[0-9a-f][0-9a-f]/*"))
    return found[0] if found else None


def damaged_count(server):
    _, _, body = server.http("GET", "/metrics")
    return int([line for line in body.decode().splitlines()
                if line.startswith("symbolizer_index_damaged_total ")][0].split()[1])


def cut_between_questions(tap, server, question):
    for left in (0, 100, 5000):
        before = damaged_count(server)
        os.truncate(index_file(server), left)
        status, module = question.ask(0)
        tap.ok(status == 200 and module["status"] == "pending" and
               not any(module["frames"]), f"cut to {left} bytes: the index is made again",
               str((status, module)))
        tap.ok(wait_until(question.answered, "the index") and damaged_count(server) == before + 1,
               f"cut to {left} bytes: then it answers as before")
    os.truncate(index_file(server), 0)
    status, _, body = server.http("GET", f"/v1/debuginfo/{question.build_id}")
    tap.ok(status == 200 and json.loads(body)["quality"] is None,
           "the report on a file does not read what is gone", body.decode())
    wait_until(question.answered, "the index")


def cut_meanwhile(tap, server, question):
    """The cut comes at any instant of many questions."""
    problems, over = [], threading.Event()

    def keep_asking():
        while not over.is_set():
            problem = question.problem(*question.ask(60000))
            if problem:
                problems.append(problem)
    threads = [threading.Thread(target=keep_asking) for _ in range(4)]
    for thread in threads:
        thread.start()
    try:
        for i in range(CUTS):
            path = wait_until(lambda: index_file(server), "the index")
            try:
                os.truncate(path, (i % 8) << 12)
            except FileNotFoundError:  # it is being replaced
                pass
            wait_until(question.answered, "the index")
    finally:
        over.set()
    for thread in threads:
        thread.join()
    tap.ok(not problems, "cut at any instant, no answer is wrong", problems[:5])
    tap.ok(server.process.poll() is None, "and the server lives", server.output[-20:])


def main():
    tap = Tap()
    with service.Service() as server:
        path = service.compile_sample(server.directory, source=source())
        server.upload(path)
        question = Question(server, path)
        tap.ok(wait_until(question.answered, "the index"), "the sample is answered")
        cut_between_questions(tap, server, question)
        cut_meanwhile(tap, server, question)
        code = server.stop()
        tap.ok(code == 0, "the server ends in order", [str(code), *server.output[-20:]])
    tap.finish()


main()
