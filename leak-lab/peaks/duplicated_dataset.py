"""A dataset that is there twice: `--after` keeps its rows as text and as words."""

import sys
import time

ROWS = 240000
BATCH = 1000


def paced(rows):
    # As from a disk: a batch every few milliseconds.
    for at, row in enumerate(rows):
        if at % BATCH == 0:
            time.sleep(0.004)
        yield row


def read(rows):
    return ["row %d of the dataset, with its text" % row for row in paced(range(rows))]


def tokenised(rows):
    return [row.split() for row in paced(rows)]  # higher


def main(after):
    rows = read(ROWS)
    data = tokenised(rows) if after else rows
    time.sleep(0.4)
    return len(rows) + len(data)


if __name__ == "__main__":
    main("--after" in sys.argv)
