"""An upgrade of a library: version 2 of it, which `--after` takes, keeps an index beside the rows."""

import os
import sys
import time

ROWS = 60000


def main(after):
    version = "2.0.0" if after else "1.0.0"
    sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "library", version, "site-packages"))
    import rowstore

    rows = rowstore.load(ROWS)  # higher
    time.sleep(0.4)
    return len(rows)


if __name__ == "__main__":
    main("--after" in sys.argv)
