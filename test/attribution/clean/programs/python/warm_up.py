"""
Holds 30 MiB of tables that it makes one by one in the first fifth of its rounds. Bounded: there are 24 tables, and a
table that is there is used again.
"""

from pace import file_step, rounds

tables = {}


def table(name):
    if name not in tables:
        tables[name] = [bytearray(1 << 16) for _ in range(20)]
    return tables[name]


total = 0
for number in rounds(120, report=file_step):
    total += len(table(number % 24)[number % 20])
print(total)
