"""`Raw.copy` keeps the bytes that it copied."""

import msgspec

decoder = msgspec.json.Decoder(msgspec.Raw)
DATA = b'"' + b"x" * 4000 + b'"'


def call():
    decoder.decode(DATA).copy()  # leaks
