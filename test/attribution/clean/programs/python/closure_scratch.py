"""
Holds one scratch buffer of 16 MiB in a closure. Bounded: it is made at the first large request, at 30 % of the run, and
used again by all later ones.
"""

from pace import rounds


def renderer():
    scratch = None

    def render(size):
        nonlocal scratch
        if size > 1 << 20 and scratch is None:
            scratch = bytearray(16 << 20)
        area = scratch if scratch is not None else bytearray(size)
        area[:8] = b"rendered"
        return sum(memoryview(area)[:8])

    return render


render = renderer()
total = 0
for number in rounds(120):
    total += render(4 << 20 if number >= 36 else 4096)
print(total)
