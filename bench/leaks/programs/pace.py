"""Makes CALLS calls of the program beside it, evenly over SECONDS: python pace.py CALLS SECONDS"""

import sys
import time

from program import call

calls, seconds = int(sys.argv[1]), float(sys.argv[2])
began = time.perf_counter()
done = 0
while done < calls:
    due = min(calls, int((time.perf_counter() - began) / seconds * calls))
    for _ in range(due - done):
        call()
    done = max(done, due)
    time.sleep(0.01)
