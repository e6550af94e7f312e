"""A gRPC service. LEAK: bytes that each request leaves in a list."""

import os
import sys
from concurrent import futures

import grpc

LEAK = int(os.environ.get("LEAK", "0"))
kept = []


def call(request, context):
    if LEAK:
        kept.append(bytearray(LEAK))
    return request


server = grpc.server(futures.ThreadPoolExecutor(4))
methods = {"Call": grpc.unary_unary_rpc_method_handler(call)}
server.add_generic_rpc_handlers((grpc.method_handlers_generic_handler("bench.Echo", methods),))
server.add_insecure_port(f"127.0.0.1:{sys.argv[1]}")
server.start()
print("serving", flush=True)
server.wait_for_termination()
