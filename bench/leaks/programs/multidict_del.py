"""Deleting an item keeps its value."""

from multidict import MultiDict


def call():
    items = MultiDict([("a", bytearray(1000))])
    del items["a"]  # leaks
