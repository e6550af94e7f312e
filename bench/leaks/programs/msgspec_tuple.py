"""Decoding a tuple of more than 16 items from MessagePack keeps the tuple."""

import msgspec


class Point(msgspec.Struct):
    values: tuple[int, ...]


decoder = msgspec.msgpack.Decoder(Point)
DATA = msgspec.msgpack.encode({"values": list(range(17))})


def call():
    decoder.decode(DATA)  # leaks
