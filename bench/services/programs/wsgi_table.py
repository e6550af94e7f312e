"""
A WSGI service with a table that is loaded before the workers are forked. LEAK: bytes that each request leaves in a
list; ONE: a file that the first worker makes, which alone leaks.
"""

import os

LEAK = int(os.environ.get("LEAK", "0"))
ONE = os.environ.get("ONE")
table = {number: f"row {number} " * 20 for number in range(50000)}
kept = []
leaks = None


def is_leaking():
    global leaks
    if leaks is None:
        try:
            os.close(os.open(ONE, os.O_CREAT | os.O_EXCL))
            leaks = True
        except FileExistsError:
            leaks = False
    return leaks


def app(environ, start_response):
    if LEAK and (not ONE or is_leaking()):
        kept.append(bytearray(LEAK))
    body = table[len(kept) % len(table)].encode()
    start_response("200 OK", [("Content-Length", str(len(body)))])
    return [body]
