"""What a pattern of the leak lab adds to the heap with every step, read by mallinfo2: no gate, no probe, no statistics.

    python scripts/leak-lab-heap.py PATTERN leaky|fixed [STEPS]

prints one line of JSON: bytes per step of the heap in use between the middle of the run and its end, beside what the pattern says it
keeps. Linux with glibc 2.33 or later; run it with the Python whose framework is asked about. For patterns of two ranks it is the first.
"""

import contextlib
import ctypes
import io
import json
import os
import runpy
import subprocess
import sys
import tempfile
import types

PATTERNS = os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), "leak-lab", "patterns")
FIELDS = "arena ordblks smblks hblks hblkhd usmblks fsmblks uordblks fordblks keepcost".split()


class Information(ctypes.Structure):
    _fields_ = [(name, ctypes.c_size_t) for name in FIELDS]


LIBC = ctypes.CDLL("libc.so.6")
LIBC.mallinfo2.restype = Information


def heap():
    """Bytes in use, in arenas and in separate mappings."""
    now = LIBC.mallinfo2()
    return now.uordblks + now.hblkhd


def watch(name, readings):
    """Have the heap read after every step: where a pattern requests it, or before the next batch of PyTorch's loop."""
    telling = types.ModuleType("stormlog_gate")
    telling.step = lambda number=None: readings.append(heap())
    sys.modules["stormlog_gate"] = telling
    if name.startswith(("tensorflow_", "jax_", "python_")):
        return
    from leaklab import training

    batches = training.Lab.batches

    def watched(lab):
        for number, batch in enumerate(batches(lab)):
            if number > 0:
                readings.append(heap())
            yield batch

    training.Lab.batches = watched


def run(name, state, steps):
    script = os.path.join(PATTERNS, name + ".py")
    readings, output = [], io.StringIO()
    sys.path.insert(0, PATTERNS)
    sys.argv = [script, state, "--device", "cpu", "--steps", str(steps)]
    leave, os._exit = os._exit, sys.exit
    # A pattern of two ranks ends its process at once.
    with contextlib.redirect_stderr(io.StringIO()), contextlib.redirect_stdout(output), contextlib.suppress(SystemExit):
        watch(name, readings)
        runpy.run_path(script, run_name="__main__")
    said = [line[len("leak-lab: ") :] for line in output.getvalue().splitlines() if line.startswith("leak-lab: ")]
    if not said:
        return
    facts = json.loads(said[0])
    half = steps // 2
    facts["heap_bytes_per_step"] = round((readings[-1] - readings[half - 1]) / (len(readings) - half))
    print(json.dumps(facts), flush=True)
    leave(0)


def main():
    name, state = sys.argv[1:3]
    steps = int(sys.argv[3]) if len(sys.argv) > 3 else 80
    if name in ("ddp_bucket_hook", "gathered_shards") and "RANK" not in os.environ:
        with tempfile.TemporaryDirectory() as folder:
            meeting = os.path.join(folder, "meeting")
            shared = dict(os.environ, WORLD_SIZE="2", LEAK_LAB_MEETING_FILE=meeting, GLOO_SOCKET_IFNAME="lo")
            ranks = [
                subprocess.Popen([sys.executable] + sys.argv, env=dict(shared, RANK=rank, LOCAL_RANK=rank))
                for rank in ("0", "1")
            ]
            sys.exit(max(rank.wait() for rank in ranks))
    run(name, state, steps)


if __name__ == "__main__":
    main()
