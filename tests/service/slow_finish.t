#!/usr/bin/python3
"""However many uploads are being finished by workers that take their time, an agent's questions
are answered, its uploads begin and their bytes are taken."""
import os
import sys
import tempfile
import threading

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import service
from service import Tap
from uploads import Agent, Samples, check, check_equal, run_tests

sample = Samples()
FINISHES = 40  # more than there are threads for what may take long

SLOW_WORKER = """#!/bin/sh
while [ ! -e {gate} ]; do sleep 0.05; done
exec {worker} "$@"
"""


def questions_and_bytes_do_not_wait_for_others_to_finish(server):
    agents = [Agent(server, data=b"%d" % number, path=None, build_id=f"{number + 1:040x}")
              for number in range(FINISHES)]
    codes = []

    def finish(agent):
        try:
            agent.finish()
        except Exception as error:
            codes.append(error.code())

    for agent in agents:
        agent.initiate()
        agent.send()
    threads = [threading.Thread(target=finish, args=(agent,)) for agent in agents]
    for thread in threads:
        thread.start()
    waiting = 'symbolizer_tasks_waiting{pool="upload"} '
    service.wait_until(lambda: waiting + "0\n" not in metrics(server), "finishes that wait")
    try:
        other = Agent(server, sample(1))
        check(ask(server, other).should_initiate_upload)
        other.initiate()
        first = other.stub.Upload.future(requests(server, other), timeout=service.PATIENCE_S)
        written = len(other.data)
        service.wait_until(lambda: received(server) >= before_of(agents) + written, "bytes")
        check_equal(codes, [])
    finally:
        open(gate, "w", encoding="ascii").close()
    check_equal(first.result().size, len(other.data))
    for thread in threads:
        thread.join()
    other.finish()
    check_equal(len(codes), FINISHES)  # they are no ELF files


def ask(server, agent):
    return agent.stub.ShouldInitiateUpload(server.messages.ShouldInitiateUploadRequest(
        build_id=agent.build_id, build_id_type=agent.build_id_type), timeout=service.PATIENCE_S)


def requests(server, agent):
    return service.upload_requests(server.messages, agent.instructions, agent.data)


def metrics(server):
    return server.http("GET", "/metrics")[2].decode()


def received(server):
    line = next(line for line in metrics(server).splitlines()
                if line.startswith("symbolizer_upload_bytes_total "))
    return float(line.split()[1])


def before_of(agents):
    return sum(len(agent.data) for agent in agents)


def main():
    global gate
    tap = Tap()
    with tempfile.TemporaryDirectory() as directory:
        gate = os.path.join(directory, "gate")
        worker = os.path.join(directory, "worker")
        with open(worker, "w", encoding="ascii") as file:
            file.write(SLOW_WORKER.format(
                gate=gate, worker=os.path.join(service.BUILD, "symbolizer-worker")))
        os.chmod(worker, 0o755)
        with service.Service(["--worker", worker]) as server:
            run_tests(tap, [questions_and_bytes_do_not_wait_for_others_to_finish], server)
    tap.finish()


main()
