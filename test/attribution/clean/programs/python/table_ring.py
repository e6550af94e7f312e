"""
Holds 2,000 rows of 1 KiB in a table in memory. Bounded: each insertion above that number deletes the oldest rows; the
table is full at 40 % of the run.
"""

import sqlite3

from pace import rounds

database = sqlite3.connect(":memory:")
database.execute("CREATE TABLE event (id INTEGER PRIMARY KEY, load BLOB)")
for number in rounds(140):
    first = 36 * number
    database.executemany("INSERT INTO event VALUES (?, ?)", [(first + part, bytes(1024)) for part in range(36)])
    database.execute("DELETE FROM event WHERE id <= ?", (first + 35 - 2000,))
    database.commit()
print(database.execute("SELECT COUNT(*) FROM event").fetchone()[0])
