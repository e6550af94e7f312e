"""Writes a report line by line instead of holding it."""

import io

written = 0
for _ in range(120):
    out = io.StringIO()
    for row in range(20_000):
        out.write(f"{row},{row * row}\n")
    written += out.tell()
print(written)
