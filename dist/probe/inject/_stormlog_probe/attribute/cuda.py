"""Device memory by allocation stack: torch's own recording of the caching allocator's history, and its snapshots.

Nothing here initialises a device: recording begins when the program does so.
"""

import os
import pickle

# Entries of the allocator's history that are kept for a peak; each is several hundred bytes in a snapshot.
ENTRIES = 100000
# Growth is seen in the live blocks, which have their stacks. A snapshot with a full history takes seconds.
NO_HISTORY = 1
# The oldest protocol that writes long strings compactly; 5 is refused by pytorch.org/memory_viz.
PROTOCOL = 4
MODULES = ("cuda", "xpu")


def _ways(entries):
    """Ways to turn recording on, newest first: today's arguments, those of torch 2.0 and early 2.1, those of 1.13."""
    return (
        ((), {"enabled": "all", "context": "alloc", "stacks": "python", "max_entries": entries}),
        (
            (True,),
            {
                "record_context": True,
                "trace_alloc_max_entries": entries,
                "trace_alloc_record_context": True,
            },
        ),
        ((True,), {}),
    )


class DeviceMemory:
    """Recording on the devices of one torch module (`torch.cuda`, which is ROCm's too, or `torch.xpu`)."""

    def __init__(self, torch, name, recording, entries):
        """`recording()` is called in the thread that initialised the device, once history is being recorded."""
        self.name = name
        self.entries = entries
        self.torch = torch
        self.on = False
        self.note = None
        self._recording = recording

    def start(self):
        """Record from the device's initialisation on; False where this torch cannot."""
        module = getattr(self.torch, self.name, None)
        memory = getattr(module, "memory", None)
        lazy = getattr(module, "_lazy_call", None)
        if lazy is None or not hasattr(memory, "_record_memory_history") or not hasattr(memory, "_snapshot"):
            return False
        self._memory = memory
        # Runs at once where the device is initialised already. What it raised would reach the program.
        lazy(self._begin)
        return True

    def _begin(self):
        try:
            for positional, named in _ways(self.entries):
                try:
                    self._memory._record_memory_history(*positional, **named)
                except TypeError:
                    continue
                self.on = True
                self._recording()
                return
            self.note = "this torch takes none of the known ways to record the history of %s" % self.name
        except Exception as error:  # noqa: BLE001
            self.note = "recording the history of %s failed: %s: %s" % (self.name, type(error).__name__, error)

    def snapshot(self, path):
        """Write the snapshot to `path`, whole or not at all; its content, None when there is none."""
        if not self.on:
            return None
        try:
            content = self._memory._snapshot()
            with open(path + ".part", "wb") as file:
                pickle.dump(content, file, protocol=PROTOCOL)
            os.replace(path + ".part", path)
            return content
        except Exception as error:  # noqa: BLE001
            self.note = "no snapshot of %s: %s: %s" % (self.name, type(error).__name__, error)
            return None

    def blocks(self, content, wanted):
        """(device, address) -> (bytes, frames (file, line, function)) of the `wanted` blocks of a snapshot, where they are known."""
        found = {}
        for segment in content.get("segments", ()):
            device = "%s:%d" % (self.name, segment.get("device", 0))
            address = segment.get("address", 0)
            for block in segment.get("blocks", ()):
                # Up to torch 2.0 blocks have no address: they follow each other.
                address = block.get("address", address)
                key = (device, address)
                address += block.get("size", 0)
                if key not in wanted or block.get("state") != "active_allocated":
                    continue
                frames = block.get("frames")
                if frames is None:
                    history = block.get("history") or ({},)
                    frames = history[0].get("frames", ())
                found[key] = (block["size"], [(one["filename"], one["line"], one["name"]) for one in frames])
        return found
