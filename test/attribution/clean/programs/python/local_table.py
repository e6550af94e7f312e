"""
Holds a table of 24 MiB as a local of `main`, made at once at 25 % of the rounds. Bounded: it is made once and never
written again.
"""

from pace import file_step, rounds


def build():
    return [bytearray(1 << 16) for _ in range(384)]


def main():
    table = None
    total = 0
    for number in rounds(120, report=file_step):
        if number == 30:
            table = build()
        if table is not None:
            total += len(table[number % len(table)])
    print(total)


main()
