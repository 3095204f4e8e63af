#!/usr/bin/python3
"""When a part that the server needs is not there, uploads are answered with codes after which
agents come back (UNAVAILABLE; 503), never with one that they remember for good; and once the part
is there again, the same upload goes on."""
import http.client
import os
import shutil
import sqlite3
import sys
import tempfile
from urllib.parse import urlsplit

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import service
from service import Tap
from uploads import FIRST_TIME, Agent, Samples, check_equal, check_refused, run_tests

from grpc import StatusCode

sample = Samples()


def put(server, agent):
    url = urlsplit(agent.instructions.signed_url)
    connection = http.client.HTTPConnection("127.0.0.1", server.ports["http"],
                                            timeout=service.PATIENCE_S)
    try:
        connection.request("PUT", f"{url.path}?{url.query}", agent.data)
        return connection.getresponse().status
    finally:
        connection.close()


def without_a_place_for_files_the_bytes_are_asked_for_again(server):
    agent = Agent(server, sample(1))
    agent.initiate()
    shutil.rmtree(os.path.join(server.data_directory, "tmp"))
    check_refused(StatusCode.UNAVAILABLE, agent.send)
    server.restart()
    agent = Agent(server, sample(1))
    agent.upload()


def without_a_place_for_files_a_signed_url_answers_503(server):
    agent = Agent(server, sample(2))
    agent.initiate()
    shutil.rmtree(os.path.join(server.data_directory, "tmp"))
    check_equal(put(server, agent), 503)
    check_equal(put(server, agent), 503)


def without_a_worker_the_upload_waits_to_be_finished(server):
    agent = Agent(server, sample(3))
    agent.initiate()
    agent.send()
    os.rename(worker, worker + ".away")
    check_refused(StatusCode.UNAVAILABLE, agent.finish)
    os.rename(worker + ".away", worker)
    agent.finish()


def while_the_catalog_takes_no_rows_initiating_is_unavailable(server):
    agent = Agent(server, sample(4))
    catalog = sqlite3.connect(os.path.join(server.data_directory, "catalog.sqlite"),
                              isolation_level=None)
    catalog.execute("BEGIN IMMEDIATE")
    check_equal(agent.ask().reason, FIRST_TIME)
    check_refused(StatusCode.UNAVAILABLE, agent.initiate)
    catalog.execute("ROLLBACK")
    catalog.close()
    agent.upload()


def main():
    global worker
    tap = Tap()
    with tempfile.TemporaryDirectory() as directory:
        worker = shutil.copy(os.path.join(service.BUILD, "symbolizer-worker"), directory)
        with service.Service(["--worker", worker]) as server:
            run_tests(tap, [without_a_place_for_files_the_bytes_are_asked_for_again,
                            without_a_worker_the_upload_waits_to_be_finished,
                            while_the_catalog_takes_no_rows_initiating_is_unavailable], server)
        with service.Service(["--upload-strategy", "signed_url", "--upload-public-url",
                              "http://upload.test"]) as server:
            run_tests(tap, [without_a_place_for_files_a_signed_url_answers_503], server)
    tap.finish()


main()
