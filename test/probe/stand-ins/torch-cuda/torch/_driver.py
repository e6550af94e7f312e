"""The driver's view of this process: on each device its context, the libraries loaded there, communicators, and the allocator's segments.

With FAKE_NVML_FOLLOW (a directory) every change is reported to the fake NVIDIA library, so that device memory, process list and allocator of one real
process agree. FAKE_CUDA_DEVICES names the devices in CUDA's order as `PLACE=UUID=MODEL`, with commas between them, where a place is what the fake library
calls it ("0", "0.1" for a MIG device); CUDA_VISIBLE_DEVICES chooses among them by number.
"""

import os

MIB = 1 << 20
CONTEXT = 300 * MIB
LIBRARIES = 100 * MIB
COMMUNICATOR = 150 * MIB


class _Device:
    def __init__(self, place, uuid, model):
        self.place = place
        self.uuid = uuid
        self.model = model
        self.parts = {}
        self.peak = 0


def _visible():
    devices = [each.split("=") for each in os.environ.get("FAKE_CUDA_DEVICES", "").split(",") if each]
    if not devices:
        devices = [(str(i), "00000000-0000-0000-0000-00000000000%d" % i, "Stand-in GPU") for i in range(2)]
    chosen = os.environ.get("CUDA_VISIBLE_DEVICES")
    if chosen is None or not all(each.strip().isdigit() for each in chosen.split(",")):
        return devices
    return [devices[int(each)] for each in chosen.split(",") if int(each) < len(devices)]


devices = [_Device(*each) for each in _visible()]
_folder = os.environ.get("FAKE_NVML_FOLLOW")


def hold(index, part, size):
    """From now on `part` of this process's memory on a device is `size` bytes. Without a context there is nothing."""
    device = devices[index]
    device.parts[part] = size
    device.parts.setdefault("context", CONTEXT)
    device.peak = max(device.peak, sum(device.parts.values()))
    _tell()


def _tell():
    if not _folder:
        return
    lines = ["%d %s %d %d\n" % (os.getpid(), each.place, sum(each.parts.values()), each.peak) for each in devices if each.parts]
    hidden = os.path.join(_folder, ".%d" % os.getpid())
    with open(hidden, "w") as file:
        file.writelines(lines)
    os.replace(hidden, os.path.join(_folder, str(os.getpid())))


def forget():
    """A child of fork has no memory on any device."""
    for device in devices:
        device.parts = {}
        device.peak = 0


os.register_at_fork(after_in_child=forget)
