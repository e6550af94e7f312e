"""Live Python memory by allocation stack, through tracemalloc. numpy's buffers are included: numpy reports them to tracemalloc.

Tracing begins one interval before the first moment, not with the process: with stacks this deep `import torch` takes ten times as
long, and what was allocated before the window cannot be what grows in it.
"""

import operator
import sys

from _tracemalloc import _get_traces

from .frames import SUBINTERPRETERS, TRACED, USER, has_subinterpreters, made_for_probe, mark_of

# Stacks that are written in full: the largest, and those that rose most since the moment before. The others are merged
# by their user frames alone, so that a growing line is never cut off.
LARGEST = 400
RISEN = 400
USER_FRAMES = 6
# Bounds for a pause of at most 200 ms: the traces that are read (0.4 µs each on Python 3.11) and, of those below
# LARGE_BYTES, the traces that are added up (4 µs each).
MAX_TRACES = 600000
MAX_ADDED = 30000
LARGE_BYTES = 16384
# What tracemalloc itself needs for a trace.
TRACE_BYTES = 57
# tracemalloc's domain of the interpreter's own allocations; others are buffers of extension modules.
INTERPRETER = 0


class PythonMemory:
    """Traces Python's allocations from `start` on; what is older is not counted."""

    def __init__(self, stacks):
        self.stacks = stacks
        self.note = None
        self._before = {}
        # The module of the interpreter while the probe traces.
        self._tracer = None
        self._gave_way = False
        self._finder_added = False

    def start(self):
        """Begin tracing, unless the program traces already. Its traces are used then."""
        import tracemalloc

        if not self._finder_added:
            self._finder_added = True
            sys.meta_path.insert(0, self)

        if tracemalloc.is_tracing():
            if tracemalloc.get_traceback_limit() < 2:
                self.note = "the program traces with one frame only: lines of library calls are the library's"
            return
        if has_subinterpreters():
            self._give_way()
        if self._gave_way:
            return
        tracemalloc.start(TRACED)
        self._tracer = tracemalloc
        if self._gave_way:
            # The import began in another thread meanwhile.
            self._give_way()

    def find_spec(self, name, path=None, target=None):
        """As an import finder: finds nothing, but stops tracing before the program can make a sub-interpreter."""
        if name in SUBINTERPRETERS:
            self._give_way()

    def _give_way(self):
        self._gave_way = True
        self.note = "a process uses sub-interpreters, which crash CPython while tracemalloc is on: Python memory has no lines"
        tracer, self._tracer = self._tracer, None
        if tracer is not None:
            tracer.stop()

    def live(self):
        """What is live now: (total bytes, [(bytes, count, kind, frames (file, line) innermost first)]); None when not tracing.

        What the probe itself allocated is left out.
        """
        import tracemalloc

        if not tracemalloc.is_tracing():
            if not self._gave_way:
                self.note = "the program stopped tracemalloc"
            return None
        if tracemalloc.get_tracemalloc_memory() > MAX_TRACES * TRACE_BYTES:
            self.note = "a process has more than %d blocks of Python memory, which cannot be read within 200 ms" % MAX_TRACES
            return None
        groups = ({}, {})
        # (domain, bytes, frames (file, line) innermost first, …) of every live block. The public interface makes an
        # object of every trace.
        traces = _get_traces()
        every = 1
        chosen = traces
        if len(traces) > MAX_ADDED:
            chosen = [trace for trace in traces if trace[1] >= LARGE_BYTES]
            _add(groups, chosen, 1)
            chosen = [trace for trace in traces if trace[1] < LARGE_BYTES]
            every = -(-len(chosen) // MAX_ADDED)
            if every > 1:
                self.note = "of the small blocks of Python memory 1 in %d was read, so that no pause exceeds 200 ms" % every
                chosen = chosen[::every]
        _add(groups, chosen, every)
        total = 0
        rows = []
        for kind, group in zip(("python", "buffer"), groups):
            for frames, (size, count) in group.items():
                if not made_for_probe(frames):
                    total += size
                    rows.append((size, count, kind, frames))
        return total, self._shorten(rows)

    def _shorten(self, rows):
        rows.sort(key=_size, reverse=True)
        before, now = self._before, {}
        risen = []
        for row in rows:
            key = hash(row[3])
            now[key] = now.get(key, 0) + row[0]
            rise = row[0] - before.get(key, 0)
            if rise > 0:
                risen.append((rise, row))
        self._before = now
        kept = rows[:LARGEST]
        if before:
            chosen = {id(row) for row in kept}
            risen.sort(key=_size, reverse=True)
            kept += [row for _, row in risen[:RISEN] if id(row) not in chosen]
        chosen = {id(row) for row in kept}
        merged = {}
        for row in rows:
            if id(row) in chosen:
                continue
            key = (row[2], self._own_frames(row[3]))
            group = merged.get(key)
            if group is None:
                merged[key] = [row[0], row[1]]
            else:
                group[0] += row[0]
                group[1] += row[1]
        kept += [(size, count, kind, frames) for (kind, frames), (size, count) in merged.items()]
        return kept

    def _own_frames(self, frames):
        """The user's frames of a stack, innermost first and few; the innermost of all when it has none of theirs."""
        own = []
        for frame in frames:
            if mark_of(frame[0]) == USER:
                own.append(frame)
                if len(own) == USER_FRAMES:
                    break
        return tuple(own) or frames[:1]


def _add(groups, traces, weight):
    # What is made while tracing is traced itself, which takes ten times as long. An identity would be a new number for
    # every trace; the hash of the frames is not.
    python, buffers = groups
    for trace in traces:
        same = python if trace[0] == INTERPRETER else buffers
        group = same.get(trace[2])
        if group is None:
            same[trace[2]] = [weight * trace[1], weight]
        else:
            group[0] += weight * trace[1]
            group[1] += weight


# The size of a row.
_size = operator.itemgetter(0)
