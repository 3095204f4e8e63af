#!/usr/bin/python3
"""Uploads as Parca Agent and others send them, with a real gRPC client against the real server:
what each call answers, and that a refusal never costs the connection."""
import os
import random
import sys
import threading

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import service
from service import Tap
from uploads import (
    Agent, Samples, Tests, check, check_equal, check_refused, run_tests, DEBUGINFO, EXECUTABLE, EXISTS,
    EXISTS_BUT_FORCED, FIRST_TIME, GNU, GO, HASH, IN_PROGRESS, REFUSED_WITH, SOURCE_MAP,
    SOURCE_MAP_DEBUG_ID, SOURCES, UNKNOWN)

import grpc
from grpc import StatusCode

test = Tests()
sample = Samples()


# --- the agents' sequence --------------------------------------------------------------------------

@test
def a_new_binary_goes_through_the_agents_whole_sequence(server):
    agent = Agent(server, sample(1))
    answer = agent.ask()
    check_equal((answer.should_initiate_upload, answer.reason), (True, FIRST_TIME))
    told = agent.initiate()
    check_equal(told.build_id, agent.build_id)
    check_equal(len(told.upload_id), 36)
    check_equal(told.upload_strategy, server.messages.UploadInstructions.UPLOAD_STRATEGY_GRPC)
    check_equal(told.signed_url, "")
    check_equal(told.type, DEBUGINFO)
    answer = agent.send()
    check_equal((answer.build_id, answer.size), (agent.build_id, len(agent.data)))
    agent.finish()  # without a type, as agents do


@test
def the_same_binary_again_is_not_wanted(server):
    agent = Agent(server, sample(1))
    answer = agent.ask()
    check_equal((answer.should_initiate_upload, answer.reason), (False, EXISTS))
    check_refused(StatusCode.FAILED_PRECONDITION, agent.initiate, says=REFUSED_WITH + EXISTS)
    answer = agent.ask(force=True)
    check_equal((answer.should_initiate_upload, answer.reason), (True, EXISTS_BUT_FORCED))


@test
def build_ids_are_found_in_any_case_and_echoed_as_sent(server):
    agent = Agent(server, sample(2), build_id=service.gnu_build_id(sample(2)).upper())
    check_equal(agent.initiate().build_id, agent.build_id)
    check_equal(agent.send().build_id, agent.build_id)
    agent.finish()
    check_equal(Agent(server, sample(2)).ask().reason, EXISTS)


@test
def an_upload_in_progress_is_told_in_the_words_that_agents_compare(server):
    agent = Agent(server, sample(3))
    agent.initiate()
    other = Agent(server, sample(3))
    answer = other.ask()
    check_equal((answer.should_initiate_upload, answer.reason), (False, IN_PROGRESS))
    check_refused(StatusCode.FAILED_PRECONDITION, other.initiate, says=REFUSED_WITH + IN_PROGRESS)
    check_equal(other.ask(force=True).should_initiate_upload, True)


@test
def types_of_one_build_id_are_uploads_of_their_own(server):
    path = sample(4)
    for kind in (DEBUGINFO, EXECUTABLE):
        agent = Agent(server, path, kind=kind)
        check_equal(agent.ask().reason, FIRST_TIME)
        check_equal(agent.initiate().type, kind)
        agent.send()
        agent.finish(type=kind)
        check_equal(agent.ask().reason, EXISTS)


@test
def a_client_that_sends_no_build_id_type_is_understood(server):
    agent = Agent(server, sample(5), build_id_type=UNKNOWN)
    agent.initiate()
    agent.send()
    agent.finish()
    check_equal(Agent(server, sample(5)).ask().reason, EXISTS)


@test
def a_binary_without_a_note_is_uploaded_by_its_hash(server):
    path = sample(6, flags=("-g", "-Wl,--build-id=none"))
    check_equal(service.gnu_build_id(path), None)
    agent = Agent(server, path, build_id=service.htlhash(path), build_id_type=HASH)
    check_equal(agent.ask().should_initiate_upload, True)
    agent.initiate()
    agent.send()
    agent.finish()
    check_equal(agent.ask().reason, EXISTS)


@test
def sources_and_source_maps_are_kept_as_they_are(server):
    build_id = "2f0b0f2c-6a43-4b6f-9f2e-0d8f3f6f6f10"
    agent = Agent(server, build_id=build_id, build_id_type=SOURCE_MAP_DEBUG_ID, kind=SOURCE_MAP,
                  data=b"\0\1\2" * 70000)
    agent.initiate()
    agent.send()
    agent.finish(type=SOURCE_MAP)
    check_equal(agent.ask().reason, EXISTS)


@test
def what_agents_add_to_their_calls_is_ignored(server):
    agent = Agent(server, sample(7))
    metadata = (("authorization", "Bearer psc_v1_" + "0" * 64), ("projectid", "p"),
                ("x-retry-attempty", "2"), ("trace-bin", b"\0\1\2"))
    answer = agent.stub.ShouldInitiateUpload(server.messages.ShouldInitiateUploadRequest(
        build_id=agent.build_id), metadata=metadata, timeout=60)
    check_equal(answer.should_initiate_upload, True)
    agent.initiate()
    agent.send(metadata=metadata)
    agent.finish()


# --- bytes -----------------------------------------------------------------------------------------

@test
def chunks_of_eight_mib_and_of_one_byte_arrive_alike(server):
    data = service.read_bytes(sample(8)) + random.Random(8).randbytes(20 << 20)
    agent = Agent(server, sample(8), data=data)
    agent.initiate()
    check_equal(agent.send().size, len(data))
    agent.finish()
    agent = Agent(server, sample(9, flags=("-s", "-nostdlib", "-shared")))
    agent.initiate()
    check_equal(agent.stub.Upload(agent.requests(piece_size=1)).size, len(agent.data))
    agent.finish()


@test
def more_bytes_than_declared_are_refused_and_may_be_sent_again(server):
    agent = Agent(server, sample(10))
    agent.initiate()
    more = agent.data + bytes(30 << 20)
    check_refused(StatusCode.INVALID_ARGUMENT, agent.send, more, says="more bytes")
    check_equal(agent.ask().reason, IN_PROGRESS)
    check_equal(agent.send().size, len(agent.data))
    agent.finish()


@test
def fewer_bytes_than_declared_are_refused_and_may_be_sent_again(server):
    agent = Agent(server, sample(11))
    agent.initiate()
    check_refused(StatusCode.INVALID_ARGUMENT, agent.send, agent.data[:-1], says="declared size")
    check_equal(agent.send().size, len(agent.data))
    agent.finish()


@test
def a_cancelled_upload_may_be_sent_again(server):
    agent = Agent(server, sample(12), data=service.read_bytes(sample(12)) + bytes(4 << 20))
    agent.initiate()
    blocked = threading.Event()

    def half():
        requests = list(agent.requests(piece_size=1 << 20))
        yield from requests[:3]
        blocked.set()
        server.wait_for_event("rpc", method="Upload", code="CANCELLED",
                              upload_id=agent.instructions.upload_id)

    call = agent.stub.Upload.future(half())
    check(blocked.wait(service.PATIENCE_S), "the upload never began")
    call.cancel()
    server.wait_for_event("rpc", method="Upload", code="CANCELLED",
                          upload_id=agent.instructions.upload_id)
    check_equal(agent.ask().reason, IN_PROGRESS)
    check_equal(agent.send().size, len(agent.data))
    agent.finish()
    check_equal(agent.ask().reason, EXISTS)


@test
def an_upload_that_takes_too_long_for_its_client_is_cancelled(server):
    agent = Agent(server, sample(13))
    agent.initiate()

    def endless():
        yield next(agent.requests())
        server.wait_for_event("rpc", method="Upload", code="CANCELLED",
                              upload_id=agent.instructions.upload_id)

    check_refused(StatusCode.DEADLINE_EXCEEDED, agent.stub.Upload, endless(), timeout=0.2)
    server.wait_for_event("rpc", method="Upload", code="CANCELLED",
                          upload_id=agent.instructions.upload_id)
    check_equal(agent.send().size, len(agent.data))


# --- what is refused at the end --------------------------------------------------------------------

@test
def a_file_with_another_build_id_is_refused(server):
    agent = Agent(server, sample(14), build_id="00112233445566778899aabbccddeeff00112233")
    agent.initiate()
    agent.send()
    check_refused(StatusCode.INVALID_ARGUMENT, agent.finish, says="build ID mismatch")
    check_equal(agent.ask().should_initiate_upload, True)


@test
def a_file_that_is_no_elf_file_is_refused(server):
    agent = Agent(server, build_id="0102030405060708", data=b"webapi error: not found\n" * 100)
    agent.initiate()
    agent.send()
    check_refused(StatusCode.INVALID_ARGUMENT, agent.finish, says="malformed")


@test
def finishing_before_the_bytes_came_is_refused(server):
    agent = Agent(server, sample(15))
    agent.initiate()
    check_refused(StatusCode.FAILED_PRECONDITION, agent.finish)


# --- who wins --------------------------------------------------------------------------------------

def initiate_at_once(server, salt, count):
    agents = [Agent(server, sample(salt)) for _ in range(count)]
    barrier = threading.Barrier(count)
    answers = []

    def run(agent):
        barrier.wait()
        try:
            agent.initiate()
            answers.append(StatusCode.OK)
        except grpc.RpcError as error:
            answers.append((error.code(), error.details()))

    threads = [threading.Thread(target=run, args=(agent,)) for agent in agents]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    refused = (StatusCode.FAILED_PRECONDITION, REFUSED_WITH + IN_PROGRESS)
    others = [answer for answer in answers if answer not in (StatusCode.OK, refused)]
    check_equal(others, [])
    check_equal((answers.count(StatusCode.OK), answers.count(refused)), (1, count - 1))


@test
def of_two_initiators_at_once_one_wins(server):
    initiate_at_once(server, 16, 2)


@test
def of_twenty_initiators_at_once_one_wins(server):
    initiate_at_once(server, 17, 20)


@test
def twenty_five_uploads_share_one_connection(server):
    path = sample(18)
    first = Agent(server, path)
    data = first.data + bytes(1 << 20)

    def upload(number):
        try:
            answers.append(upload_one(number))
        except grpc.RpcError as error:
            answers.append(error.details())

    def upload_one(number):
        agent = Agent.__new__(Agent)
        agent.__dict__ = {**first.__dict__, "kind": SOURCES, "data": data,
                          "build_id": f"{number:040x}"}
        agent.initiate()
        size = agent.send().size
        agent.finish(type=SOURCES)
        return size

    answers = []
    threads = [threading.Thread(target=upload, args=(1000 + number,)) for number in range(25)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    check_equal(answers, [len(data)] * 25)


# --- wrong arguments -------------------------------------------------------------------------------

@test
def malformed_ids_are_refused_and_say_what_is_wrong(server):
    agent = Agent(server, build_id="abcdef01", data=b"x")
    refused = StatusCode.INVALID_ARGUMENT
    for build_id in ("", "a", "ab"):
        check_refused(refused, agent.ask, build_id=build_id, says="unexpectedly short input")
        check_refused(refused, agent.initiate, build_id=build_id, says="unexpectedly short input")
    check_refused(refused, agent.ask, build_id="../../etc/passwd", says="not a build ID")
    check_refused(refused, agent.ask, build_id="0" * 40, says="all-zero")
    check_refused(refused, agent.ask, build_id="ab" * 65, says="2 to 64 bytes")
    check_refused(refused, agent.ask, build_id="abcd\0ef0", says="NUL")
    check_refused(refused, agent.ask, build_id="abcd", build_id_type=HASH, says="hex digits")
    check_refused(refused, agent.ask, build_id="redacted", build_id_type=GO, says="redacted")
    check_refused(refused, agent.ask, build_id_type=77, says="unknown build_id_type 77")
    check_refused(refused, agent.ask, type=9, says="unknown debuginfo type 9")


@test
def an_initiation_without_hash_or_size_is_refused(server):
    agent = Agent(server, sample(19))
    refused = StatusCode.INVALID_ARGUMENT
    check_refused(refused, agent.initiate, hash="", says="hash must be set")
    check_refused(refused, agent.initiate, size=0, says="size must be set")
    check_refused(refused, agent.initiate, size=-1, says="negative")
    check_refused(refused, agent.initiate, size=1 << 60, says="exceeds maximum allowed size")
    check_refused(refused, agent.initiate, hash="h" * 256, says="hash of 256 bytes")


@test
def another_upload_id_than_the_initiated_one_is_refused(server):
    agent = Agent(server, sample(21))
    agent.initiate().upload_id = "11111111-2222-4333-8444-555555555555"
    check_refused(StatusCode.INVALID_ARGUMENT, agent.send,
                  says="the upload ID does not match the one returned by the InitiateUpload call")
    check_refused(StatusCode.INVALID_ARGUMENT, agent.finish, says="upload id mismatch")


@test
def an_upload_must_begin_with_its_info(server):
    agent = Agent(server, sample(22))
    agent.initiate()
    info, *chunks = agent.requests()
    refused = StatusCode.INVALID_ARGUMENT
    check_refused(refused, agent.stub.Upload, iter(chunks), says="first message")
    check_refused(refused, agent.stub.Upload, iter([]), says="no upload info")
    check_refused(refused, agent.stub.Upload, iter([info, info]), says="twice")
    check_equal(agent.send().size, len(agent.data))


# --- the connection --------------------------------------------------------------------------------

@test
def unknown_methods_are_unimplemented_and_the_connection_stays(server):
    channel = server.channel()
    stub = service.grpc_modules()[1].DebuginfoServiceStub(channel)
    request = server.messages.ShouldInitiateUploadRequest(build_id="abcdef01")
    stub.ShouldInitiateUpload(request)
    for path in ("/parca.debuginfo.v1alpha1.DebuginfoService/Download",
                 "/parca.profilestore.v1alpha1.ProfileStoreService/WriteArrow",
                 "/grpc.reflection.v1beta.ServerReflection/ServerReflectionInfo"):
        for call in (channel.unary_unary(path), channel.stream_stream(path)):
            def run(call=call):
                answer = call(b"x" if isinstance(call, grpc.UnaryUnaryMultiCallable)
                              else iter([b"x"]))
                return answer if isinstance(answer, bytes) else list(answer)
            check_refused(StatusCode.UNIMPLEMENTED, run)
    stub.ShouldInitiateUpload(request)
    server.wait_for_event("rpc", 2, method="ShouldInitiateUpload", build_id="abcdef01", code="OK")


@test
def gzip_messages_are_taken(server):
    text = b"".join(b"line %d of a file that compresses well\n" % number
                    for number in range(200000))
    agent = Agent(server, build_id="ab" * 20, data=text, kind=SOURCES)
    answer = agent.stub.ShouldInitiateUpload(
        server.messages.ShouldInitiateUploadRequest(build_id=agent.build_id, hash="0" * 100,
                                                    build_id_type=GNU, type=SOURCES),
        compression=grpc.Compression.Gzip)
    check_equal(answer.reason, FIRST_TIME)
    agent.initiate()
    answer = agent.stub.Upload(agent.requests(piece_size=3 << 20),
                               compression=grpc.Compression.Gzip)
    check_equal(answer.size, len(text))
    agent.finish(type=SOURCES)
    status, _, data = server.http("GET", f"/v1/debuginfo/{agent.build_id}/file?type=sources")
    check_equal((status, data == text), (200, True))


@test
def a_compressed_bomb_is_refused_and_the_connection_lives(server):
    agent = Agent(server, build_id="abcdef01", data=b"x")
    check_refused(StatusCode.RESOURCE_EXHAUSTED, agent.stub.ShouldInitiateUpload,
                  server.messages.ShouldInitiateUploadRequest(build_id="a" * (16 << 20)),
                  compression=grpc.Compression.Gzip, says="compressed")
    check_refused(StatusCode.UNIMPLEMENTED, agent.stub.ShouldInitiateUpload,
                  server.messages.ShouldInitiateUploadRequest(build_id="a" * 200),
                  compression=grpc.Compression.Deflate)
    agent.ask()


@test
def a_request_that_is_no_message_is_refused(server):
    channel = server.channel()
    for method in ("ShouldInitiateUpload", "InitiateUpload", "MarkUploadFinished"):
        call = channel.unary_unary(f"/parca.debuginfo.v1alpha1.DebuginfoService/{method}")
        check_refused(StatusCode.INVALID_ARGUMENT, call, b"\xff\xff")
        check_refused(StatusCode.INVALID_ARGUMENT, call, b"\x0a\x7fabc")
        check_refused(StatusCode.RESOURCE_EXHAUSTED, call, bytes(70000))
    call = channel.stream_unary("/parca.debuginfo.v1alpha1.DebuginfoService/Upload")
    check_refused(StatusCode.INVALID_ARGUMENT, call, iter([b"\xff\xff"]))


@test
def an_unfinished_upload_may_be_begun_again_after_a_restart(server):
    agent = Agent(server, sample(23))
    agent.initiate()
    agent.send()
    server.restart()
    agent = Agent(server, sample(23))
    check_equal(agent.ask().should_initiate_upload, True)
    agent.initiate()
    agent.send()
    agent.finish()
    check_equal(Agent(server, sample(1)).ask().reason, EXISTS)


def main():
    tap = Tap()
    with service.Service() as server:
        run_tests(tap, test, server)
        code = server.stop()
        tap.ok(code == 0, "the server ends in order", [f"status {code}", *server.output[-60:]])
    tap.finish()


main()
