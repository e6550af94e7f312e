"""An aiohttp service. LEAK: bytes that each request leaves in a dict without a bound."""

import os
import sys

from aiohttp import web

LEAK = int(os.environ.get("LEAK", "0"))
seen = {}


async def rows(request):
    if LEAK:
        seen[len(seen)] = "y" * LEAK
    return web.json_response({"rows": ["z" * 20 for _ in range(200)]})


app = web.Application()
app.router.add_get("/", rows)
web.run_app(app, host="127.0.0.1", port=int(sys.argv[1]), print=None)
