"""Live tensors by allocation stack: their payload comes from a C++ allocator, which tracemalloc cannot see.

A dispatch mode sees the result of every operator, below autograd: what autograd saves for the backward pass is seen too. Of
every new storage a weak reference and little more is recorded. Views and in-place results share a known storage. Nothing
is kept alive: a storage that only C++ holds counts as long as it lives.

The stack is not taken, because tracemalloc has it: the record contains an object that was allocated where the operator was
called. Every further allocation of the probe would be traced with all its frames, which is the cost of a record.
"""

import sys
import threading

from .frames import OURS, mark_of, object_traceback, phase_of, shortened
from . import releases

# Weak references of freed storages are swept when so many records have come since the last sweep, or as many as
# survived it.
SWEEP = 20000
# Failures in a row after which tensors are no longer recorded: the probe does not fit this torch.
PATIENCE = 2000

GRAD, AUTOCAST, OF_BACKWARD = 1, 2, 4

# What to do with an operator that has tensors of a subclass among its arguments.
_SEE, _DEFER, _IGNORE = 0, 1, 2


class TensorMemory:
    """Notes the storages that operators make, from `start` on, in every thread that goes through `enter_thread`."""

    def __init__(self, torch, stacks, moments):
        self.torch = torch
        self.stacks = stacks
        self.on = False
        self.notes = set()
        # A due moment is best taken by the thread that runs the program, between two operators.
        self.moments = moments
        # address of a storage -> (weak reference, operator, flags, sequence number, epoch)
        self.records = {}
        self.group_list = []
        self._groups = {}
        # address -> (sequence number, group) of what lived at the last moment.
        self._grouped = {}
        self.sequence = 0
        # Moments taken so far: what was made before the last one and lives has survived.
        self.epoch = 0
        # gradient storage -> [its sequence number, times added to since last set to zero, first optimizer step, last
        # one]
        self.gradients = {}
        self.optimizer_steps = 0
        # address -> (sequence number, object allocated where autograd last recorded a change in place)
        self._changes = {}
        self._failures = 0
        self._limit = SWEEP
        self._lock = threading.Lock()
        self._local = threading.local()
        self._types = {torch.Tensor: _SEE, torch.nn.Parameter: _SEE}
        self._mode_class = None

    def start(self):
        """Push the mode in this thread and in every later one. Raises what this torch lacks."""
        from torch.utils._python_dispatch import TorchDispatchMode

        torch = self.torch
        self._storage_class = torch.UntypedStorage
        self._storage_class._new_with_weak_ptr, self._storage_class._free_weak_ref  # noqa: B018 (must exist)
        self._storage_of = getattr(torch.Tensor, "untyped_storage", None) or torch.Tensor._storage
        self._address_of = getattr(torch._C, "_storage_address", None)
        self._half = {torch.float16, torch.bfloat16}
        aten = torch.ops.aten
        self._copies = {id(aten.clone.default), id(aten._to_copy.default)}
        self._lift = aten.lift_fresh.default
        self._watched = {id(aten.add_.Tensor): self._added, id(aten.zero_.default): self._zeroed}
        self._watched[id(aten._foreach_zero_.default)] = self._zeroed_many
        for changing in (aten.sub_.Tensor, aten.mul_.Tensor, aten.div_.Tensor, aten.copy_.default, aten.index_put_.default):
            self._watched[id(changing)] = self._changed
        self._mode_class = _mode_class(TorchDispatchMode, self)
        releases.hide_from_compiler(torch)
        self._compiled = releases.Uncompiled(torch, self)
        self.on = True
        self.enter_thread()
        releases.repair_as_subclass(torch)

    def enter_thread(self):
        """See the operators of this thread; once is enough."""
        if not self.on or getattr(self._local, "mode", None) is not None:
            return
        if self.torch._C._len_torch_dispatch_stack() > 0:
            # The program is inside a dispatch mode: leaving that mode would remove the probe's mode instead.
            self.notes.add("tensors of a thread are not seen: it runs under a dispatch mode of its own")
            return
        mode = self._mode_class()
        mode.__enter__()
        self._local.mode = mode

    def stop(self, note):
        """See no more, and leave the mode of this thread where that is possible."""
        self.on = False
        self.notes.add(note)
        self._compiled.undo()
        mode = getattr(self._local, "mode", None)
        if mode is None:
            return
        from torch.utils import _python_dispatch

        if _python_dispatch._get_current_dispatch_mode() is mode:
            mode.__exit__(None, None, None)
            self._local.mode = None

    # What an operator returned.

    def saw(self, func, args, out):
        """Note the storages of an operator's result that are new. Never raises."""
        try:
            if self.moments.due:
                self.moments.at_operator()
            watched = self._watched.get(id(func))
            if watched is not None:
                watched(args)
            if isinstance(out, self.torch.Tensor):
                self._one(out, func, args)
            elif isinstance(out, (tuple, list)):
                for one in out:
                    if isinstance(one, self.torch.Tensor):
                        self._one(one, func, args)
            self._failures = 0
        except NotImplementedError:
            # No storage: sparse, nested or opaque. The parts of a sparse tensor were seen when they were made.
            self.notes.add("tensors without a plain storage are not counted")
        except Exception as error:  # noqa: BLE001 (nothing may reach the program)
            self._failures += 1
            if self._failures > PATIENCE:
                self.on = False
                self.notes.add("tensors were given up: %s: %s" % (type(error).__name__, error))

    def _one(self, tensor, func, args):
        if self._address_of is not None:
            address = self._address_of(tensor)
            if address in self.records:
                return
            storage = self._storage_of(tensor)
        else:
            storage = self._storage_of(tensor)
            address = storage._cdata
            if address in self.records:
                return
        if tensor.is_meta or (tensor.is_cpu and self._is_foreign(storage, func)):
            return
        torch = self.torch
        flags = GRAD if torch.is_grad_enabled() else 0
        if tensor.dtype in self._half and releases.autocast_depth(torch) > 0:
            flags |= AUTOCAST
        if id(func) in self._copies and args and self._is_of_backward(args[0]):
            flags |= OF_BACKWARD
        self.sequence += 1
        self.records[address] = (storage._weak_ref(), func, flags, self.sequence, self.epoch)
        if len(self.records) > self._limit:
            self.sweep()

    def _is_foreign(self, storage, func):
        """Whether a storage uses memory of another owner, such as a numpy array, which tracemalloc counts already."""
        resizable = getattr(storage, "resizable", None)
        if resizable is not None:
            return not resizable() and not storage.is_shared()
        if func is not self._lift:
            return False
        pointer = storage.data_ptr()
        return pointer != 0 and releases.python_owns(pointer)

    def _is_of_backward(self, tensor):
        """Whether a tensor was made in a backward pass: a gradient, mostly."""
        address = self.address(tensor)
        record = self.records.get(address)
        if record is not None and address in self.gradients and self.gradients[address][0] == record[3]:
            return True
        return record is not None and phase_of(self._frames(record)) == "backward"

    def _frames(self, record):
        """Frames (file, line), innermost first, of the call of the operator that made a storage; () from before tracing."""
        # Of the parts of a record: a tuple's memory may come from the interpreter's free list, which was filled before
        # tracing.
        return shortened(object_traceback(record[0]) or ())

    def address(self, tensor):
        """The address of a tensor's storage, by which records are kept; None without one."""
        try:
            return self._address_of(tensor) if self._address_of is not None else self._storage_of(tensor)._cdata
        except (RuntimeError, NotImplementedError, TypeError):
            return None

    # Gradients: added to in every backward pass, set to zero or dropped before the next.

    def _added(self, args):
        if self.torch.is_grad_enabled():
            self._changed(args)
        address = self.address(args[0])
        record = self.records.get(address)
        if record is None or not self._in_engine():
            return
        run = self.gradients.get(address)
        if run is None or run[0] != record[3]:
            self.gradients[address] = [record[3], 1, self.optimizer_steps, self.optimizer_steps]
        else:
            run[1] += 1
            run[3] = self.optimizer_steps

    def _changed(self, args):
        # A sum of losses is changed in place: its memory is old, and the graph behind it grows.
        if self.torch.is_grad_enabled():
            address = self.address(args[0])
            record = self.records.get(address)
            if record is not None:
                self._changes[address] = (record[3], object())

    def _zeroed(self, args):
        self.gradients.pop(self.address(args[0]), None)

    def _zeroed_many(self, args):
        for tensor in args[0]:
            self.gradients.pop(self.address(tensor), None)

    def _in_engine(self):
        """Whether the autograd engine itself runs the operator: the innermost Python frame is the call into it."""
        frame = sys._getframe(3)
        while frame is not None and mark_of(frame.f_code.co_filename) == OURS:
            frame = frame.f_back
        name = "" if frame is None else frame.f_code.co_filename.replace("\\", "/")
        return name.endswith(("torch/autograd/__init__.py", "torch/autograd/graph.py"))

    def gradients_never_zeroed(self):
        """Number of live gradients that were added to over three optimizer steps and more without ever being set to zero."""
        never = 0
        for address, (sequence, times, first, last) in list(self.gradients.items()):
            record = self.records.get(address)
            if record is None or record[3] != sequence:
                self.gradients.pop(address, None)
            elif (last - first >= 2 and times >= 3) or (self.optimizer_steps == 0 and times >= 50):
                never += 1
        return never

    # What lives.

    def live(self):
        """[(address, bytes, group, sequence number, epoch)] of every storage that lives; a shared payload counts once."""
        seen, rows, grouped = set(), [], {}
        # A sweep in another thread would free the weak references that are turned into storages here.
        with self._lock:
            for address, record in list(self.records.items()):
                storage = self._storage_class._new_with_weak_ptr(record[0])
                if storage is None:
                    continue
                size, pointer = storage.nbytes(), storage.data_ptr()
                if size == 0 or pointer in seen:
                    continue
                seen.add(pointer)
                sequence = record[3]
                known = self._grouped.get(address)
                if known is None or known[0] != sequence:
                    known = (sequence, self._group(record, storage))
                grouped[address] = known
                rows.append((address, size, known[1], sequence, record[4]))
        self._grouped = grouped
        return rows

    def graph_group(self, address, group):
        """The group that a tensor's graph is reported at: where it was last changed in place, else where it was made."""
        record, change = self.records.get(address), self._changes.get(address)
        if record is None or change is None or change[0] != record[3]:
            return group
        frames = shortened(object_traceback(change[1]) or ())
        return self._group_of(frames, record, self.group_list[group].device) if frames else group

    def _group(self, record, storage):
        device = storage.device
        return self._group_of(self._frames(record), record, device if isinstance(device, str) else device.type)

    def _group_of(self, frames, record, device):
        key = (frames, id(record[1]), record[2], device)
        index = self._groups.get(key)
        if index is None:
            index = self._groups[key] = len(self.group_list)
            self.group_list.append(Group(key[0], record[1], record[2], device))
        return index

    def sweep(self):
        """Forget the storages that are gone. Not while other code holds all objects of the collector: torch 2 takes a storage's
        Python object, which outlives it for as long as there is a weak reference, for one that is still in use then.
        """
        if not self._lock.acquire(False):
            return
        try:
            expired, free = self._storage_class._expired, self._storage_class._free_weak_ref
            for address, record in list(self.records.items()):
                if expired(record[0]):
                    del self.records[address]
                    self._changes.pop(address, None)
                    free(record[0])
            self._limit = 2 * len(self.records) + SWEEP
        finally:
            self._lock.release()


class Group:
    """What is common to the storages that one operator made at one stack."""

    __slots__ = ("stack", "operator", "grad", "autocast", "of_backward", "device")

    def __init__(self, stack, operator, flags, device):
        # Frames (file, line), innermost first.
        self.stack = stack
        self.operator = str(operator)
        # Whether autograd recorded the operator.
        self.grad = bool(flags & GRAD)
        # Whether the tensor is of the lower precision of an autocast scope around it.
        self.autocast = bool(flags & AUTOCAST)
        # Whether it is a copy of something that a backward pass made.
        self.of_backward = bool(flags & OF_BACKWARD)
        self.device = device


def _mode_class(base, memory):
    types_known = memory._types

    class StormlogGateTensors(base):
        # Higher-order operators refuse to run under a mode without this attribute.
        supports_higher_order_operators = True

        @classmethod
        def _should_skip_dynamo(cls):
            # The wrapper that torch would put around __torch_dispatch__ imports all of torch._dynamo.
            return False

        def __torch_dispatch__(self, func, types, args=(), kwargs=None):
            seen = memory.on
            for one in types:
                known = types_known.get(one)
                if known is None:
                    known = types_known[one] = _judge_type(one)
                if known == _DEFER:
                    # The subclass runs its own operators, which then come by here.
                    return NotImplemented
                if known == _IGNORE:
                    seen = False
            try:
                out = func(*args, **kwargs) if kwargs else func(*args)
            except RuntimeError as error:
                mended = releases.numbers_as_tensors(memory.torch, func, args, error)
                if mended is None:
                    raise
                out = func(*mended, **(kwargs or {}))
            if seen:
                memory.saw(func, args, out)
            return out

    return StormlogGateTensors


def follow_threads(memory):
    """Let every thread that starts from now on be seen."""
    bootstrap = getattr(threading.Thread, "_bootstrap_inner", None)
    if bootstrap is None:
        memory.notes.add("tensors made in other threads than the first are not seen")
        return

    def _bootstrap_inner(self):
        try:
            memory.enter_thread()
        except Exception:  # noqa: BLE001 (nothing may reach the program)
            memory.notes.add("tensors of a thread were not seen")
        bootstrap(self)

    threading.Thread._bootstrap_inner = _bootstrap_inner


def _judge_type(kind):
    # Tensors that represent others while torch traces a program. They have no memory.
    module = getattr(kind, "__module__", "") or ""
    if module.startswith(("torch._subclasses", "torch._functorch", "torch.fx")):
        return _IGNORE
    return _DEFER
