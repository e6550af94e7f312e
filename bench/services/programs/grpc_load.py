"""Sends 2,000 requests to the gRPC service."""

import sys

import grpc

call = grpc.insecure_channel(f"127.0.0.1:{sys.argv[1]}").unary_unary("/bench.Echo/Call")
for _ in range(2000):
    call(b"x" * 100)
print("2000 requests")
