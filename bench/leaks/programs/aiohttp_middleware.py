"""A server with a middleware keeps one built handler for each request that no route accepts."""

import asyncio

from aiohttp import ClientSession, web


@web.middleware
async def plain(request, handler):
    return await handler(request)


async def index(request):
    return web.Response(text="ok")


async def start():
    app = web.Application(middlewares=[plain])
    app.router.add_get("/", index)
    runner = web.AppRunner(app)
    await runner.setup()
    site = web.TCPSite(runner, "127.0.0.1", 0)
    await site.start()
    _, port = runner.addresses[0]
    return ClientSession(), f"http://127.0.0.1:{port}/"


loop = asyncio.new_event_loop()
asyncio.set_event_loop(loop)
session, url = loop.run_until_complete(start())


async def post():
    async with session.post(url, data=b"1") as answer:
        await answer.read()


def call():
    loop.run_until_complete(post())  # leaks
