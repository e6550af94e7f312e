"""
Holds nodes that refer to each other until the garbage collector comes. Bounded: each round leaves 60 such pairs of 4
KiB behind, and the collector frees them every few rounds.
"""

from pace import file_step, rounds


class Node:
    def __init__(self):
        self.other = None
        self.load = bytearray(2048)


def pair():
    one, other = Node(), Node()
    one.other, other.other = other, one


for number in rounds(140, report=file_step):
    for _ in range(60):
        pair()
