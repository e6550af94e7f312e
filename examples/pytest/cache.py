"""A cache with a bound: the code under test."""

from collections import OrderedDict


class Cache:
    def __init__(self, most: int) -> None:
        self._most = most
        self._entries: "OrderedDict[str, bytes]" = OrderedDict()

    def put(self, key: str, value: bytes) -> None:
        self._entries[key] = value
        self._entries.move_to_end(key)
        while len(self._entries) > self._most:
            self._entries.popitem(last=False)

    def get(self, key: str) -> "bytes | None":
        return self._entries.get(key)
