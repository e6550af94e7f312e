"""The attribution of one process: starts what records allocations, and writes the documents of each moment."""

import gc
import os
import sys
import time

from .. import threads
from .frames import Stacks, encode
from .native import NativeStacks
from .python_memory import PythonMemory
from .retainers import Retainers
from .schedule import Scheduled

SCHEMA = "stormlog.lines/1"
MAX_LINES = 3000
# The lists of a document whose rows have stacks.
_ROWS = ("lines", "retainers", "held_on_devices")
# How long other Python threads wait before they ask for a turn, while the live memory is read. Seconds.
MAX_HOLD_S = 0.2


def complain(error):
    if os.environ.get("STORMLOG_GATE_DEBUG") == "1":
        import traceback

        sys.stderr.write("stormlog-gate attribution: %s\n" % "".join(traceback.format_exception(None, error, error.__traceback__)))


class Attribution(Scheduled):
    """The attribution of one process."""

    def __init__(self, base_path, wanted, light=False):
        """`light`: no tensors, no history of devices, and no walk over the objects."""
        self.light = light
        self.current_step = None
        self.stacks = Stacks()
        self.retainers = Retainers()
        self.python = PythonMemory(self.stacks)
        self.tensors = None
        self.hooks = None
        self.notes = []
        super().__init__(base_path, wanted, NativeStacks(self.stacks))

    def prepare(self):
        # Loaded while nothing is traced, so that the first moment is not longer than the others.
        from . import moment, rows  # noqa: F401
        from .releases import block_query

        # Loads ctypes. While other threads wait, every file that is opened gives one of them a turn.
        block_query()
        self.python.start()

    def restart(self, base_path, wanted):
        self.current_step = None
        self.retainers = Retainers()
        super().restart(base_path, wanted)
        if self.tensors is not None:
            self.tensors.moments = self.schedule
            self.schedule.operators = self.tensors.on

    def with_torch(self, torch):
        if self._torch is torch or self.light:
            return
        self._torch = torch
        from .cuda import NO_HISTORY
        from .graph import HookWatch

        self.follow_devices(torch, self._device_records, NO_HISTORY)
        try:
            self.hooks = HookWatch(torch)
            # Loaded before the compiler is kept from compiling what is loaded of the probe.
            from . import moment, rows  # noqa: F401
            from .tensors import TensorMemory, follow_threads

            tensors = TensorMemory(torch, self.stacks, self.schedule)
            tensors.start()
            self.tensors, self.schedule.operators = tensors, True
            follow_threads(tensors)
            if any(device.on for device in self.devices):
                self._device_records()
        except Exception as error:  # noqa: BLE001
            complain(error)
            self.notes.append("tensors are not seen with torch %s" % getattr(torch, "__version__", "?"))

    def _device_records(self):
        # The device's own history is more precise, and torch.compile works as usual without the dispatch mode.
        if self.tensors is not None:
            self.tensors.stop("host tensors are not followed: the device records its history")

    def step(self, step):
        self.current_step = step
        if self.tensors is not None:
            self.tensors.optimizer_steps += 1
            self.tensors.enter_thread()
        self.schedule.at_step(step)

    def tick(self):
        step = self.schedule.file_step()
        if step is None:
            return False
        self.current_step = step
        self.schedule.at_file_step(step)
        return True

    def finish(self):
        """At the end of the process, in place of the moments that were not reached."""
        try:
            schedule = self.schedule
            schedule.stop()
            # Runs before the interpreter takes its threads apart.
            self.native.stop()
            if schedule.over or not schedule.prepared or self.pid != os.getpid():
                return
            # A process that reached no moment and trains nothing was a helper, with too few moments to show growth.
            if schedule.taken > 0 or self._torch is not None:
                self.take(schedule.next, True, ended=True)
        except Exception as error:  # noqa: BLE001
            complain(error)
        finally:
            if self.tensors is not None:
                self.tensors.on = False

    def take(self, moment, in_program, ended=False):
        """Write moment number `moment`. `in_program`: called by the thread that runs the program."""
        if not self._taking.acquire(False):
            return
        collecting = gc.isenabled()
        try:
            if collecting:
                # Cycles that wait for the collector are not a leak. A program that turned it off leaks them.
                gc.collect()
                gc.disable()
            # The interpreter's cache of attribute lookups keeps the names it looked up. torch makes a new string for
            # every operator that a mode sees, so the cache would grow like a leak.
            getattr(sys, "_clear_type_cache", _nothing)()
            self._write(self._read(moment, in_program, ended))
            self.stacks.rest()
        except Exception as error:  # noqa: BLE001
            complain(error)
        finally:
            if collecting:
                gc.enable()
            # A process that ends starts no threads.
            self._write_native(moment, in_program and not ended)
            self._taking.release()

    def _write_native(self, moment, apart):
        """The library reads without the interpreter, so the program's threads go on while its frames are looked up.

        `apart`: in a thread of its own. tracemalloc notes up to 40 frames of every allocation, and those of the program cost
        most.
        """
        try:
            if apart:
                written = threads.allocate_lock()
                written.acquire()
                threads.start_with_full_stack(self._write_native_apart, moment, written)
                written.acquire()
            else:
                self.native.write(self.base, moment, self.current_step)
        except Exception as error:  # noqa: BLE001
            complain(error)

    def _write_native_apart(self, moment, written):
        try:
            self._write_native(moment, False)
        finally:
            written.release()

    def _look(self, in_program):
        """The retainers, and the live tensors and graphs, read while other threads wait. All else is made of what was read."""
        from .moment import Moment

        look = Moment(self.stacks, self._torch, self.tensors, self.retainers, self.hooks, in_program)
        if self.light:
            return look
        tensors, interval = self.tensors, sys.getswitchinterval()
        watching = tensors is not None and tensors.on
        try:
            if not in_program:
                _hold_others(interval)
            if watching:
                tensors.on = False
            look.look()
            if tensors is not None:
                tensors.epoch += 1
        finally:
            if watching:
                tensors.on = True
            if not in_program:
                sys.setswitchinterval(interval)
        return look

    def _read(self, moment, in_program, ended):
        """The documents of moment number `moment`: names of files and contents."""
        from .rows import RetainerTable, device_rows, python_rows, tensor_rows

        head = {
            "schema": SCHEMA,
            "pid": self.pid,
            "moment": moment,
            "step": self.current_step,
            "time_ns": time.monotonic_ns(),
        }
        notes = list(self.notes)
        if ended:
            head["ended"] = True
            notes.append("the last snapshot was taken while the program ended, so it may be too small")
        look = self._look(in_program)
        python = self.python.live()
        notes.extend(look.notes)
        if self.native.note is not None:
            notes.append(self.native.note)
        blocks = self._snapshots(moment, look)
        notes.extend(device.note for device in self.devices if device.note is not None)
        # Without Python's memory the document is for its notes and retainers.
        total, live = (0, look.retained_lines()) if python is None else python
        table = RetainerTable(look)
        rows = python_rows(look, live, table)
        more = [] if self.python.note is None else [self.python.note]
        extra = {"facts": self.retainers.seen or {}, "held_on_devices": device_rows(look, blocks, table)}
        if python is None:
            extra["unread"] = True
        documents = [self._document(head, "tracemalloc", rows, table, notes + more, total, extra)]
        if self.tensors is not None:
            table = RetainerTable(look)
            rows = tensor_rows(look, table)
            more = sorted(self.tensors.notes)
            documents.append(self._document(head, "torch-cpu", rows, table, notes + more, None, {"facts": look.facts}))
        return documents

    def _snapshots(self, moment, look):
        """Write the devices' snapshots. Returns what they know of the device memory that retainers hold."""
        wanted = {(device, address) for device, address, _ in look.on_devices}
        blocks = {}
        for device in self.devices:
            content = device.snapshot("%s.snapshot.%d.pickle" % (self.base, moment))
            if content is not None and wanted and isinstance(content, dict):
                blocks.update(device.blocks(content, wanted))
        return blocks

    def _document(self, head, source, lines, table, notes, total, extra):
        content = dict(head)
        content["source"] = source
        content["total_bytes"] = sum(line["bytes"] for line in lines) if total is None else total
        content["lines"] = lines[:MAX_LINES]
        content["others_bytes"] = sum(line["bytes"] for line in lines[MAX_LINES:])
        content["retainers"] = table.rows()
        content["notes"] = notes
        content.update(extra)
        return "%s.lines.%d.%s.json" % (self.base, head["moment"], source), content

    def _write(self, documents):
        # By the encoder in C, a row at a time: other threads run between. `json.dump` has its own in Python and, while
        # allocations are traced, takes six times as long (1,500 lines, Python 3.11).
        for path, content in documents:
            rows = [(name, content.pop(name)) for name in _ROWS if name in content]
            with open(path + ".part", "w") as file:
                file.write(encode(content)[:-1])
                for name, own in rows:
                    file.write(',"%s":[' % name)
                    for at, row in enumerate(own):
                        stack = ",".join(row.pop("stack"))
                        file.write('%s%s,"stack":[%s]}' % ("," if at else "", encode(row)[:-1], stack))
                    file.write("]")
                file.write("}")
            os.replace(path + ".part", path)


def _hold_others(interval):
    """Let other threads wait for MAX_HOLD_S before they ask for a turn.

    One that waits already asks by the old `interval`: its turn comes here, not in the middle of what is read. If it computes,
    it keeps the turn for MAX_HOLD_S.
    """
    sys.setswitchinterval(MAX_HOLD_S)
    until = time.monotonic() + 2 * min(interval, MAX_HOLD_S)
    while time.monotonic() < until:
        pass


def _nothing():
    pass
