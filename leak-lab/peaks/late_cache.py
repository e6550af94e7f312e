"""A cache that is filled near the end of a run: `--after` keeps every answer, else only the newest."""

import sys
import time

REQUESTS = 24


def answer(request):
    return bytearray(b"%d" % request * 1_000_000)  # higher


def main(after):
    cache = {}
    for request in range(REQUESTS):
        if not after:
            cache.clear()
        cache[request] = answer(request)
        time.sleep(0.02)
    return len(cache)


if __name__ == "__main__":
    main("--after" in sys.argv)
