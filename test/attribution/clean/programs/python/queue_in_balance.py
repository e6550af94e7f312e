"""
Holds the jobs between a producer and a consumer of equal speed. Bounded: the queue takes 32 jobs of 64 KiB, then the
producer waits; the consumer drops a job when it is done.
"""

import queue
import threading

from pace import rounds

jobs = queue.Queue(maxsize=32)
done = 0


def consume():
    global done
    while True:
        job = jobs.get()
        if job is None:
            return
        done += len(job)


consumer = threading.Thread(target=consume)
consumer.start()
for number in rounds(130, seconds=0.015):
    for part in range(1 + number % 24):
        jobs.put(bytearray(64 << 10))
jobs.put(None)
consumer.join()
print(done)
