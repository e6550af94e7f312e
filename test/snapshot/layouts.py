"""Snapshots as the versions of PyTorch write them, and the two ways they are pickled."""

import io
import pickle
import struct


def frames_of(frames):
    return frames


def segment_dict(segment, layout):
    live = [b for b in segment.blocks if b.state == "active_allocated"]
    active = [b for b in segment.blocks if b.state != "inactive"]
    out = {
        "device": segment.device,
        "address": segment.address,
        "total_size": segment.size,
        "allocated_size": sum(b.size for b in live),
        "active_size": sum(b.size for b in active),
    }
    if layout >= 21:
        out["requested_size"] = sum(b.requested for b in active)
    out["stream"] = segment.stream
    out["segment_type"] = "large" if segment.large else "small"
    if layout >= 20:
        out["segment_pool_id"] = segment.pool
    if layout >= 21:
        out["is_expandable"] = False
        out["frames"] = segment.frames
    out["blocks"] = [block_dict(b, layout) for b in segment.blocks]
    return out


def block_dict(block, layout):
    if layout < 21:
        out = {"size": block.size, "state": block.state}
        if block.state != "inactive" and block.frames:
            out["history"] = [{"addr": block.address, "real_size": block.requested, "frames": block.frames}]
        return out
    out = {
        "address": block.address,
        "size": block.size,
        "requested_size": block.requested,
        "state": block.state,
        "frames": block.frames,
    }
    if layout >= 29:
        out["forward_frames"] = []
    return out


def trace_dict(entry, layout):
    out = {"action": entry["action"]}
    out["device_free" if entry["action"] == "oom" else "addr"] = entry["addr"]
    out["size"] = entry["size"]
    out["stream"] = entry["stream"]
    if layout >= 21:
        out["time_us"] = entry["time_us"]
    if layout >= 25:
        out["compile_context"] = "N/A"
    if layout >= 29:
        out["user_metadata"] = ""
        out["pool_id"] = entry["pool"]
    out["frames"] = entry["frames"]
    return out


SETTINGS = {
    "PYTORCH_CUDA_ALLOC_CONF": "",
    "max_split_size": -1,
    "garbage_collection_threshold": 0.0,
    "expandable_segments": False,
    "pinned_num_register_threads": 1,
    "release_lock_on_cudamalloc": False,
    "pinned_use_cuda_host_register": False,
    "roundup_power2_divisions": {"1": 0, "2": 0, "4": 0},
}


def snapshot(devices, layout, annotations=(), traces=True):
    """What `_snapshot()` gives; `layout` is 113, 20, 21, 25 or 29 for PyTorch 1.13, 2.0, 2.1, 2.5 and 2.9."""
    kind = 0 if layout == 113 else layout
    segments = [segment_dict(s, kind) for device in devices for s in device.segments]
    if layout == 113:
        return segments
    out = {
        "segments": segments,
        "device_traces": [[trace_dict(e, kind) for e in device.trace] if traces else [] for device in devices],
    }
    if layout >= 21:
        out["allocator_settings"] = dict(SETTINGS)
    if layout >= 25:
        out["external_annotations"] = list(annotations)
    return out


def native_pickle(value):
    """Bytes as PyTorch's own C++ pickler writes them (protocol 2, lists and dicts in one go, memo entries by number and only for
    what is there twice)."""
    out = io.BytesIO()
    memo = {}
    shared = {}
    count = [0]

    def scan(item):
        if isinstance(item, (list, dict, tuple)):
            shared[id(item)] = shared.get(id(item), 0) + 1
            if shared[id(item)] == 1:
                for part in list(item.keys()) + list(item.values()) if isinstance(item, dict) else item:
                    scan(part)

    def put(key):
        memo[key] = count[0]
        out.write(b"q" + bytes([count[0]]) if count[0] < 256 else b"r" + struct.pack("<I", count[0]))
        count[0] += 1

    def get(key):
        index = memo[key]
        out.write(b"h" + bytes([index]) if index < 256 else b"j" + struct.pack("<I", index))

    def write(item):
        if item is None:
            out.write(b"N")
        elif isinstance(item, bool):
            out.write(b"\x88" if item else b"\x89")
        elif isinstance(item, int):
            signed = item - (1 << 64) if item >= 1 << 63 else item
            if 0 <= signed < 1 << 8:
                out.write(b"K" + bytes([signed]))
            elif 0 <= signed < 1 << 16:
                out.write(b"M" + struct.pack("<H", signed))
            elif -(1 << 31) <= signed < 1 << 31:
                out.write(b"J" + struct.pack("<i", signed))
            else:
                out.write(b"\x8a\x08" + struct.pack("<q", signed))
        elif isinstance(item, float):
            out.write(b"G" + struct.pack(">d", item))
        elif isinstance(item, str):
            if item in memo:
                get(item)
                return
            text = item.encode()
            out.write(b"X" + struct.pack("<I", len(text)) + text)
            put(item)
        else:
            again = shared[id(item)] > 1
            if again and id(item) in memo:
                get(id(item))
                return
            if isinstance(item, dict):
                out.write(b"}(")
                for key, part in item.items():
                    write(key)
                    write(part)
                out.write(b"u")
            elif isinstance(item, list):
                out.write(b"](")
                for part in item:
                    write(part)
                out.write(b"e")
            else:
                for part in item:
                    write(part)
                out.write({0: b")", 1: b"\x85", 2: b"\x86", 3: b"\x87"}[len(item)])
            if again:
                put(id(item))

    scan(value)
    out.write(b"\x80\x02")
    write(value)
    out.write(b".")
    return out.getvalue()


def python_pickle(value, protocol):
    return pickle.dumps(value, protocol=protocol)
