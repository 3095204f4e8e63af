#!/usr/bin/python3
"""Uploads by signed URL: what the agents' own client does with one, and what a URL is good for."""
import base64
import http.client
import json
import os
import socket
import stat
import sys
import threading
from urllib.parse import urlsplit

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import service
from service import Tap, wait_until
from uploads import (Agent, Samples, Tests, check, check_equal, check_refused, run_tests,
                     EXISTS, GO, IN_PROGRESS, SOURCES)

from grpc import StatusCode

SIGNED = ["--upload-strategy", "signed_url", "--upload-public-url", "https://symbols.test:7/base"]
GO_ID = "aB3xk/Q9_z-Z1/p0rw/8"

test = Tests()
sample = Samples()


class Sender(Agent):
    """An agent that PUTs its bytes to where it is told, on our port."""

    def __init__(self, server, *arguments, **fields):
        super().__init__(server, *arguments, **fields)
        self.server = server

    def target(self):
        url = urlsplit(self.instructions.signed_url)
        check_equal(url.path[:16], "/base/v1/upload/")  # what a proxy takes away is the base
        return f"{url.path[5:]}?{url.query}"

    def put(self, data=None, chunked=False, target=None, method="PUT", headers=None):
        """(status, the error's code or None)."""
        data = self.data if data is None else data
        body = (data[at:at + 5000] for at in range(0, len(data), 5000)) if chunked else data
        connection = http.client.HTTPConnection("127.0.0.1", self.server.ports["http"],
                                                timeout=service.PATIENCE_S)
        try:
            connection.request(method, target or self.target(), body, headers or {},
                               encode_chunked=chunked)
            response = connection.getresponse()
            answer = response.read()
        finally:
            connection.close()
        if response.status == 200:
            return 200, None
        return response.status, json.loads(answer)["error"]["code"]

    def send(self, data=None):
        check_equal(self.put(data), (200, None))


def stored(server, folder="tmp"):
    return os.listdir(os.path.join(server.data_directory, folder))


# --- what it is for --------------------------------------------------------------------------------

@test
def an_agent_is_told_a_url_and_sends_its_bytes_there(server):
    agent = Sender(server, sample(1))
    agent.ask()
    told = agent.initiate()
    check_equal(told.upload_strategy, server.messages.UploadInstructions.UPLOAD_STRATEGY_SIGNED_URL)
    check(told.signed_url.startswith(f"https://symbols.test:7/base/v1/upload/{told.upload_id}?token="),
          told.signed_url)
    check_equal(agent.put(), (200, None))
    server.wait_for_event("signed_upload", code="ok", build_id=agent.build_id,
                          upload_id=told.upload_id, bytes=len(agent.data))
    agent.finish()
    check_equal(agent.ask().reason, EXISTS)


@test
def a_client_that_knows_no_length_sends_chunks(server):
    agent = Sender(server, sample(2))
    agent.initiate()
    check_equal(agent.put(chunked=True), (200, None))
    agent.finish()
    check_equal(agent.ask().reason, EXISTS)


@test
def a_client_may_wait_for_a_hundred_continue(server):
    agent = Sender(server, sample(3))
    agent.initiate()
    with socket.create_connection(("127.0.0.1", server.ports["http"]), service.PATIENCE_S) as line:
        line.sendall(f"PUT {agent.target()} HTTP/1.1\r\nHost: x\r\nExpect: 100-continue\r\n"
                     f"Content-Length: {len(agent.data)}\r\n\r\n".encode())
        check(line.recv(4096).startswith(b"HTTP/1.1 100"), "no 100 Continue")
        line.sendall(agent.data)
        check(line.recv(4096).startswith(b"HTTP/1.1 200"), "no 200")
    agent.finish()


@test
def a_go_id_and_another_type_have_urls_of_their_own(server):
    agent = Sender(server, build_id=GO_ID, build_id_type=GO, kind=SOURCES, data=b"tar.zst" * 9999)
    agent.upload()
    check_equal(agent.ask().reason, EXISTS)


@test
def the_upload_method_is_not_implemented(server):
    agent = Sender(server, sample(4))
    agent.initiate()
    check_refused(StatusCode.UNIMPLEMENTED, Agent.send, agent, says="signed URL")
    agent.send()
    agent.finish()


@test
def after_a_restart_the_url_of_an_unfinished_upload_is_worth_nothing(server):
    agent = Sender(server, sample(5))
    agent.initiate()
    server.restart()
    check_equal(agent.put(), (409, "failed_precondition"))


# --- once ------------------------------------------------------------------------------------------

@test
def a_url_is_used_once(server):
    agent = Sender(server, sample(6))
    agent.initiate()
    check_equal(agent.put(), (200, None))
    check_equal(agent.put(), (409, "failed_precondition"))
    check_equal(agent.put(bytes(len(agent.data))), (409, "failed_precondition"))
    agent.finish()
    check_equal(agent.put(), (409, "failed_precondition"))
    check_equal(agent.ask().reason, EXISTS)


@test
def of_many_who_use_a_url_at_once_one_is_served(server):
    agent = Sender(server, sample(7))
    agent.initiate()
    barrier = threading.Barrier(8)
    answers = []

    def run():
        barrier.wait()
        answers.append(agent.put()[0])

    threads = [threading.Thread(target=run) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    check_equal(sorted(answers), [200] + [409] * 7)
    agent.finish()


@test
def what_broke_off_may_be_sent_again(server):
    agent = Sender(server, sample(8))
    agent.initiate()
    line = socket.create_connection(("127.0.0.1", server.ports["http"]), service.PATIENCE_S)
    line.sendall(f"PUT {agent.target()} HTTP/1.1\r\nHost: x\r\nContent-Length: {len(agent.data)}"
                 "\r\n\r\n".encode() + agent.data[:5000])
    wait_until(lambda: stored(server), "the first bytes")
    line.close()
    server.wait_for_event("signed_upload", code="cancelled",
                          upload_id=agent.instructions.upload_id)
    wait_until(lambda: agent.put() == (200, None), "the broken upload to be given up")
    agent.finish()


@test
def the_url_of_an_upload_that_gave_way_is_worth_nothing(server):
    first, second = Sender(server, sample(9)), Sender(server, sample(9))
    first.initiate()
    second.initiate(force=True)
    check_equal(first.put(), (409, "failed_precondition"))
    second.send()
    second.finish()


# --- size ------------------------------------------------------------------------------------------

@test
def a_body_of_another_size_is_refused_and_leaves_nothing(server):
    agent = Sender(server, sample(10))
    agent.initiate()
    for chunked in (False, True):
        check_equal(agent.put(agent.data[:-1], chunked=chunked), (400, "invalid_argument"))
        check_equal(agent.put(agent.data + b"x", chunked=chunked), (413, "limit_exceeded"))
        check_equal(agent.put(b"", chunked=chunked), (400, "invalid_argument"))
    wait_until(lambda: not stored(server), "what was refused to be removed")
    check_refused(StatusCode.FAILED_PRECONDITION, agent.finish, says="no bytes were received")
    check_equal(agent.put(), (200, None))
    agent.finish()


@test
def a_body_far_over_its_size_is_refused_and_leaves_nothing(server):
    agent = Sender(server, sample(11))
    agent.initiate()
    check_equal(agent.put(agent.data + bytes(8 << 20), chunked=True), (413, "limit_exceeded"))
    wait_until(lambda: not stored(server), "what was refused to be removed")


# --- forgery ---------------------------------------------------------------------------------------

@test
def a_url_that_was_changed_anywhere_is_refused(server):
    agent = Sender(server, sample(12))
    agent.initiate()
    target = agent.target()
    path, token = target.split("?token=")
    raw = bytearray(base64.urlsafe_b64decode(token + "=" * (-len(token) % 4)))
    for position in (0, 1, 8, 9, 40, 41, len(raw) - 1):  # version, end, proof, tenant
        changed = bytearray(raw)
        changed[position] ^= 1
        text = base64.urlsafe_b64encode(changed).decode().rstrip("=")
        check_equal(agent.put(target=f"{path}?token={text}"), (403, "permission_denied"))
    longer = base64.urlsafe_b64encode(raw + b"x").decode().rstrip("=")
    for text in (longer, "", "x", token[:-4], token + "AAAA", "A" * 255):
        check_equal(agent.put(target=f"{path}?token={text}"), (403, "permission_denied"))
    check_equal(agent.put(target=path), (403, "permission_denied"))
    check_equal(agent.put(target=f"{path}?token={'A' * 256}"), (400, "invalid_argument"))
    check_equal(agent.put(), (200, None))


@test
def the_token_of_one_upload_opens_no_other(server):
    first = Sender(server, sample(13))
    second = Sender(server, sample(13), kind=SOURCES)
    first.initiate()
    second.initiate()
    token = first.target().split("?")[1]
    for upload_id in (second.instructions.upload_id, "11111111-2222-4333-8444-555555555555", "x",
                      first.instructions.upload_id.upper(), "%00", "..%2f.."):
        check_equal(first.put(target=f"/v1/upload/{upload_id}?{token}"), (403, "permission_denied"))
    first.send()
    second.send()


@test
def only_put_is_understood(server):
    agent = Sender(server, sample(14))
    agent.initiate()
    for method in ("POST", "GET", "DELETE"):
        check_equal(agent.put(method=method)[0], 405)


@test
def the_key_is_for_the_server_alone(server):
    status = os.stat(os.path.join(server.data_directory, "upload.key"))
    check_equal((status.st_size, stat.S_IMODE(status.st_mode)), (32, 0o600))
    check(not any(b"token=" in line.encode() for line in server.output), "a token is in the log")


# --- with other settings ---------------------------------------------------------------------------

def an_expired_url_is_refused(server):
    agent = Sender(server, sample(20))
    agent.initiate()
    # Until its end, a body of another size is what is wrong.
    wait_until(lambda: agent.put(b"x") == (403, "permission_denied"), "the URL to expire")
    check_equal(agent.put(), (403, "permission_denied"))
    check_equal(agent.ask().reason, IN_PROGRESS)


def a_server_without_a_free_place_says_to_come_again(server):
    first, second = Sender(server, sample(21)), Sender(server, sample(22))
    first.initiate()
    second.initiate()
    first.send()
    check_equal(second.put(), (429, "resource_exhausted"))
    first.finish()
    second.send()
    second.finish()


def a_server_that_signs_no_urls_has_none(server):
    agent = Sender(server, sample(23))
    told = agent.initiate()
    check_equal((told.signed_url, told.upload_strategy),
                ("", server.messages.UploadInstructions.UPLOAD_STRATEGY_GRPC))
    check_equal(agent.put(target=f"/v1/upload/{told.upload_id}?token=x"), (404, "not_found"))


def main():
    tap = Tap()
    with service.Service(SIGNED) as server:
        run_tests(tap, test, server)
        tap.ok(server.stop() == 0, "the server ends in order", server.output[-20:])
    with service.Service([*SIGNED, "--signed-url-expiry", "2s"]) as server:
        run_tests(tap, [an_expired_url_is_refused], server)
    with service.Service([*SIGNED, "--max-upload-streams", "1"]) as server:
        run_tests(tap, [a_server_without_a_free_place_says_to_come_again], server)
    with service.Service() as server:
        run_tests(tap, [a_server_that_signs_no_urls_has_none], server)
    tap.finish()


main()
