#!/usr/bin/python3
"""Parca's table of answers to uploads, row by row, with a real gRPC client; the rows in which we
differ (poor and failed objects) as ingest/upload_decision.h has them. What makes a server busy is
told in words and codes after which agents come back."""
import json
import os
import re
import sqlite3
import subprocess
import sys
import threading

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import service
from service import Tap, wait_until
from uploads import (
    Agent, Samples, Tests, check_equal, check_refused, run_tests, DEBUGINFO, EQUAL, EXECUTABLE,
    EXISTS, EXISTS_BUT_FORCED, FIRST_TIME, GNU, GO, HASH, IN_PROGRESS, IN_PROGRESS_BUT_FORCED, INVALID,
    NOT_EQUAL, PURGED, REFUSED_WITH, SOURCE_MAP, SOURCE_MAP_DEBUG_ID, SOURCES, STALE, UNKNOWN)

import grpc
from grpc import StatusCode

NO_ELF = b"webapi error: not found\n" * 100
SIZE_MAX = 16 << 20

test = Tests()
sample = Samples()


def poor(salt):
    """A program with dynamic symbols alone."""
    return sample(salt, flags=("-s", "-shared", "-fPIC", "-Wl,-soname,poor"))


def section(path, name):
    """(offset, size) in the file."""
    text = subprocess.run(["readelf", "-SW", path], check=True, capture_output=True,
                          text=True).stdout
    match = re.search(rf" {re.escape(name)} +PROGBITS +\w+ (\w+) (\w+) ", text)
    return int(match.group(1), 16), int(match.group(2), 16)


def check_answer(agent, should, reason, **fields):
    answer = agent.ask(**fields)
    check_equal((answer.should_initiate_upload, answer.reason), (should, reason))


def symbolize(server, path, build_id=None):
    """(status, name of the function) at sample_leaf, once no build is pending."""
    document = {"modules": [{"build_id": build_id or service.gnu_build_id(path),
                             "addresses": [hex(service.symbol_address(path, "sample_leaf"))]}],
                "options": {"wait_ms": 60000}}
    status, _, body = server.http("POST", "/v1/symbolize", json.dumps(document),
                                  {"Content-Type": "application/json"})
    check_equal(status, 200)
    module = json.loads(body)["modules"][0]
    return module["status"], "sample_leaf" in json.dumps(module)


# --- ShouldInitiateUpload and InitiateUpload, row by row --------------------------------------------

@test
def an_unknown_id_is_wanted_and_asking_writes_nothing(server):
    agent = Agent(server, sample(1))
    for fields in ({}, {}, {"hash": "h1"}, {"force": True}):
        check_answer(agent, True, FIRST_TIME, **fields)
    agent.initiate()


@test
def an_upload_in_progress_is_left_alone(server):
    agent = Agent(server, sample(2))
    agent.initiate()
    for fields in ({}, {"hash": "h1"}, {"hash": "h2"}):
        check_answer(agent, False, IN_PROGRESS, **fields)
    check_refused(StatusCode.FAILED_PRECONDITION, agent.initiate, says=REFUSED_WITH + IN_PROGRESS)


@test
def an_upload_in_progress_gives_way_to_a_forced_one(server):
    first, second = Agent(server, sample(3)), Agent(server, sample(3))
    first.initiate()
    check_answer(second, True, IN_PROGRESS_BUT_FORCED, force=True)
    second.initiate(force=True)
    check_refused(StatusCode.INVALID_ARGUMENT, first.send, says="upload ID does not match")
    check_refused(StatusCode.INVALID_ARGUMENT, first.finish, says="upload id mismatch")
    second.send()
    second.finish()


@test
def a_good_object_is_not_wanted_again(server):
    agent = Agent(server, sample(4))
    agent.upload()
    for fields in ({}, {"hash": "h1"}, {"hash": "h2"}):
        check_answer(agent, False, EXISTS, **fields)
    for fields in ({}, {"hash": "h2"}):
        check_refused(StatusCode.FAILED_PRECONDITION, agent.initiate, says=REFUSED_WITH + EXISTS,
                      **fields)


@test
def a_good_object_is_replaced_by_force(server):
    agent = Agent(server, sample(4))
    check_answer(agent, True, EXISTS_BUT_FORCED, force=True)
    agent.upload(force=True)
    check_answer(agent, False, EXISTS)


@test
def a_poor_object_is_wanted_again_once_an_hour(server):
    agent = Agent(server, poor(5))
    agent.upload(hash="poor")
    check_answer(agent, True, INVALID)
    check_answer(agent, False, EXISTS)


@test
def a_poor_object_is_not_replaced_by_its_equal(server):
    agent = Agent(server, poor(5))
    check_answer(agent, False, EQUAL, hash="poor")
    check_refused(StatusCode.ALREADY_EXISTS, agent.initiate, hash="poor", says=EQUAL)


@test
def a_poor_object_is_replaced_by_another(server):
    agent = Agent(server, poor(6))
    agent.upload(hash="poor")
    check_answer(agent, True, NOT_EQUAL, hash="better")
    agent.upload(hash="better")


@test
def a_poor_object_is_replaced_by_force(server):
    agent = Agent(server, poor(6))
    check_answer(agent, True, EXISTS_BUT_FORCED, force=True)
    check_answer(agent, True, EXISTS_BUT_FORCED, force=True, hash="poor")
    agent.upload(hash="poor", force=True)


@test
def a_failed_upload_is_wanted_again(server):
    agent = Agent(server, build_id="0102030405060708", data=NO_ELF)
    agent.initiate(hash="broken")
    agent.send()
    check_refused(StatusCode.INVALID_ARGUMENT, agent.finish, says="malformed")
    check_answer(agent, True, INVALID)
    check_answer(agent, True, NOT_EQUAL, hash="broken")
    check_answer(agent, True, NOT_EQUAL, hash="other")
    check_answer(agent, True, EXISTS_BUT_FORCED, force=True)


@test
def what_fails_for_the_fourth_time_in_a_day_is_refused_for_good(server):
    agent = Agent(server, build_id="0102030405060709", data=NO_ELF)
    for _ in range(4):
        agent.initiate(hash="broken")
        agent.send()
        check_refused(StatusCode.INVALID_ARGUMENT, agent.finish, says="malformed")
    check_answer(agent, False, EQUAL, hash="broken")
    check_refused(StatusCode.ALREADY_EXISTS, agent.initiate, hash="broken", says=EQUAL)
    check_answer(agent, True, NOT_EQUAL, hash="other")
    check_answer(agent, True, EXISTS_BUT_FORCED, hash="broken", force=True)


@test
def a_purged_upload_is_wanted_again(server):
    agent = Agent(server, build_id="0a0b0c0d", kind=SOURCES, data=b"purged soon")
    agent.upload()
    check_answer(agent, False, EXISTS)
    server.stop()
    catalog = sqlite3.connect(os.path.join(server.data_directory, "catalog.sqlite"))
    with catalog:
        catalog.execute("DELETE FROM alias WHERE value = '0a0b0c0d'")
        catalog.execute("UPDATE upload SET state = 4 WHERE value = '0a0b0c0d'")
    catalog.close()
    server.start()
    agent = Agent(server, build_id="0a0b0c0d", kind=SOURCES, data=b"here again")
    check_answer(agent, True, PURGED)
    check_answer(agent, True, PURGED, force=True)
    agent.upload()
    check_answer(agent, False, EXISTS)


@test
def an_initiation_without_a_hash_or_a_size_is_refused(server):
    agent = Agent(server, sample(7))
    refused = StatusCode.INVALID_ARGUMENT
    check_refused(refused, agent.initiate, hash="", says="hash must be set")
    check_refused(refused, agent.initiate, size=0, says="size must be set")
    check_refused(refused, agent.initiate, size=-1, says="negative")
    check_refused(refused, agent.initiate, size=SIZE_MAX + 1,
                  says=f"upload size {SIZE_MAX + 1} exceeds maximum allowed size {SIZE_MAX}")
    check_answer(agent, True, FIRST_TIME)


@test
def of_fifty_initiators_at_once_one_wins(server):
    agents = [Agent(server, sample(8)) for _ in range(50)]
    barrier = threading.Barrier(len(agents))
    outcomes = []

    def run(agent):
        barrier.wait()
        try:
            agent.initiate()
            outcomes.append(StatusCode.OK)
        except grpc.RpcError as error:
            outcomes.append(error.code())

    threads = [threading.Thread(target=run, args=(agent,)) for agent in agents]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    check_equal(outcomes.count(StatusCode.OK), 1)
    check_equal(outcomes.count(StatusCode.FAILED_PRECONDITION), len(agents) - 1)
    winner = next(agent for agent in agents if agent.instructions)
    winner.send()
    winner.finish()


# --- Upload and MarkUploadFinished -----------------------------------------------------------------

@test
def bytes_for_what_was_not_initiated_are_refused(server):
    agent = Agent(server, sample(9))
    agent.instructions = server.messages.UploadInstructions(
        build_id=agent.build_id, upload_id="11111111-2222-4333-8444-555555555555")
    check_refused(StatusCode.FAILED_PRECONDITION, agent.send)
    check_refused(StatusCode.NOT_FOUND, agent.finish,
                  says="no debuginfo upload metadata found for build id")


@test
def bytes_after_the_end_are_refused(server):
    agent = Agent(server, sample(9))
    agent.upload()
    check_refused(StatusCode.FAILED_PRECONDITION, agent.send, says="finished already")
    agent.finish()


@test
def the_declared_size_is_held_on_the_stream(server):
    agent = Agent(server, sample(10))
    agent.initiate()
    check_refused(StatusCode.INVALID_ARGUMENT, agent.send, agent.data + b"\0", says="more bytes")
    check_refused(StatusCode.INVALID_ARGUMENT, agent.send, agent.data[:-1], says="declared size")
    check_refused(StatusCode.FAILED_PRECONDITION, agent.finish, says="no bytes were received")
    agent.send()
    agent.finish()


# --- types and kinds -------------------------------------------------------------------------------

@test
def types_of_one_id_do_not_clash(server):
    path = sample(11)
    for kind, data in ((DEBUGINFO, None), (EXECUTABLE, None), (SOURCES, b"\x28\xb5\x2f\xfd tar"),
                       (SOURCE_MAP, b"no ELF either")):
        agent = Agent(server, path, kind=kind, data=data)
        check_answer(agent, True, FIRST_TIME)
        agent.upload()
        check_answer(agent, False, EXISTS)
    check_equal(symbolize(server, path), ("ok", True))


@test
def sources_before_the_binary_do_not_stand_in_its_way(server):
    path = sample(12)
    Agent(server, path, kind=SOURCES, data=b"sources first").upload()
    agent = Agent(server, path)
    check_answer(agent, True, FIRST_TIME)
    agent.upload()
    check_equal(symbolize(server, path), ("ok", True))


@test
def every_kind_of_id_names_an_upload(server):
    go_id = "aB3xk/Q9_z-Z1/p0rw/8"
    uuid = "2f0b0f2c-6a43-4b6f-9f2e-0d8f3f6f6f10"
    for build_id, build_id_type in (("ab" * 20, GNU), ("cd" * 16, HASH), (go_id, GO),
                                    (uuid, SOURCE_MAP_DEBUG_ID)):
        agent = Agent(server, build_id=build_id, build_id_type=build_id_type, kind=SOURCES,
                      data=b"sources of " + build_id.encode())
        check_equal(agent.initiate().build_id, build_id)
        agent.send()
        agent.finish()
        check_answer(agent, False, EXISTS)
    for build_id in ("ab" * 20, go_id, uuid):  # of old clients
        check_answer(Agent(server, build_id=build_id, build_id_type=UNKNOWN, kind=SOURCES,
                           data=b"x"), False, EXISTS)


@test
def ids_that_name_nothing_are_refused_in_clear_words(server):
    agent = Agent(server, build_id="abcdef01", data=b"x")
    for build_id, build_id_type, says in (
            ("abcd\0ef0", GNU, "NUL"), ("abc\0/def", GO, "NUL"), ("abc\ndef", GO, "printable"),
            ("abc\x7fdef", GO, "printable"), ("abc\x1b[2Jdef", UNKNOWN, "not a build ID"),
            ("a" * 256, GO, "2 to 255 characters"), ("ab" * 65, GNU, "2 to 64 bytes"),
            ("ab" * 20000, UNKNOWN, "2 to 64 bytes"), ("ab", GO, "unexpectedly short input"),
            ("0" * 40, GNU, "all-zero"), ("redacted", GO, "redacted"),
            ("../../../etc/passwd", GNU, "not a build ID"), ("abcdef01", HASH, "hex digits"),
            ("abcdef01", SOURCE_MAP_DEBUG_ID, "UUID")):
        for call in (agent.ask, agent.initiate):
            check_refused(StatusCode.INVALID_ARGUMENT, call, build_id=build_id,
                          build_id_type=build_id_type, says=says)


# --- what serves meanwhile -------------------------------------------------------------------------

@test
def the_old_object_serves_until_the_new_one_is_built(server):
    path = sample(13)
    agent = Agent(server, path)
    agent.upload()
    check_equal(symbolize(server, path), ("ok", True))
    agent.data += b"\0" * 4096  # other bytes of the same build ID
    agent.initiate(force=True)
    check_equal(symbolize(server, path), ("ok", True))
    agent.send()
    check_equal(symbolize(server, path), ("ok", True))
    agent.finish()
    check_equal(symbolize(server, path), ("ok", True))


@test
def a_forced_upload_that_fails_leaves_the_old_object_serving(server):
    path = sample(13)
    agent = Agent(server, path)
    good, agent.data = agent.data, NO_ELF
    agent.initiate(force=True)
    agent.send()
    check_refused(StatusCode.INVALID_ARGUMENT, agent.finish, says="malformed")
    check_equal(symbolize(server, path), ("ok", True))
    check_answer(agent, False, EXISTS)
    agent.data = good[:len(good) // 2]
    agent.initiate(force=True)
    agent.send()
    check_refused(StatusCode.INVALID_ARGUMENT, agent.finish, says="malformed")
    check_equal(symbolize(server, path), ("ok", True))


@test
def a_forced_upload_with_damaged_dwarf_does_not_take_the_names_away(server):
    path = sample(14)
    agent = Agent(server, path)
    agent.upload()
    check_equal(symbolize(server, path), ("ok", True))
    damaged = bytearray(agent.data)
    for name in (".debug_abbrev", ".debug_info", ".debug_line"):
        offset, size = section(path, name)
        damaged[offset:offset + size] = b"\xff" * size
    agent.data = bytes(damaged)
    agent.upload(force=True)
    check_equal(symbolize(server, path), ("ok", True))


# --- with a short time, and with few places --------------------------------------------------------

def a_stale_upload_may_be_begun_anew(server):
    first, second = Agent(server, sample(20)), Agent(server, sample(20))
    first.initiate()
    check_equal(second.ask().reason, IN_PROGRESS)
    wait_until(lambda: second.ask().should_initiate_upload, "the upload to become stale")
    check_answer(second, True, STALE)
    check_refused(StatusCode.FAILED_PRECONDITION, first.send, says="stale")
    second.initiate()
    check_refused(StatusCode.INVALID_ARGUMENT, first.send, says="upload ID does not match")


def a_server_without_a_free_place_says_what_makes_agents_come_back(server):
    holder, other = Agent(server, sample(21)), Agent(server, sample(22))
    holder.initiate()
    other.initiate()
    holder.send()
    third = Agent(server, sample(23))
    for fields in ({}, {"hash": "h"}, {"force": True}):
        check_answer(third, False, IN_PROGRESS, **fields)
    check_refused(StatusCode.RESOURCE_EXHAUSTED, third.initiate)
    check_refused(StatusCode.RESOURCE_EXHAUSTED, other.send)
    holder.finish()
    other.send()
    other.finish()
    check_answer(third, True, FIRST_TIME)
    third.upload()


def main():
    tap = Tap()
    with service.Service(["--max-upload-size", str(SIZE_MAX)]) as server:
        run_tests(tap, test, server)
    with service.Service(["--upload-stale-after", "2s"]) as server:
        run_tests(tap, [a_stale_upload_may_be_begun_anew], server)
    with service.Service(["--max-upload-streams", "1"]) as server:
        run_tests(tap, [a_server_without_a_free_place_says_what_makes_agents_come_back], server)
    tap.finish()


main()
