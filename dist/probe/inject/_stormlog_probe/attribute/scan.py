"""Live tensors where torch has no dispatch modes: those that Python knows, by the stack that made their Python object.

Memory that only an autograd graph holds is not seen.
"""

import gc


class ScannedTensors:
    """Takes the place of TensorMemory; nothing is noted between two moments."""

    def __init__(self, torch, stacks):
        self.torch = torch
        self.on = False
        self.notes = {"only tensors that Python holds are seen: torch %s has no dispatch modes" % torch.__version__}
        self.group_list = []
        self.epoch = 0
        self.optimizer_steps = 0
        self.moments = None
        self._stacks = stacks
        self._groups = {}
        # address of a storage -> epoch of the first moment that saw it
        self._first = {}
        self._stopped = False

    def enter_thread(self):
        pass

    def stop(self, note):
        """Stop: a device records its own history."""
        self.notes.add(note)
        self._stopped = True

    def sweep(self):
        pass

    def graph_group(self, _address, group):
        return group

    def gradients_never_zeroed(self):
        return 0

    def address(self, tensor):
        """The address of a tensor's memory; None without any."""
        try:
            return tensor.storage().data_ptr() or None
        except (RuntimeError, NotImplementedError, AttributeError, TypeError):
            return None

    def live(self):
        """[(address, bytes, group, sequence number, epoch)] of the memory behind every tensor that Python knows."""
        try:
            from _tracemalloc import _get_object_traceback as traceback
        except ImportError:
            return []
        if self._stopped:
            return []
        rows, before = {}, self._first
        self._first = {}
        for one in gc.get_objects():
            if not isinstance(one, self.torch.Tensor):
                continue
            address = self.address(one)
            frames = None if address is None else traceback(one)
            # What was made before tracing began does not grow.
            if not frames or address in rows:
                continue
            storage = one.storage()
            size = storage.size() * storage.element_size()
            epoch = self._first[address] = before.get(address, self.epoch)
            rows[address] = (address, size, self._group(frames, one), len(rows), epoch)
        return list(rows.values())

    def _group(self, frames, tensor):
        key = (frames, tensor.device.type)
        index = self._groups.get(key)
        if index is None:
            index = self._groups[key] = len(self.group_list)
            self.group_list.append(_Group(frames, tensor.device.type))
        return index


class _Group:
    __slots__ = ("stack", "device")
    operator = ""
    of_backward = False
    grad = False
    autocast = False

    def __init__(self, frames, device):
        self.stack = frames
        self.device = device
