#!/usr/bin/python3
"""gRPC server reflection, v1 and v1alpha, with a real gRPC client against the real server: a client
that knows no proto file of ours lists the services, fetches their descriptors and makes a call."""
import os
import sys

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import service
from service import Tap

import grpc
from google.protobuf import descriptor_pb2, descriptor_pool, message_factory
from grpc import StatusCode

DEBUGINFO = "parca.debuginfo.v1alpha1.DebuginfoService"
SERVICES = [DEBUGINFO, "grpc.health.v1.Health", "grpc.reflection.v1.ServerReflection",
            "grpc.reflection.v1alpha.ServerReflection"]
DECLARED = [*SERVICES, DEBUGINFO + ".Upload", "parca.debuginfo.v1alpha1.UploadRequest",
            "parca.debuginfo.v1alpha1.UploadInfo.build_id",
            "parca.debuginfo.v1alpha1.UploadInstructions.UploadStrategy",
            "grpc.health.v1.HealthCheckResponse.ServingStatus"]
UNDECLARED = ["", ".", "grpc", "grpc.health.v1", "grpc.health.v1.", "grpc.health.v1.Healt",
              "grpc.health.v1.Health.", "grpc.health.v1.Health.Check.x", "grpc.health.v1.Healthy",
              "no.such.Service", "x" * 3000]


class Reflection:
    def __init__(self, server, proto):
        self.messages, services = service.grpc_modules(proto)
        self.call = services.ServerReflectionStub(server.channel()).ServerReflectionInfo

    def request(self, **fields):
        return self.messages.ServerReflectionRequest(host="here", **fields)

    def ask_all(self, requests):
        return list(self.call(iter(requests), timeout=service.PATIENCE_S))

    def ask(self, **fields):
        return self.ask_all([self.request(**fields)])[0]

    def file_of(self, symbol):
        answer = self.ask(file_containing_symbol=symbol)
        files = answer.file_descriptor_response.file_descriptor_proto
        return descriptor_pb2.FileDescriptorProto.FromString(files[0]) if files else None


def call_by_reflection(server, reflection):
    """ShouldInitiateUpload as a tool calls it, from nothing but descriptors."""
    pool = descriptor_pool.DescriptorPool()
    pool.Add(reflection.file_of(DEBUGINFO))
    method = pool.FindServiceByName(DEBUGINFO).FindMethodByName("ShouldInitiateUpload")
    factory = message_factory.MessageFactory(pool)
    request = factory.GetPrototype(method.input_type)(build_id="abcdef01")
    answer = server.channel().unary_unary(f"/{DEBUGINFO}/{method.name}")(
        request.SerializeToString())
    return factory.GetPrototype(method.output_type).FromString(answer)


def refusal(call):
    try:
        return call()
    except grpc.RpcError as error:
        return error.code()


def run(server, proto, check):
    reflection = Reflection(server, proto)
    answer = reflection.ask(list_services="")
    listed = [found.name for found in answer.list_services_response.service]
    check("all services are listed", sorted(listed) == sorted(SERVICES), str(listed))
    check("an answer repeats its request",
          answer.original_request == reflection.request(list_services="") and
          answer.valid_host == "here", str(answer))
    lost = [name for name in DECLARED if not reflection.file_of(name)]
    check("what is declared is found by its symbol", not lost, str(lost))
    answers = reflection.ask_all(reflection.request(file_containing_symbol=name)
                                 for name in UNDECLARED)
    codes = [answer.error_response.error_code for answer in answers]
    check("other symbols are not found, each answered in its turn",
          codes == [StatusCode.NOT_FOUND.value[0]] * len(UNDECLARED), str(codes))
    health = reflection.file_of("grpc.health.v1.Health")
    answer = reflection.ask(file_by_filename=health.name)
    check("a file is found by its name",
          answer.file_descriptor_response.file_descriptor_proto == [health.SerializeToString()])
    check("an unknown file is not",
          reflection.ask(file_by_filename="no.proto").error_response.error_code == 5)
    check("there are no extensions",
          reflection.ask(all_extension_numbers_of_type="x").error_response.error_code == 5)
    check("a request for nothing is refused and the stream goes on",
          [answer.WhichOneof("message_response") for answer in reflection.ask_all(
              [reflection.request(), reflection.request(list_services="")])] ==
          ["error_response", "list_services_response"])
    check("a request over the limit ends the call",
          refusal(lambda: reflection.ask(list_services="x" * 5000)) ==
          StatusCode.RESOURCE_EXHAUSTED)
    check("a stream without requests ends in order", reflection.ask_all([]) == [])
    answer = call_by_reflection(server, reflection)
    check("a call can be made from the descriptors alone", answer.should_initiate_upload,
          str(answer))
    many = reflection.ask_all(reflection.request(file_containing_symbol=DEBUGINFO)
                              for _ in range(500))
    check("many requests of one stream are answered", len(many) == 500, str(len(many)))


def main():
    tap = Tap()
    with service.Service() as server:
        for proto in ("reflection", "reflection_v1alpha"):
            def check(name, passed, detail="", proto=proto):
                tap.ok(passed, f"{proto}: {name}", detail)
            try:
                run(server, proto, check)
            except Exception as error:  # a part that dies has failed
                check("runs to its end", False, f"{type(error).__name__}: {error}")
        code = server.stop()
        tap.ok(code == 0, "the server ends in order", f"status {code}")
    tap.finish()


if __name__ == "__main__":
    main()
