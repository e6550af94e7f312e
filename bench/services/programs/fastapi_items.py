"""A FastAPI service. Holds the 500 newest items; LEAK: bytes that each request leaves in a list."""

import os
from collections import OrderedDict

from fastapi import FastAPI

LEAK = int(os.environ.get("LEAK", "0"))
app = FastAPI()
newest = OrderedDict()
kept = []
count = 0


@app.get("/")
async def item():
    global count
    count += 1
    newest[count] = {"number": count, "text": "x" * 500}
    if len(newest) > 500:
        newest.popitem(last=False)
    if LEAK:
        kept.append(bytearray(LEAK))
    return {"number": count, "list": list(range(100))}
