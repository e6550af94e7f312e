"""`loads` of a very large integer keeps the integer."""

import ujson

TEXT = str(10**400)


def call():
    ujson.loads(TEXT)  # leaks
