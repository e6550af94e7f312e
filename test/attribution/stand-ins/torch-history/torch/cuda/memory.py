"""The caching allocator's bookkeeping and its history."""

import os

RELEASE = os.environ.get("STANDIN_TORCH", "today")
BASE = 0x7F0000000000
recorded = []
_blocks = {}
_trace = []
_next = BASE


def allocate(size, frames):
    global _next
    address = _next
    _next += max(512, (size + 511) // 512 * 512)
    _blocks[address] = (size, frames if recorded else None)
    _note("alloc", address, size, frames)
    return address, size


def free(address):
    size, frames = _blocks.pop(address, (0, None))
    _note("free_requested", address, size, frames)
    _note("free_completed", address, size, frames)


def _note(action, address, size, frames):
    if recorded and RELEASE == "today":
        # In microseconds, as the allocator's clock.
        entry = {"action": action, "addr": address, "size": size, "stream": 0, "time_us": len(_trace), "frames": frames or []}
        _trace.append(entry)


if RELEASE == "today":

    def _record_memory_history(enabled="all", *args, **kwargs):
        if isinstance(enabled, bool):
            raise RuntimeError("the old form must not be used with a release that has the new one")
        _recording(enabled, *args, **kwargs)

    def _recording(enabled="all", context="all", stacks="all", max_entries=1, device=None, clear_history=False):
        recorded.append({"enabled": enabled, "context": context, "stacks": stacks, "max_entries": max_entries})

elif RELEASE == "2.0":

    def _record_memory_history(
        enabled,
        record_context=True,
        trace_alloc_max_entries=1,
        trace_alloc_record_context=False,
        device=None,
        record_context_cpp=False,
    ):
        recorded.append({"enabled": enabled, "max_entries": trace_alloc_max_entries})

else:

    def _record_memory_history(enabled, device=None):
        recorded.append({"enabled": enabled})


def _snapshot(device=None):
    blocks = []
    at = BASE
    for address in sorted(_blocks):
        size, frames = _blocks[address]
        if address > at:
            blocks.append(_block(at, address - at, address - at, "inactive", []))
        whole = max(512, (size + 511) // 512 * 512)
        blocks.append(_block(address, whole, size, "active_allocated", frames or []))
        at = address + whole
    used = sum(block["size"] for block in blocks if block["state"] == "active_allocated")
    segment = {
        "device": 0,
        "address": BASE,
        "total_size": at - BASE,
        "allocated_size": used,
        "active_size": used,
        "stream": 0,
        "segment_type": "large",
        "blocks": blocks,
    }
    return {"segments": [segment] if blocks else [], "device_traces": [list(_trace)]}


def _block(address, size, requested, state, frames):
    block = {"size": size, "state": state}
    if RELEASE == "today":
        block.update(address=address, requested_size=requested, frames=frames)
    elif state != "inactive":
        block["history"] = [{"addr": address, "real_size": requested, "frames": frames}]
    return block
