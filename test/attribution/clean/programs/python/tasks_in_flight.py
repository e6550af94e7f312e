"""
Holds the requests of an asyncio service that are in flight, 128 KiB each. Bounded: a semaphore admits 20 at a time, and
each ends after some milliseconds.
"""

import asyncio
import random

draw = random.Random(23)
served = 0


async def handle(gate, number):
    global served
    async with gate:
        body = bytearray(128 << 10)
        await asyncio.sleep(draw.random() * 0.03)
        served += len(body) > number % 2


async def main():
    gate = asyncio.Semaphore(20)
    running = set()
    for number in range(900):
        task = asyncio.create_task(handle(gate, number))
        running.add(task)
        task.add_done_callback(running.discard)
        await asyncio.sleep(0.002)
    await asyncio.gather(*running)


asyncio.run(main())
print(served)
