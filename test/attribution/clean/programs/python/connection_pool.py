"""
Holds the connections of a pool: a pair of sockets and 96 KiB of buffers each. Bounded: a connection is opened only when
all are in use and there are fewer than 24; demand rises to that limit in the first half and then varies below it.
"""

import random
import socket

from pace import rounds

LIMIT = 24


class Connection:
    def __init__(self):
        self.near, self.far = socket.socketpair()
        self.received = bytearray(96 << 10)

    def exchange(self, text):
        self.near.sendall(text)
        return self.far.recv_into(self.received)


class Pool:
    def __init__(self):
        self.idle = []
        self.opened = 0

    def take(self):
        if self.idle:
            return self.idle.pop()
        if self.opened >= LIMIT:
            raise RuntimeError("the pool is empty")
        self.opened += 1
        return Connection()

    def give_back(self, connection):
        self.idle.append(connection)


draw = random.Random(11)
pool = Pool()
for number in rounds(140):
    wanted = min(LIMIT, 1 + number * LIMIT // 70) if number < 70 else draw.randrange(8, LIMIT + 1)
    busy = [pool.take() for _ in range(wanted)]
    for connection in busy:
        connection.exchange(b"round %d" % number)
        pool.give_back(connection)
print(pool.opened)
