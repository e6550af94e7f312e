"""An inference service of PyTorch on the CPU. Holds the 64 newest answers; LEAK: bytes that each request leaves."""

import os
import sys
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import torch

LEAK = int(os.environ.get("LEAK", "0"))
torch.set_num_threads(1)
layer = torch.nn.TransformerEncoderLayer(128, 4, batch_first=True).eval()
keys = {}
lock = threading.Lock()
count = 0


def infer():
    global count
    with lock, torch.no_grad():
        count += 1
        answer = layer(torch.randn(1, 24, 128))
        keys[count if LEAK else count % 64] = torch.zeros(LEAK // 4) if LEAK else answer
        return float(answer.sum())


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def do_GET(self):
        body = b"%f" % infer()
        self.send_response(200)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *arguments):
        pass


ThreadingHTTPServer(("127.0.0.1", int(sys.argv[1])), Handler).serve_forever()
